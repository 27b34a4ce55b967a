package explore

import (
	"math/rand/v2"

	"forage/graph"
)

// snowball is breadth-first search over a random half (rounded up) of the new nodes of each
// answer [DE, §5]. The other halves wait in a second queue for the first to run dry. A query
// costs O(degree).
type snowball struct {
	r           *rand.Rand
	seen        states
	first, rest bfs // queues only: seen is shared through Observe
}

func (p *snowball) Next() (graph.Node, bool) {
	v, ok := p.first.Next()
	if !ok {
		v, ok = p.rest.Next()
	}
	return v, ok
}

func (p *snowball) Observe(v graph.Node, out []graph.Node) {
	p.seen.query(v)
	p.first.Observe(v, nil)
	p.rest.Observe(v, nil)
	var fresh []graph.Node
	for _, u := range out {
		if p.seen.see(u) {
			fresh = append(fresh, u)
		}
	}
	p.r.Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
	half := (len(fresh) + 1) / 2
	p.first.Observe(graph.None, fresh[:half])
	p.rest.Observe(graph.None, fresh[half:])
}
