package retain

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"forage/graph"
)

// A Stepper moves a live store by the dynamics of [ABCHMT08, §1], by the very code of Dynamics. A
// step needs the links of all pages of the buffer, S_{t-1}, and says which pages are stored next,
// S_t = STORE(S_{t-1}, C_t); those that are not in the buffer yet come in as they are fetched, each
// in the place of one that S_t does without. In a crawl that fetches every page each round and whose
// links stand still, the set kept after round t is S_t.
//
// S_0 is the first pages that were fetched, as many as fit. Ties go by a priority of each page, a hash
// of its number. A step is made at the end of a round when as many pages have been fetched since the
// last one as are kept: a visit of a few pages explores too little of the buffer to go by, and reading
// the links of all that is kept would cost more than the visit.
//
// Memory: about 40 bytes a kept page; while a step is made, about 30 bytes a page that is kept or
// linked to by one, and 8 bytes a link. Time of a step: as that of Dynamics.Step, and a sort of all
// links.
type Stepper struct {
	rule    KeepRule
	limit   int
	kept    map[graph.Node]uint32   // the round since which it is kept
	wanted  map[graph.Node]struct{} // S_t; nil before the first step
	surplus []graph.Node            // all kept pages that are not wanted, and some that are kept no more; the last is given up first
	offered int                     // pages fetched since the last step
	stats   KeeperStats
	swapped int // in this round
}

// NewStepper returns a buffer by the rule KeepInDegree or KeepPageRank that keeps nothing yet.
func NewStepper(rule KeepRule, pages int) (*Stepper, error) {
	switch {
	case rule != KeepInDegree && rule != KeepPageRank:
		return nil, fmt.Errorf("retain: a buffer moves in steps by the rules %s and %s, not by %q", KeepInDegree, KeepPageRank, string(rule))
	case pages < 1:
		return nil, fmt.Errorf("retain: %d pages to keep; want at least 1", pages)
	}
	return &Stepper{rule: rule, limit: pages, kept: map[graph.Node]uint32{}}, nil
}

func (s *Stepper) Vote(uint64, graph.Node) {} // only links of kept pages count, as they are when a step is made

func (s *Stepper) Kept(v graph.Node) bool { _, ok := s.kept[v]; return ok }

func (s *Stepper) Fetched(v graph.Node) (evict graph.Node, ok bool) {
	s.offered++
	if s.Kept(v) {
		return 0, false
	}
	_, earns := s.wanted[v]
	if len(s.kept) < s.limit {
		if s.kept[v] = uint32(s.stats.Rounds); !earns {
			s.surplus = append(s.surplus, v)
		}
		return 0, false
	}
	s.stats.Evicted++
	if !earns {
		return v, true
	}
	// At most limit pages are wanted and v, which is one of them, is not kept: so one that is kept is
	// not wanted, and stands in surplus.
	for {
		last := len(s.surplus) - 1
		evict, s.surplus = s.surplus[last], s.surplus[:last]
		if s.Kept(evict) {
			delete(s.kept, evict)
			s.kept[v] = uint32(s.stats.Rounds)
			s.swapped++
			return evict, true
		}
	}
}

func (s *Stepper) Forget(v graph.Node) { delete(s.kept, v) }

func (s *Stepper) EndRound(links Links) (KeeperStats, error) {
	s.stats.Rounds++
	s.stats.Swapped, s.swapped = s.swapped, 0
	var err error
	if s.offered >= len(s.kept) && len(s.kept) == s.limit {
		err = s.step(links)
	}
	return s.Stats(), err
}

// step works out which pages are stored next. Where links fails nothing has changed.
func (s *Stepper) step(links Links) error {
	pages := s.Pages(nil)
	var to []graph.Node
	ends := make([]int, len(pages))
	for i, v := range pages {
		var err error
		if to, err = links(v, to); err != nil {
			return err
		}
		ends[i] = len(to)
	}
	// The nodes of the step are the pages that are kept or linked to, ascending.
	nodes := append(slices.Clone(pages), to...)
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	place := func(v graph.Node) graph.Node {
		i, _ := slices.BinarySearch(nodes, v)
		return graph.Node(i)
	}
	lists := make([][]graph.Node, len(nodes))
	start := make([]graph.Node, len(pages))
	for i := range to {
		to[i] = place(to[i])
	}
	from := 0
	for i, v := range pages {
		start[i] = place(v)
		lists[start[i]] = to[from:ends[i]]
		from = ends[i]
	}
	c := Config{Buffer: s.limit, Ties: ID}
	if s.rule == KeepPageRank {
		c.Rule = PageRank
	}
	d, err := New(graph.FromLists(lists), c, start, nil)
	if err != nil {
		return err
	}
	for i, v := range nodes {
		d.priority[i] = priority(v)
	}
	d.Step()
	s.want(d.Buffer(nil), nodes)
	s.offered = 0
	return nil
}

