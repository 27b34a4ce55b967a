package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/graph"
	"forage/internal/race"
	"forage/replay"
	"forage/snap"
	"forage/store"
)

// listing opens files as what open makes of them, for a store at dir that nobody writes to.
func listing(t *testing.T, open func(context.Context, []string, *scope.Directory, Options) (*Listing, error), rules store.Rules, noted *[]string, files ...string) *Listing {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "store"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	directory, err := scope.NewDirectory(&db.View, rules)
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(t.Context(), files, directory, Options{Scratch: filepath.Join(dir, "scratch"), Note: func(s string) { *noted = append(*noted, s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// texts are sightings, a line each.
func texts(t *testing.T, l *Listing) (all []string) {
	t.Helper()
	for {
		s, err := l.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text := s.Rules.Within + " " + s.URL
		if !s.At.IsZero() {
			text += " " + s.At.Format("20060102150405")
		}
		if s.Root {
			text += " root"
		}
		all = append(all, text)
	}
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var hosts = store.Rules{Scope: "host", DelayMillis: 1000}

func TestURLs(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		rules store.Rules
		want  []string
		noted []string
	}{
		"sites":                 {"http://b.test/2\nhttp://a.test/1\nhttps://b.test/\nhttp://b.test/2\n", hosts, []string{"a.test http://a.test/1", "b.test https://b.test/ root", "b.test http://b.test/2"}, nil},
		"one seed of two roots": {"http://a.test/\nhttps://a.test/\n", hosts, []string{"a.test http://a.test/ root", "a.test https://a.test/"}, nil},
		"domains":               {"http://www.a.test/\nhttp://a.test/x\nhttp://a.test/\n", store.Rules{Scope: "domain"}, []string{"a.test http://a.test/ root", "a.test http://a.test/x", "a.test http://www.a.test/"}, nil},
		"remarks, a mark of byte order, ends of lines, no last end": {"\ufeffhttp://a.test/1\r\n# no\n\n  \nhttp://a.test/2\tscope=domain\n http://a.test/3 ", hosts, []string{"a.test http://a.test/1", "a.test http://a.test/2", "a.test http://a.test/3"}, nil},
		"one identity": {"HTTP://A.test:80/x/../1?b=2&utm_source=x#top\nhttp://a.test/1?b=2\n", store.Rules{Scope: "host", IgnoreParams: []string{"utm_*"}}, []string{"a.test http://a.test/1?b=2"}, nil},
		"broken": {"http://a.test/1\na.test\nmailto:x@a.test\nhttp://a.test/2\n" + strings.Repeat("x", maxLine+1) + "\nhttp://a.test/3\n", hosts, []string{"a.test http://a.test/1", "a.test http://a.test/2", "a.test http://a.test/3"},
			[]string{`:2: "a.test" is no URL; did you mean https://a.test ?`, `:3: "mailto:x@a.test" is no URL`, `:5: the line is longer than`}},
	} {
		t.Run(name, func(t *testing.T) {
			var noted []string
			l := listing(t, OpenURLs, c.rules, &noted, written(t, "urls", c.text))
			if got := texts(t, l); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(noted) != len(c.noted) || int(l.Bad()) != len(c.noted) {
				t.Fatalf("noted %q, %d broken, want %q", noted, l.Bad(), c.noted)
			}
			for i := range noted {
				if !strings.Contains(noted[i], c.noted[i]) {
					t.Errorf("noted %q, want %q", noted[i], c.noted[i])
				}
			}
		})
	}
}

// TestIndexes: what was there is known from its earliest date, in whatever order the lines are.
func TestIndexes(t *testing.T) {
	line := func(at, url, mime, status string) string {
		return fmt.Sprintf("k %s {\"url\": %q, \"mime\": %q, \"status\": %q}\n", at, url, mime, status)
	}
	for name, c := range map[string]struct {
		text string
		want []string
		left map[string]int64
	}{
		"the earliest date":               {line("20150101000000", "http://a.test/1", "text/html", "200") + line("20140101000000", "http://a.test/1", "text/html", "200") + line("2016", "http://a.test/1", "text/html", "200"), []string{"a.test http://a.test/1 20140101000000"}, nil},
		"a revisit proves a page":         {line("20150101000000", "http://a.test/1", "text/html", "200") + line("20140101000000", "http://a.test/1", "warc/revisit", "-"), []string{"a.test http://a.test/1 20140101000000"}, nil},
		"alone, too":                      {line("20140101000000", "http://a.test/1", "warc/revisit", "304") + line("20130101000000", "http://a.test/1", "warc/revisit", ""), []string{"a.test http://a.test/1 20130101000000"}, nil},
		"but not of an image":             {line("20140101000000", "http://a.test/1", "warc/revisit", "-") + line("20150101000000", "http://a.test/1", "image/png", "200"), nil, map[string]int64{"URLs of what is no page, feed or sitemap": 1}},
		"nor of an error":                 {line("20140101000000", "http://a.test/1", "warc/revisit", "404"), nil, map[string]int64{"captures of errors, or without a status": 1}},
		"a page that was an image before": {line("20140101000000", "http://a.test/1", "image/png", "200") + line("20150101000000", "http://a.test/1", "text/html", "200"), []string{"a.test http://a.test/1 20150101000000"}, nil},
		"a redirect is known, undated":    {line("20140101000000", "http://a.test/1", "text/html", "301"), []string{"a.test http://a.test/1"}, nil},
		"a redirect that was a page":      {line("20140101000000", "http://a.test/1", "text/html", "301") + line("20150101000000", "http://a.test/1", "text/html", "200"), []string{"a.test http://a.test/1 20150101000000"}, nil},
		"errors":                          {line("20140101000000", "http://a.test/1", "text/html", "404") + line("20140101000000", "http://a.test/2", "text/html", "503"), nil, map[string]int64{"captures of errors, or without a status": 2}},
		"feeds, sitemaps, no type":        {line("2014", "http://a.test/1", "application/rss+xml", "200") + line("2014", "http://a.test/2", "application/xml", "200") + line("2014", "http://a.test/3", "unk", "200"), []string{"a.test http://a.test/1 20140101000000", "a.test http://a.test/2 20140101000000", "a.test http://a.test/3 20140101000000"}, nil},
		"robots.txt":                      {line("2014", "http://a.test/robots.txt", "text/html", "200") + line("2014", "http://a.test/robots.txt", "text/html", "200") + line("2014", "http://a.test/", "text/html", "200"), []string{"a.test http://a.test/ 20140101000000 root"}, map[string]int64{"captures of robots.txt": 2}},
		"what is no HTTP":                 {line("2014", "dns:a.test", "text/dns", "-") + line("2014", "urn:page:x", "text/html", "200"), nil, map[string]int64{"captures of other protocols than HTTP": 2}},
		"POST":                            {`k 2014 {"url": "http://a.test/1", "mime": "text/html", "status": "200", "method": "POST"}` + "\n", nil, map[string]int64{"captures of other requests than GET": 1}},
		"the seed is what was a page":     {line("2014", "http://a.test/", "text/html", "301") + line("2014", "https://a.test/", "text/html", "200"), []string{"a.test https://a.test/ 20140101000000 root", "a.test http://a.test/"}, nil},
		"CDX":                             {" CDX N b a m s k r M S V g\ntest,a)/1 20140101000000 http://a.test/1 text/html 200 X - - 7 0 x.warc.gz\n", []string{"a.test http://a.test/1 20140101000000"}, nil},
		"before there was a web":          {line("19690101000000", "http://a.test/1", "text/html", "200") + line("2014", "http://a.test/2", "text/html", "200"), []string{"a.test http://a.test/2 20140101000000"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var noted []string
			l := listing(t, OpenIndexes, hosts, &noted, written(t, "x.cdxj", c.text))
			if got := texts(t, l); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q; %q", got, c.want, noted)
			}
			if left := l.Left(); fmt.Sprint(left) != fmt.Sprint(c.left) {
				t.Errorf("left out %v, want %v", left, c.left)
			}
		})
	}
}

// TestIndexAgainstNaive compares what is made of many lines, in any order, in several files, with what a map makes of them.
func TestIndexAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	want := map[string]string{}
	var files [3]bytes.Buffer
	for range 20_000 {
		host, n, at := r.IntN(9), r.IntN(700), time.Unix(r.Int64N(1_500_000_000)+1, 0).UTC().Format("20060102150405")
		url := fmt.Sprintf("http://h%d.test/%d", host, n)
		if n == 0 {
			url = fmt.Sprintf("http://h%d.test/", host)
		}
		if was, ok := want[url]; !ok || at < was {
			want[url] = at
		}
		fmt.Fprintf(&files[r.IntN(3)], "test,h%d)/%d %s {\"url\": %q, \"mime\": \"text/html\", \"status\": \"200\"}\n", host, n, at, url)
	}
	var lines []string
	for url, at := range want {
		host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
		if path == "" {
			at += " root"
		}
		lines = append(lines, host+" "+url+" "+at)
	}
	slices.Sort(lines) // the root of a host comes first there, too
	var packed [2]bytes.Buffer
	z := gzip.NewWriter(&packed[0])
	z.Write(files[1].Bytes())
	z.Close()
	s, err := zstd.NewWriter(&packed[1])
	if err != nil {
		t.Fatal(err)
	}
	s.Write(files[2].Bytes())
	s.Close()
	var noted []string
	l := listing(t, OpenIndexes, hosts, &noted, written(t, "0", files[0].String()), written(t, "1", packed[0].String()), written(t, "2", packed[1].String()))
	if got := texts(t, l); !slices.Equal(got, lines) || l.Records() != 20_000 || len(noted) > 0 {
		t.Errorf("%d sightings of %d lines, want %d; %q", len(got), l.Records(), len(lines), noted)
	}
}

// TestBadTexts: what is none of a kind is said of the file, and what breaks off is told with the line.
func TestBadTexts(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		fmt.Fprintf(z, "http://a.test/%x\n", r.Uint64())
	}
	z.Close()
	for name, c := range map[string]struct {
		path  string
		check func([]string) error
		want  string
	}{
		"empty":        {written(t, "x", ""), URLFiles, "the file is empty"},
		"binary":       {written(t, "x", "\x00\x01http://a.test/\n"), URLFiles, "want a list of URLs"},
		"an index":     {written(t, "x", "test,a)/1 2014 {\"url\": \"http://a.test/1\"}\n"), URLFiles, "want a list of URLs"},
		"a list":       {written(t, "x", "http://a.test/1\n"), IndexFiles, "want an index of an archive, CDXJ or CDX"},
		"a style":      {written(t, "x", "WARC/1.1\n@import \"x.css\";\n!\n"), IndexFiles, "want an index of an archive, CDXJ or CDX"},
		"a folder":     {t.TempDir(), IndexFiles, "want a file, not a folder"},
		"broken gzip":  {written(t, "x", "\x1f\x8bxxxxxxxxxxxxxxxxxxx"), URLFiles, "gzip"},
		"stdin, twice": {"-", func(p []string) error { return URLFiles(append(p, p...)) }, "once only"},
		"only remarks": {written(t, "x", "# http://a.test/1\n"), URLFiles, "want a list of URLs"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.check([]string{c.path})
			var wrong *FileError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a *FileError that says %q", err, c.want)
			}
		})
	}
	var noted []string
	l := listing(t, OpenURLs, hosts, &noted, written(t, "cut.gz", packed.String()[:packed.Len()/2]))
	if n := len(texts(t, l)); n < 5000 || n > 15_000 || len(noted) != 1 || !strings.Contains(noted[0], "cannot be read from line") {
		t.Errorf("%d URLs of a file that is cut, noted %q", n, noted)
	}
}

