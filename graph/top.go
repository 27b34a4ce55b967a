package graph

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Top returns the k nodes of highest score, ties by the lower number, in ascending order of
// numbers; fewer where there are fewer. Only nodes of which may is true count; nil counts all.
// Time O(n log n), memory 4 bytes a node.
func Top[T cmp.Ordered](score []T, k int, may func(v Node) bool) []Node {
	top := make([]Node, 0, len(score))
	for v := range Node(len(score)) {
		if may == nil || may(v) {
			top = append(top, v)
		}
	}
	slices.SortFunc(top, func(a, b Node) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
	})
	top = top[:min(k, len(top))]
	slices.Sort(top)
	return top
}

// Harmonic estimates the harmonic centrality of every node from a sample of the nodes: the sum of
// one over its distance from each of them. Time O(n + m) a node of the sample, memory 8 bytes a
// node.
func (g *CSR) Harmonic(sample []Node) []float64 {
	h := make([]float64, g.NumNodes())
	for _, u := range sample {
		for d, layer := range g.Layers([]Node{u}, -1) {
			if d > 0 {
				for _, v := range layer {
					h[v] += 1 / float64(d)
				}
			}
		}
	}
	return h
}

// InDegrees reads g once and returns the in-degree of every node. Its only errors are those of
// reading g.
func InDegrees(g Scanner) ([]uint32, error) {
	in := make([]uint32, g.NumNodes())
	err := g.Scan(0, Node(len(in)), func(_ Node, succ []Node) error {
		for _, v := range succ {
			in[v]++
		}
		return nil
	})
	return in, err
}

// Sample returns k distinct nodes of n, ascending; all, without r, where k ≥ n.
func Sample(n, k int, r *rand.Rand) []Node {
	k = max(0, min(k, n))
	in := make([]bool, n)
	for j := n - k; j < n; j++ { // Floyd's sampling: one draw a node
		v := j
		if k < n {
			if v = r.IntN(j + 1); in[v] {
				v = j
			}
		}
		in[v] = true
	}
	nodes := make([]Node, 0, k)
	for v := range in {
		if in[v] {
			nodes = append(nodes, Node(v))
		}
	}
	return nodes
}
