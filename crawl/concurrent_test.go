package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/store"
)

// An ending is how a call of Run or Revisit ended.
type ending struct {
	*Result
	err error
}

// begin calls Run or Revisit, and sends how it ended.
func begin(call func() (*Result, error)) <-chan ending {
	done := make(chan ending, 1)
	go func() {
		r, err := call()
		done <- ending{r, err}
	}()
	return done
}

// under reports whether a call still runs when all that could be done without waiting has been.
func under(done <-chan ending) bool {
	synctest.Wait()
	return len(done) == 0
}

// good returns what a call ended with, which has to be a result.
func good(t *testing.T, done <-chan ending) *Result {
	t.Helper()
	e := <-done
	if e.err != nil {
		t.Fatal(e.err)
	}
	return e.Result
}

// hold has a path of the web answer only when the channel that it returns is closed.
func (w *web) hold(path string, then http.HandlerFunc) (release chan bool) {
	release = make(chan bool)
	w.set(path, func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
			then(rw, r)
		case <-r.Context().Done():
		}
	})
	return release
}

// tree fills the web with a page under prefix that links to n others there.
func (w *web) tree(prefix string, n int) {
	var links []string
	for i := range n {
		links = append(links, fmt.Sprint(prefix, i))
		w.set(links[i], page(links[i]))
	}
	w.set(prefix, page(prefix, links...))
}

func (w *web) seed(path string, rules store.Rules) []scope.Seed {
	return []scope.Seed{{URL: w.URL + path, Rules: rules}}
}

// polite checks that no two requests to the web were out at once, or closer than the delay.
func (w *web) polite(t *testing.T, delay time.Duration) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.most > 1 {
		t.Errorf("%d requests at once", w.most)
	}
	for i := 1; i < len(w.times); i++ {
		if gap := w.times[i].Sub(w.times[i-1]); gap < delay {
			t.Errorf("requests %d and %d are %v apart, want %v", i-1, i, gap, delay)
		}
	}
}

// distinct checks that two runs opened cycles of their own, with all numbers from first to last.
func distinct(t *testing.T, a, b *Result, first, last store.Cycle) {
	t.Helper()
	if !slices.IsSorted(a.Cycles) || !slices.IsSorted(b.Cycles) || a.Cycle != a.Cycles[0] || b.Cycle != b.Cycles[0] {
		t.Errorf("cycles %v of %d and %v of %d", a.Cycles, a.Cycle, b.Cycles, b.Cycle)
	}
	all := append(slices.Clone(a.Cycles), b.Cycles...)
	slices.Sort(all)
	var want []store.Cycle
	for c := first; c <= last; c++ {
		want = append(want, c)
	}
	if !slices.Equal(all, want) {
		t.Errorf("cycles %v and %v, want all of %v once", a.Cycles, b.Cycles, want)
	}
}

