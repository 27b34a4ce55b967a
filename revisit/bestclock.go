package revisit

import "math"

// A clock counts a site's cycles and tells how much of what was seen in one is left in another.
// It runs by discovery: a cycle that found new pages is one unit of exposure, an idle one only a
// part, so that a site which sleeps does not make its documents look worthless.
//
// tick must come once a cycle, at its end, before anything asks for exposure up to that cycle.
type clock struct {
	cycle   int       // the current one, from 1; 0: the first crawl
	decay   float64   // what a cycle leaves
	idle    float64   // exposure of a cycle without new pages
	watched []float64 // by cycle that ended: Σ_{d≤cycle} decay^(cycle−d) × exposure of d
	faded   []float64 // decay^cycles, for the usual numbers
	hidden  []float64 // by cycles since a fetch: see unseen
}

func newClock(decay, idle float64) clock {
	c := clock{decay: decay, idle: idle, watched: []float64{0}}
	for i := range 128 {
		c.faded = append(c.faded, math.Pow(decay, float64(i)))
		c.hidden = append(c.hidden, 1-math.Pow(staysSeen, float64(i)))
	}
	return c
}

// tick ends a cycle.
func (c *clock) tick(foundPages bool) {
	more := c.idle
	if foundPages {
		more = 1
	}
	watched := c.watched[c.cycle-1]*c.decay + more
	c.watched = append(c.watched, watched)
}

// fade returns what is left now of what there was at a cycle.
func (c *clock) fade(since int32) float64 { return c.fadeTo(since, int32(c.cycle)) }

func (c *clock) fadeTo(from, to int32) float64 {
	if n := int(to - from); n < len(c.faded) {
		return c.faded[n]
	}
	return math.Pow(c.decay, float64(to-from))
}

// between returns Σ decay^(until−d) × exposure of d over the cycles d after since up to until.
func (c *clock) between(since, until int32) float64 {
	return max(0, c.watched[until]-c.watched[since]*c.fadeTo(since, until))
}

// exposure returns what d was watched for until its last fetch, faded. Documents that became
// known and were last fetched in the same cycles have the same.
func (c *clock) exposure(d *doc) float64 {
	return c.between(int32(d.profile.Born), d.last) * c.fade(d.last)
}

// staysSeen is the share of what a document leads to that its last fetch is taken to have shown,
// a cycle later; of the rest as much, in each cycle that follows.
const staysSeen = .8

// unseen returns how much of what a document leads to no fetch has shown, some cycles after
// the last one.
func (c *clock) unseen(cycles int) float64 {
	if cycles < len(c.hidden) {
		return c.hidden[cycles]
	}
	return 1 - math.Pow(staysSeen, float64(cycles))
}
