package revisit

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"forage/graph"
	"forage/internal/heap"
)

// Best is residual coverage, what a user gets who names no policy. Each column of new pages
// that a past cycle found is a pattern: documents that showed it are expected to show what
// the next cycle brings. A pattern has a weight, which fades with its age, and an urgency,
// which grows while no document that shows it is fetched and falls when one is; a document is
// worth the weight × urgency of its patterns over the time that it was watched. So the
// documents that one cycle fetches complete each other, as in a greedy cover, and what was
// not looked at for long becomes urgent again.
//
// What a document itself has shown is weighed against what its role has shown (the newest
// four of a template: what the latest post did, the next one will do), its template, and a
// prior learnt on other sites. The last page of a list that goes on over numbered pages is a
// role by itself, of the whole site: it shows the next page of the list, which no other page
// shows. Of documents of one template what is not known of each by itself counts less with
// every one fetched in the cycle, and less the more of them were gone of late: sites drop
// templates whole. A document that was gone twice is fetched again only if another one newly
// links to it. Every 20th fetch goes to the document fetched longest ago.
//
// After a full recrawl every document has been fetched, and the same estimates hold. What is
// known then of all documents alike also tells twins, which showed the same pages without one
// exception: one of them is fetched, the others are left for when little else is worth it. Time of a
// cycle O(documents log documents + patterns shown), memory about 135 bytes a document
// and 12 bytes for each pattern that a document shows.
type Best struct {
	cfg   tuning
	prior *Prior
	stop  float64
	cycle int

	docs     []doc
	entries  [][]entry // by document: the patterns that it shows
	segments map[graph.Node][]segment

	pattern []int32   // by page: the pattern that it is part of; -1
	live    []pattern // ascending by cycle
	base    int32     // number of live[0]
	watched []float64 // by cycle: Σ_{d≤cycle} fade^(cycle−d) over cycles that found pages; idle for others

	pools     []pool   // of last pages of lists, then by template: the template, its ranks
	newest    [][]rank // by template: its newest documents, newest first
	size      []int32  // by template: documents
	taken     []int32  // by template: documents fetched in this cycle
	fates     []fate   // of last pages of lists, then by template
	renewed   []int32  // templates with new members in this cycle
	isRenewed []bool
	lists     []list
	grown     []int32 // lists with new pages in this cycle

	seen    []seenNow // this cycle's fetches that were answered
	count   []int32   // scratch by live pattern, all 0
	touched []int32
	peers   []peer            // scratch of rank
	next    []graph.Node      // by document: the next of its peers; graph.None
	heap    heap.Heap[scored] // the first of each lot of peers
	oldest  []turn            // documents by last fetch; entries may be stale
	fetches int               // ever, for the audit
	audit   bool              // the last Next
	spent   int               // in this cycle
	done    []bool            // by document: fetched in this cycle
	outage  int               // fetches of this cycle that found the document gone
	faded   []float64         // fade^cycles
	hidden  []float64         // by cycles since a fetch: how much of what a document leads to no fetch has shown

	replaying bool            // see Replaying
	told      bool            // the last cycle was a full recrawl
	sign      []uint64        // by document: what it showed of all live patterns; 0: nothing, or not told
	shown     map[uint64]bool // signs of this cycle's fetches
}

var _ Replayer = (*Best)(nil)

// tuning holds the constants of Best; see bestTuning.
type tuning struct {
	fade     float64 // of weights and exposure, a cycle
	memory   int32   // cycles after which a pattern is dropped
	grow     float64 // urgency: u ← min(most, grow·u + 1)
	most     float64
	left     float64 // factor that a fetch leaves of the urgency of what it shows
	handed   float64 // credit that stays with a document whose role showed the pattern
	size     float64 // weight of a pattern page: n_d^−size
	idle     float64 // exposure of a cycle without new pages
	twin     float64 // factor for documents that showed just what one fetched in this cycle did
	audit    int     // every audit-th fetch goes to the document fetched longest ago
	roles    int     // ranks that inherit
	crowd    int32   // fetches of a template in a cycle from which on the rest is expected to show less
	fateFade float64 // of what became of documents fetched, a cycle
}

