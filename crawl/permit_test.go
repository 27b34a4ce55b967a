package crawl

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/scope"
	"forage/fetch/fetchtest"
	"forage/store"
)

// TestPermitLapses: while fetch.Config.Permit lets nobody be asked a run goes on and nothing is sent. Nothing spins, with a delay
// and without one, nothing is held against the host or told as trouble, and no document is lost.
func TestPermitLapses(t *testing.T) {
	const lapse = 20 * time.Second
	for _, delay := range []time.Duration{-1, 2 * time.Second} {
		for _, kind := range []string{"before a request", "under way"} { // the loop finds out, or a worker does
			synctest.Test(t, func(t *testing.T) {
				var (
					mu     sync.Mutex
					asked  = map[string]int{}
					from   time.Time // of the lapse; zero: it has not begun
					late   int
					permit atomic.Int64 // questions in the lapse
				)
				network := fetchtest.New()
				s := network.Server("127.0.0.1:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					if asked[r.URL.Path]++; !from.IsZero() && time.Since(from) < lapse {
						late++
					}
					if r.URL.Path == "/robots.txt" {
						http.NotFound(w, r)
						return
					}
					if r.URL.Path == "/" {
						from = time.Now() // the answer to this one is whole
					}
					w.Header().Set("Content-Type", "text/html")
					io.WriteString(w, "<title>"+r.URL.Path+"</title><p>of "+r.URL.Path+"</p><a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>")
				}))
				defer s.Close()
				cfg := local(t.TempDir())
				cfg.Delay = delay
				cfg.Parallel = 1 // what was permitted before the lapse must not arrive in it
				cfg.Fetch.Dial, cfg.Fetch.Lookup = network.Dial, network.Lookup
				questions := 0
				cfg.Fetch.Permit = func(host string) error {
					mu.Lock()
					defer mu.Unlock()
					if host != "127.0.0.1:8080" {
						t.Errorf("asked for %q", host)
					}
					if from.IsZero() || time.Since(from) >= lapse {
						return nil
					}
					permit.Add(1)
					if questions++; kind == "under way" && questions%2 == 1 {
						return nil // the loop may hand it out, and the worker may not ask
					}
					return errors.New("the lease has ended")
				}
				c, err := Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				r, err := c.Run(ctx, []scope.Seed{{URL: "http://127.0.0.1:8080/"}}, Options{})
				if err != nil || r.Interrupted || r.Pages != 4 || r.Errors != 0 || len(r.Failed) != 0 {
					t.Errorf("%+v, %v", r, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if late > 0 {
					t.Errorf("delay %v, %s: %d requests in the lapse", delay, kind, late)
				}
				for _, path := range []string{"/", "/a", "/b", "/c"} {
					if asked[path] != 1 {
						t.Errorf("delay %v, %s: %s was asked for %d times", delay, kind, path, asked[path])
					}
				}
				if n := permit.Load(); n < 2 || n > 200 {
					t.Errorf("delay %v, %s: permit was asked %d times in %v", delay, kind, n, lapse)
				}
				rec, err := c.View().Host("127.0.0.1:8080")
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Fatal(err)
				}
				if rec.Failures != 0 || rec.RobotsProblem != "" {
					t.Errorf("%+v", rec)
				}
			})
		}
	}
}

// TestPermitRobotsLapses: what is asked first of a host is its robots.txt; it is asked for again when that is permitted.
func TestPermitRobotsLapses(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a")
	w.pages["/a"] = page("a")
	var n atomic.Int64
	c := open(t, func(cfg *Config) {
		cfg.Fetch.Permit = func(string) error {
			if n.Add(1) == 2 { // the worker's first question
				return errors.New("the lease has ended")
			}
			return nil
		}
	})
	r := w.crawl(t, c, store.Rules{})
	if r.Pages != 2 || r.Errors != 0 || w.count("/robots.txt") != 1 {
		t.Errorf("%+v, robots.txt asked for %d times", r, w.count("/robots.txt"))
	}
}
