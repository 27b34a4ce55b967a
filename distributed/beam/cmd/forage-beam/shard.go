package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"forage/cover"
	"forage/cover/sets"
	"forage/distributed/beam/files"
	"forage/distributed/beam/shard"
	"forage/graph/arcs"
	"forage/graph/open"
	"forage/internal/machine"
	"forage/internal/units"
)

type shardFlags struct {
	format      string
	shards      int
	p           float64
	memory      units.Size
	unitWeights bool
	out         string
	json        bool
}

func shardCmd() *cobra.Command {
	var f shardFlags
	cmd := &cobra.Command{
		Use:   "shard INPUT… -o DIR",
		Short: "Cut a set system or a graph into shards",
		Long: `Shard cuts a family of sets into shards of about as many elements each, and writes them and
a manifest of what they hold into a new folder, which appears whole or not at all. Within a shard
sets lie in files by size, so that each level of a cover reads what it needs: the classes are
powers of --p, and best those of the cover.

INPUT is what 'forage cover' and 'forage graph' read: a graph in BV format (NAME.graph), a text
file with a set a line, a line an arc (--format arcs; several files, or a folder of them, are one
graph, such as the edges of Common Crawl's host and domain graphs), adjacency or MatrixMarket, an
OR-Library file, or a binary set system; .gz and .zst are seen from the first bytes. Of a graph,
the set of a page is what it links to.`,
		Example: `  forage-beam shard web.graph -o /shared/web --shards 64
  forage-beam shard --format arcs cc-edges-*.txt.gz -o /shared/hosts --shards 200 --p 2 --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.out == "":
				return usagef("-o: want the folder that the shards are written to")
			case f.shards < 1:
				return usagef("--shards: want at least 1, got %d", f.shards)
			case !(f.p > 1 && f.p <= 1e6):
				return usagef("--p: want a number above 1, got %v", f.p)
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), args)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "auto", "auto, sets (a line a set), arcs (a line an arc), adjacency, mtx, bv, scp, rail or binary")
	fs.IntVar(&f.shards, "shards", 16, "so many shards; a few a core of the cluster spread the work evenly")
	fs.Float64Var(&f.p, "p", 1.2, "classes of size are the powers of p, above 1")
	fs.Var(&f.memory, "memory", "sort a graph on disk that takes more (default: what is free)")
	fs.BoolVar(&f.unitWeights, "unit-weights", false, "ignore the costs of an OR-Library file")
	fs.StringVarP(&f.out, "output", "o", "", "folder for the shards; must not exist")
	fs.BoolVar(&f.json, "json", false, "one JSON object about the run")
	return cmd
}

// sharded is what shard prints.
type sharded struct {
	Sets     uint64  `json:"sets"`
	Elements uint64  `json:"elements"`
	Size     uint64  `json:"size"`
	Largest  uint64  `json:"largest"`
	Shards   int     `json:"shards"`
	Files    int     `json:"files"`
	Bytes    uint64  `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	PeakRSS  int64   `json:"peak_rss"`
}

func (f *shardFlags) run(ctx context.Context, stdout io.Writer, paths []string) (err error) {
	began := time.Now()
	out, err := files.Abs(f.out)
	if err != nil {
		return usagef("-o: %w", err)
	}
	family, closeInput, err := f.input(paths)
	if err != nil {
		return inputFault(err)
	}
	defer func() { err = errors.Join(err, closeInput()) }()
	if family.NumSets() == 0 {
		return usagef("%s: no sets: there is nothing to cover", paths[0])
	}
	m, err := shard.Write(ctx, out, family, f.shards, f.p)
	if errors.Is(err, fs.ErrExist) {
		return usagef("-o: %w", err)
	}
	if err != nil {
		return inputFault(err)
	}
	res := sharded{Sets: m.Sets, Elements: m.Elements, Size: m.Size, Largest: m.Largest, Shards: len(m.Shards)}
	for _, s := range m.Shards {
		res.Files += len(s.Files)
		res.Bytes += s.Bytes
	}
	res.Seconds, res.PeakRSS = time.Since(began).Seconds(), machine.PeakRSS()
	if f.json {
		return printJSON(stdout, res)
	}
	_, err = fmt.Fprintf(stdout, "%d sets of %d elements, %d in all: %d shards in %d files, %s (%.2f s)\n", res.Sets, res.Elements, res.Size, res.Shards, res.Files, units.Binary(res.Bytes), res.Seconds)
	return err
}

// input opens what is to be cut.
func (f *shardFlags) input(paths []string) (family cover.Family, closeInput func() error, err error) {
	graph := []string{"arcs", "adjacency", "mtx", "bv"}
	setSystem := []string{"sets", "scp", "rail", "binary"}
	if f.format == "auto" && (open.IsCollection(paths) || arcs.Ending(paths[0]) == ".graph" || arcs.Ending(paths[0]) == ".mtx") || slices.Contains(graph, f.format) {
		format, err := open.Format(f.format).Of(paths)
		if err != nil {
			return nil, nil, err
		}
		memory := int64(f.memory)
		if memory == 0 {
			memory = int64(machine.FreeMemory() / 10 * 9)
		}
		g, err := open.Open(paths, open.Options{Format: format, Memory: memory})
		if err != nil {
			return nil, nil, err
		}
		return cover.OutLinks(g.Scanner), g.Close, nil
	}
	if f.format != "auto" && !slices.Contains(setSystem, f.format) {
		return nil, nil, usagef("--format %q: want auto, sets, arcs, adjacency, mtx, bv, scp, rail or binary", f.format)
	}
	if len(paths) > 1 {
		return nil, nil, usagef("%d inputs: a set system is one file; --format arcs takes the arcs of a graph from several", len(paths))
	}
	s, err := sets.OpenSource(paths[0], sets.Format(f.format), arcs.Options{})
	if err != nil {
		return nil, nil, err
	}
	if family, err = s.Family(); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	if s.Info != nil && s.Info.Weights != nil && !f.unitWeights {
		return nil, nil, errors.Join(usagef("%s has costs, which levels on many machines do not know of: --unit-weights ignores them", paths[0]), s.Close())
	}
	return family, s.Close, nil
}

// inputFault makes what is wrong with the files of the user an error of input; what the disk does
// is not the user's fault.
func inputFault(err error) error {
	var path *fs.PathError
	var own inputError
	if err == nil || errors.As(err, &own) || errors.As(err, &path) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return inputError{err}
}
