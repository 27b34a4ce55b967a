package graph

import (
	"slices"
	"sync"
)

// ranges cuts the nodes of g into n ranges of about as many arcs, where that is known, else of
// as many nodes. Range i is [r[i], r[i+1]); the borders are multiples of 64.
func ranges(g Scanner, n int) []Node {
	nodes := g.NumNodes()
	r := make([]Node, n+1)
	c, _ := g.(*CSR)
	for i := 1; i < n; i++ {
		v := nodes / n * i
		if c != nil {
			v, _ = slices.BinarySearch(c.Offset, c.NumArcs()/uint64(n)*uint64(i))
		}
		r[i] = max(r[i-1], Node(min(nodes, v)&^63))
	}
	r[n] = Node(nodes)
	return r
}

// each calls do for every range at once and returns the first error by number.
func each(r []Node, do func(i int, lo, hi Node) error) error {
	errs := make([]error, len(r)-1)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = do(i, r[i], r[i+1]) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Transpose returns the graph with every arc turned round. It reads g twice, in parallel by
// ranges of nodes: each counts the arcs into every node, then each puts its own where they
// belong, behind those of the ranges before, so that the result does not depend on threads (0:
// one a processor; at most 16). Its only errors are those of reading g. Time O(n·threads + m),
// memory 4 bytes a node and thread beside the result.
func Transpose(g Scanner, threads int) (*CSR, error) {
	n := g.NumNodes()
	threads = max(1, min(workers(threads), 16, n/1024))
	r := ranges(g, threads)
	counts := make([][]uint32, threads)
	err := each(r, func(i int, lo, hi Node) error {
		c := make([]uint32, n)
		counts[i] = c
		return g.Scan(lo, hi, func(_ Node, succ []Node) error {
			for _, u := range succ {
				c[u]++
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	t := &CSR{Offset: make([]uint64, n+1)}
	for v := range n {
		sum := uint32(0)
		for _, c := range counts {
			c[v], sum = sum, sum+c[v]
		}
		t.Offset[v+1] = t.Offset[v] + uint64(sum)
	}
	t.Succ = make([]Node, t.Offset[n])
	err = each(r, func(i int, lo, hi Node) error {
		c := counts[i]
		return g.Scan(lo, hi, func(v Node, succ []Node) error {
			for _, u := range succ {
				t.Succ[t.Offset[u]+uint64(c[u])] = v
				c[u]++
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Transpose is the function of that name for a graph in memory, which cannot fail, with all
// processors.
func (g *CSR) Transpose() *CSR {
	t, err := Transpose(g, 0)
	if err != nil {
		panic(err) // a CSR has no errors
	}
	return t
}

// Undirected returns the graph with every arc in both directions and without self-loops.
func (g *CSR) Undirected() *CSR {
	t := g.Transpose()
	n := g.NumNodes()
	u := &CSR{Offset: make([]uint64, n+1)}
	r := ranges(g, max(1, min(workers(0), n/1024)))
	each(r, func(_ int, lo, hi Node) error {
		for v := lo; v < hi; v++ {
			u.Offset[v+1] = uint64(union(nil, v, g.Successors(v), t.Successors(v)))
		}
		return nil
	})
	for v := range n {
		u.Offset[v+1] += u.Offset[v]
	}
	u.Succ = make([]Node, u.Offset[n])
	each(r, func(_ int, lo, hi Node) error {
		for v := lo; v < hi; v++ {
			union(u.Successors(v), v, g.Successors(v), t.Successors(v))
		}
		return nil
	})
	return u
}

// union counts the elements other than v of two ascending lists, and writes them to to, if it
// is not nil.
func union(to []Node, v Node, a, b []Node) int {
	k := 0
	for len(a) > 0 || len(b) > 0 {
		var x Node
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			x, a = a[0], a[1:]
		case len(a) == 0 || b[0] < a[0]:
			x, b = b[0], b[1:]
		default:
			x, a, b = a[0], a[1:], b[1:]
		}
		if x == v {
			continue
		}
		if to != nil {
			to[k] = x
		}
		k++
	}
	return k
}
