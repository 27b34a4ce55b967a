package gen

import (
	"fmt"
	"math"
	"slices"

	"forage/graph"
)

// ChungLu returns the random graph of given expected degrees, directed: each arc u → v, u ≠ v,
// is there on its own with probability min(1, w_u·w_v / Σw), the fourth model of
// [ABCHMT08, §5]. Weights must be finite and at least 0, in any order.
//
// Targets are tried by falling weight, and runs of failures skipped by one draw of a geometric
// distribution [MH11, §3]: expected time O(nodes + arcs), each source from a stream of its own.
func ChungLu(w []float64, o Options) (*graph.CSR, error) {
	n := len(w)
	if err := checkNodes(n); err != nil {
		return nil, err
	}
	total := 0.0
	for v, x := range w {
		if !(x >= 0) || math.IsInf(x, 1) {
			return nil, fmt.Errorf("the weight of node %d is %v: want a number of at least 0", v, x)
		}
		total += x
	}
	order := make([]graph.Node, n)
	for v := range order {
		order[v] = graph.Node(v)
	}
	slices.SortStableFunc(order, func(a, b graph.Node) int {
		switch {
		case w[a] > w[b]:
			return -1
		case w[a] < w[b]:
			return 1
		}
		return 0
	})
	const rows = 1 << 10
	blocks := make([][]graph.Arc, (n+rows-1)/rows)
	inParallel(o.Threads, len(blocks), func(i int) {
		for u := i * rows; u < min(n, (i+1)*rows); u++ {
			r := stream(o.Seed, uint64(u))
			// p bounds the probability of all targets from j on.
			p := 1.0
			for j := 0; j < n; j++ {
				q := min(1, w[u]*w[order[j]]/total)
				if !(q > 0) {
					break
				}
				if p < 1 {
					skip := math.Floor(math.Log1p(-r.unit()) / math.Log1p(-p))
					if skip >= float64(n-j) {
						break
					}
					j += int(skip)
					q = min(1, w[u]*w[order[j]]/total)
				}
				if r.unit()*p < q && order[j] != graph.Node(u) {
					blocks[i] = append(blocks[i], graph.Arc{From: graph.Node(u), To: order[j]})
				}
				p = q
			}
		}
	})
	return graph.FromBlocks(n, blocks, o.Threads), nil
}
