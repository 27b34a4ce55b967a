package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	engine "forage/cover" // the package of tables has a cover of its own
	"forage/graph"
	"forage/graph/bv"
	"forage/graph/gen"
	"forage/retain"
	"forage/seed"
)

// setCover reproduces Set Cover at Web Scale.
var setCover = []Experiment{ // [ST15]
	{"setcover-fig2", "size of the cover by iteration of SPGreedy", setCoverFig2},
	{"setcover-fig3", "time by iteration of SPGreedy", setCoverFig3},
	{"setcover-fig4", "what the layered cover's seeds reach, beside other lists", setCoverFig4},
	{"setcover-fig5", "the cover of the cover", setCoverFig5},
}

// A coverGraph is a graph that the figures of [ST15] use in place of the paper's web.
type coverGraph struct {
	name string
	load func() (*graph.CSR, error)
}

// coverPages is the size of the generated graphs: a web of this size has 10^7 arcs.
var coverPages = 335_000

// coverGraphs returns the web graphs (*.graph) of the data, if there are any, and two that are generated from the seed of env: a web
// with hosts and a copying web.
func coverGraphs(env *Env) ([]coverGraph, error) {
	var out []coverGraph
	if _, err := os.Stat(env.Data); err != nil {
		return nil, err
	}
	files, err := env.Files(".graph")
	if err == nil {
		for _, path := range files {
			out = append(out, coverGraph{filepath.Base(path[:len(path)-len(".graph")]), func() (*graph.CSR, error) {
				g, err := bv.Open(path)
				if err != nil {
					return nil, err
				}
				c, err := graph.Load(g)
				return c, errors.Join(err, g.Close())
			}})
		}
	}
	return append(out,
		coverGraph{"weblike", func() (*graph.CSR, error) { return gen.Weblike(coverPages, 21, env.Seed) }},
		coverGraph{"copying", func() (*graph.CSR, error) {
			return gen.Copying(coverPages, 10, 0.3, gen.Options{Seed: env.Seed})
		}}), nil
}

// An iteration is one level of SPGreedy that took a set.
type iteration struct {
	least   float64 // p_L: sets that cover so much are taken
	taken   uint64  // sets, up to and including this level
	covered uint64
	seconds float64 // since the level before ended
}

// iterations covers g by the out-links of its pages with SPGreedy and tells of each level. A set
// taken in level L has a gain in [p_L, p_{L+1}), so gains tell the levels.
func iterations(ctx context.Context, g *graph.CSR, p float64) ([]iteration, *engine.Result, error) {
	var out []iteration
	level := -1
	last := time.Now()
	var taken, covered uint64
	o := engine.Options{P: p, Take: func(_, gain uint64) error {
		l := int(math.Floor(math.Log(float64(gain))/math.Log(p) + 1e-9))
		now := time.Now()
		if level < 0 || l < level {
			level = l
			out = append(out, iteration{least: math.Pow(p, float64(l))})
		}
		taken++
		covered += gain
		it := &out[len(out)-1]
		it.taken, it.covered = taken, covered
		it.seconds += now.Sub(last).Seconds()
		last = now
		return nil
	}}
	r, err := engine.SPGreedy(ctx, engine.OutLinks(g), o)
	return out, r, err
}

// [ST15, Fig. 2]: size of the cover by iteration, for p = 1.2 and 2.
func setCoverFig2(ctx context.Context, env *Env) (*Result, error) {
	r := &Result{Columns: []string{"graph", "p", "iteration", "sets that cover at least", "cover so far", "covered so far", "share covered"}}
	graphs, err := coverGraphs(env)
	if err != nil {
		return nil, err
	}
	r.Figure = &Figure{}
	var all []coverSizes
	for _, cg := range graphs {
		g, err := cg.load()
		if err != nil {
			return nil, err
		}
		panel := Panel{Title: cg.name, X: "iteration", Y: "sets in the cover"}
		sizes := map[float64]int{}
		for _, p := range []float64{1.2, 2} {
			its, res, err := iterations(ctx, g, p)
			if err != nil {
				return nil, err
			}
			s := Series{Name: fmt.Sprintf("p = %v", p)}
			for i, it := range its {
				r.Add(cg.name, p, i+1, it.least, int(it.taken), int(it.covered), float64(it.covered)/float64(res.Coverable))
				s.X, s.Y = append(s.X, float64(i+1)), append(s.Y, float64(it.taken))
			}
			sizes[p] = int(res.Taken)
			panel.Series = append(panel.Series, s)
		}
		r.Figure.Panels = append(r.Figure.Panels, panel)
		all = append(all, coverSizes{cg.name, sizes[1.2], sizes[2]})
		env.progress("%s: done", cg.name)
	}
	fig2Notes(r, all)
	return r, nil
}

