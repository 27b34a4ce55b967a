package crawl

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/scope"
	"forage/fetch/fetchtest"
	"forage/internal/race"
	"forage/store"
)

// TestSilentHosts crawls a host that answers beside very many that do not, listed before it: they take the
// connection and say nothing, or do not take it. The one has its turn soon, and from then on keeps four
// fifths of the pace that it has alone, with a delay and without one.
func TestSilentHosts(t *testing.T) {
	race.Skip(t)
	t.Parallel()
	const (
		silent = 100
		span   = 120 * time.Second
		took   = 500 * time.Millisecond // an answer
	)
	run := func(t *testing.T, silence string, silent, parallel int, delay time.Duration) (rate float64, after time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			var (
				fetched int
				mu      sync.Mutex
				began   = time.Now()
				first   time.Time
			)
			network := fetchtest.New()
			s := network.Server("127.0.0.1:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				if first.IsZero() {
					first = time.Now()
				}
				mu.Unlock()
				time.Sleep(took)
				var n int
				if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil && r.URL.Path != "/" {
					http.NotFound(w, r)
					return
				}
				mu.Lock()
				fetched++
				mu.Unlock()
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "<title>Page %d</title><p>What page %d says.", n, n)
				for k := 1; k <= 9; k++ {
					fmt.Fprintf(w, "<a href=/%d>%d</a>", 9*n+k, k)
				}
			}))
			defer s.Close()
			l, err := network.Listen("0.0.0.0:8081")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if silence == "accept" {
				var conns []net.Conn
				defer func() {
					for _, c := range conns {
						c.Close()
					}
				}()
				go func() {
					for {
						c, err := l.Accept()
						if err != nil {
							return
						}
						conns = append(conns, c)
						go c.Read(make([]byte, 1<<10)) // the request
					}
				}()
			}
			cfg := local(t.TempDir())
			cfg.Parallel, cfg.Fetch.Dial, cfg.Fetch.Lookup = parallel, network.Dial, network.Lookup
			c := openSound(t, cfg)
			rules := store.Rules{DelayMillis: delay.Milliseconds()}
			var seeds []scope.Seed
			for i := range silent {
				seeds = append(seeds, scope.Seed{URL: fmt.Sprintf("http://127.2.0.%d:8081/", i), Rules: rules})
			}
			seeds = append(seeds, scope.Seed{URL: "http://127.0.0.1:8080/", Rules: rules})
			if _, err := c.Run(context.Background(), seeds, Options{MaxTime: span}); err != nil {
				t.Fatal(err)
			}
			l.Close()
			synctest.Wait()
			after = first.Sub(began)
			rate = float64(fetched) / (span - after).Seconds()
		})
		return rate, after
	}
	for _, delay := range []time.Duration{0, 500 * time.Millisecond} {
		for _, parallel := range []int{16, 64} {
			if delay == 0 && parallel == 64 {
				continue // the same as with 16, and many more pages
			}
			alone, _ := run(t, "", 0, parallel, delay)
			for _, silence := range []string{"accept", "drop"} {
				t.Run(fmt.Sprintf("silence=%s/parallel=%d/delay=%v", silence, parallel, delay), func(t *testing.T) {
					beside, after := run(t, silence, silent, parallel, delay)
					t.Logf("%.2f pages a second alone, %.2f beside, from %v on", alone, beside, after)
					if beside < .8*alone {
						t.Errorf("%.2f pages a second beside %d hosts that do not answer, %.2f alone", beside, silent, alone)
					}
					if most := firstWait * time.Duration(2+silent/(parallel*3/4)); after > most {
						t.Errorf("the host had its turn after %v, want %v at most", after, most)
					}
				})
			}
		}
	}
}
