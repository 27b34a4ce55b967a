package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/graph/gen"
	"forage/graph/open"
	"forage/internal/machine"
)

type graphGenerateFlags struct {
	in      graphFiles
	p       gen.Params
	out, to string
}

func graphGenerateCmd() *cobra.Command {
	var f graphGenerateFlags
	var names []string
	var list strings.Builder
	for _, g := range gen.Generators() {
		names = append(names, g.Name)
		fmt.Fprintf(&list, "  %-12s %s\n", g.Name, g.Short)
	}
	cmd := &cobra.Command{
		Use:   "generate MODEL -o OUT",
		Short: "Make a random graph",
		Long: `Generate makes a graph by one of these models, the same for the same parameters and seed on
every machine and for any number of threads:

` + list.String() + `
It is written in the format that --to or the name of OUT tells, as 'forage graph convert' does.
The checksum folds all arcs in order: h = h*0x100000001B3 + target.`,
		Example: `  forage graph generate weblike --nodes 2000000 --degree 21 --seed 42 -o web2m.graph
  forage graph generate rmat --nodes 1048576 --arcs 16777216 -o rmat.txt.zst`,
		Args:      arguments(cobra.ExactArgs(1)),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, g := range gen.Generators() {
				if g.Name == args[0] {
					return f.run(cmd, g)
				}
			}
			return usagef("there is no model %q; known: %s", args[0], strings.Join(names, " "))
		},
	}
	fs := cmd.Flags()
	f.in.flags(fs, false)
	fs.StringVarP(&f.out, "output", "o", "", "the file to write; without, only the checksum is told")
	fs.StringVar(&f.to, "to", "", "its format: arcs, adjacency, mtx, bv or graphml (default: by its name)")
	fs.IntVarP(&f.p.Nodes, "nodes", "n", 0, "number of nodes")
	fs.Uint64Var(&f.p.Arcs, "arcs", 0, "number of arcs that are drawn (rmat; inout: 0 for the sum of the degrees)")
	fs.IntVar(&f.p.Degree, "degree", 14, "weblike: least out-degree of a node with links; copying: links a node")
	fs.Float64Var(&f.p.Random, "random", 0.5, "copying: share of links that are not copied")
	fs.Float64Var(&f.p.Alpha, "alpha", 2.75, "exponent of the degrees")
	fs.Float64Var(&f.p.AlphaT, "alpha-in", 0, "inout: exponent of the in-degrees (0: that of --alpha)")
	fs.Float64Var(&f.p.RMAT.A, "rmat-a", 0.57, "rmat: share of the upper left quarter, at least 0.001")
	fs.Float64Var(&f.p.RMAT.B, "rmat-b", 0.19, "rmat: share of the upper right quarter")
	fs.Float64Var(&f.p.RMAT.C, "rmat-c", 0.19, "rmat: share of the lower left quarter")
	fs.BoolVar(&f.p.Loops, "loops", false, "keep self-loops")
	fs.Uint64Var(&f.p.Seed, "seed", 1, "seed")
	return cmd
}

// generatorFlags tells which flags belong to a parameter of a model, beside --nodes and --seed.
var generatorFlags = map[string][]string{
	"arcs": {"arcs"}, "degree": {"degree"}, "random": {"random"}, "alpha": {"alpha"}, "alpha-in": {"alpha-in"},
	"rmat": {"rmat-a", "rmat-b", "rmat-c"}, "loops": {"loops"},
}

func (f *graphGenerateFlags) run(cmd *cobra.Command, m gen.Generator) error {
	start := time.Now()
	if f.p.Nodes < 1 {
		return usagef("--nodes tells how many nodes: want at least 1, got %d", f.p.Nodes)
	}
	if m.Name == "rmat" && f.p.Arcs == 0 {
		return usagef("--arcs tells how many arcs rmat draws")
	}
	for use, flags := range generatorFlags {
		for _, name := range flags {
			if cmd.Flags().Changed(name) && !slices.Contains(m.Uses, use) {
				return usagef("--%s: %s has no such parameter", name, m.Name)
			}
		}
	}
	to, err := outputFormat(f.to, f.out)
	if err != nil {
		return err
	}
	if err := f.in.start(cmd); err != nil {
		return err
	}
	f.p.Threads = f.in.threads
	arcs, memory, seconds := m.Cost(f.p)
	if f.out == "" {
		to = "" // nothing is written
	}
	p := open.PlanMake(f.p.Nodes, arcs, memory, seconds, to)
	if f.in.plan {
		return f.in.tell(cmd.OutOrStdout(), p, filepath.Dir(f.out))
	}
	if f.in.memory > 0 && p.Memory > int64(f.in.memory) {
		return usagef("the graph needs about %s of memory and may use %s; fewer --nodes, or more --memory", bytesText(p.Memory), bytesText(int64(f.in.memory)))
	}
	g, err := m.Make(f.p)
	if err != nil {
		return badInput(err)
	}
	bytes := int64(0)
	if f.out != "" {
		w, err := f.in.write(cmd, &open.Graph{Scanner: g}, open.Target{Path: f.out, Format: to})
		if err != nil {
			return err
		}
		bytes = w.Bytes
	}
	sum := fmt.Sprintf("%016x", gen.Checksum(g))
	switch {
	case f.out == "-":
		return nil
	case f.in.json:
		return printJSON(cmd.OutOrStdout(), map[string]any{"model": m.Name, "nodes": g.NumNodes(), "arcs": g.NumArcs(), "checksum": sum, "seed": f.p.Seed,
			"bytes": bytes, "seconds": time.Since(start).Seconds(), "peak_rss": machine.PeakRSS()})
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %d nodes, %d arcs, checksum %s, %.1f s\n", m.Name, g.NumNodes(), g.NumArcs(), sum, time.Since(start).Seconds())
	return nil
}
