package fetch

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// large writes a page of 3 MiB, or a small one for /small.
func large(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	n := 3 << 10
	if r.URL.Path == "/small" {
		n = 500
	}
	line := []byte(strings.Repeat("a line of text, ", 64))
	for range n {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// TestLargeBodies holds as many large bodies as there are places: further ones are cut at 1 MiB
// when their time is over, and come whole once a place is free; small ones come all the time.
func TestLargeBodies(t *testing.T) {
	const mib = 1 << 20
	base := serve(t, large)
	c := newClient(t, Config{MaxBody: 2 * mib, MaxHeld: 5 * mib})
	held := []*Outcome{get(t, c, base+"/"), get(t, c, base+"/")}
	for _, o := range held {
		if o.Class != OK || o.Cut != CutLong || len(o.Body) != 2*mib {
			t.Fatalf("with room: %v, %v, %d bytes", o.Class, o.Cut, len(o.Body))
		}
	}
	if o := get(t, c, base+"/small"); o.Cut != Whole || len(o.Body) != 500<<10 {
		t.Errorf("a small body: %v, %d bytes", o.Cut, len(o.Body))
	}

	c.cfg.Timeout = time.Second
	o := get(t, c, base+"/")
	if o.Class != OK || o.Cut != CutRoom || len(o.Body) != mib || !strings.Contains(o.Reason, "too many large bodies") {
		t.Errorf("without room: %v, %v, %q, %d bytes", o.Class, o.Cut, o.Reason, len(o.Body))
	}
	o.Release()

	c.cfg.Timeout = time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := c.Fetch(ctx, &Request{URL: base + "/"})
		ended <- err
	}()
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}

	// All who wait get a place in their turn.
	const n = 12
	for range n {
		go func() {
			o, err := c.Fetch(context.Background(), &Request{URL: base + "/"})
			if err == nil && (o.Cut != CutLong || len(o.Body) != 2*mib) {
				t.Errorf("after waiting: %v, %d bytes", o.Cut, len(o.Body))
			}
			o.Release()
			o.Release() // does nothing
			ended <- err
		}()
	}
	for _, o := range held {
		o.Release()
	}
	for range n {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if len(c.large) != 0 {
		t.Errorf("%d places are taken in the end", len(c.large))
	}
}

// TestBlockedLarge checks that a large answer that turns out to be of no use gives its place back.
func TestBlockedLarge(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("cf-mitigated", "challenge")
		large(w, r)
	})
	c := newClient(t, Config{MaxBody: 2 << 20})
	if o := get(t, c, base+"/"); o.Class != Blocked || o.Body != nil || len(c.large) != 0 {
		t.Errorf("%v, %d bytes, %d places taken", o.Class, len(o.Body), len(c.large))
	}
}
