package gen

import (
	"fmt"
	"math"

	"forage/graph"
)

// RMATConfig are the probabilities that an arc falls into the quarters of the adjacency matrix:
// A upper left, B upper right, C lower left; the rest is lower right. The zero value means 0.57,
// 0.19, 0.19, which the Graph 500 benchmark uses.
type RMATConfig struct{ A, B, C float64 }

// leastA bounds the draws of an arc: the upper left quarter is never outside of n×n.
const leastA = .001

// RMAT returns a recursive-matrix graph of n nodes [CZF04, §3]: each of m arcs is dropped into
// the adjacency matrix, into one of its quarters, of the quarter's quarters, and so on. Arcs
// outside n×n, where n is no power of two, are drawn again; parallel arcs are dropped, so that
// there are fewer than m, and self-loops where o does not keep them. It is an error if the
// probabilities are negative, sum to more than 1 or leave A below 0.001. Time O(m log n),
// in parallel; memory 12 bytes an arc.
func RMAT(n int, m uint64, c RMATConfig, o Options) (*graph.CSR, error) {
	if err := checkNodes(n); err != nil {
		return nil, err
	}
	if c == (RMATConfig{}) {
		c = RMATConfig{0.57, 0.19, 0.19}
	}
	if !(c.A >= leastA && c.B >= 0 && c.C >= 0 && c.A+c.B+c.C <= 1) {
		return nil, fmt.Errorf("R-MAT probabilities %v, %v, %v: want the first at least %v, none negative, and a sum of at most 1", c.A, c.B, c.C, leastA)
	}
	if n == 0 {
		if m > 0 {
			return nil, fmt.Errorf("%d arcs in a graph without nodes", m)
		}
		return graph.FromArcs(0, nil), nil
	}
	levels := 0
	for 1<<levels < n {
		levels++
	}
	// Thresholds of 32 bits, two draws from each random word.
	scale := func(p float64) uint64 { return uint64(math.Round(p * (1 << 32))) }
	a, ab, abc := scale(c.A), scale(c.A+c.B), scale(c.A+c.B+c.C)
	blocks, err := draw(m, o, func(r *splitmix, _ uint64, block []graph.Arc) {
		for i := range block {
			u, v := n, n
			for u >= n || v >= n {
				u, v = 0, 0
				word := uint64(0)
				for l := range levels {
					if l%2 == 0 {
						word = r.next()
					} else {
						word <<= 32
					}
					u, v = u<<1, v<<1
					switch x := word >> 32; {
					case x < a:
					case x < ab:
						v |= 1
					case x < abc:
						u |= 1
					default:
						u, v = u|1, v|1
					}
				}
			}
			block[i] = graph.Arc{From: graph.Node(u), To: graph.Node(v)}
		}
	})
	if err != nil {
		return nil, err
	}
	return simple(n, blocks, o), nil
}
