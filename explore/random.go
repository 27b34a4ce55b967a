package explore

import (
	"math/rand/v2"

	"forage/graph"
)

// random queries an open node chosen uniformly. Constant time a step.
type random struct {
	r    *rand.Rand
	seen states
	pool pool
}

func (p *random) Next() (graph.Node, bool) {
	v, ok := p.pool.draw(p.r)
	if ok {
		p.seen[v] = pending
	}
	return v, ok
}

func (p *random) Observe(v graph.Node, out []graph.Node) {
	if p.seen.query(v) == open {
		p.pool.remove(v)
	}
	for _, u := range out {
		if p.seen.see(u) {
			p.pool.add(u)
		}
	}
}

// pool is a set of nodes from which one can be drawn uniformly in constant time. Memory 8
// bytes a node seen.
type pool struct {
	nodes []graph.Node
	at    []uint32 // by node: its place in nodes, where it is in the set
}

func (p *pool) add(v graph.Node) {
	for int(v) >= len(p.at) {
		p.at = append(p.at, 0)
	}
	p.at[v] = uint32(len(p.nodes))
	p.nodes = append(p.nodes, v)
}

// remove takes v out, which must be in the set.
func (p *pool) remove(v graph.Node) {
	last := p.nodes[len(p.nodes)-1]
	p.nodes[p.at[v]], p.at[last] = last, p.at[v]
	p.nodes = p.nodes[:len(p.nodes)-1]
}

// draw takes a node out, chosen uniformly.
func (p *pool) draw(r *rand.Rand) (graph.Node, bool) {
	if len(p.nodes) == 0 {
		return graph.None, false
	}
	v := p.nodes[r.IntN(len(p.nodes))]
	p.remove(v)
	return v, true
}
