package crawl

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/internal/race"
)

// A rough server has pages that come and change with time, and answers badly now and then.
type rough struct {
	mu     sync.Mutex
	r      *rand.Rand
	began  time.Time
	faults [8]int
}

// TestDay revisits two sites for 24 hours, one of which answers every fourth request badly:
// goroutines, open files and memory stay as they are after the first hours.
func TestDay(t *testing.T) { // not in parallel: it counts what the process has
	race.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		s := &rough{r: rand.New(rand.NewPCG(13, 0)), began: time.Now()}
		srv := lan.Server("127.0.0.1:0", s)
		defer srv.Close()
		calm := &rough{began: time.Now()}
		other := lan.Server("127.0.0.1:0", calm)
		defer other.Close()
		c := open(t, func(cfg *Config) {
			cfg.Delay = time.Second
			cfg.Fetch.Timeout = 20 * time.Second
		})
		if _, err := c.Run(t.Context(), []scope.Seed{{URL: srv.URL + "/"}, {URL: other.URL + "/"}}, Options{}); err != nil {
			t.Fatal(err)
		}
		var at []usage
		cycles, pages := 0, int64(0)
		for end := s.began.Add(24 * time.Hour); time.Now().Before(end); cycles++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			r, err := c.Revisit(ctx, plan.Plan{Budget: func(int) int { return 10 }, Text: "10"}, Options{MaxTime: 10 * time.Minute})
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			pages += r.NewPages
			if cycles%20 == 19 {
				synctest.Wait()
				at = append(at, used(t))
			}
			time.Sleep(10 * time.Minute)
		}
		t.Logf("%d cycles, %d new pages, answers by fault %v: %+v", cycles, pages, s.faults, at)
		for i, n := range s.faults {
			if n == 0 {
				t.Errorf("fault %d never came", i)
			}
		}
		if pages < 100 {
			t.Errorf("%d new pages in a day, of 288", pages)
		}
		first, last := at[0], at[len(at)-1]
		if last.goroutines > first.goroutines+4 || last.files > first.files+4 || last.heap > first.heap+8<<20 {
			t.Errorf("after %d cycles it has %+v, after 20 it had %+v", cycles, last, first)
		}
	})
}

// usage is what a process has of the machine.
type usage struct {
	goroutines, files int
	heap              uint64
}

func used(t *testing.T) usage {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil { // where the system tells
		u.files = len(open)
	}
	return u
}

func (s *rough) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	fault := 0
	if s.r != nil && r.URL.Path != "/robots.txt" {
		s.mu.Lock()
		if s.r.IntN(4) == 0 {
			fault = s.r.IntN(len(s.faults))
		}
		s.faults[fault]++
		s.mu.Unlock()
	}
	switch fault {
	case 1:
		http.Error(rw, "trouble", http.StatusInternalServerError)
		return
	case 2:
		rw.Header().Set("Retry-After", "7")
		http.Error(rw, "later", http.StatusServiceUnavailable)
		return
	case 3: // never answers
		<-r.Context().Done()
		return
	case 4: // cut off
		panic(http.ErrAbortHandler)
	case 5: // cut off in the body
		rw.Header().Set("Content-Length", "100000")
		fmt.Fprint(rw, "<p>The beginning")
		rw.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case 6: // says that it is packed
		rw.Header().Set("Content-Encoding", "gzip")
		fmt.Fprint(rw, "it is not")
		return
	case 7: // slow
		time.Sleep(15 * time.Second)
	}
	hours := int(time.Since(s.began) / time.Hour)
	n := 0
	switch _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); {
	case r.URL.Path == "/": // six new pages an hour; the latest are named
		var links []string
		for i := max(0, hours*6-30); i < 30+hours*6; i++ {
			links = append(links, fmt.Sprint("/", i))
		}
		page(fmt.Sprintf("News of hour %d", hours), links...)(rw, r)
	case err == nil && n < 30+hours*6:
		page(fmt.Sprintf("Page %d, about %x and %x", n, n*n, n*7919), "/", fmt.Sprint("/", n/2))(rw, r)
	default:
		http.NotFound(rw, r)
	}
}
