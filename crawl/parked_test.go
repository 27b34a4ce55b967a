package crawl

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch/fetchtest"
	"forage/store"
)

// parkedDelay is one that makes it worth to park a site.
const parkedDelay = worthAWait + 100*time.Millisecond

// known is what a store tells of each URL, but for times and numbers, which go by the order of answers.
func known(t *testing.T, c *Crawl) map[string]string {
	t.Helper()
	all := map[string]string{}
	sites, err := c.View().Sites()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		all[s.Name] = fmt.Sprint(s.State, s.Reason, s.Partial, s.PartialWhy, s.Probe, s.Seeds, s.FirstCycle == s.LastCycle)
		if err := c.View().SiteDocs(s.ID, func(d *store.Doc) bool {
			all[d.URL] = fmt.Sprint(s.Name, d.State, d.Kind, d.Reason, d.Status, d.Depth, d.Visits, d.New, d.Yield, d.Title, d.Class)
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// open opens a store for the network of the server, with every site parked that may be.
func (m *many) open(t *testing.T) *Crawl {
	cfg := loopback(t.TempDir())
	cfg.Fetch.Dial, cfg.Fetch.Lookup = m.network.Dial, m.network.Lookup
	c := openSound(t, cfg)
	c.loop.manyOpen = 0
	return c
}

// gaps notes the least time from an answer to the next request, over all hosts.
type gaps struct {
	http.Handler
	mu    sync.Mutex
	last  map[string]time.Time
	least time.Duration
}

func (g *gaps) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	if last, ok := g.last[r.Host]; ok {
		if gap := time.Since(last); g.least == 0 || gap < g.least {
			g.least = gap
		}
	}
	g.mu.Unlock()
	g.Handler.ServeHTTP(w, r)
	g.mu.Lock()
	g.last[r.Host] = time.Now()
	g.mu.Unlock()
}

// TestParked crawls sites that wait, with links among them, and parks them or not: what is known of them
// then is the same, each was asked for the same, and left alone for as long.
func TestParked(t *testing.T) {
	t.Parallel()
	for _, kind := range scope.Kinds {
		t.Run("scope="+kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testParked(t, kind) })
		})
	}
}

func testParked(t *testing.T, kind string) {
	const n = 3*portion + 7
	var m *many
	m = newManyOn(t, fetchtest.New(), func(host int, path string) (string, bool) {
		switch path {
		case "/robots.txt":
			return "", host%3 == 0
		case "/":
			if host%50 == 49 {
				return "", false // not one page
			}
			return fmt.Sprintf(`<title>Host %d</title><a href="%s">x</a><a href=/a>a</a>`, host, m.url(n-1-host, fmt.Sprint("/from", host))), true
		case "/a", fmt.Sprint("/from", n-1-host):
			return fmt.Sprintf("<title>Found at %d%s</title>", host, path), true
		}
		return "", false
	})
	g := &gaps{Handler: m.Config.Handler, last: map[string]time.Time{}}
	m.Config.Handler = g
	rules := store.Rules{Scope: kind, DelayMillis: parkedDelay.Milliseconds()}
	run := func(parks bool) (all map[string]string, res *Result, asked map[string]int, most int) {
		c := m.open(t)
		if !parks {
			c.loop.manyOpen = 1 << 20
		}
		clear(m.asked)
		clear(g.last)
		r, err := c.Run(context.Background(), m.seeds(n, rules), Options{Progress: func(Progress) { most = max(most, len(c.parking.bySite)) }})
		if err != nil {
			t.Fatal(err)
		}
		if ps := &c.parking; len(ps.bySite)+len(ps.byHost)+ps.due.Len()+len(c.sites)+len(c.within)+len(c.inHand)+c.loop.back != 0 {
			t.Errorf("after the run %d are parked, %d sites open, %d documents in hand, %d back", len(ps.bySite), len(c.sites), len(c.inHand), c.loop.back)
		}
		asked = map[string]int{}
		for k, v := range m.asked {
			asked[k] = v
		}
		r.Seconds = 0
		return known(t, c), r, asked, most
	}
	want, wantResult, wantAsked, _ := run(false)
	got, result, asked, most := run(true)
	if most < n/2 {
		t.Errorf("%d sites of %d were parked at once", most, n)
	}
	for u := range want {
		if got[u] != want[u] {
			t.Fatalf("%s: parked %s\nelse %s", u, got[u], want[u])
		}
	}
	if len(got) != len(want) || !reflect.DeepEqual(asked, wantAsked) {
		t.Errorf("%d URLs and sites known, asked for %d; want %d, %d", len(got), len(asked), len(want), len(wantAsked))
	}
	if !reflect.DeepEqual(result, wantResult) {
		t.Errorf("result %+v\nwant %+v", result, wantResult)
	}
	if g.least < parkedDelay {
		t.Errorf("a host was asked again after %v, want %v", g.least, parkedDelay)
	}
}

// TestParkedSteered has sites that are parked added to, paused, stopped, resumed; and interrupts the others,
// which go on where they were.
func TestParkedSteered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testParkedSteered)
}

