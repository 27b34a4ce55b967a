package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"forage/cover"
	"forage/cover/sets"
	"forage/export"
	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/labels"
	"forage/graph/open"
	"forage/internal/machine"
	"forage/internal/units"
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
(url, node, gain, reached_cumulative, domain) or, with --urls-only, as URLs alone; 'forage crawl --seeds -'
takes both from a pipe. Gain is how many pages the seed adds to what is reached within the depth.

Files of pages hold a node number, a URL or a domain a line; URLs and domains need names:
--labels, a line a node with its number and its URL or host (com.example.www too), or a store.`,
		Example: `  forage seed web.graph --k 1000 --depth 3 --labels urls.gz --urls-only -o seeds.txt
  forage seed arcs.tsv --method layered --depth 4 --l0-top-indegree 500
  forage seed --dir forage-data --k 50 --evaluate
  forage seed --dir forage-data --k 50 | forage crawl --dir again --seeds - --budget 500`,
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
					return f.run(cmd, g, storeNames(v, g.NumNodes()))
				})
			}
			call := callOf(cmd.Context())
			if f.plan {
				return f.planFor(cmd, call.path(args[0]))
			}
			g, closeGraph, err := f.in.view(call.path(args[0]))
			if err != nil {
				return err
			}
			var names *labels.Names
			if f.labels != "" && g.NumNodes() > 0 {
				names, err = labels.Read(call.path(f.labels), g.NumNodes())
			}
			if err == nil {
				err = f.run(cmd, g, names)
			} else {
				err = graphError(err)
			}
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
	fs.IntVar(&f.l0Degree, "l0-top-indegree", 0, "layered: L0 is the pages of most links (where nothing is said: 500, or a tenth of all pages where that is fewer)")
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
	fs.StringVarP(&f.out, "output", "o", "", "file for the list, - for the standard output (default)")
	fs.BoolVar(&f.json, "json", false, "one JSON object about the run; the list goes to -o only")
	return cmd
}

// check refuses flags that do not go together.
func (f *seedFlags) check(cmd *cobra.Command, graphs int) error {
	set := cmd.Flags().Changed
	if f.out == "-" {
		if f.json || f.evaluate {
			return usagef("-o -: with --json and --evaluate the standard output tells of the run; want a file for the list")
		}
		f.out = ""
	}
	if graphs == 1 && set("dir") {
		return usagef("a graph or --dir, not both")
	}
	if graphs == 0 && !set("dir") {
		return usagef("want a graph, or --dir for the graph of a store; see 'forage seed --help'")
	}
	if graphs == 0 && (f.labels != "" || f.plan) {
		return usagef("--labels and --plan are for graphs in files; a store knows its names")
	}
	if !slices.Contains(seed.Names(), f.method) {
		return usagef("there is no method %q; known: %s", f.method, strings.Join(seed.Names(), ", "))
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
	*seed.Choice
	Evaluation []seed.List `json:"evaluation,omitempty"`
	Seconds    float64     `json:"seconds"`
	PeakRSS    int64       `json:"peak_rss"`
}

func (f *seedFlags) run(cmd *cobra.Command, g graph.Graph, names *labels.Names) error {
	began := time.Now()
	ctx := cmd.Context()
	n := g.NumNodes()
	if n == 0 {
		return usagef("the graph is empty: there is nothing to reach")
	}
	w := &seedWork{seedFlags: f, call: callOf(ctx), g: g, names: names}
	task, err := w.task()
	if err != nil {
		return err
	}
	m, err := w.choice(task)
	if err != nil {
		return err
	}
	chosen, err := m.Choose(ctx, w.g, task, rand.New(rand.NewPCG(w.seed, 0)))
	if errors.Is(err, seed.ErrNoLayer) || errors.Is(err, seed.ErrNoSeeds) {
		return badInput(err)
	}
	if err != nil {
		return err
	}
	res := &seedResult{Choice: chosen}
	if res.Unreached != nil && *res.Unreached > 0 && !f.json {
		fmt.Fprintf(cmd.ErrOrStderr(), "forage: not reached from L0 within %d hops: %d of %d pages\n", f.depth, *res.Unreached, n)
	}
	if res.NumSeeds == 0 && !f.json {
		fmt.Fprintln(cmd.ErrOrStderr(), "forage: no seed is needed: nothing that is to be reached lies behind the pages to start from")
	}
	if f.evaluate {
		if res.Evaluation, err = w.compare(ctx, task, chosen.Seeds); err != nil {
			return err
		}
	}
	if err := w.write(cmd.OutOrStdout(), chosen); err != nil {
		return err
	}
	res.Seconds, res.PeakRSS = time.Since(began).Seconds(), machine.PeakRSS()
	if f.json {
		return printJSON(cmd.OutOrStdout(), res)
	}
	if f.evaluate {
		return printComparison(cmd.OutOrStdout(), f.depth, res.Evaluation)
	}
	if f.out != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "%d seeds reach %d of %d pages within %d hops (%.1f s)\n", res.NumSeeds, res.Reached, n, f.depth, res.Seconds)
	}
	return nil
}

// storeNames returns the URLs of a store's documents. What the store cannot read is no fault of
// the user's.
func storeNames(v *store.View, n int) *labels.Names {
	return labels.New(n, func(visit func(graph.Node, string) error) error {
		var failed error
		err := v.Docs(func(d *store.Doc) bool {
			if int(d.ID) < n {
				failed = visit(d.ID, d.URL)
			}
			return failed == nil
		})
		if err != nil && failed == nil {
			return &exitError{exitFailed, err}
		}
		return failed
	})
}

// A seedWork is one choice of seeds under way.
type seedWork struct {
	*seedFlags
	call     *call
	g        graph.Graph
	names    *labels.Names // nil: none
	criteria seed.Criteria
	host     []uint32 // by node, where names are asked for
}

// memory returns the graph in memory.
func (w *seedWork) memory() (*graph.CSR, error) {
	if c, ok := w.g.(*graph.CSR); ok {
		return c, nil
	}
	c, err := graph.Load(w.g)
	if err == nil {
		w.g = c
	}
	return c, err
}

// task makes what the flags say of pages into a task.
func (w *seedWork) task() (*seed.Task, error) {
	n := w.g.NumNodes()
	c := &w.criteria
	c.Depth, c.DomainWeight, c.DropDangling = w.depth, w.domainWeight, w.dropDangling
	if w.perHost > 0 || w.perDomain > 0 || w.l0Hosts || w.trusted != "" {
		if w.names == nil {
			return nil, usagef("--per-host, --per-domain, --l0-hosts and --trusted need names: --labels")
		}
		var err error
		if w.host, c.Domain, err = w.names.Groups(); err != nil {
			return nil, graphError(err)
		}
	}
	if w.perHost > 0 {
		c.Limits = append(c.Limits, seed.Limit{Group: w.host, Max: w.perHost})
	}
	if w.perDomain > 0 {
		c.Limits = append(c.Limits, seed.Limit{Group: c.Domain, Max: w.perDomain})
	}
	var err error
	if w.weights != "" {
		if c.Weights, err = labels.ReadWeights(w.call.path(w.weights), n); err != nil {
			return nil, graphError(err)
		}
	}
	if w.trusted != "" {
		in, err := w.set(w.trusted)
		if err != nil {
			return nil, err
		}
		g, err := w.memory()
		if err != nil {
			return nil, err
		}
		c.Trust = seed.Trust(g, seed.Members(in), c.Domain, 1)
	}
	if w.targets != "" {
		if c.Targets, err = w.pages(w.targets); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		path string
		to   *[]bool
	}{{w.covered, &c.Covered}, {w.exclude, &c.Exclude}, {w.only, &c.Only}} {
		if f.path != "" {
			if *f.to, err = w.set(f.path); err != nil {
				return nil, err
			}
		}
	}
	return c.Task(w.g)
}

// pages returns the pages that --targets names, by a file or a regular expression.
func (w *seedWork) pages(targets string) ([]bool, error) {
	if _, err := os.Stat(w.call.path(targets)); err == nil {
		return w.set(targets)
	}
	if w.names == nil {
		return nil, usagef("--targets %s: there is no such file, and a regular expression needs names: --labels", targets)
	}
	re, err := regexp.Compile(targets)
	if err != nil {
		return nil, usagef("%q is neither a file nor a regular expression: %w", targets, err)
	}
	in, err := w.names.Match(re)
	return in, graphError(err)
}

// set returns the pages that a file names.
func (w *seedWork) set(path string) ([]bool, error) {
	s, err := labels.ReadSet(w.call.path(path), w.g.NumNodes())
	if err != nil {
		return nil, graphError(err)
	}
	in, err := s.Mark(w.names, w.g.NumNodes())
	return in, graphError(err)
}

// covers returns how layered and two-level cover: in memory, or out of core where --memory, or
// what is free, does not hold a family of the whole graph.
func (w *seedWork) covers() (c seed.LayeredConfig, err error) {
	c.Options = cover.Options{P: w.p, Q: w.q, Threads: w.threads}
	if w.algorithm != "auto" {
		c.Algorithm = cover.Algorithm(w.algorithm)
	}
	_, inMemory := w.g.(*graph.CSR)
	n, m := int64(w.g.NumNodes()), int64(w.g.NumArcs())
	cost := seed.Estimate(w.method, n, m, w.depth, w.levels, !inMemory)
	limit := int64(w.in.memory)
	if limit == 0 {
		limit = int64(machine.FreeMemory())
		if inMemory {
			limit += 8*n + 4*m // it is there already
		}
	}
	if cost.Memory <= limit {
		return c, nil
	}
	if cost.Least > limit {
		return c, usagef("%s takes %s at least, and there are %s; --plan tells more", w.method, units.Binary(cost.Least), units.Binary(limit))
	}
	if c.Algorithm != "" && c.Algorithm != cover.NameSPGreedy {
		return c, usagef("%s takes %s in memory, and there are %s: only spgreedy covers out of core", c.Algorithm, units.Binary(cost.Memory), units.Binary(limit))
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

// choice returns the method with all that it needs.
func (w *seedWork) choice(t *seed.Task) (m *seed.Method, err error) {
	m = &seed.Method{Name: w.method, K: w.k, Levels: w.levels, MinYield: w.minYield, Dead: w.dead}
	if m.Covers, err = w.covers(); err != nil {
		return nil, err
	}
	switch w.method {
	case seed.NameLayered:
		m.L0, err = w.firstLayer(t)
	case seed.NameReach:
		_, err = w.memory() // once for the method and --evaluate
	}
	return m, err
}

// firstLayer returns L0 of a layered cover: by default the 500 pages of most links, or a tenth of all where
// that is fewer, since an L0 of most pages reaches itself and needs no seed.
func (w *seedWork) firstLayer(t *seed.Task) ([]graph.Node, error) {
	switch {
	case w.l0 != "":
		in, err := w.set(w.l0)
		return seed.Members(in), err
	case w.l0Rank > 0:
		g, err := w.memory()
		if err != nil {
			return nil, err
		}
		rank, err := retain.FullRank(g, retain.Config{})
		return graph.Top(rank, w.l0Rank, t.May), err
	case w.l0Trusted > 0:
		return graph.Top(w.criteria.Trust, w.l0Trusted, t.May), nil
	}
	links, err := graph.InDegrees(w.g)
	if err != nil {
		return nil, err
	}
	if w.l0Hosts {
		return seed.Heads(links, w.host, t), nil
	}
	return graph.Top(links, cmp.Or(w.l0Degree, min(500, (w.g.NumNodes()+9)/10)), t.May), nil
}

// compare evaluates the seeds and lists of the same length that other rules give.
func (w *seedWork) compare(ctx context.Context, t *seed.Task, seeds []graph.Node) ([]seed.List, error) {
	g, err := w.memory()
	if err != nil {
		return nil, err
	}
	rank, err := retain.FullRank(g, retain.Config{})
	if err != nil {
		return nil, err
	}
	lists := append([]seed.List{{Name: w.method, Nodes: seeds}}, seed.Rivals(g, len(seeds), rank, rand.New(rand.NewPCG(w.seed, 1)))...)
	if w.against != "" {
		in, err := w.set(w.against)
		if err != nil {
			return nil, err
		}
		lists = append(lists, seed.List{Name: "given", Nodes: seed.Members(in)})
	}
	return lists, seed.Compare(ctx, g, t, lists, rank)
}

func printComparison(to io.Writer, depth int, rows []seed.List) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "seeds\tnumber\t")
	for h := 1; h <= depth; h++ {
		fmt.Fprintf(t, "%d %s\t", h, cmp.Or(map[int]string{1: "hop"}[h], "hops"))
	}
	fmt.Fprintln(t, "per seed\tper fetch\tmedian rank\t")
	for _, c := range rows {
		fmt.Fprintf(t, "%s\t%d\t", c.Name, c.Seeds)
		for _, x := range c.ByHops[1:] {
			fmt.Fprintf(t, "%d\t", x)
		}
		fmt.Fprintf(t, "%.1f\t%.2f\t%.3f\t\n", c.PerSeed, c.PerFetch, c.MedianRank)
	}
	return t.Flush()
}

// write writes the list to -o, or to stdout where nothing else goes there.
func (w *seedWork) write(stdout io.Writer, c *seed.Choice) error {
	urls, err := w.names.Of(c.Seeds)
	if err != nil {
		return graphError(err)
	}
	list := func(to io.Writer) error { return seed.WriteURLs(to, urls) }
	if !w.urlsOnly {
		domains := make([]string, len(urls))
		for i := range domains {
			domains[i] = labels.Domain(labels.Host(urls[i])) // "" for a number
		}
		list = func(to io.Writer) error { return c.WriteTable(to, urls, domains) }
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
	in := graphFiles{format: f.in.format}
	o, err := in.options([]string{path})
	if err != nil {
		return err
	}
	e, err := open.Estimate([]string{path}, o)
	if err != nil {
		return graphError(err)
	}
	p := seed.NewPlan(f.method, int64(e.Nodes), int64(e.Arcs), f.depth, f.levels, isBV(path))
	p.Exact = e.Exact
	for _, file := range []string{path, f.labels} {
		if info, err := os.Stat(file); err == nil {
			p.Disk += info.Size()
		}
	}
	if f.json {
		if err := printJSON(cmd.OutOrStdout(), p); err != nil {
			return err
		}
	} else {
		about := about(p.Exact)
		fmt.Fprintf(cmd.OutOrStdout(), "%s on %s%d nodes and %s%d arcs: about %s of memory, at least %s; about %.1f s; reads %s of files\n",
			p.Method, about, p.Nodes, about, p.Arcs, units.Binary(p.Memory), units.Binary(p.Least), p.Seconds, units.Binary(p.Disk))
	}
	limit := int64(f.in.memory)
	if limit == 0 {
		limit = int64(machine.FreeMemory())
	}
	if p.Least > limit {
		return usagef("at least %s are needed, and there are %s", units.Binary(p.Least), units.Binary(limit))
	}
	return nil
}
