package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/store"
)

// within returns what a call ended with, which has to be a result, and to come in time.
func within(t *testing.T, d time.Duration, done <-chan ending) *Result {
	t.Helper()
	select {
	case e := <-done:
		if e.err != nil {
			t.Fatal(e.err)
		}
		return e.Result
	case <-time.After(d):
		t.Fatalf("it goes on after %v", d)
		return nil
	}
}

// visit begins a run of the site of a path.
func (w *web) visit(c *Crawl, path string, rules store.Rules, opt Options) <-chan ending {
	return begin(func() (*Result, error) { return c.Run(context.Background(), w.seed(path, rules), opt) })
}

// tardy has an answer take d.
func tardy(d time.Duration, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			h(w, r)
		case <-r.Context().Done():
		}
	}
}

// TestSharedHost has sites of one host begin together, and one while another is under way, with
// robots.txt known from the other one or kept in the store, with and without a probe to be made:
// all end, and the site of one page long before that of 60.
func TestSharedHost(t *testing.T) {
	t.Parallel()
	const pages, takes = 60, 10 * time.Millisecond
	for _, delay := range []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond} {
		for _, robots := range []string{"", "User-agent: *\nDisallow: /\nAllow: /a/\nAllow: /b/\nAllow: /c/"} {
			for _, kept := range []bool{false, true} {
				for _, together := range []bool{false, true} {
					t.Run(fmt.Sprintf("delay=%v probe=%v kept=%v together=%v", delay, robots == "", kept, together), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							w := newWeb(t)
							w.tree("/a/", pages)
							w.tree("/b/", 0)
							w.tree("/c/", 0)
							for p, h := range w.pages {
								w.pages[p] = tardy(takes, h)
							}
							if robots != "" {
								w.pages["/robots.txt"] = plain(robots)
							}
							dir := t.TempDir()
							rules := store.Rules{Scope: "prefix"}
							set := func(cfg *Config) { cfg.Dir, cfg.Delay, cfg.Parallel = dir, cmp.Or(delay, -1), 1 }
							if kept {
								cfg := local(dir)
								set(&cfg)
								c, err := Open(cfg)
								if err != nil {
									t.Fatal(err)
								}
								within(t, time.Minute, w.visit(c, "/c/", rules, Options{}))
								if err := c.Close(); err != nil {
									t.Fatal(err)
								}
							}
							c := open(t, set)
							if together {
								start := time.Now()
								r := within(t, time.Minute, begin(func() (*Result, error) {
									return c.Run(context.Background(), append(w.seed("/a/", rules), w.seed("/b/", rules)...), Options{})
								}))
								if r.Known != pages+2 || len(r.Failed) > 0 {
									t.Errorf("%+v after %v; want %d pages", r, time.Since(start), pages+2)
								}
								return
							}
							start := time.Now()
							a := w.visit(c, "/a/", rules, Options{})
							time.Sleep(6*delay + 5*takes)
							b := within(t, time.Minute, w.visit(c, "/b/", rules, Options{}))
							took := time.Since(start)
							if b.Known != 1 || len(a) > 0 {
								t.Errorf("%+v after %v, the other has ended: %v", b, took, len(a) > 0)
							}
							if r := within(t, time.Minute, a); r.Known != pages+1 {
								t.Errorf("%+v; want %d pages", r, pages+1)
							}
							if all := time.Since(start); took > all/2 {
								t.Errorf("the site of one page ended after %v, that of %d after %v", took, pages, all)
							}
							if n := w.count("/b/"); n != 1 {
								t.Errorf("/b/ was asked for %d times", n)
							}
						})
					})
				}
			}
		}
	}
}

// TestPausedAtRobots pauses a run whose sites share an address while some wait to ask for
// robots.txt: resumed, it ends.
func TestPausedAtRobots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seeds []scope.Seed
		for range 12 {
			w := newWeb(t)
			w.tree("/", 3)
			w.set("/robots.txt", tardy(time.Second/2, http.NotFound))
			seeds = append(seeds, w.seed("/", store.Rules{})...)
		}
		c := open(t, func(cfg *Config) { cfg.Delay = time.Millisecond })
		done := begin(func() (*Result, error) { return c.Run(context.Background(), seeds, Options{}) })
		time.Sleep(100 * time.Millisecond)
		if err := c.Pause(""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		if err := c.Resume(""); err != nil {
			t.Fatal(err)
		}
		if r := within(t, time.Minute, done); r.Known != 12*4 {
			t.Errorf("%+v; want %d pages", r, 12*4)
		}
	})
}

