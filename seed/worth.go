package seed

import (
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
