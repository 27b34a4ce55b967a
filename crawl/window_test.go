package crawl

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/store"
)

// TestOpenWindow looks every millisecond at what is committed of a crawl whose workers are never idle: each
// answer is there windowTime later, and few windows were written for all of them.
func TestOpenWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pages = 1600
		w := newWeb(t)
		var links []string
		for i := range pages {
			links = append(links, fmt.Sprintf("/%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676))
		}
		w.set("/", page("start", links...))
		w.other = func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Millisecond)
			page("What is said of "+strings.Repeat(r.URL.Path[1:]+" ", 9))(rw, r)
		}
		cfg := local(t.TempDir())
		cfg.Parallel = 10
		c := openSound(t, cfg)
		done := begin(func() (*Result, error) {
			return c.Run(context.Background(), w.seed("/", store.Rules{All: true}), Options{})
		})
		var sent []int // by millisecond
		windows, last := 0, 0
		for under(done) {
			w.mu.Lock()
			sent = append(sent, len(w.times)-w.out)
			w.mu.Unlock()
			n, err := c.db.View.Counters(1)
			if err != nil {
				t.Fatal(err)
			}
			have := int(n.State[store.Fetched])
			if have != last {
				windows, last = windows+1, have
			}
			// Requests for robots.txt and for a path that does not exist are for no documents.
			if i := len(sent) - 2 - int(windowTime/time.Millisecond); i >= 0 && have < sent[i]-4 {
				t.Fatalf("%d answers are committed, of %d that were there %v before", have, sent[i], windowTime)
			}
			time.Sleep(time.Millisecond)
		}
		if most := 10 + 2*len(sent)/int(windowTime/time.Millisecond); len(sent) < pages/10 || windows > most {
			t.Errorf("%d windows in %d ms, want %d at most", windows, len(sent), most)
		}
		if r := good(t, done); r.Fetched < pages {
			t.Errorf("%d documents were fetched", r.Fetched)
		}
	})
}
