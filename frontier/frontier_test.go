package frontier

import (
	"testing"
	"time"
)

// lists is a backlog in memory.
type lists map[Host][]int

func (l lists) Fill(h Host, max int, into []int) []int {
	n := min(max, len(l[h]))
	into = append(into, l[h][:n]...)
	l[h] = l[h][n:]
	return into
}

func (l lists) Spill(h Host, items []int) {
	l[h] = append(append([]int(nil), items...), l[h]...)
}

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

// acquire fails the test unless q gives host h and item now.
func acquire(t *testing.T, q *Queue[int], now time.Time, h Host, item int) {
	t.Helper()
	gh, gi, next, ok := q.Acquire(now)
	if !ok || gh != h || gi != item {
		t.Fatalf("Acquire(%v) = %d, %d, %v, %v; want host %d, item %d", now.Sub(t0), gh, gi, next.Sub(t0), ok, h, item)
	}
}

// wait fails the test if q gives a host now, or the next is not due at next (zero: not known).
func wait(t *testing.T, q *Queue[int], now, next time.Time) {
	t.Helper()
	gh, gi, gn, ok := q.Acquire(now)
	if ok || !gn.Equal(next) {
		t.Fatalf("Acquire(%v) = %d, %d, %v, %v; want none before %v", now.Sub(t0), gh, gi, gn.Sub(t0), ok, next.Sub(t0))
	}
}

func TestDelay(t *testing.T) {
	q := New(Config{Delay: time.Second}, lists{1: {10, 11, 12, 13}, 2: {20}})
	q.Wake(1)
	q.Wake(2)
	acquire(t, q, at(0), 1, 10)
	acquire(t, q, at(0), 2, 20)
	wait(t, q, at(50), time.Time{}) // both have one out
	q.Release(1, at(50), Answer{Took: 100 * time.Millisecond})
	wait(t, q, at(50.9), at(51))
	acquire(t, q, at(51), 1, 11)
	q.Release(1, at(52), Answer{Took: 2 * time.Second})
	wait(t, q, at(55), at(56)) // twice the response time
	acquire(t, q, at(56), 1, 12)
	q.SetCrawlDelay(1, 24*time.Hour)
	q.Release(1, at(57), Answer{})
	wait(t, q, at(57), at(357)) // MaxDelay
	acquire(t, q, at(357), 1, 13)
}

func TestNoDelay(t *testing.T) {
	q := New(Config{Parallel: 3}, lists{1: {10, 11, 12, 13, 14}})
	q.Wake(1)
	acquire(t, q, at(0), 1, 10)
	acquire(t, q, at(0), 1, 11)
	acquire(t, q, at(0), 1, 12)
	wait(t, q, at(0), time.Time{})
	q.Release(1, at(0), Answer{Took: time.Hour})
	acquire(t, q, at(0), 1, 13)
	q.Release(1, at(0), Answer{Kind: Overloaded, RetryAfter: time.Minute})
	wait(t, q, at(1), at(60))
	acquire(t, q, at(60), 1, 14)
}
