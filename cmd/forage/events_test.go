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

	"forage/replay"
	"forage/snap"
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
