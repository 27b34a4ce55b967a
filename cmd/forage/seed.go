package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/cover"
	"forage/cover/sets"
	"forage/export"
	"forage/graph"
	"forage/graph/arcs"
	"forage/retain"
	"forage/seed"
	"forage/store"
)

type seedFlags struct {
	in        graphInput
	dir       string
	method    string
	levels    int
	depth     int
	k         int
	l0        string
	l0Degree  int
	l0Rank    int
	l0Hosts   bool
	l0Trusted int
	minYield  int

	labels, covered, targets, exclude, only, trusted, weights, against string

	dropDangling bool
	domainWeight float64
	perHost      int
	perDomain    int
	dead         float64

	algorithm string
	p, q      float64
	temp      string
	threads   int
	seed      uint64

	evaluate bool
	plan     bool
	urlsOnly bool
	out      string
	json     bool
}

func seedCmd() *cobra.Command {
	var f seedFlags
	cmd := &cobra.Command{
		Use:   "seed GRAPH",
		Short: "Choose where to start, when an earlier crawl's graph is known",
		Long: `Seed chooses few pages from which much of the web is reached within few hops, from the
graph of an earlier crawl: a file of arcs, a graph in BV format (NAME.graph), or a store (--dir).

Methods: reach picks --k pages that together reach as much as they can within --depth hops.
layered picks a part of a good set L0 from which all is reached that is reached from L0; L0
is a file, or the pages of most links (--l0-top-indegree), of highest PageRank (--l0-pagerank),
one page a host (--l0-hosts), or those that trusted pages vouch for (--l0-trusted). two-level
covers the graph, then the pages of good yield of that cover, for --levels levels.

The list comes in the order chosen, so any beginning of it is a list too: as a table
(url, node, gain, reached_cumulative, domain) or, with --urls-only, as what 'forage crawl --seeds'
takes. Gain is how many pages the seed adds to what is reached within the depth.

Files of pages hold a node number, a URL or a domain a line; URLs and domains need names:
--labels, a line a node with its number and its URL or host (com.example.www too), or a store.`,
		Example: `  forage seed web.graph --k 1000 --depth 3 --labels urls.gz --urls-only -o seeds.txt
  forage seed arcs.tsv --method layered --depth 4 --l0-top-indegree 500
  forage seed --dir forage-data --k 50 --evaluate`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, len(args)); err != nil {
				return err
			}
			if len(args) == 0 {
				return onStore(cmd, f.dir, func(v *store.View) error {
					links, err := export.Links(v)
					if err != nil {
						return err
					}
					g, err := graph.Load(links)
					if err != nil {
						return err
					}
					return f.run(cmd, g, func(n int) (*names, error) { return storeNames(v, n), nil })
				})
			}
			call := callOf(cmd.Context())
			if f.plan {
				return f.planFor(cmd, call.path(args[0]))
			}
			g, closeGraph, err := f.in.open(call.path(args[0]))
			if err != nil {
				return err
			}
			err = f.run(cmd, g, func(n int) (*names, error) {
				if f.labels == "" {
					return nil, nil
				}
				return labelFile(call.path(f.labels), n)
			})
			return errors.Join(err, closeGraph())
		},
	}
	fs := cmd.Flags()
	f.in.flags(fs)
	fs.StringVar(&f.dir, "dir", "forage-data", "folder of the store, where no graph is given")
	fs.StringVar(&f.method, "method", "reach", "reach, layered or two-level")
	fs.IntVar(&f.depth, "depth", 3, "hops within which pages are to be reached")
	fs.IntVar(&f.levels, "levels", 2, "covers of two-level")
	fs.IntVar(&f.k, "k", 0, "number of seeds (0: reach 1000, the others as many as they need)")
	fs.StringVar(&f.l0, "l0", "", "layered: file of the pages of L0")
	fs.IntVar(&f.l0Degree, "l0-top-indegree", 0, "layered: L0 is the pages of most links (where nothing is said: 500)")
	fs.IntVar(&f.l0Rank, "l0-pagerank", 0, "layered: L0 is the pages of highest PageRank")
	fs.BoolVar(&f.l0Hosts, "l0-hosts", false, "layered: L0 is the page of most links of each host")
	fs.IntVar(&f.l0Trusted, "l0-trusted", 0, "layered: L0 is the pages that most --trusted pages reach within 2 hops")
	fs.IntVar(&f.minYield, "min-yield", 3, "two-level: pages that a page must newly cover to count")
	fs.StringVar(&f.labels, "labels", "", "file of names, a node number and a URL or host a line")
	fs.StringVar(&f.covered, "covered", "", "file of pages that are known already and need not be reached")
	fs.StringVar(&f.targets, "targets", "", "file of the pages that are to be reached, or a regular expression for their URLs (default: all)")
	fs.StringVar(&f.exclude, "exclude", "", "file of pages and domains that may not be seeds")
	fs.StringVar(&f.only, "only", "", "file of pages and domains that alone may be seeds")
	fs.StringVar(&f.trusted, "trusted", "", "file of trusted pages and domains: seeds must lie within 2 hops of one, and no domain's pages count for more than --domain-weight")
	fs.Float64Var(&f.domainWeight, "domain-weight", 1000, "with --trusted: pages that a domain counts for at most")
	fs.BoolVar(&f.dropDangling, "drop-dangling", false, "leave out pages without links: they are neither seeds nor count as reached")
	fs.StringVar(&f.weights, "weights", "", "file with a node number and what it is worth a line (others: 1)")
	fs.IntVar(&f.perHost, "per-host", 0, "reach: seeds of one host at most (0: no limit)")
	fs.IntVar(&f.perDomain, "per-domain", 0, "reach: seeds of one registered domain at most (0: no limit)")
	fs.Float64Var(&f.dead, "p-dead", 0, "reach: probability that a seed is gone when it is fetched")
	fs.StringVar(&f.algorithm, "algorithm", "auto", "engine of the covers; auto covers as the textbook greedy does")
	fs.Float64Var(&f.p, "p", 0, "levels of spgreedy and pgreedy: powers of p")
	fs.Float64Var(&f.q, "q", 0, "slack of rfgreedy and pgreedy")
	fs.StringVar(&f.temp, "temp", "", "layered, two-level: folder for covers that do not fit in memory (default: the system's)")
	fs.IntVar(&f.threads, "threads", 0, "of the covers; 0: one a processor")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of everything random")
	fs.BoolVar(&f.evaluate, "evaluate", false, "compare with lists of the same length: top in-degree, PageRank, harmonic centrality, random")
	fs.StringVar(&f.against, "against", "", "with --evaluate: file of a list to compare with")
	fs.BoolVar(&f.plan, "plan", false, "tell the memory and time that it would take, and stop")
	fs.BoolVar(&f.urlsOnly, "urls-only", false, "write URLs only, or node numbers where there are none")
	fs.StringVarP(&f.out, "output", "o", "", "file for the list (default: standard output)")
	fs.BoolVar(&f.json, "json", false, "one JSON object about the run; the list goes to -o only")
	return cmd
}

