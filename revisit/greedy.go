package revisit

import (
	"container/heap"

	"forage/graph"
)

// Cover is the algorithm GREEDY of [DGKOPT07, §2.2]: it chooses the document that covers the
// most uncovered new pages, until it has k documents or the share rho in [0, 1] of h's new
// pages; k < 0 is no limit, and rho = 1 covers all. Ties go to the lower node. gain tells how
// many pages each choice added, at least one. Lazy: a gain only shrinks, so a stale top of
// the heap is valued again and put back. Time O(k × groups × columns) at worst, memory
// O(groups + columns).
func (h *H) Cover(k int, rho float64) (chosen []graph.Node, gain []int) {
	covered := make([]bool, len(h.New))
	q := make(groups, 0, len(h.Old))
	for g := range h.Old {
		q = append(q, group{g: g, gain: h.Size(g), first: h.Old[g][0]})
	}
	heap.Init(&q)
	found, want := 0, rho*float64(h.NumNew())
	for len(q) > 0 && (k < 0 || len(chosen) < k) && float64(found) < want {
		top := &q[0]
		now := 0
		for _, c := range h.Cols[top.g] {
			if !covered[c] {
				now += len(h.New[c])
			}
		}
		switch {
		case now == 0:
			heap.Pop(&q)
		case now < top.gain:
			top.gain = now
			heap.Fix(&q, 0)
		default:
			for _, c := range h.Cols[top.g] {
				covered[c] = true
			}
			chosen, gain = append(chosen, top.first), append(gain, now)
			found += now
			heap.Pop(&q)
		}
	}
	return chosen, gain
}

type group struct {
	g, gain int
	first   graph.Node // of the group's documents, the lowest
}

// groups is a heap of groups by gain, ties to the lower document.
type groups []group

func (q groups) Len() int      { return len(q) }
func (q groups) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q groups) Less(i, j int) bool {
	return q[i].gain > q[j].gain || q[i].gain == q[j].gain && q[i].first < q[j].first
}
func (q *groups) Push(x any) { *q = append(*q, x.(group)) }
func (q *groups) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}
