package explore

import "forage/graph"

// bfs queries in the order of first observation. Constant time a step. The paper's own BFS
// took from an unordered set [DE, §5]; this one is a queue.
type bfs struct {
	seen  states
	queue []graph.Node
	head  int
}

func (p *bfs) Next() (graph.Node, bool) {
	for p.head < len(p.queue) {
		v := p.queue[p.head]
		p.head++
		if p.head > len(p.queue)/2 { // give back what is used up, at amortised cost 1
			p.queue = append(p.queue[:0], p.queue[p.head:]...)
			p.head = 0
		}
		if p.seen[v] == open {
			p.seen[v] = pending
			return v, true
		}
	}
	return graph.None, false
}

func (p *bfs) Observe(v graph.Node, out []graph.Node) {
	p.seen.query(v)
	for _, u := range out {
		if p.seen.see(u) {
			p.queue = append(p.queue, u)
		}
	}
}
