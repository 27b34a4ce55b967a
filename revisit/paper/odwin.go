package paper

import (
	"math"

	"forage/graph"
	"forage/internal/heap"
	"forage/revisit"
)

// ODWin fetches the old documents that covered the largest shares of the new pages in past
// full recrawls: OD-WIN of [DGKOPT07, §5.4], with
//
//	p_i^t = Σ_t' α^(t−t') |N_t'(i)|/|Y_t'|  /  Σ_t' α^(t−t'),
//
// t' over the full recrawls before t that found new pages. A document that did not exist at
// t' counts 0 there; one with p = 0 is not fetched. With a full recrawl each cycle this is
// the paper's OD-ALL; with Last only the latest t' counts, which is OD-1. Without any full
// recrawl it knows nothing and fetches nothing. Planning takes O(documents + k log documents) a
// cycle, memory 13 bytes a document.
type ODWin struct {
	documents
	alpha float64
	last  bool

	sum []float64 // by document: Σ α^(t−t') p, t the cycle at; shorter: 0
	at  int       // the cycle of the latest recrawl that found pages
}

var _ revisit.Policy = (*ODWin)(nil)

// NewODWin returns OD-WIN with decay α in (0, 1], or OD-1 if last is set.
func NewODWin(alpha float64, last bool) *ODWin { return &ODWin{alpha: alpha, last: last} }

// Begin plans the cycle.
func (p *ODWin) Begin(_ revisit.Time, budget int) {
	p.cycle++
	p.plan = largest(p.plan[:0], p.sum, p.gone, budget)
}

// End takes in a full recrawl.
func (p *ODWin) End(c revisit.Cycle) {
	p.documents.End(c)
	n := c.H.NumNew()
	if !c.Full || n == 0 {
		return
	}
	if p.last {
		clear(p.sum)
	} else if p.alpha != 1 {
		decay := 1.0
		for range p.cycle - p.at {
			decay *= p.alpha
		}
		for i := range p.sum {
			p.sum[i] *= decay
		}
	}
	p.at = p.cycle
	p.sum = append(p.sum, make([]float64, len(p.born)-len(p.sum))...)
	for g, docs := range c.H.Old {
		share := float64(c.H.Size(g)) / float64(n)
		for _, x := range docs {
			p.sum[x] += share
		}
	}
}

// tied rounds a sum of shares, so that equal ones tie in whatever order they were added.
func tied(p float64) float64 { return math.Round(p * 1e11) }

type scored struct {
	value float64
	v     graph.Node
}

// largest appends to dst the at most k nodes with the largest positive values, in falling
// order, ties to the lower node, leaving out those that are skipped. O(nodes + k log nodes).
func largest(dst []graph.Node, value []float64, skip []bool, k int) []graph.Node {
	heap := heap.Heap[scored]{Before: func(a, b scored) bool { return a.value > b.value || a.value == b.value && a.v < b.v }}
	for v, x := range value {
		if x > 0 && !skip[v] {
			heap.Items = append(heap.Items, scored{tied(x), graph.Node(v)})
		}
	}
	heap.Init()
	for ; heap.Len() > 0 && k > 0; k-- {
		dst = append(dst, heap.Pop().v)
	}
	return dst
}
