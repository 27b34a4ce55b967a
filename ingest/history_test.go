package ingest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/replay"
	"forage/snap"
	"forage/store"
)

// saved writes a history to a file.
func saved(t *testing.T, h *snap.History) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.snap.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(snap.Write(f, h), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// importHistory imports a history into a store, which is then sound.
func importHistory(t *testing.T, dir string, paths ...string) *crawl.Imported {
	t.Helper()
	return importHistoryWatched(t, dir, func(*store.DB) {}, paths...)
}

// importHistoryWatched is importHistory whose store is shown to watch first.
func importHistoryWatched(t *testing.T, dir string, watch func(*store.DB), paths ...string) *crawl.Imported {
	t.Helper()
	c := openCrawl(t, config(dir))
	defer closed(t, c)
	watch(c.DB())
	rules, err := scope.NewDirectory(c.View(), hosts)
	if err != nil {
		t.Fatal(err)
	}
	h, err := OpenHistories(t.Context(), paths, rules, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return taken(t, c, h)
}

// TestHistoryAsCrawled: what is imported of a history is what full recrawls of it have; a revisit of it as it was last finds nothing new, and nothing
// that has changed.
func TestHistoryAsCrawled(t *testing.T) {
	h := snap.Blog(rand.New(rand.NewPCG(1, 2)), 5)
	server, err := replay.New(h, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	h.Base = web.URL + "/"
	dir := t.TempDir()
	live, got := filepath.Join(dir, "live"), filepath.Join(dir, "imported")
	for k := range h.Snapshots {
		if err := server.Switch(k); err != nil {
			t.Fatal(err)
		}
		cfg := config(live)
		cfg.Parallel = 1 // so that documents become known in their order
		cfg.At = millis(h.Snapshots[k].Time * 1000)
		c := openCrawl(t, cfg)
		if k == 0 {
			_, err = c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, crawl.Options{})
		} else {
			_, err = c.Revisit(t.Context(), plan.Plan{Full: true, Text: "all"}, crawl.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		closed(t, c)
	}
	path := saved(t, h)
	r := importHistory(t, got, path)
	if len(r.Cycles) != len(h.Snapshots) || r.Sites != 1 || r.NewPages == 0 {
		t.Errorf("imported %+v", r.Result)
	}
	told := func(dir string) string { return told(t, dir) }
	if a, b := told(got), told(live); a != b {
		t.Errorf("the import differs:\n%s", differences(a, b))
	}
	before := told(got)
	if r := importHistory(t, got, path); r.Taken != 0 || len(r.Cycles) != 0 || told(got) != before {
		t.Errorf("imported once more: %+v, %d cycles", r, len(r.Cycles))
	}
	cfg := config(got)
	cfg.At = millis((h.Snapshots[len(h.Snapshots)-1].Time + 86_400) * 1000)
	c := openCrawl(t, cfg)
	defer closed(t, c)
	again, err := c.Revisit(t.Context(), plan.Plan{Full: true, Text: "all", Delay: new(time.Duration)}, crawl.Options{})
	if err != nil || again.NewPages != 0 || again.Unknown != 0 || again.Refetched == 0 {
		t.Errorf("a revisit: %+v, %v, want nothing new", again, err)
	}
	if err := c.DB().Docs(func(d *store.Doc) bool {
		if d.Changed >= cfg.At.Unix() {
			t.Errorf("%s has changed", d.URL)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
}

// TestDatedHistory: of a history by commits a snapshot a week is taken in, the last one too, with the dates that documents state.
func TestDatedHistory(t *testing.T) {
	const day = 86_400
	h := snap.New("x", "https://x.test/blog/")
	h.Dated = true
	h.URLs = []string{"/blog/", "/blog/1", "/blog/2", "/blog/feed.xml", "/blog/sitemap.xml"}
	at := func(days int64) int64 { return 1_500_000_000 + days*day }
	h.Snapshots = []snap.Snapshot{
		{Time: at(0), Pages: 2, Docs: 2, WellKnown: []snap.ID{4}, Changes: []snap.Change{
			{Op: snap.Added, ID: 0, Gain: []snap.ID{1, 3}}, {Op: snap.Added, ID: 1, Published: at(-9)},
			{Op: snap.Added, ID: 3, Flag: snap.Feed, Gain: []snap.ID{1}, Dates: []snap.Date{{Target: 1, Time: at(-9)}}},
			{Op: snap.Added, ID: 4, Flag: snap.Sitemap, Gain: []snap.ID{1}, Dates: []snap.Date{{Target: 1, Time: at(-8)}}},
		}},
		{Time: at(1), Pages: 2, Docs: 2, Changes: []snap.Change{{Op: snap.Content, ID: 1}}},
		{Time: at(2), Pages: 2, Docs: 2, Changes: []snap.Change{{Op: snap.Content, ID: 1}}},
		{Time: at(8), Pages: 2, Docs: 2, Changes: []snap.Change{{Op: snap.Content, ID: 0}}},
		{Time: at(9), Pages: 3, Docs: 2, Changes: []snap.Change{
			{Op: snap.Links, ID: 0, Gain: []snap.ID{2}}, {Op: snap.Content, ID: 1}, {Op: snap.Added, ID: 2, Published: at(9)},
		}},
	}
	dir := t.TempDir()
	r := importHistory(t, dir, saved(t, h))
	if len(r.Cycles) != 3 || r.NewPages != 1 {
		t.Errorf("%d cycles, %d new pages, want those of days 0, 2 or 7, and 9, and 1", len(r.Cycles), r.NewPages)
	}
	db, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var got []string
	if err := db.Docs(func(d *store.Doc) bool {
		on := func(at0 store.Time) string {
			if at0 == 0 {
				return "-"
			}
			return fmt.Sprint((at0 - at(0)) / day)
		}
		got = append(got, fmt.Sprint(strings.TrimPrefix(d.URL, "https://x.test"), " ", d.Kind, ", new ", d.New, ", published ", on(d.Published), ", modified ", on(d.LastMod), ", seen ", on(d.FirstSeen), ", visits ", d.Visits, ", changes ", d.Changes, ", links ", d.NumLinks))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{
		"/blog/ page, new no, published -, modified -, seen 0, visits 3, changes 1, links 3",
		"/blog/sitemap.xml sitemap, new no, published -, modified -, seen 0, visits 3, changes 0, links 1",
		"/blog/feed.xml feed, new no, published -, modified -, seen 0, visits 3, changes 0, links 1",
		"/blog/1 page, new no, published -9, modified -8, seen 0, visits 3, changes 2, links 0",
		"/blog/2 page, new yes, published 9, modified -, seen 9, visits 1, changes 0, links 0",
	}; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}
