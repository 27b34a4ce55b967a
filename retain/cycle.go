package retain

import (
	"math/bits"

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
// States are found again by their hash; a hit is then verified exactly: all changes between the
// two states must cancel out. Memory: 4 bytes for each page that came or went on the way.
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
	var flips [][]graph.Node // flips[t] lead from state t to t+1
	l := &Limit{}
	for t := 1; t <= maxSteps; t++ {
		flips = append(flips, d.Step())
		l.Steps = t
		if d.c.Rule == Everything {
			ever += d.newlyFetched()
		}
		s := state{d.hash, ever}
		first, hit := seen[s]
		if hit && d.cancels(flips[first:]) {
			l.Cyclic, l.Period, l.Transient = true, t-first, first
			break
		}
		if !hit {
			seen[s] = t
		}
	}
	from := l.Transient
	if !l.Cyclic {
		from = l.Steps / 2
	}
	d.describe(l, flips[from:])
	return l
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

// cancels reports whether each page came as often as it went. It uses next as scratch.
func (d *Dynamics) cancels(flips [][]graph.Node) bool {
	clear(d.next)
	for _, f := range flips {
		for _, v := range f {
			d.next[v/64] ^= 1 << (v % 64)
		}
	}
	for _, x := range d.next {
		if x != 0 {
			return false
		}
	}
	return true
}

// describe fills in what there is to say of the last steps, given by what they changed.
func (d *Dynamics) describe(l *Limit, flips [][]graph.Node) {
	moved := newBitset(d.g.NumNodes())
	total := 0
	for _, f := range flips {
		total += len(f)
		for _, v := range f {
			moved.add(v)
		}
	}
	if len(flips) > 0 {
		// A page replaced is two changes: one went, one came.
		l.Turnover = float64(total) / 2 / float64(len(flips)) / float64(d.c.Buffer)
	}
	l.Final = d.Buffer(nil)
	for _, v := range l.Final {
		if !moved.has(v) {
			l.Core = append(l.Core, v)
		}
	}
	l.Moving = len(moved.appendTo(nil))
	l.ZeroVotes = len(l.Core) - Voted(d.g, l.Core)
}
