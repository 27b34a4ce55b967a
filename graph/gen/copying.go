package gen

import (
	"fmt"
	"math"
	"slices"

	"forage/graph"
)

// Copying returns a graph of n nodes grown by the linear growth copying model [KRRSTU00, §2.1]:
// each new node draws a prototype among the older nodes and has degree links; the i-th leads to
// an older node drawn uniformly with probability random, else where the prototype's i-th link
// does. In-degrees follow a power law of exponent (2−random)/(1−random).
//
// The first degree+1 nodes link to each other. Parallel arcs count once. It is an error if
// degree is below 1 or random is not in [0, 1]. Each node needs the links of older ones: one
// thread does all. Time O(m log degree), memory 8 bytes an arc.
func Copying(n, degree int, random float64, o Options) (*graph.CSR, error) {
	if err := checkNodes(n); err != nil {
		return nil, err
	}
	if degree < 1 || uint64(degree) > maxArcs/uint64(max(1, n)) {
		return nil, fmt.Errorf("copying model of %d links a node: want at least 1 and at most %d in all", degree, uint64(maxArcs))
	}
	if !(random >= 0 && random <= 1) {
		return nil, fmt.Errorf("copying model with probability %v: want 0 to 1", random)
	}
	links := make([]graph.Node, 0, n*degree) // with repeats: the i-th link of v is links[v·degree+i]
	own := uint64(math.Round(random * (1 << 32)))
	r := stream(o.Seed, 0)
	first := min(n, degree+1)
	for v := range n {
		if v < first {
			for u := range degree {
				if u >= v {
					u++
				}
				links = append(links, graph.Node(min(u, first-1)))
			}
			continue
		}
		prototype := int(r.below(uint64(v)))
		for i := range degree {
			if r.next()>>32 < own {
				links = append(links, graph.Node(r.below(uint64(v))))
			} else {
				links = append(links, links[prototype*degree+i])
			}
		}
	}
	g := &graph.CSR{Offset: make([]uint64, n+1), Succ: links[:0]}
	for v := range n {
		list := links[v*degree : (v+1)*degree]
		slices.Sort(list)
		list = slices.Compact(list)
		if !o.Loops {
			list = slices.DeleteFunc(list, func(u graph.Node) bool { return u == graph.Node(v) })
		}
		g.Succ = append(g.Succ, list...) // never beyond list: reading is ahead of writing
		g.Offset[v+1] = uint64(len(g.Succ))
	}
	return g, nil
}
