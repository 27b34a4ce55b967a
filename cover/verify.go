package cover

import (
	"fmt"
	"math"
)

// Verify checks a cover with code of its own, in one pass over the family and independent of
// the order in which engines look at sets: the chosen sets exist, none comes twice, each
// added something when it was chosen (and, where gains is not nil, just so much), together
// they cover as many elements as they claim, and all that F covers unless the problem was a
// budget or a share, which they reach. It returns the first fault.
//
// For each element it finds the first K of the chosen sets that hold it; those are the sets
// that it was a gain for. Memory 4·K bytes an element, 4 bytes a set.
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
	k := max(1, o.Multi)
	first := make([]uint32, f.NumElements()*uint64(k)) // of element e: ascending ranks, 0 where there are fewer
	held := make([]uint32, f.NumElements())            // sets that hold e, up to K
	err := f.Scan(func(set uint64, elements []uint64) error {
		if o.MaxDegree > 0 && len(elements) > o.MaxDegree {
			elements = elements[:o.MaxDegree]
		}
		for _, e := range elements {
			if held[e] < uint32(k) {
				held[e]++
			}
			v := rank[set]
			if v == 0 {
				continue
			}
			for i := e * uint64(k); i < (e+1)*uint64(k) && v != 0; i++ {
				if first[i] == 0 || v < first[i] {
					first[i], v = v, first[i]
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	gain := make([]uint64, len(r.Sets)+1)
	var coverable, covered, missed uint64
	example := uint64(0)
	for e := range f.NumElements() {
		if held[e] < uint32(k) {
			continue // asks for nothing
		}
		coverable++
		for _, v := range first[e*uint64(k) : (e+1)*uint64(k)] {
			gain[v]++
		}
		if first[(e+1)*uint64(k)-1] != 0 {
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
