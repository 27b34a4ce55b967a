package crawl

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/store"
)

// TestPauseAtLookup pauses a run while the address of its host is being looked up: nothing is
// asked for until it goes on.
func TestPauseAtLookup(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{true, false} {
		t.Run(fmt.Sprint("all=", all), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				w.tree("/", 3)
				host := "a.lookup.test" + w.URL[strings.LastIndexByte(w.URL, ':'):]
				release := make(chan bool)
				c := open(t, func(cfg *Config) {
					cfg.Delay = 10 * time.Millisecond
					cfg.Fetch.Lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
						select {
						case <-release:
						case <-ctx.Done():
							return nil, ctx.Err()
						}
						return lan.Lookup(ctx, name)
					}
				})
				done := begin(func() (*Result, error) {
					return c.Run(context.Background(), []scope.Seed{{URL: "http://" + host + "/"}}, Options{})
				})
				synctest.Wait()
				name := ""
				if !all {
					name = host
				}
				if err := c.Pause(name); err != nil {
					t.Fatal(err)
				}
				close(release)
				time.Sleep(time.Minute)
				if n := w.total(); n > 0 || !under(done) {
					t.Errorf("%d requests during the pause", n)
				}
				if err := c.Resume(name); err != nil {
					t.Fatal(err)
				}
				if r := within(t, time.Minute, done); r.Known != 4 {
					t.Errorf("%+v; want 4 pages", r)
				}
			})
		})
	}
}

// TestRevisitTwice revisits all sites a second time while a slow one of the first time is still
// being visited: the others are visited again, and what is new there is the second run's.
func TestRevisitTwice(t *testing.T) {
	t.Parallel()
	for _, p := range []plan.Plan{{Budget: func(int) int { return 4 }, Text: "4"}, {Full: true, Text: "all"}} {
		t.Run(p.Text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fast, slow := newWeb(t), newWeb(t)
				fast.tree("/", 3)
				slow.tree("/", 3)
				c := open(t, nil)
				fast.crawl(t, c, store.Rules{})
				slow.crawl(t, c, store.Rules{})
				release := slow.hold("/", slow.pages["/"])
				revisit := func() <-chan ending {
					return begin(func() (*Result, error) { return c.Revisit(context.Background(), p, Options{}) })
				}
				one := revisit()
				if !under(one) {
					t.Fatal("the first revisit has ended")
				}
				before := fast.count("/")
				fast.set("/", page("home", "/0", "/1", "/2", "/new"))
				fast.set("/new", page("new"))
				two := revisit()
				if !under(two) || fast.count("/") != before+1 || fast.count("/new") != 1 {
					t.Errorf("the fast site was asked %d times for its home page, %d times for the new one", fast.count("/")-before, fast.count("/new"))
				}
				close(release)
				a, b := within(t, time.Minute, one), within(t, time.Minute, two)
				if a.NewPages != 0 || a.Sites != 2 || a.Refetched < 8 || b.NewPages != 1 || b.Sites != 2 || b.Refetched < 8 {
					t.Errorf("%+v\n%+v\nwant the new page in the second", a, b)
				}
				distinct(t, a, b, 3, 6)
			})
		})
	}
}

// TestRevisitBesideFirst revisits all sites while a run goes on that has done the first visit of
// one of them: that one is revisited.
func TestRevisitBesideFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fast, slow := newWeb(t), newWeb(t)
		fast.tree("/", 3)
		slow.tree("/", 3)
		release := slow.hold("/0", page("/0"))
		c := open(t, nil)
		first := begin(func() (*Result, error) {
			return c.Run(context.Background(), append(fast.seed("/", store.Rules{}), slow.seed("/", store.Rules{})...), Options{})
		})
		if !under(first) {
			t.Fatal("the run has ended")
		}
		before := fast.total()
		p := plan.Plan{Budget: func(int) int { return 1 }, Text: "1"}
		r := within(t, time.Minute, begin(func() (*Result, error) { return c.Revisit(context.Background(), p, Options{}) }))
		if r.Sites != 1 || r.Refetched != 1 || fast.total() == before || !under(first) {
			t.Errorf("%+v; want a page of the site whose first visit is done", r)
		}
		close(release)
		if r := within(t, time.Minute, first); r.Known != 8 || r.Sites != 2 {
			t.Errorf("%+v; want 8 pages", r)
		}
	})
}

// TestLeftWaiting has a first visit end at its limit: what it left goes on waiting in a cycle of
// a budget, also at hosts that this one comes to anew, and what is new there is fetched.
func TestLeftWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		port := w.URL[strings.LastIndexByte(w.URL, ':'):]
		var links []string
		for i := range 30 {
			links = append(links, fmt.Sprintf("http://h%d.left.test%s/%d", i%2, port, i))
		}
		w.other = func(rw http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			links := links
			w.mu.Unlock()
			switch {
			case r.URL.Path == "/robots.txt", r.URL.Path == "/sitemap.xml", len(r.URL.Path) > 20:
				http.NotFound(rw, r)
			case strings.HasPrefix(r.Host, "www.") && r.URL.Path == "/":
				page("home", links...)(rw, r)
			default:
				page(r.Host+r.URL.Path)(rw, r)
			}
		}
		c := open(t, nil)
		r := within(t, time.Minute, begin(func() (*Result, error) {
			return c.Run(context.Background(), []scope.Seed{{URL: "http://www.left.test" + port + "/", Rules: store.Rules{Scope: "domain", MaxPages: 1}}}, Options{})
		}))
		if r.Known != 1 {
			t.Fatalf("%+v; want 1 page", r)
		}
		w.mu.Lock()
		links = append(links, fmt.Sprintf("http://h0.left.test%s/new", port))
		w.mu.Unlock()
		left := func() (n int) {
			for i := range 30 {
				n += w.count(fmt.Sprint("/", i))
			}
			return n
		}
		p := plan.Plan{Budget: func(int) int { return 1 }, Text: "1"}
		r = within(t, time.Minute, begin(func() (*Result, error) { return c.Revisit(context.Background(), p, Options{}) }))
		if n := left(); n > 0 || w.count("/new") != 1 || r.NewPages+r.Unknown != 1 || r.Refetched != 1 {
			t.Errorf("%d requests for what the first visit left, %d for the new page; %+v", n, w.count("/new"), r)
		}
	})
}

