package main

import (
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

	"forage/graph/bv"
	"forage/graph/open"
	"forage/internal/machine"
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
		in.memory = size(machine.FreeMemory() / 4 * 3)
	}
	debug.SetMemoryLimit(int64(in.memory))
	in.loaded = endOnInterrupt(cmd.Context(), cmd.ErrOrStderr(), outputs...)
	due := every(10 * time.Second)
	in.progress = func(file string, text int64) {
		if due() {
			fmt.Fprintf(cmd.ErrOrStderr(), "forage: %s of text read, now %s\n", bytesText(text), file)
		}
	}
	return nil
}

// options says how to open the graph at the paths.
func (in *graphFiles) options(paths []string) (open.Options, error) {
	format, err := open.Format(in.format).Of(paths)
	return open.Options{Format: format, Threads: in.threads, Memory: int64(in.memory), Dir: in.tmp, Progress: in.progress}, formatError("format", err)
}

// outputFormat returns the format to write: as asked, or by the name of the output.
func outputFormat(asked, path string) (open.Format, error) {
	format, err := open.Format(asked).Output(path)
	return format, formatError("to", err)
}

// formatError names the flag of a format that is unknown.
func formatError(flag string, err error) error {
	if unknown := (*open.FormatError)(nil); errors.As(err, &unknown) {
		return usagef("--%s %w", flag, err)
	}
	return badInput(err)
}

// tell prints the plan, or refuses what cannot fit; folder is where the output goes.
func (in *graphFiles) tell(w io.Writer, p open.Plan, folder string) error {
	var why []string
	for _, s := range p.Fit(int64(in.memory), in.tmp, folder) {
		switch need, have := bytesText(s.Need), bytesText(s.Have); s.Of {
		case open.Memory:
			why = append(why, fmt.Sprintf("it needs %s of memory and may use %s", need, have))
		case open.Sorting:
			why = append(why, fmt.Sprintf("it sorts %s in %s, which has %s free: --tmp names another folder", need, s.Folder, have))
		case open.Output:
			why = append(why, fmt.Sprintf("it writes %s and the disk has %s free", need, have))
		case open.Nodes:
			why = append(why, fmt.Sprintf("%d nodes are more than a graph can have ('forage cover' takes set systems with 64-bit numbers)", s.Need))
		}
	}
	if in.json {
		if err := printJSON(w, p); err != nil {
			return err
		}
	} else {
		about := about(p.Exact)
		fmt.Fprintf(w, "%s%d nodes, %s%d arcs: %s of memory, %s on disk, about %s\n", about, p.Nodes, about, p.Arcs,
			bytesText(p.Memory), bytesText(p.Disk), time.Duration(p.Seconds*float64(time.Second)).Round(100*time.Millisecond))
	}
	if !p.Fits {
		return usagef("this cannot fit: %s", strings.Join(why, "; "))
	}
	return nil
}

// about is put before numbers that are not counted.
func about(exact bool) string {
	if exact {
		return ""
	}
	return "about "
}

// write writes g. Interrupts stop it, no longer the whole
// program.
func (in *graphFiles) write(cmd *cobra.Command, g *open.Graph, t open.Target) (*open.Written, error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	in.loaded()
	due := every(10 * time.Second)
	t.Stdout = cmd.OutOrStdout()
	t.Progress = func(done, nodes int) {
		if due() {
			fmt.Fprintf(cmd.ErrOrStderr(), "forage: %d of %d nodes written\n", done, nodes)
		}
	}
	w, err := t.Write(ctx, g)
	if bits := (*bv.Error)(nil); errors.As(err, &bits) {
		err = badInput(err) // the input, which is read as it is written
	}
	return w, err
}