// TestTwoRuns has two runs at once, first visits and then revisits, work on sites of their own
// that lie on one host: each returns what became of its own, and the host is asked politely.
func TestTwoRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		w := newWeb(t)
		w.tree("/a/", 5)
		w.tree("/b/", 9)
		w.tree("/c/", 3)
		c := open(t, func(cfg *Config) { cfg.Delay = delay })
		ctx := context.Background()
		rules := store.Rules{Scope: "prefix"}
		one := begin(func() (*Result, error) { return c.Run(ctx, w.seed("/a/", rules), Options{}) })
		two := begin(func() (*Result, error) {
			return c.Run(ctx, append(w.seed("/b/", rules), w.seed("/c/", rules)...), Options{})
		})
		a, b := good(t, one), good(t, two)
		if a.Sites != 1 || a.Known != 6 || a.Pages != 6 || b.Sites != 2 || b.Known != 14 || b.Pages != 14 {
			t.Errorf("first visits of 6 pages, and of 10 and 4:\n%+v\n%+v", a, b)
		}
		distinct(t, a, b, 1, 3)

		w.set("/a/0", page("a0", "/a/new"))
		w.set("/a/new", page("new"))
		w.set("/b/0", page("b0", "/b/new"))
		w.set("/b/new", page("new too"))
		name := func(p string) string { return w.URL + p }
		one = begin(func() (*Result, error) {
			return c.Revisit(ctx, plan.Plan{Sites: []string{name("/a/")}, Policy: "round-robin", Budget: func(n int) int { return n }}, Options{})
		})
		two = begin(func() (*Result, error) {
			return c.Revisit(ctx, plan.Plan{Sites: []string{name("/b/"), name("/c/")}, Full: true}, Options{})
		})
		a, b = good(t, one), good(t, two)
		if a.Sites != 1 || a.Refetched != 6 || a.NewPages != 1 || a.Known != 7 || b.Sites != 2 || b.Refetched != 14 || b.NewPages != 1 || b.Known != 15 {
			t.Errorf("revisits of 6 pages, and of 10 and 4, with a new one each:\n%+v\n%+v", a, b)
		}
		distinct(t, a, b, 4, 6)
		var last [4]store.Cycle
		for _, cy := range allCycles(t, c.View()) {
			if cy.Cycle <= last[cy.Site] || !cy.Done {
				t.Errorf("%+v comes after cycle %d of its site", cy, last[cy.Site])
			}
			last[cy.Site] = cy.Cycle
		}
		w.polite(t, delay)
	})
}

// TestWaitingRuns begins runs that need a site which another run is visiting.
func TestWaitingRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, other := newWeb(t), newWeb(t)
		w.tree("/", 4)
		other.tree("/", 2)
		release := w.hold("/3", page("/3"))
		c := open(t, nil)
		ctx := context.Background()
		other.crawl(t, c, store.Rules{})
		first := begin(func() (*Result, error) { return c.Run(ctx, w.seed("/", store.Rules{}), Options{}) })
		if !under(first) {
			t.Fatal("the first visit has ended")
		}
		again := begin(func() (*Result, error) { return c.Run(ctx, w.seed("/", store.Rules{}), Options{}) })
		named := begin(func() (*Result, error) {
			return c.Revisit(ctx, plan.Plan{Sites: []string{store.HostOf(w.URL)}, Full: true}, Options{})
		})
		all := good(t, begin(func() (*Result, error) { return c.Revisit(ctx, plan.Plan{Full: true}, Options{}) }))
		if all.Sites != 1 || all.Refetched != 3 {
			t.Errorf("a revisit of all sites, of which one is in its first visit: %+v; want 3 pages of the other", all)
		}
		if !under(first) || !under(again) || !under(named) {
			t.Error("what waits for the first visit has ended before it")
		}
		close(release)
		f, a, n := good(t, first), good(t, again), good(t, named)
		if f.Pages != 5 || f.Sites != 1 || len(f.Finished) != 0 {
			t.Errorf("the first visit: %+v", f)
		}
		if len(a.Finished) != 1 || len(a.Cycles) != 0 || a.Sites != 1 || a.Fetched != 0 || a.Known != 5 || a.Cycle < f.Cycle {
			t.Errorf("the run that waited for it: %+v; want its site finished", a)
		}
		if n.Refetched != 5 || n.Cycle <= f.Cycle || n.NewPages != 0 {
			t.Errorf("the revisit that waited for it: %+v; want 5 pages in a later cycle", n)
		}
		if w.count("/0") != 2 {
			t.Errorf("/0 was asked for %d times, want 2", w.count("/0"))
		}
	})
}

