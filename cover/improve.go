package cover

import (
	"context"
	"math/rand/v2"
	"slices"

	"forage/graph"
)

// Improve makes a full cover smaller, or lighter where there are weights: it drops redundant
// sets, then searches by row weighting (RWLS of GWL15 in docs/papers.md) until stop reports true. r is the
// cover to start from; the result lists the better cover in the order of Greedy on its sets,
// and differs from r in Sets, Gains, Taken, Covered, Met and Weight only.
//
// The search takes a set out whenever nothing is uncovered, then exchanges sets one by one:
// out goes the set whose loss by cost is least, in comes, for an uncovered element drawn by
// rnd, the set of best gain by cost; elements left uncovered gain weight, so that they are
// not forgotten. A set that was just taken out comes back only after a set that shares an
// element with it moved. Difference from the paper: costs, and of covers larger than 512
// sets a sample of 64 is looked at instead of all for the set that goes out.
//
// stop is asked every 64 exchanges, and sooner where these are costly: what comes between is
// linear in the size of the family at most. The same seed and the same number of calls of stop
// give the same cover. Memory 12 bytes an element of a set, 32 bytes a set and 24 an element.
func Improve(l *Lists, r *Result, weights []float64, maxDegree int, rnd *rand.Rand, stop func() bool) (*Result, error) {
	p := newPart(l, weights, maxDegree)
	p.dropDominated(r.Sets, stop)
	s := newSearch(p, rnd)
	s.stop = stop
	s.dropRedundant(p.chosen)
	s.keep()
	for step := 0; step%64 != 0 || !stop(); step++ {
		if !s.step() {
			break
		}
	}
	return s.result(r)
}

// A part is what the search works on: the sets that no other set makes needless.
type part struct {
	Lists
	cost   []float64 // nil: 1 each
	ids    []uint64  // by set of the part: its number in the family
	chosen []uint32  // the cover to start from
}

func newPart(l *Lists, weights []float64, maxDegree int) *part {
	p := &part{cost: weights, ids: make([]uint64, l.NumSets())}
	p.Elem = make([]graph.Node, 0, len(l.Elem))
	for i := range p.ids {
		p.ids[i] = uint64(i)
		p.Append(first(l.Set(uint64(i)), maxDegree))
	}
	p.N = l.N
	return p
}

// stopWork is how many elements are looked at, about, before stop is asked: some milliseconds.
const stopWork = 1 << 22

// dominationWork is how many pairs of sets dropDominated compares at most.
const dominationWork = 1 << 30

// dropDominated drops every set that is part of another which costs no more; of equal sets
// the first stays. In the cover the other takes its place. It does nothing where there are
// too many pairs to compare, or stop reports true first. Of rail507's 63009 sets
// 25379 stay without weights, 26333 with.
func (p *part) dropDominated(chosen []uint64, stop func() bool) {
	for _, set := range chosen {
		p.chosen = append(p.chosen, uint32(set))
	}
	m := uint32(p.NumSets())
	inv := invert(&p.Lists)
	rarest := make([]graph.Node, m) // of a set's elements the one in fewest sets
	mark := make([]uint64, m)       // a bit for each element, modulo 64
	work := uint64(0)
	for i := range m {
		fewest := uint64(1) << 63
		for _, e := range p.Set(uint64(i)) {
			mark[i] |= 1 << (e % 64)
			if n := inv.off[e+1] - inv.off[e]; n < fewest {
				rarest[i], fewest = e, n
			}
		}
		if fewest < 1<<63 {
			work += fewest
		}
	}
	if work > dominationWork {
		return
	}
	cost := func(i uint32) float64 {
		if p.cost == nil {
			return 1
		}
		return p.cost[i]
	}
	by := make([]uint32, m) // the set that makes it needless; itself if none does
	spent := 0
	for i := range m {
		by[i] = i
		list := p.Set(uint64(i))
		if len(list) == 0 {
			continue
		}
		for _, k := range inv.sets[inv.off[rarest[i]]:inv.off[rarest[i]+1]] {
			if spent++; spent >= stopWork {
				if spent = 0; stop() {
					return
				}
			}
			other := p.Set(uint64(k))
			if k == i || mark[i]&^mark[k] != 0 || len(other) < len(list) || cost(k) > cost(i) {
				continue
			}
			if len(other) == len(list) && cost(k) == cost(i) && k > i {
				continue // equal sets: the first stays
			}
			spent += len(other)
			if subset(list, other) {
				by[i] = k
				break
			}
		}
	}
	kept := make([]uint32, m)
	left := &part{}
	for i := range m {
		if by[i] == i && len(p.Set(uint64(i))) > 0 {
			kept[i] = uint32(len(left.ids))
			left.ids = append(left.ids, p.ids[i])
			left.Append(p.Set(uint64(i)))
			if p.cost != nil {
				left.cost = append(left.cost, p.cost[i])
			}
		}
	}
	left.N = p.N
	taken := make([]bool, m)
	for _, i := range p.chosen {
		for by[i] != i {
			i = by[i]
		}
		if !taken[i] {
			taken[i] = true
			left.chosen = append(left.chosen, kept[i])
		}
	}
	*p = *left
}

