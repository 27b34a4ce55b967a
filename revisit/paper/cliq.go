package revisit

import (
	"cmp"
	"slices"

	"forage/graph"
)

// Cliq clusters old documents that covered almost the same new pages in the latest full
// recrawl and fetches one of each cluster: CLIQ-WIN and CLIQ-1 of [DGKOPT07, §5.2, §5.4].
// Clusters grow by single linkage at Jaccard coefficient 1−ε_b; every document that ever
// led to a new page in a recrawl is one more cluster. The value of a cluster is its largest p,
// as ODWin has it, its choice the document that has it; a document already taken is skipped.
// Time O(pairs of groups of H_t that overlap × columns + documents) a recrawl.
type Cliq struct {
	od       ODWin
	far      float64 // ε_b
	clusters [][]graph.Node
	plan     []graph.Node
}

var _ Policy = (*Cliq)(nil)

// NewCliq returns CLIQ-WIN with decay α of ODWin, or CLIQ-1 if last is set.
func NewCliq(alpha, far float64, last bool) *Cliq {
	return &Cliq{od: ODWin{alpha: alpha, last: last}, far: far}
}

// Learn makes room for v.
func (p *Cliq) Learn(v graph.Node, page Page) { p.od.Learn(v, page) }

// Begin plans the cycle.
func (p *Cliq) Begin(now Time, budget int) {
	p.od.Begin(now, len(p.od.sum)) // the singletons, best first
	type choice struct {
		v graph.Node
		q float64
	}
	var all []choice
	for _, cluster := range p.clusters {
		best := choice{}
		for _, v := range cluster {
			if q := p.od.sum[v]; tied(q) > tied(best.q) && !p.od.gone[v] {
				best = choice{v, q}
			}
		}
		if best.q > 0 {
			all = append(all, best)
		}
	}
	for _, v := range p.od.plan {
		all = append(all, choice{v, p.od.sum[v]})
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

// Next returns the choice of the next cluster.
func (p *Cliq) Next() (graph.Node, bool) {
	if len(p.plan) == 0 {
		return 0, false
	}
	v := p.plan[0]
	p.plan = p.plan[1:]
	return v, true
}

// Observe notes what is gone.
func (p *Cliq) Observe(v Visit) { p.od.Observe(v) }

// End clusters a full recrawl that found pages.
func (p *Cliq) End(c Cycle) {
	p.od.End(c)
	if c.Full && c.H.NumNew() > 0 {
		p.clusters = c.H.Clusters(p.far)
	}
}

// Clusters joins old documents i, j with J_ij ≥ 1−far, and so on along chains of such pairs:
// the clusters of [DGKOPT07, §5.2]. Documents ascend in each, clusters by their first.
func (h *H) Clusters(far float64) [][]graph.Node {
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
