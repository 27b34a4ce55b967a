package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"forage/graph"
	"forage/graph/arcs"
	"forage/retain"
)

type retainFlags struct {
	in       graphInput
	buffer   amount
	rule     string
	ties     string
	start    string
	links    amount
	rewire   amount
	runs     int
	seed     uint64
	maxSteps int
	window   int
	delta    float64
	core     string
	json     bool
	config   retain.Config
}

// retainRun is what one run shows.
type retainRun struct {
	Run       int      `json:"run"`
	Buffer    int      `json:"buffer"`
	Core      int      `json:"core"`
	CoreShare float64  `json:"core_share"`
	Period    *int     `json:"period"`    // null: no cycle within --max-steps, or a stochastic run
	Transient *int     `json:"transient"` // null as period
	Agreement *float64 `json:"agreement"` // null with a single run
	Steps     int      `json:"steps"`
	Turnover  float64  `json:"turnover"`
	ZeroVotes int      `json:"zero_votes"`
	Moving    *int     `json:"moving"` // null for stochastic runs
	InDegree  float64  `json:"overlap_indegree"`
	PageRank  float64  `json:"overlap_pagerank"`
	Rule      string   `json:"rule"`
	Ties      string   `json:"ties"`
	Seconds   float64  `json:"seconds"`
}

func retainCmd() *cobra.Command {
	var f retainFlags
	cmd := &cobra.Command{
		Use:   "retain GRAPH",
		Short: "Show what a store smaller than the web keeps",
		Long: `Retain runs a buffer of b pages on a graph, as a crawler with a bounded store would: each
step follows the links of the pages in the buffer and keeps, out of these pages and those
they link to, the b that score best. A fixed buffer ends in a cycle of states; the pages that
are in all of them are the core.

Rules: indegree counts the links from the buffer, pagerank ranks the graph that the buffer
sees, everything counts links from all pages that were ever in the buffer. With --links
below 100% or --rewire the run is stochastic: then the core is what was in the buffer for all but
a share --delta of the last --window steps, and there is no period.

Agreement is what the core of a run shares with those of the other runs, on average
(intersection over union); overlap, what the last buffer shares with the b pages of most links
or highest PageRank in the whole graph.`,
		Example: "  forage retain web.arcs --buffer 10% --runs 5\n  forage retain web.arcs --buffer 10000 --rule pagerank --json",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := f.in.load(args[0])
			if err != nil {
				return err
			}
			return f.run(cmd, g)
		},
	}
	fs := cmd.Flags()
	f.in.flags(fs)
	f.buffer.Set("10%")
	f.links.Set("100%")
	f.rewire.Set("0%")
	fs.Var(&f.buffer, "buffer", "pages that fit, or a percentage of the graph (at least one page); where all fit, all are core")
	fs.StringVar(&f.rule, "rule", "indegree", "what is kept: indegree, pagerank or everything")
	fs.StringVar(&f.ties, "ties", "random", "who wins at equal score: random (a priority drawn once a run), id (the lowest number) or incumbent")
	fs.StringVar(&f.start, "start", "random", "pages in the first buffer: random, or a file with a node number a line")
	fs.Var(&f.links, "links", "share of each page's links that a step follows, drawn anew each step")
	fs.Var(&f.rewire, "rewire", "share of the links that change their targets between steps")
	fs.IntVar(&f.runs, "runs", 1, "runs, each with its own start and priorities")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of everything random")
	fs.IntVar(&f.maxSteps, "max-steps", 10000, "give up looking for the cycle")
	fs.IntVar(&f.window, "window", 100, "stochastic runs: steps watched, after as many to warm up")
	fs.Float64Var(&f.delta, "delta", 0.05, "stochastic runs: share of the steps that a page of the core may miss")
	fs.BoolVar(&f.config.SelfLoops, "self-loops", false, "count a page's links to itself")
	fs.Float64Var(&f.config.Damping, "damping", 0.85, "of PageRank")
	fs.Float64Var(&f.config.Tolerance, "tolerance", 1e-9, "PageRank ends when the ranks change by less in sum")
	fs.StringVarP(&f.core, "output", "o", "", "write the core of the first run to this file, a node number a line")
	fs.BoolVar(&f.json, "json", false, "one JSON object a run")
	return cmd
}

