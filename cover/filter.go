package cover

import (
	"math"
	"math/bits"

	"forage/graph"
)

// blockSets is how many sets share a block: as many as a word of the survivors has bits.
const blockSets = 64

// blocksPerTask is how many blocks a goroutine filters at a time; their sets share a region
// of the lists' memory.
const blocksPerTask = 64

// levels finds, at the start of each level, the sets that reach it: the map phase of
// [ST15, §3.6]. It passes over the sets in ascending order, skips blocks of 64 in which no
// set can reach the level, and looks at the lists of the others against what is covered when
// the level starts, so the outcome does not depend on the number of threads. Memory: 16 bytes
// a block for the best key and the lists' length, a bit a set for the survivors.
type levels struct {
	s        *state
	ladder   *ladder
	best     []float64 // by block: no set in it has more gain, or gain by weight
	live     []uint64  // by block: total length of its lists when it was last filtered
	survives []uint64  // by block: the sets that reach the level
	span     []uint64  // by task: the memory that its lists are spread over, in elements
	reads    []uint64  // by task
}

// newLevels prepares the levels of PGreedy and SPGreedy.
func (s *state) newLevels(a Algorithm) *levels {
	blocks := (s.m + blockSets - 1) / blockSets
	tasks := (blocks + blocksPerTask - 1) / blocksPerTask
	l := &levels{
		s:    s,
		best: make([]float64, blocks), live: make([]uint64, blocks), survives: make([]uint64, blocks),
		span: make([]uint64, tasks), reads: make([]uint64, tasks),
	}
	low, high := 1.0, 1.0
	for b := range blocks {
		l.measure(b)
		l.span[b/blocksPerTask] += l.live[b]
	}
	if s.o.Weights == nil {
		high = max(high, float64(s.res.Largest))
	} else {
		for i, c := range s.cnt {
			if v := s.value(uint32(i), c); v > 0 && !math.IsInf(v, 1) {
				low, high = min(low, 1/s.o.Weights[i]), max(high, v)
			}
		}
	}
	l.ladder = s.o.newLadder(a, low, high)
	s.res.Passes = 0
	return l
}

// value is the gain, or the gain by weight.
func (s *state) value(set, gain uint32) float64 {
	if s.o.Weights == nil || gain == 0 {
		return float64(gain)
	}
	return float64(gain) / s.o.Weights[set]
}

// next finds the next level that any set reaches, and its survivors. ok=false: no set that
// is left adds anything.
func (l *levels) next() (lv level, ok bool, err error) {
	s := l.s
	top := 0.0
	for _, b := range l.best {
		top = max(top, b)
	}
	if top == 0 {
		return level{}, false, nil
	}
	lv, ok = l.ladder.next(top, s.o.Weights != nil)
	if !ok {
		return level{}, false, nil
	}
	s.res.Passes++
	parallel(s.threads, len(l.reads), func(task int) { l.filterTask(task, &lv) })
	for _, r := range l.reads {
		s.res.Reads += r
	}
	return lv, true, s.report(lv.ratio)
}

// block returns the upper bounds of the gains of block b.
func (l *levels) block(b int) []uint32 {
	return l.s.cnt[b*blockSets : min((b+1)*blockSets, l.s.m)]
}

