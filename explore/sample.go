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
	parents   [][]uint32     // by node: the answers that link to it while it is not queried
	triangles []uint32       // by open node: linked pairs among its parents
	order     []uint32       // by queried node: its answer
	node      []graph.Node   // by answer, from 0: whose it is
	linked    []uint64       // a bit an answer: linked with the node being entered; else 0
}

func (s *sample) grow(v graph.Node) {
	s.seen.grow(v)
	for int(v) >= len(s.parents) {
		s.parents = append(s.parents, nil)
		s.out = append(s.out, nil)
		s.triangles = append(s.triangles, 0)
		s.order = append(s.order, 0)
	}
}

// answer enters the answer of x, x new to the sample, and returns the state of x before.
// Links that are mutual anyway need be told by one end only. Time: O(out) and the parents of
// the open nodes in out. These are most of it where there are hubs: a parent is the number of
// its answer, so that what is looked up for each is a bit an answer, which stays in the cache.
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
	own := uint32(len(s.node))
	s.order[x] = own
	s.node = append(s.node, x)
	if int(own/64) == len(s.linked) {
		s.linked = append(s.linked, 0)
	}
	linked := s.linked
	for _, w := range s.parents[x] { // queried nodes linked with x, either way
		linked[w/64] |= 1 << (w % 64)
	}
	for _, u := range out {
		s.grow(u)
		if w := s.order[u]; s.seen[u] == queried {
			linked[w/64] |= 1 << (w % 64)
		}
	}
	for _, u := range out {
		s.seen.see(u)
		if s.seen[u] == queried {
			continue
		}
		shared := uint64(0)
		for _, w := range s.parents[u] {
			shared += linked[w/64] >> (w % 64) & 1
		}
		s.triangles[u] += uint32(shared)
		s.parents[u] = append(s.parents[u], own)
	}
	for _, w := range s.parents[x] {
		linked[w/64] = 0
	}
	for _, u := range out {
		if s.seen[u] == queried {
			linked[s.order[u]/64] = 0
		}
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
