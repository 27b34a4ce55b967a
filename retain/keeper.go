package retain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"forage/graph"
	"forage/internal/heap"
)

// A KeeperConfig says how a Keeper decides. Zero fields mean the defaults.
type KeeperConfig struct {
	Pages    int     // pages that are kept at most, at least 1
	Counters int     // pages whose links are counted; 0 means 8 times Pages
	Rounds   int     // rounds in which any lead suffices; 0 means 30
	Lead     float64 // votes by which a page must lead a kept one after these; 0 means 1
	Decay    float64 // what is left of a vote after a round, in (0, 1]; 0 means 0.9
	Seed     uint64  // of the priorities that break ties
}

// A Keeper decides, while a crawl runs, which pages' links and validators a bounded store keeps:
// the buffer of [ABCHMT08, §1] for pages that come one at a time. Votes are the links from
// everything fetched, not only from what is kept: one vote a source and round, so that a host
// cannot vote for itself a thousand times; old votes decay.
//
// Votes are counted by Space-Saving [MAE05, §3] in a bounded number of counters: when all are
// taken, the page with the fewest votes makes room, and its votes count as the newcomer's error.
// The decision uses what is certain, votes less error, so that a flood of pages with one link
// each does not displace what is kept.
//
// Votes count from the end of their round on. While a round is under way some pages have had theirs
// and others of the same worth have not: by votes so far they take turns for no reason. On 26 site
// histories, recrawled weekly into a store of a tenth of their pages, 335% of the links held were lost a
// week by that, against 5.0% (26 other sites: 31% and 4.4%; 'forage lab run stability-keep').
//
// It starts free: as in the paper any lead suffices, until the set kept at the end of a round has
// been there before, or Rounds have passed. Then a challenger must lead by Lead, so that pages
// of equal worth do not take turns. Much more inertia would lock in the random start.
//
// It is the Buffer of the rule KeepVotes.
// Memory: about 70 bytes a counter, 40 a kept page, 16 bytes a vote of the round.
type Keeper struct {
	c        KeeperConfig
	counters heap.Heap[counter] // fewest votes on top
	at       map[graph.Node]int
	voted    map[vote]struct{}   // of this round
	kept     heap.Heap[keptPage] // by score when last looked at: never more than the score is now
	keptAt   map[graph.Node]int
	hash     uint64
	states   map[uint64]bool // hashes of the set kept at the ends of rounds, while free
	stats    KeeperStats
	swapped  int // in this round
}

type counter struct {
	page        graph.Node
	votes, over float64 // over: of these, what may be another page's
	settled     float64 // votes less over when the last round ended
}

type keptPage struct {
	page  graph.Node
	score float64
	since uint32 // round
}

type vote struct {
	source uint64
	to     graph.Node
}

// NewKeeper returns a keeper that keeps nothing yet.
func NewKeeper(c KeeperConfig) (*Keeper, error) {
	if c.Counters == 0 {
		c.Counters = 8 * c.Pages
	}
	if c.Rounds == 0 {
		c.Rounds = 30
	}
	if c.Lead == 0 {
		c.Lead = 1
	}
	if c.Decay == 0 {
		c.Decay = 0.9
	}
	switch {
	case c.Pages < 1:
		return nil, fmt.Errorf("retain: %d pages to keep; want at least 1", c.Pages)
	case c.Counters < c.Pages:
		return nil, fmt.Errorf("retain: %d counters for %d pages; want at least as many", c.Counters, c.Pages)
	case c.Rounds < 0 || !(c.Lead > 0) || !(c.Decay > 0 && c.Decay <= 1):
		return nil, fmt.Errorf("retain: %d free rounds, lead %v, decay %v; want at least 0, above 0, and in (0, 1]", c.Rounds, c.Lead, c.Decay)
	}
	k := &Keeper{
		c: c, at: map[graph.Node]int{}, voted: map[vote]struct{}{}, keptAt: map[graph.Node]int{},
		states: map[uint64]bool{},
	}
	k.counters = heap.Heap[counter]{Before: fewerVotes, Moved: func(x counter, place int) { k.at[x.page] = place }}
	k.kept = heap.Heap[keptPage]{Before: k.goesFirst, Moved: func(x keptPage, place int) { k.keptAt[x.page] = place }}
	return k, nil
}