// TestWaitingInterrupted ends runs that wait for a site which another run is visiting: by their
// context, a limit of time, and with all runs. They end at once, and the first visit goes on.
func TestWaitingInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.tree("/", 4)
		release := w.hold("/3", page("/3"))
		c := open(t, nil)
		ctx, cancel := context.WithCancel(context.Background())
		name := []string{store.HostOf(w.URL)}
		visit := func(ctx context.Context, opt Options) <-chan ending {
			return begin(func() (*Result, error) { return c.Run(ctx, w.seed("/", store.Rules{}), opt) })
		}
		revisit := func(ctx context.Context, opt Options) <-chan ending {
			return begin(func() (*Result, error) { return c.Revisit(ctx, plan.Plan{Sites: name, Full: true}, opt) })
		}
		first := visit(context.Background(), Options{})
		if !under(first) {
			t.Fatal("the first visit has ended")
		}
		if _, err := c.Revisit(ctx, plan.Plan{Full: true}, Options{}); !errors.Is(err, plan.ErrNoSite) {
			t.Errorf("a revisit of all sites, of which the only one is in its first visit: %v", err)
		}
		waiting := []<-chan ending{visit(ctx, Options{}), revisit(ctx, Options{})}
		limited := revisit(context.Background(), Options{MaxTime: time.Second})
		left := visit(context.Background(), Options{})
		synctest.Wait()
		cancel()
		for _, done := range waiting {
			if r := good(t, done); !r.Interrupted || len(r.Cycles) != 0 {
				t.Errorf("interrupted while it waited: %+v", r)
			}
		}
		start := time.Now()
		if r := good(t, limited); r.Interrupted || r.Cut != "--time-limit" || len(r.Cycles) != 0 || time.Since(start) != time.Second {
			t.Errorf("limited to a second, after %v: %+v", time.Since(start), r)
		}
		if !under(first) || !under(left) {
			t.Error("the first visit, or what waits for it still, has ended")
		}
		close(release)
		if r := good(t, first); r.Interrupted || r.Known != 5 {
			t.Errorf("the first visit: %+v", r)
		}
		if r := good(t, left); len(r.Finished) != 1 {
			t.Errorf("what waited to the end: %+v", r)
		}
	})
}

// TestTwoStores has one loop do the work of two stores, whose sites lie on one host.
func TestTwoStores(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		w := newWeb(t)
		w.tree("/a/", 5)
		w.tree("/b/", 9)
		cfg := local("")
		cfg.Delay = delay
		l, err := NewLoop(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		var crawls [2]*Crawl
		for i := range crawls {
			crawls[i] = open(t, func(cfg *Config) { cfg.Loop, cfg.Delay = l, delay })
		}
		for round := range 2 { // the loop ends in between
			var runs [2]<-chan ending
			for i, c := range crawls {
				runs[i] = begin(func() (*Result, error) {
					if round == 1 {
						return c.Revisit(ctx, plan.Plan{Full: true}, Options{})
					}
					return c.Run(ctx, w.seed([]string{"/a/", "/b/"}[i], store.Rules{Scope: "prefix"}), Options{})
				})
			}
			for i, want := range []int64{6, 10} {
				r := good(t, runs[i])
				if r.Known != want || r.Sites != 1 || r.Cycle != store.Cycle(round+1) || round == 1 && r.Refetched != want {
					t.Errorf("round %d, store %d: %+v, want %d pages", round, i, r, want)
				}
			}
		}
		w.polite(t, delay)
	}) // open checks the stores
}

