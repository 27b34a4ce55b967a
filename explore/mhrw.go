package explore

import "forage/graph"

// metropolis is the Metropolis-Hastings random walk of [GKBM10, §III-C]: it proposes a
// neighbour chosen uniformly and moves there with probability min(1, degree here / degree
// there), so that in the long run it stands at every node of an undirected graph equally
// often. A proposal costs a query the first time; staying counts as a step. It starts again
// where walk does.
type metropolis struct {
	trail
	at, next graph.Node
}

func newMetropolis(c Config) *metropolis {
	return &metropolis{trail: trail{r: c.Rand, brief: c.NoSteps}, at: graph.None, next: graph.None}
}

func (p *metropolis) Next() (v graph.Node, ok bool) {
	if len(p.pool.nodes) == 0 {
		return graph.None, false
	}
	defer func() { p.next = v }()
	for free := patience * len(p.seen); free > 0; free-- {
		u, ok := p.neighbour(p.at)
		if !ok {
			break
		}
		switch p.seen[u] {
		case queried:
			p.propose(u)
		case open:
			return p.hand(u)
		}
	}
	p.at = graph.None
	return p.jump()
}

// propose moves to u, which is queried, or stays.
func (p *metropolis) propose(u graph.Node) {
	if p.at == graph.None || p.r.Float64()*float64(len(p.out[u])) < float64(len(p.out[p.at])) {
		p.at = u
	}
	p.step(0, p.at)
}

func (p *metropolis) Observe(v graph.Node, out []graph.Node) {
	p.observe(v, out)
	if v != graph.None && (v == p.next || p.at == graph.None) {
		p.propose(v)
	}
}
