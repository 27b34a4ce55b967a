package main

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"forage/internal/asked"
	"forage/warc"
)

// bytesOfPage is about how long a page of makeArchive is.
const bytesOfPage = 10_000

// makeArchive writes a WARC file of so many pages of a site, with linksOf links each and text that differs.
func makeArchive(path string, pages int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriterSize(f, 1<<20)
	defer func() { err = errors.Join(err, out.Flush()) }()
	r := rand.New(rand.NewPCG(uint64(pages), 17))
	w := warc.NewWriter(out, rand.NewChaCha8([32]byte{17}))
	var body bytes.Buffer
	for i := range pages {
		body.Reset()
		fmt.Fprintf(&body, "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Page %d of many</title></head><body><h1>Page %[1]d</h1>\n<ul>", i)
		for range linksOf {
			to := r.IntN(pages)
			fmt.Fprintf(&body, "<li><a href=\"%s\">about %d</a></li>\n", address(to)[len("https://bench.test"):], to)
		}
		body.WriteString("</ul>\n")
		for body.Len() < bytesOfPage {
			body.WriteString("<p>")
			for range 60 {
				fmt.Fprintf(&body, "%s ", words[r.IntN(len(words))])
			}
			fmt.Fprintf(&body, "%x.</p>\n", r.Uint64())
		}
		body.WriteString("</body></html>\n")
		digest := warc.Digest(sha1.Sum(body.Bytes()))
		if _, err := w.Capture(&warc.Capture{
			URI: address(i), Date: time.Unix(start+int64(i), 0).UTC(), Head: fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nETag: \"%x\"\r\n\r\n", body.Len(), digest[:8]),
			Body: bytes.NewReader(body.Bytes()), Size: int64(body.Len()), Digest: digest,
		}); err != nil {
			return err
		}
	}
	return nil
}

// words are what texts are made of.
var words = []string{"the", "web", "is", "large", "and", "a", "crawler", "finds", "more", "of", "it", "with", "fewer", "fetches", "when", "pages", "that", "change", "often", "are", "read", "again", "before", "others", "which", "seldom", "do", "budget", "archive", "history"}

// makeIndex writes the index of so many captures, three of a URL.
func makeIndex(path string, captures int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriterSize(f, 1<<20)
	defer func() { err = errors.Join(err, out.Flush()) }()
	var line []byte
	for i := range captures {
		url := address(i / 3)
		key, err := warc.Key(url)
		if err != nil {
			return err
		}
		e := warc.Entry{Key: key, Time: time.Unix(start+int64(i%3)*1_000_000, 0).UTC().Format("20060102150405"), URL: url, MIME: "text/html", Status: "200", Digest: "SHA7UG5UDGYB6VGTPYDNL6EEUGVMO2QL", Length: 4121, Offset: int64(i) * 4121, Filename: "bench-20231114-00000.warc.gz"}
		line = e.Append(line[:0])
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// imports takes in a file that make writes, n pages or lines of it.
func (b *bench) imports(kind, file string, n int, make func(string, int) error, what string, least float64) error {
	path := filepath.Join(b.tmp, file)
	if err := make(path, n); err != nil {
		return err
	}
	store := filepath.Join(b.tmp, kind)
	u, err := asked.Measure(b.one("import", kind, path, "--dir", store))
	if err != nil {
		return err
	}
	b.Tell(fmt.Sprintf("import %s of %d %s: a second of CPU", kind, n, what), float64(n)/u.CPU.Seconds(), what, -least)
	b.Tell("  memory", float64(u.Memory)/1e6, "MB", 0)
	return errors.Join(os.RemoveAll(store), os.Remove(path))
}

func (b *bench) importWARC() error {
	return b.imports("warc", "pages.warc.gz", b.Size(50_000), makeArchive, "pages", 3000)
}

func (b *bench) importCDXJ() error {
	return b.imports("cdxj", "index.cdxj", b.Size(1_000_000), makeIndex, "lines", 50_000)
}
