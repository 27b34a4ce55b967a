package gen

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"forage/graph"
)

// Weblike returns a directed graph of n nodes with the traits of a web graph in URL order:
// hosts are consecutive ranges of nodes with Pareto-distributed sizes, out-degrees are Pareto
// (exponent 2, at least dmin, at most 5000; one node in eight has none), a page repeats links
// of one of the seven pages before it, and the rest leads within the host, along random links,
// or anywhere. The arithmetic is on integers alone. Instances that measurements name: web2m is
// Weblike(2e6, 21, 42) with 59,865,234 arcs, web20m is Weblike(20e6, 14, 42) with 412,747,179.
//
// Each node needs the links of earlier ones, so one thread does all. Time O(m log Δ), memory
// that of the result. It is an error if n exceeds graph.MaxNodes or dmin is not in [1, 5000].
func Weblike(n, dmin int, seed uint64) (*graph.CSR, error) {
	if err := checkNodes(n); err != nil {
		return nil, err
	}
	if dmin < 1 || dmin > 5000 {
		return nil, fmt.Errorf("weblike: the least out-degree is %d, want 1 to 5000", dmin)
	}
	g := &graph.CSR{Offset: make([]uint64, n+1)}
	g.Succ = make([]graph.Node, 0, n*(2*dmin)*7/8) // the mean of a Pareto of exponent 2 is twice its least
	hosts := splitmix(mix(seed ^ 0xABCDEF))
	hs, he := 0, 0
	var t []graph.Node
	for x := range n {
		if x == he {
			hs, he = x, min(n, x+hosts.pareto2(32, 65536))
		}
		r := splitmix(mix(seed + uint64(x)*0xD1342543DE82EF95))
		t = t[:0]
		if r.below(8) != 0 {
			d := r.pareto2(dmin, 5000)
			if x > hs && r.below(4) != 0 {
				w := min(7, x-hs)
				y := x - 1 - int(r.below(uint64(w)))
				for _, e := range g.Succ[g.Offset[y]:g.Offset[y+1]] {
					if len(t) >= d {
						break
					}
					if r.below(4) != 0 {
						t = append(t, e)
					}
				}
			}
			h := uint64(he - hs)
			for len(t) < d {
				switch k := r.below(16); {
				case k < 10:
					a, b := r.below(h), r.below(h)
					t = append(t, graph.Node(uint64(hs)+a*b/h))
				case k < 15 && x > 0:
					z := r.below(uint64(x))
					if lo, hi := g.Offset[z], g.Offset[z+1]; hi > lo {
						t = append(t, g.Succ[lo+r.below(hi-lo)])
					} else {
						t = append(t, graph.Node(z))
					}
				default:
					t = append(t, graph.Node(r.below(uint64(n))))
				}
			}
			slices.Sort(t)
			t = slices.Compact(t)
		}
		g.Succ = append(g.Succ, t...)
		g.Offset[x+1] = uint64(len(g.Succ))
	}
	return g, nil
}

// Checksum folds all arcs of g, in order, into 64 bits: h = h·0x100000001B3 + target. It tells
// whether a generated graph is the one that was meant.
func Checksum(g *graph.CSR) uint64 {
	h := uint64(0)
	for _, e := range g.Succ {
		h = h*0x100000001B3 + uint64(e)
	}
	return h
}

func checkNodes(n int) error {
	if n < 0 || n > graph.MaxNodes {
		return fmt.Errorf("%d nodes: want 0 to %d", n, graph.MaxNodes)
	}
	return nil
}

// splitmix is the generator splitmix64: small, fast, and the same everywhere.
type splitmix uint64

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (r *splitmix) next() uint64 {
	*r += 0x9E3779B97F4A7C15
	return mix(uint64(*r))
}

// below returns a number in [0, n).
func (r *splitmix) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.next(), n)
	return hi
}

// pareto2 returns a number of at least least and at most most whose tail falls with the square.
func (r *splitmix) pareto2(least, most int) int {
	return min(most, int(isqrt(uint64(least)*uint64(least)<<32/(r.next()>>32+1))))
}

// isqrt returns the square root, rounded down.
func isqrt(v uint64) uint64 {
	s := uint64(math.Sqrt(float64(v)))
	for s*s > v { // a float has 53 bits: off by one at most
		s--
	}
	for (s+1)*(s+1) <= v {
		s++
	}
	return s
}
