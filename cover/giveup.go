package cover

// Patience is after how many reads of each element Greedy is better asked to go on: the value of
// Options.GiveUp for who leaves the choice of the engine to the program.
//
// A lazy engine looks at a set again whenever its gain may have fallen. Where each set that is taken
// lowers the gain of all others a little, as in the family in which any two sets share one element of their
// own, it looks at everything again and again: 2,000 such sets of 2,000 elements are read 668 times, 3.5
// CPU seconds, where Greedy takes 0.18. That cannot be told beforehand by the density M/(m·n): of 116 random families
// of uniform or skewed sizes, of densities from 0.0004 to 0.6, none was read more than 12 times, and PGreedy was the
// quicker on 57 of the 60 large ones; the family above has 0.001. So the reads tell. To go on as Greedy costs an
// inverted index of what is left, which is little where much is covered.
//
// The number was chosen, from 8, 16, 32, 64 and 128, on families of pairs of 300, 1,000 and 2,000 sets and of
// elements in 2, 3, 4 or 6 random ones of 500 sets. On those of 700 and 1,500 sets, and of 2,000 random ones, it
// takes at most 2.5 times the CPU time of the better of the two engines, where PGreedy takes up to 18 times
// and Greedy up to 5. The sequence is the same whenever it happens.
const Patience = 32

// mayGiveUp lets a lazy engine hand over to Greedy whose sequence is the same.
func (s *state) mayGiveUp(q float64, exact bool) {
	if s.o.GiveUp > 0 && q == 1 && exact {
		s.patience = uint64(s.o.GiveUp) * s.res.Size
	}
}

// giveUp has Greedy go on.
func (s *state) giveUp() (over bool, err error) {
	taken := s.res.Taken
	s.res.GreedyFrom = &taken
	return s.greedy()
}
