package arcs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"forage/graph"
	"forage/internal/heap"
)

// Runs is a graph sorted on disk: what Sort makes of arcs that need not fit into memory. It is
// a graph.Scanner. Its file has no name where the system permits that, so nothing is left
// behind even if the process is killed.
type Runs struct {
	all   run
	nodes int
}

// A run is a sorted sequence of distinct arcs in a file. An arc is the number from<<32 | to;
// the file holds the differences of consecutive ones, the first counted from −1, as varints.
type run struct {
	file  *os.File
	arcs  uint64
	index []mark
}

// A mark tells where in a run reading can begin.
type mark struct {
	from graph.Node // source of the arc at offset
	last uint64     // the arc before it
	at   int64      // offset in bytes
	arc  uint64     // its number in the run
}

const (
	marked   = 1 << 16 // arcs between two marks
	minWork  = 8 << 20 // least memory that Sort works with
	minMerge = 1 << 14 // least buffer of a run that is merged
)

// Sort reads the arcs at the paths, as LoadAll does, and sorts them on disk, each once, within
// o.Memory bytes (at least 8 MiB; 0 means 1 GiB): buffers are sorted and written as runs, runs
// are merged, in several passes if there are many. Disk: about 2 to 6 bytes an arc, twice for a
// moment. The caller must Close the result.
func Sort(paths []string, o Options) (*Runs, error) {
	files, err := FilesAll(paths)
	if err != nil {
		return nil, err
	}
	return sortFiles(files, o)
}

func sortFiles(files []string, o Options) (*Runs, error) {
	return sortOnDisk(o, func(take func(arcs []graph.Arc) error) (int, error) {
		return read(files, o, func(_ int, _ uint64, arcs []graph.Arc) error { return take(arcs) })
	})
}

// SortGraph is Sort for the arcs of a graph, which is read once: it turns round, or makes
// undirected, a compressed graph that does not fit into memory otherwise.
func SortGraph(g graph.Scanner, o Options) (*Runs, error) {
	return sortOnDisk(o, func(take func(arcs []graph.Arc) error) (int, error) {
		var buf []graph.Arc
		flush := func() error {
			buf = o.Direction.turn(buf)
			err := take(buf)
			buf = buf[:0]
			return err
		}
		err := g.Scan(0, graph.Node(g.NumNodes()), func(v graph.Node, succ []graph.Node) error {
			for _, u := range succ {
				buf = append(buf, graph.Arc{From: v, To: u})
			}
			if len(buf) >= 1<<14 {
				return flush()
			}
			return nil
		})
		return g.NumNodes(), errors.Join(err, flush())
	})
}

