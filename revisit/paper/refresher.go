package paper

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"

	"forage/graph"
	"forage/internal/heap"
	"forage/revisit"
)

// A refresher is a policy of the literature on refreshing copies: from its looks at each document it estimates
// how often the document changes, and from these rates and the budget it decides which documents to fetch when.
// The papers differ in the estimator and in what they optimize: see method. What all of them have in
// common here:
//
//   - A change is one that matters here: the document leads to pages found since its last look, by
//     whatever fetch (Refetch.Led). All documents have the same importance.
//   - A document that nobody has looked at has the rate that is usual for its kind at a site that publishes once
//     a week (revisit.UsualShare), from which index and history begin, too. The papers have no such
//     knowledge; without it a site of a thousand documents and a few fetches a day is past learning.
//   - The papers have a rate of fetches. Here a cycle has a budget, so the rate is this budget over the time since the
//     cycle before. No document is fetched twice in a cycle, which bounds its rate.
//   - The budget is spent in any case: documents that get no rate come last, longest ago first.
//
// A document that two fetches in a row found gone is fetched no more. A failed fetch tells nothing and puts the
// document off. After a full recrawl all documents begin anew, without a look, since a policy is not
// told which of them had changed.
//
// Time of a cycle: that of the method, and O(documents + budget × log documents); of a fetch, O(looks at
// the document). Memory some 100 bytes a document and 16 a fetch.
type refresher struct {
	method method
	docs   []watched
	cycle  int
	now    revisit.Time
	rate   float64 // fetches a day in this cycle
	most   float64 // of one document
	spent  int     // fetches of all cycles
	price  float64 // of a fetch, in the last cycle; where the next search begins

	queue     heap.Heap[scored] // the least first
	replaying bool
}

// watched is what a refresher knows of a document.
type watched struct {
	looks   []look
	pages   float64      // that looks led to
	changes float64      // a day, as estimated
	last    revisit.Time // the last look, or the first fetch; 0: not known yet
	tried   revisit.Time // the last fetch, answered or not
	taken   int32        // the cycle that named it last, or found it; unknown
	misses  int32        // fetches in a row that found it gone
}

// A method is what the papers differ in.
type method interface {
	// changes estimates how often a document changes, in changes a day.
	changes(d *watched) float64
	// place gives each document of the queue its place in this cycle, less is sooner.
	place(p *refresher, queue []scored)
	// explores reports whether the n-th fetch of a site, from 1, is made to learn from it: it takes the
	// document fetched longest ago.
	explores(n int) bool
}

// unfetched is the place of documents that have no rate, but for their age.
const unfetched = 1e300

func newRefresher(m method) refresher {
	return refresher{method: m, price: 1, queue: heap.Heap[scored]{Before: func(a, b scored) bool {
		return a.value < b.value || a.value == b.value && a.v < b.v
	}}}
}

// Learn takes in a document.
func (p *refresher) Learn(v graph.Node, profile revisit.Profile) {
	for int(v) >= len(p.docs) {
		p.docs = append(p.docs, watched{taken: unknown})
	}
	d := &p.docs[v]
	if d.taken != unknown {
		return
	}
	d.taken = int32(p.cycle)
	d.last = cmp.Or(profile.Seen, p.now)
	d.tried = d.last
	d.looks = firstLooks(revisit.UsualShare(&profile) / 7)
	d.changes = p.method.changes(d)
}

// Begin places the documents that can be fetched.
func (p *refresher) Begin(now revisit.Time, budget int) {
	days := float64(now-p.now) / day
	if p.now == 0 || days <= 0 {
		days = 1
	}
	p.now = now
	p.cycle++
	p.rate, p.most = float64(budget)/days, 1/days
	p.queue.Items = p.queue.Items[:0]
	for v := range p.docs {
		d := &p.docs[v]
		if d.taken != unknown && d.last == 0 {
			d.last, d.tried = now, now
		}
		if d.taken != unknown && d.misses < 2 && !p.replaying {
			p.queue.Items = append(p.queue.Items, scored{0, graph.Node(v)})
		}
	}
	if len(p.queue.Items) > 0 {
		p.method.place(p, p.queue.Items)
		p.queue.Init()
	}
}

// Replaying says whether cycles are over already, and need no places.
func (p *refresher) Replaying(on bool) { p.replaying = on }

// Next returns the document with the least place, or the one fetched longest ago.
func (p *refresher) Next() (graph.Node, bool) {
	if p.method.explores(p.spent + 1) {
		if v, ok := p.oldest(); ok {
			p.docs[v].taken = int32(p.cycle)
			return v, true
		}
	}
	for p.queue.Len() > 0 {
		if v := p.queue.Pop().v; int(p.docs[v].taken) < p.cycle {
			p.docs[v].taken = int32(p.cycle)
			return v, true
		}
	}
	return 0, false
}

// oldest returns the document of the queue that was fetched longest ago. O(documents).
func (p *refresher) oldest() (oldest graph.Node, ok bool) {
	for _, s := range p.queue.Items {
		d := &p.docs[s.v]
		if int(d.taken) == p.cycle {
			continue
		}
		if at := p.docs[oldest].tried; !ok || d.tried < at || d.tried == at && s.v < oldest {
			oldest, ok = s.v, true
		}
	}
	return oldest, ok
}

