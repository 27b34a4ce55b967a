package paper

import (
	"cmp"
	"encoding/binary"
	"math"

	"forage/graph"
	"forage/internal/heap"
	"forage/revisit"
)

// ListsFirst fetches the main feeds and sitemaps and the home page in every cycle, and spends what
// is left round robin. It is what somebody writes who has a site's lists and an afternoon, so it is
// what the others are measured by: it learns nothing, of the lists neither.
//
// Where the budget does not suffice for all lists, those fetched longest ago come first, and of
// equal ones home last, since the others tell the same in fewer words. A document that was gone is
// looked at once more in its turn, as a main list no longer, and never again after that. Time of a
// cycle O(documents + budget × log documents), memory 16 bytes a document and 8 more in a cycle.
type ListsFirst struct {
	docs      []listed
	cycle     int
	queue     heap.Heap[visit]
	replaying bool
}

var (
	_ revisit.Replayer = (*ListsFirst)(nil)
	_ revisit.Saver    = (*ListsFirst)(nil)
)

// A visit is a document in the queue, as of its last fetch.
type visit struct {
	v    graph.Node
	last int32
}

// listed is what ListsFirst knows of one document.
type listed struct {
	last   int32 // cycle of the last fetch, Learn's at first; −1: not known
	misses int32 // fetches in a row that found it gone
	rank   int32 // mainList, homePage, or anyOther
}

// The ranks of documents, in the order in which they are fetched where all else is equal.
const (
	mainList int32 = iota
	homePage
	anyOther
)

// NewListsFirst returns lists first, then round robin.
func NewListsFirst() *ListsFirst {
	p := &ListsFirst{}
	p.queue.Before = p.before
	return p
}

// before orders documents: main lists and home, then all others; in each part the one fetched
// longest ago first.
func (p *ListsFirst) before(a, b visit) bool {
	x, y := p.rank(a.v), p.rank(b.v)
	if (x == anyOther) != (y == anyOther) {
		return y == anyOther
	}
	return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(x, y), cmp.Compare(a.v, b.v)) < 0
}

// rank returns the rank of a document in this cycle.
func (p *ListsFirst) rank(v graph.Node) int32 {
	if d := &p.docs[v]; d.misses == 0 {
		return d.rank
	}
	return anyOther
}

// Learn takes in a document.
func (p *ListsFirst) Learn(v graph.Node, profile revisit.Profile) {
	for int(v) >= len(p.docs) {
		p.docs = append(p.docs, listed{last: -1})
	}
	d := &p.docs[v]
	if d.last < 0 {
		d.last = int32(p.cycle)
	}
	d.rank = rankOf(&profile)
}

func rankOf(profile *revisit.Profile) int32 {
	switch {
	case profile.Main:
		return mainList
	case profile.Home:
		return homePage
	}
	return anyOther
}

// Begin orders the documents that can be fetched.
func (p *ListsFirst) Begin(revisit.Time, int) {
	p.cycle++
	p.queue.Items = p.queue.Items[:0]
	if p.replaying {
		return
	}
	for v := range p.docs {
		if d := &p.docs[v]; d.last >= 0 && d.misses < 2 {
			p.queue.Items = append(p.queue.Items, visit{graph.Node(v), d.last})
		}
	}
	p.queue.Init()
}

// Replaying says whether cycles are over already, and need no order.
func (p *ListsFirst) Replaying(on bool) { p.replaying = on }

// Next returns the next list, then the document fetched longest ago.
func (p *ListsFirst) Next() (graph.Node, bool) {
	for p.queue.Len() > 0 {
		if t := p.queue.Pop(); p.docs[t.v].last == t.last {
			return t.v, true
		}
	}
	return 0, false
}

// Observe notes a fetch. One that failed says nothing of whether the document is there.
func (p *ListsFirst) Observe(r revisit.Refetch) {
	d := &p.docs[r.Page]
	d.last = int32(p.cycle)
	switch {
	case r.Gone:
		d.misses++
	case !r.Failed:
		d.misses = 0
	}
}

// End notes what a full recrawl found gone and back.
func (p *ListsFirst) End(c revisit.Cycle) {
	for _, v := range c.Gone {
		p.docs[v].misses = 2
	}
	for _, v := range c.Back {
		p.docs[v].misses = 0
	}
}

// AppendState appends what is known of the documents.
func (p *ListsFirst) AppendState(b []byte) []byte {
	for i := range p.docs {
		b = binary.AppendUvarint(b, uint64(p.cycle-int(p.docs[i].last)))
		b = binary.AppendUvarint(b, uint64(p.docs[i].misses))
	}
	return b
}

// SetState reads what is known of the documents.
func (p *ListsFirst) SetState(r *revisit.StateReader, docs *revisit.Profiles, cycle int) {
	p.cycle, p.docs = cycle, make([]listed, docs.Len())
	for v := range p.docs {
		d := docs.At(graph.Node(v))
		last := int32(cycle) - int32(r.Uint(uint64(cycle)))
		p.docs[v] = listed{last: last, misses: int32(r.Uint(math.MaxInt32)), rank: rankOf(&d)}
	}
}
