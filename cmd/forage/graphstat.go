package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/open"
	"forage/internal/machine"
)

type graphStatFlags struct {
	in        graphFiles
	distances int
	seed      uint64
	degrees   string
	pagerank  string
	config    graph.PageRankConfig
	quick     bool
}

// graphStats is the result of graph stat.
type graphStats struct {
	*graph.Measures
	Iterations  *int     `json:"pagerank_iterations"` // null without --pagerank
	BitsPerLink *float64 `json:"bits_per_link"`       // null if the graph is no BV graph
	Seconds     float64  `json:"seconds"`
	PeakRSS     int64    `json:"peak_rss"`
}

func graphStatCmd() *cobra.Command {
	var f graphStatFlags
	cmd := &cobra.Command{
		Use:   "stat FILE…",
		Short: "Tell what a graph is like",
		Long: `Stat counts nodes, arcs, degrees and components, measures distances from a few random nodes,
and computes PageRank if asked. A BV graph is read where it lies, with memory for its nodes alone;
other formats are loaded.

The effective diameter is the distance within which nine of ten pairs of a start and a node that it
reaches lie; farthest is a lower bound of the diameter.`,
		Example: "  forage graph stat web.graph --distances 100\n  forage graph stat web.txt.gz --pagerank ranks.txt --degrees degrees.csv --json",
		Args:    arguments(cobra.MinimumNArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fs := cmd.Flags()
	f.in.flags(fs, true)
	fs.IntVar(&f.distances, "distances", 10, "random nodes from which distances are measured (0: none)")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the choice of these nodes")
	fs.StringVar(&f.degrees, "degrees", "", "write the distribution of degrees to this CSV file")
	fs.StringVar(&f.pagerank, "pagerank", "", "write the PageRank of every node to this file, a line a node")
	fs.Float64Var(&f.config.Damping, "damping", 0.85, "PageRank: the chance to follow a link")
	fs.Float64Var(&f.config.Tolerance, "tolerance", 1e-9, "PageRank: stop when all ranks together change by less")
	fs.BoolVar(&f.quick, "quick", false, "only what one reading of the graph tells: no components, no distances")
	return cmd
}

func (f *graphStatFlags) run(cmd *cobra.Command, args []string) error {
	start := time.Now()
	switch c := f.config; {
	case f.distances < 0:
		return usagef("--distances %d: want at least 0", f.distances)
	case !(c.Damping > 0 && c.Damping < 1):
		return usagef("--damping %v: want it above 0 and below 1", c.Damping)
	case !(c.Tolerance > 0):
		return usagef("--tolerance %v: want it above 0", c.Tolerance)
	}
	outputs := slices.DeleteFunc([]string{f.degrees, f.pagerank}, func(path string) bool { return path == "" })
	if err := f.in.start(cmd, outputs...); err != nil {
		return err
	}
	o, err := f.in.options(args)
	if err != nil {
		return err
	}
	o.Relabel = open.IsCollection(args)
	e, err := open.Estimate(args, o)
	if err != nil {
		return graphError(err)
	}
	p := open.PlanMeasure(e, o.Format, f.distances, f.quick, f.pagerank != "")
	if f.in.plan {
		return f.in.tell(cmd.OutOrStdout(), p, filepath.Dir(f.pagerank))
	}
	if o.Format == open.BV && f.in.memory > 0 && p.Memory > int64(f.in.memory) {
		return usagef("this needs %s of memory and may use %s; --quick needs less", bytesText(p.Memory), bytesText(int64(f.in.memory)))
	}
	read, err := open.Open(args, o)
	if err != nil {
		return graphError(err)
	}
	defer read.Close()
	g, ok := read.Scanner.(graph.Graph)
	if !ok {
		return usagef("%s: the graph has %d nodes and %d arcs and exceeds the memory of %s; 'forage graph convert' to a .graph file makes one that is read where it lies",
			args[0], read.NumNodes(), read.NumArcs(), bytesText(int64(f.in.memory)))
	}
	r, err := f.measure(cmd, g)
	if err != nil {
		return graphError(err)
	}
	if r.BitsPerLink, err = read.BitsPerLink(); err != nil {
		return graphError(err)
	}
	r.Seconds, r.PeakRSS = time.Since(start).Seconds(), machine.PeakRSS()
	if f.in.json {
		return printJSON(cmd.OutOrStdout(), r)
	}
	r.text(cmd.OutOrStdout())
	return nil
}

// measure computes all that is asked for.
func (f *graphStatFlags) measure(cmd *cobra.Command, g graph.Graph) (*graphStats, error) {
	m, err := graph.Measure(g, graph.MeasureConfig{Quick: f.quick, Distances: f.distances, Seed: f.seed, Threads: f.in.threads})
	if err != nil {
		return nil, err
	}
	r := &graphStats{Measures: m}
	if f.degrees != "" {
		if err := arcs.Create(f.degrees, m.Degrees.WriteCSV); err != nil {
			return nil, err
		}
	}
	if f.pagerank != "" {
		f.config.Threads = f.in.threads
		rank, iterations, change, err := graph.PageRank(g, f.config)
		if err != nil {
			return nil, err
		}
		if change > f.config.Tolerance {
			fmt.Fprintf(cmd.ErrOrStderr(), "forage: PageRank still changes by %.2g after %d iterations\n", change, iterations)
		}
		r.Iterations = &iterations
		err = arcs.Create(f.pagerank, func(w io.Writer) error { return graph.WriteRanks(w, rank) })
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *graphStats) text(w io.Writer) {
	fmt.Fprintf(w, "%d nodes, %d arcs", r.Nodes, r.Arcs)
	if r.MeanDegree != nil {
		fmt.Fprintf(w, ", %.2f a node", *r.MeanDegree)
	}
	fmt.Fprintln(w)
	if r.MaxOutNode != nil {
		fmt.Fprintf(w, "largest outdegree %d (node %d), largest indegree %d (node %d)\n", r.MaxOut, *r.MaxOutNode, r.MaxIn, *r.MaxInNode)
	}
	fmt.Fprintf(w, "%d nodes without successors, %d without predecessors, %d without either; %d self-loops\n", r.Sinks, r.Sources, r.Isolated, r.Loops)
	if r.Strong != nil {
		fmt.Fprintf(w, "%d strongly connected components, the largest of %d nodes; %d weakly connected, the largest of %d\n", *r.Strong, *r.LargestStrong, *r.Weak, *r.LargestWeak)
	}
	if r.MeanDistance != nil {
		fmt.Fprintf(w, "from %d random nodes: mean distance %.2f, effective diameter %.2f, farthest %d\n", r.DistancesFrom, *r.MeanDistance, *r.Effective, *r.Farthest)
	}
	if r.Iterations != nil {
		fmt.Fprintf(w, "PageRank after %d iterations\n", *r.Iterations)
	}
	if r.BitsPerLink != nil {
		fmt.Fprintf(w, "%.3f bits an arc\n", *r.BitsPerLink)
	}
}
