package retain

import (
	"math/rand/v2"

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
	var at []uint64
	for i := range g.Succ {
		if r.Float64() < share {
			at = append(at, uint64(i))
		}
	}
	succ := append([]graph.Node(nil), g.Succ...)
	for i := len(at) - 1; i > 0; i-- {
		j := r.IntN(i + 1)
		succ[at[i]], succ[at[j]] = succ[at[j]], succ[at[i]]
	}
	lists := make([][]graph.Node, g.NumNodes())
	for v := range lists {
		kept := succ[g.Offset[v]:g.Offset[v]:g.Offset[v+1]]
		for _, u := range succ[g.Offset[v]:g.Offset[v+1]] {
			if u != graph.Node(v) {
				kept = append(kept, u)
			}
		}
		lists[v] = kept
	}
	return graph.FromLists(lists)
}
