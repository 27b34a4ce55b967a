package seed

import (
	"forage/graph"
)

// Reached is what a growing list of seeds reaches. Memory: a byte a node, and the pages that
// one seed adds.
type Reached struct {
	g       graph.Graph
	t       *Task
	hops    []uint8   // by node: least number of hops from a seed, 255 for not reached
	Pages   []int     // by number of hops 0 … Depth: pages at exactly this distance
	Weight  []float64 // the same in weight
	buf     []graph.Node
	cur, nx []graph.Node
}

// NewReached returns the reach of no seeds within t.Depth hops; of t, depth and weights count.
func NewReached(g graph.Graph, t *Task) (*Reached, error) {
	n := g.NumNodes()
	if err := t.check(n); err != nil {
		return nil, err
	}
	r := &Reached{g: g, t: t, hops: make([]uint8, n), Pages: make([]int, t.Depth+1), Weight: make([]float64, t.Depth+1)}
	for v := range r.hops {
		r.hops[v] = 255
	}
	return r, nil
}

// Add adds a seed and returns the pages and the weight that are reached for the first time.
// Each page is visited again only when it gets nearer, so that all seeds together cost at most
// Depth times the arcs.
func (r *Reached) Add(seed graph.Node) (pages int, weight float64, err error) {
	r.cur, r.nx = append(r.cur[:0], seed), r.nx[:0]
	visit := func(v graph.Node, d uint8) bool {
		old := r.hops[v]
		if old <= d {
			return false
		}
		w := float64(r.t.weight(v))
		if old == 255 {
			pages++
			weight += w
		} else {
			r.Pages[old]--
			r.Weight[old] -= w
		}
		r.hops[v] = d
		r.Pages[d]++
		r.Weight[d] += w
		return true
	}
	if !visit(seed, 0) {
		return 0, 0, nil
	}
	for d := 1; d <= r.t.Depth && len(r.cur) > 0; d++ {
		r.nx = r.nx[:0]
		for _, u := range r.cur {
			if r.buf, err = r.g.AppendSuccessors(r.buf[:0], u); err != nil {
				return pages, weight, err
			}
			for _, v := range r.buf {
				if visit(v, uint8(d)) {
					r.nx = append(r.nx, v)
				}
			}
		}
		r.cur, r.nx = r.nx, r.cur
	}
	return pages, weight, nil
}

// Within returns how many pages are reached within so many hops.
func (r *Reached) Within(hops int) int {
	n := 0
	for _, k := range r.Pages[:hops+1] {
		n += k
	}
	return n
}

// Hops returns the least number of hops from a seed to v, ok=false where it is not reached.
func (r *Reached) Hops(v graph.Node) (hops int, ok bool) {
	return int(r.hops[v]), r.hops[v] != 255
}

// ByHops returns how many pages are reached within 0, 1, … Depth hops.
func (r *Reached) ByHops() []int {
	by := make([]int, len(r.Pages))
	for h := range by {
		by[h] = r.Within(h)
	}
	return by
}
