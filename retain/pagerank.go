package retain

import (
	"math"

	"forage/graph"
)

// A ranker computes the PageRank of the buffer, what it links to, and the arcs from the
// buffer: all that a crawler with this buffer can see [ABCHMT08, §1].
type ranker struct {
	local       []uint32     // by node: its place in nodes, while voteRank runs
	nodes       []graph.Node // the buffer ascending, then the candidates in order of discovery
	start       []uint32     // by place in the buffer: where its arcs begin; one more at the end
	to          []uint32     // arcs, as places
	rank, fresh []float64
}

// voteRank scores the buffer and its candidates by PageRank. Pages whose links are not known
// (the candidates, and pages without links) spread their rank over all. The score is the
// rank as a float32, whose bits order as the numbers do: ranks that differ only by the
// order of summation tie. Time O(links of the buffer) an iteration.
func (d *Dynamics) voteRank() {
	k := &d.rank
	if k.local == nil {
		k.local = make([]uint32, d.g.NumNodes())
	}
	k.nodes = d.in.appendTo(k.nodes[:0])
	b := len(k.nodes)
	for i, v := range k.nodes {
		k.local[v] = uint32(i)
	}
	k.start, k.to = k.start[:0], k.to[:0]
	all := d.Deterministic()
	for _, u := range k.nodes[:b] {
		k.start = append(k.start, uint32(len(k.to)))
		for _, v := range d.g.Successors(u) {
			if v == u && !d.c.SelfLoops || !all && !d.follows() {
				continue
			}
			if !d.voted.has(v) {
				d.voted.add(v)
				if !d.in.has(v) {
					k.local[v] = uint32(len(k.nodes))
					k.nodes = append(k.nodes, v)
				}
			}
			k.to = append(k.to, k.local[v])
		}
	}
	k.start = append(k.start, uint32(len(k.to)))
	d.followed = uint64(len(k.to))

	k.iterate(b, d.c.Damping, d.c.Tolerance)
	for i, v := range k.nodes {
		d.score[v] = math.Float32bits(float32(k.rank[i]))
	}
	d.known = append(d.known[:0], k.nodes...)
}

// iterate computes the rank of nodes, of which the first b have the arcs of start and to.
func (k *ranker) iterate(b int, damping, tolerance float64) {
	n := float64(len(k.nodes))
	k.rank, k.fresh = resize(k.rank, len(k.nodes)), resize(k.fresh, len(k.nodes))
	for i := range k.rank {
		k.rank[i] = 1 / n
	}
	for range 1000 {
		dangling := 0.0
		for _, x := range k.rank[b:] {
			dangling += x
		}
		clear(k.fresh)
		for i := range b {
			out := k.to[k.start[i]:k.start[i+1]]
			if len(out) == 0 {
				dangling += k.rank[i]
				continue
			}
			share := k.rank[i] / float64(len(out))
			for _, j := range out {
				k.fresh[j] += share
			}
		}
		base := (1 - damping + damping*dangling) / n
		change := 0.0
		for i, x := range k.fresh {
			x = base + damping*x
			change += math.Abs(x - k.rank[i])
			k.fresh[i] = x
		}
		k.rank, k.fresh = k.fresh, k.rank
		if change < tolerance {
			break
		}
	}
}

// FullRank returns the PageRank of every node of the whole graph, as a buffer that holds all of it
// would see it; of c, only damping, tolerance and self-loops count.
func FullRank(g *graph.CSR, c Config) ([]float64, error) {
	n := g.NumNodes()
	c = Config{Buffer: max(1, n), Rule: PageRank, Ties: ID, SelfLoops: c.SelfLoops, Damping: c.Damping, Tolerance: c.Tolerance}
	d, err := New(g, c, RandomStart(n, n, nil), nil)
	if err != nil {
		return nil, err
	}
	d.voteRank()
	return d.rank.rank, nil
}

func resize(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n, n+n/4)
	}
	return x[:n]
}
