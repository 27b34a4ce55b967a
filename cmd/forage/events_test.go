package main

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"forage/control"
	"forage/replay"
	"forage/snap"
	"forage/store"
)

// lines passes on the lines that are written to it.
type lines struct {
	mu   sync.Mutex
	rest string
	to   chan string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest += string(b)
	for {
		line, rest, ok := strings.Cut(l.rest, "\n")
		if !ok {
			return len(b), nil
		}
		l.rest = rest
		l.to <- line
	}
}

// TestFollowDyingOwner: the owner of the store ends in the middle of a line.
func TestFollowDyingOwner(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		db.PutEvent(&store.Event{Type: store.SiteReady, At: 1_700_000_000, Site: "a.test"})
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	if code := run(t.Context(), &all, io.Discard, []string{"events", "--dir", dir}); code != 0 {
		t.Fatal(code)
	}
	want := strings.Split(strings.TrimSpace(all.String()), "\n")
	called := make(chan struct{})
	var once sync.Once
	owner, err := control.Serve(dir, func(_ context.Context, stdout, _ io.Writer, _ []string, _ []byte) (int, error) {
		once.Do(func() {
			io.WriteString(stdout, want[0]+"\n"+want[1][:20])
			close(called)
		})
		return 0, control.ErrAgain
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &lines{to: make(chan string, 100)}
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, out, io.Discard, []string{"events", "--follow", "--dir", dir}) }()
	<-called
	owner.Close(nil)
	for i, line := range want {
		select {
		case got := <-out.to:
			if got != line {
				t.Errorf("line %d: %s, want %s", i, got, line)
			}
		case code := <-ended:
			t.Fatalf("it ended with %d before line %d", code, i)
		}
	}
	cancel()
	if code := <-ended; code != exitInterrupted {
		t.Errorf("it ended with %d", code)
	}
}

// TestFollow follows the events of a store before, beside and after runs of other commands: it prints each
// once, in order.
func TestFollow(t *testing.T) {
	s, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 0)), 6), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	dir := t.TempDir()
	forage := func(args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := run(context.Background(), &out, &errs, append(args, "--dir", dir)); code != 0 {
			t.Fatalf("%q: exit %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	fetch := []string{"--delay", "0", "--allow-private", "127.0.0.0/8", "--json"}
	forage(append([]string{"crawl", srv.URL + "/"}, fetch...)...)

	ctx, cancel := context.WithCancel(context.Background())
	out := &lines{to: make(chan string, 1<<16)}
	ended := make(chan int)
	go func() { ended <- run(ctx, out, io.Discard, []string{"events", "--follow", "--dir", dir}) }()
	next := uint64(1)
	expect := func() {
		t.Helper()
		for line := range strings.Lines(forage("events", "--after", strconv.FormatUint(next-1, 10))) {
			got := <-out.to
			if got+"\n" != line {
				t.Fatalf("followed %s, want %s", got, line)
			}
			var e struct{ Seq uint64 }
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != next {
				t.Fatalf("event %d is %s, %v", next, line, err)
			}
			next++
		}
	}
	expect()
	for week := 1; week < 4; week++ {
		if err := s.Switch(week); err != nil {
			t.Fatal(err)
		}
		was := next
		forage(append([]string{"revisit", "--full"}, fetch...)...)
		if expect(); next == was {
			t.Errorf("week %d told nothing", week)
		}
	}
	cancel()
	if code := <-ended; code != exitInterrupted {
		t.Errorf("it ended with %d", code)
	}
	if len(out.to) > 0 {
		t.Errorf("followed too much: %s", <-out.to)
	}
}