// bestTuning holds for all sites. Measured as the mean over both settings and budgets on the
// 26 development sites, in percentage points: a prior of three levels instead of classes
// −1.2; a clock that stands still while nothing is found −0.7; a factor for documents that
// changed before −0.3 to −0.5; no exposure in idle cycles −0.4; fade .95 instead of .9 −0.7;
// exposure by the cycle's size, n_d^0.1, −0.6.
// Without twin, setting A loses 2.2 points at k = 10 (2.4 of them one site's, whose pages all
// share their navigation) and 0.6 at k = 30; it wins 0.1 at k = 100. .001 to .01 are alike.
// One run is worth ±1.5 points: judge by the means of runs with perturbed constants.
var bestTuning = tuning{fade: .85, memory: 60, grow: .8, most: 8, left: .2, handed: .4, size: .9, idle: .1, twin: .01, audit: 20, roles: 4, crowd: 10, fateFade: .7}

// perturbed returns c with every number that is no count off by up to a tenth, as the seed
// says; 0: c. Fades are moved in what they take away.
func (c tuning) perturbed(seed uint64) tuning {
	if seed == 0 {
		return c
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for _, x := range []*float64{&c.most, &c.left, &c.handed, &c.size, &c.idle, &c.twin} {
		*x *= .9 + .2*r.Float64()
	}
	for _, x := range []*float64{&c.fade, &c.grow, &c.fateFade} {
		*x = 1 - (1-*x)*(.9+.2*r.Float64())
	}
	return c
}

type doc struct {
	profile Profile
	last    int32 // cycle of the last fetch that answered
	misses  uint8
	role    int8 // its rank now, lastPage, or −1 none
	heir    bool // it holds a role or held one
}

// entry is a pattern that a document shows.
type entry struct {
	p      int32
	share  float32 // of the pattern's pages
	credit float32
}

// A pattern is a column of a past cycle's H.
type pattern struct {
	cycle   int32
	pages   int32
	news    float64 // n_d, pages found in its cycle
	urgency float64
	value   float64 // faded weight × urgency
	pools   []share // by pool
}

// share is how much of a pattern the documents of a pool showed, one after another.
type share struct {
	pool  int32
	share float64
}

// add adds to the share of a pool. O(log pools).
func (p *pattern) add(pool int32, part float64) {
	at, ok := slices.BinarySearchFunc(p.pools, pool, func(in share, pool int32) int { return cmp.Compare(in.pool, pool) })
	if !ok {
		p.pools = slices.Insert(p.pools, at, share{pool: pool})
	}
	p.pools[at].share += part
}

// pool is what a template or role has shown.
type pool struct {
	sum   float64 // Σ value × share × holders, in this cycle
	shown float64 // exposure at cycle at
	at    int32
}

// fate counts what became of documents fetched, recent ones most.
type fate struct{ fetched, gone float64 }

// alive is the probability that the next one is there.
func (f fate) alive() float64 { return (f.fetched - f.gone + 1) / (f.fetched + 1) }

// segment: from cycle from on the document holds a role, −1 none.
type segment struct {
	from int32
	role int8
}

type rank struct {
	born int
	v    graph.Node
}

// A list goes on over numbered pages.
type list struct {
	pages   int32
	last    graph.Node // the page of the largest number
	number  int        // that number
	holder  graph.Node // who has the role
	isGrown bool
}

type seenNow struct {
	v     graph.Node
	since int32
}

type turn struct {
	v    graph.Node
	last int32
}

// NewBest returns residual coverage that stops a cycle when a fetch is expected to find less
// than the share stop of a cycle's new pages; 0: never.
func NewBest(stop float64) *Best { return newBest(bestTuning, stop) }

func newBest(cfg tuning, stop float64) *Best {
	b := &Best{cfg: cfg, prior: &prior, stop: stop, heap: byValue(), pools: make([]pool, 1), fates: make([]fate, 1), segments: make(map[graph.Node][]segment), watched: []float64{0}, shown: make(map[uint64]bool)}
	for i := range 128 {
		b.faded = append(b.faded, math.Pow(cfg.fade, float64(i)))
		b.hidden = append(b.hidden, 1-math.Pow(.8, float64(i)))
	}
	return b
}

// Learn takes in a document.
func (b *Best) Learn(v graph.Node, p Profile) {
	for int(v) >= len(b.docs) {
		b.docs = append(b.docs, doc{last: -1, role: -1})
		b.entries = append(b.entries, nil)
		b.pattern = append(b.pattern, -1)
		b.done = append(b.done, false)
		b.next = append(b.next, graph.None)
	}
	d := &b.docs[v]
	if d.last >= 0 {
		p.Born = d.profile.Born
		d.profile = p
		return
	}
	d.profile, d.last = p, int32(b.cycle)
	d.profile.Born = b.cycle
	b.oldest = append(b.oldest, turn{v, d.last})
	for int(p.Template) >= len(b.size) {
		b.size, b.taken, b.newest, b.isRenewed = append(b.size, 0), append(b.taken, 0), append(b.newest, nil), append(b.isRenewed, false)
		b.pools = append(b.pools, make([]pool, 1+maxRoles)...)
		b.fates = append(b.fates, fate{})
	}
	b.extend(v, &d.profile)
	T := p.Template
	b.size[T]++
	r := rank{b.cycle, v}
	at, _ := slices.BinarySearchFunc(b.newest[T], r, func(a, r rank) int {
		return cmp.Or(-cmp.Compare(a.born, r.born), -cmp.Compare(a.v, r.v))
	})
	if at < b.cfg.roles {
		newest := slices.Insert(b.newest[T], at, r)
		if i := b.cfg.roles; len(newest) > i && b.docs[newest[i].v].role < 0 {
			newest = slices.Delete(newest, i, i+1) // others hold roles that they have yet to lose
		}
		b.newest[T] = newest
	}
	if !b.isRenewed[T] {
		b.isRenewed[T] = true
		b.renewed = append(b.renewed, T)
	}
}

// maxRoles is how many ranks have pools. A document that is the last page of a list has this
// role and no rank.
const (
	maxRoles = 4
	lastPage = maxRoles
)

// Of pools, number 0 is that of last pages.
func poolOf(template int32) int32 { return 1 + (1+maxRoles)*template }

func roleIn(template int32, role int8) int32 {
	if role == lastPage {
		return 0
	}
	return poolOf(template) + 1 + int32(role)
}

// extend adds a page to its list.
func (b *Best) extend(v graph.Node, p *Profile) {
	if p.List == 0 {
		return
	}
	for int(p.List) >= len(b.lists) {
		b.lists = append(b.lists, list{last: graph.None, holder: graph.None})
	}
	l := &b.lists[p.List]
	l.pages++
	if l.last == graph.None || p.Number > l.number {
		l.last, l.number = v, p.Number
	}
	if !l.isGrown {
		l.isGrown = true
		b.grown = append(b.grown, p.List)
	}
}

// assign gives the roles of templates with new members to their newest documents, and those
// of lists with new pages to their last ones, from the next cycle on.
func (b *Best) assign() {
	for _, T := range b.renewed {
		b.isRenewed[T] = false
		for _, n := range b.newest[T] {
			b.cast(n.v)
		}
		if b.size[T] >= 3 {
			b.newest[T] = b.newest[T][:min(b.cfg.roles, len(b.newest[T]))]
		}
	}
	b.renewed = b.renewed[:0]
	for _, i := range b.grown {
		l := &b.lists[i]
		l.isGrown = false
		if l.holder != graph.None {
			b.cast(l.holder)
		}
		l.holder = l.last
		b.cast(l.holder)
	}
	b.grown = b.grown[:0]
}

// cast gives v the role that it should have.
func (b *Best) cast(v graph.Node) {
	d := &b.docs[v]
	role := int8(-1)
	if b.size[d.profile.Template] >= 3 {
		if at := slices.IndexFunc(b.newest[d.profile.Template], func(n rank) bool { return n.v == v }); at < b.cfg.roles {
			role = int8(at)
		}
	}
	if l := d.profile.List; l > 0 && b.lists[l].last == v && IsDense(b.lists[l].number, int(b.lists[l].pages)) {
		role = lastPage
	}
	if d.role != role {
		d.role, d.heir = role, true
		b.segments[v] = append(b.segments[v], segment{int32(b.cycle + 1), role})
	}
}

// held returns the role that v held in a cycle.
func (b *Best) held(v graph.Node, cycle int32) int8 {
	role := int8(-1)
	for _, s := range b.segments[v] {
		if s.from > cycle {
			break
		}
		role = s.role
	}
	return role
}

// Begin values all documents.
func (b *Best) Begin(Time, int) {
	if b.cycle == 0 {
		b.assign()
	}
	b.cycle++
	t := int32(b.cycle)
	b.seen, b.spent, b.outage = b.seen[:0], 0, 0

	// Patterns.
	drop := 0
	for drop < len(b.live) && t-b.live[drop].cycle > b.cfg.memory {
		drop++
	}
	b.live, b.count, b.base = b.live[drop:], b.count[drop:], b.base+int32(drop)
	for i := range b.live {
		p := &b.live[i]
		p.urgency = min(b.cfg.most, b.cfg.grow*p.urgency+1)
	}
	if drop > 0 {
		for i := range b.entries {
			b.forget(i)
		}
	}
	clear(b.done)
	clear(b.taken)
	for i := range b.fates {
		b.fates[i].fetched *= b.cfg.fateFade
		b.fates[i].gone *= b.cfg.fateFade
	}

	b.weigh()
	b.heap.Items = b.heap.Items[:0]
	if !b.replaying {
		b.compare()
		b.rank()
	}
}

// Replaying says whether cycles are over already, and need no ranking.
func (b *Best) Replaying(on bool) { b.replaying = on }

// compare gives documents that showed the same patterns the same sign. It needs a full
// recrawl: what partial cycles show depends on when each document was fetched.
func (b *Best) compare() {
	clear(b.sign)
	clear(b.shown)
	if !b.told {
		return
	}
	for len(b.sign) < len(b.docs) {
		b.sign = append(b.sign, 0)
	}
	for v := range b.docs {
		for _, e := range b.entries[v] {
			if e.p >= b.base {
				b.sign[v] += mixed(uint64(e.p))
			}
		}
	}
}

// mixed is a hash of x [the last step of splitmix64].
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// signOf returns the sign of v; 0: it has none.
func (b *Best) signOf(v graph.Node) uint64 {
	if int(v) >= len(b.sign) {
		return 0
	}
	return b.sign[v]
}

// weigh values all patterns.
func (b *Best) weigh() {
	for i := range b.pools {
		b.pools[i].sum = 0
	}
	for i := range b.live {
		p := &b.live[i]
		p.value = float64(p.pages) * math.Pow(p.news, -b.cfg.size) * p.urgency * b.fade(p.cycle)
		for _, in := range p.pools {
			b.pools[in.pool].sum += p.value * in.share
		}
	}
}

// A peer is a document among those of which the same is known.
type peer struct {
	known uint64  // a hash of all that the value depends on but for shown
	shown float64 // exposure now
	v     graph.Node
}

// rank values all documents. Peers are documents of which the same is known, however long
// each was watched: whatever a cycle shows, they stay in their order, the least watched first.
// So the heap holds no more than the first of them. If it held all, each fetch of a template
// would have all others of it valued anew.
func (b *Best) rank() {
	b.peers = b.peers[:0]
	for i := range b.docs {
		b.next[i] = graph.None
		if d := &b.docs[i]; d.last >= 0 && d.misses < 2 {
			v := graph.Node(i)
			b.peers = append(b.peers, peer{b.known(v), b.exposure(d), v})
		}
	}
	slices.SortFunc(b.peers, func(x, y peer) int { // mostly decided by the first
		if x.known != y.known {
			return cmp.Compare(x.known, y.known)
		}
		return cmp.Or(cmp.Compare(x.shown, y.shown), cmp.Compare(x.v, y.v))
	})
	next := graph.None
	for i := len(b.peers) - 1; i >= 0; i-- {
		p := &b.peers[i]
		b.next[p.v], next = next, p.v
		if i == 0 || b.peers[i-1].known != p.known {
			b.heap.Items = append(b.heap.Items, scored{b.value(p.v), p.v})
			next = graph.None
		}
	}
	b.heap.Init()
}

// known returns a hash of what is known of v but for the time that it was watched.
func (b *Best) known(v graph.Node) uint64 {
	d := &b.docs[v]
	sum := mixed(math.Float64bits(b.promise(d)))
	sum = mixed(sum ^ uint64(d.profile.Template)<<16 ^ uint64(uint8(d.role))<<8 ^ uint64(d.misses))
	for _, e := range b.entries[v] {
		if e.p >= b.base {
			sum += mixed(uint64(e.p)<<32 | uint64(math.Float32bits(e.credit)))
		}
	}
	return sum
}

// promise is what the prior expects of d now.
func (b *Best) promise(d *doc) float64 {
	return b.prior.Of(&d.profile, d.role == lastPage) * b.unseen(b.cycle-int(d.last)) / .2
}

// unseen returns how much of what a document leads to no fetch has shown, some cycles after
// the last one.
func (b *Best) unseen(cycles int) float64 {
	if cycles < len(b.hidden) {
		return b.hidden[cycles]
	}
	return 1 - math.Pow(.8, float64(cycles))
}

// forget drops a document's entries for patterns that are gone.
func (b *Best) forget(i int) {
	e := b.entries[i]
	n := 0
	for n < len(e) && e[n].p < b.base {
		n++
	}
	if n > 0 {
		b.entries[i] = slices.DeleteFunc(e, func(e entry) bool { return e.p < b.base })
	}
}

// fade returns what is left now of what there was at a cycle.
func (b *Best) fade(since int32) float64 { return b.fadeTo(since, int32(b.cycle)) }

func (b *Best) fadeTo(from, to int32) float64 {
	if n := int(to - from); n < len(b.faded) {
		return b.faded[n]
	}
	return math.Pow(b.cfg.fade, float64(to-from))
}

// value is what a fetch of v is worth now.
func (b *Best) value(v graph.Node) float64 {
	d := &b.docs[v]
	m := b.promise(d)
	T := d.profile.Template
	if d.role != lastPage {
		m = b.pool(poolOf(T), m)
	}
	if d.role >= 0 {
		m = b.pool(roleIn(T, d.role), m)
	}
	if crowd := b.taken[T] - b.cfg.crowd; crowd > 0 {
		m /= 1 + float64(crowd)
	}
	for _, e := range b.entries[v] {
		if e.p >= b.base {
			m += b.live[e.p-b.base].value * float64(e.credit)
		}
	}
	alive := b.fates[1+T].alive()
	if d.role == lastPage {
		alive = min(alive, b.fates[0].alive())
	}
	m *= alive / (b.exposure(d) + 1)
	if d.misses > 0 {
		m *= .1
	}
	if sign := b.signOf(v); sign != 0 && b.shown[sign] {
		m *= b.cfg.twin
	}
	return m
}

// pool weighs m against what a template or role has shown.
func (b *Best) pool(i int32, m float64) float64 {
	p := &b.pools[i]
	return (p.sum + m) / (p.shown*b.fade(p.at) + 1)
}

// Next returns the document that is worth most, or the one fetched longest ago.
func (b *Best) Next() (graph.Node, bool) {
	b.audit = false
	if b.cfg.audit > 0 && (b.fetches+b.spent)%b.cfg.audit == b.cfg.audit-1 {
		for len(b.oldest) > 0 {
			o := b.oldest[0]
			d := &b.docs[o.v]
			if d.last != o.last || d.misses > 1 {
				b.oldest = b.oldest[1:]
				continue
			}
			if b.done[o.v] || int(d.last) >= b.cycle-1 {
				break // all others were fetched since the last cycle
			}
			b.audit = true
			return o.v, true
		}
	}
	v, ok := b.top()
	if !ok || b.heap.Items[0].value < b.stop {
		return 0, false
	}
	return v, true
}

// Audit reports whether Next returned the document fetched longest ago.
func (b *Best) Audit() bool { return b.audit }

// top returns the document that is worth most.
func (b *Best) top() (graph.Node, bool) {
	for b.heap.Len() > 0 {
		top := b.heap.Items[0]
		if v := b.waiting(top.v); v != top.v {
			if v == graph.None {
				b.heap.Pop()
			} else {
				b.heap.Replace(scored{b.value(v), v})
			}
			continue
		}
		now := b.value(top.v)
		if now < top.value {
			b.heap.Replace(scored{now, top.v})
			if b.heap.Items[0].v != top.v {
				continue
			}
		}
		return top.v, true
	}
	return 0, false
}

// waiting returns the first of v and its peers after it that was not fetched; graph.None: all were.
func (b *Best) waiting(v graph.Node) graph.Node {
	for v != graph.None && b.done[v] {
		v = b.next[v]
	}
	return v
}

// take marks v as fetched. What it shows is less urgent now, whatever it will have shown.
func (b *Best) take(v graph.Node) {
	b.done[v] = true
	b.taken[b.docs[v].profile.Template]++
	if sign := b.signOf(v); sign != 0 {
		b.shown[sign] = true
	}
	for _, e := range b.entries[v] {
		if e.p < b.base {
			continue
		}
		p := &b.live[e.p-b.base]
		lost := p.value * float64(e.share) * (1 - b.cfg.left)
		p.urgency *= 1 - float64(e.share)*(1-b.cfg.left)
		p.value -= lost
		for _, in := range p.pools {
			b.pools[in.pool].sum -= lost * in.share
		}
	}
}

// Observe takes in what a fetch showed of earlier cycles' pages.
func (b *Best) Observe(v Refetch) {
	b.spent++
	d := &b.docs[v.Page]
	b.take(v.Page)
	b.revive(v.Relinked)
	if v.Failed {
		return
	}
	b.meet(d, 1, v.Gone)
	if v.Gone {
		b.outage++
		d.misses = min(2, d.misses+1)
		d.last = int32(b.cycle)
		b.oldest = append(b.oldest, turn{v.Page, d.last})
		return
	}
	d.misses = 0
	since := d.last
	b.seen = append(b.seen, seenNow{v.Page, since})
	d.last = int32(b.cycle)
	b.oldest = append(b.oldest, turn{v.Page, d.last})

	// Pages of earlier cycles, by pattern; those of this cycle have none before End.
	b.touched = b.touched[:0]
	for _, y := range v.Led {
		if p := b.pattern[y] - b.base; p >= 0 {
			if b.count[p] == 0 {
				b.touched = append(b.touched, p)
			}
			b.count[p]++
		}
	}
	slices.Sort(b.touched)
	for _, i := range b.touched {
		p := &b.live[i]
		part := float32(b.count[i]) / float32(p.pages)
		b.count[i] = 0
		b.show(v.Page, i, part)
		in := poolOf(d.profile.Template)
		p.add(in, float64(part))
		b.pools[in].sum += p.value * float64(part)
		if d.heir {
			if role := b.held(v.Page, p.cycle); role >= 0 {
				in := roleIn(d.profile.Template, role)
				p.add(in, float64(part))
				b.pools[in].sum += p.value * float64(part)
			}
		}
	}
}

// revive has documents that were gone fetched like any other.
func (b *Best) revive(docs []graph.Node) {
	for _, v := range docs {
		d := &b.docs[v]
		if b.done[v] {
			continue
		}
		if d.misses > 1 {
			b.oldest = append(b.oldest, turn{v, d.last})
		}
		d.misses = 0
		if !b.replaying {
			b.heap.Push(scored{b.value(v), v})
		}
	}
}

// meet counts n documents like d that were fetched, and gone or not.
func (b *Best) meet(d *doc, n float64, gone bool) {
	fates := []*fate{&b.fates[1+d.profile.Template], &b.fates[0]}
	if d.role != lastPage {
		fates = fates[:1]
	}
	for _, f := range fates {
		f.fetched += n
		if gone {
			f.gone += n
		}
	}
}

// show adds live[i] to what v shows.
func (b *Best) show(v graph.Node, i int32, part float32) {
	d, credit := &b.docs[v], part
	p := &b.live[i]
	if d.heir {
		role := b.held(v, p.cycle)
		if role >= 0 && (role != d.role || int(p.cycle) == b.cycle) {
			credit *= float32(b.cfg.handed)
		}
	}
	b.entries[v] = append(b.entries[v], entry{b.base + i, part, credit})
}

// End turns what the cycle found into patterns.
func (b *Best) End(c Cycle) {
	t := int32(b.cycle)
	b.told = c.Full
	b.fetches += b.spent
	if b.outage > 1 && b.outage == b.spent { // the site is away: not the documents' fault
		for v := range b.docs {
			if b.done[v] && b.docs[v].misses > 0 {
				b.docs[v].misses--
				b.meet(&b.docs[v], -1, true)
			}
		}
	}
	if c.Full {
		for _, v := range c.Gone {
			b.docs[v].misses = 2
		}
		for _, v := range c.Back {
			b.docs[v].misses = 0
		}
	}

	// Exposure.
	n := float64(c.H.NumNew())
	more := b.cfg.idle
	if n > 0 {
		more = 1
	}
	watched := b.watched[t-1]*b.cfg.fade + more
	b.watched = append(b.watched, watched)
	for _, s := range b.seen {
		b.expose(s.v, s.since)
	}
	if c.Full {
		b.oldest = b.oldest[:0]
		for i := range b.live { // nothing that they show is left to find
			b.live[i].urgency = 0
		}
		for v := range b.docs {
			d := &b.docs[v]
			if d.last < 0 || d.misses > 1 {
				continue
			}
			if since := d.last; since < t {
				d.last = t
				b.expose(graph.Node(v), since)
			}
			b.oldest = append(b.oldest, turn{graph.Node(v), t})
		}
	}

	// Patterns, and who shows them.
	first := int32(len(b.live))
	for _, column := range c.H.New {
		b.live = append(b.live, pattern{cycle: t, pages: int32(len(column)), news: n})
		b.count = append(b.count, 0)
		for _, y := range column {
			b.pattern[y] = b.base + int32(len(b.live)) - 1
		}
	}
	showing := make(map[int32]float64) // pools of a group's documents
	for g, docs := range c.H.Old {
		clear(showing)
		for _, v := range docs {
			d := &b.docs[v]
			if d.last < 0 {
				continue
			}
			for _, col := range c.H.Cols[g] {
				b.show(v, first+col, 1)
			}
			showing[poolOf(d.profile.Template)]++
			if d.heir {
				if role := b.held(v, t); role >= 0 {
					showing[roleIn(d.profile.Template, role)]++
				}
			}
		}
		var order []int32
		for in := range showing {
			order = append(order, in)
		}
		slices.Sort(order)
		for _, col := range c.H.Cols[g] {
			p := &b.live[first+col]
			for _, in := range order {
				p.add(in, showing[in])
			}
		}
	}
	b.assign()
}

// expose adds the cycles after since to what v, its template and its roles were watched for.
func (b *Best) expose(v graph.Node, since int32) {
	d, t := &b.docs[v], int32(b.cycle)
	more := b.between(since, t)
	T := d.profile.Template
	b.watch(poolOf(T), more)
	if !d.heir {
		return
	}
	segments := b.segments[v]
	for i, s := range segments {
		if s.role < 0 {
			continue
		}
		until := t
		if i+1 < len(segments) {
			until = min(t, segments[i+1].from-1)
		}
		if from := max(since, s.from-1); from < until {
			b.watch(roleIn(T, s.role), b.between(from, until)*b.fade(until))
		}
	}
}

// exposure returns what d was watched for until its last fetch, faded. Documents that became
// known and were last fetched in the same cycles have the same.
func (b *Best) exposure(d *doc) float64 {
	return b.between(int32(d.profile.Born), d.last) * b.fade(d.last)
}

// between returns Σ fade^(until−d) over the cycles after since up to until.
func (b *Best) between(since, until int32) float64 {
	return max(0, b.watched[until]-b.watched[since]*b.fadeTo(since, until))
}

func (b *Best) watch(i int32, more float64) {
	p := &b.pools[i]
	p.shown = p.shown*b.fade(p.at) + more
	p.at = int32(b.cycle)
}
