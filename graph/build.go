package graph

import (
	"fmt"
	"slices"
)

// FromBlocks returns the graph of n nodes with the arcs of all blocks, sorted, each once;
// self-loops are kept. It is FromArcs for large graphs: it works in parallel (threads 0: one
// a processor) and in cache-sized parts, and it reorders the blocks in place. The result does
// not depend on threads or on how arcs lie in blocks. It panics if an arc names a node
// outside [0, n).
//
// Arcs are brought together by ranges of their sources, block by block, then each range is
// counted, placed and sorted on its own. Time O(n + m log Δ); memory 8 bytes a node, 4 an arc
// for the result, 512 KiB a thread.
func FromBlocks(n int, blocks [][]Arc, threads int) *CSR {
	const (
		blockArcs = 1 << 16 // partitioned at a time: half a MiB
		partArcs  = 1 << 17 // aimed at for a range of sources
		maxParts  = 1 << 10
	)
	threads = workers(threads)
	m := 0
	var pieces [][]Arc
	for _, b := range blocks {
		m += len(b)
		for p := range slices.Chunk(b, blockArcs) {
			pieces = append(pieces, p)
		}
	}
	shift := 0 // a part is 1<<shift consecutive sources
	want := min(max(1, m/partArcs), maxParts)
	for (n-1)>>shift >= want && shift < 32 {
		shift++
	}
	parts := 1
	if n > 0 {
		parts = (n-1)>>shift + 1
	}

	// Bring each piece into the order of parts; starts[i] tells where they begin.
	starts := make([][]uint32, len(pieces))
	bad := make([]*Arc, threads)
	spare := make([][]Arc, threads)
	parallel(threads, len(pieces), func(w, i int) {
		if spare[w] == nil {
			spare[w] = make([]Arc, min(m, blockArcs))
		}
		p := pieces[i]
		start := make([]uint32, parts+1)
		starts[i] = start
		inOrder, last := true, Node(0)
		for j, a := range p {
			if int(a.From) >= n || int(a.To) >= n {
				bad[w] = &p[j]
				return
			}
			start[a.From>>shift+1]++
			inOrder = inOrder && a.From >= last
			last = a.From
		}
		for k := range parts {
			start[k+1] += start[k]
		}
		if inOrder {
			return
		}
		copy(spare[w], p)
		at := slices.Clone(start[:parts])
		for _, a := range spare[w][:len(p)] {
			k := a.From >> shift
			p[at[k]] = a
			at[k]++
		}
	})
	for _, a := range bad {
		if a != nil {
			panic(fmt.Sprintf("graph: arc %d %d in a graph of %d nodes", a.From, a.To, n))
		}
	}

	begin := make([]uint64, parts+1) // of each part in Succ, repeats included
	for _, s := range starts {
		for k := range parts {
			begin[k+1] += uint64(s[k+1] - s[k])
		}
	}
	for k := range parts {
		begin[k+1] += begin[k]
	}
	g := &CSR{Offset: make([]uint64, n+1), Succ: make([]Node, m)}
	kept := make([]uint64, parts)
	parallel(threads, parts, func(_, k int) {
		lo := k << shift
		hi := min(n, (k+1)<<shift)
		off := g.Offset[lo+1 : hi+1] // off[v-lo]: end of v's list, from the part's beginning
		for i, p := range pieces {
			for _, a := range p[starts[i][k]:starts[i][k+1]] {
				off[int(a.From)-lo]++
			}
		}
		sum := uint64(0)
		for i, d := range off {
			off[i] = sum
			sum += d
		}
		succ := g.Succ[begin[k]:begin[k+1]]
		for i, p := range pieces {
			for _, a := range p[starts[i][k]:starts[i][k+1]] {
				o := &off[int(a.From)-lo]
				succ[*o] = a.To
				*o++
			}
		}
		from, to := uint64(0), uint64(0)
		for i, end := range off {
			to += uint64(distinct(succ[to:], succ[from:end]))
			from, off[i] = end, to
		}
		kept[k] = to
	})

	// Close the gaps that repeats left.
	to := uint64(0)
	for k := range parts {
		copy(g.Succ[to:], g.Succ[begin[k]:begin[k]+kept[k]])
		for v := k << shift; v < min(n, (k+1)<<shift); v++ {
			g.Offset[v+1] += to
		}
		to += kept[k]
	}
	g.Succ = g.Succ[:to]
	return g
}

// distinct sorts list and moves it, each element once, to the beginning of to, which may
// overlap it from the left. It returns the number of elements.
func distinct(to, list []Node) int {
	ascending := true
	for i := 1; i < len(list); i++ {
		if list[i-1] >= list[i] {
			ascending = false
			break
		}
	}
	if ascending {
		return copy(to, list)
	}
	slices.Sort(list)
	return copy(to, slices.Compact(list))
}
