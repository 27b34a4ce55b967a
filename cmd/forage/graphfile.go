package main

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/labels"
	"forage/graph/open"
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

// load returns the graph at path in memory.
func (in *graphInput) load(path string) (*graph.CSR, error) {
	format, err := in.text(path)
	if err != nil {
		return nil, err
	}
	g, err := open.Load(path, format, int64(in.memory))
	return g, graphError(err)
}

// view returns the graph at path, in memory or, in BV format, mapped into it.
func (in *graphInput) view(path string) (g graph.Graph, closeGraph func() error, err error) {
	format, err := in.text(path)
	if err != nil {
		return nil, nil, err
	}
	g, closeGraph, err = open.View(path, format, int64(in.memory))
	return g, closeGraph, graphError(err)
}

// text returns --format, which does not count for a BV graph.
func (in *graphInput) text(path string) (arcs.Format, error) {
	if isBV(path) {
		return arcs.Auto, nil
	}
	format, err := arcs.ParseFormat(in.format)
	if err != nil {
		return 0, usagef("--format: %w", err)
	}
	return format, nil
}

// isBV reports whether a command takes a path for a graph in BV format.
func isBV(path string) bool { return strings.HasSuffix(path, ".graph") }

// graphError makes all that is wrong with files that the user names bad input, with the flag that
// helps; what the disk does is not the user's fault.
func graphError(err error) error {
	var (
		path    *fs.PathError
		decided *exitError
		memory  *open.MemoryError
	)
	switch {
	case errors.As(err, &decided):
		return err
	case errors.As(err, &path) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EISDIR):
		return err
	case errors.As(err, &memory):
		return usagef("%s takes %d bytes in memory, more than --memory %d", memory.Path, memory.Need, memory.Limit)
	case errors.Is(err, labels.ErrUnnamed):
		return usagef("%w; give them with --labels", err)
	}
	return badInput(err)
}
