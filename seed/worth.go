package seed

import (
	"context"
	"math/rand/v2"
	"slices"

	"forage/graph"
)

// Worth is what a list of seeds is worth, to be compared with other lists.
type Worth struct {
	Seeds      int     `json:"seeds"`
	ByHops     []int   `json:"reached_by_hops"`      // pages within 0, 1, … Depth hops
	PerSeed    float64 `json:"reached_per_seed"`     // pages within Depth hops
	PerFetch   float64 `json:"reached_per_fetch"`    // over the pages that must be fetched to reach them
	MedianRank float64 `json:"median_rank_of_reach"` // of what is reached: median rank, times the number of nodes
}

// Weigh returns what seeds are worth for t; of t, depth and weights count. rank is the PageRank of
// every node. Time and memory are those of Reached, and 8 bytes a page that is reached. Its only
// errors are those of t and of reading g.
func Weigh(g graph.Graph, t *Task, seeds []graph.Node, rank []float64) (*Worth, error) {
	reached, err := NewReached(g, t)
	if err != nil {
		return nil, err
	}
	for _, v := range seeds {
		if _, _, err := reached.Add(v); err != nil {
			return nil, err
		}
	}
	w := &Worth{Seeds: len(seeds), ByHops: reached.ByHops()}
	if w.Seeds > 0 {
		w.PerSeed = float64(w.ByHops[t.Depth]) / float64(w.Seeds)
		w.PerFetch = float64(w.ByHops[t.Depth]) / float64(w.ByHops[t.Depth-1])
	}
	var ranks []float64
	for v := range graph.Node(g.NumNodes()) {
		if _, ok := reached.Hops(v); ok {
			ranks = append(ranks, rank[v])
		}
	}
	slices.Sort(ranks)
	if len(ranks) > 0 {
		w.MedianRank = ranks[len(ranks)/2] * float64(len(rank))
	}
	return w, nil
}

// A List is a list of seeds under the name of the rule that made it.
type List struct {
	Name string `json:"list"`
	*Worth
	Nodes []graph.Node `json:"-"`
}

// Rivals returns lists of k seeds by rules that choose page by page: in-degree, PageRank, harmonic
// centrality (estimated from 64 random pages) and chance. rank is the PageRank of every node.
func Rivals(g *graph.CSR, k int, rank []float64, r *rand.Rand) []List {
	links, err := graph.InDegrees(g)
	if err != nil {
		panic(err) // a CSR has no errors
	}
	n := g.NumNodes()
	return []List{
		{Name: "in-degree", Nodes: graph.Top(links, k, nil)},
		{Name: "pagerank", Nodes: graph.Top(rank, k, nil)},
		{Name: "harmonic", Nodes: graph.Top(g.Harmonic(graph.Sample(n, 64, r)), k, nil)},
		{Name: "random", Nodes: graph.Sample(n, k, r)},
	}
}

// Compare weighs the lists, as Weigh does each, until ctx ends.
func Compare(ctx context.Context, g graph.Graph, t *Task, lists []List, rank []float64) (err error) {
	for i := range lists {
		if err := ctx.Err(); err != nil {
			return err
		}
		if lists[i].Worth, err = Weigh(g, t, lists[i].Nodes, rank); err != nil {
			return err
		}
	}
	return nil
}
