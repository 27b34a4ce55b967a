package graph

import (
	"bufio"
	"fmt"
	"io"
	"sync"
)

// Degrees tells how the arcs of a graph are spread.
type Degrees struct {
	Nodes    int
	Arcs     uint64
	Loops    uint64   // arcs from a node to itself
	Sinks    int      // nodes without successors
	Sources  int      // nodes without predecessors
	Isolated int      // nodes without either
	MaxOut   int      // largest outdegree, of the node MaxOutAt, the least such
	MaxIn    int      // largest indegree, of the node MaxInAt, the least such
	MaxOutAt Node     // None in a graph without arcs
	MaxInAt  Node     // None in a graph without arcs
	Out      []uint64 // Out[d] nodes have d successors, d up to MaxOut
	In       []uint64 // In[d] nodes have d predecessors, d up to MaxIn
}

// CountDegrees reads g once. Memory 4 bytes a node, 8 a degree.
func CountDegrees(g Scanner) (*Degrees, error) {
	n := g.NumNodes()
	d := &Degrees{Nodes: n, MaxOutAt: None, MaxInAt: None}
	in := make([]uint32, n)
	sinks := make([]uint64, (n+63)/64)
	count := func(h *[]uint64, degree int) {
		for len(*h) <= degree {
			*h = append(*h, 0)
		}
		(*h)[degree]++
	}
	err := g.Scan(0, Node(n), func(v Node, succ []Node) error {
		d.Arcs += uint64(len(succ))
		count(&d.Out, len(succ))
		if len(succ) > d.MaxOut {
			d.MaxOut, d.MaxOutAt = len(succ), v
		}
		if len(succ) == 0 {
			d.Sinks++
			sinks[v/64] |= 1 << (v % 64)
		}
		for _, u := range succ {
			in[u]++
			if u == v {
				d.Loops++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for v, k := range in {
		count(&d.In, int(k))
		if int(k) > d.MaxIn {
			d.MaxIn, d.MaxInAt = int(k), Node(v)
		}
		if k == 0 {
			d.Sources++
			if sinks[v/64]>>(v%64)&1 != 0 {
				d.Isolated++
			}
		}
	}
	return d, nil
}

// WriteCSV writes how many nodes have each degree that occurs: degree,nodes_out,nodes_in.
func (d *Degrees) WriteCSV(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "degree,nodes_out,nodes_in")
	at := func(h []uint64, k int) uint64 {
		if k < len(h) {
			return h[k]
		}
		return 0
	}
	for k := range max(len(d.Out), len(d.In)) {
		if o, i := at(d.Out, k), at(d.In, k); o > 0 || i > 0 {
			fmt.Fprintf(out, "%d,%d,%d\n", k, o, i)
		}
	}
	return out.Flush()
}

// Distances tells how far nodes are from sources.
type Distances struct {
	At    []uint64 // At[d] pairs of a source and a node are d arcs apart; At[0] is the number of sources
	Pairs uint64   // pairs of a source and another node that it reaches
}

// CountDistances counts the distances of all nodes from each of the sources by breadth-first
// search, several at once. The result does not depend on threads (0: one a processor). Time
// O(n + m) a source, memory 5 bytes a node and thread. Its only errors are those of reading g.
func CountDistances(g Graph, sources []Node, threads int) (*Distances, error) {
	threads = min(workers(threads), max(1, len(sources)))
	var (
		d     Distances
		mu    sync.Mutex
		first error
	)
	type search struct {
		seen       []uint64
		queue, buf []Node
		at         []uint64
	}
	all := make([]search, threads)
	parallel(threads, len(sources), func(w, i int) {
		s := &all[w]
		if s.seen == nil {
			s.seen = make([]uint64, (g.NumNodes()+63)/64)
		}
		clear(s.seen)
		s.queue = append(s.queue[:0], sources[i])
		s.seen[sources[i]/64] |= 1 << (sources[i] % 64)
		for lo, depth := 0, 0; lo < len(s.queue); depth++ {
			hi := len(s.queue)
			if depth == len(s.at) {
				s.at = append(s.at, 0)
			}
			s.at[depth] += uint64(hi - lo)
			for ; lo < hi; lo++ {
				var err error
				if s.buf, err = g.AppendSuccessors(s.buf[:0], s.queue[lo]); err != nil {
					mu.Lock()
					defer mu.Unlock()
					if first == nil {
						first = err
					}
					return
				}
				for _, u := range s.buf {
					if s.seen[u/64]>>(u%64)&1 == 0 {
						s.seen[u/64] |= 1 << (u % 64)
						s.queue = append(s.queue, u)
					}
				}
			}
		}
	})
	if first != nil {
		return nil, first
	}
	for i := range all {
		for depth, k := range all[i].at {
			if depth == len(d.At) {
				d.At = append(d.At, 0)
			}
			d.At[depth] += k
			if depth > 0 {
				d.Pairs += k
			}
		}
	}
	return &d, nil
}

// Mean returns the mean distance of the pairs, and whether there are any.
func (d *Distances) Mean() (float64, bool) {
	sum := 0.0
	for depth, k := range d.At {
		sum += float64(depth) * float64(k)
	}
	return sum / float64(max(1, d.Pairs)), d.Pairs > 0
}

// Effective returns the distance within which a share of the pairs lies, between whole
// distances by linear interpolation, and whether there are any pairs. The share 0.9 gives what
// is called the effective diameter.
func (d *Distances) Effective(share float64) (float64, bool) {
	want := share * float64(d.Pairs)
	below := 0.0
	for depth := 1; depth < len(d.At); depth++ {
		k := float64(d.At[depth])
		if below+k >= want && k > 0 {
			return float64(depth-1) + (want-below)/k, true
		}
		below += k
	}
	return 0, false
}

// Farthest returns the largest distance of a pair, 0 if there is none: a lower bound of the
// diameter.
func (d *Distances) Farthest() int { return max(0, len(d.At)-1) }