// A spy is a clock that looks at a store whenever it is read.
type spy struct {
	Clock
	look func()
}

func (s *spy) Now() time.Time {
	s.look()
	return s.Clock.Now()
}

// TestKilledAtEnd looks at what a kill would leave at the end of a cycle: the store never has one
// that is done for its policy and could be gone on with. Where the site was not concluded any
// more, the next revisit opens a cycle of its own.
func TestKilledAtEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		plan plan.Plan
		old  int64
	}{
		{plan.Plan{Full: true, Text: "all"}, 11},
		{plan.Plan{Budget: func(int) int { return 3 }, Text: "3"}, 3},
	} {
		t.Run(test.plan.Text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				w.tree("/", 10)
				var c *Crawl
				var between *store.CycleRecord // the first that is done
				var then *store.Site           // as it was then
				clock := &spy{Clock: machineClock{}, look: func() {
					if c == nil || between != nil {
						return
					}
					if rec, err := c.View().Cycle(1, 2); err == nil && rec.Done {
						between = rec
						if then, err = c.View().Site(1); err != nil {
							t.Error(err)
						}
					}
				}}
				c = open(t, func(cfg *Config) { cfg.Clock = clock })
				w.crawl(t, c, store.Rules{})
				first := w.revisit(t, c, test.plan)
				if between == nil || between.Ended == 0 || then.State != store.SiteCrawling {
					t.Fatalf("the cycle that has just ended is %+v, its site %+v", between, then)
				}
				if err := c.db.PutSite(then); err != nil {
					t.Fatal(err)
				}
				if err := c.db.Commit(); err != nil {
					t.Fatal(err)
				}
				before := w.total()
				r := within(t, time.Minute, begin(func() (*Result, error) { return c.Revisit(context.Background(), test.plan, Options{}) }))
				if n := int64(w.total() - before); r.Cycle <= first.Cycle || n < test.old || r.Refetched != test.old || first.Refetched != test.old {
					t.Errorf("%d requests, %+v; want a cycle after\n%+v", n, r, first)
				}
				if s, err := c.View().Site(1); err != nil || s.State != store.SiteDone {
					t.Errorf("%+v, %v", s, err)
				}
			})
		})
	}
}

// TestLateInterrupt interrupts runs at about the moment of their last answer: those that came to
// their end are not told as interrupted, and those that are have something left.
func TestLateInterrupt(t *testing.T) {
	t.Parallel()
	// The interruption comes when the last site is closed and the result put together.
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.tree("/", 3)
		ctx, cancel := context.WithCancel(context.Background())
		var c *Crawl
		var of *run
		closed := false
		clock := &spy{Clock: machineClock{}, look: func() {
			if c == nil || closed {
				return
			}
			if len(c.runs) > 0 {
				of = c.runs[0]
			}
			if s, err := c.View().Site(1); err == nil && s.State == store.SiteDone {
				closed = true
				of.interrupt()
				cancel()
			}
		}}
		c = open(t, func(cfg *Config) { cfg.Clock = clock })
		r, err := c.Run(ctx, w.seed("/", store.Rules{}), Options{})
		if err != nil || !closed || r.Interrupted || r.Known != 4 {
			t.Errorf("%+v, %v; noticed: %v", r, err, closed)
		}
	})
	finished := 0
	for round := range 100 {
		synctest.Test(t, func(t *testing.T) {
			w := newWeb(t)
			w.tree("/", 1)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			w.set("/0", func(rw http.ResponseWriter, r *http.Request) {
				go func() {
					for range round * 10 {
						runtime.Gosched()
					}
					cancel()
				}()
				page("last")(rw, r)
			})
			c, err := Open(local(t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			r, err := c.Run(ctx, w.seed("/", store.Rules{}), Options{})
			if err != nil {
				t.Fatal(err)
			}
			before := *r
			s, err := c.View().Site(1)
			if err != nil {
				t.Fatal(err)
			}
			if done := s.State == store.SiteDone; done == r.Interrupted {
				t.Errorf("round %d: the site is %v, of a run with %+v", round, s.State, r)
			} else if done {
				finished++
			}
			synctest.Wait() // for the interruption
			if fmt.Sprint(before) != fmt.Sprint(*r) {
				t.Errorf("the result was %+v and is %+v", before, *r)
			}
		})
	}
	t.Logf("%d of 100 runs came to their end", finished)
}