// coverSizes are the sets in a graph's cover for p = 1.2 and p = 2.
type coverSizes struct {
	graph     string
	fine, two int
}

// fig2Notes stands the sizes beside the printed ones, of which the finer p has the larger.
func fig2Notes(r *Result, all []coverSizes) {
	larger := 0 // graphs on which p = 2 gives the larger cover
	for _, c := range all {
		if c.two > c.fine {
			larger++
		}
		r.Notef("%s: the cover has %d sets for p = 1.2 and %d for p = 2: %+.2f%%.", c.graph, c.fine, c.two, 100*(float64(c.two)/float64(c.fine)-1))
	}
	text := fmt.Sprintf("The paper prints 7,655,425,042 sets for p = 1.2 and 7,421,503,788 for p = 2 and calls them within 2%% of each other; they differ by %.2f%%. "+
		"The coarser levels of p = 2 give the larger cover on %d of %d graphs here", 100*(7655425042./7421503788-1), larger, len(all))
	if larger == len(all) {
		text += ": the printed labels look swapped"
	}
	r.Notef("%s. Iterations that took no set are not counted.", text)
}

// [ST15, Fig. 3]: time by iteration.
func setCoverFig3(ctx context.Context, env *Env) (*Result, error) {
	r := &Result{Columns: []string{"graph", "p", "iteration", "sets that cover at least", "seconds", "share of the run"}}
	graphs, err := coverGraphs(env)
	if err != nil {
		return nil, err
	}
	r.Figure = &Figure{}
	var all []coverTimes
	for _, cg := range graphs {
		g, err := cg.load()
		if err != nil {
			return nil, err
		}
		panel := Panel{Title: cg.name, X: "iteration", Y: "seconds"}
		totals := map[float64]float64{}
		for _, p := range []float64{1.2, 2} {
			its, _, err := iterations(ctx, g, p)
			if err != nil {
				return nil, err
			}
			for _, it := range its {
				totals[p] += it.seconds
			}
			s := Series{Name: fmt.Sprintf("p = %v", p)}
			for i, it := range its {
				r.Add(cg.name, p, i+1, it.least, it.seconds, it.seconds/totals[p])
				s.X, s.Y = append(s.X, float64(i+1)), append(s.Y, it.seconds)
			}
			panel.Series = append(panel.Series, s)
		}
		r.Figure.Panels = append(r.Figure.Panels, panel)
		all = append(all, coverTimes{cg.name, totals[1.2], totals[2]})
	}
	fig3Notes(r, all)
	return r, nil
}

// coverTimes are the seconds that a graph's cover takes for p = 1.2 and p = 2.
type coverTimes struct {
	graph     string
	fine, two float64
}

// fig3Notes stands the times beside the printed ones, of which that for p = 2 is the longer.
func fig3Notes(r *Result, all []coverTimes) {
	shorter := 0
	for _, c := range all {
		if c.two < c.fine {
			shorter++
		}
		r.Notef("%s: %.3f s for p = 1.2, %.3f s for p = 2: %.2f times.", c.graph, c.fine, c.two, c.two/c.fine)
	}
	text := fmt.Sprintf("The paper needs 1150 minutes for p = 1.2 and 3006 for p = 2, 2.6 times, because one reducer gets all candidates of a level. Here p = 2 takes less on %d of %d graphs", shorter, len(all))
	if shorter > 0 {
		text += ", the opposite: within one machine there is no such reducer, and fewer levels mean fewer looks"
	}
	r.Notef("%s. Times are of this run and differ from run to run; the first iteration includes loading.", text)
}

// topByLinks returns the k pages of most links.
func topByLinks(g *graph.CSR, k int) []graph.Node { return graph.Top(indegrees(g), k, nil) }

