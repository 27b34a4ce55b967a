package explore

import (
	"slices"

	"forage/graph"
)

// frontierWalkers is the number of walkers.
const frontierWalkers = 10

// frontier is frontier sampling [RT10, §5]: several walkers, of which one is chosen in
// proportion to the degree of the node where it stands and moves to a random neighbour. In
// the long run it takes edges uniformly, as a single walk does, but is not caught in one part
// of the graph. The paper's walkers start at random nodes; ours, who know no others, start at
// the start node and the first that it shows. It starts again where walk does.
type frontier struct {
	trail
	at     []graph.Node // of each walker; it stands only at queried nodes
	chosen int          // the walker of the node handed out last
	next   graph.Node
}

func newFrontier(c Config) *frontier {
	return &frontier{trail: trail{r: c.Rand, brief: c.NoSteps}, next: graph.None}
}

func (p *frontier) Next() (v graph.Node, ok bool) {
	if len(p.pool.nodes) == 0 {
		return graph.None, false
	}
	defer func() { p.next = v }()
	if len(p.at) < frontierWalkers { // another walker
		p.chosen = len(p.at)
		return p.jump()
	}
	for free := patience * len(p.seen); free > 0; free-- {
		p.chosen = p.walker()
		u, ok := p.neighbour(p.at[p.chosen])
		if !ok {
			break
		}
		switch p.seen[u] {
		case queried:
			p.at[p.chosen] = u
			p.step(p.chosen, u)
		case open:
			return p.hand(u)
		}
	}
	return p.jump()
}

// walker returns a walker in proportion to degree.
func (p *frontier) walker() int {
	sum := 0
	for _, v := range p.at {
		sum += len(p.out[v])
	}
	if sum == 0 {
		return 0
	}
	i := p.r.IntN(sum)
	return slices.IndexFunc(p.at, func(v graph.Node) bool {
		i -= len(p.out[v])
		return i < 0
	})
}

func (p *frontier) Observe(v graph.Node, out []graph.Node) {
	p.observe(v, out)
	switch {
	case v == graph.None || v != p.next && len(p.at) > 0:
		return
	case p.chosen >= len(p.at):
		p.at = append(p.at, v)
		p.chosen = len(p.at) - 1
	default:
		p.at[p.chosen] = v
	}
	p.step(p.chosen, v)
}
