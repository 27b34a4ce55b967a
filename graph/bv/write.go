package bv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"

	"forage/graph"
	"forage/internal/atomicfile"
)

// Stats tells what a written graph takes.
type Stats struct {
	Nodes int
	Arcs  uint64
	Bits  uint64 // of the graph file
	// Bits of the parts of all lists, and arcs by how they are written.
	Outdegrees, References, Blocks, Intervals, Residuals uint64
	Copied, Intervalised, Residual                       uint64
	references, distance                                 uint64 // sums of chain lengths and of references
}

// Write compresses g into the files NAME.graph, NAME.properties and NAME.offsets; name may end
// in .graph. It reads g once, in order. The files appear under their names when all are
// complete; after an error there are none, and what a killed run left is removed. The bits are those that WebGraph's own compression
// gives: of the lists in the window each is tried as reference, in the order of their
// distance, and the first of least cost is taken [BV04, §4].
//
// Time O(window · m), memory that of window+1 lists.
func Write(name string, g graph.Scanner, c Config) (_ *Stats, err error) {
	name = Name(name)
	h, err := c.header()
	if err != nil {
		return nil, err
	}
	var files []*atomicfile.File
	defer func() {
		for _, f := range files {
			f.Discard()
		}
	}()
	var outs []*bufio.Writer
	for _, end := range []string{".graph", ".offsets", ".properties"} {
		if err := atomicfile.RemoveLeft(name + end); err != nil {
			return nil, err
		}
		f, err := atomicfile.New(name + end)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		outs = append(outs, bufio.NewWriterSize(f, 1<<18))
	}
	e := newEncoder(h, &writer{out: outs[0]})
	offsets := writer{out: outs[1]}
	last := uint64(0)
	offset := func() {
		offsets.write(h.codes.offsets, e.out.pos-last, 0)
		last = e.out.pos
	}
	h.nodes = g.NumNodes()
	err = g.Scan(0, graph.Node(h.nodes), func(v graph.Node, succ []graph.Node) error {
		offset()
		e.add(v, succ)
		return e.out.err
	})
	if err != nil {
		return nil, err
	}
	offset()
	if err := e.out.flush(); err != nil {
		return nil, err
	}
	if err := offsets.flush(); err != nil {
		return nil, err
	}
	s := &e.stats
	s.Nodes, s.Bits = h.nodes, e.out.pos
	writeProperties(outs[2], h, s)
	for i, out := range outs { // all are complete before the first has its name
		if err := errors.Join(out.Flush(), files[i].Sync()); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func writeProperties(out *bufio.Writer, h *header, s *Stats) {
	per := func(a, b uint64) string {
		if b == 0 {
			return "0"
		}
		return fmt.Sprintf("%.3f", float64(a)/float64(b))
	}
	line := func(key string, value any) { fmt.Fprintf(out, "%s=%v\n", key, value) }
	fmt.Fprintln(out, "#BVGraph properties")
	line("version", 0)
	line("graphclass", "it.unimi.dsi.webgraph.BVGraph")
	line("nodes", s.Nodes)
	line("arcs", s.Arcs)
	line("windowsize", h.window)
	maxRef := h.maxRef
	if maxRef < 0 {
		maxRef = math.MaxInt32
	}
	line("maxrefcount", maxRef)
	line("minintervallength", h.minInterval)
	if h.codes.residuals == zeta || h.codes.residuals == golomb {
		line("zetak", h.zetaK)
	}
	line("compressionflags", h.codes)
	line("avgref", per(s.references, uint64(s.Nodes)))
	line("avgdist", per(s.distance, uint64(s.Nodes)))
	line("copiedarcs", s.Copied)
	line("intervalisedarcs", s.Intervalised)
	line("residualarcs", s.Residual)
	line("bitsperlink", per(s.Bits, s.Arcs))
	line("bitspernode", per(s.Bits, uint64(s.Nodes)))
	line("bitsforoutdegrees", s.Outdegrees)
	line("bitsforreferences", s.References)
	line("bitsforblocks", s.Blocks)
	line("bitsforintervals", s.Intervals)
	line("bitsforresiduals", s.Residuals)
}

// An encoder writes lists in the order of their nodes.
type encoder struct {
	*header
	out     *writer
	stats   Stats
	ring    [][]graph.Node // of window+1 lists; list v is at v mod its length
	chains  []int          // for each, how long its chain of references is; lists without arcs have none
	plans   [2]plan
	zetaLen [1 << 12]uint8 // bits of the residual's code of small numbers
}

// A plan is one way to write a list.
type plan struct {
	ref       int
	copied    int
	blocks    []int
	extras    []graph.Node
	intervals []interval
	residuals []graph.Node
	cost      uint64
}

type interval struct{ left, n int64 }

func newEncoder(h *header, out *writer) *encoder {
	e := &encoder{header: h, out: out, ring: make([][]graph.Node, h.window+1), chains: make([]int, h.window+1)}
	for v := range e.zetaLen {
		e.zetaLen[v] = uint8(min(255, h.codes.residuals.length(uint64(v), h.zetaK)))
	}
	return e
}

// add writes the list of node v.
func (e *encoder) add(v graph.Node, succ []graph.Node) {
	size := len(e.ring)
	slot := int(v) % size
	e.ring[slot] = append(e.ring[slot][:0], succ...)
	e.chains[slot] = 0
	e.stats.Arcs += uint64(len(succ))
	e.stats.Outdegrees += e.put(e.codes.outdegrees, uint64(len(succ)), 0)
	if len(succ) == 0 {
		return
	}
	best, other := &e.plans[0], &e.plans[1]
	e.plan(best, v, succ, 0, nil)
	for ref := 1; ref < size && ref <= int(v); ref++ {
		k := (slot - ref + size) % size
		if len(e.ring[k]) == 0 || e.maxRef >= 0 && e.chains[k] >= e.maxRef {
			continue
		}
		e.plan(other, v, succ, ref, e.ring[k])
		if other.cost < best.cost {
			best, other = other, best
		}
	}
	if best.ref > 0 {
		e.chains[slot] = e.chains[(slot-best.ref+size)%size] + 1
	}
	e.stats.references += uint64(e.chains[slot])
	e.stats.distance += uint64(best.ref)
	e.write(best, v)
}

// plan finds out how succ is written when it refers to the list from, and at what cost beside
// the outdegree.
func (e *encoder) plan(p *plan, v graph.Node, succ []graph.Node, ref int, from []graph.Node) {
	p.ref, p.copied, p.cost = ref, 0, 0
	p.blocks, p.extras = p.blocks[:0], p.extras[:0]
	j, k := 0, 0
	run := 0 // entries of from that are copied, or skipped, in a row
	copying := true
	for j < len(succ) && k < len(from) {
		a, b := succ[j], from[k]
		switch {
		case a < b:
			p.extras = append(p.extras, a)
			j++
		case (a == b) != copying:
			p.blocks = append(p.blocks, run)
			copying, run = !copying, 0
		case copying:
			j, k, run, p.copied = j+1, k+1, run+1, p.copied+1
		default:
			k, run = k+1, run+1
		}
	}
	if copying && k < len(from) {
		p.blocks = append(p.blocks, run)
	}
	p.extras = append(p.extras, succ[j:]...)

	if e.window > 0 {
		p.cost += e.codes.references.length(uint64(ref), 0)
	}
	if ref > 0 {
		p.cost += e.codes.blockCounts.length(uint64(len(p.blocks)), 0)
		for i, n := range p.blocks {
			p.cost += e.codes.blocks.length(uint64(n-min(i, 1)), 0)
		}
	}
	if len(p.extras) == 0 {
		return
	}
	residuals := p.extras
	if e.minInterval > 0 {
		p.intervalise(e.minInterval)
		residuals = p.residuals
		p.cost += gamma.length(uint64(len(p.intervals)), 0)
		next := int64(0)
		for i, x := range p.intervals {
			if i == 0 {
				p.cost += gamma.length(natural(x.left-int64(v)), 0)
			} else {
				p.cost += gamma.length(uint64(x.left-next-1), 0)
			}
			p.cost += gamma.length(uint64(x.n-int64(e.minInterval)), 0)
			next = x.left + x.n
		}
	}
	for i, u := range residuals {
		gap := natural(int64(u) - int64(v))
		if i > 0 {
			gap = uint64(u - residuals[i-1] - 1)
		}
		if gap < uint64(len(e.zetaLen)) && e.zetaLen[gap] < 255 {
			p.cost += uint64(e.zetaLen[gap])
		} else {
			p.cost += e.codes.residuals.length(gap, e.zetaK)
		}
	}
}

// intervalise cuts the extras into runs of at least least consecutive nodes, and the rest.
func (p *plan) intervalise(least int) {
	p.intervals, p.residuals = p.intervals[:0], p.residuals[:0]
	x := p.extras
	for i := 0; i < len(x); {
		j := i + 1
		for j < len(x) && x[j] == x[j-1]+1 {
			j++
		}
		if j-i >= max(least, 2) {
			p.intervals = append(p.intervals, interval{int64(x[i]), int64(j - i)})
		} else {
			p.residuals = append(p.residuals, x[i:j]...)
		}
		i = j
	}
}

// put writes a number and returns how many bits it took.
func (e *encoder) put(c code, v uint64, k uint) uint64 {
	at := e.out.pos
	e.out.write(c, v, k)
	return e.out.pos - at
}

// write writes the list of v as planned.
func (e *encoder) write(p *plan, v graph.Node) {
	s := &e.stats
	if e.window > 0 {
		s.References += e.put(e.codes.references, uint64(p.ref), 0)
	}
	s.Copied += uint64(p.copied)
	if p.ref > 0 {
		s.Blocks += e.put(e.codes.blockCounts, uint64(len(p.blocks)), 0)
		for i, n := range p.blocks {
			s.Blocks += e.put(e.codes.blocks, uint64(n-min(i, 1)), 0)
		}
	}
	if len(p.extras) == 0 {
		return
	}
	residuals := p.extras
	if e.minInterval > 0 {
		residuals = p.residuals
		s.Intervals += e.put(gamma, uint64(len(p.intervals)), 0)
		next := int64(0)
		for i, x := range p.intervals {
			if i == 0 {
				s.Intervals += e.put(gamma, natural(x.left-int64(v)), 0)
			} else {
				s.Intervals += e.put(gamma, uint64(x.left-next-1), 0)
			}
			s.Intervals += e.put(gamma, uint64(x.n-int64(e.minInterval)), 0)
			next = x.left + x.n
			s.Intervalised += uint64(x.n)
		}
	}
	s.Residual += uint64(len(residuals))
	for i, u := range residuals {
		gap := natural(int64(u) - int64(v))
		if i > 0 {
			gap = uint64(u - residuals[i-1] - 1)
		}
		s.Residuals += e.put(e.codes.residuals, gap, e.zetaK)
	}
}

// WriteOffsets writes NAME.offsets of a graph that came without.
func (g *Graph) WriteOffsets() error {
	if err := g.needIndex(); err != nil {
		return err
	}
	return atomicfile.Create(g.name+".offsets", func(to io.Writer) error {
		out := bufio.NewWriter(to)
		w := writer{out: out}
		last := uint64(0)
		for v := range g.nodes + 1 {
			at := g.index.at(v)
			w.write(g.codes.offsets, at-last, 0)
			last = at
		}
		if err := w.flush(); err != nil {
			return err
		}
		return out.Flush()
	})
}
