package crawl

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forage/fetch"
	"forage/frontier"
	"forage/store"
)

// TestTurns has others ask a host before, while and after it is crawled, and in the next process: the server sees the delay
// between any two requests, and nobody waits behind the whole queue.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		w := newWeb(t)
		w.tree("/", 20)
		w.set("/robots.txt", func(rw http.ResponseWriter, r *http.Request) { http.NotFound(rw, r) })
		dir := t.TempDir()
		c := openAt(t, dir)
		rules := store.Rules{DelayMillis: delay.Milliseconds()}
		ctx := t.Context()
		look := func() {
			t.Helper()
			turn, err := c.Turn(ctx, w.URL+"/", &rules)
			if err != nil {
				t.Error(err)
				return
			}
			o, err := c.Client().Fetch(ctx, &fetch.Request{URL: w.URL + "/look"})
			turn.End(o, 0)
			if err != nil {
				t.Error(err)
				return
			}
			o.Release()
		}
		look()
		look()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				for range 3 {
					look()
				}
			})
		}
		began := time.Now()
		var looked time.Duration
		all.Go(func() {
			time.Sleep(delay / 2)
			look()
			looked = time.Since(began)
		})
		w.crawl(t, c, rules)
		all.Wait()
		look()
		if n := w.count("/look"); n != 13 {
			t.Errorf("%d looks were seen, want 13", n)
		}
		if looked > 8*delay {
			t.Errorf("a look took %v beside three others and a crawl", looked)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = openAt(t, dir)
		look()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		w.polite(t, delay)
		if n := len(c.loop.hosts.byName) + len(c.loop.turns); n > 0 {
			t.Errorf("%d hosts and turns are left", n)
		}
	})
}

// TestTurnEnds has turns that are not taken, or refused, and a crawl delay that one of them learns.
func TestTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		c := openAt(t, t.TempDir())
		rules := store.Rules{DelayMillis: 1000}
		take := func() *Turn {
			t.Helper()
			turn, err := c.Turn(t.Context(), w.URL, &rules)
			if err != nil {
				t.Fatal(err)
			}
			return turn
		}
		first := take()
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Turn(short, w.URL, &rules); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a turn that did not come: %v", err)
		}
		first.End(nil, 5*time.Second)
		at := time.Now()
		take().End(nil, 0)
		if got := time.Since(at); got != 5*time.Second {
			t.Errorf("the next turn came after %v, the host asks for 5 s", got)
		}
		// One that blocks us is asked by nobody.
		ends := make(chan error, frontier.MaxBlocked+2)
		for range cap(ends) {
			go func() {
				turn, err := c.Turn(t.Context(), w.URL, &rules)
				if ends <- err; err == nil {
					turn.End(&fetch.Outcome{Class: fetch.Blocked}, 0)
				}
			}()
		}
		refused := 0
		for range cap(ends) {
			switch err := <-ends; {
			case errors.Is(err, ErrLeftAlone):
				refused++
			case err != nil:
				t.Error(err)
			}
		}
		if refused != 2 {
			t.Errorf("of %d turns at a host that blocks us %d were refused, want 2", cap(ends), refused)
		}
		last := take()
		go func() {
			_, err := c.Turn(t.Context(), w.URL, &rules)
			ends <- err
		}()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ends; !errors.Is(err, ErrHandedBack) {
			t.Errorf("a turn that was waited for when the crawl was closed: %v", err)
		}
		last.End(nil, 0)
		if _, err := c.Turn(t.Context(), w.URL, &rules); !errors.Is(err, ErrHandedBack) {
			t.Errorf("a turn of a crawl that was closed: %v", err)
		}
		synctest.Wait()
		if n := len(c.loop.hosts.byName) + len(c.loop.turns); n > 0 {
			t.Errorf("%d hosts and turns are left", n)
		}
	})
}

func openAt(t *testing.T, dir string) *Crawl {
	t.Helper()
	c, err := Open(local(dir))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
