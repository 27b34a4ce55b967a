package bv

import (
	"errors"
	"fmt"
	"io/fs"

	"forage/graph"
)

// index tells where each list begins: a number of 64 bits for every 32 lists, and for each list
// its distance from there. 4.25 bytes a node.
type index struct {
	base []uint64
	rest []uint32
}

const indexed = 32 // lists to a base

func newIndex(nodes int) *index {
	return &index{make([]uint64, 0, nodes/indexed+1), make([]uint32, 0, nodes+1)}
}

// add appends the offset of the next list; ok=false if it falls or is too far from its base.
func (x *index) add(offset uint64) (ok bool) {
	if len(x.rest)%indexed == 0 {
		x.base = append(x.base, offset)
	}
	d := offset - x.base[len(x.base)-1]
	x.rest = append(x.rest, uint32(d))
	return d < 1<<32
}

func (x *index) at(v int) uint64 { return x.base[v/indexed] + uint64(x.rest[v]) }

// needIndex loads the offsets, or finds them.
func (g *Graph) needIndex() error {
	g.once.Do(func() {
		g.index, g.indexErr = g.readOffsets()
		if errors.Is(g.indexErr, fs.ErrNotExist) {
			d := g.decoder()
			defer g.idle.Put(d)
			g.index, g.indexErr = d.offsets()
		}
	})
	return g.indexErr
}

// readOffsets reads the .offsets file.
func (g *Graph) readOffsets() (*index, error) {
	path := g.name + ".offsets"
	data, unmap, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	defer unmap()
	x := newIndex(g.nodes)
	r := reader{data: data}
	at, end := uint64(0), 8*uint64(len(g.data))
	for v := range g.nodes + 1 {
		at += min(r.read(g.codes.offsets, 0), 1<<60)
		switch {
		case r.pos > 8*uint64(len(data)):
			return nil, &Error{path, 8 * uint64(len(data)), graph.Node(v), fmt.Sprintf("the file ends too early, want %d offsets", g.nodes+1)}
		case at > end:
			return nil, &Error{path, r.pos, graph.Node(v), fmt.Sprintf("offset %d, the graph file ends at %d", at, end)}
		case !x.add(at):
			return nil, &Error{path, r.pos, graph.Node(v), "32 lists take more than half a GiB"}
		}
	}
	if at+padding <= end {
		return nil, &Error{path, r.pos, graph.None, fmt.Sprintf("the lists end at bit %d, the graph file at %d: these are the offsets of another graph", at, end)}
	}
	return x, nil
}

// offsets finds the offsets in one pass over the graph, which needs the outdegrees but no list.
func (d *decoder) offsets() (*index, error) {
	g := d.g
	x := newIndex(g.nodes)
	degrees := make([]int, g.recent())
	d.pos = 0
	for v := range g.nodes {
		if !x.add(d.pos) {
			return nil, g.corrupt(d.pos, graph.Node(v), "32 lists take more than half a GiB")
		}
		deg, ref, err := d.head(graph.Node(v))
		if err != nil {
			return nil, err
		}
		degrees[v%len(degrees)] = deg
		if deg == 0 {
			continue
		}
		left := uint64(deg)
		if ref > 0 {
			size := uint64(degrees[(v-ref)%len(degrees)])
			count := d.read(g.codes.blockCounts, 0)
			at, copied := uint64(0), uint64(0)
			if count > size+1 {
				return nil, g.corrupt(d.pos, graph.Node(v), "%d copy blocks of a list of %d", count, size)
			}
			for i := range count {
				n := d.read(g.codes.blocks, 0)
				if i > 0 {
					n++
				}
				if n > size-at {
					return nil, g.corrupt(d.pos, graph.Node(v), "copy blocks longer than the list of %d", size)
				}
				if i&1 == 0 {
					copied += n
				}
				at += n
			}
			if count&1 == 0 {
				copied += size - at
			}
			if copied > left {
				return nil, g.corrupt(d.pos, graph.Node(v), "%d successors copied, the outdegree is %d", copied, deg)
			}
			left -= copied
		}
		if left > 0 && g.minInterval > 0 {
			count := d.gamma()
			if count > left {
				return nil, g.corrupt(d.pos, graph.Node(v), "%d intervals, %d successors are left", count, left)
			}
			for range count {
				d.gamma()
				n := d.gamma() + uint64(g.minInterval)
				if n > left {
					return nil, g.corrupt(d.pos, graph.Node(v), "an interval of %d nodes, %d successors are left", n, left)
				}
				left -= n
			}
		}
		for range left {
			d.read(g.codes.residuals, g.zetaK)
			if d.pos > 8*uint64(len(d.data)) {
				break
			}
		}
		if err := d.checkEnd(graph.Node(v)); err != nil {
			return nil, err
		}
	}
	x.add(d.pos)
	return x, nil
}