// TestCancelMany cancels a run with as many requests under way as there may be: it ends at once.
func TestCancelMany(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{16, 64, 256} {
		t.Run(fmt.Sprint(parallel), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				w.tree("/", 600)
				for i := range 600 {
					w.set(fmt.Sprint("/", i), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
				}
				c := open(t, func(cfg *Config) { cfg.Parallel = parallel })
				ctx, cancel := context.WithCancel(context.Background())
				done := begin(func() (*Result, error) { return c.Run(ctx, w.seed("/", store.Rules{}), Options{}) })
				if !under(done) {
					t.Fatal("the run has ended")
				}
				asked := w.total()
				if w.most != parallel {
					t.Fatalf("%d requests under way, want %d", w.most, parallel)
				}
				start := time.Now()
				cancel()
				if r := within(t, time.Minute, done); !r.Interrupted || time.Since(start) > time.Second {
					t.Errorf("%+v after %v", r, time.Since(start))
				}
				if n := w.total() - asked; n > 0 {
					t.Errorf("%d requests after the end", n)
				}
			})
		})
	}
}

// TestBrokenStore breaks the store while requests are under way: all runs return the error, at
// once, and the servers are not asked any more.
func TestBrokenStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seeds []scope.Seed
		var webs []*web
		for range 20 {
			w := newWeb(t)
			w.tree("/", 50)
			for i := range 50 {
				w.set(fmt.Sprint("/", i), tardy(50*time.Millisecond, page(fmt.Sprint(i))))
			}
			webs = append(webs, w)
			seeds = append(seeds, w.seed("/", store.Rules{})...)
		}
		webs[0].hold("/7", nil) // it does not end by itself
		asked := func() (n int) {
			for _, w := range webs {
				n += w.total()
			}
			return n
		}
		c := open(t, func(cfg *Config) { cfg.Parallel = 64 })
		runs := []<-chan ending{
			begin(func() (*Result, error) { return c.Run(context.Background(), seeds[1:], Options{}) }),
			begin(func() (*Result, error) { return c.Run(context.Background(), seeds[:1], Options{}) }),
		}
		time.Sleep(210 * time.Millisecond)
		broken := errors.New("broken")
		before := asked()
		start := time.Now()
		c.loop.do(func() { c.fail(broken) })
		for _, done := range runs {
			select {
			case e := <-done:
				if !errors.Is(e.err, broken) {
					t.Errorf("%+v, %v", e.Result, e.err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it goes on after a minute")
			}
		}
		if n := asked() - before; n > 0 || time.Since(start) > time.Second {
			t.Errorf("%d more requests, ended after %v", n, time.Since(start))
		}
	})
}

// TestLimitLowered goes on with a first visit under a limit lower than what is there already.
func TestLimitLowered(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]store.Rules{"--max-pages": {MaxPages: 5}, "--budget": {Budget: 5}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				w.tree("/", 20)
				c := open(t, nil)
				part := w.crawlWith(t, c, store.Rules{}, Options{MaxTotal: 10})
				before := w.total()
				r := within(t, time.Minute, w.visit(c, "/", rules, Options{}))
				if n := w.total() - before; n > 0 || r.Known != part.Known || r.Interrupted {
					t.Errorf("%d more requests, %+v", n, r)
				}
				if s, err := c.View().Site(1); err != nil || s.State != store.SiteDone || s.PartialWhy != "stopped by "+name {
					t.Errorf("%+v, %v", s, err)
				}
				// What waits is still there.
				if r := within(t, time.Minute, w.visit(c, "/", store.Rules{}, Options{})); r.Known != 21 {
					t.Errorf("%+v; want 21 pages", r)
				}
			})
		})
	}
}

// TestUnreadAtLimit has thousands of documents wait when a limit leaves no room: they are not
// read into memory.
func TestUnreadAtLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		links := make([]string, 5000)
		for i := range links {
			links[i] = fmt.Sprint("/", i)
		}
		w.pages["/"] = page("home", links...)
		w.other = func(rw http.ResponseWriter, r *http.Request) {
			if strings.ContainsAny(r.URL.Path, ".") || len(r.URL.Path) > 5 {
				http.NotFound(rw, r)
				return
			}
			tardy(2*time.Second, page(r.URL.Path))(rw, r)
		}
		c := open(t, nil)
		done := w.visit(c, "/", store.Rules{MaxPages: 10}, Options{})
		time.Sleep(time.Second)
		if n := c.db.Decoded(); n > 200 {
			t.Errorf("%d records decoded while there was no room", n)
		}
		if r := within(t, time.Minute, done); r.Known != 10 {
			t.Errorf("%+v; want 10 pages", r)
		}
		if n := c.db.Decoded(); n > 300 {
			t.Errorf("%d records decoded for 10 pages", n)
		}
	})
}

