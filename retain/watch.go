package retain

import (
	"math"
	"math/rand/v2"
	"slices"

	"forage/graph"
)

// A Spell is what Watch saw.
type Spell struct {
	Core     []graph.Node // pages that were in the buffer often enough, ascending
	Presence []uint32     // by node: after how many of the steps watched it was in the buffer
	Turnover float64      // mean share of the buffer that a step replaced
	Zero     float64      // mean share of the buffer without a vote
	Links    float64      // mean number of links followed in a step
	Steps    int          // steps watched
}

// Watch makes warm steps, then watches more. The core is the set of the pages in the buffer
// after at least a share 1-delta of the steps watched: those that stay with high
// probability, which is how [ABCHMT08, §2] defines the core of a stochastic crawl. change,
// where not nil, is called before each step and may set another graph.
func Watch(d *Dynamics, warm, steps int, delta float64, change func(step int)) *Spell {
	s := &Spell{Presence: make([]uint32, d.g.NumNodes()), Steps: steps}
	for t := range warm + steps {
		if change != nil {
			change(t)
		}
		flips := len(d.Step())
		if t < warm {
			continue
		}
		s.Turnover += float64(flips) / 2 / float64(d.c.Buffer) / float64(steps)
		s.Zero += float64(d.zero) / float64(d.c.Buffer) / float64(steps)
		s.Links += float64(d.followed) / float64(steps)
		for _, v := range d.Buffer(nil) {
			s.Presence[v]++
		}
	}
	for v, k := range s.Presence {
		if k > 0 && float64(k) >= (1-delta)*float64(steps) {
			s.Core = append(s.Core, graph.Node(v))
		}
	}
	return s
}

// Rewire returns g with the targets of a share of its arcs dealt out anew among themselves, so
// that every page keeps its out-degree and, but for the few arcs that become self-loops or
// repeats and are dropped, its in-degree. It is one round of change of a web whose degrees
// stand still. Time O(arcs).
func Rewire(g *graph.CSR, share float64, r *rand.Rand) *graph.CSR {
	var at []uint64 // arcs that change, ascending: found by the gaps between them
	for i := gap(share, r); i < float64(len(g.Succ)); i += 1 + gap(share, r) {
		at = append(at, uint64(i))
	}
	h := &graph.CSR{Offset: make([]uint64, len(g.Offset)), Succ: slices.Clone(g.Succ)}
	for i := len(at) - 1; i > 0; i-- {
		j := r.IntN(i + 1)
		h.Succ[at[i]], h.Succ[at[j]] = h.Succ[at[j]], h.Succ[at[i]]
	}
	to := uint64(0)
	for v := range graph.Node(g.NumNodes()) {
		lo, hi := g.Offset[v], g.Offset[v+1]
		list := h.Succ[lo:hi]
		if len(at) > 0 && at[0] < hi {
			for len(at) > 0 && at[0] < hi {
				at = at[1:]
			}
			slices.Sort(list)
			list = slices.Compact(list)
			if i, ok := slices.BinarySearch(list, v); ok {
				list = slices.Delete(list, i, i+1)
			}
		}
		to += uint64(copy(h.Succ[to:], list))
		h.Offset[v+1] = to
	}
	h.Succ = h.Succ[:to]
	return h
}

// gap draws how many arcs come before the next that changes.
func gap(share float64, r *rand.Rand) float64 {
	if share >= 1 {
		return 0
	}
	return math.Floor(math.Log1p(-r.Float64()) / math.Log1p(-share))
}
