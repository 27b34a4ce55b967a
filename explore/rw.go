package explore

import (
	"math/rand/v2"
	"slices"

	"forage/graph"
)

// walk is a plain random walk: from the node where it stands to a neighbour chosen
// uniformly, for free when that was queried before [DE, §5]. Where it cannot go on (no
// neighbours, only nodes under way, or all open nodes too far: patience steps a node
// observed) it starts again at a random open node. Memory: the answers.
type walk struct {
	r    *rand.Rand
	seen states
	pool pool
	out  [][]graph.Node // by node: its answer
	at   graph.Node     // where the walk stands; None before the first answer
	next graph.Node     // handed out last: the walk moves there when its answer is in
}

// patience is how many free steps a walk may take in a row, a node observed.
const patience = 100

func newWalk(c Config) *walk { return &walk{r: c.Rand, at: graph.None, next: graph.None} }

func (p *walk) Next() (graph.Node, bool) {
	if len(p.pool.nodes) == 0 {
		return graph.None, false
	}
	for steps := patience * len(p.seen); p.at != graph.None && steps > 0; steps-- {
		out := p.out[p.at]
		if len(out) == 0 {
			break
		}
		switch u := out[p.r.IntN(len(out))]; p.seen[u] {
		case queried:
			p.at = u
		case open:
			p.pool.remove(u)
			return p.hand(u)
		}
	}
	v, _ := p.pool.draw(p.r)
	return p.hand(v)
}

func (p *walk) hand(v graph.Node) (graph.Node, bool) {
	p.seen[v], p.next = pending, v
	return v, true
}

func (p *walk) Observe(v graph.Node, out []graph.Node) {
	if p.seen.query(v) == open {
		p.pool.remove(v)
	}
	for _, u := range out {
		if p.seen.see(u) {
			p.pool.add(u)
		}
	}
	if v == graph.None {
		return
	}
	for int(v) >= len(p.out) {
		p.out = append(p.out, nil)
	}
	p.out[v] = slices.Clone(out)
	if v == p.next || p.at == graph.None {
		p.at = v
	}
}
