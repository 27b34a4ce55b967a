package explore

import (
	"math/rand/v2"

	"forage/graph"
)

// med is the oracle of [DE, §5], maximum excess degree: it knows the true degree of every
// open node and queries the one with most neighbours that it has no link to yet, ties at
// random. In a directed graph links to a node say nothing of its answer, so that the excess
// is the out-degree. It is greedy in degrees and not in new nodes: no upper bound on what can
// be found, so that the regret of another policy may be negative. A query costs O(degree)
// amortised, plus the fall of the largest excess.
type med struct {
	r        *rand.Rand
	directed bool
	degree   func(graph.Node) int
	seen     states
	open     buckets // by excess degree
}

func (p *med) Next() (graph.Node, bool) {
	v, ok := p.open.largest(p.r)
	if ok {
		p.seen[v] = pending
	}
	return v, ok
}

func (p *med) Observe(v graph.Node, out []graph.Node) {
	if p.seen.query(v) == open {
		p.open.remove(v)
	}
	known := 1
	if v == graph.None || p.directed {
		known = 0
	}
	for _, u := range out {
		if p.seen.see(u) {
			p.open.add(u, max(0, p.degree(u)-known))
		} else if p.seen[u] == open {
			p.open.change(u, max(0, int(p.open.key[u])-known))
		}
	}
}
