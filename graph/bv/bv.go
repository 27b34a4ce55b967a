// Package bv reads and writes graphs in the BV format of the WebGraph framework [BV04]: 2 to 4
// bits an arc for web graphs whose nodes are in the order of URLs.
//
// Open maps a graph into memory; *Graph then answers as any graph.Graph does, with O(NumNodes)
// memory at most. Write compresses. Graphs are exchanged with WebGraph's own programs.
//
// A graph NAME lies in three files. NAME.properties says, in lines KEY=VALUE, how many nodes
// and arcs there are and how they are coded. NAME.graph is a stream of bits, the most
// significant of each byte first; for every node x in turn it holds
//
//	outdegree                      γ; nothing follows if it is 0
//	reference r                    unary, left out if windowsize is 0: list x−r is copied from, 0 means none
//	if r > 0: number of blocks     γ, then the blocks, γ: how many entries of list x−r to copy, to skip,
//	                               to copy, …; all but the first are written less 1; if their number is
//	                               even the rest of the list is copied
//	if successors are left: number of intervals   γ, left out if minintervallength is 0; then each interval's
//	                               left end and length less minintervallength, γ
//	the residuals                  ζ_k: the others, as gaps
//
// The first left end and the first residual are written as the integer by which they differ
// from x (0, −1, 1, −2, … as 0, 1, 2, 3, …), all others less the end of the one before less 1.
// compressionflags names other codes for the parts. NAME.offsets holds where each list begins,
// and the end, as γ-coded gaps; where it is absent Graph finds them in one pass when they are
// first needed.
package bv

import (
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strings"
	"sync"

	"forage/graph"
)

// An Error tells where a graph file is not what it should be.
type Error struct {
	File string
	Bit  uint64     // where it was noticed
	Node graph.Node // whose list was read; graph.None if it is not about one
	What string
}

func (e *Error) Error() string {
	if e.Node == graph.None {
		return fmt.Sprintf("%s: bit %d: %s", e.File, e.Bit, e.What)
	}
	return fmt.Sprintf("%s: bit %d, node %d: %s", e.File, e.Bit, e.Node, e.What)
}

// Graph is a graph in BV format, mapped into memory. It may be read from several goroutines.
type Graph struct {
	header
	name  string // path without extension
	data  []byte
	unmap func() error

	once     sync.Once
	index    *index
	indexErr error

	idle sync.Pool // of *decoder
}

var _ graph.Graph = (*Graph)(nil)

// Name returns the name of a graph's files without extension: path with .graph, .properties or
// .offsets taken off.
func Name(path string) string {
	for _, end := range []string{".graph", ".properties", ".offsets"} {
		if n, ok := strings.CutSuffix(path, end); ok {
			return n
		}
	}
	return path
}

// Open opens the graph at path, which is its name with or without .graph. The caller must
// Close it when nothing reads it any longer. Damage that shows at once is an *Error or names
// the line of the .properties; more is found while reading, or by Check.
func Open(path string) (*Graph, error) {
	name := Name(path)
	h, err := readProperties(name + ".properties")
	if err != nil {
		return nil, err
	}
	data, unmap, err := mapFile(name + ".graph")
	if err != nil {
		return nil, err
	}
	g := &Graph{header: *h, name: name, data: data, unmap: unmap}
	if g.nodes > 8*len(data) { // a node takes a bit at least
		g.Close()
		return nil, &Error{name + ".graph", 8 * uint64(len(data)), graph.None, fmt.Sprintf("the file ends too early for %d nodes", g.nodes)}
	}
	if n := uint64(g.nodes); g.arcs > n*n {
		g.Close()
		return nil, fmt.Errorf("%s.properties: want at most %d arcs of %d nodes, got %d", name, n*n, n, g.arcs)
	}
	return g, nil
}

// OpenTranspose opens NAME-t, the transpose of the graph NAME where somebody has stored it. The
// error is fs.ErrNotExist if there is none.
func OpenTranspose(path string) (*Graph, error) {
	name := Name(path) + "-t"
	if _, err := os.Stat(name + ".graph"); err != nil {
		return nil, err
	}
	return Open(name)
}

// Close unmaps the graph.
func (g *Graph) Close() error {
	g.data = nil
	return g.unmap()
}

// NumNodes returns the number of nodes.
func (g *Graph) NumNodes() int { return g.nodes }

// NumArcs returns the number of arcs that the properties tell.
func (g *Graph) NumArcs() uint64 { return g.arcs }