// check refuses flags that do not go together.
func (f *seedFlags) check(cmd *cobra.Command, graphs int) error {
	set := cmd.Flags().Changed
	if graphs == 1 && set("dir") {
		return usagef("a graph or --dir, not both")
	}
	if graphs == 0 && !set("dir") {
		return usagef("want a graph, or --dir for the graph of a store; see 'forage seed --help'")
	}
	if graphs == 0 && (f.labels != "" || f.plan) {
		return usagef("--labels and --plan are for graphs in files; a store knows its names")
	}
	if !slices.Contains([]string{"reach", "layered", "two-level"}, f.method) {
		return usagef("there is no method %q; known: reach, layered, two-level", f.method)
	}
	for _, only := range []struct{ flag, method string }{
		{"l0", "layered"}, {"l0-top-indegree", "layered"}, {"l0-pagerank", "layered"}, {"l0-hosts", "layered"}, {"l0-trusted", "layered"},
		{"min-yield", "two-level"}, {"levels", "two-level"}, {"per-host", "reach"}, {"per-domain", "reach"}, {"p-dead", "reach"},
	} {
		if set(only.flag) && f.method != only.method {
			return usagef("--%s is for --method %s", only.flag, only.method)
		}
	}
	if f.method == "two-level" && set("depth") {
		return usagef("--depth is not for --method two-level, whose depth is --levels")
	}
	chosen := 0
	for _, flag := range []string{"l0", "l0-top-indegree", "l0-pagerank", "l0-hosts", "l0-trusted"} {
		if set(flag) {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return usagef("L0 is named twice; want one of --l0, --l0-top-indegree, --l0-pagerank, --l0-hosts, --l0-trusted")
	case f.depth < 1 || f.depth > seed.MaxDepth:
		return usagef("--depth %d: want 1 to %d", f.depth, seed.MaxDepth)
	case f.levels < 1 || f.levels > seed.MaxDepth:
		return usagef("--levels %d: want 1 to %d", f.levels, seed.MaxDepth)
	case f.k < 0 || set("k") && f.k == 0:
		return usagef("--k %d: want at least 1", f.k)
	case f.minYield < 1:
		return usagef("--min-yield %d: want at least 1", f.minYield)
	case set("l0-top-indegree") && f.l0Degree < 1 || set("l0-pagerank") && f.l0Rank < 1 || set("l0-trusted") && f.l0Trusted < 1:
		return usagef("L0 of no pages: want at least 1")
	case f.l0Trusted > 0 && f.trusted == "":
		return usagef("--l0-trusted needs --trusted")
	case f.perHost < 0 || f.perDomain < 0:
		return usagef("--per-host and --per-domain: want at least 1, or 0 for no limit")
	case !(f.dead >= 0 && f.dead < 1):
		return usagef("--p-dead %v: want a probability from 0 to below 1", f.dead)
	case !(f.domainWeight > 0):
		return usagef("--domain-weight %v: want it above 0", f.domainWeight)
	case f.against != "" && !f.evaluate:
		return usagef("--against needs --evaluate")
	case f.algorithm != "auto" && !slices.Contains(cover.Algorithms(), cover.Algorithm(f.algorithm)):
		return usagef("--algorithm %q: want auto or one of %v", f.algorithm, cover.Algorithms())
	}
	if f.method == "two-level" {
		f.depth = f.levels
	}
	if f.method == "reach" && f.k == 0 {
		f.k = 1000
	}
	o := cover.Options{P: f.p, Q: f.q}
	if f.algorithm != "auto" {
		return badInput(o.Check(cover.Algorithm(f.algorithm)))
	}
	if f.p != 0 || f.q != 0 {
		return usagef("--p and --q need an --algorithm")
	}
	return nil
}

// seedResult is what forage seed tells.
type seedResult struct {
	Method     string            `json:"method"`
	Depth      int               `json:"depth"`
	Seeds      int               `json:"seeds"`
	Reached    int               `json:"reached"`
	ByHops     []int             `json:"reached_by_hops"`
	Nodes      int               `json:"nodes"`
	Unreached  *int              `json:"unreached_from_l0,omitempty"`
	LayerSize  []int             `json:"layers,omitempty"`
	Passes     []seed.Pass       `json:"passes,omitempty"`
	Levels     []seed.Level      `json:"levels,omitempty"`
	Evaluation []seedsComparison `json:"evaluation,omitempty"`
	Seconds    float64           `json:"seconds"`
	PeakRSS    int64             `json:"peak_rss"`
}

func (f *seedFlags) run(cmd *cobra.Command, g graph.Graph, open func(n int) (*names, error)) error {
	began := time.Now()
	ctx := cmd.Context()
	n := g.NumNodes()
	if n == 0 {
		return usagef("the graph is empty: there is nothing to reach")
	}
	labels, err := open(n)
	if err != nil {
		return err
	}
	w := &seedWork{seedFlags: f, call: callOf(ctx), g: g, names: labels}
	task, err := w.task()
	if err != nil {
		return err
	}
	res := &seedResult{Method: f.method, Depth: f.depth, Nodes: n}
	seeds, err := w.choose(ctx, task, res)
	if errors.Is(err, seed.ErrNoLayer) || errors.Is(err, seed.ErrNoSeeds) {
		return badInput(err)
	}
	if err != nil {
		return err
	}
	if f.k > 0 && len(seeds) > f.k {
		seeds = seeds[:f.k]
	}
	if res.Unreached != nil && *res.Unreached > 0 && !f.json {
		fmt.Fprintf(cmd.ErrOrStderr(), "forage: not reached from L0 within %d hops: %d of %d pages\n", f.depth, *res.Unreached, n)
	}
	if len(seeds) == 0 && !f.json {
		fmt.Fprintln(cmd.ErrOrStderr(), "forage: no seed is needed: nothing that is to be reached lies behind the pages to start from")
	}

	reached, err := seed.NewReached(g, task)
	if err != nil {
		return badInput(err)
	}
	gains := make([]int, len(seeds))
	for i, v := range seeds {
		if gains[i], _, err = reached.Add(v); err != nil {
			return err
		}
	}
	res.Seeds, res.Reached = len(seeds), reached.Within(f.depth)
	for h := range f.depth + 1 {
		res.ByHops = append(res.ByHops, reached.Within(h))
	}
	if f.evaluate {
		if res.Evaluation, err = w.compare(ctx, task, seeds); err != nil {
			return err
		}
	}
	if err := w.write(cmd.OutOrStdout(), seeds, gains); err != nil {
		return err
	}
	res.Seconds, res.PeakRSS = time.Since(began).Seconds(), peakRSS()
	if f.json {
		return printJSON(cmd.OutOrStdout(), res)
	}
	if f.evaluate {
		return printComparison(cmd.OutOrStdout(), f.depth, res.Evaluation)
	}
	if f.out != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "%d seeds reach %d of %d pages within %d hops (%.1f s)\n", res.Seeds, res.Reached, n, f.depth, res.Seconds)
	}
	return nil
}

