package explore

import "forage/graph"

// dfs queries the node observed last. Constant time a step.
type dfs struct {
	seen  states
	stack []graph.Node
}

func (p *dfs) Next() (graph.Node, bool) {
	for len(p.stack) > 0 {
		v := p.stack[len(p.stack)-1]
		p.stack = p.stack[:len(p.stack)-1]
		if p.seen[v] == open {
			p.seen[v] = pending
			return v, true
		}
	}
	return graph.None, false
}

func (p *dfs) Observe(v graph.Node, out []graph.Node) {
	p.seen.query(v)
	for _, u := range out {
		if p.seen.see(u) {
			p.stack = append(p.stack, u)
		}
	}
}