// Vote counts a link from a source (a host, or a page where all pages are of one host) to a
// page. The second vote of a source for a page in a round counts nothing.
func (k *Keeper) Vote(source uint64, to graph.Node) {
	x := vote{source, to}
	if _, again := k.voted[x]; again {
		return
	}
	// One round's votes are remembered as far as memory is bounded: 64 a counter.
	if len(k.voted) < 64*k.c.Counters {
		k.voted[x] = struct{}{}
	}
	i, ok := k.at[to]
	switch {
	case ok:
		k.counters.Items[i].votes++
		k.counters.Lower(i)
	case k.counters.Len() < k.c.Counters:
		k.counters.Push(counter{page: to, votes: 1})
	default:
		old := k.counters.Items[0]
		delete(k.at, old.page)
		k.counters.Replace(counter{page: to, votes: old.votes + 1, over: old.votes})
		if j, held := k.keptAt[old.page]; held {
			k.kept.Items[j].score = 0
			k.kept.Raise(j)
		}
	}
}

// Votes returns the votes that v has for certain and that count: those of rounds that have ended, and
// in the first round those so far.
func (k *Keeper) Votes(v graph.Node) float64 {
	i, ok := k.at[v]
	if !ok {
		return 0
	}
	c := &k.counters.Items[i]
	if k.stats.Rounds == 0 {
		return c.votes - c.over
	}
	return c.settled
}

// Kept reports whether v is kept.
func (k *Keeper) Kept(v graph.Node) bool { _, ok := k.keptAt[v]; return ok }

// Fetched offers v, which was just fetched, and returns the page to give up, if any: v itself
// where it does not earn a place.
func (k *Keeper) Fetched(v graph.Node) (evict graph.Node, ok bool) {
	if k.Kept(v) {
		return 0, false
	}
	if k.kept.Len() < k.c.Pages {
		k.keep(v)
		return 0, false
	}
	// Scores of kept pages only rise, so the weakest is found when the top has its true one.
	for {
		top := k.kept.Items[0]
		if now := k.Votes(top.page); now > top.score {
			top.score = now
			k.kept.Replace(top)
			continue
		}
		break
	}
	weakest := k.kept.Items[0]
	mine := k.Votes(v)
	wins := mine >= weakest.score+k.c.Lead
	if !k.stats.Annealed {
		wins = mine > weakest.score || mine == weakest.score && k.priority(v) < k.priority(weakest.page)
	}
	k.stats.Evicted++
	if !wins {
		return v, true
	}
	k.drop(0)
	k.keep(v)
	k.swapped++
	return weakest.page, true
}

// Forget gives up v, which is gone from the web, without counting it as evicted.
func (k *Keeper) Forget(v graph.Node) {
	if i, ok := k.keptAt[v]; ok {
		k.drop(i)
	}
}

// EndRound ends a round: votes decay, sources may vote again. It asks for no links.
func (k *Keeper) EndRound(Links) (KeeperStats, error) {
	k.stats.Rounds++
	for i := range k.counters.Items { // decay changes no order: Init is not needed
		c := &k.counters.Items[i]
		c.votes *= k.c.Decay
		c.over *= k.c.Decay
		c.settled = c.votes - c.over
	}
	for i := range k.kept.Items {
		k.kept.Items[i].score *= k.c.Decay
	}
	clear(k.voted)
	if !k.stats.Annealed && (k.states[k.hash] || k.stats.Rounds >= k.c.Rounds) {
		k.stats.Annealed = true
		clear(k.states)
	}
	if !k.stats.Annealed {
		k.states[k.hash] = true
	}
	k.stats.Swapped, k.swapped = k.swapped, 0
	return k.Stats(), nil
}

// Stats returns what happened so far.
func (k *Keeper) Stats() KeeperStats {
	s := k.stats
	s.Kept = k.kept.Len()
	for _, p := range k.kept.Items {
		if s.inCore(p.since) {
			s.Core++
		}
	}
	return s
}

// Pages appends the kept pages to to, ascending.
func (k *Keeper) Pages(to []graph.Node) []graph.Node {
	from := len(to)
	for _, p := range k.kept.Items {
		to = append(to, p.page)
	}
	slices.Sort(to[from:])
	return to
}

func (k *Keeper) priority(v graph.Node) uint64 { return mix(k.c.Seed ^ mix(uint64(v))) }

func (k *Keeper) keep(v graph.Node) {
	k.kept.Push(keptPage{v, k.Votes(v), uint32(k.stats.Rounds)})
	k.hash ^= mix(uint64(v))
}

func (k *Keeper) drop(i int) {
	v := k.kept.Remove(i).page
	k.hash ^= mix(uint64(v))
	delete(k.keptAt, v)
}

// fewerVotes orders the counters.
func fewerVotes(a, b counter) bool { return a.votes < b.votes || a.votes == b.votes && a.page < b.page }

// goesFirst orders the kept pages: fewest votes first, then the later priority.
func (k *Keeper) goesFirst(a, b keptPage) bool {
	return a.score < b.score || a.score == b.score && k.priority(a.page) > k.priority(b.page)
}

