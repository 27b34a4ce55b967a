package cover

import (
	"fmt"
	"math"
)

// Verify checks a cover with code of its own, in one pass over the family (two for a
// multicover) and independent of the order in which engines look at sets: the chosen sets
// exist, none comes twice, each added something when it was chosen (and, where gains is not
// nil, just so much), together they cover as many elements, and weigh as much, as they claim, and
// cover all that F covers unless the problem was a budget or a share, which they reach. It returns
// the first fault.
//
// For each element it finds the first K of the chosen sets that hold it; those are the sets
// that it was a gain for. Time O(size of the family · log K). Memory 8 bytes an element and 4 a
// set; for a multicover 12, and 4·K for each element that asks to be covered, which is in K sets
// at least: 4 bytes an element of a set at most.
func Verify(f Family, r *Result, o Options) error {
	rank := make([]uint32, f.NumSets()) // place in the order, from 1; 0: not chosen
	for i, set := range r.Sets {
		if set >= f.NumSets() {
			return fmt.Errorf("cover: choice %d is set %d; there are %d", i, set, f.NumSets())
		}
		if rank[set] != 0 {
			return fmt.Errorf("cover: set %d is chosen twice, as choices %d and %d", set, rank[set]-1, i)
		}
		rank[set] = uint32(i + 1)
	}
	k := uint64(max(1, o.Multi))
	n := f.NumElements()
	held := make([]uint32, n) // sets that hold e, up to K
	scan := func(visit func(set uint64, elements []uint64)) error {
		return f.Scan(func(set uint64, elements []uint64) error {
			visit(set, first(elements, o.MaxDegree))
			return nil
		})
	}
	hold := func(e uint64) {
		if uint64(held[e]) < k {
			held[e]++
		}
	}
	// firsts[slot(e)·K:][:K] is a heap of the complements of the ranks of the first K chosen
	// sets that hold e: the last of them on top, 0 where there are fewer.
	slots := n
	slot := func(e uint64) uint64 { return e }
	if k > 1 {
		err := scan(func(_ uint64, elements []uint64) {
			for _, e := range elements {
				hold(e)
			}
		})
		if err != nil {
			return err
		}
		slots = 0
		of := make([]uint64, n)
		for e, h := range held {
			of[e] = slots
			if uint64(h) == k {
				slots++
			}
		}
		slot = func(e uint64) uint64 { return of[e] }
	}
	firsts := make([]uint32, slots*k)
	err := scan(func(set uint64, elements []uint64) {
		v := rank[set]
		for _, e := range elements {
			if k == 1 {
				hold(e)
			}
			if v != 0 && uint64(held[e]) == k {
				keepLargest(firsts[slot(e)*k:][:k], ^v)
			}
		}
	})
	if err != nil {
		return err
	}
	gain := make([]uint64, len(r.Sets)+1)
	var coverable, covered, missed uint64
	example := uint64(0)
	for e := range n {
		if uint64(held[e]) < k {
			continue // asks for nothing
		}
		coverable++
		ranks := firsts[slot(e)*k:][:k]
		for _, c := range ranks {
			if c != 0 {
				gain[^c]++
			}
		}
		if ranks[0] != 0 {
			covered++
		} else {
			missed++
			example = e
		}
	}
	for i, set := range r.Sets {
		if gain[i+1] == 0 {
			return fmt.Errorf("cover: choice %d, set %d, adds nothing", i, set)
		}
		if r.Gains != nil && gain[i+1] != r.Gains[i] {
			return fmt.Errorf("cover: choice %d, set %d, adds %d, not %d as told", i, set, gain[i+1], r.Gains[i])
		}
	}
	if covered != r.Covered || coverable != r.Coverable {
		return fmt.Errorf("cover: %d of %d elements are covered, not %d of %d as told", covered, coverable, r.Covered, r.Coverable)
	}
	met := uint64(0)
	for _, g := range gain[1:] {
		met += g
	}
	if met != r.Met {
		return fmt.Errorf("cover: the gains are %d together, not %d as told", met, r.Met)
	}
	if o.Weights != nil {
		weight := 0.0
		for _, set := range r.Sets {
			weight += o.Weights[set]
		}
		if math.Abs(weight-r.Weight) > 1e-9*weight {
			return fmt.Errorf("cover: the sets weigh %v, not %v as told", weight, r.Weight)
		}
	}
	inBudget := o.Budget > 0 && len(r.Sets) >= o.Budget
	if o.Partial > 0 && o.Partial < 1 {
		demand := float64(coverable) * float64(k)
		if wanted := uint64(math.Ceil(o.Partial * demand * (1 - 1e-9))); met < wanted && !inBudget {
			return fmt.Errorf("cover: %d of a demand of %.0f are met, not the %d that were wanted", met, demand, wanted)
		}
	} else if missed > 0 && !inBudget {
		return fmt.Errorf("cover: %d elements are not covered, such as %d", missed, example)
	}
	if o.Budget > 0 && len(r.Sets) > o.Budget {
		return fmt.Errorf("cover: %d sets in a budget of %d", len(r.Sets), o.Budget)
	}
	return nil
}

// keepLargest puts x into a heap with the least value on top, in place of that value, unless x is
// none above it.
func keepLargest(h []uint32, x uint32) {
	if x <= h[0] {
		return
	}
	i := 0
	for c := 1; c < len(h); c = 2*i + 1 {
		if c+1 < len(h) && h[c+1] < h[c] {
			c++
		}
		if x <= h[c] {
			break
		}
		h[i], i = h[c], c
	}
	h[i] = x
}
