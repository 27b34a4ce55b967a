package cover

import "context"

// FGreedy returns a cover by the lazy heap of [ST15, §3.2, Alg. 2]: the set on top of the
// heap is looked at again and taken if it stays on top. Gains only fall, so a set that stays
// on top with its exact gain is the best there is: the sequence is that of Greedy.
//
// No inverted index: memory is 4 bytes an element of a set and 20 bytes a set. Time depends
// on how often a set is looked at again, O(log m) each and the length of what is left of its
// list. Guarantee ln Δ + 1 [ST15, Lemma 3.1].
func FGreedy(ctx context.Context, f Family, o Options) (*Result, error) {
	s, err := newState(ctx, f, NameFGreedy, &o)
	if err != nil {
		return nil, err
	}
	h := s.newHeap()            // [ST15, Alg. 2, line 3]
	s.res.Reads = s.res.Size    // the sizes
	for looks := 0; ; looks++ { // line 4: while C ≠ ∅
		t, _, ok := h.first() // line 5
		if !ok {
			break
		}
		if looks%(1<<16) == 0 {
			if err := s.report(0); err != nil {
				return nil, err
			}
		}
		h.lower(s.key(t, s.look(t)))                                   // lines 6 and 12
		if top, _, ok := h.first(); !ok || top != t || s.cnt[t] == 0 { // line 7
			continue
		}
		h.lower(0)                                      // line 8
		if over, err := s.take(t); over || err != nil { // lines 9 and 10
			if err != nil {
				return nil, err
			}
			break
		}
	}
	return s.finish(), nil
}

// newHeap returns a heap of all sets by the upper bounds of their gains.
func (s *state) newHeap() *keyHeap {
	h := &keyHeap{wide: s.o.Weights != nil}
	if !h.wide {
		h.packed = make([]uint64, 0, s.m)
	}
	for i, c := range s.cnt {
		h.add(uint32(i), s.key(uint32(i), c))
	}
	h.heapify()
	return h
}

// FGreedyBucket is FGreedy with a bucket queue instead of the heap: of the sets with the same
// gain the one filed last is taken. That needs no order within a bucket, and gives another
// cover of about the same size. With weights it is FGreedy.
func FGreedyBucket(ctx context.Context, f Family, o Options) (*Result, error) {
	return refined(ctx, f, NameFGreedyBucket, &o, 1, false)
}
