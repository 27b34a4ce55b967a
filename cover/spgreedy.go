package cover

import "context"

// SPGreedy returns a cover by [ST15, §3.5, Alg. 5]: levels p_k … p_1, by default the powers
// of 1.2; within a level the sets in ascending order, each taken if its gain reaches the
// level when its turn comes. Time O(M) a level at worst, in practice less than 2·M in all.
//
// Guarantee p·ln Δ + 1, p the largest ratio of neighbouring levels, Δ/p_k included [ST15,
// Lemma 3.6].
func SPGreedy(ctx context.Context, f Family, o Options) (*Result, error) {
	s, err := newState(ctx, f, NameSPGreedy, &o)
	if err != nil {
		return nil, err
	}
	return s.run(NameSPGreedy, func(l *levels, lv *level) (bool, error) { // [ST15, Alg. 5, lines 3 and 4]
		return l.each(func(sets []uint32) (bool, error) { // line 6
			s.prefetch(sets)
			for _, t := range sets {
				if !s.reaches(t, s.look(t), lv) { // line 8
					continue
				}
				if over, err := s.take(t); over || err != nil { // lines 9 and 10
					return true, err
				}
			}
			return false, nil
		})
	})
}
