package seed

import (
	"context"
	"errors"
	"fmt"

	"forage/cover"
	"forage/graph"
)

// A Level is one cover of TwoLevel.
type Level struct {
	Targets   int // pages to be covered
	Uncovered int // of them: no page links to them
	Chosen    int // pages of the cover
	Yielding  int // of them: covered at least the least yield when chosen
}

// TwoLevel returns the seeds of the 2-level set cover, and of more levels [ST15, §5.4]. The
// out-links of all pages cover the whole graph; a page's yield is what it newly covered when it
// was chosen. The pages of yield ≥ minYield are what the next level covers, again by
// the out-links of all pages. Seeds are the yielding pages of the last level, in the order
// chosen: what they yielded is reached within as many hops as there are levels.
//
// t.May bounds the sets of the last level, t.Weights (0) what the first must cover; t.Limits are
// not used, nor is t.Depth. One scan of g a level and what the covers take.
func TwoLevel(ctx context.Context, g graph.Graph, levels, minYield int, t *Task, c LayeredConfig) ([]graph.Node, []Level, error) {
	n := g.NumNodes()
	switch {
	case levels < 1 || levels > MaxDepth:
		return nil, nil, fmt.Errorf("seed: %d levels; want 1 to %d", levels, MaxDepth)
	case minYield < 1:
		return nil, nil, fmt.Errorf("seed: a yield of at least %d; want at least 1", minYield)
	case len(t.Limits) > 0:
		return nil, nil, errors.New("seed: a cover keeps no limits on hosts or domains")
	}
	targets := newBitset(n)
	want := 0
	for v := range graph.Node(n) {
		if t.weight(v) > 0 {
			targets.add(v)
			want++
		}
	}
	var seeds []graph.Node
	var told []Level
	for level := 1; level <= levels && want > 0; level++ {
		f := &allPages{g: g, targets: targets}
		if level == levels {
			f.may = t.May
		}
		r, err := c.solve(ctx, f)
		if err != nil {
			return nil, nil, err
		}
		l := Level{Targets: want, Uncovered: want - int(r.Covered), Chosen: len(r.Sets)}
		targets, seeds = newBitset(n), seeds[:0]
		for i, s := range r.Sets {
			if r.Gains[i] >= uint64(minYield) {
				targets.add(graph.Node(s))
				seeds = append(seeds, graph.Node(s))
			}
		}
		l.Yielding = len(seeds)
		want = len(seeds)
		told = append(told, l)
	}
	return seeds, told, nil
}

// allPages has as set v what page v links to among the targets, if it may be a seed.
type allPages struct {
	g       graph.Graph
	targets bitset
	may     func(graph.Node) bool
}

func (f *allPages) NumSets() uint64     { return uint64(f.g.NumNodes()) }
func (f *allPages) NumElements() uint64 { return uint64(f.g.NumNodes()) }

func (f *allPages) Scan(visit func(set uint64, elements []uint64) error) error {
	var out []uint64
	return f.g.Scan(0, graph.Node(f.g.NumNodes()), func(u graph.Node, succ []graph.Node) error {
		out = out[:0]
		if f.may == nil || f.may(u) {
			for _, v := range succ {
				if f.targets.has(v) {
					out = append(out, uint64(v))
				}
			}
		}
		return visit(uint64(u), out)
	})
}

var (
	_ cover.Family = (*family)(nil)
	_ cover.Family = (*allPages)(nil)
)
