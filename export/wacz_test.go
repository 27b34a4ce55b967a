package export

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"forage/graph"
	"forage/store"
	"forage/warc"
)

// A package that was opened: its files, and the lines of its index.
type opened struct {
	t     *testing.T
	files map[string][]byte
	lines []string
	pages []map[string]any // without the first line
}

// openWACZ reads a package, and checks that it is what it says.
func openWACZ(t *testing.T, path string) *opened {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	o := &opened{t: t, files: map[string][]byte{}}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if o.files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if stored := strings.HasSuffix(f.Name, ".gz"); stored != (f.Method == zip.Store) {
			t.Errorf("%s has method %d", f.Name, f.Method)
		}
	}
	var p struct{ Resources []resource }
	o.json("datapackage.json", &p)
	if len(p.Resources) != len(o.files)-2 {
		t.Errorf("%d resources for %d files", len(p.Resources), len(o.files))
	}
	for _, r := range p.Resources {
		b := o.files[r.Path]
		if int64(len(b)) != r.Bytes || r.Hash != fmt.Sprintf("sha256:%x", sha256.Sum256(b)) {
			t.Errorf("%+v, but it has %d bytes", r, len(b))
		}
	}
	var d struct{ Path, Hash string }
	o.json("datapackage-digest.json", &d)
	if d.Path != "datapackage.json" || d.Hash != fmt.Sprintf("sha256:%x", sha256.Sum256(o.files[d.Path])) {
		t.Errorf("%+v", d)
	}
	o.readIndex()
	for i, line := range strings.Split(strings.TrimSpace(string(o.files["pages/pages.jsonl"])), "\n") {
		page := map[string]any{}
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			o.pages = append(o.pages, page)
		} else if page["format"] != "json-pages-1.0" {
			t.Errorf("the list of pages begins with %s", line)
		}
	}
	return o
}

func (o *opened) json(name string, to any) {
	o.t.Helper()
	if err := json.Unmarshal(o.files[name], to); err != nil {
		o.t.Fatalf("%s: %v", name, err)
	}
}

// readIndex reads the index block by block, and the record that each line names.
func (o *opened) readIndex() {
	o.t.Helper()
	packed := o.files["indexes/index.cdx.gz"]
	end := int64(0)
	for i, line := range strings.Split(strings.TrimSpace(string(o.files["indexes/index.idx"])), "\n") {
		head, text, _ := strings.Cut(line, " {")
		var at struct{ Offset, Length int64 }
		if err := json.Unmarshal([]byte("{"+text), &at); err != nil {
			o.t.Fatalf("%s: %v", line, err)
		}
		if i == 0 {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(packed[at.Offset : at.Offset+at.Length]))
		if err != nil {
			o.t.Fatal(err)
		}
		block, err := io.ReadAll(z)
		if err != nil || at.Offset != end || !strings.HasPrefix(string(block), head+" {") {
			o.t.Fatalf("%s: %v, after %d bytes: %.100s", line, err, end, block)
		}
		end += at.Length
		lines := strings.SplitAfter(strings.TrimSuffix(string(block), "\n"), "\n")
		if len(lines) > blockLines {
			o.t.Errorf("a block of %d lines", len(lines))
		}
		o.lines = append(o.lines, lines...)
	}
	if end != int64(len(packed)) || !slices.IsSorted(o.lines) {
		o.t.Errorf("the blocks have %d of %d bytes", end, len(packed))
	}
	for _, line := range o.lines {
		c, err := parseCapture(line)
		if err != nil {
			o.t.Fatal(err)
		}
		rec, err := warc.NewReader(bytes.NewReader(o.files["archive/"+c.Filename][c.Offset:])).Next()
		if err != nil || rec.URI() != c.URL || rec.Type != warc.Response && rec.Type != warc.Revisit {
			o.t.Fatalf("%s: %+v, %v", line, rec, err)
		}
		if err := rec.Close(); err != nil || rec.Stored() != c.Length {
			o.t.Errorf("%s: it takes %d bytes, %v", line, rec.Stored(), err)
		}
	}
}

func writeWACZ(t *testing.T, v *store.View, what Package) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.wacz")
	w, err := WACZ(v, File(path), what)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != w.Bytes {
		t.Errorf("%+v: %v, %v", w, info, err)
	}
	return path
}

