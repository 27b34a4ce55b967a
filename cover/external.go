package cover

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"forage/internal/heap"
)

// Scratch makes the temporary files of External.
type Scratch interface {
	// Create returns a new empty file, which External closes when it is done with it. Close
	// gives the space back.
	Create() (ScratchFile, error)
}

// A ScratchFile is written from its start to its end, then read at any place.
type ScratchFile interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// External is SPGreedy for families larger than memory; the cover is the same, byte for byte,
// for any number of threads.
//
// One pass over f distributes the sets to level files by size, as they are if f is Encoded and
// the problem needs no look at the elements. Then each level from the top down: the sets in
// its file are looked at against what is covered when the level starts. A set that no longer
// reaches the level leaves its residual, what is left of it, to the file of the level that the
// residual reaches. The others are looked at again in ascending order
// of their numbers and taken if they still reach the level [ST15, Alg. 5, lines 6 to 10]. So
// a set is read once a level that it falls to, not once a level: in all 1.4 to 1.6·M elements
// on web graphs instead of M·log_p Δ [ST15, §3.6].
//
// Residuals are written in ascending order, so a file is a sequence of ascending runs, one for
// each level above, and is merged when its turn comes. With two and more threads decoders
// read, check and filter blocks ahead of the one goroutine that commits.
//
// Memory: two bits an element (what is covered, now and when the level started), for a
// multicover ⌈log2(K+1)⌉ bits more, 24 bytes a block of 64 KiB on disk, and for each level
// file and thread a few blocks. Disk: about 2·M bytes on web graphs, up to twice the encoded
// family in the worst case. Numbers of sets and elements go up to 2^64−2.
//
// Errors of scratch end the run before anything is lost: choices were told to o.Take or are
// in no result.
func External(ctx context.Context, f Family, scratch Scratch, o Options) (*Result, error) {
	if err := o.checkFor(NameSPGreedy, f); err != nil {
		return nil, err
	}
	x := &external{scratch: scratch, files: map[int]*levelFile{}}
	x.state = &state{ctx: ctx, o: &o, n: f.NumElements(), threads: o.threads(), res: &Result{Algorithm: NameSPGreedy}}
	x.budget = math.MaxUint64
	if o.Budget > 0 {
		x.budget = uint64(o.Budget)
	}
	x.done = make([]uint64, (x.n+63)/64)
	x.ladder = o.newLadder(NameSPGreedy, 1, 1)
	if o.Weights == nil {
		x.classes = make([]class, 4096)
		for gain := range x.classes {
			x.classes[gain].level = x.countLevel(uint64(gain))
		}
	}
	defer x.close()
	if err := x.distribute(f); err != nil {
		return nil, err
	}
	x.coveredAtStart = make([]uint64, len(x.done))
	for {
		j, ok := x.highest()
		if !ok {
			break
		}
		over, err := x.level(j)
		if err != nil {
			return nil, err
		}
		if over {
			break
		}
	}
	r := x.res
	switch {
	case x.counted:
	case r.Taken >= x.budget:
		left, err := x.countLeft()
		if err != nil {
			return nil, err
		}
		r.Coverable = r.Covered + left
	default:
		r.Coverable = r.Covered
	}
	var warn []string
	r.Guarantee, warn = o.guarantee(NameSPGreedy, r.Largest, f.NumSets())
	r.Warnings = append(r.Warnings, warn...)
	return r, nil
}

type external struct {
	*state         // what is covered, the choices; it has no lists
	scratch        Scratch
	ladder         *ladder
	files          map[int]*levelFile // by level
	coveredAtStart []uint64           // done, when the level started
	classes        []class            // by gain; small gains only
}

// A class is a gain's level and its file, nil until it is asked for. It stays when the level
// is done: gains fall, so no set comes to that level any more.
type class struct {
	level int
	file  *levelFile
}

// A levelFile holds the sets that reach a level and none above.
type levelFile struct {
	file ScratchFile
	w    *BlockWriter
}

// freeLevel is the level of sets that cost nothing.
const freeLevel = math.MaxInt

