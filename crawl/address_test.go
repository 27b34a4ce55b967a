package crawl

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/scope"
	"forage/store"
)

// TestAddressBound crawls many hosts at one address and measures there: never more than eight
// requests at once, from the very first ones on, whether the address stands in the URL or
// has to be looked up. The first waves of requests are held at the servers until the loop says
// that none is under way elsewhere, so that one too many would be seen.
func TestAddressBound(t *testing.T) {
	for _, name := range []string{"127.0.0.1", "localhost"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				now, most, total, waves := 0, 0, 0, 3
				leave := make(chan struct{})
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					now++
					total++
					most = max(most, now)
					wave := leave
					mu.Unlock()
					<-wave
					mu.Lock()
					now--
					mu.Unlock()
					switch r.URL.Path {
					case "/robots.txt":
						http.NotFound(w, r)
					case "/", "/a", "/b":
						page(r.Host+r.URL.Path, "/a", "/b")(w, r)
					default:
						http.NotFound(w, r)
					}
				})
				var seeds []scope.Seed
				for range 30 {
					s := lan.Server("127.0.0.1:0", h)
					t.Cleanup(s.Close)
					_, port, _ := strings.Cut(s.Listener.Addr().String(), ":")
					seeds = append(seeds, scope.Seed{URL: fmt.Sprintf("http://%s:%s/", name, port), Rules: store.Rules{}})
				}
				c := open(t, func(cfg *Config) { cfg.Parallel, cfg.Delay = 64, time.Millisecond })
				opt := Options{Progress: func(p Progress) { // all that may be under way is, and has arrived
					mu.Lock()
					defer mu.Unlock()
					if waves > 0 && now > 0 && now == p.Out {
						close(leave)
						if waves--; waves > 0 {
							leave = make(chan struct{})
						}
					}
				}}
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				defer cancel()
				r, err := c.Run(ctx, seeds, opt)
				if err != nil || ctx.Err() != nil {
					t.Fatal(err, ctx.Err())
				}
				if r.Pages != 90 || most != 8 {
					t.Errorf("%d pages, want 90; %d requests at once, want 8; %d in all", r.Pages, most, total)
				}
			})

		})
	}
}
