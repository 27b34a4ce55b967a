// Package open opens and writes graphs in every format that there is: the text formats of package
// arcs, GraphML, and the BV format of package bv.
//
// Start with Format.Of, which tells the format of some paths; Open then reads the graph the way
// that the memory allows: in memory, sorted on disk, or where it lies. Estimate and the Plan
// functions tell beforehand what that would take. Load and View are for callers that want one
// file in memory, or as it is.
//
// What is wrong with a file is an error of the package that reads its format; an *fs.PathError is
// the disk's. Limits of memory are arguments: the package does not ask how much there is.
package open

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
)

// A Format is how a graph is written. The names are those of package arcs for its formats.
type Format string

// The formats.
const (
	Auto      Format = "auto"      // by the names of the files and their first bytes
	Arcs      Format = "arcs"      // a line an arc
	Adjacency Format = "adjacency" // a line a node
	MTX       Format = "mtx"       // MatrixMarket
	BV        Format = "bv"        // WebGraph's .graph with .properties and perhaps .offsets beside it
	GraphML   Format = "graphml"
)

// Of returns the format of the graph at the paths: f itself, or for Auto BV or GraphML by the
// ending of a name, else Auto, which leaves it to package arcs. It is an error if f is unknown or
// if there are several paths and the format has one file.
func (f Format) Of(paths []string) (Format, error) {
	if f == Auto {
		for _, p := range paths {
			switch arcs.Ending(p) {
			case ".graph", ".properties", ".offsets":
				f = BV
			case ".graphml":
				f = GraphML
			}
		}
	}
	if f == BV || f == GraphML {
		if len(paths) > 1 {
			return "", fmt.Errorf("%d paths: a graph in format %s is one file", len(paths), f)
		}
		return f, nil
	}
	if _, err := arcs.ParseFormat(string(f)); err != nil {
		return "", &FormatError{f, "auto, arcs, adjacency, mtx, bv or graphml"}
	}
	return f, nil
}

// Output returns the format to write to a path: f itself or, if it is "", that which the ending of
// the path tells, Arcs by default. Only text can be written to "-", the standard output.
func (f Format) Output(path string) (Format, error) {
	switch f {
	case "":
		switch arcs.Ending(path) {
		case ".graph":
			return BV, nil
		case ".graphml":
			return GraphML, nil
		case ".mtx":
			return MTX, nil
		case ".adj", ".adjacency", ".dat":
			return Adjacency, nil
		}
		return Arcs, nil
	case Arcs, Adjacency, MTX, GraphML:
		return f, nil
	case BV:
		if path == "-" {
			return "", errors.New("a BV graph is three files: it cannot go to the standard output")
		}
		return f, nil
	}
	return "", &FormatError{f, "arcs, adjacency, mtx, bv or graphml"}
}

// IsCollection reports whether one of the paths is a folder of an exploration, whose nodes are names.
func IsCollection(paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { _, ok := arcs.Collection(p); return ok })
}

// A FormatError tells of a format that is unknown, or cannot be written.
type FormatError struct {
	Format Format
	Want   string // the formats to choose from
}

func (e *FormatError) Error() string { return fmt.Sprintf("%s: want %s", e.Format, e.Want) }

// A MemoryError tells of a graph that takes more memory than it may.
type MemoryError struct {
	Path        string
	Need, Limit int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s takes %d bytes in memory, more than %d", e.Path, e.Need, e.Limit)
}

// Options of Open. The zero value reads a graph as it is written, with all processors and all the
// memory that it needs.
type Options struct {
	Format    Format // as Format.Of returned it; "" means Auto
	Direction arcs.Direction
	Relabel   bool   // nodes are names, which are given numbers; of arc lists only
	Threads   int    // 0: one a processor
	Memory    int64  // bytes; what exceeds them is sorted on disk; 0: no limit
	Dir       string // for what is sorted on disk; "": os.TempDir

	// Progress is that of arcs.Options.
	Progress func(file string, text int64)
}

func (o *Options) arcs() arcs.Options {
	f, err := arcs.ParseFormat(string(o.Format))
	if err != nil {
		f = arcs.Auto
	}
	return arcs.Options{Format: f, Direction: o.Direction, Threads: o.Threads, Memory: o.Memory, Dir: o.Dir, Progress: o.Progress}
}

