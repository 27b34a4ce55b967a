package revisit

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"forage/graph"
	"forage/internal/heap"
)

// Index gives every document a price that only depends on itself and fetches what is above
// the price of a fetch: a restless bandit's index, in continuous time, without full recrawls.
// Links to new pages appear at rate â and lose their value at rate ϑ (they scroll away, age,
// or others find the page first), so a fetch τ after the last one is worth
//
//	V(τ) = (â/ϑ)·g(ϑτ)/c,   g(x) = 1 − e^−x·(1+x),
//
// c its cost. The rate is estimated from the fetches of the document: after one with gap τ
// that led to n' pages, n ← γ^τ·n + n', e ← γ^τ·e + (1−e^−ϑτ)/ϑ, â = (n+A)/(e+A/a0), where a0
// is the rate of the template, which starts from a prior by kind. A set of pages that many
// documents gained alike (a block that stands on every page) is credited to the first only.
//
// Documents wait in a calendar by the cycle in which V reaches λ, the price of a fetch, which
// follows the budget; 7% of fetches go to the document fetched longest ago. Where fewer are due
// than there is budget for, the next ones come early. Where many more are due, the best are
// looked at anew in the next cycle, the others when V reaches λ and those before them had
// their turn. Time is counted in cycles, and functions of it are looked up in tables.
//
// A fetch costs O(1) beside the heap of those in hand, and looks at two or three documents that
// wait; all in all 1 µs on a site of a million with 10,000 fetches a cycle. Memory about 120 bytes
// a document.
type Index struct {
	roster
	docs   []priced
	priors []float64 // that occur: new pages per cycle, as a share of a cycle's pages, if nothing else is known
	rates  []rate    // by template
	lambda float64

	calendar [2 * indexFar][]graph.Node // by cycle modulo its length; an entry that due does not name is stale
	next     int32                      // buckets before are empty
	heap     heap.Heap[scored]          // in hand, the best first; fetched ones may be in it
	aside    []graph.Node               // in hand, fetched in this cycle before their bucket was taken
	batch    int                        // how many are looked at together, due or not
	fetches  int
	worth    float64 // of the cycle's last fetch that was no audit
	spent    int
	budget   int
	blocks   map[uint64]bool // sets of pages credited in this cycle
}

var _ Saver = (*Index)(nil)

// priced is what Index knows of a document: half a cache line, all that a look at it reads.
type priced struct {
	n, e     float64
	template int32
	prior    int32 // its place among priors
	last     int32 // as in roster
	due      int32 // its bucket; nowhere if it is gone; −2−bucket while it is in hand, out of that bucket
}

const nowhere = -1

// rate is what the fetches of a template's documents found.
type rate struct{ n, e float64 }

// Constants of Index.
const (
	indexTheta = 0.2  // ϑ per cycle
	indexGamma = 0.98 // γ per cycle
	indexTrust = 0.3  // A, pages
	indexAudit = 14   // each 14th fetch is an audit
	indexFar   = 64   // cycles: nothing waits longer; a power of 2

	// So many documents are looked at together, due or not: on most sites all.
	indexBatch = 1 << 13
)

// A span is what a gap of τ cycles comes to.
type span struct {
	gain    float64 // g(ϑτ)
	keep    float64 // γ^τ
	watched float64 // (1−e^−ϑτ)/ϑ
}

func newSpan(tau float64) span {
	x := indexTheta * tau
	return span{1 - math.Exp(-x)*(1+x), math.Pow(indexGamma, tau), (1 - math.Exp(-x)) / indexTheta}
}

// spans are those of the usual gaps.
var spans = func() (t [4 * indexFar]span) {
	for tau := range t {
		t[tau] = newSpan(float64(tau))
	}
	return t
}()

// since returns the span since the last fetch.
func (p *Index) since(d *priced) span {
	tau := p.cycle - int(d.last)
	if tau < len(spans) {
		return spans[tau]
	}
	return newSpan(float64(tau))
}

// NewIndex returns the index policy.
func NewIndex() *Index {
	return &Index{blocks: make(map[uint64]bool), lambda: 0.05, batch: indexBatch, heap: byValue()}
}

// Learn takes in a document.
func (p *Index) Learn(v graph.Node, profile Profile) {
	fresh := p.learn(v, profile)
	for len(p.docs) < len(p.profiles) {
		p.docs = append(p.docs, priced{due: nowhere})
	}
	p.enter(v, &profile)
	if fresh {
		p.schedule(v)
	}
}

