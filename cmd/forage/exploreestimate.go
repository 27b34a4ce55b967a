package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"forage/explore"
	"forage/explore/sample"
)

func exploreEstimateCmd() *cobra.Command {
	var (
		biased bool
		asJSON bool
		burnIn amount
	)
	cmd := &cobra.Command{
		Use:   "estimate SAMPLE",
		Short: "Estimate properties of the whole graph from a sample",
		Long: `Estimate tells the mean degree, the degree distribution, the number of nodes and the mean
clustering coefficient of the whole graph from a folder that 'forage explore -o' filled. It
takes samples of the walks rw, frontier and mhrw only. Policies that look for many nodes,
such as learned, de, mod or bfs, query nodes of many neighbours first: their samples
over-represent these by an amount that nobody knows, so that every estimate from them is
wrong, and intervals would not show it. --biased estimates from such a sample all the same,
taking the queried nodes as they are.

A walk stands at a node in proportion to its degree; steps are weighted by 1/degree
(Hansen-Hurwitz). mhrw stands everywhere equally often and is not weighted. The number of
nodes comes from how often a walk meets itself; clustering from whether the nodes before and
after a step are linked, which mhrw cannot tell. The graph must be undirected. Intervals (95%)
come from leaving out a twentieth of the walk at a time. Geweke's z compares the beginning
of the walk with its second half: beyond 2 or -2 it has not settled, and a longer walk is
needed.`,
		Example: "  forage explore network.tsv.gz --policy rw --budget 20% -o sample\n  forage explore estimate sample",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, policy, err := sample.Read(args[0], biased)
			if err != nil {
				return sampleError(err)
			}
			s.Steps = s.Steps[burnIn.of(len(s.Steps)):]
			if len(s.Steps) < 40 {
				return usagef("%s: %d steps are too few to estimate from; want at least 40", args[0], len(s.Steps))
			}
			return printEstimates(cmd.OutOrStdout(), policy, s, asJSON)
		},
	}
	burnIn.Set("10%")
	f := cmd.Flags()
	f.BoolVar(&biased, "biased", false, "estimate from the sample of a policy that is no walk: wrong by an unknown amount")
	f.Var(&burnIn, "burn-in", "steps left out at the beginning, or a percentage")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// sampleError adds to what is wrong with a sample what to do about it.
func sampleError(err error) error {
	bias := (*sample.BiasError)(nil)
	switch {
	case errors.Is(err, sample.ErrNoManifest):
		return usagef("%w; 'forage explore -o' makes one", err)
	case errors.As(err, &bias) && bias.Directed:
		return usagef("%w; give --biased for numbers that are wrong", err)
	case errors.As(err, &bias):
		return usagef("%w; explore with rw, frontier or mhrw, or give --biased for numbers that are wrong", err)
	}
	return graphError(err)
}

func printEstimates(w io.Writer, policy string, s *explore.Sample, asJSON bool) error {
	e := s.Estimate()
	if asJSON {
		return printJSON(w, e.Record(policy, len(s.Steps)))
	}
	show := func(name string, x explore.Estimate, format string) {
		if math.IsNaN(x.Value) {
			fmt.Fprintf(w, "%-12s cannot be told\n", name)
			return
		}
		fmt.Fprintf(w, "%-12s "+format+"  (95%%: "+format+" to "+format+")\n", name, x.Value, x.Low, x.High)
	}
	fmt.Fprintf(w, "%d steps of %s, worth %.0f independent ones; Geweke's z %.2f\n", len(s.Steps), policy, e.Effective, e.Geweke)
	show("mean degree", e.MeanDegree, "%.3f")
	show("nodes", e.Size, "%.0f")
	show("clustering", e.Clustering, "%.4f")
	fmt.Fprintf(w, "share of nodes by degree:")
	for i, d := range e.Degrees {
		if i == 10 {
			fmt.Fprintf(w, " … (%d degrees; --json lists all)", len(e.Degrees))
			break
		}
		fmt.Fprintf(w, " %d: %.1f%%", d.Degree, 100*d.Share)
	}
	_, err := fmt.Fprintln(w)
	return err
}
