package crawl

import (
	"forage/graph"
	"forage/store"
)

// A list may name any number of URLs that are not there. So a first visit keeps count, for each
// list that nothing but robots.txt or a page led to, of what only it and the lists that it
// names led to: while less than a twentieth of that answers, the rest is put off until nothing
// else is left to be fetched. Nothing is dropped, as a list may be wrong in parts. An explorer's
// order (--policy) and cycles of discovery, which follow what is new at once, are not changed.
const (
	minTried   = 100  // answers before a list is doubted
	minAnswers = 1000 // answers before all lists of a site together are
	minShare   = 20   // one in so many must be there
	untried    = 10   // lists read of an index of which less than minTried URLs have been tried
)

// reasonLate is why URLs wait that have been put off.
const reasonLate = "put off until nothing else is left: little of what its list names is there, or too little of that was tried"

// A trial counts what came of the URLs of a list.
type trial struct {
	url                 string // of the list
	tried, there, lists int
}

func (t *trial) failed(least int) bool { return t.tried >= least && t.there*minShare < t.tried }

func (t *trial) trap() string {
	return "little of what " + t.url + " lists is there: the rest is fetched after all else"
}

// A bench holds the trials of a site's lists in a first visit.
type bench struct {
	root   map[graph.Node]graph.Node // list by list: the one that led to it in the end
	trials map[graph.Node]*trial     // by root
	all    trial
	wary   bool // a list has named little that is there so far
	over   bool // nothing else is left
}

// listed reports whether a list alone led to d.
func listed(d *store.Doc) bool {
	return (d.Via == store.ViaSitemap || d.Via == store.ViaFeed) && d.FoundOn != graph.None
}

// trial returns the count that d belongs to; nil: none. O(1), O(depth) for a list's first URL.
func (e *engine) trial(s *site, d *store.Doc) *trial {
	if s.rv != nil || s.order != nil || !listed(d) {
		return nil
	}
	b := &s.bench
	if b.trials == nil {
		b.root, b.trials = map[graph.Node]graph.Node{}, map[graph.Node]*trial{}
	}
	root, ok := b.root[d.FoundOn]
	if !ok {
		root = d.FoundOn
		for {
			by, err := e.db.Doc(root)
			if err != nil {
				e.fail(err)
				return nil
			}
			if !listed(by) || by.FoundOn >= root { // a document has a higher number than what led to it
				break
			}
			root = by.FoundOn
		}
		b.root[d.FoundOn] = root
	}
	t := b.trials[root]
	if t == nil {
		d, err := e.db.Doc(root)
		if err != nil {
			e.fail(err)
			return nil
		}
		t = &trial{url: d.URL}
		b.trials[root] = t
	}
	return t
}

// tried counts the answer to a request for d.
func (e *engine) tried(s *site, d *store.Doc) {
	t := e.trial(s, d)
	if t == nil {
		return
	}
	if d.IsList() {
		t.lists++
		return
	}
	t.tried++
	s.bench.all.tried++
	if d.Alive() && d.Kind != store.Soft404 || d.Kind == store.Redirect {
		t.there++
		s.bench.all.there++
	}
	s.bench.wary = s.bench.wary || t.failed(1)
}

// putOff reports whether d, which waits in the queue of c, is to wait until the end, and notes
// it so.
func (e *engine) putOff(s *site, c *cursor, d *store.Doc) bool {
	t := e.trial(s, d)
	if t == nil || s.bench.over || !t.failed(minTried) && !s.bench.all.failed(minAnswers) && !(d.Main && t.lists >= untried && t.tried < minTried) {
		return false
	}
	c.late = min(c.late, d.ID)
	if d.Reason != reasonLate {
		if !d.Main && (len(s.traps.cut) < 1000 || s.traps.cut[t.trap()] > 0) {
			s.traps.cut[t.trap()]++
		}
		d.Reason = reasonLate
		e.fail(e.db.Put(d))
	}
	return true
}

// linked notes that a page links to a document that may have been put off.
func (e *engine) linked(id graph.Node, by *store.Doc, kind store.LinkKind) {
	d, err := e.db.Doc(id)
	if err != nil {
		e.fail(err)
		return
	}
	s := e.sites[d.Site]
	if s == nil || d.State != store.Queued || !listed(d) {
		return
	}
	late := d.Reason == reasonLate
	d.FoundOn, d.Via, d.Reason = by.ID, kind, ""
	e.fail(e.db.Put(d))
	if late {
		e.line(s, d)
	}
}

// catchUp puts what was put off in line again, when nothing else is left. It reports whether
// there was any.
func (e *engine) catchUp() (any bool) {
	for _, h := range e.byID {
		for id, c := range h.cursors {
			if s := e.sites[id]; s != nil && !s.stopped() && c.late != graph.None && len(h.front) == 0 {
				c.last, c.late = c.late-1, graph.None // the one before 0 is graph.None
				s.bench.over, any = true, true
				e.wake(h)
			}
		}
	}
	return any
}