// A seedWork is one choice of seeds under way.
type seedWork struct {
	*seedFlags
	call         *call
	g            graph.Graph
	names        *names   // nil: none
	host, domain []uint32 // by node, where they are needed
	indegree     []uint32 // by node, where it is needed
	trust        []uint32 // by node, with --trusted
	csr, rev     *graph.CSR
}

// memory returns the graph and its transpose in memory.
func (w *seedWork) memory() (g, rev *graph.CSR, err error) {
	if w.csr == nil {
		if w.csr, err = graph.Load(w.g); err != nil {
			return nil, nil, err
		}
		w.g = w.csr
	}
	if w.rev == nil {
		w.rev = w.csr.Transpose()
	}
	return w.csr, w.rev, nil
}

// links returns the in-degrees.
func (w *seedWork) links() ([]uint32, error) {
	if w.indegree != nil {
		return w.indegree, nil
	}
	w.indegree = make([]uint32, w.g.NumNodes())
	err := w.g.Scan(0, graph.Node(w.g.NumNodes()), func(_ graph.Node, succ []graph.Node) error {
		for _, v := range succ {
			w.indegree[v]++
		}
		return nil
	})
	return w.indegree, err
}

// task makes what the flags say of pages into a task.
func (w *seedWork) task() (*seed.Task, error) {
	n := w.g.NumNodes()
	t := &seed.Task{Depth: w.depth}
	if w.names == nil && (w.perHost > 0 || w.perDomain > 0 || w.l0Hosts || w.trusted != "") {
		return nil, usagef("--per-host, --per-domain, --l0-hosts and --trusted need names: --labels")
	}
	if w.perHost > 0 || w.perDomain > 0 || w.l0Hosts || w.trusted != "" {
		var err error
		if w.host, w.domain, err = w.names.groups(); err != nil {
			return nil, err
		}
	}
	if w.perHost > 0 {
		t.Limits = append(t.Limits, seed.Limit{Group: w.host, Max: w.perHost})
	}
	if w.perDomain > 0 {
		t.Limits = append(t.Limits, seed.Limit{Group: w.domain, Max: w.perDomain})
	}
	weights := func() []float32 {
		if t.Weights == nil {
			t.Weights = slices.Repeat([]float32{1}, n)
		}
		return t.Weights
	}
	if w.weights != "" {
		x := weights()
		err := eachLine(w.call.path(w.weights), func(line int, text string) error {
			fields := strings.Fields(text)
			if len(fields) != 2 {
				return fmt.Errorf("%s:%d: want a node number and a weight, got %q", w.weights, line, text)
			}
			v, err := strconv.ParseUint(fields[0], 10, 64)
			if err != nil || v >= uint64(n) {
				return fmt.Errorf("%s:%d: want a node from 0 to %d, got %q", w.weights, line, n-1, fields[0])
			}
			y, err := strconv.ParseFloat(fields[1], 32)
			if err != nil || !(y >= 0) || y > 1e30 {
				return fmt.Errorf("%s:%d: want a weight of at least 0, got %q", w.weights, line, fields[1])
			}
			x[v] = float32(y)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	barred := make([]bool, n)
	if w.trusted != "" {
		in, err := w.set(w.trusted)
		if err != nil {
			return nil, err
		}
		g, _, err := w.memory()
		if err != nil {
			return nil, err
		}
		var pages []graph.Node
		for v, ok := range in {
			if ok {
				pages = append(pages, graph.Node(v))
			}
		}
		w.trust = seed.Trust(g, pages, w.domain, 1)
		for v, k := range w.trust {
			barred[v] = k == 0
		}
		t.Weights = seed.Bounded(w.domain, t.Weights, w.domainWeight)
	}
	if w.targets != "" {
		var in []bool
		var err error
		if _, missing := os.Stat(w.call.path(w.targets)); missing == nil {
			in, err = w.set(w.targets)
		} else if w.names == nil {
			err = usagef("--targets %s: there is no such file, and a regular expression needs names: --labels", w.targets)
		} else {
			in, err = w.names.match(w.targets)
		}
		if err != nil {
			return nil, err
		}
		x := weights()
		for v := range x {
			if !in[v] {
				x[v] = 0
			}
		}
	}
	if w.covered != "" {
		in, err := w.set(w.covered)
		if err != nil {
			return nil, err
		}
		x := weights()
		for v := range x {
			if in[v] {
				x[v] = 0
			}
		}
	}
	if w.exclude != "" {
		in, err := w.set(w.exclude)
		if err != nil {
			return nil, err
		}
		for v, ok := range in {
			barred[v] = barred[v] || ok
		}
	}
	if w.only != "" {
		in, err := w.set(w.only)
		if err != nil {
			return nil, err
		}
		for v, ok := range in {
			barred[v] = barred[v] || !ok
		}
	}
	if w.dropDangling {
		x := weights()
		err := w.g.Scan(0, graph.Node(n), func(v graph.Node, succ []graph.Node) error {
			if len(succ) == 0 {
				x[v], barred[v] = 0, true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if slices.Contains(barred, true) {
		t.May = func(v graph.Node) bool { return !barred[v] }
	}
	return t, nil
}

func (w *seedWork) set(path string) ([]bool, error) {
	s, err := readSet(w.call.path(path), w.g.NumNodes())
	if err != nil {
		return nil, err
	}
	return s.mark(w.names, w.g.NumNodes())
}

// covers returns how layered and two-level cover: in memory, or out of core where --memory, or
// what is free, does not hold a family of the whole graph.
func (w *seedWork) covers() (c seed.LayeredConfig, err error) {
	c.Options = cover.Options{P: w.p, Q: w.q, Threads: w.threads}
	if w.algorithm != "auto" {
		c.Algorithm = cover.Algorithm(w.algorithm)
	}
	_, inMemory := w.g.(*graph.CSR)
	need, least, _ := w.estimate(int64(w.g.NumNodes()), int64(w.g.NumArcs()), !inMemory)
	limit := int64(w.in.memory)
	if limit == 0 {
		limit = int64(freeMemory())
		if inMemory {
			limit += 8*int64(w.g.NumNodes()) + 4*int64(w.g.NumArcs()) // it is there already
		}
	}
	if need <= limit {
		return c, nil
	}
	if least > limit {
		return c, usagef("%s takes %s at least, and there are %s; --plan tells more", w.method, binaryBytes(uint64(least)), binaryBytes(uint64(limit)))
	}
	if c.Algorithm != "" && c.Algorithm != cover.NameSPGreedy {
		return c, usagef("%s takes %s in memory, and there are %s: only spgreedy covers out of core", c.Algorithm, binaryBytes(uint64(need)), binaryBytes(uint64(limit)))
	}
	if w.temp != "" {
		w.temp = w.call.path(w.temp)
	}
	scratch, err := sets.NewScratch(w.temp)
	if err != nil {
		return c, err
	}
	c.Cover = func(ctx context.Context, f cover.Family) (*cover.Result, error) {
		return cover.External(ctx, f, scratch, c.Options)
	}
	return c, nil
}

// estimate returns the bytes that the method takes, the least that it can do with, and the
// seconds, for a graph that is in memory or streams from its file.
func (f *seedFlags) estimate(n, m int64, streams bool) (need, least int64, seconds float64) {
	held := 8*n + 4*m
	if f.method == "reach" {
		need = 2*held + 52*n
		return need, need, float64(m) * 1.2e-7 // 30 million arcs: 3.0 s, the transpose included
	}
	if streams {
		held = 0
	}
	passes := float64(f.levels) * 1e-7
	if f.method == "layered" {
		passes = float64(f.depth*(f.depth+1)/2) * 6e-8
	}
	// A family is at worst all arcs and its state; out of core, bits.
	return held + 4*m + 40*n, held + 3*n, float64(m) * passes
}

// choose runs the method.
func (w *seedWork) choose(ctx context.Context, t *seed.Task, res *seedResult) ([]graph.Node, error) {
	c, err := w.covers()
	if err != nil {
		return nil, err
	}
	switch w.method {
	case "layered":
		l0, err := w.firstLayer(t)
		if err != nil {
			return nil, err
		}
		s, err := seed.Layered(ctx, w.g, l0, t, c)
		if err != nil {
			return nil, err
		}
		res.Unreached, res.LayerSize, res.Passes = &s.Unreached, s.LayerSize, s.Passes
		return s.Seeds, nil
	case "two-level":
		seeds, levels, err := seed.TwoLevel(ctx, w.g, w.levels, w.minYield, t, c)
		res.Levels = levels
		return seeds, err
	}
	g, rev, err := w.memory()
	if err != nil {
		return nil, err
	}
	seeds, err := seed.Reach(g, rev, t, w.k, seed.ReachConfig{Dead: w.dead, Stop: func() bool { return ctx.Err() != nil }}, rand.New(rand.NewPCG(w.seed, 0)))
	return seeds, cmp.Or(err, ctx.Err())
}

// firstLayer returns L0 of a layered cover: by default the 500 pages of most links.
func (w *seedWork) firstLayer(t *seed.Task) ([]graph.Node, error) {
	n := w.g.NumNodes()
	top := func(score []uint32, k int) []graph.Node {
		// Of those that may be seeds, with a score.
		masked := make([]uint32, n)
		for v, s := range score {
			if t.May == nil || t.May(graph.Node(v)) {
				masked[v] = s + 1
			}
		}
		best := graph.Top(masked, k, nil)
		return slices.DeleteFunc(best, func(v graph.Node) bool { return masked[v] == 0 })
	}
	switch {
	case w.l0 != "":
		s, err := readSet(w.call.path(w.l0), n)
		if err != nil {
			return nil, err
		}
		in, err := s.mark(w.names, n)
		if err != nil {
			return nil, err
		}
		var l0 []graph.Node
		for v, ok := range in {
			if ok {
				l0 = append(l0, graph.Node(v))
			}
		}
		return l0, nil
	case w.l0Rank > 0:
		g, _, err := w.memory()
		if err != nil {
			return nil, err
		}
		rank, err := retain.FullRank(g, retain.Config{})
		if err != nil {
			return nil, err
		}
		for v := range rank {
			if t.May != nil && !t.May(graph.Node(v)) {
				rank[v] = -1
			}
		}
		best := graph.Top(rank, w.l0Rank, nil)
		return slices.DeleteFunc(best, func(v graph.Node) bool { return rank[v] < 0 }), nil
	case w.l0Trusted > 0:
		return top(w.trust, w.l0Trusted), nil
	}
	links, err := w.links()
	if err != nil {
		return nil, err
	}
	if w.l0Hosts {
		best := map[uint32]graph.Node{}
		for v := range graph.Node(n) {
			if t.May != nil && !t.May(v) {
				continue
			}
			if b, ok := best[w.host[v]]; !ok || links[v] > links[b] {
				best[w.host[v]] = v
			}
		}
		var l0 []graph.Node
		for _, v := range best {
			l0 = append(l0, v)
		}
		slices.Sort(l0)
		return l0, nil
	}
	k := w.l0Degree
	if k == 0 {
		k = 500
	}
	return top(links, k), nil
}

// write writes the list to -o, or to stdout where nothing else goes there.
func (w *seedWork) write(stdout io.Writer, seeds []graph.Node, gains []int) error {
	urls := make([]string, len(seeds))
	if w.names != nil {
		var err error
		if urls, err = w.names.of(seeds); err != nil {
			return err
		}
	} else {
		for i, v := range seeds {
			urls[i] = strconv.Itoa(int(v))
		}
	}
	list := func(to io.Writer) error {
		out := bufio.NewWriter(to)
		if !w.urlsOnly {
			fmt.Fprintln(out, "url\tnode\tgain\treached_cumulative\tdomain")
		}
		sum := 0
		for i, v := range seeds {
			sum += gains[i]
			if w.urlsOnly {
				fmt.Fprintln(out, urls[i])
				continue
			}
			domain := ""
			if w.names != nil {
				domain = domainOf(hostOf(urls[i]))
			}
			fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%s\n", urls[i], v, gains[i], sum, domain)
		}
		return out.Flush()
	}
	switch {
	case w.out != "":
		return arcs.Create(w.call.path(w.out), list)
	case w.json || w.evaluate:
		return nil
	}
	return list(stdout)
}

// planFor tells what the run would take, and refuses where that is more than --memory.
func (f *seedFlags) planFor(cmd *cobra.Command, path string) error {
	streams := strings.HasSuffix(path, ".graph")
	in := graphFiles{format: f.in.format}
	format, err := in.of([]string{path})
	if err != nil {
		return err
	}
	e, err := in.estimate([]string{path}, format, arcs.AsWritten)
	if err != nil {
		return err
	}
	n, m := int64(e.Nodes), int64(e.Arcs)
	p := seedPlan{Method: f.method, Nodes: n, Arcs: m, Exact: e.Exact}
	p.Graph = 8*n + 4*m
	p.Memory, p.Least, p.Seconds = f.estimate(n, m, streams)
	if f.labels != "" {
		if info, err := os.Stat(f.labels); err == nil {
			p.Disk = info.Size()
		}
	}
	if info, err := os.Stat(filepath.Clean(path)); err == nil {
		p.Disk += info.Size()
	}
	if f.json {
		if err := printJSON(cmd.OutOrStdout(), p); err != nil {
			return err
		}
	} else {
		about := "about "
		if p.Exact {
			about = ""
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s on %s%d nodes and %s%d arcs: about %s of memory, at least %s; about %.1f s; reads %s of files\n",
			p.Method, about, p.Nodes, about, p.Arcs, binaryBytes(uint64(p.Memory)), binaryBytes(uint64(p.Least)), p.Seconds, binaryBytes(uint64(p.Disk)))
	}
	limit := int64(f.in.memory)
	if limit == 0 {
		limit = int64(freeMemory())
	}
	if p.Least > limit {
		return usagef("at least %s are needed, and there are %s", binaryBytes(uint64(p.Least)), binaryBytes(uint64(limit)))
	}
	return nil
}

// seedPlan is what a run is expected to take.
type seedPlan struct {
	Method  string  `json:"method"`
	Nodes   int64   `json:"nodes"`
	Arcs    int64   `json:"arcs"`
	Exact   bool    `json:"exact"` // nodes and arcs are counted, not estimated
	Graph   int64   `json:"graph_bytes"`
	Memory  int64   `json:"memory"`
	Least   int64   `json:"least_memory"` // with covers out of core
	Disk    int64   `json:"disk_read"`
	Seconds float64 `json:"seconds"`
}