// TestInterruptOne interrupts one of two runs; the other goes on.
func TestInterruptOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, other := newWeb(t), newWeb(t)
		w.tree("/", 4)
		other.tree("/", 4)
		held, othersHeld := w.hold("/3", page("/3")), other.hold("/3", page("/3"))
		c := open(t, nil)
		ctx, cancel := context.WithCancel(context.Background())
		one := begin(func() (*Result, error) { return c.Run(ctx, w.seed("/", store.Rules{}), Options{}) })
		synctest.Wait() // so that the first one has the first cycle
		two := begin(func() (*Result, error) { return c.Run(context.Background(), other.seed("/", store.Rules{}), Options{}) })
		if !under(one) || !under(two) {
			t.Fatal("a run has ended though a page is held back")
		}
		cancel()
		if r := good(t, one); !r.Interrupted || r.Known != 4 || r.Sites != 1 {
			t.Errorf("the run that was interrupted: %+v", r)
		}
		if !under(two) {
			t.Fatal("the other run has ended too")
		}
		close(held)
		close(othersHeld)
		if r := good(t, two); r.Interrupted || r.Known != 5 || other.count("/3") != 1 {
			t.Errorf("the other run: %+v, /3 asked for %d times", r, other.count("/3"))
		}
		if r := w.crawl(t, c, store.Rules{}); r.Interrupted || r.Known != 5 || r.Cycle != 1 || w.count("/2") != 1 || w.count("/3") != 2 {
			t.Errorf("gone on: %+v", r)
		}
	})
}

// TestInterruptPolite interrupts one of two runs in the middle of a request to the host that they
// share: the other one, and the run that goes on, ask that host no sooner than its delay permits.
func TestInterruptPolite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, held string
		robots     string
		delay      time.Duration
	}{
		{"document", "/a/2", "User-agent: *", 3 * time.Second},
		{"robots.txt", "/robots.txt", "User-agent: *", 3 * time.Second},
		{"crawl delay", "/a/2", "User-agent: *\nCrawl-delay: 20", 20 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				w.tree("/a/", 5)
				w.tree("/b/", 5)
				w.set("/robots.txt", plain(test.robots))
				reached := make(chan bool, 1)
				w.set(test.held, func(rw http.ResponseWriter, r *http.Request) {
					reached <- true
					<-r.Context().Done()
				})
				c := open(t, func(cfg *Config) { cfg.Delay = 3 * time.Second })
				rules := store.Rules{Scope: "prefix"}
				ctx, cancel := context.WithCancel(context.Background())
				one := begin(func() (*Result, error) { return c.Run(ctx, w.seed("/a/", rules), Options{}) })
				synctest.Wait()
				two := begin(func() (*Result, error) { return c.Run(context.Background(), w.seed("/b/", rules), Options{}) })
				<-reached
				<-time.After(time.Second / 2)
				if test.held == "/robots.txt" {
					w.set(test.held, plain(test.robots))
				} else {
					w.set(test.held, page("held"))
				}
				cancel()
				if r := good(t, one); !r.Interrupted {
					t.Errorf("%+v", r)
				}
				one = begin(func() (*Result, error) { return c.Run(context.Background(), w.seed("/a/", rules), Options{}) })
				if a, b := good(t, one), good(t, two); a.Known != 6 || b.Known != 6 {
					t.Errorf("%+v\n%+v", a, b)
				}
				w.times = w.times[1:] // the crawl delay is known from robots.txt on
				w.polite(t, test.delay)
			})
		})
	}
}

