package revisit

import (
	"maps"
	"math"
	"slices"
)

// A Scheduler is a Policy that can say when it wants to look again. Who spends a budget over a day asks
// it; a cycle with a budget spends that in any case.
type Scheduler interface {
	Policy
	// Worth returns how many publications a fetch at a time is expected to find, of the document that
	// is worth most then, if nothing is fetched until then. Between cycles only; at is not before the
	// last one.
	Worth(at Time) float64
	// Due returns the first hour after the last cycle in which Worth is at least worth. ok=false: not
	// within 28 days.
	Due(worth float64) (at Time, ok bool)
}

var (
	_ Scheduler  = (*Best)(nil)
	_ Forecaster = (*Best)(nil)
)

// Worth tries the cycle on a copy. O(documents).
func (b *Best) Worth(at Time) float64 {
	c := *b
	c.at, c.ago = slices.Clone(b.at), nil
	c.docs = slices.Clone(b.docs)
	c.waiting, c.live = slices.Clone(b.waiting), slices.Clone(b.live)
	c.patternOf, c.sums = maps.Clone(b.patternOf), slices.Clone(b.sums)
	c.next, c.first = slices.Clone(b.next), make(map[alike]int32)
	c.heap.Items, c.firsts = nil, nil
	c.replaying = false
	c.Begin(at, 1)
	return c.awaited()
}

// awaited is how many publications the document that Next would name is expected to show, without the
// optimism that Next is ranked by.
func (b *Best) awaited() float64 {
	_, v, ok := b.top()
	if !ok {
		return 0
	}
	w := b.expect(v)
	return (b.guessed(&w) + w.shown) * b.perShare
}

// Expected counts pages, of which some sites publish many at once.
func (b *Best) Expected() float64 { return b.awaited() * b.size }

// pagesEach is how many pages came with what counts as one publication, in the mean over those that
// are remembered: pages that come at once count for less than as many that come one by one (Burst).
func (b *Best) pagesEach() float64 {
	pages, publications := 1., 1.
	for i := range b.live {
		p := &b.live[i]
		pages += p.weight * math.Pow(float64(p.pages), 1-b.prior.Burst)
		publications += p.weight
	}
	return pages / publications
}

// rate is how many publications a day that the site is expected to bring stand for one of the shares
// that a prospect is made of: what could be seen of late over the days that this took.
func (b *Best) rate() float64 {
	now := b.at[len(b.at)-1]
	published := 0.0
	for i := range b.live {
		published += b.live[i].weight
	}
	s, idle := b.prior.Strength, b.prior.Idle
	return (s + now.watch) / (s/idle + max(0, now.watch-published)/idle)
}

// mostHours is how far Due looks ahead.
const mostHours = 28 * 24

// Due halves the hours in which it may be: what waits only grows. O(documents), ten times.
func (b *Best) Due(worth float64) (at Time, ok bool) {
	last := Time(b.at[len(b.at)-1].day * secondsADay)
	hour := func(h int) Time { return last + Time(h)*secondsADay/24 }
	if b.Worth(hour(mostHours)) < worth {
		return 0, false
	}
	low, high := 0, mostHours // worth less, worth enough
	for high-low > 1 {
		if mid := (low + high) / 2; b.Worth(hour(mid)) < worth {
			low = mid
		} else {
			high = mid
		}
	}
	return hour(high), true
}
