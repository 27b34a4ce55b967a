package crawl

import (
	"forage/crawl/plan"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/graph"
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