// seedHops is how many hops seeds are followed [ST15, §5.3].
const seedHops = 4

// A seedRow is what a list of seeds reaches in a graph.
type seedRow struct {
	graph, seeds string
	number       int
	reached      [seedHops + 1]int // pages, by hops
	median       float64           // of the PageRank of what is reached, as a multiple of the mean
}

// The lists of seeds that setCoverFig4 compares. A list "as many" has as many pages as the layered one before it.
const (
	seedsL0            = "L0"
	seedsLayered       = "layered"
	seedsReach         = "reach"
	seedsLinks         = "top in-degree"
	seedsRank          = "top PageRank"
	seedsRandom        = "random"
	seedsLayeredRandom = "layered, L0 at random"
	seedsRandomToo     = "random, as many as layered of L0 at random"
)

// [ST15, Fig. 4]: pages discovered from the layered cover's seeds against other lists of the same
// size, by hop.
func setCoverFig4(ctx context.Context, env *Env) (*Result, error) {
	r := &Result{Columns: []string{"graph", "seeds", "number", "hop", "reached", "layered reaches times as much", "reached per fetch", "median PageRank of reached × n", "layered's median times as high"}}
	graphs, err := coverGraphs(env)
	if err != nil {
		return nil, err
	}
	r.Figure = &Figure{}
	var rows []seedRow
	for _, cg := range graphs {
		g, err := cg.load()
		if err != nil {
			return nil, err
		}
		n := g.NumNodes()
		rank, err := retain.FullRank(g, retain.Config{})
		if err != nil {
			return nil, err
		}
		task := &seed.Task{Depth: seedHops}
		size := max(1, n/100)
		l0 := topByLinks(g, size)
		layered, err := seed.Layered(ctx, g, l0, task, seed.LayeredConfig{Algorithm: engine.NameSPGreedy})
		if err != nil {
			return nil, err
		}
		k := len(layered.Seeds)
		random := rand.New(rand.NewPCG(env.Seed, 0))
		reach, err := seed.Reach(g, g.Transpose(), task, max(1, k), seed.ReachConfig{}, random)
		if err != nil {
			return nil, err
		}
		chance := retain.RandomStart(n, k, random)
		layeredRandom, err := seed.Layered(ctx, g, retain.RandomStart(n, size, random), task, seed.LayeredConfig{Algorithm: engine.NameSPGreedy})
		if err != nil {
			return nil, err
		}
		panel := Panel{Title: cg.name, X: "hops", Y: "pages reached"}
		var ours seedRow
		for i, l := range []struct {
			name  string
			seeds []graph.Node
		}{
			{seedsLayered, layered.Seeds},
			{seedsL0, l0},
			{seedsReach, reach},
			{seedsLinks, topByLinks(g, k)},
			{seedsRank, graph.Top(rank, k, nil)},
			{seedsRandom, chance},
			{seedsLayeredRandom, layeredRandom.Seeds},
			{seedsRandomToo, retain.RandomStart(n, len(layeredRandom.Seeds), random)},
		} {
			row, err := reachedBy(g, rank, task, l.seeds)
			if err != nil {
				return nil, err
			}
			row.graph, row.seeds = cg.name, l.name
			if i == 0 {
				ours = row
			}
			s := Series{Name: l.name}
			for h, x := range row.reached {
				var perFetch, median, times any
				if h > 0 && row.reached[h-1] > 0 {
					perFetch = float64(x) / float64(row.reached[h-1])
				}
				if h == seedHops {
					median, times = row.median, ours.median/row.median
				}
				r.Add(cg.name, l.name, row.number, h, x, float64(ours.reached[h])/float64(x), perFetch, median, times)
				s.X, s.Y = append(s.X, float64(h)), append(s.Y, float64(x))
			}
			panel.Series = append(panel.Series, s)
			rows = append(rows, row)
		}
		r.Figure.Panels = append(r.Figure.Panels, panel)
		r.Notef("%s: %d covers at depth %d make %d seeds of an L0 of the %d pages with most links; layers %v.", cg.name, len(layered.Passes), seedHops, k, len(l0), layered.LayerSize)
		env.progress("%s: done", cg.name)
	}
	fig4Notes(r, rows)
	return r, nil
}

