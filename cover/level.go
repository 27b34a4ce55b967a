package cover

import "math"

// A level is one range of gains, [p_L, p_{L+1}), or of gains by weight.
type level struct {
	count uint32  // without weights: ⌈p_L⌉
	ratio float64 // p_L
}

func (lv *level) threshold() float64 {
	if lv == nil {
		return 0
	}
	return lv.ratio
}

// reaches reports whether a gain is enough for the level.
func (s *state) reaches(set, gain uint32, lv *level) bool {
	if s.o.Weights == nil {
		return gain >= lv.count
	}
	return gain > 0 && s.value(set, gain) >= lv.ratio
}

// ladder yields levels from the top down.
type ladder struct {
	points []float64 // ascending; nil: powers of p
	p      float64
	j      int // the next power, or index of points
	last   int // the lowest power or index
}

// newLadder returns the levels for gains up to high and down to low, both by weight where
// there are weights (low is 1 without).
func (o *Options) newLadder(a Algorithm, low, high float64) *ladder {
	if o.Points != nil {
		points := withOne(o.Points)
		return &ladder{points: points, j: len(points) - 1}
	}
	l := &ladder{p: o.p(a)}
	l.j, l.last = power(l.p, high), power(l.p, low)
	return l
}

// power returns the greatest j with p^j ≤ x, p > 1, 0 < x < ∞.
func power(p, x float64) int {
	j := int(math.Floor(math.Log(x) / math.Log(p)))
	for math.Pow(p, float64(j)) > x {
		j--
	}
	for math.Pow(p, float64(j+1)) <= x {
		j++
	}
	return j
}

func (l *ladder) at(j int) level {
	p := 0.0
	if l.points != nil {
		p = l.points[j]
	} else {
		p = math.Pow(l.p, float64(j))
	}
	return level{count: uint32(min(math.Ceil(p), math.MaxUint32)), ratio: p}
}

// next returns the next level that a gain of best reaches (by weight, where there are
// weights); the levels above would find nothing to do. Without weights levels with the same
// ⌈p_j⌉ are one. ok=false: there is none left.
//
// Sets that cost nothing come first, on a level of their own.
func (l *ladder) next(best float64, weighted bool) (lv level, ok bool) {
	if math.IsInf(best, 1) {
		return level{math.MaxUint32, best}, true
	}
	for ; l.j >= l.last; l.j-- {
		lv = l.at(l.j)
		if weighted && lv.ratio > best || !weighted && float64(lv.count) > best {
			continue
		}
		l.j--
		for !weighted && l.j >= l.last && l.at(l.j).count == lv.count {
			l.j--
		}
		return lv, true
	}
	return level{}, false
}

// Thresholds returns the gains ⌈p^j⌉ from which SPGreedy takes sets, level by level, for a family
// whose largest set has so many elements: descending, each once, the last 1; none where largest
// is 0. p is above 1. It is for who runs the levels elsewhere and wants the same cover.
func Thresholds(p float64, largest uint64) []uint64 {
	if largest == 0 {
		return nil
	}
	o := Options{P: p}
	l := o.newLadder(NameSPGreedy, 1, float64(largest))
	var gains []uint64
	for {
		lv, ok := l.next(float64(largest), false)
		if !ok {
			return gains
		}
		gains = append(gains, uint64(lv.count))
	}
}
