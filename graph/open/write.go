package open

import (
	"context"
	"io"
	"os"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
)

// A Target is where a graph is written to, and how.
type Target struct {
	Path   string    // of the file; "-": Stdout, which takes no BV
	Format Format    // as Format.Output returned it
	BV     bv.Config // in format BV
	Stdout io.Writer

	// Progress, if set, is told every 4096 nodes how many of how many are written.
	Progress func(done, nodes int)
}

// Written is what was written.
type Written struct {
	Nodes       int      `json:"nodes"`
	Arcs        uint64   `json:"arcs"`
	Format      Format   `json:"format"`
	Bytes       int64    `json:"bytes"`         // of all files; 0 for the standard output
	BitsPerLink *float64 `json:"bits_per_link"` // of the .graph file or the text; nil without arcs
	OnDisk      bool     `json:"sorted_on_disk"`
}

// Write writes g until ctx ends. What is not complete is removed. Errors of reading g are returned
// as they are: a BV graph is decoded here.
func (t *Target) Write(ctx context.Context, g *Graph) (*Written, error) {
	var err error
	s := &watched{Scanner: g.Scanner, ctx: ctx, progress: t.Progress}
	files := []string{t.Path}
	switch t.Format {
	case BV:
		name := bv.Name(t.Path)
		files = []string{name + ".graph", name + ".properties", name + ".offsets"}
		_, err = bv.Write(name, s, t.BV)
	case GraphML:
		write := func(w io.Writer) error {
			if g.Names == nil {
				return arcs.WriteGraphML(w, s, nil, nil, nil)
			}
			return arcs.WriteGraphML(w, s, g.Names.Names, g.Names.Columns, g.Names.Rows)
		}
		if t.Path == "-" {
			err = write(t.Stdout)
		} else {
			err = arcs.Create(t.Path, write)
		}
	default:
		f, ferr := arcs.ParseFormat(string(t.Format))
		if ferr != nil {
			return nil, ferr
		}
		if t.Path == "-" {
			err = arcs.Write(t.Stdout, s, f)
		} else {
			err = arcs.WriteFile(t.Path, s, f)
		}
	}
	if err != nil {
		return nil, err
	}
	w := &Written{Nodes: g.NumNodes(), Arcs: g.NumArcs(), Format: t.Format, OnDisk: g.OnDisk}
	if t.Path == "-" {
		return w, nil
	}
	for i, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		w.Bytes += info.Size()
		if i == 0 && w.Arcs > 0 {
			bits := 8 * float64(info.Size()) / float64(w.Arcs)
			w.BitsPerLink = &bits
		}
	}
	return w, nil
}

// watched is a graph whose scans end when ctx does, and that tells how far they are.
type watched struct {
	graph.Scanner
	ctx      context.Context // of the one Write that made it
	progress func(done, nodes int)
}

func (g *watched) Scan(lo, hi graph.Node, visit func(v graph.Node, succ []graph.Node) error) error {
	nodes := 0
	return g.Scanner.Scan(lo, hi, func(v graph.Node, succ []graph.Node) error {
		if nodes++; nodes&0xfff == 0 {
			if err := g.ctx.Err(); err != nil {
				return err
			}
			if g.progress != nil {
				g.progress(int(v), int(hi))
			}
		}
		return visit(v, succ)
	})
}
