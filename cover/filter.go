package cover

import (
	"math"
	"math/bits"
)

// blockSets is how many sets share a block: as many as a word of the survivors has bits.
const blockSets = 64

// blocksPerTask is how many blocks a goroutine filters at a time; their sets share a region
// of the lists' memory.
const blocksPerTask = 64

// levels finds, at the start of each level, the sets that reach it: the map phase of
// [ST15, §3.6]. It passes over the sets in ascending order, skips blocks of 64 in which no
// set can reach the level, and looks at the lists of the others against what is covered when
// the level starts, so the outcome does not depend on the number of threads. Memory: 8 bytes
// a block for the best key, a bit a set for the survivors.
type levels struct {
	s        *state
	ladder   *ladder
	best     []float64 // by block: no set in it has more gain, or gain by weight
	survives []uint64  // by block: the sets that reach the level
	live     []uint32  // by block: total length of its lists when it was last filtered
	span     []uint64  // by task: the memory that its lists are spread over, in elements
	reads    []uint64  // by task
}

// newLevels prepares the levels of PGreedy and SPGreedy.
func (s *state) newLevels(a Algorithm) *levels {
	blocks := (s.m + blockSets - 1) / blockSets
	l := &levels{s: s, best: make([]float64, blocks), survives: make([]uint64, blocks), live: make([]uint32, blocks)}
	tasks := (blocks + blocksPerTask - 1) / blocksPerTask
	l.reads, l.span = make([]uint64, tasks), make([]uint64, tasks)
	low, high := 1.0, 1.0
	for i, c := range s.cnt {
		if c == 0 {
			continue
		}
		l.live[i/blockSets] = satAdd(l.live[i/blockSets], c)
		l.span[i/(blockSets*blocksPerTask)] += uint64(c)
		v := s.value(uint32(i), c)
		l.best[i/blockSets] = max(l.best[i/blockSets], v)
		if !math.IsInf(v, 1) {
			high = max(high, v)
			if s.o.Weights != nil {
				low = min(low, 1/s.o.Weights[i])
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

// filterTask filters the blocks of a task that hold a set which may reach the level. When
// less than half of the region's memory is still in use it moves the lists together on the
// way, since short lists far apart cost a cache miss each: on web2m that is a third of the
// time of PGreedy.
func (l *levels) filterTask(task int, lv *level) {
	s := l.s
	threshold := lv.ratio
	if s.o.Weights == nil {
		threshold = float64(lv.count)
	}
	from := task * blocksPerTask
	to := min(from+blocksPerTask, len(l.best))
	live, visit := uint64(0), false
	for b := from; b < to; b++ {
		l.survives[b] = 0
		live += uint64(l.live[b])
		visit = visit || l.best[b] >= threshold
	}
	l.reads[task] = 0
	if !visit {
		return
	}
	compact := live <= l.span[task]/compactAt
	at := s.off[from*blockSets]
	for b := from; b < to; b++ {
		if l.best[b] >= threshold {
			l.filterBlock(b, lv, &l.reads[task])
		}
		if compact {
			at = l.compactBlock(b, at)
		}
	}
	if compact {
		l.span[task] = at - s.off[from*blockSets]
	}
}

// compactAt is how many times the lists' length their memory must be before they are moved
// together: 2, 3 and 4 measured alike with PGreedy, 2 best with SPGreedy.
const compactAt = 2

// filterBlock looks at the sets of block b that may reach the level.
func (l *levels) filterBlock(b int, lv *level, reads *uint64) {
	s := l.s
	best, live := 0.0, uint32(0)
	from := b * blockSets
	for i := from; i < min(from+blockSets, s.m); i++ {
		c := s.cnt[i]
		if c == 0 {
			continue
		}
		if s.reaches(uint32(i), c, lv) {
			*reads += uint64(c)
			c = filter(s.list(uint32(i)), s.done)
			s.cnt[i] = c
			if s.reaches(uint32(i), c, lv) {
				l.survives[b] |= 1 << (i - from)
			}
		}
		best = max(best, s.value(uint32(i), c))
		live = satAdd(live, c)
	}
	l.best[b], l.live[b] = best, live
}

// compactBlock moves the lists of the block down to at and returns where they end.
func (l *levels) compactBlock(b int, at uint64) uint64 {
	s := l.s
	for i := b * blockSets; i < min((b+1)*blockSets, s.m); i++ {
		copy(s.elem[at:], s.list(uint32(i)))
		s.off[i] = at
		at += uint64(s.cnt[i])
	}
	return at
}

// satAdd adds up to the largest uint32.
func satAdd(a, b uint32) uint32 {
	if s := a + b; s >= a {
		return s
	}
	return math.MaxUint32
}

// each calls visit for the survivors in ascending order until it is over.
func (l *levels) each(visit func(set uint32) (over bool, err error)) (over bool, err error) {
	for b, w := range l.survives {
		for ; w != 0; w &= w - 1 {
			if over, err = visit(uint32(b*blockSets + bits.TrailingZeros64(w))); over || err != nil {
				return over, err
			}
		}
	}
	return false, nil
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
