package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch/fetchtest"
	"forage/store"
)

// many is a server of very many hosts, each at an address of its own, and what each was asked for.
type many struct {
	*httptest.Server
	network *fetchtest.Network
	port    string
	mu      sync.Mutex
	asked   map[string]int                             // by host and path
	page    func(host int, path string) (string, bool) // the body of a page
}

// TestSeedTwice: a list that names a URL twice, be it in two forms, is crawled as one that names it once.
func TestSeedTwice(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a")
	w.pages["/a"] = page("a")
	c := open(t, nil)
	var seeds []scope.Seed
	for _, path := range []string{"", "/a", "/", "/#top", "/a"} {
		seeds = append(seeds, scope.Seed{URL: w.URL + path})
	}
	r, err := c.Run(t.Context(), seeds, Options{})
	if err != nil || r.Interrupted || r.Pages != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

func newMany(t *testing.T, page func(host int, path string) (string, bool)) *many {
	return newManyOn(t, lan, page)
}

func newManyOn(t *testing.T, network *fetchtest.Network, page func(host int, path string) (string, bool)) *many {
	m := &many{network: network, asked: map[string]int{}, page: page}
	m.Server = network.Server("0.0.0.0:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b, c int
		fmt.Sscanf(r.Host, "127.1.%d.%d:", &b, &c)
		host := b<<8 | c
		m.mu.Lock()
		m.asked[fmt.Sprint(host, r.URL.Path)]++
		m.mu.Unlock()
		body, ok := m.page(host, r.URL.Path)
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, body)
	}))
	t.Cleanup(m.Close)
	m.port = m.URL[strings.LastIndexByte(m.URL, ':'):]
	return m
}

func (m *many) url(host int, path string) string {
	return fmt.Sprintf("http://127.1.%d.%d%s%s", host>>8, host&255, m.port, path)
}

func (m *many) seeds(n int, rules store.Rules) (seeds []scope.Seed) {
	for i := range n {
		seeds = append(seeds, scope.Seed{URL: m.url(i, "/"), Rules: rules})
	}
	return seeds
}

// count is how often the hosts were asked for a path.
func (m *many) count(path string, n int) (times int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range n {
		times += m.asked[fmt.Sprint(i, path)]
	}
	return times
}

// TestArrivals crawls more sites than begin at once. What links of one site lead to at another is found
// there, whichever of them begins first, and was in the store before or not.
func TestArrivals(t *testing.T) {
	t.Parallel()
	const n = 5*portion + 7
	for _, kind := range scope.Kinds {
		t.Run("scope="+kind, func(t *testing.T) {
			t.Parallel()
			var m *many
			m = newMany(t, func(host int, path string) (string, bool) {
				switch path {
				case "/":
					other := n - 1 - host // begins much later, or earlier
					return fmt.Sprintf(`<title>Host %d</title><a href="%s">x</a>`, host, m.url(other, fmt.Sprint("/from", host))), true
				case fmt.Sprint("/from", n-1-host):
					return fmt.Sprintf("<title>Found at %d</title>", host), true
				}
				return "", false
			})
			rules := store.Rules{Scope: kind}
			c := open(t, nil)
			r, err := c.Run(context.Background(), m.seeds(n, rules), Options{})
			if err != nil || r.Sites != n || r.Known != 2*n || len(r.Failed) != 0 || r.Interrupted {
				t.Fatalf("Run = %d sites, %d pages, %d failed, %v; want %d, %d, 0", r.Sites, r.Known, len(r.Failed), err, n, 2*n)
			}
			if len(c.coming) != 0 || len(c.sites) != 0 {
				t.Errorf("%d sites are coming and %d are open after the run", len(c.coming), len(c.sites))
			}
			sites, err := c.View().Sites()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sites {
				if counts, err := c.View().Counters(s.ID); err != nil || counts.Pages() != 2 || s.State != store.SiteDone || s.FirstCycle != s.LastCycle {
					t.Fatalf("site %s: %+v, %d pages, %v; want 2", s.Name, s, counts.Pages(), err)
				}
			}
			asked := m.count("/", n)
			r, err = c.Run(context.Background(), m.seeds(n, rules), Options{})
			if err != nil || r.Fetched != 0 || len(r.Finished) != n || m.count("/", n) != asked {
				t.Errorf("once more: %d fetched, %d finished, %v; want 0, %d", r.Fetched, len(r.Finished), err, n)
			}
		})
	}
}

