package paper

import (
	"cmp"
	"slices"

	"forage/graph"
	"forage/revisit"
)

// Cliq clusters old documents that covered almost the same new pages in the latest full
// recrawl and fetches one of each cluster: CLIQ-WIN and CLIQ-1 of [DGKOPT07, §5.2, §5.4].
// Clusters grow by single linkage at Jaccard coefficient 1−ε_b. The value of a cluster is its
// largest p, as ODWin has it, its choice the document that has it.
//
// To the clusters the paper adds one for every document that ever led to a new page in a recrawl
// (§5.4), and does not say whether that holds for those that are in a cluster already. Literal takes
// it that it does: then each document stands for itself at its own p, one already taken is skipped,
// and the choices are those of ODWin. Disjoint takes it that it does not: of each cluster one
// document is fetched, and no other. What the paper prints bears out neither: from k = 10 on its
// CLIQ-WIN differs from OD-WIN, in covers of the same size.
//
// Time O(pairs of groups of H_t that overlap × columns + documents) a recrawl.
type Cliq struct {
	ODWin
	far      float64 // ε_b
	disjoint bool
	clusters [][]graph.Node
}

var _ revisit.Policy = (*Cliq)(nil)

// A Clustering says how CLIQ is read.
type Clustering int

const (
	Literal  Clustering = iota // every document that ever led to a new page is a cluster of its own
	Disjoint                   // that holds for those that are in no cluster of the latest recrawl
)

// NewCliq returns CLIQ-WIN with decay α of ODWin, or CLIQ-1 if last is set.
func NewCliq(alpha, far float64, last bool, reading Clustering) *Cliq {
	return &Cliq{ODWin: ODWin{alpha: alpha, last: last}, far: far, disjoint: reading == Disjoint}
}

// Begin plans the cycle.
func (p *Cliq) Begin(now revisit.Time, budget int) {
	p.ODWin.Begin(now, len(p.sum)) // plans the singletons, best first
	type choice struct {
		v graph.Node
		q float64
	}
	var all []choice
	clustered := make(map[graph.Node]bool)
	for _, cluster := range p.clusters {
		best := choice{}
		for _, v := range cluster {
			clustered[v] = true
			if q := p.sum[v]; tied(q) > tied(best.q) && !p.gone[v] {
				best = choice{v, q}
			}
		}
		if best.q > 0 {
			all = append(all, best)
		}
	}
	for _, v := range p.plan {
		if !p.disjoint || !clustered[v] {
			all = append(all, choice{v, p.sum[v]})
		}
	}
	slices.SortStableFunc(all, func(a, b choice) int { return cmp.Or(-cmp.Compare(tied(a.q), tied(b.q)), cmp.Compare(a.v, b.v)) })
	taken := make(map[graph.Node]bool)
	p.plan = p.plan[:0]
	for _, c := range all {
		if !taken[c.v] && len(p.plan) < budget {
			taken[c.v] = true
			p.plan = append(p.plan, c.v)
		}
	}
}

// End clusters a full recrawl that found pages.
func (p *Cliq) End(c revisit.Cycle) {
	p.ODWin.End(c)
	if c.Full && c.H.NumNew() > 0 {
		p.clusters = Clusters(c.H, p.far)
	}
}

// Clusters joins old documents i, j with J_ij ≥ 1−far, and so on along chains of such pairs:
// the clusters of [DGKOPT07, §5.2]. Documents ascend in each, clusters by their first.
func Clusters(h *revisit.CoverGraph, far float64) [][]graph.Node {
	by := make([][]int32, len(h.New))
	for g, cols := range h.Cols {
		for _, c := range cols {
			by[c] = append(by[c], int32(g))
		}
	}
	parent := make([]int32, len(h.Old))
	for g := range parent {
		parent[g] = int32(g)
	}
	find := func(g int32) int32 {
		for parent[g] != g {
			parent[g] = parent[parent[g]]
			g = parent[g]
		}
		return g
	}
	both := make([]int, len(h.Old)) // |N(f) ∩ N(g)| for the groups f before g
	for g, cols := range h.Cols {
		var near []int32
		for _, c := range cols {
			for _, f := range by[c] {
				if int(f) >= g {
					break
				}
				if both[f] == 0 {
					near = append(near, f)
				}
				both[f] += len(h.New[c])
			}
		}
		for _, f := range near {
			either := h.Size(g) + h.Size(int(f)) - both[f]
			if float64(both[f]) >= (1-far)*float64(either) {
				parent[find(int32(g))] = find(f)
			}
			both[f] = 0
		}
	}
	at := make(map[int32]int)
	var out [][]graph.Node
	for g, docs := range h.Old {
		root := find(int32(g))
		i, ok := at[root]
		if !ok {
			i = len(out)
			at[root] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], docs...)
	}
	for _, cluster := range out {
		slices.Sort(cluster)
	}
	slices.SortFunc(out, func(a, b []graph.Node) int { return cmp.Compare(a[0], b[0]) })
	return out
}
