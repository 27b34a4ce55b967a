package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/scope"
	"forage/store"
)

// gaps are the times between requests.
func (w *web) gaps() (gaps []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := 1; i < len(w.times); i++ {
		gaps = append(gaps, w.times[i].Sub(w.times[i-1]))
	}
	return gaps
}

// copyStore copies a store that is written to, as a kill at one moment would leave it: how many commits are
// synced, which is written after the log, is read before that.
func copyStore(to, from string) error {
	commits, err := os.ReadFile(filepath.Join(from, "documents", "COMMITS"))
	if err := errors.Join(err, os.CopyFS(to, os.DirFS(from))); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "documents", "COMMITS"), commits, 0o644)
}

// killAt has the nth request from now on find the store as a kill at that moment leaves it: its
// files are copied while the request waits, and the run is then cut off. late: what the database has
// committed meanwhile was still on its way to the disk. It returns the copy's folder.
func (w *web) killAt(t *testing.T, n int, dir string, late bool, cancel func()) (left string) {
	left = filepath.Join(t.TempDir(), "left")
	if late {
		if err := copyStore(left, dir); err != nil {
			t.Fatal(err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n += len(w.times)
	pages := w.pages
	w.pages = map[string]http.HandlerFunc{}
	w.other = func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		h, killed := pages[r.URL.RequestURI()], len(w.times) == n
		w.mu.Unlock()
		switch {
		case killed:
			var err error
			if !late {
				err = copyStore(left, dir)
			} else if b, e := os.ReadFile(filepath.Join(dir, "asked")); e == nil {
				err = os.WriteFile(filepath.Join(left, "asked"), b, 0o644)
			}
			if err != nil {
				t.Error(err)
			}
			cancel()
			<-r.Context().Done()
		case h == nil:
			http.NotFound(rw, r)
		default:
			h(rw, r)
		}
	}
	return left
}

const slowly = "User-agent: *\nCrawl-delay: 5\n"

// TestPaceAcrossKills kills a crawl while a request of it is out, the first one, the second, and
// so on, and has the next process go on at once: no two requests of the two may be closer to each
// other than the delay, whether it is asked for by the user or by robots.txt.
func TestPaceAcrossKills(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		robots string
		fresh  bool // it is not to be cached
		late   bool
		delay  time.Duration
		want   time.Duration
	}{
		{name: "a delay", delay: 3 * time.Second, want: 3 * time.Second},
		{name: "a delay of which nothing has come to the database", late: true, delay: 3 * time.Second, want: 3 * time.Second},
		{name: "a crawl delay", robots: slowly, delay: 100 * time.Millisecond, want: 5 * time.Second},
		{name: "a crawl delay alone", robots: slowly, want: 5 * time.Second},
		{name: "a crawl delay that is asked for each time", robots: slowly, fresh: true, want: 5 * time.Second},
	} {
		for n := 1; n <= 5; n++ {
			t.Run(fmt.Sprintf("%s, request %d", test.name, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWeb(t)
					w.pages["/"] = page("home", "/a", "/b")
					w.pages["/a"] = page("a")
					w.pages["/b"] = page("b")
					if test.robots != "" {
						w.pages["/robots.txt"] = plain(test.robots)
						if test.fresh {
							w.pages["/robots.txt"] = uncached(plain(test.robots))
						}
					}
					rules := store.Rules{DelayMillis: test.delay.Milliseconds()}
					cfg := local(t.TempDir())
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					c := openSound(t, cfg)
					left := w.killAt(t, n, cfg.Dir, test.late, cancel)
					if r, err := c.Run(ctx, []scope.Seed{{URL: w.URL + "/", Rules: rules}}, Options{}); err != nil || !r.Interrupted {
						t.Fatalf("%+v, %v", r, err)
					}
					cfg.Dir = left
					next := openSound(t, cfg)
					if r := w.crawl(t, next, rules); r.Known != 3 {
						t.Errorf("%+v", r)
					}
					for i, gap := range w.gaps() {
						if n == 1 && i == 0 && test.robots != "" {
							continue // the first robots.txt was not answered: nobody has asked for anything yet
						}
						if gap < test.want {
							t.Errorf("request %d came %v after the one before, want %v", i+2, gap, test.want)
						}
					}
				})
			})
		}
	}
}

