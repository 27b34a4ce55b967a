package explore

import (
	"math/rand/v2"
	"slices"

	"forage/graph"
)

// trail is what the walks have in common: the answers, and where they stood. Memory: the
// answers, and 24 bytes a step where steps are kept.
type trail struct {
	r     *rand.Rand
	seen  states
	pool  pool           // open nodes
	out   [][]graph.Node // by node: its answer
	steps []Step
	brief bool // keep no steps
}

// patience is how many free steps a walk may take in a row, a node observed.
const patience = 100

// Steps returns the steps so far, repeats included.
func (p *trail) Steps() []Step { return p.steps }

func (p *trail) observe(v graph.Node, out []graph.Node) {
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
}

// neighbour returns a neighbour of v, chosen uniformly; ok=false: it has none, or is not
// queried.
func (p *trail) neighbour(v graph.Node) (u graph.Node, ok bool) {
	if v == graph.None || len(p.out[v]) == 0 {
		return graph.None, false
	}
	return p.out[v][p.r.IntN(len(p.out[v]))], true
}

func (p *trail) step(walker int, v graph.Node) {
	if !p.brief {
		p.steps = append(p.steps, Step{walker, v, len(p.out[v])})
	}
}

// hand makes v pending; v is open.
func (p *trail) hand(v graph.Node) (graph.Node, bool) {
	p.pool.remove(v)
	p.seen[v] = pending
	return v, true
}

// jump hands out any open node: the walk cannot go on.
func (p *trail) jump() (graph.Node, bool) {
	if len(p.pool.nodes) == 0 {
		return graph.None, false
	}
	return p.hand(p.pool.nodes[p.r.IntN(len(p.pool.nodes))])
}

// walk is a plain random walk: from the node where it stands to a neighbour chosen
// uniformly, for free when that was queried before [DE, §5]. Where it cannot go on (no
// neighbours, only nodes under way, or all open nodes too far: patience steps a node
// observed) it starts again at a random open node.
type walk struct {
	trail
	at   graph.Node // where the walk stands; None before the first answer
	next graph.Node // handed out last: the walk moves there when its answer is in
}

func newWalk(c Config) *walk {
	return &walk{trail: trail{r: c.Rand, brief: c.NoSteps}, at: graph.None, next: graph.None}
}

func (p *walk) Next() (v graph.Node, ok bool) {
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
			p.at = u
			p.step(0, u)
		case open:
			return p.hand(u)
		}
	}
	return p.jump()
}

func (p *walk) Observe(v graph.Node, out []graph.Node) {
	p.observe(v, out)
	if v != graph.None && (v == p.next || p.at == graph.None) {
		p.at = v
		p.step(0, v)
	}
}