// TestThreeRuns has three runs work on one site; the second one's time is over while it waits.
func TestThreeRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.tree("/", 3)
		w.set("/", tardy(2*time.Second, w.pages["/"]))
		c := open(t, nil)
		var runs [3]<-chan ending
		for i := range runs {
			var opt Options
			if i == 1 {
				opt.MaxTime = 300 * time.Millisecond
			}
			runs[i] = w.visit(c, "/", store.Rules{}, opt)
			time.Sleep(50 * time.Millisecond)
		}
		if r := within(t, 300*time.Millisecond, runs[1]); r.Cut != "--time-limit" || len(r.Cycles) > 0 {
			t.Errorf("the second run: %+v", r)
		}
		if !under(runs[0]) || !under(runs[2]) {
			t.Error("the others have ended with it")
		}
		if r := within(t, time.Minute, runs[0]); r.Known != 4 {
			t.Errorf("the first run: %+v", r)
		}
		if r := within(t, time.Minute, runs[2]); len(r.Finished) != 1 {
			t.Errorf("the third run: %+v", r)
		}
	})
}

// TestAddDeferred adds a document that was put off: it is fetched at once and once.
func TestAddDeferred(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		var urls []string
		for i := range 400 {
			urls = append(urls, fmt.Sprintf("/no%d", i))
		}
		w.pages["/sitemap.xml"] = urlset(urls...)
		w.pages["/"] = page("home", "/slow")
		release := w.hold("/slow", page("slow"))
		c := open(t, nil)
		done := w.visit(c, "/", store.Rules{}, Options{})
		if !under(done) {
			t.Fatal("the visit has ended")
		}
		if d := w.doc(t, c, "/no390"); d.State != store.Queued || d.Reason != reasonDeferred {
			t.Fatalf("/no390 is %v, %q; want it put off", d.State, d.Reason)
		}
		if err := c.Add([]string{w.URL + "/no390"}); err != nil {
			t.Fatal(err)
		}
		if !under(done) || w.count("/no390") != 1 {
			t.Errorf("/no390 was asked for %d times when it was added", w.count("/no390"))
		}
		close(release)
		if r := within(t, time.Minute, done); r.Interrupted || r.Known != 2 {
			t.Errorf("%+v", r)
		}
		for _, u := range urls {
			if n := w.count(u); n != 1 {
				t.Errorf("%s was asked for %d times", u, n)
			}
		}
	})
}

// TestGivenUpByAnother revisits a site at a host that the cycle of another site has given up: it
// asks there for itself, and tells of its failure if it gets nothing.
func TestGivenUpByAnother(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		plan plan.Plan
	}{
		{"full", plan.Plan{Full: true, Text: "all"}},
		{"budget", plan.Plan{Budget: func(int) int { return 4 }, Text: "4"}},
	} {
		for _, back := range []bool{false, true} {
			t.Run(fmt.Sprint(test.name, " back=", back), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWeb(t)
					port := w.URL[strings.LastIndexByte(w.URL, ':'):]
					bad := "bad.given.test" + port
					var broken atomic.Bool
					var asked atomic.Int32
					release := make(chan bool)
					w.other = func(rw http.ResponseWriter, r *http.Request) {
						if r.Host == bad {
							asked.Add(1)
						}
						switch {
						case r.Host == bad && broken.Load():
							panic(http.ErrAbortHandler)
						case r.URL.Path == "/robots.txt", r.URL.Path == "/sitemap.xml", len(r.URL.Path) > 20:
							http.NotFound(rw, r)
						case r.Host == bad && r.URL.Path == "/":
							page("bad", "/1", "/2", "/3")(rw, r)
						case r.URL.Path == "/":
							page("home", "/slow", "http://"+bad+"/q1", "http://"+bad+"/q2")(rw, r)
						case r.URL.Path == "/slow":
							select {
							case <-release:
								page("slow")(rw, r)
							case <-r.Context().Done():
							}
						default:
							page(r.URL.Path)(rw, r)
						}
					}
					c := open(t, func(cfg *Config) { cfg.Fetch.HeaderWait, cfg.Fetch.Timeout = time.Hour, time.Hour })
					run := func(url, scoped string) <-chan ending {
						return begin(func() (*Result, error) {
							return c.Run(context.Background(), []scope.Seed{{URL: url, Rules: store.Rules{Scope: scoped}}}, Options{})
						})
					}
					if r := within(t, time.Minute, run("http://"+bad+"/", "host")); r.Known != 4 {
						t.Fatalf("%+v", r)
					}
					broken.Store(true)
					other := run("http://www.given.test"+port+"/", "domain")
					for range 50 {
						time.Sleep(10 * time.Second)
						lost := make(chan bool)
						c.loop.do(func() { h := c.loop.hosts.byName[bad]; lost <- h != nil && h.givenUp != "" })
						if <-lost {
							break
						}
					}
					if !under(other) {
						t.Fatal("the other visit has ended")
					}
					before := asked.Load()
					broken.Store(!back)
					p := test.plan
					p.Sites = []string{bad}
					r := within(t, 10*time.Minute, begin(func() (*Result, error) { return c.Revisit(context.Background(), p, Options{}) }))
					if n := asked.Load() - before; n == 0 {
						t.Error("the host was not asked")
					}
					switch {
					case back && (len(r.Failed) > 0 || r.Refetched == 0):
						t.Errorf("the host answers again: %+v", r)
					case !back && (len(r.Failed) != 1 || r.Failed[0].Site != bad || r.Refetched > 0):
						t.Errorf("the host does not answer: %+v", r)
					}
					close(release)
					within(t, time.Hour, other)
				})
			})
		}
	}
}

