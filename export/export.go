// Package export writes what leaves a store: all of it as tables, the list of its URLs, the graph of
// its links, the history of a site; and an archive: its index, or all of it as one file.
//
// Every function takes a view of a store, which may be in use by a running crawl, or the folder of an archive, and a path or,
// where it writes a single stream, a Target. A path that ends in .gz or .zst is compressed; a file appears under its name when it is
// complete, and after an error there is none.
package export

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"forage/graph"
	"forage/graph/arcs"
	"forage/store"
)

// Written tells what an export wrote.
type Written struct {
	Records uint64 // URLs, arcs, snapshots, captures, or rows of all tables
	Bytes   int64  // on disk, all files together; of what goes elsewhere, as it is written
}

func (w *Written) add(paths ...string) error {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		w.Bytes += info.Size()
	}
	return nil
}

// URLs writes the URLs of all pages, a line each, by number; with all, of everything known. keep, if set, is asked once for each of them,
// whether it is written.
func URLs(v *store.View, to Target, all bool, keep func(*store.Doc) bool) (w Written, err error) {
	err = to.create(&w, false, func(to io.Writer) error {
		out := bufio.NewWriter(to)
		c := v.Cursor()
		defer c.Close()
		err := c.Docs(func(d *store.Doc) bool {
			if (all || d.IsPage()) && (keep == nil || keep(d)) {
				w.Records++
				out.WriteString(d.URL)
				out.WriteByte('\n')
			}
			return true
		})
		if err != nil {
			return err
		}
		return out.Flush()
	})
	return w, err
}

// Graph writes the links between all documents as an arc list, and to names, unless that is nil, number and URL of every
// document, tab-separated.
// Documents that have not been fetched are nodes without arcs; with fetched they are left out, as
// are those that never were there and those that rules leave out; the others are numbered anew,
// in their order. So are those for which keep, if set, is false; it is asked once for each. Memory: the links of one document; with
// fetched or keep, 4 bytes a document too.
func Graph(v *store.View, to Target, names *Target, fetched bool, keep func(*store.Doc) bool) (w Written, err error) {
	g, err := newLinks(v, fetched, keep)
	if err != nil {
		return w, err
	}
	if err := to.create(&w, false, func(to io.Writer) error { return arcs.Write(to, g, arcs.Auto) }); err != nil {
		return w, err
	}
	if w.Records = g.arcs; names == nil {
		return w, nil
	}
	err = names.create(&w, false, func(to io.Writer) error {
		out := bufio.NewWriter(to)
		c := v.Cursor()
		defer c.Close()
		err := c.Docs(func(d *store.Doc) bool {
			if n := g.number(d.ID); n != graph.None {
				out.Write(strconv.AppendUint(out.AvailableBuffer(), uint64(n), 10))
				out.WriteByte('\t')
				out.WriteString(d.URL)
				out.WriteByte('\n')
			}
			return true
		})
		if err != nil {
			return err
		}
		return out.Flush()
	})
	return w, err
}

// LabelsPath returns where the URLs of the nodes of the graph at path are looked for: path with .urls before the ending of a compression.
func LabelsPath(path string) string {
	for _, ext := range []string{".gz", ".zst"} {
		if base, ok := strings.CutSuffix(path, ext); ok {
			return base + ".urls" + ext
		}
	}
	return path + ".urls"
}

// Links returns the graph of a store's current links, which reads the store at each scan; its
// number of arcs is known after one. Its nodes are the numbers of the documents.
func Links(v *store.View) (graph.Scanner, error) { return newLinks(v, false, nil) }

func newLinks(v *store.View, fetched bool, keep func(*store.Doc) bool) (*links, error) {
	n, err := v.NumURLs()
	g := &links{View: v, n: n}
	if err != nil || !fetched && keep == nil {
		return g, err
	}
	g.numbers = make([]graph.Node, n)
	for i := range g.numbers {
		g.numbers[i] = graph.None
	}
	g.n = 0
	c := v.Cursor()
	defer c.Close()
	err = c.Docs(func(d *store.Doc) bool {
		if int(d.ID) < n && (!fetched || d.State == store.Fetched && d.Kind != store.Unseen) && (keep == nil || keep(d)) {
			g.numbers[d.ID] = graph.Node(g.n)
			g.n++
		}
		return true
	})
	return g, err
}

// links is the graph of a store's current links, read from the store at each scan.
type links struct {
	*store.View
	n       int
	numbers []graph.Node // of the nodes, by document; graph.None: it is none; nil: documents are nodes
	arcs    uint64       // of the latest scan
}

func (g *links) NumNodes() int   { return g.n }
func (g *links) NumArcs() uint64 { return g.arcs }

// number is the node of a document, graph.None where it is none.
func (g *links) number(id graph.Node) graph.Node {
	switch {
	case g.numbers == nil:
		return id
	case int(id) < len(g.numbers):
		return g.numbers[id]
	}
	return graph.None
}

func (g *links) Scan(lo, hi graph.Node, visit func(v graph.Node, succ []graph.Node) error) error {
	g.arcs = 0
	next := lo
	var failed error
	var succ []graph.Node
	c := g.Cursor()
	defer c.Close()
	err := c.Docs(func(d *store.Doc) bool {
		v := g.number(d.ID)
		if v == graph.None {
			return true
		}
		if v < lo || v >= hi {
			return v < hi
		}
		for ; next < v && failed == nil; next++ {
			failed = visit(next, nil)
		}
		var out []store.Link
		if failed == nil {
			out, failed = c.Links(d)
		}
		succ = succ[:0]
		for _, l := range out {
			if to := g.number(l.To); to < graph.Node(g.n) {
				succ = append(succ, to)
			}
		}
		slices.Sort(succ)
		succ = slices.Compact(succ)
		g.arcs += uint64(len(succ))
		if failed == nil {
			failed = visit(v, succ)
		}
		next = v + 1
		return failed == nil
	})
	for ; next < hi && failed == nil && err == nil; next++ {
		failed = visit(next, nil)
	}
	if failed != nil {
		return failed
	}
	return err
}