// importListing imports files into a store, which is then sound.
func importListing(t *testing.T, cfg crawl.Config, open func(context.Context, []string, *scope.Directory, Options) (*Listing, error), files ...string) *crawl.Imported {
	t.Helper()
	c := openCrawl(t, cfg)
	defer closed(t, c)
	rules, err := scope.NewDirectory(c.View(), hosts)
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(t.Context(), files, rules, Options{Scratch: filepath.Join(cfg.Dir, "scratch"), Note: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := c.ImportSightings(t.Context(), l, crawl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DB().Check(func(p store.Problem) { t.Error(p) }); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestNeverNew: what a list or an index has is never new afterwards, whether the site was crawled before that or not, and known from the date that
// the index has.
func TestNeverNew(t *testing.T) {
	race.Skip(t)
	h := snap.Blog(rand.New(rand.NewPCG(1, 2)), 6)
	server, err := replay.New(h, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	for _, kind := range []string{"urls", "cdxj"} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s first=%v", kind, first), func(t *testing.T) {
				// Every other page is in the files. What only a list has, and is not there when it is read, is new when it is later.
				there := h.At(0).Alive
				if !first {
					there = h.At(1).Alive
				}
				var urls, index strings.Builder
				half := map[string]bool{}
				for id, path := range h.URLs {
					if url := web.URL + path; id%2 == 0 && (kind == "cdxj" || there[id]) {
						half[url] = true
						fmt.Fprintln(&urls, url)
						fmt.Fprintf(&index, "k 20100101000000 {\"url\": %q, \"mime\": \"text/html\", \"status\": \"200\"}\n", url)
					}
				}
				dir := t.TempDir()
				take := func() *crawl.Imported {
					if kind == "urls" {
						return importListing(t, config(dir), OpenURLs, written(t, "urls", urls.String()))
					}
					return importListing(t, config(dir), OpenIndexes, written(t, "index", index.String()))
				}
				if first {
					if r := take(); int(r.Added) != len(half) || int(r.Taken) != len(half) || len(r.Cycles) != 1 || r.Sites != 1 {
						t.Errorf("imported %+v, want %d", r, len(half))
					}
				}
				for k := range h.Snapshots {
					if err := server.Switch(k); err != nil {
						t.Fatal(err)
					}
					cfg := config(dir)
					cfg.At = millis(1_600_000_000_000 + int64(k)*7*86_400_000)
					c := openCrawl(t, cfg)
					switch {
					case k == 0:
						_, err = c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, crawl.Options{})
					default:
						_, err = c.Revisit(t.Context(), plan.Plan{Budget: func(int) int { return 30 }, Text: "30"}, crawl.Options{})
					}
					if err != nil {
						t.Fatal(err)
					}
					closed(t, c)
					if k == 0 && !first {
						take()
					}
				}
				if r := take(); r.Taken != 0 || len(r.Cycles) != 0 {
					t.Errorf("imported once more: %+v", r)
				}
				db, err := store.Open(dir, store.Options{ReadOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				fresh, read := 0, 0
				told := map[graph.Node]bool{}
				if err := db.Events(0, func(e *store.Event) bool { told[e.Doc] = told[e.Doc] || e.Type == store.PageNew; return true }); err != nil {
					t.Fatal(err)
				}
				if err := db.Docs(func(d *store.Doc) bool {
					switch {
					case half[d.URL]:
						if d.New != store.NotNew || told[d.ID] {
							t.Errorf("%s is new: %v", d.URL, d.New)
						}
						if d.Kind == store.Page && d.Status == 200 {
							read++
						}
						if kind == "cdxj" && d.FirstSeen != 1262304000 {
							t.Errorf("%s was seen first at %d", d.URL, d.FirstSeen)
						}
					case d.New == store.IsNew:
						fresh++
					}
					return true
				}); err != nil {
					t.Fatal(err)
				}
				if fresh == 0 || read == 0 {
					t.Errorf("%d others are new, and %d were read: the test shows nothing", fresh, read)
				}
			})
		}
	}
}

// TestMoreWaitsThanIsOld: a budget that is more than a site has old documents goes on to what a list has named, and ends there: what is
// left for looks at pages that may be gone is nothing then.
func TestMoreWaitsThanIsOld(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, body, _ := strings.Cut(page(r.URL.Path, "/a", "/b", "/c", "/d"), "\r\n\r\n")
		io.WriteString(w, body)
	}))
	defer web.Close()
	dir := t.TempDir()
	c := openCrawl(t, config(dir))
	if _, err := c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, crawl.Options{}); err != nil {
		t.Fatal(err)
	}
	closed(t, c)
	var urls strings.Builder
	for i := range 12 {
		fmt.Fprintf(&urls, "%s/%d\n", web.URL, i)
	}
	importListing(t, config(dir), OpenURLs, written(t, "urls", urls.String()))
	c = openCrawl(t, config(dir))
	defer closed(t, c)
	const budget = 10
	r, err := c.Revisit(t.Context(), plan.Plan{Budget: func(int) int { return budget }, Text: "10", CheckGone: .25}, crawl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Refetched != 5 || r.Waited != budget-5 {
		t.Errorf("fetched %d old documents and %d that waited, want 5 and 5", r.Refetched, r.Waited)
	}
}