func (x *external) close() {
	for _, lf := range x.files {
		lf.file.Close()
	}
}

// levelOf returns the level that a gain above 0 reaches.
func (x *external) levelOf(set, gain uint64) int {
	if x.o.Weights != nil {
		v := float64(gain) / x.o.Weights[set]
		if math.IsInf(v, 1) {
			return freeLevel
		}
		return power(x.ladder.p, v)
	}
	if gain < uint64(len(x.classes)) {
		return x.classes[gain].level
	}
	return x.countLevel(gain)
}

// countLevel returns the highest level j with ⌈p_j⌉ ≤ gain.
func (x *external) countLevel(gain uint64) int {
	g := float64(gain)
	if gain == 0 {
		return -1
	}
	if points := x.ladder.points; points != nil {
		j := len(points) - 1
		for math.Ceil(points[j]) > g {
			j--
		}
		return j
	}
	j := power(x.ladder.p, g)
	for math.Ceil(math.Pow(x.ladder.p, float64(j+1))) <= g {
		j++
	}
	return j
}

// threshold returns the level numbered j.
func (x *external) threshold(j int) level {
	if j == freeLevel {
		return level{math.MaxUint32, math.Inf(1)}
	}
	return x.ladder.at(j)
}

// highest returns the highest level with a file.
func (x *external) highest() (j int, ok bool) {
	for k := range x.files {
		if !ok || k > j {
			j, ok = k, true
		}
	}
	return j, ok
}

// writer returns the writer of the file of the level that a gain above 0 reaches; the file is
// made if need be.
func (x *external) writer(set, gain uint64) (*BlockWriter, error) {
	if gain < uint64(len(x.classes)) {
		if lf := x.classes[gain].file; lf != nil {
			return lf.w, nil
		}
	}
	j := x.levelOf(set, gain)
	lf, ok := x.files[j]
	if !ok {
		file, err := x.scratch.Create()
		if err != nil {
			return nil, err
		}
		lf = &levelFile{file: file, w: NewBlockWriter(file)}
		lf.w.index = true
		x.files[j] = lf
	}
	if gain < uint64(len(x.classes)) {
		x.classes[gain].file = lf
	}
	return lf.w, nil
}

