package retain

import "forage/graph"

// Voted returns how many pages of set some other page of set links to.
func Voted(g *graph.CSR, set []graph.Node) int {
	in, got := newBitset(g.NumNodes()), newBitset(g.NumNodes())
	for _, v := range set {
		in.add(v)
	}
	n := 0
	for _, u := range set {
		for _, v := range g.Successors(u) {
			if v != u && in.has(v) && !got.has(v) {
				got.add(v)
				n++
			}
		}
	}
	return n
}

// Agreement returns |a ∩ b| / |a ∪ b| of two ascending sets of pages; 1 where both are empty.
func Agreement(a, b []graph.Node) float64 {
	both := Overlap(a, b)
	if all := len(a) + len(b) - both; all > 0 {
		return float64(both) / float64(all)
	}
	return 1
}

// Overlap returns |a ∩ b| of two ascending sets of pages.
func Overlap(a, b []graph.Node) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			n, i, j = n+1, i+1, j+1
		}
	}
	return n
}
