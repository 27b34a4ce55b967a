package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"

	"forage/graph"
	"forage/retain"
	"forage/seed"
)

// seedsComparison is what a list of seeds is worth.
type seedsComparison struct {
	List       string  `json:"list"`
	Seeds      int     `json:"seeds"`
	ByHops     []int   `json:"reached_by_hops"`
	PerSeed    float64 `json:"reached_per_seed"`
	PerFetch   float64 `json:"reached_per_fetch"`    // over the pages that must be fetched to reach them
	MedianRank float64 `json:"median_rank_of_reach"` // of what is reached: median PageRank, times the number of nodes
}

// compare evaluates the seeds beside lists of the same length that other rules give.
func (w *seedWork) compare(ctx context.Context, t *seed.Task, seeds []graph.Node) ([]seedsComparison, error) {
	g, rev, err := w.memory()
	if err != nil {
		return nil, err
	}
	n, k := g.NumNodes(), len(seeds)
	rank, err := retain.FullRank(g, retain.Config{})
	if err != nil {
		return nil, err
	}
	links := make([]uint32, n)
	for v := range links {
		links[v] = uint32(rev.OutDegree(graph.Node(v)))
	}
	r := rand.New(rand.NewPCG(w.seed, 1))
	type list struct {
		name  string
		nodes []graph.Node
	}
	lists := []list{
		{w.method, seeds},
		{"in-degree", graph.Top(links, k, nil)},
		{"pagerank", graph.Top(rank, k, nil)},
		{"harmonic", graph.Top(harmonic(g, r), k, nil)},
		{"random", retain.RandomStart(n, k, r)},
	}
	if w.against != "" {
		in, err := w.set(w.against)
		if err != nil {
			return nil, err
		}
		var own []graph.Node
		for v, ok := range in {
			if ok {
				own = append(own, graph.Node(v))
			}
		}
		lists = append(lists, list{"given", own})
	}
	var out []seedsComparison
	for _, l := range lists {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		reached, err := seed.NewReached(g, t)
		if err != nil {
			return nil, err
		}
		for _, v := range l.nodes {
			if _, _, err := reached.Add(v); err != nil {
				return nil, err
			}
		}
		c := seedsComparison{List: l.name, Seeds: len(l.nodes)}
		for h := range t.Depth + 1 {
			c.ByHops = append(c.ByHops, reached.Within(h))
		}
		if c.Seeds > 0 {
			c.PerSeed = float64(c.ByHops[t.Depth]) / float64(c.Seeds)
			c.PerFetch = float64(c.ByHops[t.Depth]) / float64(c.ByHops[t.Depth-1])
		}
		var ranks []float64
		for v := range graph.Node(n) {
			if _, ok := reached.Hops(v); ok {
				ranks = append(ranks, rank[v])
			}
		}
		slices.Sort(ranks)
		if len(ranks) > 0 {
			c.MedianRank = ranks[len(ranks)/2] * float64(n)
		}
		out = append(out, c)
	}
	return out, nil
}

// harmonic estimates the harmonic centrality of all nodes from 64 random pages: the sum of one
// over the distance from them.
func harmonic(g *graph.CSR, r *rand.Rand) []float64 {
	n := g.NumNodes()
	h := make([]float64, n)
	for _, u := range retain.RandomStart(n, 64, r) {
		for d, layer := range g.Layers([]graph.Node{u}, -1) {
			if d > 0 {
				for _, v := range layer {
					h[v] += 1 / float64(d)
				}
			}
		}
	}
	return h
}

func printComparison(to io.Writer, depth int, rows []seedsComparison) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "seeds\tnumber\t")
	for h := 1; h <= depth; h++ {
		fmt.Fprintf(t, "%d %s\t", h, cmp.Or(map[int]string{1: "hop"}[h], "hops"))
	}
	fmt.Fprintln(t, "per seed\tper fetch\tmedian rank\t")
	for _, c := range rows {
		fmt.Fprintf(t, "%s\t%d\t", c.List, c.Seeds)
		for _, x := range c.ByHops[1:] {
			fmt.Fprintf(t, "%d\t", x)
		}
		fmt.Fprintf(t, "%.1f\t%.2f\t%.3f\t\n", c.PerSeed, c.PerFetch, c.MedianRank)
	}
	return t.Flush()
}
