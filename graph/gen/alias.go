package gen

import (
	"fmt"
	"math"
	"math/bits"

	"forage/graph"
)

// An Alias draws indices with given weights in constant time: Walker's alias method, with
// Vose's linear-time tables. Memory: 8 bytes an index.
type Alias struct {
	keep  []uint32 // of the column's height, scaled to 2^32: what belongs to the column itself
	other []uint32 // whose the rest is
}

// NewAlias returns a sampler of the indices of weights, which must be finite, at least 0, and
// not all 0.
func NewAlias[W uint32 | uint64 | float64](weights []W) (*Alias, error) {
	n := len(weights)
	if n > graph.MaxNodes {
		return nil, fmt.Errorf("%d weights: want at most %d", n, graph.MaxNodes)
	}
	total := 0.0
	for i, w := range weights {
		if f := float64(w); !(f >= 0) || math.IsInf(f, 1) {
			return nil, fmt.Errorf("weight %d is %v: want a number of at least 0", i, w)
		}
		total += float64(w)
	}
	if !(total > 0) || math.IsInf(total, 1) {
		return nil, fmt.Errorf("the weights of %d indices sum to %v", n, total)
	}
	a := &Alias{keep: make([]uint32, n), other: make([]uint32, n)}
	height := make([]float64, n)
	small := make([]uint32, 0, n)
	large := make([]uint32, 0, n)
	for i, w := range weights {
		height[i] = float64(w) / total * float64(n)
		if height[i] < 1 {
			small = append(small, uint32(i))
		} else {
			large = append(large, uint32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		a.keep[s], a.other[s] = uint32(min(height[s]*(1<<32), math.MaxUint32)), l
		height[l] -= 1 - height[s]
		if height[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	// What is left has height 1, but for rounding.
	for _, i := range append(small, large...) {
		a.keep[i], a.other[i] = math.MaxUint32, i
	}
	return a, nil
}

// draw returns an index.
func (a *Alias) draw(r *splitmix) uint32 {
	i, rest := bits.Mul64(r.next(), uint64(len(a.keep)))
	if uint32(rest>>32) < a.keep[i] {
		return uint32(i)
	}
	return a.other[i]
}