// TestWACZ: a package has the files as they are, an index of many blocks, and pages; of the same archive it is the same, byte for byte.
func TestWACZ(t *testing.T) {
	dir := t.TempDir()
	names := []string{"B file.warc.gz", "below/b-file.warc.gz", "c.warc.gz"}
	anArchive(t, dir, names, 900)
	fail := func(text string) { t.Error(text) }
	path := writeWACZ(t, nil, Package{From: folder(dir), Software: "forage", Note: fail})
	o := openWACZ(t, path)
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(o.files["archive/"+filepath.Base(name)], b) {
			t.Errorf("%s is not as it is: %v", name, err)
		}
	}
	if len(o.lines) != 2700 || len(o.pages) == 0 || len(o.pages) > 2700 || o.pages[0]["ts"].(string) < "2001-09-09" {
		t.Errorf("%d lines, %d pages: %v", len(o.lines), len(o.pages), o.pages[0])
	}
	again, err := os.ReadFile(writeWACZ(t, nil, Package{From: folder(dir), Software: "forage", Note: fail}))
	if b, err2 := os.ReadFile(path); err != nil || err2 != nil || !bytes.Equal(b, again) {
		t.Errorf("not the same bytes: %v, %v", err, err2)
	}
	if err := os.Rename(filepath.Join(dir, "c.warc.gz"), filepath.Join(dir, "below", names[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := WACZ(nil, File(path+"2"), Package{From: folder(dir), Note: fail}); err == nil || !strings.Contains(err.Error(), "are called B file.warc.gz") {
		t.Errorf("two of one name: %v", err)
	}
	if _, err := WACZ(nil, File(path+"2"), Package{From: folder(t.TempDir()), Note: fail}); err == nil {
		t.Error("an empty folder")
	}
	if _, err := os.Stat(path + "2"); err == nil {
		t.Error("something is left of it")
	}
	t.Run("wacz", func(t *testing.T) { validate(t, path) })
}

// validate has the reference program look at a package.
func validate(t *testing.T, path string) {
	t.Helper()
	python := os.Getenv("FORAGE_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import wacz.main").Run(); err != nil {
		t.Skipf("needs the Python package wacz (FORAGE_PYTHON names an interpreter that has it): %v", err)
	}
	out, err := exec.Command(python, "-c", "import sys, wacz.main; sys.exit(wacz.main.main(['validate', '-f', sys.argv[1]]))", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Validation succeeded") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestWACZPart: of a site, or without some documents, nothing is left but what is to be, and what that refers to.
func TestWACZPart(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var sites []*store.Site
	for _, name := range []string{"a.test", "b.test"} {
		s := &store.Site{Name: name, State: store.SiteDone, FirstCycle: 1, Seeds: []string{"http://" + name + "/"}}
		if err := db.AddSite(s); err != nil {
			t.Fatal(err)
		}
		sites = append(sites, s)
	}
	put := func(url string, site int, title string) {
		d := store.NewDoc(url, sites[site].ID)
		d.Kind, d.State, d.Status, d.Title, d.FoundOn = store.Page, store.Fetched, 200, title, graph.None
		if _, err := db.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	put("http://a.test/", 0, "A")
	put("http://a.test/x", 0, "X")
	put("http://b.test/", 1, "B")
	put("http://b.test/same", 1, "Same")
	if err := db.Commit(); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	var b bytes.Buffer
	w := warc.NewWriter(&b, rand.NewChaCha8([32]byte{}))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	response := func(uri, body string, of *warc.Original) *warc.Original {
		at = at.Add(time.Second)
		c := &warc.Capture{
			URI: uri, Date: at, Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Body: strings.NewReader(body), Size: int64(len(body)), Original: of,
			Request: []byte("GET / HTTP/1.1\r\n\r\n"), Metadata: warc.Fields{{Name: "via", Value: uri}},
		}
		if c.Digest, err = w.Sum(c.Body, c.Size); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Capture(c); err != nil {
			t.Fatal(err)
		}
		return &warc.Original{URI: uri, Date: at, Digest: c.Digest, Profile: warc.SamePayload}
	}
	file := func(name string, fill func()) {
		b.Reset()
		if err := w.Info(name, at, nil); err != nil {
			t.Fatal(err)
		}
		fill()
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var same *warc.Original
	file("1.warc.gz", func() {
		response("http://a.test/robots.txt", "", nil)
		response("http://a.test/", "a", nil)
		same = response("http://b.test/same", "same", nil)
		response("http://b.test/", "b", nil)
	})
	file("2.warc.gz", func() { response("http://b.test/", "b2", nil) })
	file("3.warc.gz", func() { response("http://a.test/x", "same", same) })

	note := func(text string) { t.Error(text) }
	check := func(what Package, urls, pages, files string) string {
		t.Helper()
		what.From, what.Note = folder(dir), note
		path := writeWACZ(t, &db.View, what)
		o := openWACZ(t, path)
		var have, titles, names []string
		for _, line := range o.lines {
			c, err := parseCapture(line)
			if err != nil {
				t.Fatal(err)
			}
			have = append(have, strings.TrimPrefix(c.URL, "http://"))
		}
		for _, p := range o.pages {
			title, ok := p["title"].(string)
			if !ok {
				t.Errorf("a page without a title: %v", p)
			}
			titles = append(titles, title)
		}
		for name, b := range o.files {
			if !strings.HasPrefix(name, "archive/") {
				continue
			}
			names = append(names, name[len("archive/"):len("archive/1")])
			for r := warc.NewReader(bytes.NewReader(b)); ; {
				rec, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if uri := strings.TrimPrefix(rec.URI(), "http://"); uri != "" && !slices.Contains(have, uri) {
					t.Errorf("%s has a %s of %s", name, rec.Type, uri)
				}
			}
		}
		slices.Sort(names)
		if got := strings.Join(have, " "); got != urls {
			t.Errorf("captures of %s, want %s", got, urls)
		}
		if got := strings.Join(titles, " "); got != pages {
			t.Errorf("pages %s, want %s", got, pages)
		}
		if got := strings.Join(names, " "); got != files {
			t.Errorf("files %s, want %s", got, files)
		}
		return path
	}
	check(Package{}, "a.test/ a.test/robots.txt a.test/x b.test/ b.test/ b.test/same", "A X B Same", "1 2 3")
	validate(t, check(Package{Site: sites[0]}, "a.test/ a.test/robots.txt a.test/x b.test/same", "A X", "1 3"))
	check(Package{Site: sites[1]}, "b.test/ b.test/ b.test/same", "B Same", "1 2")
	asked := 0
	check(Package{Keep: func(d *store.Doc) bool { asked++; return d.URL != "http://b.test/" }}, "a.test/ a.test/robots.txt a.test/x b.test/same", "A X Same", "1 3")
	check(Package{Keep: func(d *store.Doc) bool { return d.URL != "http://b.test/same" }}, "a.test/ a.test/robots.txt a.test/x b.test/ b.test/ b.test/same", "A X B", "1 2 3")
	if asked != 4 {
		t.Errorf("asked %d times", asked)
	}
}
