package store

import (
	"cmp"

	"github.com/cespare/xxhash/v2"

	"forage/graph"
)

// Who follows what pages say wants to be told of those alone of which there is something else to tell. What that is depends on more than
// their own answers: a page ceases to be listed when another one turns out to be what it repeats, or when a rule leaves it out. So each
// document that is written is compared with what it was, as for events, and TextIn remembers the cycle.

// Shown reports whether texts of pages tell of d: lists have it, and it was there when it last answered, other than by trouble.
func (d *Doc) Shown() bool { return d.IsListed() && d.Gone == 0 && !d.Away && d.Status/100 != 3 }

// says is a hash of what is told of d beside its text; 0: nothing is.
func (d *Doc) says() uint64 {
	if !d.Shown() {
		if d.StandIn != graph.None { // which is told of under the URL of d
			return uint64(d.StandIn) + 1
		}
		return 0
	}
	h := xxhash.Sum64String(d.Title) ^ uint64(d.Class)
	mix := func(v uint64) { h = (h ^ v) * 0x9e3779b97f4a7c15; h ^= h >> 32 } // a multiplier of Fibonacci hashing
	for _, v := range [...]uint64{d.Digest, uint64(d.FirstSeen), uint64(d.Cycle), uint64(d.Changed), uint64(d.Published)} {
		mix(v)
	}
	if d.Use != "" {
		mix(xxhash.Sum64String(d.Use))
	}
	if d.Stands {
		mix(uint64(d.DuplicateOf) + 1)
	}
	return h | 1
}

// cycleOf is the cycle that a change of d belongs to. One that is made while none is under way belongs to the next, so that whoever has been told of all
// cycles until now is told of it. db.mu is held.
func (db *DB) cycleOf(d *Doc) Cycle {
	switch {
	case db.running[d.FetchedIn]:
		return d.FetchedIn
	case len(db.running) > 0:
		return db.lastCycle
	}
	return db.lastCycle + 1
}

// TextsSince returns the first cycle that may have to tell something of the text of a document that was not known at a time; 0: that is now. Doc.TextIn
// of such a document is not lower. O(cycles).
func (v *View) TextsSince(at Time) (Cycle, error) {
	last, err := v.LastCycle()
	if err != nil {
		return 0, err
	}
	first := last + 1
	if err := v.Cycles(0, func(c *CycleRecord) bool {
		if c.Ended == 0 || at != 0 && c.Ended >= at {
			first = c.Cycle
			return false
		}
		return true
	}); err != nil || at == 0 {
		return first, err
	}
	// Of cycles that were condensed it is not known when each of them ended.
	var failed error
	err = v.SitesFrom(0, func(s *Site) bool {
		var past *PastCycles
		if past, failed = v.PastCycles(s.ID); failed == nil && past.Cycles > 0 && past.Until >= at {
			first = min(first, s.FirstCycle+1)
		}
		return failed == nil
	})
	return first, cmp.Or(err, failed)
}
