package frontier_test

import (
	"fmt"
	"time"

	"forage/frontier"
)

// A store keeps what is to be fetched, here a list of paths for each host.
type store map[frontier.Host][]string

func (s store) Fill(h frontier.Host, max int, into []string) []string {
	n := min(max, len(s[h]))
	into = append(into, s[h][:n]...)
	s[h] = s[h][n:]
	return into
}

func (s store) Spill(h frontier.Host, paths []string) {
	s[h] = append(append([]string(nil), paths...), s[h]...)
}

func ExampleQueue() {
	q := frontier.New(frontier.Config{Delay: time.Second}, store{1: {"/a", "/b", "/c"}, 2: {"/x"}})
	q.Wake(1)
	q.Wake(2)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for now := start; ; {
		h, path, next, ok := q.Acquire(now)
		if !ok && next.IsZero() {
			break
		}
		if !ok {
			now = next // a crawler waits
			continue
		}
		fmt.Printf("%4v host %d %s\n", now.Sub(start), h, path)
		a := frontier.Answer{Took: 100 * time.Millisecond}
		if path == "/a" {
			a = frontier.Answer{Kind: frontier.Overloaded, RetryAfter: 30 * time.Second}
		}
		q.Release(h, now, a)
	}
	// Output:
	//   0s host 1 /a
	//   0s host 2 /x
	//  30s host 1 /b
	//  31s host 1 /c
}
