package paper

import (
	"math"

	"forage/graph"
	"forage/internal/heap"
	"forage/revisit"
)

// A timetable fetches documents in the order in which they are due, by a rule that moves the due
// time of a document after each of its fetches: what crawlers do that adapt to how often a page
// changes, and that Nutch and Storm here do by their rules. Such a crawler has no budget: it
// fetches whatever is due. Here what is due first is fetched, overdue or not, until the budget is
// spent, so that budgets compare.
//
// These crawlers ask whether the content of a page is still the same, by its signature or a 304. A
// policy is told of 304s and of changed links only. So at a server that has answered 304 before
// whatever is answered in full is taken to have changed, and at others what has changed its links.
//
// Nor is a policy told when the first crawl was. It is taken to lie as long before the first cycle
// as that before the second, and until then no due time is needed: all are equal. A full recrawl moves no due
// time either, since it does not tell which documents have changed.
//
// Time of a cycle O(documents + budget × log documents), memory 32 bytes a document and 16 more in
// a cycle.
type timetable struct {
	rule      rule
	docs      []entry
	cycle     int
	now       revisit.Time
	first     []revisit.Refetch // cycle 1, to be taken in when the time of the first crawl is known
	tells304  bool              // the server has said so once
	queue     heap.Heap[scored] // least due time first
	replaying bool
}

// An entry is one document of a timetable.
type entry struct {
	due      float64 // seconds since the epoch; +Inf: never
	interval float64 // seconds
	modified float64 // seconds since the epoch: when it was seen changed last, or first
	taken    int32   // cycle of its last fetch, or of Learn; unknown
}

// A rule says when a document is due again.
type rule interface {
	initial() float64 // seconds from the first fetch of a document to the second
	// after updates a document that was fetched at now, in seconds since the epoch.
	after(e *entry, now float64, what outcome)
}

// An outcome is what rules tell apart.
type outcome uint8

const (
	modified outcome = iota
	unmodified
	gone
	failed
)

func newTimetable(r rule) timetable {
	return timetable{rule: r, queue: heap.Heap[scored]{Before: func(a, b scored) bool {
		return a.value < b.value || a.value == b.value && a.v < b.v
	}}}
}

// Learn takes in a document, fetched just now.
func (p *timetable) Learn(v graph.Node, _ revisit.Profile) {
	for int(v) >= len(p.docs) {
		p.docs = append(p.docs, entry{taken: unknown})
	}
	if e := &p.docs[v]; e.taken == unknown {
		e.taken = int32(p.cycle)
		now := float64(p.now)
		if p.cycle == 0 {
			now = atFirstCrawl
		}
		p.begin(e, now)
	}
}

// atFirstCrawl stands for the time of the first crawl until the second cycle.
var atFirstCrawl = math.Inf(-1)

// begin is a first fetch at now.
func (p *timetable) begin(e *entry, now float64) {
	e.modified, e.interval = now, p.rule.initial()
	e.due = now + e.interval
}

// Begin orders the documents that may be due at some time.
func (p *timetable) Begin(now revisit.Time, _ int) {
	before := p.now
	p.now = now
	p.cycle++
	if p.cycle == 2 {
		p.start(before-(now-before), before)
	}
	p.queue.Items = p.queue.Items[:0]
	if p.replaying {
		return
	}
	for v := range p.docs {
		if e := &p.docs[v]; e.taken != unknown && !math.IsInf(e.due, 1) {
			p.queue.Items = append(p.queue.Items, scored{e.due, graph.Node(v)})
		}
	}
	p.queue.Init()
}

// start takes in the first crawl, and then the first cycle, at their times.
func (p *timetable) start(crawl, cycle revisit.Time) {
	for v := range p.docs {
		if e := &p.docs[v]; e.taken != unknown && e.modified == atFirstCrawl {
			p.begin(e, float64(crawl))
		}
	}
	for _, r := range p.first {
		p.observe(r, cycle)
	}
	p.first = nil
}

// Replaying says whether cycles are over already, and need no order.
func (p *timetable) Replaying(on bool) { p.replaying = on }

// Next returns the document that is due first.
func (p *timetable) Next() (graph.Node, bool) {
	for p.queue.Len() > 0 {
		if v := p.queue.Pop().v; int(p.docs[v].taken) < p.cycle {
			return v, true
		}
	}
	return 0, false
}

// Observe moves the due time of a document.
func (p *timetable) Observe(r revisit.Refetch) {
	p.docs[r.Page].taken = int32(p.cycle)
	if p.cycle == 1 {
		r.Led, r.Found, r.Relinked = nil, nil, nil // not ours
		p.first = append(p.first, r)
		return
	}
	p.observe(r, p.now)
}

func (p *timetable) observe(r revisit.Refetch, now revisit.Time) {
	p.tells304 = p.tells304 || r.NotModified
	what := unmodified
	switch {
	case r.Failed:
		what = failed
	case r.Gone:
		what = gone
	case r.NotModified:
	case p.tells304 || r.Changed:
		what = modified
	}
	p.rule.after(&p.docs[r.Page], float64(now), what)
}

// End begins anew with what a full recrawl found there again.
func (p *timetable) End(c revisit.Cycle) {
	for _, v := range c.Back {
		p.begin(&p.docs[v], float64(p.now))
	}
}