// TestHandBack ends two runs as the owner of the store does when it ends: what is under way is
// finished, the state saved, and whoever opens the store next goes on.
func TestHandBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, other := newWeb(t), newWeb(t)
		w.tree("/", 30)
		other.tree("/", 30)
		held, othersHeld := w.hold("/3", page("/3")), other.hold("/3", page("/3"))
		dir := t.TempDir()
		reopen := func() *Crawl {
			cfg := local(dir)
			cfg.Parallel, cfg.Delay = 4, time.Second
			c, err := Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := reopen()
		ctx := context.Background()
		visit := func(c *Crawl, w *web) <-chan ending {
			return begin(func() (*Result, error) { return c.Run(ctx, w.seed("/", store.Rules{}), Options{}) })
		}
		one := visit(c, w)
		synctest.Wait() // so that it has the first cycle
		two := visit(c, other)
		<-time.After(10 * time.Second) // both come to /3
		back := make(chan bool)
		go func() {
			c.HandBack()
			close(back)
		}()
		if !under(one) || !under(two) {
			t.Error("a run has ended before what was under way")
		}
		close(held)
		close(othersHeld)
		<-back
		if _, err := c.Run(ctx, w.seed("/", store.Rules{}), Options{}); !errors.Is(err, ErrHandedBack) {
			t.Errorf("a run begun when the owner has ended: %v", err)
		}
		for _, done := range []<-chan ending{one, two} {
			if e := <-done; !errors.Is(e.err, ErrHandedBack) {
				t.Errorf("a run ended with %+v, %v", e.Result, e.err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = reopen()
		one, two = visit(c, w), visit(c, other)
		for i, done := range []<-chan ending{one, two} {
			if r := good(t, done); r.Known != 31 || r.Interrupted || int(r.Cycle) != i+1 || r.Cycles[0] != r.Cycle {
				t.Errorf("gone on: %+v", r)
			}
		}
		for _, w := range []*web{w, other} {
			w.polite(t, time.Second)
			for uri, n := range w.asked {
				if n != 1 && uri != "/robots.txt" {
					t.Errorf("%s%s was asked for %d times", w.URL, uri, n)
				}
			}
		}
		// Closing hands back, too.
		release := w.hold("/0", page("/0"))
		three := begin(func() (*Result, error) { return c.Revisit(ctx, plan.Plan{Full: true}, Options{}) })
		<-time.After(time.Minute / 2)
		close(release)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if e := <-three; !errors.Is(e.err, ErrHandedBack) {
			t.Errorf("a run of a crawl that is closed ended with %+v, %v", e.Result, e.err)
		}
	})
}

// TestDelays: each site keeps the delay that it was crawled with in all revisits of one crawl.
func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow, fast := newWeb(t), newWeb(t)
		slow.tree("/", 6)
		fast.tree("/", 6)
		c := open(t, nil)
		const delay = 300 * time.Millisecond
		slow.crawl(t, c, store.Rules{DelayMillis: delay.Milliseconds()})
		fast.crawl(t, c, store.Rules{})
		revisit := func(p plan.Plan) (took, fastTook time.Duration) {
			t.Helper()
			start := time.Now()
			if r, err := c.Revisit(context.Background(), p, Options{}); err != nil || r.Refetched != 14 {
				t.Errorf("%+v, %v", r, err)
			}
			return time.Since(start), fast.times[len(fast.times)-1].Sub(start)
		}
		for i := range 3 {
			full := plan.Plan{Full: true}
			if i == 1 {
				full = plan.Plan{Policy: "round-robin", Budget: func(n int) int { return n }}
			}
			if took, fastTook := revisit(full); took < 6*delay || fastTook > 0 {
				t.Errorf("revisit %d took %v, the site without delay %v", i, took, fastTook)
			}
		}
		slow.polite(t, delay)
		var none time.Duration
		if took, _ := revisit(plan.Plan{Full: true, Delay: &none}); took > delay {
			t.Errorf("a revisit with a delay of its own, of 0, took %v", took)
		}
	})
}

// TestAddQueued adds a URL that is known already to a site that is being revisited: it is
// fetched once, and the cycle closes.
func TestAddQueued(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		rules store.Rules // of the first visit
		add   string
	}{
		{"found in this cycle", store.Rules{}, "/new2"},
		{"left by the first visit", store.Rules{MaxPages: 4}, "/3"},
		{"under way", store.Rules{}, "/new"},
		{"not known", store.Rules{}, "/other"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				w.tree("/", 4)
				w.set("/other", page("/other"))
				c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
				w.crawl(t, c, test.rules)
				before := w.count(test.add)
				w.set("/", page("home", "/0", "/1", "/2", "/3", "/new", "/new2"))
				w.set("/new2", page("/new2"))
				release := w.hold("/new", page("/new"))
				ctx, cancel := context.WithTimeout(context.Background(), 24*time.Hour)
				defer cancel()
				done := begin(func() (*Result, error) {
					return c.Revisit(ctx, plan.Plan{Policy: "round-robin", Budget: func(n int) int { return n }}, Options{})
				})
				if !under(done) {
					t.Fatal("the revisit has ended")
				}
				for range 2 {
					if err := c.Add([]string{w.URL + test.add}); err != nil {
						t.Fatal(err)
					}
				}
				close(release)
				start := time.Now()
				r := good(t, done)
				if took := time.Since(start); r.Interrupted || took > time.Minute {
					t.Errorf("%+v after %v; want the cycle to close by itself", r, took)
				}
				if n := w.count(test.add) - before; n != 1 {
					t.Errorf("%s was asked for %d times", test.add, n)
				}
				if d := w.doc(t, c, test.add); d.State != store.Fetched {
					t.Errorf("%s is %v", test.add, d.State)
				}
			})
		})
	}
}