// subset reports whether all of a is in b; both ascend.
func subset(a, b []graph.Node) bool {
	for _, e := range a {
		for len(b) > 0 && b[0] < e {
			b = b[1:]
		}
		if len(b) == 0 || b[0] != e {
			return false
		}
	}
	return true
}

// search is the state of the local search. score is what moving a set would do to the total
// weight of uncovered elements: the gain of a set that is out, minus the loss of one that is in.
type search struct {
	*part
	rnd  *rand.Rand
	inv  inverted
	stop func() bool
	work int // since stop was asked for it

	in      []uint32 // the cover
	at      []int32  // by set: its place in in, −1 if it is out
	score   []int64  // by set
	moved   []int64  // by set: step of its last move
	weight  []int64  // by element
	times   []uint32 // by element: sets of the cover that hold it
	touched []int64  // by element: last step that moved a set that holds it
	open    []uint32 // uncovered elements
	place   []int32  // by element: its place in open, −1 if it is covered
	total   float64  // cost of the cover

	now   int64
	tabu  uint32 // the set that came in last
	best  []uint32
	bound float64 // cost of best
}

func newSearch(p *part, rnd *rand.Rand) *search {
	m := int(p.NumSets())
	s := &search{part: p, rnd: rnd, tabu: noSet, inv: invert(&p.Lists)}
	s.at, s.score, s.moved = make([]int32, m), make([]int64, m), make([]int64, m)
	for i := range s.at {
		s.at[i], s.moved[i] = -1, -1
	}
	s.weight, s.times, s.touched, s.place = make([]int64, p.N), make([]uint32, p.N), make([]int64, p.N), make([]int32, p.N)
	for e := range s.place {
		s.place[e], s.weight[e] = -1, 1
		if s.inv.off[e] < s.inv.off[e+1] {
			s.opened(uint32(e))
		}
	}
	for i := range s.score {
		s.score[i] = int64(len(s.set(uint32(i))))
	}
	for _, set := range p.chosen {
		s.add(set)
	}
	return s
}

func (s *search) set(i uint32) []graph.Node { return s.Set(uint64(i)) }

func (s *search) holders(e graph.Node) []uint32 { return s.inv.sets[s.inv.off[e]:s.inv.off[e+1]] }

func (s *search) costOf(i uint32) float64 {
	if s.cost == nil {
		return 1
	}
	return s.cost[i]
}

// opened and closed keep the list of uncovered elements.
func (s *search) opened(e uint32) {
	s.place[e] = int32(len(s.open))
	s.open = append(s.open, e)
}

func (s *search) closed(e uint32) {
	p, last := s.place[e], s.open[len(s.open)-1]
	s.open[p], s.place[last] = last, p
	s.open, s.place[e] = s.open[:len(s.open)-1], -1
}

func (s *search) add(i uint32) {
	s.at[i] = int32(len(s.in))
	s.in = append(s.in, i)
	s.total += s.costOf(i)
	s.score[i] = -s.score[i]
	s.moved[i] = s.now
	for _, e := range s.set(i) {
		s.touched[e] = s.now
		s.times[e]++
		switch s.times[e] {
		case 1:
			s.closed(uint32(e))
			s.work += len(s.holders(e))
			for _, k := range s.holders(e) {
				if k != i {
					s.score[k] -= s.weight[e]
				}
			}
		case 2:
			s.score[s.other(e, i)] += s.weight[e] // it is no longer the only one
		}
	}
}

func (s *search) remove(i uint32) {
	p, last := s.at[i], s.in[len(s.in)-1]
	s.in[p], s.at[last] = last, p
	s.in, s.at[i] = s.in[:len(s.in)-1], -1
	s.total -= s.costOf(i)
	s.score[i] = -s.score[i]
	s.moved[i] = s.now
	for _, e := range s.set(i) {
		s.touched[e] = s.now
		s.times[e]--
		switch s.times[e] {
		case 0:
			s.opened(uint32(e))
			s.work += len(s.holders(e))
			for _, k := range s.holders(e) {
				if k != i {
					s.score[k] += s.weight[e]
				}
			}
		case 1:
			s.score[s.other(e, i)] -= s.weight[e]
		}
	}
}

