package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/store"
)

// record writes a record, with the header lines that are given.
func record(kind, uri, date, more, block string) string {
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: %s\r\nWARC-Record-ID: <urn:uuid:%x>\r\nContent-Type: application/http; msgtype=response\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n",
		kind, uri, date, kind+uri+date, more, len(block), block)
}

// page is the answer with a page that links to others.
func page(title string, links ...string) string {
	body := "<title>" + title + "</title><h1>" + title + "</h1><p>" + title + " is a page with some words of its own, so that it is one.</p>"
	for _, l := range links {
		body += "<a href='" + l + "'>" + l + "</a>\n"
	}
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func zipped(texts ...string) string {
	var b bytes.Buffer
	for _, t := range texts {
		z := gzip.NewWriter(&b)
		z.Write([]byte(t))
		z.Close()
	}
	return b.String()
}

// TestForeignArchives: archives as others make them, whole and broken: what can be read is taken in, and the rest is told.
func TestForeignArchives(t *testing.T) {
	const first, later = "2020-01-01T00:00:00Z", "2020-03-01T00:00:00Z"
	home, a := record("response", "http://x.test/", first, "", page("home", "/a", "/b")), record("response", "http://x.test/a", first, "", page("one"))
	digest := "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n"
	both := []string{"http://x.test/ fetched 1", "http://x.test/a fetched 1", "http://x.test/b queued 0"}
	for name, c := range map[string]struct {
		text  string
		want  []string // URL, state and visits of each document
		noted string   // of one broken record; "": none is
		left  string   // why one is left out
	}{
		"plain":                         {home + a, both, "", ""},
		"a member a record":             {zipped(home, a), both, "", ""},
		"members of several":            {zipped(home+a, record("response", "http://x.test/c", first, "", page("c"))), append(slices.Clone(both), "http://x.test/c fetched 1"), "", ""},
		"version 0.17, bare line feeds": {strings.ReplaceAll(strings.Replace(strings.SplitAfter(home, "\r\n\r\n")[0], "WARC/1.0", "WARC/0.17", 1), "\r\n", "\n") + strings.SplitAfterN(home, "\r\n\r\n", 2)[1] + a, both, "", ""},
		"a member that is cut":          {zipped(home, a)[:len(zipped(home, a))-20], []string{"http://x.test/ fetched 1", "http://x.test/a queued 0", "http://x.test/b queued 0"}, "byte", ""},
		"plain, cut":                    {(home + a)[:len(home+a)-30], []string{"http://x.test/ fetched 1", "http://x.test/a queued 0", "http://x.test/b queued 0"}, "Content-Length", ""},
		"a length that is too small":    {zipped(strings.Replace(a, "Content-Length: ", "Content-Length: 1\r\nX: ", 1), home), both[:0:0], "byte", ""},
		"revisit by digest":             {home + record("response", "http://x.test/a", first, digest, page("one", "/d")) + record("revisit", "http://x.test/b", later, digest+"WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\n", ""), []string{"http://x.test/ fetched 1", "http://x.test/a fetched 1", "http://x.test/b fetched 1", "http://x.test/d queued 0"}, "", ""},
		"revisit by reference, first":   {zipped(record("revisit", "http://x.test/a", later, "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\nWARC-Refers-To-Target-URI: http://x.test/a\r\nWARC-Refers-To-Date: "+first+"\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), home, a), []string{"http://x.test/ fetched 1", "http://x.test/a fetched 2", "http://x.test/b queued 0"}, "", ""},
		"a body that is elsewhere":      {home + record("revisit", "http://x.test/e", later, digest+"WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\n", ""), []string{"http://x.test/ fetched 1", "http://x.test/a queued 0", "http://x.test/b queued 0"}, "", "captures whose body is in another archive"},
		"not modified, of others":       {home + a + record("revisit", "http://x.test/a", later, "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/server-not-modified\r\n", "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n"), []string{"http://x.test/ fetched 1", "http://x.test/a fetched 2", "http://x.test/b queued 0"}, "", ""},
		"no HTTP":                       {home + a + record("response", "dns:x.test", first, "", "x.test. 60 IN A 127.0.0.1"), both, "", "records of other protocols than HTTP"},
		"no answer":                     {home + a + record("response", "http://x.test/c", first, "", "what is this"), both, "", "records without an answer by HTTP"},
		"resources":                     {home + a + record("resource", "http://x.test/c", first, "", "<title>c</title>"), both, "", "resource records"},
		"no date":                       {home + a + record("response", "http://x.test/c", "yesterday", "", page("c")), both, "is no date", ""},
		"raw UTF-8 and blanks":          {record("response", "http://x.test/", first, "", page("home", "/caf%C3%A9%20au%20lait")) + record("response", "http://x.test/café au lait", first, "", page("one")), []string{"http://x.test/ fetched 1", "http://x.test/caf%C3%A9%20au%20lait fetched 1"}, "", ""},
		"a URL in brackets":             {home + record("response", "<http://x.test/a>", first, "", page("one")), both, "", ""},
		"NUL in the head":               {home + a + record("response", "http://x.test/c", first, "", strings.Replace(page("c"), "OK\r\n", "OK\r\nX-A: a\x00b\r\nX-B: "+strings.Repeat("y", 1<<10)+"\r\n", 1)), append(slices.Clone(both), "http://x.test/c fetched 1"), "", ""},
		"a head of bare line feeds":     {home + record("response", "http://x.test/a", first, "", strings.ReplaceAll(page("one"), "\r\n", "\n")), both, "", ""},
		"a line of 1 MiB":               {home + a + record("response", "http://x.test/c", first, "X-Long: "+strings.Repeat("z", 1<<20)+"\r\n", page("c")), both, "byte", ""},
		"chunks":                        {home + record("response", "http://x.test/a", first, "", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<h1>h\r\n0\r\n\r\n"), both, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := written(t, "x.warc", c.text)
			files, err := WARCFiles([]string{path})
			if err != nil {
				t.Fatal(err)
			}
			cr := openCrawl(t, config(dir))
			defer closed(t, cr)
			rules, err := scope.NewDirectory(cr.View(), hosts)
			if err != nil {
				t.Fatal(err)
			}
			var noted []string
			a, err := OpenArchive(t.Context(), files, rules, Options{Scratch: filepath.Join(dir, "scratch"), Note: func(s string) { noted = append(noted, s) }})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			r, err := cr.Import(t.Context(), a, crawl.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if c.noted == "" != (len(noted) == 0) || len(noted) > 0 && !strings.Contains(noted[0], c.noted) {
				t.Errorf("noted %q, want %q", noted, c.noted)
			}
			if c.left != "" && a.Left()[c.left]+r.Left[c.left] != 1 {
				t.Errorf("left out %v, %v, want %q", a.Left(), r.Left, c.left)
			}
			var got []string
			if err := cr.DB().Docs(func(d *store.Doc) bool {
				got = append(got, fmt.Sprint(d.URL, " ", d.State, " ", d.Visits))
				return true
			}); err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if len(c.want) > 0 && !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if err := cr.DB().Check(func(p store.Problem) { t.Error(p) }); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestNoArchive: what is none is said of the file.
func TestNoArchive(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"ARC":   {"filedesc://x.arc 0.0.0.0 20100101000000 text/plain 76\n1 0 x\nURL IP-address Archive-date Content-type Archive-length\n\n", "ARC"},
		"text":  {"http://x.test/\n", "want a WARC file"},
		"empty": {"", "the file is empty"},
		"cut":   {zipped(record("response", "http://x.test/", "2020-01-01T00:00:00Z", "", page("x")))[:15], "want a WARC file"},
	} {
		_, err := WARCFiles([]string{written(t, "x.warc.gz", c.text)})
		var wrong *FileError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a *FileError that says %q", name, err, c.want)
		}
	}
}

// TestRulesOfImport: what the rules of a new site leave out does not wait to be fetched.
func TestRulesOfImport(t *testing.T) {
	const at = "2020-01-01T00:00:00Z"
	dir := t.TempDir()
	path := written(t, "x.warc", record("response", "http://x.test/", at, "", page("home", "/in/a", "/out/b"))+record("response", "http://x.test/in/a", at, "", page("a"))+record("response", "http://x.test/out/b", at, "", page("b"))+
		record("response", "http://x.test/out/c", at, "", page("c")))
	c := openCrawl(t, config(dir))
	defer closed(t, c)
	own := hosts
	own.Exclude = []string{"/out/"}
	rules, err := scope.NewDirectory(c.View(), own)
	if err != nil {
		t.Fatal(err)
	}
	a, err := OpenArchive(t.Context(), []string{path}, rules, Options{Scratch: filepath.Join(dir, "scratch")})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r, err := c.Import(t.Context(), a, crawl.Options{})
	if err != nil || r.Taken != 2 || r.Left["captures that the rules of their site leave out"] != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := c.DB().Docs(func(d *store.Doc) bool {
		if want := map[bool]store.State{false: store.Fetched, true: store.Skipped}[strings.Contains(d.URL, "/out/")]; d.State != want {
			t.Errorf("%s is %v, want %v", d.URL, d.State, want)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
}

// TestNotModifiedAgain: validators that came with an answer of 304 are those of the document, by an archive of ours, too.
func TestNotModifiedAgain(t *testing.T) {
	n := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		n++
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Last-Modified", fmt.Sprintf("Wed, 0%d Jan 2020 00:00:00 GMT", n))
		if r.Header.Get("If-None-Match") == `"x"` {
			w.WriteHeader(304)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>x</title>a page")
	}))
	defer web.Close()
	dir := t.TempDir()
	live, folder, got := filepath.Join(dir, "live"), filepath.Join(dir, "warc"), filepath.Join(dir, "imported")
	for k := range 3 {
		cfg := config(live)
		cfg.Archive = &crawl.Archive{Folder: folder, Info: software}
		cfg.At = millis(1_600_000_000_000 + int64(k)*86_400_000)
		c := openCrawl(t, cfg)
		var err error
		if k == 0 {
			_, err = c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, crawl.Options{})
		} else {
			_, err = c.Revisit(t.Context(), plan.Plan{Budget: func(int) int { return 5 }, Text: "5"}, crawl.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		closed(t, c)
	}
	importWARC(t, got, folder)
	if a, b := told(t, got), told(t, live); a != b || !strings.Contains(a, "modified Wed, 03 Jan 2020") {
		t.Errorf("the import differs:\n%s", differences(a, b))
	}
}
