package cover

import "context"

// RFGreedy returns a cover by [ST15, §3.3, Alg. 3]: the set on top is taken if q times its
// gain reaches the gain when it was last looked at, so each look either takes the set or
// divides what is left of it by more than q.
//
// It reads at most (2q−1)/(q−1)·M elements [ST15, Lemma 3.2]; guarantee q·ln Δ + 1 [ST15,
// Lemma 3.4]. q = 1, the limit, takes a set only if it lost nothing: the sequence of Greedy.
// The heap of the paper is a bucket queue here, which serves sets in the same order; with
// weights it is a heap.
func RFGreedy(ctx context.Context, f Family, o Options) (*Result, error) {
	return refined(ctx, f, NameRFGreedy, &o, o.q(), true)
}

func refined(ctx context.Context, f Family, a Algorithm, o *Options, q float64, exact bool) (*Result, error) {
	s, err := newState(ctx, f, a, o)
	if err != nil {
		return nil, err
	}
	h := s.newQueue(exact) // [ST15, Alg. 3, line 3]
	for i := s.m - 1; i >= 0; i-- {
		h.push(uint32(i), s.key(uint32(i), s.cnt[i]))
	}
	s.res.Reads = s.res.Size // the sizes
	s.mayGiveUp(q, exact)
	if _, err := s.serve(h, q, nil); err != nil {
		return nil, err
	}
	return s.finish(), nil
}

// serve takes sets from the queue until it is empty or the run is over: lines 4 to 14 of
// [ST15, Alg. 3], and with a level lines 6 to 20 of [ST15, Alg. 4].
func (s *state) serve(h queue, q float64, lv *level) (over bool, err error) {
	for looks := 1; ; looks++ {
		t, _, ok := h.pop() // line 5: find_max
		if !ok {
			return false, nil
		}
		if looks%(1<<16) == 0 {
			if err := s.report(lv.threshold()); err != nil {
				return true, err
			}
		}
		if s.res.Reads > s.patience {
			return s.giveUp()
		}
		was := s.cnt[t]  // line 6
		now := s.look(t) // line 7; line 14: T = T ∩ C
		switch {
		case now == 0:
		case q*float64(now) >= float64(was): // line 8
			if over, err := s.take(t); over || err != nil { // lines 9 to 11
				return over, err
			}
		case lv == nil || s.reaches(t, now, lv): // [ST15, Alg. 4, line 15]
			h.push(t, s.key(t, now)) // line 13: decrease_key
		}
	}
}
