package ingest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/graph"
	"forage/internal/race"
	"forage/replay"
	"forage/report"
	"forage/snap"
	"forage/store"
	"forage/warc"
)

func config(dir string) crawl.Config {
	return crawl.Config{Dir: dir, Parallel: 16, Delay: -1, Fetch: fetch.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
}

// openCrawl opens a crawl for the test.
func openCrawl(t *testing.T, cfg crawl.Config) *crawl.Crawl {
	t.Helper()
	c, err := crawl.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func closed(t *testing.T, c *crawl.Crawl) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// taken imports captures into the store of c, which is then sound.
func taken(t *testing.T, c *crawl.Crawl, from crawl.Captures) *crawl.Imported {
	t.Helper()
	r, err := c.Import(t.Context(), from, crawl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DB().Check(func(p store.Problem) { t.Error(p) }); err != nil {
		t.Fatal(err)
	}
	return r
}

// importWARC imports files into a store, which is then sound.
func importWARC(t *testing.T, dir string, paths ...string) *crawl.Imported {
	t.Helper()
	return importWARCWatched(t, dir, func(*store.DB) {}, paths...)
}

// importWARCWatched is importWARC whose store is shown to watch first.
func importWARCWatched(t *testing.T, dir string, watch func(*store.DB), paths ...string) *crawl.Imported {
	t.Helper()
	c := openCrawl(t, config(dir))
	defer closed(t, c)
	watch(c.DB())
	files, err := WARCFiles(paths)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := scope.NewDirectory(c.View(), store.Rules{Scope: "host", DelayMillis: 1000})
	if err != nil {
		t.Fatal(err)
	}
	a, err := OpenArchive(t.Context(), files, rules, Options{Scratch: filepath.Join(dir, "scratch"), Note: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	return taken(t, c, a)
}

// told is what is told of a store: pages and lists, as 'forage pages' has them, and links by URL. fields that are not the same where the same was
// fetched at another time are left out.
func told(t *testing.T, dir string, but ...string) string {
	t.Helper()
	db, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var lines []string
	sel := report.Selection{All: true, Duplicates: true, Unknown: true}
	if err := sel.Pages(&db.View, false, func(p *report.Page) error {
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		fields := map[string]any{}
		if err := json.Unmarshal(text, &fields); err != nil {
			return err
		}
		for _, name := range but {
			delete(fields, name)
		}
		text, err = json.Marshal(fields)
		lines = append(lines, string(text))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	urls := map[graph.Node]string{}
	if err := db.Docs(func(d *store.Doc) bool { urls[d.ID] = d.URL; return true }); err != nil {
		t.Fatal(err)
	}
	if err := db.Docs(func(d *store.Doc) bool {
		links, err := db.Links(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			lines = append(lines, fmt.Sprint(d.URL, " -", l.Kind, "-> ", urls[l.To], l.NoFollow, l.Off, l.Place))
		}
		lines = append(lines, fmt.Sprint(d.URL, " etag ", d.ETag, " modified ", d.LastModified))
		lines = append(lines, fmt.Sprint("#", d.Depth, d.URL, " from ", urls[d.FoundOn], " by ", d.Via, d.ID))
		lines = append(lines, fmt.Sprint(d.URL, " ", d.State, " ", d.Kind, " ", d.Reason, " ", d.Status, " ", d.Discovered != 0, " ", d.Cycle, d.New, " ", d.Visits, " ", d.Changes))
		if err := db.Visits(d, func(v store.Visit) bool {
			lines = append(lines, fmt.Sprint(d.URL, " visit ", v.Cycle, " ", v.At, " ", v.Status, " ", v.Digest, " ", v.Bytes))
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// differences are lines that only one of two texts has.
func differences(got, want string) string {
	has := func(text string) map[string]bool {
		m := map[string]bool{}
		for line := range strings.SplitSeq(text, "\n") {
			m[line] = true
		}
		return m
	}
	a, b := has(got), has(want)
	var out []string
	for line := range a {
		if !b[line] {
			out = append(out, line+"  (got)")
		}
	}
	for line := range b {
		if !a[line] {
			out = append(out, line+"  (want)")
		}
	}
	slices.Sort(out)
	return strings.Join(out[:min(len(out), 30)], "\n") + fmt.Sprintf("\n%d lines differ", len(out))
}

// TestImportOfOwnArchive crawls the history of a site with an archive, and imports that into an empty store: it holds the same.
func TestImportOfOwnArchive(t *testing.T) {
	race.Skip(t)
	h := snap.Blog(rand.New(rand.NewPCG(1, 2)), 6)
	server, err := replay.New(h, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.Handler(server))
	defer web.Close()
	dir := t.TempDir()
	live, folder := filepath.Join(dir, "live"), filepath.Join(dir, "warc")
	for k := range h.Snapshots {
		if err := server.Switch(k); err != nil {
			t.Fatal(err)
		}
		cfg := config(live)
		cfg.Archive = &crawl.Archive{Folder: folder, Info: software}
		cfg.At = millis(1_600_000_000_000 + int64(k)*7*86_400_000)
		c := openCrawl(t, cfg)
		switch {
		case k == 0:
			_, err = c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, crawl.Options{})
		case k == 3:
			_, err = c.Revisit(t.Context(), plan.Plan{Full: true, Text: "all"}, crawl.Options{})
		default:
			_, err = c.Revisit(t.Context(), plan.Plan{Budget: func(int) int { return 10 }, Text: "10"}, crawl.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		closed(t, c)
	}
	got := filepath.Join(dir, "imported")
	r := importWARC(t, got, folder)
	if a, b := told(t, got), told(t, live); a != b {
		t.Errorf("the import differs:\n%s", differences(a, b))
	}
	if r.Sites != 1 || len(r.Cycles) != len(h.Snapshots) || r.NewPages == 0 {
		t.Errorf("imported %+v %+v", r, r.Result)
	}
	before := told(t, got)
	if r := importWARC(t, got, folder); r.Taken != 0 || len(r.Cycles) != 0 || told(t, got) != before {
		t.Errorf("imported once more: %+v", r)
	}
	// A revisit of the site as it was last: what budgeted cycles left, a full recrawl finds, of both the same; once more, nothing is new.
	var found [2]int64
	for i, dir := range []string{live, got} {
		for k := range 2 {
			cfg := config(dir)
			cfg.At = millis(1_600_000_000_000 + int64(len(h.Snapshots)+k)*7*86_400_000)
			c := openCrawl(t, cfg)
			r, err := c.Revisit(t.Context(), plan.Plan{Full: true, Text: "all", Delay: new(time.Duration)}, crawl.Options{})
			if err != nil {
				t.Fatal(err)
			}
			closed(t, c)
			if found[i] += r.NewPages; k == 1 && (r.NewPages != 0 || r.Unknown != 0 || r.Refetched == 0) {
				t.Errorf("%s: a revisit of an unchanged site: %+v", dir, r)
			}
		}
	}
	if found[0] != found[1] {
		t.Errorf("the crawl finds %d new pages more, the import %d", found[0], found[1])
	}
}

var software = warc.Fields{{Name: "software", Value: "forage/1.0"}}
