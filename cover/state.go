package cover

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"forage/graph"
)

// state is what the engines in memory work on. Lists are compacted in place: the elements of
// set i that may still need covering are elem[off[i] : off[i]+cnt[i]], ascending; elements
// that need nothing more are dropped whenever the list is looked at, so cnt[i] is an upper
// bound of the set's gain and exact right after a look.
//
// Memory: 4 bytes an element of a set (the lists themselves), 12 bytes a set, a bit an
// element; with a multicover ⌈log2(K+1)⌉ bits an element more.
type state struct {
	ctx   context.Context
	o     *Options
	m     int
	off   []uint64 // len m+1, only the first m are used
	cnt   []uint32 // 0: nothing left, or taken
	elem  []graph.Node
	done  []uint64  // a bit an element: it needs nothing more
	times *counters // multicover: how often each element is covered; nil for K = 1
	n     uint64

	patience uint64 // Greedy goes on when more has been read, see giveUp

	counted bool // Coverable is known before the run
	threads int
	target  uint64 // stop when so much of the demand is met
	budget  uint64 // stop when so many are taken
	res     *Result

	prefetches graph.Node // of no meaning; without it the compiler would leave out what prefetch reads
}

// newState loads f and prepares the problem.
func newState(ctx context.Context, f Family, a Algorithm, o *Options) (*state, error) {
	if err := o.checkFor(a, f); err != nil {
		return nil, err
	}
	l, ok := f.(*Lists)
	if !ok {
		var err error
		if l, err = Load(f, o.MaxDegree); err != nil {
			return nil, err
		}
	}
	s := &state{ctx: ctx, o: o, m: int(l.NumSets()), off: l.Offset, elem: l.Elem, n: l.N, threads: o.threads()}
	if ok && !o.InPlace && a != NameGreedy {
		s.elem = slices.Clone(l.Elem) // greedy alone leaves the lists as they are
		s.off = slices.Clone(l.Offset)
	}
	s.res = &Result{Algorithm: a, Passes: 1}
	s.cnt = make([]uint32, s.m)
	for i := range s.cnt {
		d := s.off[i+1] - s.off[i]
		if o.MaxDegree > 0 {
			d = min(d, uint64(o.MaxDegree))
		}
		s.cnt[i] = uint32(d)
		s.res.Size += d
		s.res.Largest = max(s.res.Largest, d)
	}
	s.patience = math.MaxUint64
	s.done = make([]uint64, (s.n+63)/64)
	s.budget = math.MaxUint64
	if o.Budget > 0 {
		s.budget = uint64(o.Budget)
	}
	switch {
	case o.Multi > 1:
		s.dropRare()
		s.counted = true
	case o.Partial > 0 && o.Partial < 1:
		s.res.Coverable = s.countDistinct()
		s.counted = true
	}
	s.target = o.target(s.res.Coverable)
	return s, ctx.Err()
}

// share returns ⌈r·n⌉, forgiving the rounding of r.
func share(r float64, n uint64) uint64 {
	return min(n, uint64(math.Ceil(r*float64(n)-1e-9*r*float64(n))))
}

// list returns what is left of set i.
func (s *state) list(i uint32) []graph.Node { return s.elem[s.off[i] : s.off[i]+uint64(s.cnt[i])] }

// countDistinct returns how many elements the lists hold that are not done. It counts in the
// done bits and takes them back after.
func (s *state) countDistinct() uint64 {
	before := slices.Clone(s.done)
	for i := range s.cnt {
		for _, e := range s.list(uint32(i)) {
			s.done[e/64] |= 1 << (e % 64)
		}
	}
	count := uint64(0)
	for i, w := range s.done {
		count += uint64(bits.OnesCount64(w &^ before[i]))
	}
	copy(s.done, before)
	return count
}

// dropRare counts how many sets hold each element. Those in fewer than K sets cannot be
// covered K times and ask for nothing [ST15, Def. 2.5]: they are done from the start.
func (s *state) dropRare() {
	s.times = newCounters(s.n, s.o.Multi)
	for i := range s.cnt {
		for _, e := range s.list(uint32(i)) {
			s.times.add(uint64(e))
		}
	}
	s.res.Coverable = s.times.settle(s.done)
}

// look drops what is done from the list of set i and returns what is left of it.
func (s *state) look(i uint32) uint32 {
	list := s.list(i)
	s.res.Reads += uint64(len(list))
	c := uint32(filter(list, list, s.done))
	s.cnt[i] = c
	return c
}

// prefetched is how many sets are prefetched at a time: about as many cache misses as a
// processor core serves at once.
const prefetched = 16

