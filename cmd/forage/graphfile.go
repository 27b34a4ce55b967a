package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
)

// A graphInput is how a command reads the graph that it works on.
type graphInput struct {
	format string
	memory size
}

func (in *graphInput) flags(f *pflag.FlagSet) {
	f.StringVar(&in.format, "format", "auto", "of the graph: auto, arcs (a line an arc), adjacency (a line a node) or mtx")
	f.Var(&in.memory, "memory", "refuse a graph that takes more (0: no limit)")
}

// load returns the graph at path in memory; what is wrong with it is bad input.
func (in *graphInput) load(path string) (*graph.CSR, error) {
	if strings.HasSuffix(path, ".graph") {
		g, err := bv.Open(path)
		if err != nil {
			return nil, graphError(err)
		}
		defer g.Close()
		if need := 8*int64(g.NumNodes()) + 4*int64(g.NumArcs()); in.memory > 0 && need > int64(in.memory) {
			return nil, usagef("%s takes %d bytes in memory, more than --memory %d", path, need, int64(in.memory))
		}
		c, err := graph.Load(g)
		return c, graphError(err)
	}
	format, err := arcs.ParseFormat(in.format)
	if err != nil {
		return nil, usagef("--format: %w", err)
	}
	g, err := arcs.Load(path, arcs.Options{Format: format, Memory: int64(in.memory)})
	return g, graphError(err)
}

// open returns the graph at path, in memory or, in BV format, mapped into it.
func (in *graphInput) open(path string) (g graph.Graph, closeGraph func() error, err error) {
	if strings.HasSuffix(path, ".graph") {
		g, err := bv.Open(path)
		if err != nil {
			return nil, nil, graphError(err)
		}
		return g, g.Close, nil
	}
	g, err = in.load(path)
	return g, func() error { return nil }, err
}

// graphError makes all that is wrong with the files of a graph bad input; what the disk does
// is not the user's fault.
func graphError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EISDIR) {
		return err
	}
	return badInput(err)
}

// readNodes reads node numbers below n, one a line; # begins a comment.
func readNodes(path string, n int) ([]graph.Node, error) {
	var nodes []graph.Node
	err := eachLine(path, func(line int, text string) error {
		v, err := strconv.ParseUint(text, 10, 64)
		switch {
		case err != nil:
			return fmt.Errorf("%s:%d: want a node number, got %q", path, line, text)
		case v >= uint64(n):
			return fmt.Errorf("%s:%d: node %d is not in the graph, whose nodes are 0 to %d", path, line, v, n-1)
		}
		nodes = append(nodes, graph.Node(v))
		return nil
	})
	return nodes, err
}

// eachLine calls visit for each line of a file, compressed or not, that is neither empty nor a
// comment, without the blanks around it. All errors are the user's, but for those of the disk.
func eachLine(path string, visit func(line int, text string) error) (err error) {
	r, err := arcs.Open(path)
	if err != nil {
		return graphError(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	b := bufio.NewReaderSize(r, 1<<16)
	for line := 1; ; line++ {
		text, err := b.ReadString('\n')
		if t := strings.TrimSpace(text); t != "" && t[0] != '#' {
			if err := visit(line, t); err != nil {
				return badInput(err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return graphError(err) // it names the file
		}
	}
}

// peakRSS returns the most memory that the process ever had, in bytes; 0 where the system does
// not tell.
func peakRSS() int64 {
	// Linux counts in Rusage the process that ran before exec, too: a large parent.
	if text, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(text)) {
			if w := strings.Fields(line); len(w) >= 2 && w[0] == "VmHWM:" {
				if kb, err := strconv.ParseInt(w[1], 10, 64); err == nil {
					return kb << 10
				}
			}
		}
	}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