// reachedBy follows the links of seeds.
func reachedBy(g *graph.CSR, rank []float64, task *seed.Task, seeds []graph.Node) (row seedRow, err error) {
	reached, err := seed.NewReached(g, task)
	if err != nil {
		return row, err
	}
	for _, v := range seeds {
		if _, _, err := reached.Add(v); err != nil {
			return row, err
		}
	}
	row.number = len(seeds)
	var ranks []float64
	for v := range graph.Node(g.NumNodes()) {
		if _, ok := reached.Hops(v); ok {
			ranks = append(ranks, rank[v])
		}
	}
	if slices.Sort(ranks); len(ranks) > 0 {
		row.median = ranks[len(ranks)/2] * float64(g.NumNodes())
	}
	for h := range row.reached {
		row.reached[h] = reached.Within(h)
	}
	return row, nil
}

// What the paper prints of its layered seeds beside a list that people made [ST15, §5.3]: pages reached, and the median of a measure
// like PageRank.
const (
	printedReach  = 3.84
	printedMedian = 2.32
)

// fig4Notes says whether the paper's headline comes out, and where layered seeds pay.
func fig4Notes(r *Result, rows []seedRow) {
	of := map[string]map[string]seedRow{}
	var graphs []string
	for _, row := range rows {
		if of[row.graph] == nil {
			graphs, of[row.graph] = append(graphs, row.graph), map[string]seedRow{}
		}
		of[row.graph][row.seeds] = row
	}
	times := func(a, b seedRow, hop int) float64 { return float64(a.reached[hop]) / float64(b.reached[hop]) }
	var pays, not, headline, medians []string
	reached := [2]int{} // graphs on which the pages, and the median, are as many times those of chance as printed
	for _, name := range graphs {
		lists := of[name]
		layered, chance, l0 := lists[seedsLayered], lists[seedsRandom], lists[seedsL0]
		best := seedsReach
		for _, other := range []string{seedsLinks, seedsRank, seedsRandom} {
			if lists[other].reached[seedHops] > lists[best].reached[seedHops] {
				best = other
			}
		}
		text := fmt.Sprintf("%s: with %.0f%% of L0's pages layered reaches %.1f%% of what L0 does within %d hops. That is %.3g times what as many random pages reach, and %.3g times what the best list of as many (%s) does.",
			name, 100*share(layered.number, l0.number), 100*times(layered, l0, seedHops), seedHops, times(layered, chance, seedHops), times(layered, lists[best], seedHops), best)
		var behind []string
		for h := 1; h <= seedHops; h++ {
			if layered.reached[h] < chance.reached[h] {
				behind = append(behind, fmt.Sprint(h))
			}
		}
		if len(behind) > 0 {
			text += fmt.Sprintf(" Random pages are ahead of it at hops %s, by up to %.3g times.", strings.Join(behind, ", "), 1/slices.Min([]float64{
				times(layered, chance, 1), times(layered, chance, 2), times(layered, chance, 3), times(layered, chance, 4)}))
		}
		text += fmt.Sprintf(" Of an L0 at random layered takes %.0f%% and reaches %.3g times what as many random pages do.",
			100*share(lists[seedsLayeredRandom].number, l0.number), times(lists[seedsLayeredRandom], lists[seedsRandomToo], seedHops))
		r.Notef("%s", text)
		headline = append(headline, fmt.Sprintf("%.3g (%s)", times(layered, chance, seedHops), name))
		median := layered.median / chance.median
		medians = append(medians, fmt.Sprintf("%.3g (%s)", median, name))
		if times(layered, chance, seedHops) >= printedReach {
			reached[0]++
		}
		if median >= printedMedian {
			reached[1]++
		}
		if times(layered, chance, seedHops) > 1 {
			pays = append(pays, name)
		} else {
			not = append(not, name)
		}
	}
	verdict := func(reached int) string {
		if reached == 0 {
			return "is not reproduced"
		}
		return fmt.Sprintf("is reached on %d of %d", reached, len(graphs))
	}
	r.Notef("The paper's headline is the layered list's %.2f times as many pages after 4 hops as a list that people made finds. No such list exists for these graphs; beside chance it %s: %s times.",
		printedReach, verdict(reached[0]), strings.Join(headline, ", "))
	r.Notef("Its median of a measure like PageRank, %.2f times as high, %s beside chance: %s times.", printedMedian, verdict(reached[1]), strings.Join(medians, ", "))
	all := func(names []string) string {
		if len(names) == 0 {
			return "none"
		}
		return strings.Join(names, ", ")
	}
	r.Notef("Layered seeds are pages of L0 and reach no more than it does. They pay where a good list exists and is to be shorter; they reach more than chance only where L0 does: here on %s; not on %s.", all(pays), all(not))
}

