package retain

import (
	"math/bits"
	"slices"

	"forage/graph"
)

// A Limit is where a run of a deterministic buffer ends: in a cycle of states.
type Limit struct {
	Core      []graph.Node // pages in the buffer at every step of the cycle, ascending
	Final     []graph.Node // the buffer when the run ended, ascending
	Cyclic    bool         // the cycle was found within the steps allowed
	Period    int          // steps of the cycle; 0 where none was found
	Transient int          // steps before the first state of the cycle
	Steps     int          // steps made
	Turnover  float64      // share of the buffer that is replaced in a step, mean over the cycle
	ZeroVotes int          // pages of the core without a link from the core
	Moving    int          // pages that are in the buffer at some step of the cycle but not at all
}

// Run moves d to its limit cycle and returns it, or the last state after maxSteps steps (core
// and turnover are then those of the second half of the run). It panics if d is stochastic.
//
// States are found again by their hash; a hit is then verified exactly, and described, by as many
// more steps as the cycle should have, which are not counted. Memory: four bits a node, and some
// 30 bytes a step.
func Run(d *Dynamics, maxSteps int) *Limit {
	if !d.Deterministic() {
		panic("retain: Run on a stochastic buffer; use Watch")
	}
	type state struct {
		hash uint64
		ever int // rule Everything: how many pages were ever in the buffer, which only grows
	}
	ever := 0
	if d.c.Rule == Everything {
		ever = d.newlyFetched()
	}
	seen := map[state]int{state{d.hash, ever}: 0}
	l := &Limit{}
	half := newChanges(d) // the second half of the run, should it find no cycle
	for t := 1; t <= maxSteps; t++ {
		flipped := d.Step()
		if l.Steps = t; t > maxSteps/2 {
			half.add(flipped)
		}
		if d.c.Rule == Everything {
			ever += d.newlyFetched()
		}
		s := state{d.hash, ever}
		first, hit := seen[s]
		if hit {
			if round, ok := d.round(t - first); ok {
				l.Cyclic, l.Period, l.Transient = true, t-first, first
				d.describe(l, round)
				return l
			}
		} else {
			seen[s] = t
		}
	}
	d.describe(l, half)
	return l
}

// changes are what some steps changed, together.
type changes struct {
	steps, flips int
	moved        bitset // pages that came or went
}

func newChanges(d *Dynamics) *changes { return &changes{moved: newBitset(d.g.NumNodes())} }

func (c *changes) add(flipped []graph.Node) {
	c.steps++
	c.flips += len(flipped)
	for _, v := range flipped {
		c.moved.add(v)
	}
}

// round makes so many steps and reports whether they lead back to where they began; if not, it
// brings the buffer back there.
func (d *Dynamics) round(steps int) (*changes, bool) {
	in, hash := slices.Clone(d.in), d.hash
	c := newChanges(d)
	for range steps {
		if d.c.Rule == Everything && d.newlyFetched() > 0 {
			break // no way leads back
		}
		c.add(d.Step())
	}
	if slices.Equal(d.in, in) && c.steps == steps {
		return c, true
	}
	d.in, d.hash = in, hash
	return nil, false
}

// newlyFetched counts the pages of the buffer that were never fetched before: those that the
// next step will fetch.
func (d *Dynamics) newlyFetched() int {
	n := 0
	for w, x := range d.in {
		n += bits.OnesCount64(x &^ d.fetched[w])
	}
	return n
}

// describe fills in what there is to say of the last steps.
func (d *Dynamics) describe(l *Limit, c *changes) {
	if c.steps > 0 {
		// A page replaced is two changes: one went, one came.
		l.Turnover = float64(c.flips) / 2 / float64(c.steps) / float64(d.c.Buffer)
	}
	l.Final = d.Buffer(nil)
	for _, v := range l.Final {
		if !c.moved.has(v) {
			l.Core = append(l.Core, v)
		}
	}
	for _, x := range c.moved {
		l.Moving += bits.OnesCount64(x)
	}
	l.ZeroVotes = len(l.Core) - Voted(d.g, l.Core)
}
