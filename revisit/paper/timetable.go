package paper

import (
	"cmp"
	"encoding/binary"
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
// A full recrawl moves no due time, since a policy is not told which documents have changed. A
// document of the first crawl of which it is not known when that was counts as first fetched when
// the first cycle begins.
//
// Time of a cycle O(documents + budget × log documents), memory 32 bytes a document and 16 more in
// a cycle.
type timetable struct {
	rule      rule
	docs      []entry
	cycle     int
	now       revisit.Time
	queue     heap.Heap[scored] // least due time first
	replaying bool
}

// An entry is one document of a timetable.
type entry struct {
	due      float64 // seconds since the epoch; +Inf: never
	interval float64 // seconds
	modified float64 // seconds since the epoch: when it was seen changed last, or first; 0: not known yet
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

// Learn takes in a document.
func (p *timetable) Learn(v graph.Node, profile revisit.Profile) {
	for int(v) >= len(p.docs) {
		p.docs = append(p.docs, entry{taken: unknown})
	}
	if e := &p.docs[v]; e.taken == unknown {
		e.taken = int32(p.cycle)
		p.begin(e, cmp.Or(profile.Seen, p.now))
	}
}

// begin is a first fetch at now.
func (p *timetable) begin(e *entry, now revisit.Time) {
	e.modified, e.interval = float64(now), p.rule.initial()
	e.due = e.modified + e.interval
}

// Begin orders the documents that may be due at some time.
func (p *timetable) Begin(now revisit.Time, _ int) {
	p.now = now
	p.cycle++
	for v := range p.docs {
		if e := &p.docs[v]; p.cycle == 1 && e.taken != unknown && e.modified == 0 {
			p.begin(e, now)
		}
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
	what := unmodified
	switch {
	case r.Failed:
		what = failed
	case r.Gone:
		what = gone
	case r.Modified:
		what = modified
	}
	e := &p.docs[r.Page]
	e.taken = int32(p.cycle)
	p.rule.after(e, float64(p.now), what)
}

// AppendState appends the timetable.
func (p *timetable) AppendState(b []byte) []byte {
	for i := range p.docs {
		e := &p.docs[i]
		b = binary.AppendUvarint(b, uint64(p.cycle-int(e.taken)))
		for _, x := range []float64{e.due, e.interval, e.modified} {
			b = revisit.AppendFloat(b, x)
		}
	}
	return b
}

// SetState reads the timetable.
func (p *timetable) SetState(r *revisit.StateReader, docs *revisit.Profiles, cycle int) {
	p.cycle, p.docs = cycle, make([]entry, docs.Len())
	for v := range p.docs {
		taken := int32(cycle) - int32(r.Uint(uint64(cycle)))
		p.docs[v] = entry{taken: taken, due: r.Float(), interval: r.Float(), modified: r.Float()}
	}
}

// End begins anew with what a full recrawl found there again.
func (p *timetable) End(c revisit.Cycle) {
	for _, v := range c.Back {
		p.begin(&p.docs[v], p.now)
	}
}
