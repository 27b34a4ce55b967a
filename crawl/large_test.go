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
