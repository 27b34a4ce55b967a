package paper

import (
	"forage/graph"
	"forage/internal/heap"
	"forage/revisit"
)

// Cover is the algorithm GREEDY of [DGKOPT07, §2.2]: it chooses the document that covers the
// most uncovered new pages, until it has k documents or the share rho in [0, 1] of h's new
// pages; k < 0 is no limit, and rho = 1 covers all. Ties go to the lower node. gain tells how
// many pages each choice added, at least one. Lazy: a gain only shrinks, so a stale top of
// the heap is valued again and put back. Time O(k × groups × columns) at worst, memory
// O(groups + columns).
func Cover(h *revisit.CoverGraph, k int, rho float64) (chosen []graph.Node, gain []int) {
	covered := make([]bool, len(h.New))
	q := heap.Heap[group]{Items: make([]group, 0, len(h.Old)), Before: func(a, b group) bool {
		return a.gain > b.gain || a.gain == b.gain && a.first < b.first
	}}
	for g := range h.Old {
		q.Items = append(q.Items, group{g: g, gain: h.Size(g), first: h.Old[g][0]})
	}
	q.Init()
	found, want := 0, rho*float64(h.NumNew())
	for q.Len() > 0 && (k < 0 || len(chosen) < k) && float64(found) < want {
		top := &q.Items[0]
		now := 0
		for _, c := range h.Cols[top.g] {
			if !covered[c] {
				now += len(h.New[c])
			}
		}
		switch {
		case now == 0:
			q.Pop()
		case now < top.gain:
			top.gain = now
			q.Lower(0)
		default:
			for _, c := range h.Cols[top.g] {
				covered[c] = true
			}
			chosen, gain = append(chosen, top.first), append(gain, now)
			found += now
			q.Pop()
		}
	}
	return chosen, gain
}

type group struct {
	g, gain int
	first   graph.Node // of the group's documents, the lowest
}

// Greedy is the oracle: it is shown H_t before the cycle in which it chooses, and fetches the
// greedy cover. No crawl can run it; it bounds what the others reach.
type Greedy struct {
	documents
	h *revisit.CoverGraph
}

var _ revisit.Policy = (*Greedy)(nil)

// Reveal shows it what the coming cycle would find. It must come before each Begin.
func (p *Greedy) Reveal(h *revisit.CoverGraph) { p.h = h }

// Begin plans the cover.
func (p *Greedy) Begin(_ revisit.Time, budget int) { p.plan, _ = Cover(p.h, budget, 1) }