// TestPaceOfJoining has a site join a host that was asked a moment ago by one that allows more:
// its delay counts from that request on.
func TestPaceOfJoining(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.pages["/a/"] = page("a", "/a/1")
		w.pages["/a/1"] = page("a1")
		w.pages["/b/"] = page("b")
		var seeds []scope.Seed
		for i, path := range []string{"/a/", "/b/"} {
			seeds = append(seeds, scope.Seed{URL: w.URL + path, Rules: store.Rules{Scope: "prefix", DelayMillis: int64(1+9*i) * 1000}})
		}
		c := open(t, nil)
		done := make(chan error)
		first := true
		w.set("/a/", func(rw http.ResponseWriter, r *http.Request) {
			page("a", "/a/1")(rw, r)
			if first {
				first = false
				go func() {
					time.Sleep(500 * time.Millisecond)
					_, err := c.Run(context.Background(), seeds[1:], Options{})
					done <- err
				}()
			}
		})
		if _, err := c.Run(context.Background(), seeds[:1], Options{}); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		gaps := w.gaps()
		joined := false
		for i, gap := range gaps {
			if gap < time.Second || joined && gap < 10*time.Second {
				t.Errorf("request %d came %v after the one before", i+2, gap)
			}
			joined = joined || gap >= 10*time.Second
		}
		if !joined {
			t.Errorf("gaps %v", gaps)
		}
	})
}

// TestPaceOfUnknown goes on with a copy that does not know a host, which others may have asked: the delay of its site counts from when they did.
func TestPaceOfUnknown(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWeb(t)
			w.pages["/"] = page("home")
			var first time.Time
			w.set("/robots.txt", func(rw http.ResponseWriter, r *http.Request) { first = time.Now(); http.NotFound(rw, r) })
			cfg := local(t.TempDir())
			began := time.Now()
			if told {
				cfg.AskedUntil = began
			}
			w.crawl(t, openSound(t, cfg), store.Rules{DelayMillis: 30_000})
			if waited := first.Sub(began) >= 30*time.Second; waited != told {
				t.Errorf("told %t: asked after %v", told, first.Sub(began))
			}
		})
	}
}

// TestPaceOfCopy has another process go on with a copy of a store: the crawl delay of the host counts from the time until which others may have asked
// it, of which the copy knows nothing.
func TestPaceOfCopy(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWeb(t)
			w.pages["/robots.txt"] = plain(slowly)
			var paths []string
			for i := range 20 { // for longer than the request that is out as the store is copied may take
				paths = append(paths, fmt.Sprintf("/%d", i))
				w.pages[paths[i]] = page(paths[i])
			}
			w.pages["/"] = page("home", paths...)
			cfg := local(t.TempDir())
			left := filepath.Join(t.TempDir(), "left")
			copied := false
			w.set("/0", func(rw http.ResponseWriter, r *http.Request) {
				if !copied {
					copied = true
					if err := copyStore(left, cfg.Dir); err != nil {
						t.Error(err)
					}
				}
				page("/0")(rw, r)
			})
			w.crawl(t, openSound(t, cfg), store.Rules{})
			before := len(w.gaps())
			cfg.Dir = left
			if told {
				cfg.AskedUntil = time.Now()
			}
			w.crawl(t, openSound(t, cfg), store.Rules{})
			gaps := w.gaps()
			if len(gaps) == before {
				t.Fatal("the copy asks for nothing")
			}
			if kept := gaps[before] >= 5*time.Second; kept != told {
				t.Errorf("told %t: the copy asks %v after the one that it is of", told, gaps[before])
			}
		})
	}
}