// filterTask looks at the sets of a task that may reach the level. It moves the lists
// together on the way when less than half of the region's memory is still in use, or when at
// least half of what is in use is read anyway: short lists far apart cost a cache miss each.
func (l *levels) filterTask(task int, lv *level) {
	s := l.s
	threshold := lv.ratio
	if s.o.Weights == nil {
		threshold = float64(lv.count)
	}
	from := task * blocksPerTask
	to := min(from+blocksPerTask, len(l.best))
	var may [blocksPerTask]uint64 // the sets that may reach the level
	live, reads := uint64(0), uint64(0)
	for b := from; b < to; b++ {
		l.survives[b] = 0
		live += l.live[b]
		if l.best[b] < threshold {
			continue
		}
		if may[b-from] = l.reaching(b, lv); may[b-from] == 0 {
			l.measure(b) // the best were taken
		}
		for w := may[b-from]; w != 0; w &= w - 1 {
			reads += uint64(s.cnt[b*blockSets+bits.TrailingZeros64(w)])
		}
	}
	if l.reads[task] = reads; reads == 0 {
		return
	}
	start := s.off[from*blockSets]
	at := start
	together := live < l.span[task] && (2*live <= l.span[task] || 2*reads >= live)
	for b := from; b < to; b++ {
		if together {
			at = l.moveBlock(b, may[b-from], at, lv)
		} else {
			for w := may[b-from]; w != 0; w &= w - 1 {
				i := uint32(b*blockSets + bits.TrailingZeros64(w))
				l.look(i, s.list(i), lv)
			}
		}
		if may[b-from] != 0 {
			l.measure(b)
		}
	}
	if together {
		l.span[task] = at - start
	}
}

// reaching returns the sets of block b whose upper bound reaches the level.
func (l *levels) reaching(b int, lv *level) (sets uint64) {
	s := l.s
	if s.o.Weights == nil {
		below := uint64(lv.count) - 1
		for j, c := range l.block(b) { // without a branch, which would be a guess
			sets |= (below - uint64(c)) >> 63 << (uint(j) % blockSets)
		}
		return sets
	}
	for j, c := range l.block(b) {
		if s.reaches(uint32(b*blockSets+j), c, lv) {
			sets |= 1 << j
		}
	}
	return sets
}

// measure brings best and live of block b up to date.
func (l *levels) measure(b int) {
	most, live := uint32(0), uint64(0)
	for _, c := range l.block(b) {
		most = max(most, c)
		live += uint64(c)
	}
	l.best[b], l.live[b] = float64(most), live
	if l.s.o.Weights != nil {
		l.best[b] = 0
		for j, c := range l.block(b) {
			l.best[b] = max(l.best[b], l.s.value(uint32(b*blockSets+j), c))
		}
	}
}

// look leaves in to what is not covered of set i, notes whether it reaches the level, and
// returns how much it is.
func (l *levels) look(i uint32, to []graph.Node, lv *level) uint32 {
	s := l.s
	c := uint32(filter(to, s.list(i), s.done))
	s.cnt[i] = c
	if s.reaches(i, c, lv) {
		l.survives[i/blockSets] |= 1 << (i % blockSets)
	}
	return c
}

// moveBlock looks at the sets of block b that may reach the level, moves the lists of all
// down to at and returns where they end.
func (l *levels) moveBlock(b int, may, at uint64, lv *level) uint64 {
	s := l.s
	for j, c := range l.block(b) {
		if c == 0 {
			continue
		}
		i := uint32(b*blockSets + j)
		to := s.elem[at : at+uint64(c)]
		if may>>j&1 != 0 {
			c = l.look(i, to, lv)
		} else {
			copy(to, s.list(i))
		}
		s.off[i] = at
		at += uint64(c)
	}
	return at
}

// each calls visit for the survivors in ascending order, some at a time, until it is over.
func (l *levels) each(visit func(sets []uint32) (over bool, err error)) (over bool, err error) {
	var sets [prefetched]uint32
	n := 0
	for b, w := range l.survives {
		for ; w != 0; w &= w - 1 {
			sets[n] = uint32(b*blockSets + bits.TrailingZeros64(w))
			if n++; n == len(sets) {
				if over, err = visit(sets[:]); over || err != nil {
					return over, err
				}
				n = 0
			}
		}
	}
	return visit(sets[:n])
}

// run is the loop over levels, line 3 of [ST15, Alg. 4] and [ST15, Alg. 5].
func (s *state) run(a Algorithm, work func(l *levels, lv *level) (over bool, err error)) (*Result, error) {
	l := s.newLevels(a)
	for {
		lv, ok, err := l.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return s.finish(), nil
		}
		over, err := work(l, &lv)
		if err != nil {
			return nil, err
		}
		if over {
			return s.finish(), nil
		}
	}
}