// TestInterruptedCycle interrupts a budgeted cycle in the middle of what is new: the run that
// goes on with it tells of the whole.
func TestInterruptedCycle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.tree("/", 4)
		c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
		w.crawl(t, c, store.Rules{})
		w.set("/", page("home", "/0", "/1", "/2", "/3", "/new0", "/new1", "/new2"))
		for i := range 3 {
			w.set(fmt.Sprint("/new", i), page(fmt.Sprint("new", i)))
		}
		w.hold("/new1", nil)
		p := plan.Plan{Policy: "round-robin", Budget: func(int) int { return 4 }, Text: "4"}
		ctx, cancel := context.WithCancel(context.Background())
		done := begin(func() (*Result, error) { return c.Revisit(ctx, p, Options{}) })
		if !under(done) {
			t.Fatal("the revisit has ended")
		}
		cancel()
		part := good(t, done)
		w.set("/new1", page("new1"))
		whole := w.revisit(t, c, p)
		overhead, _ := whole.Overhead()
		if !part.Interrupted || part.NewPages != 1 || whole.Interrupted || whole.Cycle != part.Cycle ||
			whole.NewPages != 3 || whole.Refetched != 4 || overhead != 4.0/3 || whole.Fetched != 8 || part.Fetched >= whole.Fetched {
			t.Errorf("interrupted:\n%+v\ngone on:\n%+v\nwant 3 new pages, 4 old ones and a sitemap that is not there", part, whole)
		}
	})
}

// TestManyCallers has several goroutines run, revisit, add and stop at once, for the race
// detector and the checks of the store.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var webs []*web
		for range 4 {
			w := newWeb(t)
			w.tree("/", 12)
			webs = append(webs, w)
		}
		c := open(t, func(cfg *Config) { cfg.Delay = 100 * time.Millisecond })
		var all sync.WaitGroup
		ctx := context.Background()
		for i, w := range webs {
			all.Go(func() {
				for range 2 {
					if _, err := c.Run(ctx, w.seed("/", store.Rules{}), Options{}); err != nil {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				<-time.After(time.Duration(i) * 300 * time.Millisecond)
				if err := c.Add([]string{w.URL + fmt.Sprint("/", i)}); err != nil && !errors.Is(err, ErrNotRunning) {
					t.Error(err)
				}
				if err := c.Pause(""); err != nil && !errors.Is(err, ErrNotRunning) {
					t.Error(err)
				}
				if err := c.Resume(""); err != nil && !errors.Is(err, ErrNotRunning) {
					t.Error(err)
				}
				r, err := c.Revisit(ctx, plan.Plan{Full: i%2 == 0, Budget: func(int) int { return 3 }}, Options{})
				if err != nil && !errors.Is(err, plan.ErrNoSite) {
					t.Error(r, err)
				}
			})
		}
		all.Wait()
		for _, w := range webs {
			if r := w.crawl(t, c, store.Rules{}); r.Known != 13 {
				t.Errorf("%+v; want 13 pages", r)
			}
			w.polite(t, 100*time.Millisecond)
		}
	})
}