// want takes over what a step said; next are places in nodes.
func (s *Stepper) want(next, nodes []graph.Node) {
	s.wanted = make(map[graph.Node]struct{}, len(next))
	for _, i := range next {
		s.wanted[nodes[i]] = struct{}{}
	}
	s.listSurplus()
}

func (s *Stepper) listSurplus() {
	s.surplus = s.surplus[:0]
	for v := range s.kept {
		if _, ok := s.wanted[v]; !ok {
			s.surplus = append(s.surplus, v)
		}
	}
	slices.SortFunc(s.surplus, func(a, b graph.Node) int {
		return cmp.Or(cmp.Compare(priority(a), priority(b)), cmp.Compare(a, b))
	})
}

// priority is that of a page in ties: lower wins.
func priority(v graph.Node) uint32 { return uint32(mix(uint64(v)) >> 32) }

func (s *Stepper) Stats() KeeperStats {
	x := s.stats
	x.Kept = len(s.kept)
	for _, since := range s.kept {
		if x.inCore(since) {
			x.Core++
		}
	}
	return x
}

func (s *Stepper) Pages(to []graph.Node) []graph.Node {
	from := len(to)
	for v := range s.kept {
		to = append(to, v)
	}
	slices.Sort(to[from:])
	return to
}

func (s *Stepper) Limit() int     { return s.limit }
func (s *Stepper) Rule() KeepRule { return s.rule }

// stepperVersion begins what AppendBinary writes; keeperVersion is another.
const stepperVersion = 2

var errStepper = errors.New("retain: this is not the state of a buffer that moves in steps")

// AppendBinary writes, after the version, little-endian numbers of 8 bytes: 1 for the rule pagerank and 0
// for indegree, limit, rounds, evicted, swapped (last round, this round), offered, 1 where a step has
// been made; then, each list after its length and ascending by page, kept pages (page<<32 | round)
// and wanted ones.
func (s *Stepper) AppendBinary(b []byte) ([]byte, error) {
	u := func(x int) { b = binary.LittleEndian.AppendUint64(b, uint64(x)) }
	flag := func(x bool) {
		if x {
			u(1)
		} else {
			u(0)
		}
	}
	b = append(b, stepperVersion)
	flag(s.rule == KeepPageRank)
	u(s.limit)
	u(s.stats.Rounds)
	u(s.stats.Evicted)
	u(s.stats.Swapped)
	u(s.swapped)
	u(s.offered)
	flag(s.wanted != nil)
	u(len(s.kept))
	for _, v := range s.Pages(nil) {
		b = binary.LittleEndian.AppendUint64(b, uint64(v)<<32|uint64(s.kept[v]))
	}
	u(len(s.wanted))
	wanted := make([]graph.Node, 0, len(s.wanted))
	for v := range s.wanted {
		wanted = append(wanted, v)
	}
	slices.Sort(wanted)
	for _, v := range wanted {
		u(int(v))
	}
	return b, nil
}

func restoreStepper(b []byte) (*Stepper, error) {
	if len(b) == 0 || b[0] != stepperVersion || len(b)%8 != 1 {
		return nil, errStepper
	}
	b = b[1:]
	wrong := false
	u := func() uint64 {
		if len(b) < 8 {
			wrong = true
			return 0
		}
		x := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return x
	}
	n := func() int { // a count; no store has 2^48 of anything
		x := u()
		wrong = wrong || x>>48 != 0
		return int(x)
	}
	rule := KeepInDegree
	switch u() {
	case 0:
	case 1:
		rule = KeepPageRank
	default:
		wrong = true
	}
	s, err := NewStepper(rule, n())
	if err != nil {
		return nil, errStepper
	}
	s.stats = KeeperStats{Rounds: n(), Evicted: n(), Swapped: n()}
	s.swapped, s.offered = n(), n()
	stepped := u()
	wrong = wrong || stepped > 1
	last := -1
	for i := n(); i > 0 && !wrong; i-- {
		x := u()
		v := graph.Node(x >> 32)
		wrong = wrong || int(v) <= last || uint64(uint32(x)) > uint64(s.stats.Rounds)
		s.kept[v], last = uint32(x), int(v)
	}
	if stepped == 1 {
		s.wanted = map[graph.Node]struct{}{}
	}
	last = -1
	for i := n(); i > 0 && !wrong; i-- {
		x := u()
		wrong = wrong || x>>32 != 0 || int(x) <= last || stepped == 0
		if !wrong {
			s.wanted[graph.Node(x)], last = struct{}{}, int(x)
		}
	}
	if wrong || len(b) != 0 || len(s.kept) > s.limit || len(s.wanted) > s.limit {
		return nil, errStepper
	}
	s.listSurplus()
	return s, nil
}