// An interrupted listing ends the import that reads it.
type interrupted struct {
	crawl.Sightings
	left   int
	cancel func()
}

func (i *interrupted) Next() (*crawl.Sighting, error) {
	if i.left--; i.left < 0 {
		i.cancel()
	}
	return i.Sightings.Next()
}

// TestInterruptedListing: an import that is interrupted goes on, in the same cycles, and comes to what one comes to that is not.
func TestInterruptedListing(t *testing.T) {
	var text strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&text, "k 2014 {\"url\": \"http://h%d.test/%d\", \"mime\": \"text/html\", \"status\": \"200\"}\n", i%4, i)
	}
	path := written(t, "index", text.String())
	once, often := config(t.TempDir()), config(t.TempDir())
	once.At, often.At = millis(1_600_000_000_000), millis(1_600_000_000_000)
	importListing(t, once, OpenIndexes, path)
	interrupts := 0
	for n := 5000; ; n += 8000 {
		ctx, cancel := context.WithCancel(t.Context())
		c := openCrawl(t, often)
		rules, err := scope.NewDirectory(c.View(), hosts)
		if err != nil {
			t.Fatal(err)
		}
		l, err := OpenIndexes(t.Context(), []string{path}, rules, Options{Scratch: filepath.Join(often.Dir, "scratch")})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.ImportSightings(ctx, &interrupted{l, n, cancel}, crawl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		l.Close()
		closed(t, c)
		if !r.Interrupted {
			break
		}
		interrupts++
	}
	if interrupts < 2 {
		t.Errorf("interrupted %d times", interrupts)
	}
	if a, b := told(t, often.Dir), told(t, once.Dir); a != b {
		t.Errorf("what was interrupted differs:\n%s", differences(a, b))
	}
}