// Observe takes in a look.
func (p *refresher) Observe(r revisit.Refetch) {
	d := &p.docs[r.Page]
	d.taken, d.tried = int32(p.cycle), p.now
	p.spent++
	switch {
	case r.Failed:
	case r.Gone:
		d.misses++
	default:
		d.misses = 0
		d.looks = append(d.looks, look{max(float64(p.now-d.last), 1) / day, len(r.Led) > 0})
		d.pages += float64(len(r.Led))
		d.last = p.now
		d.changes = p.method.changes(d)
	}
}

// End takes in a full recrawl.
func (p *refresher) End(c revisit.Cycle) {
	if c.Full {
		for v := range p.docs {
			p.docs[v].last, p.docs[v].tried = p.now, p.now
		}
	}
	for _, v := range c.Gone {
		p.docs[v].misses = 2
	}
	for _, v := range c.Back {
		p.docs[v].misses = 0
	}
}

// age is the time since the last fetch of a document, in days.
func (p *refresher) age(d *watched) float64 { return float64(p.now-d.tried) / day }

// allot gives the documents of the queue the rates at which they are fetched, in fetches a day. rate
// is as for allot, of the changes a day of a document.
func (p *refresher) allot(queue []scored, rate func(changes, price float64) float64) map[float64]float64 {
	count := make(map[float64]int)
	for _, s := range queue {
		count[p.docs[s.v].changes]++
	}
	changes, weight := make([]float64, 0, len(count)), make([]int, 0, len(count))
	for _, s := range queue { // in an order that does not change
		if x := p.docs[s.v].changes; count[x] > 0 {
			changes, weight = append(changes, x), append(weight, count[x])
			count[x] = 0
		}
	}
	rates, price := allot(weight, p.rate, p.most, p.price, func(i int, price float64) float64 { return rate(changes[i], price) })
	if price > 0 && !math.IsInf(price, 1) {
		p.price = price
	}
	out := make(map[float64]float64, len(rates))
	for i, x := range changes {
		out[x] = rates[i]
	}
	return out
}

// inTime places documents by when they are due: one over the rate after their last fetch.
func (p *refresher) inTime(queue []scored, rates map[float64]float64) {
	for i := range queue {
		d := &p.docs[queue[i].v]
		if rate := rates[d.changes]; rate > 0 {
			queue[i].value = 1/rate - p.age(d)
		} else {
			queue[i].value = unfetched - p.age(d)*1e290
		}
	}
}

// atRandom places documents by the next event of a Poisson process with the rate of each. The source
// of chance depends on the seed and the cycle alone, so that it is no part of the state.
func (p *refresher) atRandom(queue []scored, rates map[float64]float64, seed uint64) {
	r := rand.New(rand.NewPCG(seed, uint64(p.cycle)))
	for i := range queue {
		d := &p.docs[queue[i].v]
		wait := r.ExpFloat64()
		if rate := rates[d.changes]; rate > 0 {
			queue[i].value = wait / rate
		} else {
			queue[i].value = unfetched - p.age(d)*1e290
		}
	}
}

// AppendState appends what is known of the documents.
func (p *refresher) AppendState(b []byte) []byte {
	b = binary.AppendVarint(b, int64(p.now))
	b = binary.AppendUvarint(b, uint64(p.spent))
	for i := range p.docs {
		d := &p.docs[i]
		b = binary.AppendVarint(b, int64(p.now-d.last))
		b = binary.AppendVarint(b, int64(p.now-d.tried))
		b = binary.AppendUvarint(b, uint64(d.misses))
		b = revisit.AppendFloat(b, d.pages)
		b = binary.AppendUvarint(b, uint64(len(d.looks)))
		for _, l := range d.looks {
			b = l.append(b)
		}
	}
	return b
}

func (l look) append(b []byte) []byte {
	changed := byte(0)
	if l.changed {
		changed = 1
	}
	return revisit.AppendFloat(append(b, changed), l.days)
}

func readLook(r *revisit.StateReader) look {
	changed := r.Uint(1) == 1
	return look{r.Float(), changed}
}

// SetState reads what is known of the documents.
func (p *refresher) SetState(r *revisit.StateReader, docs *revisit.Profiles, cycle int) {
	p.cycle, p.docs = cycle, make([]watched, docs.Len())
	p.now = revisit.Time(r.Int())
	p.spent = int(r.Uint(math.MaxInt32))
	for v := range p.docs {
		d := &p.docs[v]
		d.taken = int32(cycle)
		d.last, d.tried = p.now-revisit.Time(r.Int()), p.now-revisit.Time(r.Int())
		d.misses, d.pages = int32(r.Uint(math.MaxInt32)), r.Float()
		for range r.Uint(math.MaxInt32) {
			l := readLook(r)
			if !(l.days > 0) { // as when there is nothing left to read
				r.Fail()
				return
			}
			d.looks = append(d.looks, l)
		}
		if len(d.looks) < 2 || !d.looks[0].changed || d.looks[1].changed {
			r.Fail()
			return
		}
		d.changes = p.method.changes(d)
	}
}
