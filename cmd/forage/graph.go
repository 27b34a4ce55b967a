package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
)

func graphCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Statistics, formats and generators of graphs",
		Long: `Graph tells what a graph is like, turns one format into another, and makes graphs.

Formats: arcs (a line 'u v' an arc), adjacency (line i lists the successors of node i), mtx
(MatrixMarket), bv (WebGraph's .graph with .properties and perhaps .offsets beside it) and
graphml. Text may be compressed with gzip or zstandard. A graph may be a file, several, a
pattern, a folder, or a list of parts (NAME.paths, NAME.paths.gz). Graphs are directed, nodes
are numbered from 0, and there are at most 2^32-1 of them.`,
		Example: "  forage graph stat web.graph\n  forage graph convert 'part-*.txt.gz' -o web.graph\n  forage graph generate weblike --nodes 1000000 -o web.graph",
		Args:    arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(graphStatCmd(), graphConvertCmd(), graphGenerateCmd())
	return cmd
}

// Formats of graphs beside those of package arcs.
const (
	formatBV      = "bv"
	formatGraphML = "graphml"
)

// A graphFiles is a graph as the graph commands are given it.
type graphFiles struct {
	format  string
	memory  size
	threads int
	tmp     string
	plan    bool
	json    bool

	progress func(file string, text int64) // of reading text
	loaded   func()                        // from now on interrupts do not end the program
}

func (in *graphFiles) flags(f *pflag.FlagSet, reads bool) {
	if reads {
		f.StringVar(&in.format, "format", "auto", "of the input: auto (bv and graphml by the name, mtx by its header, else arcs), arcs, adjacency, mtx, bv or graphml")
		f.StringVar(&in.tmp, "tmp", "", "folder for what does not fit into memory (default: the system's)")
	}
	f.Var(&in.memory, "memory", "memory to use; what exceeds it is sorted on disk, or refused (default: three quarters of what is free)")
	f.IntVar(&in.threads, "threads", 0, "processors to use (0: all); the result is the same")
	f.BoolVar(&in.plan, "plan", false, "tell nodes, arcs, memory, disk and time that it would take, and stop")
	f.BoolVar(&in.json, "json", false, "one JSON object when done")
}

// start checks the flags, settles how much memory there is, and lets interrupts end the program
// while it loads; outputs are what it writes meanwhile.
func (in *graphFiles) start(cmd *cobra.Command, outputs ...string) error {
	if in.threads < 0 {
		return usagef("--threads %d: want at least 0", in.threads)
	}
	if in.memory == 0 {
		in.memory = size(freeMemory() / 4 * 3)
	}
	debug.SetMemoryLimit(int64(in.memory))
	in.loaded = endOnInterrupt(cmd.Context(), cmd.ErrOrStderr(), outputs...)
	last := time.Now()
	in.progress = func(file string, text int64) {
		if now := time.Now(); now.Sub(last) >= 10*time.Second {
			last = now
			fmt.Fprintf(cmd.ErrOrStderr(), "forage: %s of text read, now %s\n", bytesText(text), file)
		}
	}
	return nil
}

// of tells the format of the paths.
func (in *graphFiles) of(paths []string) (string, error) {
	format := in.format
	if format == "auto" {
		for _, p := range paths {
			switch arcs.Ending(p) {
			case ".graph", ".properties", ".offsets":
				format = formatBV
			case ".graphml":
				format = formatGraphML
			}
		}
	}
	if format == formatBV || format == formatGraphML {
		if len(paths) > 1 {
			return "", usagef("%d paths: a graph in format %s is one file", len(paths), format)
		}
		return format, nil
	}
	if _, err := arcs.ParseFormat(format); err != nil {
		return "", usagef("--format %s: want auto, arcs, adjacency, mtx, bv or graphml", format)
	}
	return format, nil
}

func (in *graphFiles) options(format string, d arcs.Direction) arcs.Options {
	f, err := arcs.ParseFormat(format)
	if err != nil {
		f = arcs.Auto
	}
	return arcs.Options{Format: f, Direction: d, Threads: in.threads, Memory: int64(in.memory), Dir: in.tmp, Progress: in.progress}
}

// estimate tells the size of the graph at the paths before it is read.
func (in *graphFiles) estimate(paths []string, format string, d arcs.Direction) (arcs.Estimate, error) {
	switch format {
	case formatBV:
		g, err := bv.Open(paths[0])
		if err != nil {
			return arcs.Estimate{}, graphError(err)
		}
		defer g.Close()
		e := arcs.Estimate{Nodes: uint64(g.NumNodes()), Arcs: g.NumArcs(), Exact: d != arcs.Both}
		if d == arcs.Both {
			e.Arcs *= 2
		}
		return e, nil
	case formatGraphML:
		info, err := os.Stat(paths[0])
		if err != nil {
			return arcs.Estimate{}, badInput(err)
		}
		const perArc = 36 // bytes of an edge with short ids
		return arcs.Estimate{Nodes: uint64(info.Size() / perArc / 8), Arcs: uint64(info.Size() / perArc), Text: info.Size()}, nil
	}
	files, err := arcs.FilesAll(paths)
	if err != nil {
		return arcs.Estimate{}, graphError(err)
	}
	e, err := arcs.Guess(files, in.options(format, d))
	return e, graphError(err)
}