// keeperVersion begins what AppendBinary writes. Of a state of unsettledVersion, whose counters do not say
// what counts, all votes do.
const (
	keeperVersion    = 3
	unsettledVersion = 1
)

var errKeeper = errors.New("retain: this is not the state of a keeper")

// AppendBinary appends the state to b, as Restore takes it, for a crawl that goes on in
// another process. The votes of an unfinished round may then be given again. All numbers are
// little-endian: version, configuration, rounds, evicted, swapped (last round, this round), annealed; then, each list after its
// length, states, counters and kept pages.
func (k *Keeper) AppendBinary(b []byte) ([]byte, error) {
	u := func(x uint64) { b = binary.LittleEndian.AppendUint64(b, x) }
	f := func(x float64) { u(math.Float64bits(x)) }
	b = append(b, keeperVersion)
	u(uint64(k.c.Pages))
	u(uint64(k.c.Counters))
	u(uint64(k.c.Rounds))
	f(k.c.Lead)
	f(k.c.Decay)
	u(k.c.Seed)
	u(uint64(k.stats.Rounds))
	u(uint64(k.stats.Evicted))
	u(uint64(k.stats.Swapped))
	u(uint64(k.swapped))
	annealed := uint64(0)
	if k.stats.Annealed {
		annealed = 1
	}
	u(annealed)
	states := make([]uint64, 0, len(k.states))
	for s := range k.states {
		states = append(states, s)
	}
	slices.Sort(states)
	u(uint64(len(states)))
	for _, s := range states {
		u(s)
	}
	u(uint64(k.counters.Len()))
	for _, c := range k.counters.Items {
		u(uint64(c.page))
		f(c.votes)
		f(c.over)
		f(c.settled)
	}
	u(uint64(k.kept.Len()))
	for _, p := range k.kept.Items {
		u(uint64(p.page)<<32 | uint64(p.since))
	}
	return b, nil
}

// Limit returns how many pages are kept at most.
func (k *Keeper) Limit() int { return k.c.Pages }

// Rule returns KeepVotes.
func (k *Keeper) Rule() KeepRule { return KeepVotes }

func restoreKeeper(b []byte) (*Keeper, error) {
	if len(b) < 1 || b[0] != keeperVersion && b[0] != unsettledVersion || len(b)%8 != 1 {
		return nil, errKeeper
	}
	settled := b[0] == keeperVersion
	b = b[1:]
	short := false
	u := func() uint64 {
		if len(b) < 8 {
			short = true
			return 0
		}
		x := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return x
	}
	f := func() float64 { return math.Float64frombits(u()) }
	count := func(size int) int {
		n := u()
		if n > uint64(len(b)/size) {
			short = true
			return 0
		}
		return int(n)
	}
	c := KeeperConfig{Pages: int(u()), Counters: int(u()), Rounds: int(u()), Lead: f(), Decay: f(), Seed: u()}
	if c.Counters < 1 || c.Lead == 0 || c.Decay == 0 || math.IsNaN(c.Lead) {
		return nil, errKeeper
	}
	free := c.Rounds == 0 // never written: NewKeeper would take it for the default
	k, err := NewKeeper(c)
	if err != nil || free {
		return nil, errKeeper
	}
	k.stats = KeeperStats{Rounds: int(u()), Evicted: int(u()), Swapped: int(u())}
	k.swapped = int(u())
	k.stats.Annealed = u() == 1
	for range count(8) {
		k.states[u()] = true
	}
	size := 24
	if settled {
		size = 32
	}
	for i := range count(size) {
		x := counter{page: graph.Node(u()), votes: f(), over: f()}
		if x.settled = x.votes - x.over; settled {
			x.settled = f()
		}
		if _, twice := k.at[x.page]; twice || !(x.over >= 0 && x.votes >= x.over) || math.IsInf(x.votes, 0) || !(x.settled >= 0 && x.settled <= x.votes-x.over) {
			return nil, errKeeper
		}
		k.counters.Items = append(k.counters.Items, x)
		k.at[x.page] = i
		if i > 0 && fewerVotes(x, k.counters.Items[(i-1)/2]) {
			return nil, errKeeper
		}
	}
	for range count(8) {
		x := u()
		v := graph.Node(x >> 32)
		if k.Kept(v) {
			return nil, errKeeper
		}
		k.keep(v)
		k.kept.Items[k.keptAt[v]].since = uint32(x)
	}
	if short || len(b) != 0 || k.counters.Len() > c.Counters || k.kept.Len() > c.Pages || k.stats.Rounds < 0 {
		return nil, errKeeper
	}
	return k, nil
}
