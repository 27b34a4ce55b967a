package cover

import "context"

// PGreedy returns a cover by [ST15, §3.4, Alg. 4]: levels p_k … p_1, by default the powers of
// 2; within a level RFGreedy on the sets that reach it. A set that passes the test of q is
// taken even where its gain fell below the level; one that fails it and the level is left to
// a later level.
//
// Guarantee q·ln Δ + 1 if q is at most the least ratio of neighbouring levels [ST15, Lemma
// 3.5], none otherwise. With q = 1, the limit that the paper excludes, the sequence is that
// of Greedy, at a fraction of its time and memory: 4 bytes an element of a set and about 17
// bytes a set.
func PGreedy(ctx context.Context, f Family, o Options) (*Result, error) {
	s, err := newState(ctx, f, NamePGreedy, &o)
	if err != nil {
		return nil, err
	}
	h := s.newQueue(true)
	q := o.q()
	s.mayGiveUp(q, true)
	return s.run(NamePGreedy, func(l *levels, lv *level) (bool, error) { // [ST15, Alg. 4, lines 3 and 4]
		_, err := l.each(func(sets []uint32) (bool, error) { // line 5
			for _, t := range sets {
				h.push(t, s.key(t, s.cnt[t]))
			}
			return false, nil
		})
		if err != nil {
			return true, err
		}
		return s.serve(h, q, lv) // lines 6 to 20
	})
}