// A graphPlan is what a command would take.
type graphPlan struct {
	Plan    bool    `json:"plan"`
	Nodes   uint64  `json:"nodes"`
	Arcs    uint64  `json:"arcs"`
	Exact   bool    `json:"exact"`  // nodes and arcs are counted, not estimated
	Memory  int64   `json:"memory"` // bytes
	Limit   int64   `json:"memory_limit"`
	Disk    int64   `json:"disk"` // bytes written, temporary ones included
	Temp    int64   `json:"disk_temporary"`
	Free    int64   `json:"disk_free"`
	Seconds float64 `json:"seconds"`
	Fits    bool    `json:"fits"`
}

// tell prints the plan, or refuses what cannot fit; folder is where the output goes.
func (in *graphFiles) tell(w io.Writer, p graphPlan, folder string) error {
	p.Plan, p.Limit, p.Free = true, int64(in.memory), freeDisk(folder)
	var why []string
	if p.Memory > p.Limit && p.Limit > 0 {
		why = append(why, fmt.Sprintf("it needs %s of memory and may use %s", bytesText(p.Memory), bytesText(p.Limit)))
	}
	tmp, kept := cmp.Or(in.tmp, os.TempDir()), p.Disk
	if p.Temp > 0 && device(tmp) != device(folder) {
		kept -= p.Temp
		if free := freeDisk(tmp); p.Temp > free && free > 0 {
			why = append(why, fmt.Sprintf("it sorts %s in %s, which has %s free: --tmp names another folder", bytesText(p.Temp), tmp, bytesText(free)))
		}
	}
	if kept > p.Free && p.Free > 0 {
		why = append(why, fmt.Sprintf("it writes %s and the disk has %s free", bytesText(kept), bytesText(p.Free)))
	}
	if p.Nodes > graph.MaxNodes {
		why = append(why, fmt.Sprintf("%d nodes are more than a graph can have ('forage cover' takes set systems with 64-bit numbers)", p.Nodes))
	}
	p.Fits = len(why) == 0
	if in.json {
		if err := printJSON(w, p); err != nil {
			return err
		}
	} else {
		about := "about "
		if p.Exact {
			about = ""
		}
		fmt.Fprintf(w, "%s%d nodes, %s%d arcs: %s of memory, %s on disk, about %s\n", about, p.Nodes, about, p.Arcs,
			bytesText(p.Memory), bytesText(p.Disk), time.Duration(p.Seconds*float64(time.Second)).Round(100*time.Millisecond))
	}
	if !p.Fits {
		return usagef("this cannot fit: %s", strings.Join(why, "; "))
	}
	return nil
}

// reading returns the seconds that reading a graph takes with two processors, by what was
// measured: millions of arcs a second.
func reading(e arcs.Estimate, format string) float64 {
	rate := 40e6
	switch format {
	case formatBV:
		rate = 70e6
	case formatGraphML:
		rate = 0.3e6
	}
	return float64(e.Arcs) / rate
}

// A graphRead is a graph that a command has opened.
type graphRead struct {
	graph.Scanner
	names  *arcs.Named // nil if nodes have no names
	close  func() error
	onDisk bool // sorted there
}

// open reads the graph at the paths. In BV format it stays where it is as long as its arcs are
// taken as written.
func (in *graphFiles) open(paths []string, format string, d arcs.Direction, relabel bool) (*graphRead, error) {
	nothing := func() error { return nil }
	o := in.options(format, d)
	switch {
	case format == formatGraphML:
		g, err := arcs.ReadGraphML(paths[0], o)
		if err != nil {
			return nil, graphError(err)
		}
		return &graphRead{g.CSR, g, nothing, false}, nil
	case relabel:
		g, err := arcs.Relabel(paths, o)
		if err != nil {
			return nil, graphError(err)
		}
		return &graphRead{g.CSR, g, nothing, false}, nil
	case format != formatBV:
		g, closeGraph, err := arcs.Read(paths, o)
		if err != nil {
			return nil, graphError(err)
		}
		_, inMemory := g.(*graph.CSR)
		return &graphRead{g, nil, closeGraph, !inMemory}, nil
	}
	g, err := bv.Open(paths[0])
	if err != nil {
		return nil, graphError(err)
	}
	if d == arcs.AsWritten {
		return &graphRead{g, nil, g.Close, false}, nil
	}
	defer g.Close()
	if d == arcs.Reversed {
		if t, err := bv.OpenTranspose(paths[0]); err == nil && t.NumNodes() == g.NumNodes() && t.NumArcs() == g.NumArcs() {
			return &graphRead{t, nil, t.Close, false}, nil
		}
	}
	if need := turning(uint64(g.NumNodes()), g.NumArcs(), d); need > int64(in.memory) {
		r, err := arcs.SortGraph(g, o)
		if err != nil {
			return nil, graphError(err)
		}
		return &graphRead{r, nil, r.Close, true}, nil
	}
	var c *graph.CSR
	if d == arcs.Reversed {
		c, err = graph.Transpose(g, in.threads)
	} else if c, err = graph.Load(g); err == nil {
		c = c.Undirected()
	}
	if err != nil {
		return nil, graphError(err)
	}
	return &graphRead{c, nil, nothing, false}, nil
}

