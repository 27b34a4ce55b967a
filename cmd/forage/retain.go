package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/labels"
	"forage/retain"
	"forage/retain/history"
	"forage/snap"
)

type retainFlags struct {
	in       graphInput
	buffer   amount
	rule     string
	ties     string
	start    string
	links    amount
	rewire   amount
	every    int
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
	Run int `json:"run"`
	*retain.Outcome
	Snapshots *int    `json:"snapshots,omitempty"` // of a site history
	Rule      string  `json:"rule"`
	Ties      string  `json:"ties"`
	Seconds   float64 `json:"seconds"`
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

GRAPH may also be a site history (NAME.snap.gz), as 'forage export snap' writes it: then the
graph changes under the buffer. After --window steps on the first snapshot each later one
lasts for --every steps, all of which are watched; pages that are gone leave the buffer, and a
page's number is its place in the history's table. The run starts from pages of the first
snapshot; overlap is with the best of the last.

Agreement is what the core of a run shares with those of the other runs, on average
(intersection over union); overlap, what the last buffer shares with the b pages of most links
or highest PageRank in the whole graph.`,
		Example: "  forage retain web.arcs --buffer 10% --runs 5\n  forage retain web.arcs --buffer 10000 --rule pagerank --json\n  forage retain blog.snap.gz --buffer 50 --every 5",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := named(f.core); err != nil {
				return err
			}
			if strings.HasSuffix(args[0], ".snap.gz") {
				h, err := snap.Open(args[0])
				if err != nil {
					return graphError(err)
				}
				return f.runHistory(cmd, h)
			}
			if cmd.Flags().Changed("every") {
				return usagef("--every is for site histories: NAME.snap.gz")
			}
			g, err := f.in.load(args[0])
			if err != nil {
				return err
			}
			return f.run(cmd, &retain.Trial{Graph: g}, nil)
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
	fs.IntVar(&f.every, "every", 1, "steps on each snapshot of a site history but the first")
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

// runHistory runs buffers on a site while it changes.
func (f *retainFlags) runHistory(cmd *cobra.Command, h *snap.History) error {
	switch {
	case f.every < 1:
		return usagef("--every %d: want at least 1", f.every)
	case f.rewire.share > 0:
		return usagef("--rewire is for a graph that stands still; a history changes by itself")
	case len(h.Snapshots) < 2:
		return usagef("the history has %d snapshots; want at least 2", len(h.Snapshots))
	}
	return f.run(cmd, history.NewTrial(h), h)
}

// run runs buffers on the graph of t or, where h is not nil, on its snapshots.
func (f *retainFlags) run(cmd *cobra.Command, t *retain.Trial, h *snap.History) error {
	n := t.Graph.NumNodes()
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
		if given, err = labels.ReadNodes(f.start, n); err != nil {
			return graphError(err)
		}
		if len(given) == 0 {
			return usagef("%s names no page to start from", f.start)
		}
	}

	t.Config, t.Rewire, t.MaxSteps, t.Window, t.Delta = c, f.rewire.share, f.maxSteps, f.window, f.delta
	runs := make([]retainRun, f.runs)
	outcomes := make([]*retain.Outcome, f.runs)
	for i := range runs {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		began := time.Now()
		r := rand.New(rand.NewPCG(f.seed, uint64(i)))
		o := retainRun{Run: i + 1, Rule: f.rule, Ties: f.ties}
		if h != nil {
			snapshots := len(h.Snapshots)
			o.Snapshots = &snapshots
			outcomes[i], err = history.Run(t, h, f.every, given, r)
		} else {
			outcomes[i], err = t.Run(given, r)
		}
		if err != nil {
			return badInput(err)
		}
		o.Outcome, o.Seconds = outcomes[i], time.Since(began).Seconds()
		if runs[i] = o; f.runs > 1 {
			fmt.Fprintf(cmd.ErrOrStderr(), "forage: run %d of %d: %d steps, core of %d pages\n", i+1, f.runs, o.Steps, o.Core)
		}
	}
	retain.Agree(outcomes)
	if f.core != "" {
		err := arcs.Create(f.core, func(w io.Writer) error { return labels.WriteNodes(w, outcomes[0].Pages) })
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
	return printRetain(cmd.OutOrStdout(), t.Graph, runs)
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