// Bits returns the length of the graph's bit stream. It needs the offsets.
func (g *Graph) Bits() (uint64, error) {
	if err := g.needIndex(); err != nil {
		return 0, err
	}
	return g.index.at(g.nodes), nil
}

func (g *Graph) corrupt(bit uint64, v graph.Node, format string, args ...any) error {
	return &Error{g.name + ".graph", bit, v, fmt.Sprintf(format, args...)}
}

// Scan implements graph.Scanner. From 0 it needs no offsets; from elsewhere it does.
func (g *Graph) Scan(lo, hi graph.Node, visit func(v graph.Node, succ []graph.Node) error) error {
	if lo >= hi {
		return nil
	}
	d := g.decoder()
	defer g.idle.Put(d)
	ring := d.ring[:]
	d.pos = 0
	if lo > 0 {
		if err := g.needIndex(); err != nil {
			return err
		}
		for v := lo - min(lo, graph.Node(g.window)); v < lo; v++ {
			slot := &ring[int(v)%len(ring)]
			var err error
			if *slot, err = d.list((*slot)[:0], v); err != nil {
				return err
			}
		}
		d.pos = g.index.at(int(lo))
	}
	slot, left := int(lo)%len(ring), g.arcs
	for v := lo; v < hi; v++ {
		deg, ref, err := d.head(v)
		if err != nil {
			return err
		}
		// Copies and intervals make long lists of few bits: what is declared bounds the work.
		if uint64(deg) > left {
			return g.corrupt(d.pos, v, "more arcs than the %d that the properties tell", g.arcs)
		}
		left -= uint64(deg)
		list := ring[slot][:0]
		if deg > 0 {
			var from []graph.Node
			if ref > 0 {
				k := slot - ref
				if k < 0 {
					k += len(ring)
				}
				from = ring[k]
			}
			if list, err = d.rest(list, v, deg, ref, from); err != nil {
				return err
			}
		}
		ring[slot] = list
		if err := visit(v, list); err != nil {
			return err
		}
		if slot++; slot == len(ring) {
			slot = 0
		}
	}
	return nil
}

// AppendSuccessors implements graph.Graph. It needs the offsets, and decodes the lists that v's
// is copied from, of which there are at most maxrefcount; in a file without such a limit (-1)
// there may be as many as nodes before v, and only Scan takes time in proportion to the file.
func (g *Graph) AppendSuccessors(buf []graph.Node, v graph.Node) ([]graph.Node, error) {
	if err := g.needIndex(); err != nil {
		return buf, err
	}
	d := g.decoder()
	defer g.idle.Put(d)
	return d.list(buf, v)
}

// OutDegree returns the number of successors of v, without decoding them. It needs the offsets.
func (g *Graph) OutDegree(v graph.Node) (int, error) {
	if err := g.needIndex(); err != nil {
		return 0, err
	}
	r := reader{g.data, g.index.at(int(v))}
	n := r.read(g.codes.outdegrees, 0)
	if n > uint64(g.nodes) {
		return 0, g.corrupt(r.pos, v, "outdegree %d in a graph of %d nodes", n, g.nodes)
	}
	return int(n), nil
}

// padding is how many bits a file may have left after its last list: less than these.
const padding = 64

// Check reads the whole graph and verifies that it has the arcs that its properties tell, that
// its stream ends where the file does (some programs fill up the last 64 bits), and that the offsets are the true ones.
func (g *Graph) Check() error {
	d := g.decoder()
	defer g.idle.Put(d)
	arcs := uint64(0)
	if err := g.Scan(0, graph.Node(g.nodes), func(_ graph.Node, succ []graph.Node) error {
		arcs += uint64(len(succ))
		return nil
	}); err != nil {
		return err
	}
	built, err := d.offsets()
	if err != nil {
		return err
	}
	end := built.at(g.nodes)
	if arcs != g.arcs {
		return g.corrupt(end, graph.None, "%d arcs, the properties tell %d", arcs, g.arcs)
	}
	if size := 8 * uint64(len(g.data)); end+padding <= size {
		return g.corrupt(end, graph.None, "the graph ends here, the file at bit %d", size)
	}
	if err := g.needIndex(); err != nil {
		return err
	}
	for v := range g.nodes + 1 {
		if g.index.at(v) != built.at(v) {
			return fmt.Errorf("%s.offsets: list %d begins at bit %d, the graph file has it at %d", g.name, v, g.index.at(v), built.at(v))
		}
	}
	return nil
}