func (f *retainFlags) run(cmd *cobra.Command, g *graph.CSR) error {
	n := g.NumNodes()
	c := f.config
	var err error
	if c.Rule, err = retain.ParseRule(f.rule); err != nil {
		return usagef("--rule: %w", err)
	}
	if c.Ties, err = retain.ParseTies(f.ties); err != nil {
		return usagef("--ties: %w", err)
	}
	c.Buffer = f.buffer.of(n)
	if f.buffer.isPct && f.buffer.share > 0 {
		c.Buffer = max(1, c.Buffer)
	}
	switch {
	case n == 0:
		return usagef("the graph is empty: there is nothing to keep")
	case c.Buffer < 1:
		return usagef("--buffer %s: a buffer of 0; want at least 1 page", f.buffer.text)
	case !f.links.isPct || f.links.share == 0:
		return usagef("--links %s: want a percentage above 0", f.links.text)
	case !f.rewire.isPct:
		return usagef("--rewire %s: want a percentage", f.rewire.text)
	case f.runs < 1 || f.maxSteps < 1 || f.window < 1:
		return usagef("--runs, --max-steps and --window: want at least 1 each")
	case !(f.delta >= 0 && f.delta < 1):
		return usagef("--delta %v: want a share from 0 to below 1", f.delta)
	case !(c.Damping > 0 && c.Damping < 1):
		return usagef("--damping %v: want it between 0 and 1", c.Damping)
	case !(c.Tolerance > 0):
		return usagef("--tolerance %v: want it above 0", c.Tolerance)
	}
	c.Links = f.links.share
	c.Buffer = min(c.Buffer, n)
	var given []graph.Node
	if f.start != "random" {
		if given, err = readNodes(f.start, n); err != nil {
			return err
		}
		if len(given) == 0 {
			return usagef("%s names no page to start from", f.start)
		}
	}

	degree := make([]uint32, n)
	for _, v := range g.Succ {
		degree[v]++
	}
	rank, err := retain.FullRank(g, c)
	if err != nil {
		return err
	}
	topDegree, topRank := retain.TopBy(degree, c.Buffer), retain.TopBy(rank, c.Buffer)

	runs := make([]retainRun, f.runs)
	cores := make([][]graph.Node, f.runs)
	for i := range runs {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		began := time.Now()
		r := rand.New(rand.NewPCG(f.seed, uint64(i)))
		start := given
		if given == nil {
			start = retain.RandomStart(n, c.Buffer, r)
		}
		d, err := retain.New(g, c, start, r)
		if err != nil {
			return badInput(err)
		}
		o := retainRun{Run: i + 1, Buffer: c.Buffer, Rule: f.rule, Ties: f.ties}
		if c.Links < 1 || f.rewire.share > 0 {
			s := retain.Watch(d, f.window, f.window, f.delta, func(int) {
				if f.rewire.share > 0 {
					g := retain.Rewire(d.Graph(), f.rewire.share, r)
					d.SetGraph(g)
				}
			})
			o.Turnover, o.Steps, cores[i] = s.Turnover, 2*f.window, s.Core
			o.ZeroVotes = len(s.Core) - retain.Voted(d.Graph(), s.Core)
		} else {
			l := retain.Run(d, f.maxSteps)
			o.Turnover, o.Steps, o.ZeroVotes, o.Moving, cores[i] = l.Turnover, l.Steps, l.ZeroVotes, &l.Moving, l.Core
			if l.Cyclic {
				o.Period, o.Transient = &l.Period, &l.Transient
			}
		}
		o.Core, o.CoreShare = len(cores[i]), float64(len(cores[i]))/float64(c.Buffer)
		last := d.Buffer(nil)
		o.InDegree = float64(retain.Overlap(last, topDegree)) / float64(c.Buffer)
		o.PageRank = float64(retain.Overlap(last, topRank)) / float64(c.Buffer)
		o.Seconds = time.Since(began).Seconds()
		runs[i] = o
		if f.runs > 1 {
			fmt.Fprintf(cmd.ErrOrStderr(), "forage: run %d of %d: %d steps, core of %d pages\n", i+1, f.runs, o.Steps, o.Core)
		}
	}
	for i := range runs {
		if len(runs) > 1 {
			sum := 0.0
			for j := range cores {
				if j != i {
					sum += retain.Agreement(cores[i], cores[j])
				}
			}
			mean := sum / float64(len(runs)-1)
			runs[i].Agreement = &mean
		}
	}
	if f.core != "" {
		err := arcs.Create(f.core, func(w io.Writer) error {
			for _, v := range cores[0] {
				if _, err := fmt.Fprintln(w, v); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if f.json {
		for _, o := range runs {
			if err := printJSON(cmd.OutOrStdout(), o); err != nil {
				return err
			}
		}
		return nil
	}
	return printRetain(cmd.OutOrStdout(), g, runs)
}

func printRetain(w io.Writer, g *graph.CSR, runs []retainRun) error {
	fmt.Fprintf(w, "%d pages, %d links, a buffer of %d (%.3g%%), rule %s, ties %s\n",
		g.NumNodes(), g.NumArcs(), runs[0].Buffer, 100*float64(runs[0].Buffer)/float64(g.NumNodes()), runs[0].Rule, runs[0].Ties)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "run\tcore\tof buffer\tperiod\ttransient\tturnover\tno vote\tof top in-degree\tof top PageRank\tagreement\t")
	for _, o := range runs {
		period, transient, agreement := "-", "-", "-"
		if o.Period != nil {
			period, transient = fmt.Sprint(*o.Period), fmt.Sprint(*o.Transient)
		}
		if o.Agreement != nil {
			agreement = fmt.Sprintf("%.1f%%", 100**o.Agreement)
		}
		fmt.Fprintf(t, "%d\t%d\t%.1f%%\t%s\t%s\t%.2f%%\t%d\t%.1f%%\t%.1f%%\t%s\t\n", o.Run, o.Core, 100*o.CoreShare, period, transient, 100*o.Turnover, o.ZeroVotes, 100*o.InDegree, 100*o.PageRank, agreement)
	}
	return t.Flush()
}