// [ST15, Fig. 5]: the cover of the cover.
func setCoverFig5(ctx context.Context, env *Env) (*Result, error) {
	r := &Result{Columns: []string{"graph", "level", "to cover", "linked by no page", "cover", "yield ≥ 3", "low yield", "yield ≥ 3 of the graph", "printed, of the graph", "reached in as many hops", "share of what has links"}}
	graphs, err := coverGraphs(env)
	if err != nil {
		return nil, err
	}
	panel := Panel{Title: "cover of the cover", X: "level", Y: "pages of yield ≥ 3, share of the graph", LogY: true}
	reachedShare := map[string][]float64{} // by graph and level
	for _, cg := range graphs {
		g, err := cg.load()
		if err != nil {
			return nil, err
		}
		n := g.NumNodes()
		_, levels, err := seed.TwoLevel(ctx, g, 3, 3, &seed.Task{}, seed.LayeredConfig{Algorithm: engine.NameSPGreedy})
		if err != nil {
			return nil, err
		}
		linked := n - levels[0].Uncovered
		printed := []any{941e6 / 20579558276., 11e6 / 20579558276., nil}
		s := Series{Name: cg.name, X: []float64{0}, Y: []float64{1}}
		for i, l := range levels {
			seeds, _, err := seed.TwoLevel(ctx, g, i+1, 3, &seed.Task{}, seed.LayeredConfig{Algorithm: engine.NameSPGreedy})
			if err != nil {
				return nil, err
			}
			reached := 0
			for d, layer := range g.Layers(seeds, i+1) {
				if d > 0 {
					reached += len(layer)
				}
			}
			r.Add(cg.name, i+1, l.Targets, l.Uncovered, l.Chosen, l.Yielding, l.Chosen-l.Yielding, share(l.Yielding, n), printed[i], reached, share(reached, linked))
			s.X, s.Y = append(s.X, float64(i+1)), append(s.Y, share(l.Yielding, n))
			reachedShare[cg.name] = append(reachedShare[cg.name], share(reached, linked))
		}
		panel.Series = append(panel.Series, s)
		env.progress("%s: done", cg.name)
	}
	panel.Series = append(panel.Series, Series{Name: "the paper's web", X: []float64{0, 1, 2}, Y: []float64{1, 941e6 / 20579558276., 11e6 / 20579558276.}})
	r.Figure = &Figure{Panels: []Panel{panel}}
	r.Notef("The paper: 20.6 billion pages; a cover of 941 million pages of yield ≥ 3 and 6.5 billion others; of the 941 million, a cover of 11 million and 387 million others. A third level is added here. Reached are pages within as many hops as there are levels, the seeds themselves left out.")
	fig5Notes(r, panel.Series, reachedShare)
	return r, nil
}

// fig5Notes stands the shares of the graph that the covers' pages of yield 3 and more are beside the printed ones, and says what two levels
// reach.
func fig5Notes(r *Result, yielding []Series, reached map[string][]float64) {
	printed := yielding[len(yielding)-1] // the paper's
	for _, s := range yielding[:len(yielding)-1] {
		text := fmt.Sprintf("%s: pages of yield ≥ 3 are", s.Name)
		for level := 1; level < len(printed.Y); level++ {
			text += fmt.Sprintf(" %.3g of the graph at level %d (the paper %.3g),", s.Y[level], level, printed.Y[level])
		}
		r.Notef("%s and those of level 2 lead to %.1f%% of all pages with links to them within 2 hops; the paper says the majority of the graph.", text[:len(text)-1], 100*reached[s.Name][1])
	}
}
