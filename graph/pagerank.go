package graph

import (
	"bufio"
	"io"
	"math"
	"strconv"
)

// A PageRankConfig says how PageRank is computed. Zero fields mean the values given.
type PageRankConfig struct {
	Damping   float64 // in [0, 1): the chance to follow a link; 0 means 0.85
	Tolerance float64 // stop when an iteration changes all ranks together by at most this; 0 means 1e-9
	Most      int     // iterations at most; 0 means 1000
	Threads   int     // 0: one a processor; more than 4 do not help
}

// pagerankParts is how many ranges of nodes PageRank works on at once.
const pagerankParts = 4

// PageRank returns the PageRank of every node: the stationary distribution of a surfer who
// follows a random link with probability Damping, and else, as where there is no link, goes to
// a random node. The ranks add up to 1. It also returns the number of iterations of the power
// method that it took, and by how much the last one changed the ranks.
//
// The result is the same to the last bit for any number of threads: nodes push shares of their
// rank to their successors, those of each of four fixed ranges into an array of its own, and
// the four are added up in their order. Time O(m) an iteration, one reading of g; memory 40
// bytes a node, 16 below 65,536 nodes, which are one range. Its only errors are those of
// reading g.
func PageRank(g Scanner, c PageRankConfig) (rank []float64, iterations int, change float64, err error) {
	if c.Damping == 0 {
		c.Damping = 0.85
	}
	if c.Tolerance == 0 {
		c.Tolerance = 1e-9
	}
	if c.Most == 0 {
		c.Most = 1000
	}
	n := g.NumNodes()
	if n == 0 {
		return nil, 0, 0, nil
	}
	parts := 1
	if n >= 1<<16 {
		parts = pagerankParts
	}
	p := &powerMethod{g: g, threads: workers(c.Threads), rank: make([]float64, n), empty: make([]uint64, (n+63)/64)}
	for i := range parts {
		p.next = append(p.next, make([]float64, n))
		p.cuts = append(p.cuts, Node(n/parts*i)&^63)
	}
	p.cuts = append(p.cuts, Node(n))
	for v := range p.rank {
		p.rank[v] = 1 / float64(n)
	}
	for iterations < c.Most {
		iterations++
		if err := p.push(); err != nil {
			return nil, iterations, 0, err
		}
		if change = p.finish(c.Damping); change <= c.Tolerance {
			break
		}
	}
	return p.rank, iterations, change, nil
}

type powerMethod struct {
	g       Scanner
	threads int
	rank    []float64
	cuts    []Node      // range i of the nodes is [cuts[i], cuts[i+1]), at multiples of 64
	next    [][]float64 // what every node is given from each range
	empty   []uint64    // bit set of the nodes without links, known after the first push
}

// push collects in next what every node gives to its successors.
func (p *powerMethod) push() error {
	errs := make([]error, len(p.next))
	parallel(p.threads, len(p.next), func(_, i int) {
		next := p.next[i]
		clear(next)
		errs[i] = p.g.Scan(p.cuts[i], p.cuts[i+1], func(v Node, succ []Node) error {
			if len(succ) == 0 {
				p.empty[v/64] |= 1 << (v % 64)
				return nil
			}
			share := p.rank[v] / float64(len(succ))
			for _, u := range succ {
				next[u] += share
			}
			return nil
		})
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// finish computes the new rank and returns the sum of all changes. Sums are taken over blocks
// of fixed size and then over blocks, so that they do not depend on threads.
func (p *powerMethod) finish(damping float64) float64 {
	const block = 1 << 14
	n := len(p.rank)
	sums := make([]float64, (n-1)/block+1)
	sum := func() (s float64) {
		for _, x := range sums {
			s += x
		}
		return s
	}
	parallel(p.threads, len(sums), func(_, b int) {
		s := 0.0
		for v := b * block; v < min(n, (b+1)*block); v++ {
			if p.empty[v/64]>>(v%64)&1 != 0 {
				s += p.rank[v]
			}
		}
		sums[b] = s
	})
	base := (1-damping)/float64(n) + damping*sum()/float64(n)
	parallel(p.threads, len(sums), func(_, b int) {
		lo, hi := b*block, min(n, (b+1)*block)
		given := p.next[0][lo:hi]
		for _, more := range p.next[1:] {
			for i, x := range more[lo:hi] {
				given[i] += x
			}
		}
		s := 0.0
		for i, x := range given {
			x = base + damping*x
			s += math.Abs(x - p.rank[lo+i])
			p.rank[lo+i] = x
		}
		sums[b] = s
	})
	return sum()
}

// WriteRanks writes the value of each node, a line a node, with all the digits that it has.
func WriteRanks(w io.Writer, rank []float64) error {
	out := bufio.NewWriter(w)
	for _, x := range rank {
		out.WriteString(strconv.FormatFloat(x, 'g', -1, 64))
		out.WriteByte('\n')
	}
	return out.Flush()
}
