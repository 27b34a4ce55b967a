package crawl

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forage/archive"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch/use"
	"forage/store"
	"forage/text"
	"forage/warc"
)

// textsIn counts the texts of a folder by URL, and has other people's programs read it.
func textsIn(t *testing.T, folder string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "[^.]*"))
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, path := range files {
		if !strings.HasSuffix(path, ".warc.wet.gz") {
			t.Errorf("%s is left", path)
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for r := warc.NewReader(f); ; {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if rec.Type == warc.Conversion {
				n[rec.URI()]++
			}
		}
		f.Close()
	}
	validate(t, files)
	return n
}

// openTexts opens a store and its texts.
func openTexts(t *testing.T, dir string) (*store.DB, *archive.Reader) {
	t.Helper()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	state, err := db.Archive(store.Texts)
	if err != nil {
		t.Fatal(err)
	}
	r, err := archive.NewReader("", state)
	if err != nil {
		t.Fatal(err)
	}
	return db, r
}

// textsAgree compares the texts of a store with its pages: each that the store knows as it is has its text, once.
func textsAgree(t *testing.T, dir, folder string) {
	t.Helper()
	n := textsIn(t, folder)
	db, r := openTexts(t, dir)
	defer db.Close()
	defer r.Close()
	pages := 0
	if err := db.Docs(func(d *store.Doc) bool {
		at, err := db.Text(d.ID)
		if is := d.Kind == store.Page || d.Kind == store.Soft404; is != (err == nil) || is && n[d.URL] != 1 || !is && n[d.URL] != 0 {
			t.Errorf("%s, %v: %v, %d texts", d.URL, d.Kind, err, n[d.URL])
		}
		if err != nil {
			return true
		}
		pages++
		if x, err := r.Text(archive.Place(at)); err != nil || x.URL != d.URL || x.Body != d.Digest {
			t.Errorf("%s: %+v, %v", d.URL, x, err)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if pages < 20 {
		t.Errorf("%d pages", pages)
	}
}

// TestBegan: archive and texts date an answer when it was asked for, and at the time that is to be recorded where one is given.
func TestBegan(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, told := range []bool{false, true} {
		c, want := new(Crawl), at.Add(-2*time.Millisecond)
		if told {
			c.cfg.At, want = at, at
		}
		if got := c.began(at, 2999*time.Microsecond); !got.Equal(want) {
			t.Errorf("told %v: %v, want %v", told, got, want)
		}
	}
}

// TestTexts: what pages say is kept when it is new or another, as Markdown or plain text, but not of pages whose site does not want that, nor of what
// is no page; and beside that an archive may be kept, or not.
func TestTexts(t *testing.T) {
	t.Parallel()
	var week atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			io.WriteString(w, "<html lang=en><title>Home</title><nav>menu</nav><p>A <b>home</b> page <a href=/a>a</a> <a href=/cut>c</a> <a href=/kept>k</a> <a href=/data>d</a>")
		case "/a":
			h.Set("Content-Language", "de")
			io.WriteString(w, "<title>A</title><p>week "+string(rune('0'+week.Load())))
		case "/cut":
			h.Set("Content-Length", "1000")
			io.WriteString(w, "<p>cut")
		case "/kept":
			io.WriteString(w, "<meta name=robots content=noarchive><p>kept out")
		case "/data":
			h.Set("Content-Type", "text/plain")
			io.WriteString(w, "no page")
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	for _, f := range []text.Format{text.Markdown, text.Plain} {
		week.Store(0)
		cfg := loopback(filepath.Join(t.TempDir(), "store"))
		cfg.Texts = &Texts{Folder: filepath.Join(t.TempDir(), "texts"), Format: f, Respect: use.RespectNoArchive, Info: warc.Fields{{Name: "software", Value: "test"}}}
		visit := func(opt Options) {
			t.Helper()
			c, err := Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if week.Add(1) == 1 {
				_, err = c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, opt)
			} else {
				_, err = c.Revisit(t.Context(), plan.Plan{Full: true, Text: "all"}, opt)
			}
			if err = errors.Join(err, c.Close()); err != nil {
				t.Fatal(err)
			}
		}
		said := func(path string) (x *archive.Text) {
			t.Helper()
			db, r := openTexts(t, cfg.Dir)
			defer db.Close()
			defer r.Close()
			id, err := db.Find(web.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			at, err := db.Text(id)
			if errors.Is(err, store.ErrNotFound) {
				return &archive.Text{}
			}
			if err == nil {
				x, err = r.Text(archive.Place(at))
			}
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		visit(Options{})
		home := "A **home** page [a](" + web.URL + "/a) [c](" + web.URL + "/cut) [k](" + web.URL + "/kept) [d](" + web.URL + "/data)"
		if f == text.Plain {
			home = "A home page a c k d"
		}
		for path, want := range map[string]*archive.Text{"/": {Text: home, Lang: "en"}, "/a": {Text: "week 1", Lang: "de"}, "/cut": {}, "/kept": {}, "/data": {}} {
			if got := said(path); got.Text != want.Text || got.Lang != want.Lang || got.Text != "" && got.Format != f.MediaType() {
				t.Errorf("%s, %s: %+v", path, f, got)
			}
		}
		visit(Options{Textless: true})
		if got := said("/a"); got.Text != "" { // that of week 1 is not what it says
			t.Errorf("a text was kept: %+v", got)
		}
		visit(Options{})
		if got := said("/a"); got.Text != "week 3" {
			t.Errorf("another text was not kept: %+v", got)
		}
		if n := textsIn(t, cfg.Texts.Folder); n[web.URL+"/"] != 1 || n[web.URL+"/a"] != 2 || len(n) != 2 {
			t.Errorf("%v", n)
		}
	}
}

// TestTextsLater: a page that was fetched before texts were kept is asked for without conditions, once.
func TestTextsLater(t *testing.T) {
	t.Parallel()
	var whole, same atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") != "" {
			same.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		whole.Add(1)
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>Home</title><p>It stays.")
	}))
	defer web.Close()
	cfg := loopback(filepath.Join(t.TempDir(), "store"))
	for visit, want := range []struct{ whole, same int64 }{{1, 0}, {1, 1}, {2, 1}, {2, 2}} {
		if visit == 2 {
			cfg.Texts = &Texts{Folder: filepath.Join(t.TempDir(), "texts")}
		}
		c, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if visit == 0 {
			_, err = c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, Options{})
		} else {
			_, err = c.Revisit(t.Context(), plan.Plan{Full: true}, Options{})
		}
		if err = errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
		if whole.Load() != want.whole || same.Load() != want.same {
			t.Errorf("visit %d: %d whole, %d not modified, want %d and %d", visit, whole.Load(), same.Load(), want.whole, want.same)
		}
	}
	if n := textsIn(t, cfg.Texts.Folder); n[web.URL+"/"] != 1 {
		t.Errorf("%v", n)
	}
}