// sortOnDisk sorts the arcs that feed hands to its argument, from several goroutines perhaps;
// feed returns the number of nodes.
func sortOnDisk(o Options, feed func(take func(arcs []graph.Arc) error) (nodes int, err error)) (_ *Runs, err error) {
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	if o.Memory < minWork {
		return nil, fmt.Errorf("sorting a graph on disk needs %d MiB of memory, got %d bytes", minWork>>20, o.Memory)
	}
	var (
		mu   sync.Mutex
		runs []run
	)
	defer func() {
		if err != nil {
			for _, r := range runs {
				r.close()
			}
		}
	}()
	// One buffer, sorted with as much again beside it, takes three quarters; the rest is text.
	keys := make([]uint64, 0, o.Memory*3/8/8)
	var spare []uint64
	flush := func() error {
		if len(keys) == 0 {
			return nil
		}
		spare = slices.Grow(spare[:0], len(keys))[:len(keys)]
		r, err := writeRun(o.Dir, sorted(keys, spare))
		keys = keys[:0]
		if err == nil {
			runs = append(runs, r)
		}
		return err
	}
	nodes, err := feed(func(arcs []graph.Arc) error {
		mu.Lock()
		defer mu.Unlock()
		for len(arcs) > 0 {
			k := min(len(arcs), cap(keys)-len(keys))
			for _, a := range arcs[:k] {
				keys = append(keys, uint64(a.From)<<32|uint64(a.To))
			}
			if arcs = arcs[k:]; len(keys) == cap(keys) {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := flush(); err != nil {
		return nil, err
	}
	keys, spare = nil, nil
	fan := int(max(2, o.Memory/2/minMerge))
	for len(runs) > 1 {
		k := min(fan, len(runs))
		buffer := int(min(o.Memory/2/int64(k), 1<<20))
		r, err := mergeRuns(o.Dir, runs[:k], buffer)
		if err != nil {
			return nil, err
		}
		for _, old := range runs[:k] {
			old.close()
		}
		runs = append(runs[k:], r)
	}
	if len(runs) == 0 {
		r, err := writeRun(o.Dir, nil)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return &Runs{runs[0], nodes}, nil
}

var _ graph.Scanner = (*Runs)(nil)

// NumNodes returns the number of nodes.
func (r *Runs) NumNodes() int { return r.nodes }

// NumArcs returns the number of distinct arcs.
func (r *Runs) NumArcs() uint64 { return r.all.arcs }

// Close gives back the space on disk.
func (r *Runs) Close() error { return r.all.close() }

// Scan implements graph.Scanner. It starts to read at most 65,536 arcs before lo.
func (r *Runs) Scan(lo, hi graph.Node, visit func(v graph.Node, succ []graph.Node) error) error {
	if lo >= hi {
		return nil
	}
	i, _ := slices.BinarySearchFunc(r.all.index, lo, func(m mark, lo graph.Node) int {
		if m.from < lo {
			return -1
		}
		return 1
	})
	c, err := r.all.cursor(max(0, i-1), 1<<18)
	if err != nil {
		return err
	}
	var succ []graph.Node
	v := lo
	for ; c.ok; c.next() {
		from := graph.Node(c.key >> 32)
		if from < lo {
			continue
		}
		for v < from {
			if v == hi {
				return nil
			}
			if err := visit(v, succ); err != nil {
				return err
			}
			v, succ = v+1, succ[:0]
		}
		if v == hi {
			return nil
		}
		succ = append(succ, graph.Node(c.key))
	}
	if c.err != nil {
		return c.err
	}
	for ; v < hi; v++ {
		if err := visit(v, succ); err != nil {
			return err
		}
		succ = succ[:0]
	}
	return nil
}

func (r *run) close() error {
	name := r.file.Name()
	err := r.file.Close()
	os.Remove(name) // where it could not be removed while open
	return err
}

// writer writes one run.
type writer struct {
	run
	out     *bufio.Writer
	last    uint64 // the arc written last + 1
	at      int64
	scratch [binary.MaxVarintLen64]byte
}

func newWriter(dir string, buffer int) (*writer, error) {
	f, err := os.CreateTemp(dir, "forage-arcs-*.tmp")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // keeps the file until it is closed, where the system permits that
	return &writer{run: run{file: f}, out: bufio.NewWriterSize(f, buffer)}, nil
}

func (w *writer) put(key uint64) error {
	if w.arcs%marked == 0 {
		w.index = append(w.index, mark{graph.Node(key >> 32), w.last, w.at, w.arcs})
	}
	n := binary.PutUvarint(w.scratch[:], key+1-w.last)
	w.last = key + 1
	w.arcs++
	w.at += int64(n)
	_, err := w.out.Write(w.scratch[:n])
	return err
}

// finish returns the run, or removes it if err or the last write failed.
func (w *writer) finish(err error) (run, error) {
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil {
		w.close()
		return run{}, fmt.Errorf("sorting arcs on disk: %w", err)
	}
	return w.run, nil
}

// writeRun writes sorted keys, each once.
func writeRun(dir string, keys []uint64) (run, error) {
	w, err := newWriter(dir, 1<<18)
	if err != nil {
		return run{}, err
	}
	for i, k := range keys {
		if i > 0 && k == keys[i-1] {
			continue
		}
		if err := w.put(k); err != nil {
			return w.finish(err)
		}
	}
	return w.finish(nil)
}

// cursor walks over a run.
type cursor struct {
	in   *bufio.Reader
	key  uint64 // the arc at the cursor, while ok
	last uint64
	left uint64
	ok   bool
	err  error
}

// cursor returns a cursor at the i-th mark.
func (r *run) cursor(i, buffer int) (*cursor, error) {
	c := &cursor{left: r.arcs}
	at := int64(0)
	if i < len(r.index) {
		m := r.index[i]
		at, c.last, c.left = m.at, m.last, r.arcs-m.arc
	}
	c.in = bufio.NewReaderSize(io.NewSectionReader(r.file, at, 1<<62), buffer)
	c.next()
	return c, c.err
}

func (c *cursor) next() {
	if c.left == 0 {
		c.ok = false
		return
	}
	d, err := binary.ReadUvarint(c.in)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		c.err, c.ok = fmt.Errorf("sorting arcs on disk: %w", err), false
		return
	}
	c.left--
	c.last += d
	c.key, c.ok = c.last-1, true
}

func mergeRuns(dir string, runs []run, buffer int) (run, error) {
	w, err := newWriter(dir, 1<<18)
	if err != nil {
		return run{}, err
	}
	h := heap.Heap[*cursor]{Before: func(a, b *cursor) bool { return a.key < b.key }}
	for i := range runs {
		c, err := runs[i].cursor(0, buffer)
		if err != nil {
			return w.finish(err)
		}
		if c.ok {
			h.Items = append(h.Items, c)
		}
	}
	h.Init()
	for h.Len() > 0 {
		c := h.Items[0]
		if c.key+1 != w.last || w.arcs == 0 {
			if err := w.put(c.key); err != nil {
				return w.finish(err)
			}
		}
		if c.next(); c.err != nil {
			return w.finish(c.err)
		}
		if c.ok {
			h.Lower(0)
		} else {
			h.Pop()
		}
	}
	return w.finish(nil)
}

// sorted returns keys in ascending order, in keys or in spare, which is as long: a radix sort
// by 11 bits that leaves out the digits that all keys share. 10 ns a key where comparing takes
// 70 (10 million random arcs).
func sorted(keys, spare []uint64) []uint64 {
	if slices.IsSorted(keys) {
		return keys
	}
	const digit = 11
	var counts [6][1 << digit]uint32
	for _, k := range keys {
		for d := range counts {
			counts[d][k>>(d*digit)&(1<<digit-1)]++
		}
	}
	for d := range counts {
		c := &counts[d]
		if c[keys[0]>>(d*digit)&(1<<digit-1)] == uint32(len(keys)) {
			continue
		}
		sum := uint32(0)
		for i, n := range c {
			c[i] = sum
			sum += n
		}
		for _, k := range keys {
			i := k >> (d * digit) & (1<<digit - 1)
			spare[c[i]] = k
			c[i]++
		}
		keys, spare = spare, keys
	}
	return keys
}
