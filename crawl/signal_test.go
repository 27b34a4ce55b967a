package crawl

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/graph"
	"forage/revisit"
	"forage/store"
)

// TestUnchanged crawls a site whose sitemap tells when its pages changed: what it tells is
// kept with each fetch of it, of a 304 too. A feed without dates tells nothing.
func TestUnchanged(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a", "/b", "/c", "/d", "/feed.xml")
	for _, p := range []string{"/a", "/b", "/c", "/d"} {
		w.pages[p] = page(p)
	}
	now := time.Date(2024, 5, 3, 12, 0, 0, 0, time.UTC)
	version := "1"
	mods := map[string]string{"/a": "2024-05-03T11:59:00Z", "/b": "2031-01-01T01:01:01Z", "/c": "2024-05-03"}
	w.pages["/feed.xml"] = func(rw http.ResponseWriter, r *http.Request) {
		io.WriteString(rw, `<?xml version="1.0"?><rss version="2.0"><channel><item><link>http://`+r.Host+`/a</link></item></channel></rss>`)
	}
	w.pages["/sitemap.xml"] = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("ETag", `"`+version+`"`)
		if r.Header.Get("If-None-Match") == `"`+version+`"` {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
		var b strings.Builder
		b.WriteString(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for _, p := range []string{"/a", "/b", "/c", "/d"} {
			b.WriteString("<url><loc>http://" + r.Host + p + "</loc>")
			if mods[p] != "" {
				b.WriteString("<lastmod>" + mods[p] + "</lastmod>")
			}
			b.WriteString("</url>")
		}
		io.WriteString(rw, b.String()+"</urlset>")
	}
	dir := t.TempDir()
	cycle := func(full bool) (same map[string][]string) {
		t.Helper()
		cfg := local(dir)
		cfg.At = now
		now = now.Add(48 * time.Hour)
		c, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if full {
			w.crawl(t, c, store.Rules{})
			return nil
		}
		r := w.revisit(t, c, plan.Plan{Policy: "best", Budget: func(int) int { return 3 }})
		same = map[string][]string{}
		path := func(id graph.Node) string {
			d, err := c.View().Doc(id)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimPrefix(d.URL, w.URL)
		}
		if err := c.View().Refetches(1, r.Cycle, func(f *store.Refetch) bool {
			paths := []string{}
			for _, id := range f.Same {
				paths = append(paths, path(id))
			}
			slices.Sort(paths)
			same[path(f.Page)] = paths
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return same
	}
	cycle(true)
	check := func(want ...string) {
		t.Helper()
		same := cycle(false)
		for path, got := range same {
			if path == "/sitemap.xml" && !slices.Equal(got, want) || path != "/sitemap.xml" && len(got) > 0 {
				t.Errorf("%s told that %q are the same, want %q of the sitemap", path, got, want)
			}
		}
		if _, ok := same["/sitemap.xml"]; !ok || len(same) != 3 {
			t.Errorf("fetched %v, want home, feed and sitemap", same)
		}
	}
	check("/a") // a 304; /c may have changed on the day of its fetch
	version, mods["/a"] = "2", "2024-05-06T10:00:01Z"
	check()
	version, mods["/c"] = "3", "2024-05-01"
	check("/c")
	w.set("/sitemap.xml", status(404))
	check() // what it told once says nothing now
}

// A listener writes down what a policy is told.
type listener struct {
	revisit.RoundRobin
	dates    map[graph.Node][2]revisit.Time // Seen, Published
	modified map[graph.Node]bool
}

func (l *listener) Learn(v graph.Node, p revisit.Profile) {
	l.RoundRobin.Learn(v, p)
	l.dates[v] = [2]revisit.Time{p.Seen, p.Published}
}

func (l *listener) Observe(r revisit.Refetch) {
	l.RoundRobin.Observe(r)
	l.modified[r.Page] = r.Modified
}

// TestTold: policies hear when documents were fetched first, the dates that pages and lists state,
// and whether a body changed though its links did not.
func TestTold(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/own", "/listed", "/undated", "/gone")
	w.pages["/own"] = func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `<html><head><meta property="article:published_time" content="2020-01-02T03:04:05Z"></head></html>`)
	}
	for _, p := range []string{"/listed", "/undated", "/gone"} {
		w.pages[p] = page(p)
	}
	mods := map[string]string{"/own": "2021-01-01T01:01:01Z", "/listed": "2022-02-02T02:02:02Z"}
	w.pages["/sitemap.xml"] = func(rw http.ResponseWriter, r *http.Request) {
		io.WriteString(rw, `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for _, p := range slices.Sorted(maps.Keys(mods)) {
			io.WriteString(rw, "<url><loc>http://"+r.Host+p+"</loc><lastmod>"+mods[p]+"</lastmod></url>")
		}
		io.WriteString(rw, "</urlset>")
	}
	cfg := local(t.TempDir())
	first := time.Date(2024, 5, 3, 12, 0, 0, 0, time.UTC)
	cfg.At = first
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.crawl(t, c, store.Rules{})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	w.set("/own", page("other words"))
	w.set("/gone", status(404))
	w.set("/late", page("late"))
	mods["/late"] = "2024-05-04T10:00:00Z"
	cfg.At = first.Add(time.Hour)
	if c, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w.revisit(t, c, plan.Plan{Policy: "round-robin", Budget: func(int) int { return 99 }})
	heard := &listener{dates: map[graph.Node][2]revisit.Time{}, modified: map[graph.Node]bool{}}
	s := revisit.NewSite(heard)
	if err := c.View().Records(1, 0, func(_ store.Cycle, b []byte) bool { err = s.Replay(b); return err == nil }); err != nil || s.Cycle() != 1 {
		t.Fatal(s.Cycle(), err)
	}
	at, seconds := revisit.Time(first.Unix()), func(s string) revisit.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return revisit.Time(v.Unix())
	}
	for path, want := range map[string]struct {
		dates    [2]revisit.Time
		modified bool
	}{
		"/":            {[2]revisit.Time{at, 0}, false},
		"/own":         {[2]revisit.Time{at, seconds("2020-01-02T03:04:05Z")}, true},
		"/listed":      {[2]revisit.Time{at, seconds("2022-02-02T02:02:02Z")}, false},
		"/undated":     {[2]revisit.Time{at, 0}, false},
		"/gone":        {[2]revisit.Time{at, 0}, false},
		"/sitemap.xml": {[2]revisit.Time{at, 0}, true},
		"/late":        {[2]revisit.Time{at + 3600, seconds("2024-05-04T10:00:00Z")}, false},
	} {
		id, err := c.View().Find(w.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := s.Node(revisit.Key(id)); !ok || heard.dates[v] != want.dates || heard.modified[v] != want.modified {
			t.Errorf("%s: known %v, seen and published %v, modified %v, want %v", path, ok, heard.dates[v], heard.modified[v], want)
		}
	}
}