// prefetch brings the lists of sets that will be looked at next into the cache: it reads some
// elements of each, of all at once, where one look after another would wait for each in turn.
func (s *state) prefetch(sets []uint32) {
	sum := graph.Node(0)
	for _, t := range sets {
		sum += graph.Node(s.cnt[t]) + graph.Node(s.off[t])
	}
	for _, t := range sets {
		if list := s.list(t); len(list) > 0 {
			last := uint(len(list) - 1)
			sum += list[0] + list[min(16, last)] + list[min(32, last)] + list[last]
		}
	}
	s.prefetches += sum
}

// filter copies the elements of list that are not done to to, which is as long and may be
// list or begin before it in the same memory, and returns how many there are.
func filter[E graph.Node | uint64](to, list []E, done []uint64) int {
	k := 0
	for _, e := range list {
		to[k] = e
		k += int(^done[e/64] >> (e % 64) & 1)
	}
	return k
}

// take chooses set i, whose list was just looked at. It reports whether the run is over.
func (s *state) take(i uint32) (over bool, err error) {
	list := s.list(i)
	gain := uint64(len(list))
	if s.times == nil {
		for _, e := range list {
			s.done[e/64] |= 1 << (e % 64)
		}
		s.res.Covered += gain
	} else {
		for _, e := range list {
			if s.times.add(uint64(e)) {
				s.done[e/64] |= 1 << (e % 64)
				s.res.Covered++
			}
		}
	}
	s.cnt[i] = 0
	return s.taken(uint64(i), gain)
}

// taken records a choice. It reports whether the run is over.
func (s *state) taken(set, gain uint64) (over bool, err error) {
	r := s.res
	r.Taken++
	r.Met += gain
	if s.o.Weights == nil {
		r.Weight++
	} else {
		r.Weight += s.o.Weights[set]
	}
	if s.o.Take != nil {
		err = s.o.Take(set, gain)
	} else {
		r.Sets = append(r.Sets, set)
		r.Gains = append(r.Gains, gain)
	}
	if r.Taken%4096 == 0 && err == nil {
		err = s.report(0)
	}
	return r.Met >= s.target || r.Taken >= s.budget, err
}

// report tells the progress and whether the caller has had enough.
func (s *state) report(threshold float64) error {
	if s.o.Progress != nil {
		s.o.Progress(Progress{Threshold: threshold, Taken: s.res.Taken, Covered: s.res.Covered, Reads: s.res.Reads})
	}
	return s.ctx.Err()
}

// finish fills in what is known only at the end.
func (s *state) finish() *Result {
	r := s.res
	if !s.counted {
		r.Coverable = r.Covered
		if r.Taken >= s.budget {
			r.Coverable += s.countDistinct()
		}
	}
	var warn []string
	r.Guarantee, warn = s.o.guarantee(r.Algorithm, r.Largest, uint64(s.m))
	r.Warnings = append(r.Warnings, warn...)
	return r
}

// key orders sets by gain, or gain by weight: greater is better. It is never 0 for a gain
// above 0, and 0 for none.
func (s *state) key(i, gain uint32) uint64 {
	if s.o.Weights == nil || gain == 0 {
		return uint64(gain)
	}
	return math.Float64bits(float64(gain) / s.o.Weights[i]) // +Inf for a weight of 0
}

// counters hold how often each element is covered, from 0 to K, in ⌈log2(K+1)⌉ bits each
// [ST15, §3.7].
type counters struct {
	k     uint64
	width uint64 // bits of a counter
	per   uint64 // counters in a word
	words []uint64
}

func newCounters(n uint64, k int) *counters {
	c := &counters{k: uint64(k), width: uint64(bits.Len64(uint64(k)))}
	c.per = 64 / c.width
	c.words = make([]uint64, n/c.per+1)
	return c
}

// add counts element e once more, up to K, and reports whether it has K now.
func (c *counters) add(e uint64) bool {
	word, shift := e/c.per, e%c.per*c.width
	v := c.words[word] >> shift & (1<<c.width - 1)
	if v < c.k {
		v++
		c.words[word] += 1 << shift
	}
	return v == c.k
}

// settle ends the counting of frequencies: elements below K are marked done, the others
// start from 0. It returns how many others there are.
func (c *counters) settle(done []uint64) (coverable uint64) {
	for word, w := range c.words {
		for j := range c.per {
			e := uint64(word)*c.per + j
			if e/64 >= uint64(len(done)) {
				break
			}
			if w>>(j*c.width)&(1<<c.width-1) == c.k {
				coverable++
			} else {
				done[e/64] |= 1 << (e % 64)
			}
		}
		c.words[word] = 0
	}
	return coverable
}

// parallel calls do for 0 … n−1 from the given number of goroutines and waits for them.
func parallel(threads, n int, do func(i int)) {
	if threads = min(threads, n); threads <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
