package explore

import (
	"math/rand/v2"

	"forage/graph"
)

// mod queries the open node of the largest observed degree [DE, §5], ties at random: it
// follows Avrachenkov et al., "Pay few, influence most". A query costs O(degree).
type mod struct {
	r    *rand.Rand
	seen states
	open buckets
}

func (p *mod) Next() (graph.Node, bool) {
	v, ok := p.open.largest(p.r)
	if ok {
		p.seen[v] = pending
	}
	return v, ok
}

func (p *mod) Observe(v graph.Node, out []graph.Node) {
	if p.seen.query(v) == open {
		p.open.remove(v)
	}
	known := 1
	if v == graph.None { // a start node has no known neighbour
		known = 0
	}
	for _, u := range out {
		if p.seen.see(u) {
			p.open.add(u, known)
		} else if p.seen[u] == open {
			p.open.change(u, int(p.open.key[u])+known)
		}
	}
}
