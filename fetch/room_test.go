package fetch

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const mib = 1 << 20

// large writes a page of 3 MiB, or a small one for /small.
func large(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	n := 3 << 10
	if r.URL.Path == "/small" {
		n = 200
	}
	line := []byte(strings.Repeat("a line of text, ", 64))
	for range n {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// TestLargeBodies holds as many large bodies as there is room for, and one beyond: further ones are cut
// when their time is over, and come whole once there is room; small ones come all the time.
func TestLargeBodies(t *testing.T) {
	base := serve(t, large)
	c := newClient(t, Config{MaxBody: 2 * mib, MaxHeld: 3*mib + mib/2})
	var held []*Outcome
	for range 3 { // two in the room, one alone
		o := get(t, c, base+"/")
		if o.Class != OK || o.Cut != CutLong || len(o.Body) != 2*mib || !o.Large() {
			t.Fatalf("with room: %v, %v, %d bytes", o.Class, o.Cut, len(o.Body))
		}
		held = append(held, o)
	}
	if o := get(t, c, base+"/small"); o.Cut != Whole || len(o.Body) != 200<<10 || o.Large() {
		t.Errorf("a small body: %v, %d bytes", o.Cut, len(o.Body))
	}

	c.cfg.Timeout = time.Second
	o := get(t, c, base+"/")
	if o.Class != OK || o.Cut != CutRoom || len(o.Body) != mib/4 || !strings.Contains(o.Reason, "too many large answers") {
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

	// All who wait get room in their turn.
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
	empty(t, c, 3*mib+mib/2)
}

// empty checks that nothing is held.
func empty(t *testing.T, c *Client, shared int64) {
	t.Helper()
	if c.Held() != 0 || c.room.left != shared || c.room.alone != nil || len(c.room.line) != 0 {
		t.Errorf("%d of %d bytes left in the end, somebody alone: %v, %d in line", c.room.left, shared, c.room.alone != nil, len(c.room.line))
	}
}

// TestUselessLarge checks that large answers that turn out to be of no use give their room back.
func TestUselessLarge(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/blocked":
			w.Header().Set("cf-mitigated", "challenge")
		case "/br": // a window of 16 MiB, and a status that makes the body useless
			w.Header().Set("Content-Encoding", "br")
			w.WriteHeader(http.StatusNotFound)
			w.Write([]byte{0x0f, 0x00})
			return
		}
		large(w, r)
	})
	c := newClient(t, Config{MaxBody: 2 << 20})
	for path, want := range map[string]Class{"/blocked": Blocked, "/br": NotFound} {
		if o := get(t, c, base+path); o.Class != want || o.Body != nil || o.Large() {
			t.Errorf("%s: %v, %d bytes, large: %v", path, o.Class, len(o.Body), o.Large())
		}
	}
	empty(t, c, c.cfg.MaxHeld)
}

// TestRoom has many answers grow at once, some to more than there is: none waits for ever, and at no
// time more is held than what is shared and the needs of one.
func TestRoom(t *testing.T) {
	const (
		shared, little = 100, 10
		most           = 250
		answers        = 64
	)
	r := &room{left: shared, little: little}
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			chance := rand.New(rand.NewPCG(1, uint64(i)))
			for range 200 {
				ctx, cancel := context.WithCancel(context.Background())
				o := &Outcome{room: r}
				for n := int64(0); n < most; n += 1 + chance.Int64N(80) {
					if chance.IntN(20) == 0 {
						cancel() // while it waits, or would have to
					}
					if err := o.Hold(ctx, n); err != nil {
						break
					}
					r.mu.Lock()
					if r.left < -most {
						t.Errorf("%d bytes left of %d, where one wants at most %d", r.left, shared, most)
					}
					r.mu.Unlock()
				}
				cancel()
				o.Hold(context.Background(), little+chance.Int64N(20)) // what is left of it, until it is taken over
				o.Release()
			}
		})
	}
	wg.Wait()
	if r.left != shared || r.alone != nil || len(r.line) != 0 {
		t.Errorf("%d of %d bytes left in the end, somebody alone: %v, %d in line", r.left, shared, r.alone != nil, len(r.line))
	}
}

// TestLittle: what answers have to themselves is bounded in all, for as many of them as there may be.
func TestLittle(t *testing.T) {
	for parallel, want := range map[int]int64{1: mostLittle, 64: 512 << 10, 128: 256 << 10, 10_000: leastLittle} {
		if got := newRoom(0, parallel).little; got != want {
			t.Errorf("%d answers at once: %d bytes each, want %d", parallel, got, want)
		}
	}
}

// TestBrWindow reads the sizes of windows as a decoder does.
func TestBrWindow(t *testing.T) {
	for b, want := range map[byte]int64{0x00: 1 << 16, 0x01: 1 << 17, 0x03: 1 << 18, 0x0b: 1 << 22, 0x0f: 1 << 24, 0x21: 1 << 10, 0x71: 1 << 15} {
		if got := brWindow(b); got != want {
			t.Errorf("%#02x: %d, want %d", b, got, want)
		}
	}
}

// TestStream reads bodies as they come: a long one past what is kept, others as far as they would be.
func TestStream(t *testing.T) {
	const sent = 3 * mib
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusNotFound)
		}
		if r.URL.Path == "/short" {
			w.Header().Set("Content-Length", "9999999")
		}
		w.Write(bytes.Repeat([]byte("<p>some text of 32 bytes......\n\n"), sent/32))
	})
	c := newClient(t, Config{MaxBody: mib})
	for _, s := range []struct {
		path         string
		stream, long bool
		class        Class
		cut          Cut
		got, kept    int
	}{
		{"/", true, true, OK, Whole, sent, 0},
		{"/", true, false, OK, CutLong, mib, 0},
		{"/", false, false, OK, CutLong, 0, mib},
		{"/short", true, true, OK, CutShort, sent, 0},
		{"/gone", true, true, NotFound, Whole, 0, 0},
	} {
		got := 0
		o, err := c.Fetch(context.Background(), &Request{URL: base + s.path, Stream: func(o *Outcome, head []byte) (func(io.Reader), bool) {
			if o.Kind != HTML || len(head) < sniffLen || !bytes.HasPrefix(head, []byte("<p>some text")) {
				t.Errorf("%s: kind %v, %d bytes at first", s.path, o.Kind, len(head))
			}
			if !s.stream {
				return nil, true
			}
			return func(body io.Reader) {
				n, _ := io.Copy(io.Discard, body)
				got = int(n)
				if err := o.Hold(context.Background(), 10*mib); err != nil || !o.Large() {
					t.Errorf("%s: holds nothing: %v", s.path, err)
				}
			}, s.long
		}})
		if err != nil || o.Class != s.class || o.Cut != s.cut || got != s.got || len(o.Body) != s.kept {
			t.Errorf("%s, stream %v, long %v: %v, %v, %d bytes read as they came, %d kept (%v)", s.path, s.stream, s.long, o.Class, o.Cut, got, len(o.Body), err)
		}
		o.Release()
	}
	empty(t, c, c.cfg.MaxHeld)
}
