package explore

import (
	"math/rand/v2"

	"forage/graph"
)

// opic is online page importance as a crawl order [DE, §5], after Abiteboul, Preda and
// Cobena: every node starts with cash 1, a queried node deals its cash out evenly among its
// neighbours, and the open node with most cash is next, ties at random. A query costs
// O(degree · log open). Memory: 24 bytes a node observed.
type opic struct {
	r    *rand.Rand
	seen states
	cash []float64
	tie  []uint32 // by node: drawn when first seen, so that equal cash is in an order of chance
	heap []graph.Node
	at   []uint32 // by node: its place in heap
}

func (p *opic) Next() (graph.Node, bool) {
	if len(p.heap) == 0 {
		return graph.None, false
	}
	v := p.heap[0]
	p.remove(v)
	p.seen[v] = pending
	return v, true
}

func (p *opic) Observe(v graph.Node, out []graph.Node) {
	if p.seen.query(v) == open {
		p.remove(v)
	}
	share := 0.0
	if v != graph.None && len(out) > 0 && int(v) < len(p.cash) {
		share, p.cash[v] = p.cash[v]/float64(len(out)), 0
	}
	for _, u := range out {
		for int(u) >= len(p.cash) {
			p.cash, p.tie, p.at = append(p.cash, 1), append(p.tie, 0), append(p.at, 0)
		}
		p.cash[u] += share
		if p.seen.see(u) {
			p.tie[u] = p.r.Uint32()
			p.at[u] = uint32(len(p.heap))
			p.heap = append(p.heap, u)
			p.up(len(p.heap) - 1)
		} else if p.seen[u] == open {
			p.up(int(p.at[u]))
		}
	}
}

func (p *opic) before(v, u graph.Node) bool {
	return p.cash[v] > p.cash[u] || p.cash[v] == p.cash[u] && p.tie[v] < p.tie[u]
}

func (p *opic) swap(i, j int) {
	p.heap[i], p.heap[j] = p.heap[j], p.heap[i]
	p.at[p.heap[i]], p.at[p.heap[j]] = uint32(i), uint32(j)
}

func (p *opic) up(i int) {
	for ; i > 0 && p.before(p.heap[i], p.heap[(i-1)/2]); i = (i - 1) / 2 {
		p.swap(i, (i-1)/2)
	}
}

func (p *opic) down(i int) {
	for {
		j := 2*i + 1
		if j >= len(p.heap) {
			return
		}
		if j+1 < len(p.heap) && p.before(p.heap[j+1], p.heap[j]) {
			j++
		}
		if !p.before(p.heap[j], p.heap[i]) {
			return
		}
		p.swap(i, j)
		i = j
	}
}

func (p *opic) remove(v graph.Node) {
	i, last := int(p.at[v]), len(p.heap)-1
	p.swap(i, last)
	p.heap = p.heap[:last]
	if i < last {
		p.up(i)
		p.down(i)
	}
}
