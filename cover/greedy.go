package cover

import (
	"context"
	"slices"

	"forage/graph"
)

// Greedy returns a cover by the textbook greedy of [ST15, §3.1, Alg. 1], Johnson's: always
// the set that covers the most uncovered elements, the lowest number among equals. It is the
// oracle of the other engines' tests.
//
// An inverted index tells which sets lose an element that gets covered, and each of them moves
// at once to its new place in the ordering, a list of sets for each gain. (To move it only
// when its turn comes is the idea of FGreedy, and would halve the time here.) With weights the
// ordering is a heap, in which a set moves when it comes to the top. Time O(M), with weights
// O(M log m); memory 8 bytes an element of a set, 8 an element and 24 a set. Guarantee
// ln Δ + 1.
func Greedy(ctx context.Context, f Family, o Options) (*Result, error) {
	s, err := newState(ctx, f, NameGreedy, &o)
	if err != nil {
		return nil, err
	}
	s.res.Reads = 2 * s.res.Size // sizes, inverted index
	if _, err := s.greedy(); err != nil {
		return nil, err
	}
	return s.finish(), nil
}

// greedy goes on from any state to the end, with what is left of the lists. It reports that the run is over.
func (s *state) greedy() (over bool, err error) {
	left := uint64(0)
	for _, c := range s.cnt {
		left += uint64(c)
	}
	inv := invertLists(uint64(s.m), s.n, left, func(i uint64) []graph.Node { return s.list(uint32(i)) })
	if !s.counted && s.res.Taken == 0 {
		s.counted = true
		for e := range s.n {
			if inv.off[e+1] > inv.off[e] {
				s.res.Coverable++
			}
		}
	}
	gain := slices.Clone(s.cnt) // exact gains: dropping an element below keeps them so
	if s.times != nil || s.res.Taken > 0 {
		for i := range gain {
			gain[i] = 0
			for _, e := range s.list(uint32(i)) {
				gain[i] += uint32(^s.done[e/64] >> (e % 64) & 1)
			}
		}
	}
	var q queue
	var order *ordering
	if s.o.Weights == nil {
		order = newOrdering(s.m, s.res.Largest)
		q = order
	} else {
		q = &keyHeap{wide: true}
	}
	for i := s.m - 1; i >= 0; i-- {
		q.push(uint32(i), s.key(uint32(i), gain[i]))
	}
	for { // [ST15, Alg. 1, line 3]: while C ≠ ∅
		i, key, ok := q.pop() // line 4: arg max
		if !ok {
			return true, nil
		}
		if now := s.key(i, gain[i]); now != key {
			if order == nil {
				q.push(i, now) // it lost elements since it was filed
			}
			continue
		}
		before := uint64(gain[i])
		gain[i] = 0 // line 5
		s.res.Reads += uint64(s.cnt[i])
		for _, e := range s.list(i) { // line 6: C = C \ S
			if s.done[e/64]>>(e%64)&1 != 0 || s.times != nil && !s.times.add(uint64(e)) {
				continue
			}
			s.done[e/64] |= 1 << (e % 64)
			s.res.Covered++
			for _, t := range inv.sets[inv.off[e]:inv.off[e+1]] {
				if gain[t] == 0 {
					continue
				}
				gain[t]--
				if order != nil {
					order.lower(t, gain[t])
				}
			}
		}
		s.cnt[i] = 0
		if over, err := s.taken(uint64(i), before); over || err != nil {
			return true, err
		}
	}
}

// noSet ends a list of sets.
const noSet = 1<<32 - 1

// ordering is a queue in which a set's place is exact at all times: a list of sets for each
// gain.
type ordering struct {
	head       []uint32 // by gain: the first set, noSet if there is none
	next, prev []uint32 // by set: those after and before it in its list
	top        int      // no list above it holds a set
	serving    serving  // what is left of list top
}

func newOrdering(sets int, largest uint64) *ordering {
	o := &ordering{head: make([]uint32, largest+1), next: make([]uint32, sets), prev: make([]uint32, sets)}
	for i := range o.head {
		o.head[i] = noSet
	}
	o.serving.init(sets)
	return o
}

func (o *ordering) push(set uint32, gain uint64) {
	if gain == 0 {
		return
	}
	after := o.head[gain]
	if after != noSet {
		o.prev[after] = set
	}
	o.prev[set], o.next[set] = noSet, after
	o.head[gain] = set
	o.top = max(o.top, int(gain))
}

func (o *ordering) pop() (set uint32, gain uint64, ok bool) {
	for {
		if set, ok = o.serving.next(); ok {
			return set, uint64(o.top), true
		}
		for o.top > 0 && o.head[o.top] == noSet {
			o.top--
		}
		if o.top == 0 {
			return 0, 0, false
		}
		for set = o.head[o.top]; set != noSet; set = o.next[set] {
			o.serving.add(set)
		}
		o.head[o.top] = noSet
		o.serving.order()
	}
}

// lower moves a set down by one, to gain. A set of the list that is being served is in none
// any more.
func (o *ordering) lower(set, gain uint32) {
	if int(gain)+1 != o.top {
		before, after := o.prev[set], o.next[set]
		if before == noSet {
			o.head[gain+1] = after
		} else {
			o.next[before] = after
		}
		if after != noSet {
			o.prev[after] = before
		}
	}
	o.push(set, uint64(gain))
}

// inverted lists, for each element, the sets that hold it, ascending.
type inverted struct {
	off  []uint64
	sets []uint32
}

// invert returns the inverted index of l.
func invert(l *Lists) inverted {
	m := l.NumSets()
	return invertLists(m, l.N, l.Size(), func(i uint64) []graph.Node { return l.Set(i) })
}

func invertLists(m, n, size uint64, list func(i uint64) []graph.Node) inverted {
	inv := inverted{make([]uint64, n+2), make([]uint32, size)}
	at := inv.off[1:] // at[e] is where the next set of e goes; it ends as the start of e+1
	for i := range m {
		for _, e := range list(i) {
			at[e+1]++
		}
	}
	for e := range n {
		at[e+1] += at[e]
	}
	for i := range m {
		for _, e := range list(i) {
			inv.sets[at[e]] = uint32(i)
			at[e]++
		}
	}
	return inv
}