// turning returns the bytes that turning a BV graph round, or making it undirected, takes in
// memory.
func turning(n, m uint64, d arcs.Direction) int64 {
	if d == arcs.Both {
		return int64(24*n + 16*m)
	}
	return int64(16*n + 4*m)
}

// watched is a graph whose scans end when ctx does, and that shows on stderr how far they are.
type watched struct {
	graph.Scanner
	ctx  context.Context
	w    io.Writer
	last time.Time
}

func (g *watched) Scan(lo, hi graph.Node, visit func(v graph.Node, succ []graph.Node) error) error {
	nodes := 0
	return g.Scanner.Scan(lo, hi, func(v graph.Node, succ []graph.Node) error {
		if nodes++; nodes&0xfff == 0 {
			if err := g.ctx.Err(); err != nil {
				return err
			}
			if now := time.Now(); now.Sub(g.last) >= 10*time.Second {
				g.last = now
				fmt.Fprintf(g.w, "forage: %d of %d nodes written\n", v, hi)
			}
		}
		return visit(v, succ)
	})
}

// writeGraph writes g to path and returns how many bytes that took, and how many of them hold
// the arcs.
func (in *graphFiles) writeGraph(cmd *cobra.Command, g *graphRead, path, format string, c bv.Config) (total, ofArcs int64, err error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	in.loaded()
	s := &watched{Scanner: g.Scanner, ctx: ctx, w: cmd.ErrOrStderr(), last: time.Now()}
	files := []string{path}
	switch format {
	case formatBV:
		name := bv.Name(path)
		files = []string{name + ".graph", name + ".properties", name + ".offsets"}
		_, err = bv.Write(name, s, c)
	case formatGraphML:
		write := func(w io.Writer) error {
			if g.names == nil {
				return arcs.WriteGraphML(w, s, nil, nil, nil)
			}
			return arcs.WriteGraphML(w, s, g.names.Names, g.names.Columns, g.names.Rows)
		}
		if path == "-" {
			err = write(cmd.OutOrStdout())
		} else {
			err = arcs.Create(path, write)
		}
	default:
		f, ferr := arcs.ParseFormat(format)
		if ferr != nil {
			return 0, 0, ferr
		}
		if path == "-" {
			err = arcs.Write(cmd.OutOrStdout(), s, f)
		} else {
			err = arcs.WriteFile(path, s, f)
		}
	}
	var bits *bv.Error
	if errors.As(err, &bits) {
		err = badInput(err) // the input, which is read as it is written
	}
	if err != nil || path == "-" {
		return 0, 0, err
	}
	for i, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return 0, 0, err
		}
		total += info.Size()
		if i == 0 {
			ofArcs = total
		}
	}
	return total, ofArcs, nil
}

// outputFormat returns the format to write: as asked, or by the name of the output.
func outputFormat(asked, path string) (string, error) {
	switch asked {
	case "":
		switch arcs.Ending(path) {
		case ".graph":
			return formatBV, nil
		case ".graphml":
			return formatGraphML, nil
		case ".mtx":
			return "mtx", nil
		case ".adj", ".adjacency", ".dat":
			return "adjacency", nil
		}
		return "arcs", nil
	case "arcs", "adjacency", "mtx", formatGraphML:
		return asked, nil
	case formatBV:
		if path == "-" {
			return "", usagef("a BV graph is three files: it cannot go to the standard output")
		}
		return asked, nil
	}
	return "", usagef("--to %s: want arcs, adjacency, mtx, bv or graphml", asked)
}

// freeDisk returns the bytes that are free in a folder; 0 where the system does not tell.
func freeDisk(folder string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// device returns the number of the file system that a folder is on; 0 where the system does not
// tell.
func device(folder string) uint64 {
	var s syscall.Stat_t
	if syscall.Stat(folder, &s) != nil {
		return 0
	}
	return uint64(s.Dev)
}