// enter sets what priced takes from a profile.
func (p *Index) enter(v graph.Node, profile *Profile) {
	d, c := &p.docs[v], usual.of(profile)
	i := slices.Index(p.priors, c)
	if i < 0 {
		i, p.priors = len(p.priors), append(p.priors, c)
	}
	d.prior, d.template, d.last = int32(i), profile.Template, p.last[v]
	for int(profile.Template) >= len(p.rates) {
		p.rates = append(p.rates, rate{})
	}
}

// rate returns â.
func (p *Index) rate(d *priced) float64 {
	const weight = 4 // cycles of watching that the prior is worth to a template
	r, c := &p.rates[d.template], p.priors[d.prior]
	a0 := (r.n + weight*c) / (r.e + weight)
	a0 = max(a0, 1e-9)
	return (d.n + indexTrust*c/max(c, .05)) / (d.e + indexTrust/max(a0, .05))
}

// value is V now.
func (p *Index) value(d *priced) float64 {
	return p.rate(d) / indexTheta * p.since(d).gain
}

// schedule puts v into the bucket of the cycle in which V reaches λ.
func (p *Index) schedule(v graph.Node) {
	d := &p.docs[v]
	gap := reaching(p.lambda * indexTheta / p.rate(d))
	p.put(v, max(d.last+gap, int32(p.cycle)+1))
}

// reaching inverts g by bisection of its table: the shortest gap with g(ϑτ) ≥ want, from 1 to
// indexFar.
func reaching(want float64) int32 {
	short := int32(0) // the longest gap that is not enough
	for step := int32(indexFar / 2); step > 0; step /= 2 {
		if spans[short+step].gain < want {
			short += step
		}
	}
	return short + 1
}

// put writes v into the bucket of a later cycle.
func (p *Index) put(v graph.Node, at int32) {
	p.docs[v].due = at
	bucket := p.bucket(at)
	*bucket = append(*bucket, v)
}

func (p *Index) bucket(at int32) *[]graph.Node { return &p.calendar[at%int32(len(p.calendar))] }

// Begin lists what is due.
func (p *Index) Begin(_ Time, budget int) {
	p.cycle++
	p.budget, p.spent, p.worth = budget, 0, -1
	clear(p.blocks)
	for p.next <= int32(p.cycle) {
		p.take(len(*p.bucket(p.next)))
	}
	p.heap.Init()
}

// take takes the first n documents of bucket next in hand, and goes on to the next bucket if
// none is left. The heap is none until Init.
func (p *Index) take(n int) {
	bucket := p.bucket(p.next)
	for _, v := range (*bucket)[:n] {
		switch d := &p.docs[v]; {
		case d.due != p.next:
		case int(d.last) == p.cycle:
			d.due = -2 - p.next
			p.aside = append(p.aside, v)
		default:
			d.due = -2 - p.next
			p.heap.Items = append(p.heap.Items, scored{p.value(d), v})
		}
	}
	*bucket = (*bucket)[n:]
	if len(*bucket) == 0 {
		*bucket = nil
		p.next++
	}
}

// Next returns the document with the largest index, or the one fetched longest ago.
func (p *Index) Next() (graph.Node, bool) {
	if p.audits() {
		if v, ok := p.oldest(nil); ok {
			return v, true
		}
	}
	for {
		for p.heap.Len() > 0 {
			if v := p.heap.Items[0].v; p.docs[v].due < nowhere {
				return v, true
			}
			p.heap.Pop()
		}
		if p.next > int32(p.cycle)+indexFar {
			return 0, false
		}
		p.take(min(len(*p.bucket(p.next)), p.batch))
		p.heap.Init()
	}
}

// audits reports whether the next fetch goes to the document fetched longest ago.
func (p *Index) audits() bool { return p.fetches%indexAudit == indexAudit-1 }

// Observe credits the document and puts it back into the calendar.
func (p *Index) Observe(v Refetch) {
	d := &p.docs[v.Page]
	if !p.audits() {
		p.worth = p.value(d)
	}
	p.fetches++
	p.spent++
	gap := p.since(d)
	p.fetched(v)
	d.last = int32(p.cycle)
	if p.gone[v.Page] {
		d.due = nowhere
		return
	}
	if !v.Failed {
		led := float64(len(v.Led))
		if len(v.Led) > 1 {
			block := uint64(14695981039346656037)
			for _, y := range v.Led {
				block = (block ^ uint64(y)) * 1099511628211
			}
			if p.blocks[block] {
				led = 0
			}
			p.blocks[block] = true
		}
		if led > 0 {
			led = math.Sqrt(led) // a cycle with many pages is one event more than many
		}
		r := &p.rates[d.template]
		d.n, d.e = gap.keep*d.n+led, gap.keep*d.e+gap.watched
		r.n, r.e = r.n*indexGamma+led, r.e*indexGamma+gap.watched
	}
	p.schedule(v.Page)
}

