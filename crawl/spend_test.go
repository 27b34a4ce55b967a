package crawl

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/scope"
	"forage/fetch/fetchtest"
)

// TestSpend: documents and requisites are asked for as Config.Spend lets them, all else is not counted, and nothing spins while nothing may be spent.
func TestSpend(t *testing.T) {
	const pause = 7 * time.Second
	for _, delay := range []time.Duration{-1, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string // robots.txt apart, and what is asked to see how the server says that there is no such page
			network := fetchtest.New()
			s := network.Server("127.0.0.1:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" || len(r.URL.Path) > 20 {
					http.NotFound(w, r)
					return
				}
				mu.Lock()
				asked = append(asked, r.URL.Path)
				mu.Unlock()
				switch {
				case r.URL.Path == "/sitemap.xml":
					http.NotFound(w, r)
				case strings.HasSuffix(r.URL.Path, ".png"):
					w.Header().Set("Content-Type", "image/png")
					io.WriteString(w, "\x89PNG\r\n\x1a\n")
				default:
					w.Header().Set("Content-Type", "text/html")
					io.WriteString(w, "<title>"+r.URL.Path+"</title><p>of "+r.URL.Path+"</p><img src=/"+r.URL.Path[1:]+"x.png><a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>")
				}
			}))
			defer s.Close()
			cfg := local(t.TempDir())
			cfg.Delay = delay
			cfg.Archive = &Archive{Folder: t.TempDir()}
			cfg.Fetch.Dial, cfg.Fetch.Lookup = network.Dial, network.Lookup
			spent, refused := 0, 0
			may := 3
			cfg.Spend = func() time.Duration {
				if spent == may {
					mu.Lock()
					if len(asked) > spent {
						t.Errorf("%q are asked for, and %d were let", asked, spent)
					}
					mu.Unlock()
					refused++
					may += 2 // after this pause
					return pause
				}
				spent++
				return 0
			}
			c, err := Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			began := time.Now()
			r, err := c.Run(t.Context(), []scope.Seed{{URL: "http://127.0.0.1:8080/"}}, Options{Requisites: true})
			if err != nil || r.Interrupted || r.Pages != 4 || r.Requisites.Fetched != 4 || r.Errors != 0 {
				t.Errorf("delay %v: %+v, %v", delay, r, err)
			}
			if spent != 9 || len(asked) != spent {
				t.Errorf("delay %v: %d were let, and %q asked for; want a sitemap, 4 pages and 4 images", delay, spent, asked)
			}
			if took := time.Since(began); refused != 3 || took < 3*pause || took > 6*pause {
				t.Errorf("delay %v: it was refused %d times, and took %v; want 3 times %v and little else", delay, refused, took, pause)
			}
		})
	}
}