// TestAddWhileEnding adds a site to a crawl whose owner is ending: nothing is opened.
func TestAddWhileEnding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, other := newWeb(t), newWeb(t)
		w.tree("/", 4)
		other.tree("/", 40)
		release := w.hold("/3", page("/3"))
		c := open(t, nil)
		done := w.visit(c, "/", store.Rules{}, Options{})
		if !under(done) {
			t.Fatal("the run has ended")
		}
		back := make(chan bool)
		go func() {
			c.HandBack()
			close(back)
		}()
		synctest.Wait()
		if err := c.Add([]string{other.URL + "/"}); !errors.Is(err, ErrNotRunning) {
			t.Errorf("adding to a run that ends: %v", err)
		}
		close(release)
		<-back
		if e := <-done; !errors.Is(e.err, ErrHandedBack) {
			t.Errorf("%+v, %v", e.Result, e.err)
		}
		sites, err := c.View().Sites()
		if n := other.total(); err != nil || n > 0 || len(sites) != 1 {
			t.Errorf("%d requests to what was added, %d sites, %v", n, len(sites), err)
		}
	})
}

// TestNothingAllowed visits a site whose robots.txt leaves nothing while another run waits for a
// page: what is settled without a request does not wait for anybody's answer.
func TestNothingAllowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow, closed := newWeb(t), newWeb(t)
		slow.tree("/", 1)
		slow.set("/", tardy(4*time.Second, slow.pages["/"]))
		closed.tree("/", 1)
		closed.set("/robots.txt", plain("User-agent: *\nDisallow: /"))
		c := open(t, nil)
		first := slow.visit(c, "/", store.Rules{}, Options{})
		time.Sleep(300 * time.Millisecond)
		start := time.Now()
		r := within(t, time.Minute, closed.visit(c, "/", store.Rules{}, Options{}))
		if took := time.Since(start); took > 0 || len(r.Failed) != 1 || closed.count("/") > 0 {
			t.Errorf("%+v after %v, while another run waits", r, took)
		}
		if !under(first) {
			t.Error("the other run has ended")
		}
		within(t, time.Minute, first)
	})
}

// TestUnknownPolicy begins runs under a policy that there is not, also one that waits for its
// site: the error is theirs, and the next run works.
func TestUnknownPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.tree("/", 3)
		c := open(t, nil)
		wrong := func(done <-chan ending) {
			t.Helper()
			select {
			case e := <-done:
				if e.err == nil || !strings.Contains(e.err.Error(), "nonsense") {
					t.Errorf("%+v, %v", e.Result, e.err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it goes on")
			}
		}
		wrong(w.visit(c, "/", store.Rules{}, Options{Policy: "nonsense"}))
		if r := within(t, time.Minute, w.visit(c, "/", store.Rules{}, Options{})); r.Known != 4 {
			t.Errorf("%+v; want 4 pages", r)
		}
		other := newWeb(t)
		other.tree("/", 3)
		release := other.hold("/1", page("/1"))
		first := other.visit(c, "/", store.Rules{}, Options{MaxTotal: 4})
		synctest.Wait() // so that it has the site
		waits := other.visit(c, "/", store.Rules{}, Options{Policy: "nonsense"})
		if !under(first) || !under(waits) {
			t.Fatal("a run has ended")
		}
		close(release)
		if r := within(t, time.Minute, first); r.Cut != "--max-total" {
			t.Errorf("%+v", r)
		}
		wrong(waits)
		if r := within(t, time.Minute, other.visit(c, "/", store.Rules{}, Options{})); r.Known != 4 {
			t.Errorf("%+v; want 4 pages", r)
		}
	})
}