// TestArchiveAfterIndex: of what an index and an archive have, the earlier date holds, whichever is imported first.
func TestArchiveAfterIndex(t *testing.T) {
	archive := record("response", "http://x.test/", "2013-01-01T00:00:00Z", "", page("home", "/a")) + record("response", "http://x.test/a", "2015-01-01T00:00:00Z", "", page("a"))
	index := "k 2014 {\"url\": \"http://x.test/\", \"mime\": \"text/html\", \"status\": \"200\"}\nk 2014 {\"url\": \"http://x.test/a\", \"mime\": \"text/html\", \"status\": \"200\"}\n"
	for _, first := range []string{"index", "archive"} {
		dir := t.TempDir()
		takes := []func(){
			func() { importListing(t, config(dir), OpenIndexes, written(t, "index", index)) },
			func() { importWARC(t, dir, written(t, "x.warc", archive)) },
		}
		if first == "archive" {
			slices.Reverse(takes)
		}
		for _, take := range takes {
			take()
		}
		db, err := store.Open(dir, store.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		got := map[string]int{}
		if err := db.Docs(func(d *store.Doc) bool {
			got[d.URL] = time.Unix(d.FirstSeen, 0).UTC().Year()
			if d.New != store.NotNew || d.Kind != store.Page {
				t.Errorf("%s first: %s is %v, new %v", first, d.URL, d.Kind, d.New)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got["http://x.test/"] != 2013 || got["http://x.test/a"] != 2014 {
			t.Errorf("%s first: seen first in %v, want 2013 and 2014", first, got)
		}
	}
}
