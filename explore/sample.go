package explore

import (
	"slices"

	"forage/graph"
)

// sample is the part of the graph that the answers have shown, with the observed degree and
// the triangles of every open node kept up to date: when x is queried, only triples through x
// change. Memory O(nodes and links observed).
type sample struct {
	seen      states
	out       [][]graph.Node // by node: its answer, nil while not queried
	parents   [][]graph.Node // by node: the queried nodes that link to it
	triangles []uint32       // by open node: linked pairs among its parents
	mark      []uint32       // by node: the answer that marked it last
	answers   uint32
}

func (s *sample) grow(v graph.Node) {
	s.seen.grow(v)
	for int(v) >= len(s.parents) {
		s.parents = append(s.parents, nil)
		s.out = append(s.out, nil)
		s.triangles = append(s.triangles, 0)
		s.mark = append(s.mark, 0)
	}
}

// answer enters the answer of x, x new to the sample, and returns the state of x before.
// Links that are mutual anyway need be told by one end only. Time: O(out) and the parents of
// the open nodes in out.
func (s *sample) answer(x graph.Node, out []graph.Node) (before state) {
	before = s.seen.query(x)
	if x == graph.None {
		for _, u := range out {
			s.grow(u)
			s.seen.see(u)
		}
		return before
	}
	s.grow(x)
	s.out[x] = slices.Clone(out)
	s.answers++
	for _, u := range s.parents[x] { // queried nodes linked with x, either way
		s.mark[u] = s.answers
	}
	for _, u := range out {
		s.grow(u)
		if s.seen[u] == queried {
			s.mark[u] = s.answers
		}
	}
	for _, u := range out {
		s.seen.see(u)
		if s.seen[u] == queried {
			continue
		}
		for _, w := range s.parents[u] {
			if s.mark[w] == s.answers {
				s.triangles[u]++
			}
		}
		s.parents[u] = append(s.parents[u], x)
	}
	return before
}

// clustering returns the share of pairs of v's parents that are linked, 0 below two parents.
func (s *sample) clustering(v graph.Node) float64 {
	k := float64(len(s.parents[v]))
	if k < 2 {
		return 0
	}
	return 2 * float64(s.triangles[v]) / (k * (k - 1))
}
