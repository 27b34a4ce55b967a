package seed

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"forage/graph"
	"forage/internal/heap"
)

// A ReachConfig says how Reach works. The zero value is good.
type ReachConfig struct {
	Sketch int     // pages that must be seen to be reached before a seed is chosen; 0 means 64
	Dead   float64 // probability that a seed is gone when it is fetched, in [0, 1)
	// Stop, if set, is asked now and then; true ends the run with the seeds found so far.
	Stop func() bool
	// Progress, if set, is told after each seed how many there are.
	Progress func(seeds int)
}

// Reach returns up to k pages that together reach as much weight as possible within t.Depth
// hops, best first; fewer where those reach all that can be reached. It is the problem that
// [ST15, §4] calls impossible to implement at scale, solved by SKIM, the sketch-based greedy of
// [CDPW14].
//
// Pages get random ranks, exponential with their weight as rate. In rank order, every page
// whose weight is still to be had marks all pages that reach it (a reverse search of depth
// D); the first page with Sketch marks is, with high probability, nearly the best next seed; a
// forward search finds what it reaches, and the marks of these pages are taken back. When all
// pages have marked, the sums of their weights are exact, and lazy greedy takes the rest. With
// Dead, a page reached is not done with: its weight falls by that factor, and its rank grows by
// it, which makes it an exponential rank of the new weight.
//
// Differences from the paper: marks are taken back by repeating the reverse search instead of
// from an inverted sketch, which bounds the memory, and hops are bounded instead of lengths.
// rev is the transpose of g. Expected time O(Sketch·arcs) and what the seeds reach, memory at
// most 52 bytes a node beside g and rev (Dead: 8 more). Same r, same seeds.
func Reach(g, rev *graph.CSR, t *Task, k int, c ReachConfig, r *rand.Rand) ([]graph.Node, error) {
	n := g.NumNodes()
	if err := t.check(n); err != nil {
		return nil, err
	}
	if k < 1 {
		return nil, fmt.Errorf("seed: %d seeds; want at least 1", k)
	}
	if c.Sketch == 0 {
		c.Sketch = 64
	}
	if c.Sketch < 1 || !(c.Dead >= 0 && c.Dead < 1) {
		return nil, fmt.Errorf("seed: sketches of %d pages and seeds dead with probability %v; want at least 1 and a share below 1", c.Sketch, c.Dead)
	}
	s := &reach{
		later: heap.Heap[ranked]{Before: lowerRank},
		g:     g, rev: rev, t: t, c: c, quota: newQuota(t.Limits),
		left: make([]float32, n), rank: make([]float32, n),
		marks: make([]uint32, n), gain: make([]float64, n), seen: make([]uint32, n),
		marked: newBitset(n), closed: newBitset(n),
		// Room for all, so that growing leaves nothing behind; what is never used is never touched.
		order: make([]graph.Node, 0, n), around: make([]graph.Node, 0, n), reached: make([]graph.Node, 0, n),
	}
	open := 0
	for v := range graph.Node(n) {
		if t.may(v) {
			open++
		} else {
			s.closed.add(v)
		}
		if s.left[v] = t.weight(v); s.left[v] > 0 {
			s.rank[v] = float32(r.ExpFloat64() / float64(s.left[v]))
			s.order = append(s.order, v)
		}
	}
	if open == 0 {
		return nil, ErrNoSeeds
	}
	slices.SortFunc(s.order, func(a, b graph.Node) int {
		if c := cmp.Compare(s.rank[a], s.rank[b]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	if open < n {
		s.bar()
	}
	s.run(k)
	return s.seeds, nil
}

// A reach is a run of Reach.
type reach struct {
	g, rev *graph.CSR
	t      *Task
	c      ReachConfig
	quota  *quota
	seeds  []graph.Node

	order  []graph.Node      // by rank: who marks next; those that a seed reached meanwhile are skipped
	later  heap.Heap[ranked] // who marks again, the lowest rank first
	left   []float32         // by node: weight that is still to be had
	rank   []float32         // by node, where left is above 0
	marked bitset            // nodes whose marks are out
	marks  []uint32          // by node: how many marked nodes it reaches
	gain   []float64         // by node: what they are worth
	closed bitset            // nodes that may not be a seed (any more)

	seen            []uint32 // by node: the last search that came here; barred: none may
	search          uint32
	around, reached []graph.Node
}

// least is the share of a page's weight below which it counts as reached for certain.
const least = 1e-3

func (s *reach) stop(step int) bool { return step%64 == 0 && s.c.Stop != nil && s.c.Stop() }

func (s *reach) run(k int) {
	for step := 0; len(s.seeds) < k; step++ {
		if s.stop(step) {
			return
		}
		v, ok := s.next()
		if !ok {
			s.finish(k)
			return
		}
		s.mark(v)
		best := graph.None
		for _, u := range s.around {
			if int(s.marks[u]) < s.c.Sketch || s.closed.has(u) {
				continue
			}
			if !s.quota.open(u) {
				s.closed.add(u)
			} else if best == graph.None || s.gain[u] > s.gain[best] {
				best = u
			}
		}
		if best != graph.None {
			s.take(best)
		}
	}
}

// next returns the node of the lowest rank that has not marked.
func (s *reach) next() (graph.Node, bool) {
	for len(s.order) > 0 && s.left[s.order[0]] != s.t.weight(s.order[0]) {
		s.order = s.order[1:]
	}
	for s.later.Len() > 0 {
		first := s.later.Items[0]
		if first.rank != s.rank[first.node] || s.left[first.node] == 0 {
			s.later.Pop()
			continue
		}
		if len(s.order) > 0 && first.rank >= s.rank[s.order[0]] {
			break
		}
		return s.later.Pop().node, true
	}
	if len(s.order) == 0 {
		return 0, false
	}
	v := s.order[0]
	s.order = s.order[1:]
	return v, true
}

// finish takes the rest of the seeds by their exact gains, once all nodes have marked. Gains
// only fall: one that is still what it was when it was queued is the largest.
func (s *reach) finish(k int) {
	q := heap.Heap[gained]{Before: largerGain, Items: make([]gained, 0, len(s.gain))}
	for v := range graph.Node(len(s.gain)) {
		if s.marks[v] > 0 && !s.closed.has(v) {
			q.Items = append(q.Items, gained{s.gain[v], v})
		}
	}
	q.Init()
	for step := 0; q.Len() > 0 && len(s.seeds) < k; step++ {
		if s.stop(step) {
			return
		}
		switch v := q.Items[0].node; {
		case s.marks[v] == 0 || !s.quota.open(v):
			q.Pop()
		case s.gain[v] < q.Items[0].gain:
			q.Replace(gained{s.gain[v], v})
		default:
			q.Pop()
			s.take(v)
			// What is still to be had marks again at once: ranks no longer matter.
			for {
				u, ok := s.next()
				if !ok {
					break
				}
				s.mark(u)
			}
		}
	}
}

// mark gives a mark to all nodes that reach v.
func (s *reach) mark(v graph.Node) {
	s.marked.add(v)
	s.bfs(s.rev, v)
	for _, u := range s.around {
		s.marks[u]++
		s.gain[u] += float64(s.left[v])
	}
}

// unmark takes the marks of v back.
func (s *reach) unmark(v graph.Node) {
	s.marked.drop(v)
	s.bfs(s.rev, v)
	for _, u := range s.around {
		s.marks[u]--
		s.gain[u] -= float64(s.left[v])
	}
}

// take makes v a seed.
func (s *reach) take(v graph.Node) {
	s.seeds = append(s.seeds, v)
	s.closed.add(v)
	s.quota.take(v)
	s.bfs(s.g, v)
	s.reached = append(s.reached[:0], s.around...)
	for _, u := range s.reached {
		if s.left[u] == 0 {
			continue
		}
		if s.marked.has(u) {
			s.unmark(u)
		}
		s.left[u] *= float32(s.c.Dead)
		if s.left[u] < least*s.t.weight(u) {
			s.left[u] = 0
			continue
		}
		s.rank[u] /= float32(s.c.Dead)
		s.later.Push(ranked{s.rank[u], u})
	}
	if s.c.Progress != nil {
		s.c.Progress(len(s.seeds))
	}
}

// barred marks nodes that no page that may be a seed reaches.
const barred = 1<<32 - 1

// bar keeps searches out of the nodes that no page that may be a seed reaches: nobody asks for
// their marks, of which they would get one from each page that they reach. All nodes on the way
// from a page that may be a seed stay, so its marks do.
func (s *reach) bar() {
	s.search++
	for v := range graph.Node(len(s.seen)) {
		if !s.closed.has(v) {
			s.seen[v] = s.search
			s.around = append(s.around, v)
		}
	}
	s.spread(s.g)
	for v := range s.seen {
		if s.seen[v] != s.search {
			s.seen[v] = barred
		}
	}
}

// bfs sets around to all nodes within the task's depth of v in g, v first.
func (s *reach) bfs(g *graph.CSR, v graph.Node) {
	s.around = append(s.around[:0], v)
	if s.seen[v] == barred {
		return
	}
	if s.search++; s.search == barred {
		clear(s.seen) // of the bars too: they only save time
		s.search = 1
	}
	s.seen[v] = s.search
	s.spread(g)
}

// spread adds to around what is within the task's depth of it in g.
func (s *reach) spread(g *graph.CSR) {
	lo := 0
	for range s.t.Depth {
		hi := len(s.around)
		for _, x := range s.around[lo:hi] {
			for _, y := range g.Successors(x) {
				if at := s.seen[y]; at != s.search && at != barred {
					s.seen[y] = s.search
					s.around = append(s.around, y)
				}
			}
		}
		if lo = hi; hi == len(s.around) {
			return
		}
	}
}

type ranked struct {
	rank float32
	node graph.Node
}

func lowerRank(a, b ranked) bool { return a.rank < b.rank || a.rank == b.rank && a.node < b.node }

type gained struct {
	gain float64 // when it was queued
	node graph.Node
}

func largerGain(a, b gained) bool { return a.gain > b.gain || a.gain == b.gain && a.node < b.node }