// TestArrivalsInterrupted interrupts a run before all of its sites have begun. The same run goes on, and
// fetches nothing twice.
func TestArrivalsInterrupted(t *testing.T) {
	t.Parallel()
	const n = 20 * portion
	m := newMany(t, func(host int, path string) (string, bool) {
		return fmt.Sprint("<title>Host ", host, "</title>"), path == "/"
	})
	c := open(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	coming := 0
	r, err := c.Run(ctx, m.seeds(n, store.Rules{}), Options{Progress: func(p Progress) {
		if coming == 0 {
			coming = p.Sites
		}
		cancel()
	}})
	if err != nil || !r.Interrupted || coming == 0 || r.Sites >= n {
		t.Fatalf("interrupted when %d sites were to come: %+v, %v", coming, r, err)
	}
	if len(c.coming) != 0 || len(c.sites) != 0 {
		t.Errorf("%d sites are coming and %d are open after the run", len(c.coming), len(c.sites))
	}
	if r, err = c.Run(context.Background(), m.seeds(n, store.Rules{}), Options{}); err != nil || r.Interrupted || r.Sites != n || r.Known != n {
		t.Errorf("then: %d sites, %d pages, %v, interrupted %v; want %d, %d", r.Sites, r.Known, err, r.Interrupted, n, n)
	}
	// What was under way when the run was interrupted may be asked for again.
	if asked := m.count("/", n); asked > n+64 {
		t.Errorf("%d requests for %d pages", asked, n)
	}
}

// TestArrivalsSteered adds a URL to a site that has not begun, stops another one, and pauses a third,
// while their run goes on.
func TestArrivalsSteered(t *testing.T) {
	t.Parallel()
	const n = 20 * portion
	m := newMany(t, func(host int, path string) (string, bool) {
		return fmt.Sprint("<title>Host ", host, path, "</title>"), path != "/robots.txt" && len(path) < 10
	})
	c := open(t, nil)
	name := func(host int) string { return strings.TrimPrefix(m.url(host, ""), "http://") }
	done := make(chan error, 3)
	steered := false
	r, err := c.Run(context.Background(), m.seeds(n, store.Rules{}), Options{Progress: func(p Progress) {
		if steered || p.Sites == 0 {
			return
		}
		steered = true
		go func() {
			done <- c.Add([]string{m.url(n-1, "/more")})
			done <- c.Pause(name(n - 2))
			done <- c.Stop(name(n - 2))
		}()
	}})
	if err != nil || !steered {
		t.Fatalf("Run: %v, steered %v", err, steered)
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := m.count("/more", n); got != 1 {
		t.Errorf("what was added was asked for %d times", got)
	}
	if r.Known < n || !slices.ContainsFunc(r.Cycles, func(store.Cycle) bool { return true }) {
		t.Errorf("%d pages known, want %d", r.Known, n)
	}
}

// TestSeedsAreChecked: where one of very many seeds is no URL nothing is added.
func TestSeedsAreChecked(t *testing.T) {
	t.Parallel()
	m := newMany(t, func(int, string) (string, bool) { return "", false })
	c := open(t, nil)
	seeds := m.seeds(3*portion, store.Rules{})
	seeds[len(seeds)-1].URL = "mailto:a@b.test"
	if _, err := c.Run(context.Background(), seeds, Options{}); err == nil {
		t.Error("a seed that is no URL is taken")
	}
	if sites, err := c.View().Sites(); err != nil || len(sites) != 0 {
		t.Errorf("%d sites, %v; want none", len(sites), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := c.Run(ctx, seeds, Options{}); err != nil || !r.Interrupted {
		t.Errorf("interrupted before: %+v, %v", r, err)
	}
}

// TestRevisitsArrive interrupts a revisit of very many sites before all of its cycles have begun. The same
// revisit goes on, with one cycle at each site.
func TestRevisitsArrive(t *testing.T) {
	t.Parallel()
	const n = 20 * portion
	m := newMany(t, func(host int, path string) (string, bool) {
		return fmt.Sprint("<title>Host ", host, "</title>"), path == "/"
	})
	c := open(t, nil)
	if _, err := c.Run(context.Background(), m.seeds(n, store.Rules{}), Options{}); err != nil {
		t.Fatal(err)
	}
	before := m.count("/", n)
	ctx, cancel := context.WithCancel(context.Background())
	coming := 0
	p := plan.Plan{Budget: func(int) int { return 1 }, Text: "1"}
	r, err := c.Revisit(ctx, p, Options{Progress: func(p Progress) {
		if coming == 0 {
			coming = p.Sites
		}
		cancel()
	}})
	if err != nil || !r.Interrupted || coming == 0 || r.Sites >= n {
		t.Fatalf("interrupted when %d sites were to come: %+v, %v", coming, r, err)
	}
	if len(c.sites) != 0 {
		t.Errorf("%d sites are open after the run", len(c.sites))
	}
	if r, err = c.Revisit(context.Background(), p, Options{}); err != nil || r.Interrupted || r.Sites != n {
		t.Fatalf("then: %+v, %v", r, err)
	}
	if asked := m.count("/", n) - before; asked < n || asked > n+64 { // what was under way may be asked for again
		t.Errorf("%d requests for %d pages", asked, n)
	}
	for id := range store.SiteID(n) {
		revisits := 0
		if err := c.View().SiteCycles(id+1, func(r *store.CycleRecord) bool {
			if r.Kind == store.Revisit && r.Done {
				revisits++
			}
			return true
		}); err != nil || revisits != 1 {
			t.Fatalf("site %d was revisited %d times, %v", id+1, revisits, err)
		}
	}
}

// TestAddedToRevisit: a site that is added to a revisit which goes on has the delay of the first of its sites, also where
// that was done before.
func TestAddedToRevisit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testAddedToRevisit)
}

func testAddedToRevisit(t *testing.T) {
	m := newManyOn(t, fetchtest.New(), func(host int, path string) (string, bool) {
		body := fmt.Sprint("<title>Host ", host, path, "</title>")
		for i := range 20 {
			body += fmt.Sprintf("<a href=/p%d>x</a>", i)
		}
		return body, path == "/" || host == 1 && strings.HasPrefix(path, "/p")
	})
	c := m.open(t)
	if _, err := c.Run(context.Background(), m.seeds(2, store.Rules{DelayMillis: 1500}), Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if r, err := c.Revisit(ctx, plan.Plan{Full: true}, Options{Progress: func(p Progress) {
		if p.Fetched >= 8 {
			cancel()
		}
	}}); err != nil || !r.Interrupted {
		t.Fatalf("%+v, %v", r, err)
	}
	added, begun := make(chan error, 1), false
	r, err := c.Revisit(context.Background(), plan.Plan{Full: true}, Options{Progress: func(Progress) {
		if !begun {
			begun = true
			go func() { added <- c.Add([]string{m.url(2, "/")}) }()
		}
	}})
	if err := errors.Join(err, <-added); err != nil || r.Sites != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	if s, err := c.View().Site(3); err != nil || s.Rules.DelayMillis != 1500 {
		t.Errorf("the site has a delay of %d ms, want 1500: %v", s.Rules.DelayMillis, err)
	}
}
