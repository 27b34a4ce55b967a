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
	q := New(Config{Parallel: 3}, lists{1: {9, 10, 11, 12, 13, 14}})
	q.Wake(1)
	acquire(t, q, at(0), 1, 9)
	q.Release(1, at(0), Answer{}) // it answers
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

// A host of which an item was given back is left alone for a time, or for its delay, and nothing else is known of it.
func TestPostpone(t *testing.T) {
	for _, delay := range []time.Duration{0, 5 * time.Second} {
		q := New(Config{Delay: delay, Parallel: 64}, lists{1: {10, 11}, 2: {20}})
		q.Wake(1)
		q.Restore(1, State{Backoff: 2})
		acquire(t, q, at(0), 1, 10)
		q.Postpone(1, 10, at(1), time.Second)
		if st := q.State(1); st.Backoff != 2 || st.Answered || !st.Last.IsZero() {
			t.Errorf("delay %v: %+v", delay, st)
		}
		due := 1 + max(1, delay.Seconds())
		wait(t, q, at(1), at(due))
		q.Wake(2)
		acquire(t, q, at(1), 2, 20) // others go on
		acquire(t, q, at(due), 1, 10)
		q.Release(1, at(due), Answer{})
		acquire(t, q, at(due+delay.Seconds()), 1, 11)
	}
}

// Hosts without a delay take turns, however soon they answer.
func TestTurns(t *testing.T) {
	const hosts, parallel = 10, 4
	items := lists{}
	for h := range Host(hosts) {
		items[h] = make([]int, 100)
	}
	q := New(Config{Parallel: parallel}, items)
	for h := range Host(hosts) {
		q.Wake(h)
		_, _, _, ok := q.Acquire(at(0))
		if !ok {
			t.Fatal("nothing is given")
		}
		q.Release(h, at(0), Answer{})
	}
	given := map[Host]int{}
	var out []Host
	for step := range 600 {
		now := at(1 + float64(step)/1000)
		h, _, _, ok := q.Acquire(now)
		if !ok {
			t.Fatalf("step %d: nothing is given with %d out", step, len(out))
		}
		given[h]++
		if out = append(out, h); len(out) == parallel {
			i := 0
			if step%3 == 0 { // some answer before others that were asked earlier
				i = parallel - 1
			}
			q.Release(out[i], now, Answer{})
			out = append(out[:i:i], out[i+1:]...)
		}
		for h := range Host(hosts) {
			if d := given[h] - step/hosts; d < -1 || d > 1 {
				t.Fatalf("after %d requests host %d was given %d times", step+1, h, given[h])
			}
		}
	}
}

// Hosts that do not answer keep the others from being asked for no longer than it takes to see that they
// do not.
func TestTrials(t *testing.T) {
	for _, parallel := range []int{1, 2, 16, 64} {
		const mutes = 1000
		items := lists{0: make([]int, 1<<20)}
		for h := range Host(mutes) {
			items[h+1] = make([]int, 9)
		}
		q := New(Config{Parallel: parallel}, items)
		q.Wake(0)
		h, _, _, ok := q.Acquire(at(0))
		if h != 0 || !ok {
			t.Fatal("the host that answers is not given")
		}
		q.Release(0, at(0), Answer{}) // it has answered
		for h := range Host(mutes) {
			q.Wake(h + 1)
		}
		type request struct {
			h    Host
			from time.Duration
		}
		var out []request
		var healthy, mute, most int
		late := 0 // requests of the host that answers, in the second half
		for ms := 0; ms < 120_000; ms += 10 {
			now := t0.Add(time.Duration(ms) * time.Millisecond)
			rest := out[:0]
			for _, r := range out { // those that answer take 10 ms, others give up after 5 s
				since := now.Sub(t0) - r.from
				switch {
				case r.h == 0:
					q.Release(0, now, Answer{Took: 10 * time.Millisecond})
					healthy--
				case since >= 5*time.Second:
					q.Release(r.h, now, Answer{Kind: Failed})
					mute--
				default:
					rest = append(rest, r)
				}
			}
			out = rest
			for {
				h, _, _, ok := q.Acquire(now)
				if !ok {
					break
				}
				out = append(out, request{h, now.Sub(t0)})
				if h == 0 {
					healthy++
					if ms >= 60_000 {
						late++
					}
				} else {
					mute++
				}
			}
			if most = max(most, mute); ms > 10_000 && mute > max(1, parallel/8) {
				t.Fatalf("parallel %d: %d requests are out to hosts that do not answer, after %d ms", parallel, mute, ms)
			}
		}
		if most == 0 {
			t.Errorf("parallel %d: hosts on trial were never asked", parallel)
		}
		if alone := 6000 * parallel; parallel >= 16 && late < alone*8/10 {
			t.Errorf("parallel %d: %d requests in a minute beside silent hosts, %d alone", parallel, late, alone)
		}
	}
}
