package crawl

import (
	"forage/crawl/scope"
	"forage/graph"
	"forage/store"
)

// reasonDeferred is why URLs wait that have been put off, see scope.Lists.
const reasonDeferred = "put off until nothing else is left: little of what its list names is there, or too little of that was tried"

// defers reports whether d, which the store's queue comes to, is to wait until the end, and
// notes it so.
func (b *backlog) defers(d *store.Doc) bool {
	c := b.cycle
	if !c.visit.manner().doubts {
		return false
	}
	why, err := c.lists.Doubt(d)
	c.crawl().fail(err)
	if why == "" {
		return false
	}
	b.deferred = min(b.deferred, d.ID)
	b.later++
	b.add(-1)
	if d.Reason != reasonDeferred {
		if !d.Main {
			c.traps.Tell(why)
		}
		d.Reason = reasonDeferred
		c.crawl().fail(c.crawl().db.Put(d))
	}
	return true
}

// linked notes that a page links to a document that may have been put off.
func (c *Crawl) linked(id graph.Node, by *store.Doc, kind store.LinkKind) {
	d, err := c.doc(id)
	if err != nil {
		c.fail(err)
		return
	}
	s := c.sites[d.Site]
	if s == nil || !s.busy() || d.State != store.Queued || !scope.Listed(d) {
		return
	}
	d.FoundOn, d.Via = by.ID, kind
	c.fail(c.db.Put(d))
	if b := s.cycle.backlogOf(d); b.undefer(d) {
		b.enqueue(fetchNew, d.ID)
	}
}

// undefer notes that d is not to wait until the end any more. It reports whether it was.
func (b *backlog) undefer(d *store.Doc) bool {
	if d.Reason != reasonDeferred {
		return false
	}
	d.Reason = ""
	b.cycle.crawl().fail(b.cycle.crawl().db.Put(d))
	if b.deferred == graph.None || d.ID < b.deferred || b.last != graph.None && d.ID > b.last {
		return false // the queue has not come to it yet
	}
	b.later--
	return true
}

// resumeDeferred puts what was put off in line again, when nothing else is left. It reports
// whether there was any.
func (c *cycle) resumeDeferred() (any bool) {
	for _, b := range c.backlogs {
		if b.deferred != graph.None && b.host.givenUp == "" {
			b.last, b.deferred = b.deferred-1, graph.None // the one before 0 is graph.None
			n := b.later
			b.later = 0
			b.add(n)
			c.lists.Over, any = true, any || n > 0
			c.loop().wake(b.host)
		}
	}
	return any
}