// A Graph is a graph that is open.
type Graph struct {
	graph.Scanner             // a graph.Graph unless OnDisk is set
	Names         *arcs.Named // nil if nodes have no names
	OnDisk        bool        // it exceeds the memory and was sorted on disk
	close         func() error
}

// Close ends the use of the graph, and removes what was sorted on disk.
func (g *Graph) Close() error {
	if g.close == nil {
		return nil
	}
	return g.close()
}

// BitsPerLink returns how many bits of its .graph file an arc takes, nil if the graph is not in BV
// format or has no arcs. It reads the file's offsets.
func (g *Graph) BitsPerLink() (*float64, error) {
	b, ok := g.Scanner.(*bv.Graph)
	if !ok || b.NumArcs() == 0 {
		return nil, nil
	}
	bits, err := b.Bits()
	per := float64(bits) / float64(b.NumArcs())
	return &per, err
}

// Open reads the graph at the paths. In BV format it stays where it is as long as its arcs are
// taken as written, or where the transpose lies beside it and is asked for. The caller must close
// it.
func Open(paths []string, o Options) (*Graph, error) {
	switch {
	case o.Format == GraphML:
		g, err := arcs.ReadGraphML(paths[0], o.arcs())
		if err != nil {
			return nil, err
		}
		return &Graph{Scanner: g.CSR, Names: g}, nil
	case o.Relabel:
		g, err := arcs.Relabel(paths, o.arcs())
		if err != nil {
			return nil, err
		}
		return &Graph{Scanner: g.CSR, Names: g}, nil
	case o.Format == BV:
		return openBV(paths[0], &o)
	}
	g, closeGraph, err := arcs.Read(paths, o.arcs())
	if err != nil {
		return nil, err
	}
	_, inMemory := g.(*graph.CSR)
	return &Graph{Scanner: g, OnDisk: !inMemory, close: closeGraph}, nil
}

func openBV(path string, o *Options) (*Graph, error) {
	g, err := bv.Open(path)
	if err != nil {
		return nil, err
	}
	if o.Direction == arcs.AsWritten {
		return &Graph{Scanner: g, close: g.Close}, nil
	}
	defer g.Close()
	if o.Direction == arcs.Reversed {
		if t, err := bv.OpenTranspose(path); err == nil && t.NumNodes() == g.NumNodes() && t.NumArcs() == g.NumArcs() {
			return &Graph{Scanner: t, close: t.Close}, nil
		}
	}
	if need := turning(uint64(g.NumNodes()), g.NumArcs(), o.Direction); o.Memory > 0 && need > o.Memory {
		r, err := arcs.SortGraph(g, o.arcs())
		if err != nil {
			return nil, err
		}
		return &Graph{Scanner: r, OnDisk: true, close: r.Close}, nil
	}
	var c *graph.CSR
	if o.Direction == arcs.Reversed {
		c, err = graph.Transpose(g, o.Threads)
	} else if c, err = graph.Load(g); err == nil {
		c = c.Undirected()
	}
	if err != nil {
		return nil, err
	}
	return &Graph{Scanner: c}, nil
}

// turning returns the bytes that turning a BV graph round, or making it undirected, takes in
// memory.
func turning(n, m uint64, d arcs.Direction) int64 {
	if d == arcs.Both {
		return int64(24*n + 16*m)
	}
	return int64(16*n + 4*m)
}

// Load returns the graph at path in memory: in BV format where the name ends in .graph, else text
// in the format of f. memory bounds what it takes, in bytes, 0 for no limit: a BV graph that
// exceeds it is a *MemoryError.
func Load(path string, f arcs.Format, memory int64) (*graph.CSR, error) {
	if !strings.HasSuffix(path, ".graph") {
		return arcs.Load(path, arcs.Options{Format: f, Memory: memory})
	}
	g, err := bv.Open(path)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	if need := 8*int64(g.NumNodes()) + 4*int64(g.NumArcs()); memory > 0 && need > memory {
		return nil, &MemoryError{path, need, memory}
	}
	return graph.Load(g)
}

// View returns the graph at path as Load does but for BV, which is mapped into memory and read
// where it lies. The caller must call closeGraph when done.
func View(path string, f arcs.Format, memory int64) (g graph.Graph, closeGraph func() error, err error) {
	if strings.HasSuffix(path, ".graph") {
		g, err := bv.Open(path)
		if err != nil {
			return nil, nil, err
		}
		return g, g.Close, nil
	}
	c, err := Load(path, f, memory)
	return c, func() error { return nil }, err
}