func testParkedSteered(t *testing.T) {
	const n = 3 * portion
	m := newManyOn(t, fetchtest.New(), func(host int, path string) (string, bool) {
		return fmt.Sprint("<title>Host ", host, path, "</title>"), path == "/" || path == "/more"
	})
	c := m.open(t)
	name := func(host int) string { return strings.TrimPrefix(m.url(host, ""), "http://") }
	seeds := m.seeds(n, store.Rules{DelayMillis: parkedDelay.Milliseconds()})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 4)
	steered := false
	r, err := c.Run(ctx, seeds, Options{Progress: func(Progress) {
		if steered || len(c.parking.bySite) < n {
			return
		}
		steered = true
		go func() {
			done <- c.Add([]string{m.url(0, "/more")})
			done <- c.Pause(name(1))
			done <- c.Resume(name(1))
			done <- c.Stop(name(2))
			cancel()
		}()
	}})
	if err != nil || !r.Interrupted || !steered || r.Sites != n {
		t.Fatalf("%+v, %v; parked all %v", r, err, steered)
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	sites, err := c.View().Sites()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		want := "interrupted"
		if s.Name == name(2) {
			want = "stopped by forage stop"
		}
		if s.State != store.SiteCrawling || s.Reason != want || !s.Partial || !strings.HasPrefix(s.PartialWhy, "documents that were not fetched: ") {
			t.Fatalf("site %s is %s, %q, %v %q; want %q", s.Name, s.State, s.Reason, s.Partial, s.PartialWhy, want)
		}
	}
	if r, err = c.Run(context.Background(), seeds, Options{}); err != nil || r.Interrupted || r.Sites != n || r.Known != n+1 {
		t.Errorf("then: %+v, %v; want %d pages", r, err, n+1)
	}
	for _, path := range []string{"/", "/robots.txt", "/sitemap.xml"} {
		if asked := m.count(path, n); asked < n || asked > n+64 { // what was under way may be asked for again
			t.Errorf("%s was asked for %d times at %d hosts", path, asked, n)
		}
	}
}

// TestParkedRevisit: a revisit of what is being visited waits, whether that is parked or not.
func TestParkedRevisit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testParkedRevisit)
}

func testParkedRevisit(t *testing.T) {
	m := newManyOn(t, fetchtest.New(), func(host int, path string) (string, bool) {
		return fmt.Sprint("<title>Host ", host, path, "</title>"), path == "/"
	})
	c := m.open(t)
	done := make(chan error, 1)
	begun := false
	name := strings.TrimPrefix(m.url(0, ""), "http://")
	_, err := c.Run(context.Background(), m.seeds(1, store.Rules{DelayMillis: parkedDelay.Milliseconds()}), Options{Progress: func(Progress) {
		if begun || len(c.parking.bySite) == 0 {
			return
		}
		begun = true
		go func() {
			_, err := c.Revisit(context.Background(), plan.Plan{Sites: []string{name}, Full: true}, Options{})
			done <- err
		}()
	}})
	if err != nil || !begun {
		t.Fatalf("%v, parked %v", err, begun)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	var kinds []store.CycleKind
	if err := c.View().SiteCycles(1, func(r *store.CycleRecord) bool {
		kinds = append(kinds, r.Kind)
		if !r.Done {
			t.Errorf("cycle %d is open", r.Cycle)
		}
		return true
	}); err != nil || !reflect.DeepEqual(kinds, []store.CycleKind{store.FirstVisit, store.FullRecrawl}) {
		t.Errorf("cycles %v, %v", kinds, err)
	}
}

// TestParkedMute parks sites whose answers to what is not there are none: each is asked for that once, and the
// visits end.
func TestParkedMute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testParkedMute)
}

func testParkedMute(t *testing.T) {
	const n = 3
	m := newManyOn(t, fetchtest.New(), func(host int, path string) (string, bool) {
		return fmt.Sprint("<title>Host ", host, "</title>"), path == "/"
	})
	next := m.Config.Handler
	probes := 0
	m.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.Path) != 25 {
			next.ServeHTTP(w, r)
			return
		}
		m.mu.Lock()
		probes++
		m.mu.Unlock()
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Write([]byte("no HTTP\r\n\r\n"))
		conn.Close()
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	c := m.open(t)
	r, err := c.Run(ctx, m.seeds(n, store.Rules{DelayMillis: parkedDelay.Milliseconds()}), Options{})
	if err != nil || r.Interrupted || r.Known != n || probes != n {
		t.Errorf("%d probes of %d sites, %d pages, interrupted %v, %v", probes, n, r.Known, r.Interrupted, err)
	}
}

// TestParkedRows: what a site's pages have in common, which tells lists from pages to be read, is known of one that
// is parked after each of them.
func TestParkedRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testParkedRows)
}

func testParkedRows(t *testing.T) {
	var menu strings.Builder
	for i := range 9 {
		fmt.Fprintf(&menu, "<li><a href=/p%d>The menu's entry of page %d, which says at length what it is about</a></li>", i, i)
	}
	m := newManyOn(t, fetchtest.New(), func(_ int, path string) (string, bool) {
		return fmt.Sprintf("<title>Page %s</title><ul>%s</ul><p>%s</p>", path, &menu, strings.Repeat("What is said of "+path+" here. ", 3)), path == "/" || strings.HasPrefix(path, "/p")
	})
	var all [2]map[string]string
	for i := range all {
		c := m.open(t)
		if i == 0 {
			c.loop.manyOpen = 1 << 20
		}
		parked := false
		if _, err := c.Run(context.Background(), m.seeds(1, store.Rules{DelayMillis: parkedDelay.Milliseconds()}), Options{Progress: func(Progress) { parked = parked || len(c.parking.bySite) > 0 }}); err != nil || parked != (i == 1) {
			t.Fatalf("parked %v, %v", parked, err)
		}
		all[i] = known(t, c)
	}
	for u := range all[0] {
		if all[0][u] != all[1][u] {
			t.Errorf("%s: parked %s\nelse %s", u, all[1][u], all[0][u])
		}
	}
	if len(all[0]) != len(all[1]) {
		t.Errorf("%d URLs and sites known, and %d", len(all[0]), len(all[1]))
	}
}