// A decoder is the working memory of one reading goroutine.
type decoder struct {
	reader
	g     *Graph
	ring  [][]graph.Node  // of window+1 lists, or as many as there are; list v is at v mod its length
	chain []link          // of the list read at random
	pair  [2][]graph.Node // its lists referred to, the last two

	copied, intervals, others, extra []graph.Node // the parts of the list that is read
}

func (g *Graph) decoder() *decoder {
	if d, ok := g.idle.Get().(*decoder); ok {
		return d
	}
	return &decoder{reader: reader{data: g.data}, g: g, ring: make([][]graph.Node, g.recent())}
}

// recent is how many lists are to be kept while they are read in order.
func (g *Graph) recent() int { return min(g.window+1, max(1, g.nodes)) }

// head reads the outdegree and the reference of node v.
func (d *decoder) head(v graph.Node) (deg, ref int, err error) {
	g := d.g
	n := d.read(g.codes.outdegrees, 0)
	if n > uint64(g.nodes) {
		return 0, 0, g.corrupt(d.pos, v, "outdegree %d in a graph of %d nodes", n, g.nodes)
	}
	if n > 0 && g.window > 0 {
		r := d.read(g.codes.references, 0)
		if r > uint64(g.window) || r > uint64(v) {
			return 0, 0, g.corrupt(d.pos, v, "reference to the list %d before", r)
		}
		ref = int(r)
	}
	if d.pos > 8*uint64(len(d.data)) {
		return 0, 0, g.corrupt(8*uint64(len(d.data)), v, "the file ends too early")
	}
	return int(n), ref, nil
}

// A link is a list of a chain of references, with its head already read.
type link struct {
	pos      uint64 // of what follows the head
	deg, ref int
}

// list appends the list of v, read at random: down the chain of references first, then back up,
// each list from the one below. Memory is that of two lists and 24 bytes a reference, however
// long a chain the file holds; longer ones than it says itself are refused.
func (d *decoder) list(to []graph.Node, v graph.Node) ([]graph.Node, error) {
	g := d.g
	d.chain = d.chain[:0]
	w := v
	for {
		d.pos = g.index.at(int(w))
		deg, ref, err := d.head(w)
		if err != nil {
			return to, err
		}
		d.chain = append(d.chain, link{d.pos, deg, ref})
		if ref == 0 {
			break
		}
		if g.maxRef >= 0 && len(d.chain) > g.maxRef {
			return to, g.corrupt(d.pos, v, "a chain of more than %d references, which are all that maxrefcount permits", g.maxRef)
		}
		w -= graph.Node(ref)
	}
	var from []graph.Node
	for i := len(d.chain) - 1; i >= 0; i-- {
		l := d.chain[i]
		if i == 0 {
			if l.deg == 0 {
				return to, nil
			}
			d.pos = l.pos
			return d.rest(to, v, l.deg, l.ref, from)
		}
		next := d.pair[i%2][:0]
		if l.deg > 0 {
			d.pos = l.pos
			var err error
			if next, err = d.rest(next, w, l.deg, l.ref, from); err != nil {
				return to, err
			}
		}
		d.pair[i%2], from = next, next
		w += graph.Node(d.chain[i-1].ref)
	}
	return to, nil
}

