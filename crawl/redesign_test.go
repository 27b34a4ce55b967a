package crawl

import (
	"fmt"
	"math"
	"net/http"
	"testing"

	"forage/store"
)

// TestRedesign moves every page of a site to another URL, with a redirect from the old one and
// without: what the new home leads to is found within a small budget, and what the redirects
// lead to is not lost.
func TestRedesign(t *testing.T) {
	for _, redirects := range []bool{false, true} {
		t.Run(fmt.Sprintf("redirects=%v", redirects), func(t *testing.T) {
			w := newWeb(t)
			var before, after []string
			for i := range 20 {
				before, after = append(before, fmt.Sprintf("/a/%d.html", i)), append(after, fmt.Sprintf("/b/page-%d/", i))
			}
			w.pages["/"] = page("home", before...)
			for _, p := range before {
				w.pages[p] = page("old " + p)
			}
			c := open(t, nil)
			w.crawl(t, c, store.Rules{})
			w.set("/", page("home", after...))
			for i, p := range after {
				w.set(p, page("moved "+p))
				if w.set(before[i], status(404)); redirects {
					w.set(before[i], redirect(301, p))
				}
			}
			r := w.revisit(t, c, Plan{Budget: func(int) int { return 5 }})
			if r.NewPages != 20 || r.Refetched > 5 {
				t.Errorf("%d of 20 new pages found by %d fetches of 5", r.NewPages, r.Refetched)
			}
			for range 3 {
				if r = w.revisit(t, c, Plan{Full: true}); r.NewPages != 0 {
					t.Errorf("cycle %d rediscovers %d pages", r.Cycle, r.NewPages)
				}
			}
		})
	}
}

// TestVanished takes a whole site away for some cycles by 404 and brings it back:
// nothing of it is new then, and what is new is found.
func TestVanished(t *testing.T) {
	w := newWeb(t)
	var links []string
	for i := range 10 {
		links = append(links, fmt.Sprintf("/%d", i))
		w.pages[links[i]] = page("page "+links[i], "/")
	}
	w.pages["/"] = page("home", links...)
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	plan := Plan{Budget: func(int) int { return math.MaxInt }}
	saved := map[string]http.HandlerFunc{}
	for p, h := range w.pages {
		saved[p] = h
	}
	for p := range saved {
		w.set(p, status(404))
	}
	for range 2 {
		if r := w.revisit(t, c, plan); r.NewPages != 0 {
			t.Errorf("cycle %d: %d new pages at a site that is away", r.Cycle, r.NewPages)
		}
	}
	for p, h := range saved {
		w.set(p, h)
	}
	w.set("/new", page("new"))
	w.set("/", page("home", append(links, "/new")...))
	found := int64(0)
	for range 2 {
		found += w.revisit(t, c, plan).NewPages
	}
	if found != 1 {
		t.Errorf("%d new pages when the site is back, want 1", found)
	}
}

// TestMintedURLs has two pages link to a new URL at every fetch, by a session number that
// means nothing: the variants that the first visit met are all there will ever be.
func TestMintedURLs(t *testing.T) {
	w := newWeb(t)
	n := 0
	mint := func(rw http.ResponseWriter, r *http.Request) { // the home and the list are never fetched at once: Parallel is 1
		n++
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>x</title><p>%s %d<a href=/list>list</a><a href=/page?sid=%d>page</a>", r.URL.Path, n, n)
	}
	w.pages["/"], w.pages["/list"], w.pages["/page"] = mint, mint, mint
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
	w.crawl(t, c, store.Rules{})
	for range 6 {
		if r := w.revisit(t, c, Plan{Budget: func(int) int { return 3 }}); r.NewPages != 0 {
			t.Errorf("cycle %d counts %d minted URLs as new pages", r.Cycle, r.NewPages)
		}
	}
	s, err := c.View().Site(1)
	if err != nil || len(s.Traps) == 0 {
		t.Errorf("no trap is reported: %+v, %v", s, err)
	}
}
