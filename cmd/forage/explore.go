package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"forage/explore"
	"forage/explore/sample"
	"forage/graph"
)

type exploreFlags struct {
	in       graphInput
	policy   string
	budget   amount
	runs     int
	seed     uint64
	start    string
	directed bool
	json     bool
	of       live
}

func exploreCmd() *cobra.Command {
	var f exploreFlags
	cmd := &cobra.Command{
		Use:   "explore GRAPH | --source NAME",
		Short: "Find as many nodes as possible in a graph that only queries reveal",
		Long: `Explore hides a graph and lets a policy crawl it: a query shows the neighbours of one node,
and only nodes that an answer has shown can be queried. What counts is how many nodes are
observed when the budget is spent. The oracle (med) knows the true degrees and takes the node
with most neighbours not linked yet, with the same start and budget; regret is the share of
its count that the policy misses. The oracle is greedy and no upper bound: regret may be
negative.

Policies: learned, which predicts the yield of each open node online, is the one to use; de is
DE-Crawler; mod, opic, rw, bfs, dfs, random and snowball are there to compare with. mhrw,
frontier and rw walk: take these to estimate from ('forage explore estimate'). best is for
the pages of sites: it learns addresses of which kind lead to what is new. Only 'forage crawl
--policy best' tells it the addresses; here, where there are none, it does as learned does.

With --source the graph is a live API, described by a JSON file (see the package comment of
source, or docs/formats.md) or known by name (docs/explore.md has examples); answers are kept in the folder -o as they come,
and the same command goes on after an interruption. There is no oracle then. A list that comes
in pages costs a request for each: with --budget-requests or --budget-time, learned divides
what a node promises by the requests that it is expected to cost, from the degrees declared and
the requests of earlier queries.`,
		Example: "  forage explore network.tsv.gz --policy learned --budget 10% --runs 5\n  forage explore web.arcs --directed --policy bfs --budget 500 --start 0 --json\n  forage explore --source mastodon:mastodon.example --start 1 --budget 200 -o sample",
		Args:    arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if known := append(explore.Names(), "best"); !slices.Contains(known, f.policy) {
				return usagef("--policy: there is no explorer %q; known: %s", f.policy, strings.Join(known, " "))
			}
			if err := named(f.of.dir); err != nil {
				return err
			}
			switch {
			case f.of.source != "" && len(args) > 0:
				return usagef("want a graph or --source, not both")
			case f.of.source != "":
				return f.live(cmd)
			case len(args) == 0:
				return usagef("want a graph to explore, or --source; see 'forage explore --help'")
			}
			return f.hidden(cmd, args[0])
		},
	}
	fs := cmd.Flags()
	f.in.flags(fs)
	f.budget.Set("10%")
	fs.StringVar(&f.policy, "policy", "learned", "which node next: "+strings.Join(explore.Names(), " ")+" best")
	fs.Var(&f.budget, "budget", "queries, or a percentage of the nodes")
	fs.IntVar(&f.runs, "runs", 1, "runs, each with its own start and chance")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of everything random")
	fs.StringVar(&f.start, "start", "", "start node (default: one at random for each run)")
	fs.BoolVar(&f.directed, "directed", false, "answers list out-links only; otherwise links count both ways")
	f.of.add(cmd)
	cmd.AddCommand(exploreEstimateCmd())
	fs.BoolVar(&f.json, "json", false, "one JSON object a run")
	return cmd
}

// hidden runs the policy on the graph at path.
func (f *exploreFlags) hidden(cmd *cobra.Command, path string) error {
	if f.runs < 1 {
		return usagef("--runs %d: want at least 1", f.runs)
	}
	g, err := f.in.load(path)
	if err != nil {
		return err
	}
	if !f.directed {
		g = g.Undirected()
	}
	n := g.NumNodes()
	if n == 0 {
		return usagef("%s: the graph is empty: there is nothing to explore", path)
	}
	budget := f.budget.of(n)
	if budget < 1 {
		return usagef("--budget %s: no query out of %d nodes; want at least 1", f.budget.text, n)
	}
	if budget > n {
		return usagef("--budget %s: the graph has %d nodes, and each is queried once at most", f.budget.text, n)
	}
	start := -1
	if f.start != "" {
		if start, err = strconv.Atoi(f.start); err != nil || start < 0 || start >= n {
			return usagef("--start %s: want a node of the graph, 0 to %d", f.start, n-1)
		}
	}
	if f.of.dir != "" {
		if f.runs != 1 {
			return usagef("-o keeps one run: want --runs 1")
		}
		if _, err := os.Stat(f.of.dir); err == nil {
			return usagef("-o %s: is there already", f.of.dir)
		}
	}
	var table *tabwriter.Writer
	if !f.json {
		fmt.Fprintf(cmd.OutOrStdout(), "%d nodes, a budget of %d queries, policy %s\n", n, budget, f.policy)
		table = tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "run\tstart\tqueries\tobserved\tof all\toracle\tregret\t")
	}
	for run := 1; run <= f.runs; run++ {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		t := explore.Trial{Graph: g, Directed: f.directed, Seed: f.seed, Run: run, Budget: budget, Start: graph.Node(start)}
		if start < 0 {
			t.Start = explore.RandomStart(n, f.seed, run)
		}
		if f.of.dir != "" {
			if err := sample.Keep(f.of.dir, &t, f.policy, path); err != nil {
				return err
			}
		}
		began := time.Now()
		queries, observed, err := t.Explore(f.policy, nil)
		if err != nil {
			return err
		}
		seconds := time.Since(began).Seconds()
		o, err := t.Judge(f.policy, queries, observed)
		if err != nil {
			return err
		}
		o.Seconds = seconds
		if o.Queries < budget {
			fmt.Fprintf(cmd.ErrOrStderr(), "forage: run %d: all %d nodes that can be reached from node %d are queried; %d queries of the budget are left\n", run, o.Observed, t.Start, budget-o.Queries)
		}
		if f.json {
			err = printJSON(cmd.OutOrStdout(), o)
		} else {
			_, err = io.WriteString(table, fmt.Sprintf("%d\t%d\t%d\t%d\t%.1f%%\t%d\t%.3f\t\n", run, t.Start, o.Queries, o.Observed, 100*float64(o.Observed)/float64(n), *o.Oracle, *o.Regret))
		}
		if err != nil {
			return err
		}
	}
	if f.json {
		return nil
	}
	return table.Flush()
}
