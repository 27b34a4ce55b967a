package crawl

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/scope"
	"forage/internal/race"
	"forage/store"
)

// TestHostsOfADomain crawls a domain of which one host has a chain of pages and a second one
// pages without end, or each page of all others links to forty hosts that nobody has heard
// of: the chain is fetched to its end all the same, within a bound of all requests.
func TestHostsOfADomain(t *testing.T) {
	t.Parallel()
	const chain, most = 10, 400
	for _, delay := range []time.Duration{0, time.Millisecond} {
		for _, trap := range []string{"pages", "hosts"} {
			t.Run(fmt.Sprint(trap, " delay=", delay), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWeb(t)
					port := w.URL[strings.LastIndexByte(w.URL, ':'):]
					at, end := 0, 0
					w.other = func(rw http.ResponseWriter, r *http.Request) {
						i, err := strconv.Atoi(r.URL.Path[1:])
						if err != nil && r.URL.Path != "/" {
							http.NotFound(rw, r)
							return
						}
						w.mu.Lock()
						at++
						n := at
						if r.URL.Path == fmt.Sprint("/", chain) {
							end = n
						}
						w.mu.Unlock()
						var links []string
						switch {
						case r.Host == "www.trap.test"+port:
							if links = append(links, fmt.Sprint("/", i+1)); i == 0 {
								links = append(links, "http://x.trap.test"+port+"/")
							}
							if i == chain {
								links = nil
							}
						case trap == "pages":
							links = append(links, fmt.Sprint("/", 2*n), fmt.Sprint("/", 2*n+1))
						default:
							for k := range race.Fewer(40) {
								links = append(links, fmt.Sprintf("http://x%d-%d.trap.test%s/", n, k, port))
							}
						}
						page(r.Host+r.URL.Path, links...)(rw, r)
					}
					c := open(t, func(cfg *Config) { cfg.Parallel, cfg.Delay = 4, cmp.Or(delay, -1) })
					ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
					defer cancel()
					for _, max := range []int{most, most + 50} { // the second run begins with thousands of hosts
						rules := store.Rules{Scope: "domain", MaxPages: max}
						r, err := c.Run(ctx, []scope.Seed{{URL: "http://www.trap.test" + port + "/", Rules: rules}}, Options{})
						if err != nil || ctx.Err() != nil {
							t.Fatal(err, ctx.Err())
						}
						if n := w.total(); n > 4*most {
							t.Errorf("%d requests for %d pages: hosts are asked for robots.txt in vain", n, max)
						}
						if int(r.Known) != max && trap == "hosts" || end == 0 {
							t.Fatalf("%d pages, want %d; the chain of %d ended at request %d", r.Known, max, chain, end)
						}
					}
				})

			})
		}
	}
}

// TestAllHostsOfADomain crawls a domain of many hosts, some of which allow nothing: all pages of
// the others are found.
func TestAllHostsOfADomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts = 5 * maxNewcomers
		w := newWeb(t)
		port := w.URL[strings.LastIndexByte(w.URL, ':'):]
		links := []string{"http://www.many.test" + port + "/no"}
		for i := range hosts {
			links = append(links, fmt.Sprintf("http://h%d.many.test%s/", i, port), fmt.Sprintf("http://h%d.many.test%s/b", i, port))
		}
		w.other = func(rw http.ResponseWriter, r *http.Request) {
			var i int
			fmt.Sscanf(r.Host, "h%d.", &i)
			switch {
			case r.URL.Path == "/robots.txt" && i%3 == 1:
				plain("User-agent: *\nDisallow: /")(rw, r)
			case r.URL.Path == "/robots.txt", r.URL.Path == "/sitemap.xml":
				http.NotFound(rw, r)
			case r.Host == "www.many.test"+port:
				page(r.URL.Path, links...)(rw, r)
			default:
				page(r.Host+r.URL.Path)(rw, r)
			}
		}
		c := open(t, nil)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		r, err := c.Run(ctx, []scope.Seed{{URL: "http://www.many.test" + port + "/", Rules: store.Rules{Scope: "domain", Exclude: []string{"/no$", "h2.*/"}}}}, Options{})
		closed := 0
		for i := range hosts {
			if i%3 == 1 || strings.HasPrefix(fmt.Sprint(i), "2") {
				closed++
			}
		}
		if want := 1 + 2*(hosts-closed); err != nil || ctx.Err() != nil || r.Pages != int64(want) {
			t.Errorf("%d pages, %v, %v; want %d", r.Pages, err, ctx.Err(), want)
		}
	})
}
