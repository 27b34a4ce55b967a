package crawl

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/internal/software"
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
			r := w.revisit(t, c, plan.Plan{Budget: func(int) int { return 5 }})
			// Those that a redirect was seen to lead to have moved.
			if r.NewPages+r.Moved != 20 || r.Refetched > 5 || (r.Moved > 0) != redirects {
				t.Errorf("%d new pages and %d moved ones of 20 found by %d fetches of 5", r.NewPages, r.Moved, r.Refetched)
			}
			for range 3 {
				if r = w.revisit(t, c, plan.Plan{Full: true}); r.NewPages != 0 {
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
	p := plan.Plan{Budget: func(int) int { return math.MaxInt }}
	saved := map[string]http.HandlerFunc{}
	for p, h := range w.pages {
		saved[p] = h
	}
	for p := range saved {
		w.set(p, status(404))
	}
	for range 2 {
		if r := w.revisit(t, c, p); r.NewPages != 0 {
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
		found += w.revisit(t, c, p).NewPages
	}
	if found != 1 {
		t.Errorf("%d new pages when the site is back, want 1", found)
	}
}

// TestUnavailable takes a site away by 503 for two cycles and brings it back. A cycle without
// it ends after a few requests and says why; then nothing is new or lost but what came meanwhile.
func TestUnavailable(t *testing.T) {
	for _, test := range []struct {
		name    string
		robots  bool // robots.txt answers so too
		retry   string
		first   int // requests in the first cycle without the site
		then    int // in the second
		failure string
	}{
		{"pages", false, "", 3, 3, "answers with status 503"},
		{"robots.txt too", true, "", 3, 1, "robots.txt: answers with status 503"},
		{"retry after an hour", false, "3600", 1, 1, "answers with status 503"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				var links []string
				for i := range 10 {
					links = append(links, fmt.Sprintf("/%d", i))
					w.pages[links[i]] = page("page "+links[i], "/")
				}
				w.pages["/"] = page("home", links...)
				w.pages["/robots.txt"] = uncached(plain(""))
				c := open(t, func(cfg *Config) { cfg.Delay = time.Millisecond }) // one request at a time
				w.crawl(t, c, store.Rules{})
				saved := maps.Clone(w.pages)
				for p := range saved {
					if p != "/robots.txt" || test.robots {
						w.set(p, func(rw http.ResponseWriter, r *http.Request) {
							if test.retry != "" {
								rw.Header().Set("Retry-After", test.retry)
							}
							rw.WriteHeader(503)
						})
					}
				}
				w.other = w.pages["/"]
				ctx := context.Background()
				revisit := func(full bool) *Result {
					t.Helper()
					// When the host has been left alone for as long as it asked for.
					h, err := c.View().Host(store.HostOf(w.URL))
					if err != nil {
						t.Fatal(err)
					}
					<-time.After(time.Until(time.UnixMilli(h.NotBefore)))
					r, err := c.Revisit(ctx, plan.Plan{Full: full, Budget: func(n int) int { return n }}, Options{})
					if err != nil || r.Interrupted {
						t.Fatalf("%+v, %v", r, err)
					}
					return r
				}
				asked := func() int { return w.total() - w.count("/robots.txt") }
				for i, full := range []bool{false, true} {
					before, robots := asked(), w.count("/robots.txt")
					r := revisit(full)
					if r.NewPages != 0 || r.Pages != 0 || r.Cut != "" {
						t.Errorf("cycle %d without the site: %+v", r.Cycle, r)
					}
					if len(r.Failed) != 1 || !strings.HasPrefix(r.Failed[0].Reason, test.failure) {
						t.Errorf("cycle %d without the site says %v, want %q", r.Cycle, r.Failed, test.failure)
					}
					n, want := asked()-before, [...]int{test.first, test.then}[i]
					if test.robots {
						n += w.count("/robots.txt") - robots
					}
					if n != want {
						t.Errorf("cycle %d without the site: %d requests, want %d", r.Cycle, n, want)
					}
				}
				for p, h := range saved {
					w.set(p, h)
				}
				w.other = nil
				w.set("/new", page("new"))
				w.set("/", page("home", append(links, "/new")...))
				var found, failed int
				for range 2 {
					r := revisit(false)
					found += int(r.NewPages)
					failed += len(r.Failed)
				}
				if found != 1 || failed != 0 {
					t.Errorf("%d new pages and %d failures when the site is back, want 1 and 0", found, failed)
				}
				want := map[string]bool{"/": true, "/new": true}
				for _, p := range links {
					want[p] = true
				}
				if diff := differ(pagesOf(t, c.View(), (*store.Doc).Alive), want); diff != "" {
					t.Error(diff)
				}
				if diff := differ(pagesOf(t, c.View(), func(d *store.Doc) bool { return d.New != store.NotNew }), map[string]bool{"/new": true}); diff != "" {
					t.Errorf("new: %s", diff)
				}
			})

		})
	}
}

// TestMintedURLs has two pages link to a new URL at every fetch, by a session number that
// means nothing: it is left out of URLs, and nothing is new by it.
func TestMintedURLs(t *testing.T) {
	w := newWeb(t)
	w.pages["/robots.txt"], w.pages["/sitemap.xml"] = status(404), status(404)
	n := 0
	w.other = func(rw http.ResponseWriter, r *http.Request) { // never two at once: Parallel is 1
		if r.URL.Path != "/" && r.URL.Path != "/list" && r.URL.Path != "/page" {
			http.NotFound(rw, r)
			return
		}
		n++
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>x</title><p>%s %d<a href=/list>list</a><a href=/page?sid=%d>page</a>", r.URL.Path, n, n)
	}
	c := open(t, func(cfg *Config) { cfg.Parallel, cfg.At = 1, software.Start })
	w.crawl(t, c, store.Rules{})
	for range 12 {
		c.cfg.At = c.cfg.At.Add(software.Week)
		if r := w.revisit(t, c, plan.Plan{Budget: func(int) int { return 3 }}); r.NewPages != 0 {
			t.Errorf("cycle %d counts %d minted URLs as new pages", r.Cycle, r.NewPages)
		}
	}
	s, err := c.View().Site(1)
	if err != nil || !slices.Equal(s.SameParams, []string{"sid"}) {
		t.Errorf("parameters that do not count: %v, %v", s.SameParams, err)
	}
}