// other returns the set of the cover that holds e and is not i.
func (s *search) other(e graph.Node, i uint32) uint32 {
	for _, k := range s.holders(e) {
		if k != i && s.at[k] >= 0 {
			return k
		}
	}
	panic("cover: an element is covered by a set that does not hold it")
}

// dropRedundant takes out the sets that nothing depends on, those chosen last first.
func (s *search) dropRedundant(chosen []uint32) {
	for _, i := range slices.Backward(chosen) {
		if s.score[i] == 0 {
			s.remove(i)
		}
	}
}

// keep makes the cover the best one.
func (s *search) keep() {
	s.best = append(s.best[:0], s.in...)
	s.bound = s.total
}

// better reports whether set a is to be moved rather than b: more score by cost, then longer
// unmoved, then the lower number.
func (s *search) better(a, b uint32) bool {
	x, y := float64(s.score[a])*s.costOf(b), float64(s.score[b])*s.costOf(a)
	switch {
	case x != y:
		return x > y
	case s.moved[a] != s.moved[b]:
		return s.moved[a] < s.moved[b]
	}
	return a < b
}

// Covers above sampleAbove sets are sampled for the set that goes out.
const (
	sampleAbove = 512
	sampleSize  = 64
)

// leaving picks the set that goes out; noSet if there is none.
func (s *search) leaving() uint32 {
	best := uint32(noSet)
	consider := func(i uint32) {
		if i != s.tabu && (s.cost == nil || s.cost[i] > 0) && (best == noSet || s.better(i, best)) {
			best = i
		}
	}
	if len(s.in) <= sampleAbove {
		for _, i := range s.in {
			consider(i)
		}
		return best
	}
	for range sampleSize {
		consider(s.in[s.rnd.IntN(len(s.in))])
	}
	return best
}

// mayReturn reports whether a set that shares an element with i moved after i went out.
func (s *search) mayReturn(i uint32) bool {
	if s.moved[i] < 0 {
		return true
	}
	for _, e := range s.set(i) {
		if s.touched[e] > s.moved[i] {
			return true
		}
	}
	return false
}

// step does one exchange. It returns false when nothing can be moved, or stop reported true.
func (s *search) step() bool {
	s.now++
	for len(s.open) == 0 {
		if s.total < s.bound-1e-9*s.bound {
			s.keep()
		}
		i := s.leaving()
		if i == noSet {
			return false
		}
		s.remove(i)
	}
	if i := s.leaving(); i != noSet {
		s.remove(i)
	}
	// In comes one set where all cost the same, else as many as the bound leaves room for.
	for len(s.open) > 0 {
		s.now++
		e := graph.Node(s.open[s.rnd.IntN(len(s.open))])
		best, any := uint32(noSet), uint32(noSet)
		for _, k := range s.holders(e) {
			if s.cost != nil && s.total+s.cost[k] >= s.bound {
				continue
			}
			if any == noSet || s.better(k, any) {
				any = k
			}
			if (best == noSet || s.better(k, best)) && s.mayReturn(k) {
				best = k
			}
		}
		if best == noSet {
			best = any // all that hold e were taken out and nothing near them moved
		}
		if best != noSet {
			s.add(best)
			s.tabu = best
		}
		for _, e := range s.open {
			s.weight[e]++
			s.work += len(s.holders(graph.Node(e)))
			for _, k := range s.holders(graph.Node(e)) {
				s.score[k]++
			}
		}
		if s.work >= stopWork {
			if s.work = 0; s.stop() {
				return false
			}
		}
		if best == noSet || s.cost == nil {
			break
		}
	}
	return true
}

// result orders the best cover by Greedy on its sets alone.
func (s *search) result(r *Result) (*Result, error) {
	slices.Sort(s.best)
	part := &Lists{}
	var o Options
	for _, i := range s.best {
		part.Append(s.set(i))
		if s.cost != nil {
			o.Weights = append(o.Weights, s.cost[i])
		}
	}
	part.N = s.N
	ordered, err := Greedy(context.Background(), part, o)
	if err != nil {
		return nil, err
	}
	better := *r
	better.Gains, better.Taken, better.Weight = ordered.Gains, ordered.Taken, ordered.Weight
	better.Covered, better.Met = ordered.Covered, ordered.Met
	better.Sets = make([]uint64, len(ordered.Sets))
	for i, set := range ordered.Sets {
		better.Sets[i] = s.ids[s.best[set]]
	}
	return &better, nil
}
