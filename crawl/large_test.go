package crawl

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"forage/store"
)

// TestLargePages crawls large pages with room for one at a time: each comes whole, and leads on.
func TestLargePages(t *testing.T) {
	const n = 8
	w := newWeb(t)
	text := strings.Repeat("a line of text, ", 1<<17)
	for i := range n {
		links := fmt.Sprintf("<a href=/%d>x</a><a href=/%d>x</a>", 2*i+1, 2*i+2)
		w.pages[fmt.Sprint("/", i)] = func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(rw, "<title>%d</title>%s%s", i, text, links)
		}
	}
	w.pages["/"] = page("home", "/0")
	c := open(t, func(cfg *Config) { cfg.Fetch.MaxHeld = 1 })
	if r := w.crawl(t, c, store.Rules{}); r.Pages != n+1 {
		t.Errorf("%d pages, want %d", r.Pages, n+1)
	}
	for i := range n {
		if d := w.doc(t, c, fmt.Sprint("/", i)); d.Truncated || d.Bytes < 2<<20 {
			t.Errorf("/%d: %d bytes, truncated %v", i, d.Bytes, d.Truncated)
		}
	}
}

// TestLongSitemap reads a sitemap that is longer than what is kept of a body, to its end.
func TestLongSitemap(t *testing.T) {
	const n = 400
	w := newWeb(t)
	w.pages["/"] = page("home")
	w.pages["/sitemap.xml"] = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/xml")
		fmt.Fprint(rw, "<urlset>")
		for i := range n {
			fmt.Fprintf(rw, "<url><loc>http://%s/%d</loc><!--%s--></url>", r.Host, i, strings.Repeat("-x", 100))
		}
		fmt.Fprint(rw, "</urlset>")
	}
	for i := range n {
		w.pages[fmt.Sprint("/", i)] = page(fmt.Sprint("page ", i))
	}
	c := open(t, func(cfg *Config) { cfg.Fetch.MaxBody = 1 << 16 })
	w.crawl(t, c, store.Rules{})
	if d := w.doc(t, c, fmt.Sprint("/", n-1)); !d.IsPage() {
		t.Errorf("the last page is %v, %v", d.State, d.Kind)
	}
	if d := w.doc(t, c, "/sitemap.xml"); d.Truncated || d.Bytes < n*200 || d.NumLinks != n {
		t.Errorf("the sitemap: %d bytes, %d links, truncated: %v", d.Bytes, d.NumLinks, d.Truncated)
	}
}
