package main

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"forage/graph/arcs"
	"forage/graph/bv"
	"forage/graph/open"
	"forage/internal/atomicfile"
	"forage/internal/machine"
)

type graphConvertFlags struct {
	in         graphFiles
	out, to    string
	relabel    bool
	transpose  bool
	undirected bool
	config     bv.Config
}

// converted is the result of graph convert.
type converted struct {
	*open.Written
	Seconds float64 `json:"seconds"`
	PeakRSS int64   `json:"peak_rss"`
}

func graphConvertCmd() *cobra.Command {
	var f graphConvertFlags
	cmd := &cobra.Command{
		Use:   "convert FILE… -o OUT",
		Short: "Write a graph in another format",
		Long: `Convert reads a graph in any format and writes it in the one that --to or the name of OUT
tells: .graph (bv), .graphml, .mtx, .adj or .dat (adjacency), else arcs; .gz and .zst are
compressed. Repeated arcs are dropped. OUT may be - for text on the standard output.

Arcs that do not fit into --memory are sorted on disk and written from there. A BV graph is
read where it lies; --transpose takes NAME-t.graph where it is the transpose.

--relabel reads names instead of node numbers: sparse ids, 64-bit numbers, any words, two on a
line, or the first two columns of .csv files. Nodes are numbered in the order of the
names if these are all numbers, else as they come; OUT.names tells them, a line 'number name' each.
The folder that 'forage explore' has written is read so without being asked; as GraphML it keeps
what is known of its nodes.`,
		Example: `  forage graph convert 'part-*.txt.gz' -o web.graph
  forage graph convert web.graph -o web-t.graph --transpose
  forage graph convert explored/ -o network.graphml`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fs := cmd.Flags()
	f.in.flags(fs, true)
	fs.StringVarP(&f.out, "output", "o", "", "the file to write")
	fs.StringVar(&f.to, "to", "", "its format: arcs, adjacency, mtx, bv or graphml (default: by its name)")
	fs.BoolVar(&f.relabel, "relabel", false, "nodes are names: give them numbers")
	fs.BoolVar(&f.transpose, "transpose", false, "turn every arc round")
	fs.BoolVar(&f.undirected, "undirected", false, "write every arc in both directions, without self-loops")
	fs.IntVar(&f.config.Window, "window", 7, "bv: how many lists before may be referred to (-1: none)")
	fs.IntVar(&f.config.MaxRef, "max-ref", 3, "bv: longest chain of references (-1: no limit)")
	fs.IntVar(&f.config.MinInterval, "min-interval", 4, "bv: least length of an interval (-1: no intervals)")
	fs.IntVar(&f.config.ZetaK, "zeta-k", 3, "bv: k of the code of residuals")
	fs.StringVar(&f.config.Flags, "flags", "", "bv: other codes, as in compressionflags")
	return cmd
}

func (f *graphConvertFlags) run(cmd *cobra.Command, args []string) error {
	start := time.Now()
	if f.out == "" {
		return usagef("-o tells where to write; see 'forage graph convert --help'")
	}
	to, err := outputFormat(f.to, f.out)
	if err != nil {
		return err
	}
	if err := f.config.Check(); err != nil {
		return badInput(err)
	}
	if f.transpose && f.undirected {
		return usagef("--transpose and --undirected: an undirected graph is its own transpose")
	}
	if err := f.in.start(cmd); err != nil {
		return err
	}
	o, err := f.in.options(args)
	if err != nil {
		return err
	}
	o.Relabel = f.relabel || open.IsCollection(args)
	if o.Relabel && (o.Format == open.BV || o.Format == open.Adjacency) {
		return usagef("--relabel: nodes have names in arc lists, .csv files and GraphML, not in format %s", o.Format)
	}
	if f.transpose {
		o.Direction = arcs.Reversed
	}
	if f.undirected {
		o.Direction = arcs.Both
	}
	if f.in.plan {
		e, err := open.Estimate(args, o)
		if err != nil {
			return graphError(err)
		}
		return f.in.tell(cmd.OutOrStdout(), open.PlanConvert(e, o, to), filepath.Dir(f.out))
	}
	names := f.out + ".names"
	if f.out != "-" {
		if err := atomicfile.RemoveLeft(names); err != nil { // of a killed run; this one may write none
			return err
		}
	}
	g, err := open.Open(args, o)
	if err != nil {
		return graphError(err)
	}
	defer g.Close()
	if g.OnDisk {
		fmt.Fprintf(cmd.ErrOrStderr(), "forage: the graph exceeds the memory of %s: its %d arcs are sorted on disk\n", bytesText(int64(f.in.memory)), g.NumArcs())
	}
	w, err := f.in.write(cmd, g, open.Target{Path: f.out, Format: to, BV: f.config})
	if err != nil {
		return err
	}
	if o.Relabel && f.out != "-" {
		written := endOnInterrupt(cmd.Context(), cmd.ErrOrStderr(), names)
		defer written()
		if err := arcs.Create(names, func(w io.Writer) error { return arcs.WriteNames(w, g.Names.Names) }); err != nil {
			return err
		}
	}
	r := converted{w, time.Since(start).Seconds(), machine.PeakRSS()}
	switch {
	case f.out == "-":
		return nil
	case f.in.json:
		return printJSON(cmd.OutOrStdout(), r)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d nodes, %d arcs, %s in %s", r.Nodes, r.Arcs, bytesText(r.Bytes), f.out)
	if r.BitsPerLink != nil {
		fmt.Fprintf(cmd.OutOrStdout(), ", %.2f bits an arc", *r.BitsPerLink)
	}
	fmt.Fprintf(cmd.OutOrStdout(), ", %.1f s\n", r.Seconds)
	return nil
}