// End lets λ follow what the budget could pay for, and gives documents that were due and not
// fetched a place in a later cycle.
func (p *Index) End(c Cycle) {
	p.recrawled(c)
	for _, v := range c.Gone {
		p.docs[v].due = nowhere
	}
	for _, v := range c.Back {
		p.docs[v].last = int32(p.cycle)
		p.schedule(v)
	}
	if c.Full { // everything was fetched
		p.recrawl(c.H)
	}
	if p.worth >= 0 && p.spent >= p.budget {
		p.lambda += (p.worth - p.lambda) / 4
	}
	hand := p.heap.Items
	for len(hand) > max(p.batch, p.budget) { // the worse ones wait
		ahead := split(hand)
		turn := int32(ahead / max(1, p.budget))
		for _, s := range hand[ahead:] {
			d := &p.docs[s.v]
			gap := reaching(p.lambda / s.value * p.since(d).gain)
			if gap < indexFar {
				gap -= int32(p.cycle) - d.last
			}
			p.back(s.v, max(turn, gap))
		}
		hand = hand[:ahead]
	}
	for _, s := range hand {
		p.back(s.v, 1)
	}
	for _, v := range p.aside {
		p.back(v, 1)
	}
	p.aside, p.heap.Items = p.aside[:0], hand[:0]
	p.next = int32(p.cycle) + 1
}

// back puts what is in hand back where it was, or so many cycles from now.
func (p *Index) back(v graph.Node, wait int32) {
	if due := p.docs[v].due; due < nowhere {
		p.put(v, max(-2-due, int32(p.cycle)+min(max(wait, 1), indexFar)))
	}
}

// split puts the better ones of h, about half, first, and returns how many they are.
func split(h []scored) int {
	var sample [9]scored
	for i := range sample {
		sample[i] = h[i*(len(h)-1)/(len(sample)-1)]
	}
	slices.SortFunc(sample[:], func(a, b scored) int {
		return cmp.Or(-cmp.Compare(a.value, b.value), cmp.Compare(a.v, b.v))
	})
	n := 0
	for i, s := range h {
		if before(s, sample[len(sample)/2]) {
			h[i], h[n] = h[n], s
			n++
		}
	}
	return n
}

// recrawl credits what a full recrawl found to the first document that shows it, and gives every
// document its place anew.
func (p *Index) recrawl(h *CoverGraph) {
	all := func(yield func(v graph.Node) bool) {
		for v := range p.profiles {
			if p.known[v] && !p.gone[v] && !yield(graph.Node(v)) {
				return
			}
		}
	}
	for v := range all {
		d := &p.docs[v]
		if int(d.last) == p.cycle {
			continue
		}
		d.n, d.e = indexGamma*d.n, indexGamma*d.e+spans[1].watched
		p.rates[d.template].e += spans[1].watched
		p.last[v], d.last = int32(p.cycle), int32(p.cycle)
	}
	for g, docs := range h.Old {
		if d := &p.docs[docs[0]]; int(p.born[docs[0]]) < p.cycle {
			led := math.Sqrt(float64(h.Size(g)))
			d.n += led
			p.rates[d.template].n += led
		}
	}
	for v := range all {
		p.schedule(v)
	}
}

// AppendState appends rates, prices and the calendar.
func (p *Index) AppendState(b []byte) []byte {
	b = p.appendState(b)
	b = AppendFloat(b, p.lambda)
	b = binary.AppendUvarint(b, uint64(p.fetches))
	for i := range p.docs {
		d := &p.docs[i]
		b = AppendFloat(AppendFloat(b, d.n), d.e)
		b = binary.AppendUvarint(b, uint64(d.due-nowhere))
	}
	for _, r := range p.rates {
		b = AppendFloat(AppendFloat(b, r.n), r.e)
	}
	for _, bucket := range p.calendar {
		b = AppendNodes(b, bucket)
	}
	return b
}

// SetState reads what AppendState appended.
func (p *Index) SetState(r *StateReader, all *Profiles, cycle int) {
	p.setState(r, all, cycle)
	docs := p.profiles
	p.lambda = r.Float()
	p.fetches = int(r.Uint(math.MaxInt32))
	p.docs = make([]priced, len(docs))
	for v := range docs {
		p.enter(graph.Node(v), &docs[v])
		d := &p.docs[v]
		d.n, d.e = r.Float(), r.Float()
		d.due = int32(r.Uint(uint64(cycle+indexFar-nowhere))) + nowhere
	}
	for i := range p.rates {
		p.rates[i] = rate{r.Float(), r.Float()}
	}
	for i := range p.calendar {
		p.calendar[i] = r.Nodes(len(docs))
	}
	if cycle > 0 {
		p.next = int32(cycle) + 1
	}
}
