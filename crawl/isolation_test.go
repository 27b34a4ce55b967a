package crawl

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/scope"
	"forage/fetch/fetchtest"
	"forage/internal/race"
	"forage/store"
)

// TestSlowSites crawls three hundred sites, with FORAGE_LONG=1 a thousand, five of which are slow: three take
// connections and never answer, one wants a minute between requests, one asks to be left alone for an hour. The
// cycles of all others end as early as where these five are not there.
func TestSlowSites(t *testing.T) {
	t.Parallel()
	const pages = 20
	sites := 300
	switch {
	case os.Getenv("FORAGE_LONG") != "":
		sites = 1000
	case race.Enabled:
		sites = 100
	}
	type times struct {
		last store.Time // when the last of the ordinary sites' cycles was closed
		all  time.Duration
	}
	visit := func(t *testing.T, slow map[int]string) (out times) {
		n := fetchtest.New()
		name := func(i int) string { return fmt.Sprintf("s%d.test", i) }
		links := make([]string, pages)
		for k := range links {
			links[k] = fmt.Sprint("/", k)
		}
		links[0] = "/"
		var mu sync.Mutex
		hits := map[int]int{} // for documents
		s := n.Server("0.0.0.0:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			i, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Host, "s"), ".test"))
			if err != nil {
				t.Errorf("a request for host %s", r.Host)
			}
			kind, path := slow[i], r.URL.Path
			switch {
			case kind == "silent":
				<-r.Context().Done()
			case path == "/robots.txt" && kind == "delay":
				plain("User-agent: *\nCrawl-delay: 60")(w, r)
			case path != "/robots.txt" && kind == "away":
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(503)
			default:
				if k, err := strconv.Atoi(path[1:]); path != "/" && (err != nil || k >= pages) {
					http.NotFound(w, r)
					return
				}
				mu.Lock()
				hits[i]++
				mu.Unlock()
				page(r.Host+path, links...)(w, r)
			}
		}))
		defer s.Close()
		seeds := make([]scope.Seed, sites)
		for i := range seeds {
			n.Name(name(i), netip.AddrFrom4([4]byte{5, 0, byte(i >> 8), byte(i)}))
			seeds[i].URL = "http://" + name(i) + "/"
		}
		c := open(t, func(cfg *Config) {
			cfg.Parallel, cfg.Delay, cfg.Fetch.Dial, cfg.Fetch.Lookup = 64, time.Second, n.Dial, n.Lookup
		})
		start := time.Now()
		r, err := c.Run(context.Background(), seeds, Options{})
		if err != nil || r.Interrupted {
			t.Fatalf("%+v, %v", r, err)
		}
		out.all = time.Since(start)
		if want := int64(pages * (sites - len(slow))); len(slow) == 0 && r.Known != want {
			t.Errorf("%d pages, want %d", r.Known, want)
		}
		failed := 0
		for _, kind := range slow {
			if kind == "silent" {
				failed++
			}
		}
		if len(r.Cycles) != sites || len(r.Failed) != failed {
			t.Errorf("%d cycles, want %d; %v failed, want %d", len(r.Cycles), sites, r.Failed, failed)
		}
		if err := c.View().Cycles(0, func(cy *store.CycleRecord) bool {
			i := int(cy.Site) - 1
			if slow[i] != "" {
				return true
			}
			if !cy.Done || cy.Pages != pages || hits[i] != pages {
				t.Errorf("site %d: %+v, asked for %d pages; want %d", i, cy, hits[i], pages)
			}
			out.last = max(out.last, cy.Ended-start.Unix())
			return true
		}); err != nil {
			t.Fatal(err)
		}
		for i, kind := range slow {
			cy, err := c.View().Cycle(store.SiteID(i+1), store.Cycle(i+1))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d fetched, %d pages, ended after %d s, done %v", kind, cy.Fetched, cy.Pages, cy.Ended-start.Unix(), cy.Done)
			if ended := cy.Ended != 0; kind == "delay" && (cy.Pages != pages || !cy.Done) || kind == "away" && (ended || r.Cut == "") || kind == "silent" && (!ended || cy.Done) {
				t.Errorf("the site that is %s: %+v, run cut by %q", kind, cy, r.Cut)
			}
		}
		return out
	}
	var alone, beside times
	synctest.Test(t, func(t *testing.T) { alone = visit(t, nil) })
	synctest.Test(t, func(t *testing.T) {
		beside = visit(t, map[int]string{10: "silent", 20: "silent", 30: "silent", 40: "delay", 50: "away"})
	})
	t.Logf("%d sites: the last cycle closed after %d s, %d s beside slow ones; runs of %v and %v", sites, alone.last, beside.last, alone.all, beside.all)
	// robots.txt, a probe, /sitemap.xml and 20 pages, a second apart
	if want := store.Time(pages + 2); alone.last != want {
		t.Errorf("the last cycle closed after %d s, want %d", alone.last, want)
	}
	if beside.last > alone.last+1 {
		t.Errorf("beside slow sites the last cycle of the others closed after %d s, without them after %d s", beside.last, alone.last)
	}
	if beside.all < 19*time.Minute {
		t.Errorf("the run of slow sites took %v, and one of them has %d pages a minute apart", beside.all, pages)
	}
}
