package cover

import (
	"math"
	"math/bits"
)

// blockSets is how many sets share a block: as many as a word of the survivors has bits.
const blockSets = 64

// blocksPerTask is how many blocks a goroutine filters at a time.
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
	reads    []uint64  // by task
}

// newLevels prepares the levels of PGreedy and SPGreedy.
func (s *state) newLevels(a Algorithm) *levels {
	blocks := (s.m + blockSets - 1) / blockSets
	l := &levels{s: s, best: make([]float64, blocks), survives: make([]uint64, blocks)}
	l.reads = make([]uint64, (blocks+blocksPerTask-1)/blocksPerTask)
	low, high := 1.0, 1.0
	for i, c := range s.cnt {
		if c == 0 {
			continue
		}
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
	parallel(s.threads, len(l.reads), func(task int) {
		from := task * blocksPerTask
		l.reads[task] = 0
		for b := from; b < min(from+blocksPerTask, len(l.best)); b++ {
			l.filterBlock(b, &lv, &l.reads[task])
		}
	})
	for _, r := range l.reads {
		s.res.Reads += r
	}
	return lv, true, s.report(lv.ratio)
}

// filterBlock looks at the sets of block b that may reach the level.
func (l *levels) filterBlock(b int, lv *level, reads *uint64) {
	l.survives[b] = 0
	s := l.s
	threshold := lv.ratio
	if s.o.Weights == nil {
		threshold = float64(lv.count)
	}
	if l.best[b] < threshold {
		return
	}
	best := 0.0
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
	}
	l.best[b] = best
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