// endRun closes the open blocks of all files: what a level left is one run in each.
func (x *external) endRun() error {
	for _, lf := range x.files {
		if err := lf.w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// distribute writes all sets to the files of the levels that they reach.
func (x *external) distribute(f Family) error {
	r := x.res
	var marks []uint64 // elements that occur, where they must be counted before
	switch {
	case x.o.Multi > 1:
		x.times = newCounters(x.n, x.o.Multi)
	case x.o.Partial > 0 && x.o.Partial < 1:
		marks = x.done
	}
	seen := uint64(0)
	writer := func(set uint64, count int) (*BlockWriter, error) {
		if seen++; seen%(1<<14) == 0 {
			if err := x.report(0); err != nil {
				return nil, err
			}
		}
		r.Size += uint64(count)
		r.Largest = max(r.Largest, uint64(count))
		return x.writer(set, uint64(count))
	}
	err := errors.ErrUnsupported
	if e, ok := f.(Encoded); ok && marks == nil && x.times == nil && x.o.MaxDegree == 0 {
		err = scanAhead(x.threads, e.ScanEncoded, func(set uint64, count int, encoded []byte) error {
			w, err := writer(set, count)
			if err != nil {
				return err
			}
			return w.putEncoded(set, encoded)
		})
	}
	if err == errors.ErrUnsupported {
		scan := func(visit func(set uint64, count int, elements []uint64) error) error {
			return f.Scan(func(set uint64, elements []uint64) error {
				elements = first(elements, x.o.MaxDegree)
				if len(elements) == 0 {
					return nil
				}
				return visit(set, len(elements), elements)
			})
		}
		err = scanAhead(x.threads, scan, func(set uint64, count int, elements []uint64) error {
			if last := elements[count-1]; last >= x.n {
				return fmt.Errorf("set %d holds element %d of a family of %d elements", set, last, x.n)
			}
			if marks != nil {
				for _, e := range elements {
					marks[e/64] |= 1 << (e % 64)
				}
			}
			if x.times != nil {
				for _, e := range elements {
					x.times.add(e)
				}
			}
			w, err := writer(set, count)
			if err != nil {
				return err
			}
			return w.Put(set, elements)
		})
	}
	if err != nil {
		return err
	}
	if marks != nil {
		for i, w := range marks {
			r.Coverable += uint64(bits.OnesCount64(w))
			marks[i] = 0
		}
		x.counted = true
	}
	if x.times != nil {
		r.Coverable = x.times.settle(x.done)
		x.counted = true
	}
	x.target = x.o.target(r.Coverable)
	return x.endRun()
}

// chunkItems is how many elements, bytes or sets scanAhead reads before it hands them over.
const chunkItems = 1 << 15

// scanAhead is scan; with two and more threads in a goroutine of its own, a few chunks ahead
// of visit.
func scanAhead[E any](threads int, scan func(visit func(set uint64, count int, items []E) error) error, visit func(set uint64, count int, items []E) error) (err error) {
	if threads == 1 {
		return scan(visit)
	}
	type part struct {
		set        uint64
		count, end int // in items
	}
	type chunk struct {
		parts []part
		items []E
	}
	const chunks = 4
	full, free, quit := make(chan *chunk, chunks), make(chan *chunk, chunks), make(chan struct{})
	for range chunks - 1 {
		free <- &chunk{}
	}
	var scanErr error
	go func() {
		defer close(full)
		c := &chunk{}
		scanErr = scan(func(set uint64, count int, items []E) error {
			c.items = append(c.items, items...)
			c.parts = append(c.parts, part{set, count, len(c.items)})
			if len(c.items) < chunkItems && len(c.parts) < chunkItems {
				return nil
			}
			full <- c // never blocks: there are as many places as chunks
			select {
			case c = <-free:
			case <-quit:
				return errStop
			}
			c.parts, c.items = c.parts[:0], c.items[:0]
			return nil
		})
		if scanErr == nil {
			full <- c
		}
	}()
	for c := range full { // to its end: the goroutine is done then
		from := 0
		for _, p := range c.parts {
			if err != nil {
				break
			}
			if err = visit(p.set, p.count, c.items[from:p.end]); err != nil {
				close(quit)
			}
			from = p.end
		}
		free <- c
	}
	if err != nil {
		return err
	}
	return scanErr
}

// A batch is a block of a level file, looked at against coveredAtStart.
type batch struct {
	err   error
	reads uint64
	sets  []lookedAt
	elem  []uint64 // of the sets that reach the level
	bytes []byte   // of the others: what appendElements makes of their residuals
	next  int      // the set to be committed next
}

// lookedAt is a set with something left. A block has less than 2^32 elements and bytes.
type lookedAt struct {
	set      uint64
	gain     uint32
	from, to uint32 // in elem if the set reaches the level, else in bytes
	reaches  bool
}

// A blockReader is the working memory for reading blocks.
type blockReader struct {
	body  []byte
	group []opened
	elem  []uint64 // of the sets in group
}

// opened is a set with what is not covered of it.
type opened struct {
	set               uint64
	from, count, left uint32 // in blockReader.elem
}

// level works off the file of level j.
func (x *external) level(j int) (over bool, err error) {
	lf := x.files[j]
	lv := x.threshold(j)
	x.res.Passes++
	copy(x.coveredAtStart, x.done)
	// Blocks in ascending order of their first sets: when the merge comes to a set, all
	// blocks that could hold it have been opened.
	place := lf.w.place
	slices.SortFunc(place, func(a, b blockPlace) int { return cmp.Compare(a.first, b.first) })
	w := x.newWindow(lf.file, place, &lv)
	defer w.stop()
	open := heap.Heap[*batch]{Before: earlier} // the merge
	for {
		for len(w.place) > 0 && (open.Len() == 0 || w.place[0].first <= open.Items[0].nextSet()) {
			b := w.next()
			if err := cmp.Or(b.err, x.ctx.Err()); err != nil {
				return true, err
			}
			x.res.Reads += b.reads
			if b.next = 0; len(b.sets) > 0 {
				open.Push(b)
			} else {
				w.free(b)
			}
		}
		if open.Len() == 0 {
			break
		}
		b := open.Items[0]
		t := &b.sets[b.next]
		if over, err := x.commit(j, &lv, b, t); over || err != nil {
			return true, err
		}
		if b.next++; b.next == len(b.sets) {
			open.Pop()
			w.free(b)
		} else {
			open.Lower(0)
		}
	}
	if err := x.endRun(); err != nil {
		return true, err
	}
	delete(x.files, j)
	if err := lf.file.Close(); err != nil {
		return true, err
	}
	return false, x.report(lv.ratio)
}

// commit takes a set or writes its residual to the file of the level that it reaches.
func (x *external) commit(j int, lv *level, b *batch, t *lookedAt) (over bool, err error) {
	if !t.reaches {
		w, err := x.writer(t.set, uint64(t.gain))
		if err != nil {
			return true, err
		}
		return false, w.putEncoded(t.set, b.bytes[t.from:t.to])
	}
	list := b.elem[t.from:t.to]
	x.res.Reads += uint64(len(list))
	k := filter(list, list, x.done) // [ST15, Alg. 5, line 8]
	list = list[:k]
	if k == 0 {
		return false, nil
	}
	if x.levelOf(t.set, uint64(k)) < j {
		w, err := x.writer(t.set, uint64(k))
		if err != nil {
			return true, err
		}
		return false, w.Put(t.set, list)
	}
	for _, e := range list { // lines 9 and 10
		if x.times == nil || x.times.add(e) {
			x.done[e/64] |= 1 << (e % 64)
			x.res.Covered++
		}
	}
	return x.taken(t.set, uint64(k))
}

// look reads a block and looks at its sets against coveredAtStart.
func (x *external) look(file io.ReaderAt, p blockPlace, lv *level, k *blockReader, b *batch) {
	b.sets, b.elem, b.bytes, b.reads, b.err = b.sets[:0], b.elem[:0], b.bytes[:0], 0, nil
	fault := func(err error) { b.err = fmt.Errorf("level file, byte %d: %w", p.at, err) }
	k.body = slices.Grow(k.body[:0], p.size)[:p.size]
	if n, err := file.ReadAt(k.body, p.at); n < p.size {
		fault(noEOF(err))
		return
	}
	head, body := k.body[:blockHead], k.body[blockHead:]
	if err := checkBlock(head, body); err != nil {
		fault(err)
		return
	}
	d := blockDecoder{body: body, left: binary.LittleEndian.Uint32(head[4:])}
	for d.left > 0 {
		if !k.take(&d, x.coveredAtStart) {
			fault(errBlock)
			return
		}
		for _, t := range k.group {
			b.reads += uint64(t.count)
			if t.left == 0 {
				continue
			}
			list := k.elem[t.from:][:t.left]
			l := lookedAt{set: t.set, gain: t.left, reaches: x.reachesWide(t.set, uint64(t.left), lv)}
			if l.reaches {
				l.from = uint32(len(b.elem))
				b.elem = append(b.elem, list...)
				l.to = uint32(len(b.elem))
			} else {
				l.from = uint32(len(b.bytes))
				b.bytes = appendElements(b.bytes, list)
				l.to = uint32(len(b.bytes))
			}
			b.sets = append(b.sets, l)
		}
	}
}

// groupElements is about how many elements are decoded at a time.
const groupElements = 2048

// take takes the next sets from d, and of their elements what is not done. It fails on a body
// that is not what it should be. It asks nothing about how much is left, which is known only
// when the bits of done have come from memory: so the processor goes on to the next set while
// it waits for them.
func (k *blockReader) take(d *blockDecoder, done []uint64) (ok bool) {
	k.group, k.elem = k.group[:0], k.elem[:0]
	for d.left > 0 && len(k.elem) < groupElements {
		from := len(k.elem)
		set, elem, ok := d.next(k.elem)
		if n := len(elem); !ok || n > from && elem[n-1]/64 >= uint64(len(done)) {
			return false
		}
		k.elem = elem
		k.group = append(k.group, opened{set, uint32(from), uint32(len(elem) - from), 0})
	}
	for i := range k.group {
		t := &k.group[i]
		list := k.elem[t.from:][:t.count]
		t.left = uint32(filter(list, list, done))
	}
	return true
}

// reachesWide is reaches for gains of any size.
func (x *external) reachesWide(set, gain uint64, lv *level) bool {
	if x.o.Weights == nil {
		return float64(gain) >= math.Ceil(lv.ratio)
	}
	return float64(gain)/x.o.Weights[set] >= lv.ratio
}

// countLeft returns how many elements the level files hold that are not covered.
func (x *external) countLeft() (left uint64, err error) {
	if err := x.endRun(); err != nil {
		return 0, err
	}
	copy(x.coveredAtStart, x.done)
	lowest := level{0, 0}
	var b batch
	var k blockReader
	for _, lf := range x.files {
		for _, p := range lf.w.place {
			if x.look(lf.file, p, &lowest, &k, &b); b.err != nil {
				return 0, b.err
			}
			for _, e := range b.elem {
				if x.done[e/64]>>(e%64)&1 == 0 {
					x.done[e/64] |= 1 << (e % 64)
					left++
				}
			}
		}
	}
	return left, nil
}

// nextSet returns the set that b commits next.
func (b *batch) nextSet() uint64 { return b.sets[b.next].set }

// earlier orders batches by the sets that they commit next.
func earlier(a, b *batch) bool { return a.nextSet() < b.nextSet() }

// A window hands out the blocks of a level in order, looked at by decoders ahead of their
// use; with one thread, by the caller itself when it asks.
type window struct {
	place []blockPlace // still to be handed out
	look  func(p blockPlace, k *blockReader, b *batch)
	own   blockReader // of the caller
	spare []*batch

	// With decoders: block i comes through results[i mod depth]. A decoder needs a batch from
	// fill before it takes the next block, and next puts one there for each that it hands
	// out, so at most depth blocks are under way.
	results []chan *batch
	fill    chan *batch
	at      int
	quit    chan struct{}
	wg      sync.WaitGroup
}

// ahead is how many blocks a decoder may be ahead of the committer.
const ahead = 4

func (x *external) newWindow(file io.ReaderAt, place []blockPlace, lv *level) *window {
	w := &window{place: place, look: func(p blockPlace, k *blockReader, b *batch) { x.look(file, p, lv, k, b) }}
	threads := min(x.threads, len(place))
	if threads <= 1 {
		return w
	}
	w.results = make([]chan *batch, ahead*threads)
	w.fill = make(chan *batch, len(w.results))
	w.quit = make(chan struct{})
	for i := range w.results {
		w.results[i] = make(chan *batch, 1)
		w.fill <- &batch{}
	}
	var ticket atomic.Int64
	for range threads {
		w.wg.Go(func() {
			var k blockReader
			for {
				select {
				case <-w.quit:
					return
				case b := <-w.fill:
					i := int(ticket.Add(1)) - 1
					if i >= len(place) {
						return
					}
					w.look(place[i], &k, b)
					w.results[i%len(w.results)] <- b // never blocks: depth batches
				}
			}
		})
	}
	return w
}

// next returns the next block.
func (w *window) next() *batch {
	p := w.place[0]
	w.place = w.place[1:]
	spare := &batch{}
	if last := len(w.spare) - 1; last >= 0 {
		spare, w.spare = w.spare[last], w.spare[:last]
	}
	if w.results == nil {
		w.look(p, &w.own, spare)
		return spare
	}
	b := <-w.results[w.at%len(w.results)]
	w.at++
	w.fill <- spare
	return b
}

// free gives back what next returned.
func (w *window) free(b *batch) { w.spare = append(w.spare, b) }

// stop ends the decoders.
func (w *window) stop() {
	if w.quit != nil {
		close(w.quit)
		w.wg.Wait()
	}
}
