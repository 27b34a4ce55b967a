package main

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// A folder is a site of HTML files, by their paths, with gzip. All else is not there.
type folder struct {
	packed map[string][]byte
	served atomic.Int64
}

func readFolder(dir string) (*folder, error) {
	f := &folder{packed: map[string][]byte{}}
	return f, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".html" {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(b); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		f.packed["/"+filepath.ToSlash(rel)] = packed.Bytes()
		return err
	})
}

func (f *folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	if strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	page := f.packed[path.Clean(name)]
	if page == nil {
		http.NotFound(w, r)
		return
	}
	f.served.Add(1)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	w.Write(page)
}

// serveFolder serves the HTML of a folder as serveSite does.
func serveFolder(dir, certificate string, h2 bool) error {
	f, err := readFolder(dir)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: f, Protocols: new(http.Protocols)}
	protocols := []string{"http/1.1"}
	if h2 {
		protocols[0] = "h2"
	}
	s.Protocols.SetHTTP1(!h2)
	s.Protocols.SetHTTP2(h2)
	return untilTerm(certificate, protocols, func(l net.Listener) { s.Serve(l) }, f.served.Load)
}
