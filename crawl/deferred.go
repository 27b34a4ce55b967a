package crawl

import (
	"forage/crawl/scope"
	"forage/graph"
	"forage/store"
)

// reasonDeferred is why URLs wait that have been put off, see scope.Lists.
const reasonDeferred = "put off until nothing else is left: little of what its list names is there, or too little of that was tried"

// A wait is what a backlog knows of the documents that its cursor has passed over because their
// turn had not come, and of the second cursor that comes back for them. They are not counted as in
// line until it does.
type wait struct {
	turns   [numTurns]bool // some wait for these
	first   graph.Node     // none before it waits; graph.None: none waits at all
	back    bool           // the second cursor is at work
	at, end graph.Node     // where it is, and how far it goes
}

// defers reports whether d, which the store's queue comes to, is not handed out now: because it
// waits for a later turn, or is left out in the last one.
func (b *backlog) defers(d *store.Doc) bool {
	c := b.cycle
	t := c.turnOf(d)
	if t == dueLast && c.waits(t) && c.unheard(d) {
		c.visit.leftOut(d)
	}
	switch {
	case t > c.turn:
		b.wait.turns[t] = true
		b.wait.first = min(b.wait.first, d.ID)
	case t == dueNever:
		c.stop(b, d)
		return true
	case !c.waits(t):
		return false
	}
	b.add(-1)
	return true
}

// turnOf is when d is due, with what its list names taken into account.
func (c *cycle) turnOf(d *store.Doc) turn {
	t := c.due(d)
	if t < dueDoubtful && c.visit.manner().doubts {
		why, err := c.lists.Doubt(d)
		c.crawl().fail(err)
		if why != "" {
			t = dueDoubtful
			if d.Reason != reasonDeferred {
				if !d.Main {
					c.traps.Tell(why)
				}
				d.Reason = reasonDeferred
				c.crawl().fail(c.crawl().db.Put(d))
			}
		}
	}
	return t
}

// waits reports whether documents of a turn wait for another cycle.
func (c *cycle) waits(t turn) bool { return t == dueLast && c.visit.manner().leavesPoor }

// linked notes that a page links to a document that may have been put off.
func (c *Crawl) linked(id graph.Node, by *store.Doc, kind store.LinkKind) {
	d, err := c.doc(id)
	if err != nil {
		c.fail(err)
		return
	}
	s := c.at(d.Site)
	if s == nil || !s.busy() || d.State != store.Queued || !scope.Listed(d) {
		return
	}
	d.FoundOn, d.Via = by.ID, kind
	c.fail(c.db.Put(d))
	if s.cycle.visit.manner().given {
		return
	}
	if b := s.cycle.backlogOf(d); b.undefer(d) {
		b.enqueue(fetchNew, d.ID)
	}
}

// undefer notes that d is not put off for what its list names any more. It reports whether it was,
// and has to be put in line by name.
func (b *backlog) undefer(d *store.Doc) bool {
	if d.Reason != reasonDeferred {
		return false
	}
	d.Reason = ""
	b.cycle.crawl().fail(b.cycle.crawl().db.Put(d))
	return !b.ahead(d.ID)
}

// ahead reports whether a cursor of the backlog will come to a document of the store's queue.
func (b *backlog) ahead(id graph.Node) bool {
	return b.cycle.visit.manner().fromQueue && (b.last == graph.None || id > b.last || b.wait.back && (b.wait.at == graph.None || id > b.wait.at) && id <= b.wait.end)
}

// resumeDeferred begins the next turn of documents that wait, when nothing else is left. It reports
// whether there are any.
func (c *cycle) resumeDeferred() (any bool) {
	for t := c.turn + 1; t < numTurns && !any; t++ {
		if c.waits(t) {
			continue
		}
		for _, b := range c.backlogs {
			if b.wait.turns[t] && b.host.givenUp == "" {
				any = b.comeBack() || any
			}
		}
		if any {
			c.turn = t
			c.lists.Over = t >= dueDoubtful
			for _, b := range c.backlogs {
				if b.wait.first != graph.None && b.host.givenUp == "" {
					b.comeBack()
				}
			}
		}
	}
	return any
}

// comeBack sends the second cursor over what waits, all of which is in line from here on. What is
// to wait on it passes over once more. It reports whether there is anything.
func (b *backlog) comeBack() bool {
	n, from := 0, b.wait.first-1 // the one before 0 is graph.None
	crawl, end := b.cycle.crawl(), b.last
	crawl.fail(crawl.db.Queue(b.cycle.site.ID, b.host.name, from, func(id graph.Node) bool {
		if id > end {
			return false
		}
		if _, ok := crawl.inHand[id]; !ok {
			n++
		}
		return true
	}))
	b.wait = wait{first: graph.None, back: n > 0, at: from, end: end}
	b.add(n)
	b.cycle.loop().wake(b.host)
	return n > 0
}
