package crawl

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/revisit/paper"
	"forage/store"
)

// A setClock is a machine's clock that somebody sets: the date jumps, time runs on.
type setClock struct {
	machineClock
	by atomic.Int64
}

func (c *setClock) Wall() time.Time {
	return c.machineClock.Wall().Add(time.Duration(c.by.Load()))
}

func (c *setClock) set(by time.Duration) { c.by.Store(int64(by)) }

const year = 365 * 24 * time.Hour

var steps = []time.Duration{0, 5 * year, -5 * time.Hour, -5 * year}

// TestClockSetInCrawl sets the clock in the middle of a crawl, and once more between that one and
// the next: each finds all pages, in the time that it takes, with the delay between any two requests.
func TestClockSetInCrawl(t *testing.T) {
	t.Parallel()
	const delay = 3 * time.Second
	for _, within := range steps {
		for _, between := range steps {
			t.Run(fmt.Sprintf("%v, then %v", within, between), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var once sync.Once
					clock := new(setClock)
					w := newWeb(t)
					w.tree("/", 2)
					w.set("/sitemap.xml", func(rw http.ResponseWriter, r *http.Request) {
						once.Do(func() { clock.set(within) })
						http.NotFound(rw, r)
					})
					cfg := local(t.TempDir())
					cfg.Clock = clock
					c, err := Open(cfg)
					if err != nil {
						t.Fatal(err)
					}
					rules := store.Rules{DelayMillis: delay.Milliseconds()}
					began := time.Now()
					first := w.crawl(t, c, rules)
					if first.Known < 2 || len(first.Failed) != 0 {
						t.Errorf("%+v", first)
					}
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
					clock.set(within + between)
					c = openSound(t, cfg)
					before := w.total()
					again := w.revisit(t, c, plan.Plan{Policy: "round-robin", Budget: func(int) int { return 3 }})
					if again.Refetched == 0 || again.Cut != "" {
						t.Errorf("after the clock was set by %v, %d requests: %+v", between, w.total()-before, again)
					}
					asked := 1
					if within+between != 0 { // nobody knows how old the rules are, or they have expired
						asked = 2
					}
					if n := w.count("/robots.txt"); n != asked {
						t.Errorf("robots.txt was asked for %d times, want %d", n, asked)
					}
					if took, most := time.Since(began), time.Duration(w.total()+2)*delay; took > most {
						t.Errorf("%d requests took %v, want at most %v", w.total(), took, most)
					}
					for i, gap := range w.gaps() {
						if i+1 == before && between > 0 {
							continue // a process cannot tell a date that was set from time that has passed
						}
						if gap < delay {
							t.Errorf("request %d came %v after the one before", i+2, gap)
						}
					}
				})
			})
		}
	}
}

// TestClockSetBackWhileWaiting sets the clock back while a host is to be left alone for ten minutes
// by its Retry-After: all of that is waited for again by the next process, and no more.
func TestClockSetBackWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := new(setClock)
		w := newWeb(t)
		w.pages["/"] = page("home", "/a")
		busy := true
		w.set("/a", func(rw http.ResponseWriter, r *http.Request) {
			if busy {
				rw.Header().Set("Retry-After", "540")
				rw.WriteHeader(503)
				return
			}
			page("a")(rw, r)
		})
		cfg := local(t.TempDir())
		cfg.Clock = clock
		c, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if r, err := c.Run(ctx, []scope.Seed{{URL: w.URL + "/"}}, Options{}); err != nil || !r.Interrupted {
			t.Fatalf("%+v, %v", r, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		clock.set(-24 * time.Hour)
		busy = false
		began := time.Now()
		c = openSound(t, cfg)
		ctx, cancel = context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		if r, err := c.Run(ctx, []scope.Seed{{URL: w.URL + "/"}}, Options{}); err != nil || r.Known != 2 || r.Cut != "" {
			t.Errorf("%+v, %v", r, err)
		}
		if took := time.Since(began); took > 10*time.Minute || took < 4*time.Minute {
			t.Errorf("the host was left alone for %v", took)
		}
	})
}

// TestClockOfPolicies has each policy come back to a site whose first visits were by a clock that was
// hours or years ahead: it fetches something where it does so otherwise, and the run tells of the date.
func TestClockOfPolicies(t *testing.T) {
	t.Parallel()
	for _, policy := range paper.Policies() {
		t.Run(policy.Name, func(t *testing.T) {
			usual, _ := fetchedAfter(t, policy.Name, 0)
			for _, ahead := range []time.Duration{5 * time.Hour, 5 * year} {
				fetched, log := fetchedAfter(t, policy.Name, ahead)
				if usual > 0 && fetched == 0 {
					t.Errorf("%v ahead: nothing was fetched in three hours, else %d", ahead, usual)
				}
				if !strings.Contains(log, "the date is before that of the last cycle") {
					t.Errorf("no word of the date: %s", log)
				}
			}
		})
	}
}

// fetchedAfter is how many documents a policy fetches again in the three hours after the clock has
// been put right, which was ahead, and what the runs log.
func fetchedAfter(t *testing.T, policy string, ahead time.Duration) (fetched int64, log string) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.tree("/", 2)
		cfg := local(t.TempDir())
		clock := new(setClock)
		clock.set(ahead)
		cfg.Clock = clock
		c := openSound(t, cfg)
		w.crawl(t, c, store.Rules{})
		p := plan.Plan{Policy: policy, Budget: func(int) int { return 3 }}
		clock.set(ahead + time.Hour) // asleep, timers of the database would be all that happens
		w.revisit(t, c, p)
		var told bytes.Buffer
		for hour := range time.Duration(3) {
			clock.set((2 + hour) * time.Hour)
			r, err := c.Revisit(context.Background(), p, Options{Log: slog.New(slog.NewTextHandler(&told, nil))})
			if err != nil {
				t.Fatal(err)
			}
			fetched += r.Refetched
		}
		log = told.String()
	})
	return fetched, log
}
