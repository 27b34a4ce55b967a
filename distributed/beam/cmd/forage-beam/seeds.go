package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/distributed/beam/files"
	"forage/distributed/beam/level"
	"forage/distributed/beam/pipeline"
	"forage/graph/arcs"
	"forage/internal/machine"
	"forage/internal/units"
	"forage/seed"
)

type seedsFlags struct {
	runnerFlags
	p        float64
	depth    int
	l0       string
	l0Degree int
	state    string
	out      string
	json     bool
}

func seedsCmd() *cobra.Command {
	var f seedsFlags
	cmd := &cobra.Command{
		Use:   "seeds DIR",
		Short: "Choose seeds in the graph in a folder of shards, by layered covers",
		Long: `Seeds chooses a part of a good set L0 of pages from which all is reached within --depth links
that is reached from L0: the layers around L0 are covered one by the other, from the last to L0. The
list (-o) has a page number a line, in the order chosen. It is that of 'forage seed --method layered
--algorithm spgreedy' with the same p, byte for byte, where that has nothing else to heed.

L0 is the pages of a file (--l0), a number a line, or those to which most pages link
(--l0-top-indegree), for which this process reads all links once and has 4 bytes of memory a page.

Each layer is found, each family cut out of the shards, and what is done with found, by one pipeline
that reads all links; a cover takes a pipeline a level more, on its own family alone. A run that was
killed goes on where it was when the same command is given again.`,
		Example: `  forage-beam seeds /shared/web --l0-top-indegree 500 --depth 3 --p 2 -o seeds.txt
  forage-beam seeds s3://crawl/web --l0 hubs.txt --depth 4 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
		},
	}
	fs := cmd.Flags()
	fs.Float64Var(&f.p, "p", 1.2, "levels of the covers are the powers of p, above 1")
	fs.IntVar(&f.depth, "depth", 3, "links within which pages are to be reached")
	fs.StringVar(&f.l0, "l0", "", "file of the pages of L0, a number a line")
	fs.IntVar(&f.l0Degree, "l0-top-indegree", 0, "L0 is the pages to which most pages link")
	f.runnerFlags.add(cmd)
	fs.StringVar(&f.state, "state", "", "folder for what passes between machines (default: DIR/seeds-DEPTH-P)")
	fs.StringVarP(&f.out, "output", "o", "", "file for the list of seeds")
	fs.BoolVar(&f.json, "json", false, "one JSON object about the run")
	return cmd
}

// seeded is what seeds prints.
type seeded struct {
	P            float64          `json:"p"`
	Depth        int              `json:"depth"`
	Nodes        uint64           `json:"nodes"`
	Arcs         uint64           `json:"arcs"`
	Seeds        int              `json:"seeds"`
	Layers       []uint64         `json:"layers"`
	Unreached    uint64           `json:"unreached"`
	Covers       []pipeline.Cover `json:"covers"`
	Counts       level.Counts     `json:"counts"`
	ReadsPerArcs float64          `json:"reads_per_arcs"`
	Seconds      float64          `json:"seconds"`
	PeakRSS      int64            `json:"peak_rss"`
}

func (f *seedsFlags) options(ctx context.Context, dir string) (o pipeline.LayeredOptions, err error) {
	if err := checkP(f.p); err != nil {
		return o, err
	}
	switch {
	case f.depth < 1 || f.depth > seed.MaxDepth:
		return o, usagef("--depth: want 1 to %d, got %d", seed.MaxDepth, f.depth)
	case (f.l0 != "") == (f.l0Degree != 0):
		return o, usagef("want one of --l0 and --l0-top-indegree")
	case f.l0Degree < 0:
		return o, usagef("--l0-top-indegree: want at least 1, got %d", f.l0Degree)
	}
	state := f.state
	if state == "" {
		state = files.Join(strings.TrimSuffix(dir, "/"), fmt.Sprintf("seeds-%d-%v", f.depth, f.p))
	}
	o = pipeline.LayeredOptions{Options: pipeline.Options{P: f.p, Form: level.Reducer}, Depth: f.depth}
	if o.Shards, o.Dir, err = folders(dir, state); err != nil {
		return o, err
	}
	if f.l0 != "" {
		o.L0, err = readPages(f.l0)
	}
	if err == nil {
		o.Runner, err = f.choose(ctx)
	}
	if err == nil && f.l0 == "" {
		o.L0, err = pipeline.TopInDegree(ctx, o.Shards, f.l0Degree)
	}
	return o, err
}

// readPages reads a file with a page number a line.
func readPages(path string) (pages []uint64, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, inputError{err}
	}
	line := 0
	for text := range bytes.Lines(b) {
		line++
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		v, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil {
			return nil, usagef("%s:%d: want a page number, got %q", path, line, text)
		}
		pages = append(pages, v)
	}
	return pages, nil
}

func (f *seedsFlags) run(ctx context.Context, stdout, stderr io.Writer, dir string) (err error) {
	began := time.Now()
	f.begin(stderr)
	o, err := f.options(ctx, dir)
	if err != nil {
		return err
	}
	step := ""
	o.Step = func(what string) {
		step = what
		fmt.Fprintf(stderr, "forage-beam: %s\n", what)
	}
	o.Progress = func(p pipeline.Progress) {
		if p.Done {
			fmt.Fprintf(stderr, "forage-beam: %s: level %d done: %d pages link to %d\n", step, p.Level, p.Taken, p.Covered)
		}
	}
	remove, err := beamTemp()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	s, err := pipeline.Layered(ctx, o)
	if err != nil {
		return err
	}
	if f.out != "" {
		err := arcs.Create(f.out, func(w io.Writer) error {
			out := bufio.NewWriter(w)
			for _, v := range s.Seeds {
				fmt.Fprintln(out, v)
			}
			return out.Flush()
		})
		if err != nil {
			return err
		}
	}
	res := seeded{
		P: o.P, Depth: o.Depth, Nodes: s.Manifest.Elements, Arcs: s.Manifest.Size, Seeds: len(s.Seeds), Layers: s.LayerSize, Unreached: s.Unreached, Covers: s.Covers,
		Counts: s.Counts, ReadsPerArcs: float64(s.Counts.Reads) / float64(max(1, s.Manifest.Size)), Seconds: time.Since(began).Seconds(), PeakRSS: machine.PeakRSS(),
	}
	if f.json {
		return printJSON(stdout, res)
	}
	fmt.Fprintf(stdout, "%d of the %d pages of L0 reach what it reaches within %d links: all but %d of %d pages (%.2f s)\n", res.Seeds, res.Layers[0], res.Depth, res.Unreached, res.Nodes, res.Seconds)
	_, err = fmt.Fprintf(stdout, "links looked at: %.2f times all; bytes of links read: %s, written: %s\n", res.ReadsPerArcs, units.Binary(res.Counts.Read), units.Binary(res.Counts.Written))
	return err
}