// rest appends the successors of v, of which there are deg, reading what follows its head. If
// ref > 0 the list referred to is from.
func (d *decoder) rest(to []graph.Node, v graph.Node, deg, ref int, from []graph.Node) ([]graph.Node, error) {
	g := d.g
	copied := d.copied[:0]
	if ref > 0 {
		count := d.read(g.codes.blockCounts, 0)
		if count > uint64(len(from))+1 {
			return to, g.corrupt(d.pos, v, "%d copy blocks of a list of %d", count, len(from))
		}
		at := uint64(0)
		for i := range count {
			n := d.read(g.codes.blocks, 0)
			if i > 0 {
				n++
			}
			if n > uint64(len(from))-at {
				return to, g.corrupt(d.pos, v, "copy blocks longer than the list of %d", len(from))
			}
			if i&1 == 0 {
				copied = append(copied, from[at:at+n]...)
			}
			at += n
		}
		if count&1 == 0 {
			copied = append(copied, from[at:]...)
		}
		d.copied = copied
		if len(copied) > deg {
			return to, g.corrupt(d.pos, v, "%d successors copied, the outdegree is %d", len(copied), deg)
		}
	}
	left := deg - len(copied)
	var ok bool
	if left == 0 {
		to = append(to, copied...)
		return to, d.checkEnd(v)
	}
	intervals := d.intervals[:0]
	if g.minInterval > 0 {
		count := d.gamma()
		if count > uint64(left) {
			return to, g.corrupt(d.pos, v, "%d intervals, %d successors are left", count, left)
		}
		next := int64(v)
		for i := range count {
			b := d.gamma()
			if i == 0 {
				next += integer(b)
			} else {
				next += int64(b) + 1
			}
			n := int64(d.gamma()) + int64(g.minInterval)
			if next < 0 || n < 0 || b > 1<<33 || n > int64(left-len(intervals)) || next+n > int64(g.nodes) {
				return to, g.corrupt(d.pos, v, "an interval of %d nodes from %d on, %d successors are left", n, next, left-len(intervals))
			}
			for end := next + n; next < end; next++ {
				intervals = append(intervals, graph.Node(next))
			}
		}
		d.intervals = intervals
		left -= len(intervals)
	}
	var others []graph.Node
	if left > 0 {
		var err error
		if others, err = d.residuals(v, left); err != nil {
			return to, err
		}
	}
	if err := d.checkEnd(v); err != nil {
		return to, err
	}
	switch {
	case len(copied) == 0:
		to, ok = merge(to, intervals, others)
	case len(intervals) == 0:
		to, ok = merge(to, copied, others)
	case len(others) == 0:
		to, ok = merge(to, copied, intervals)
	default:
		if d.extra, ok = merge(d.extra[:0], intervals, others); ok {
			to, ok = merge(to, copied, d.extra)
		}
	}
	if !ok {
		return to, g.corrupt(d.pos, v, "a successor comes twice")
	}
	return to, nil
}

// checkEnd reports a list that goes on beyond the end of the file.
func (d *decoder) checkEnd(v graph.Node) error {
	if d.pos > 8*uint64(len(d.data)) {
		return d.g.corrupt(8*uint64(len(d.data)), v, "the file ends too early")
	}
	return nil
}

// residuals reads count residuals of node v.
func (d *decoder) residuals(v graph.Node, count int) ([]graph.Node, error) {
	g := d.g
	if uint64(count) > 8*uint64(len(d.data))-min(8*uint64(len(d.data)), d.pos) { // each takes a bit
		return nil, g.corrupt(8*uint64(len(d.data)), v, "the file ends too early for %d residuals", count)
	}
	if cap(d.others) < count {
		d.others = make([]graph.Node, max(count, 2*cap(d.others)))
	}
	others := d.others[:count]
	k := g.zetaK
	first := d.read(g.codes.residuals, k)
	next := int64(v) + integer(first)
	if next < 0 || first > 1<<33 {
		return nil, g.corrupt(d.pos, v, "first residual %d", next)
	}
	others[0] = graph.Node(next)
	u := uint64(next)
	if g.codes.residuals == zeta {
		r := d.reader
		for i := 1; i < len(others); i++ {
			// ζ_k by hand: three quarters of the time of decoding go into this loop.
			w := r.peek()
			h := uint(bits.LeadingZeros64(w))
			n := h*k + k
			if h+1+n > 57 || n > 36 {
				u += min(r.zeta(k), 1<<33) + 1
				others[i] = graph.Node(u)
				continue
			}
			w <<= (h + 1) & 63
			left := uint64(1) << ((n - k) & 63)
			m := w >> ((65 - n) & 63)
			if n == 1 { // a shift by 64
				m = 0
			}
			if m < left {
				r.pos += uint64(h + n)
				u += m + left
			} else {
				r.pos += uint64(h + 1 + n)
				u += w >> ((64 - n) & 63)
			}
			others[i] = graph.Node(u)
		}
		d.pos = r.pos
	} else {
		for i := 1; i < len(others); i++ {
			u += min(d.read(g.codes.residuals, k), 1<<33) + 1
			others[i] = graph.Node(u)
		}
	}
	if u >= uint64(g.nodes) {
		return nil, g.corrupt(d.pos, v, "successor %d in a graph of %d nodes", u, g.nodes)
	}
	return others, nil
}

// merge appends two ascending lists as one; ok=false if they share an element.
func merge(to, a, b []graph.Node) ([]graph.Node, bool) {
	k := len(to)
	to = slices.Grow(to, len(a)+len(b))[:k+len(a)+len(b)]
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		x, y := a[i], b[j]
		if x == y {
			return to[:k], false
		}
		if x < y {
			to[k] = x
			i++
		} else {
			to[k] = y
			j++
		}
		k++
	}
	copy(to[k:], a[i:])
	copy(to[k+len(a)-i:], b[j:])
	return to, true
}
