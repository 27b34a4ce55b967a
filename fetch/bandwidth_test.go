package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forage/fetch/fetchtest"
)

// TestBandwidth: many bodies at once, by both schemes' client, come in the time that the limit gives them, and hardly later; without
// one they come at once.
func TestBandwidth(t *testing.T) {
	const each, n = 100_000, 12
	for _, c := range []struct {
		perSecond   int64
		least, most time.Duration
	}{
		{0, 0, time.Second},
		{100_000, 10500 * time.Millisecond, 13 * time.Second}, // 12 s, of which one is free after idleness
		{1 << 20, 100 * time.Millisecond, 1300 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			lan := fetchtest.New()
			srv := lan.Server("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, strings.Repeat("x", each))
			}))
			defer srv.Close()
			cl, err := New(Config{Dial: lan.Dial, Lookup: lan.Lookup, AllowPrivate: loopback, Bandwidth: c.perSecond})
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			began := time.Now()
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					o, err := cl.Fetch(context.Background(), &Request{URL: srv.URL + "/"})
					if err != nil || len(o.Body) != each {
						t.Errorf("%d bytes, %v", len(o.Body), err)
					}
					o.Release()
				})
			}
			wg.Wait()
			if took := time.Since(began); took < c.least || took > c.most {
				t.Errorf("at %d bytes a second %d bytes took %s, want %s to %s", c.perSecond, each*n, took, c.least, c.most)
			}
		})
	}
}

// TestBandwidthClosed: who ends a request that waits for its turn need not wait.
func TestBandwidthClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := fetchtest.New()
		srv := lan.Server("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<20)) }))
		defer srv.Close()
		cl, err := New(Config{Dial: lan.Dial, Lookup: lan.Lookup, AllowPrivate: loopback, Bandwidth: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		began := time.Now()
		if _, err := cl.Fetch(ctx, &Request{URL: srv.URL + "/"}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 11*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestBandwidthTake(t *testing.T) {
	b := &bandwidth{perSecond: 1000}
	now := time.Unix(1000, 0)
	for i, c := range []struct {
		after time.Duration
		n     int
		want  time.Duration
	}{{0, 500, -500 * time.Millisecond}, {0, 1500, time.Second}, {time.Second, 1000, time.Second}, {time.Hour, 1000, 0}, {0, 0, 0}} {
		now = now.Add(c.after)
		if got := b.take(c.n, now); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
}
