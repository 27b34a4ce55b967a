package crawl

import (
	"slices"
	"time"

	"forage/crawl/scope"
	"forage/frontier"
	"forage/graph"
	"forage/store"
)

// A work says what an item of the frontier is for.
type work uint8

const (
	fetchNew    work = iota // a document that waits in the queue
	fetchOld                // an old document, again
	fetchRobots             // the robots.txt of an origin
	fetchProbe              // a path that should not exist
	fetchNeed               // what a page needs to look right, see requisites.go
)

// An item is one request to be made.
type item struct {
	work    work
	cycle   *cycle
	backlog *backlog
	id      graph.Node // of the document
	doc     *store.Doc // what is known of it, from the moment that it is offered
	origin  *origin    // of fetchRobots and fetchProbe
	line    *needLine  // where it is in line as a requisite, or for the sake of one; nil: it is in a backlog
	need    *need      // of fetchNeed
	asks    *question  // of fetchProbe: what is to be found out; nil: what the site says of what is not there
}

func (it *item) isDocument() bool { return it.work == fetchNew || it.work == fetchOld }

// A backlog is what one cycle has in line at one host: documents put in line by name, then, in a
// full recrawl, old ones, then the store's queue where the visit draws from it.
type backlog struct {
	cycle *cycle
	host  *host
	front []item
	head  []item // front, with the item before it that fill has just taken
	old   []graph.Node
	last  graph.Node // the store's queue has been handed out up to here; graph.None: not at all

	pending int       // documents in line or under way
	taken   int       // of these, those that were offered to be fetched
	holds   bool      // the first one waits for answers of others, see backlog.waitsFor
	wait    wait      // what waits for a later turn
	heeded  []*origin // whose robots.txt has been taken in, see cycle.heedRobots
}

// backlog returns the cycle's backlog at a host, and makes it where there is none.
func (c *cycle) backlog(name string) *backlog {
	l := c.loop()
	h := l.host(name)
	for _, b := range h.backlogs {
		if b.cycle == c {
			return b
		}
	}
	b := &backlog{cycle: c, host: h, last: c.from - 1, wait: wait{first: graph.None}} // the one before 0 is graph.None
	alone, fresh := len(h.backlogs) == 0, h.unasked()
	h.backlogs = append(h.backlogs, b)
	c.backlogs = append(c.backlogs, b)
	h.joined = !alone
	switch {
	case fresh:
		c.restore(h)
	case h.givenUp != "": // by other cycles: this one finds out for itself
		l.askAgain(h)
	}
	l.setDelay(h)
	l.admit(c, h)
	return b
}

// restore brings the politeness of an earlier run back, at a host that nobody asks yet.
func (c *cycle) restore(h *host) {
	var from time.Time
	if c.resumed { // a power cut leaves no trace of the last requests
		from = c.began.Add(c.delay())
	}
	c.crawl().fail(h.restore(c.crawl(), c.site.Rules.Robots != "ignore", from))
}

// backlogOf is the cycle's backlog at the host of a document.
func (c *cycle) backlogOf(d *store.Doc) *backlog { return c.backlog(store.HostOf(d.URL)) }

// add counts n documents that come into line, or, below 0, that need nothing more. Those at a
// host that is not asked any more do not keep the cycle open.
func (b *backlog) add(n int) {
	b.pending += n
	if b.host.givenUp == "" {
		b.cycle.lineUp(n)
	}
	if n < 0 && len(b.host.needs) > 0 { // the turn that documents leave
		b.cycle.loop().wake(b.host)
	}
	b.cycle.touch()
}

// enqueue puts a document in line by name, behind others that are, unless it is in line already.
func (b *backlog) enqueue(work work, id graph.Node) {
	crawl := b.cycle.crawl()
	if _, ok := crawl.inHand[id]; ok {
		return
	}
	crawl.inHand[id] = nil
	b.front = append(b.front, item{work: work, cycle: b.cycle, backlog: b, id: id})
	b.add(1)
	b.cycle.loop().wake(b.host)
}

// requeue puts a document in line that waits in the store's queue, where it is not: queued tells
// whether it was in that queue before, so that the visit may have come past it already.
func (c *cycle) requeue(d *store.Doc, queued bool) {
	if c.visit.manner().given {
		return
	}
	b := c.backlogOf(d)
	b.undefer(d)
	switch {
	case !b.ahead(d.ID):
		b.enqueue(fetchNew, d.ID)
	case !queued:
		b.add(1)
		c.loop().wake(b.host)
	}
}

// settle notes that a document that was in line needs nothing more.
func (b *backlog) settle(id graph.Node) {
	delete(b.cycle.crawl().inHand, id)
	b.untake(id)
	b.add(-1)
}

// drop gives up what is in line, in memory: what waits in the store goes on waiting there.
func (b *backlog) drop() {
	l, inHand := b.cycle.loop(), b.cycle.crawl().inHand
	h := b.host
	l.queue.Spill(h.id) // what the frontier holds comes back to the backlogs
	for _, it := range b.front {
		if it.isDocument() {
			delete(inHand, it.id)
		} else if it.asks != nil {
			delete(inHand, it.asks.of.id)
		}
	}
	b.front, b.head, b.old, b.pending = nil, nil, nil, 0
	l.quit(b)
}

// fill appends items to into until it has n, in the order in which they are to be fetched.
// ok=false: one is appended that must be answered before anything else of the host is asked for.
func (b *backlog) fill(n int, into []item) (_ []item, ok bool) {
	var queue [64]graph.Node
	for round := 0; len(into) < n; {
		switch c := b.cycle; {
		case len(b.front) > 0:
			it := b.front[0]
			if it.isDocument() && !c.hasRoom() {
				return into, true
			}
			b.head, b.front = b.front, b.front[1:]
			if into, ok = b.offer(it, into); !ok {
				return into, false
			}
		case len(b.old) > 0:
			id := b.old[0]
			b.old = b.old[1:]
			c.crawl().inHand[id] = nil
			if into, ok = b.offer(item{work: fetchOld, cycle: c, backlog: b, id: id}, into); !ok {
				return into, false
			}
		case !c.visit.manner().fromQueue || !c.hasRoom():
			return into, true
		case round == 16: // so much is left out that it is committed first
			c.loop().wake(b.host)
			return into, true
		default:
			round++
			some, at, err := b.queued(queue[:min(len(queue), n-len(into))])
			if err == nil {
				err = c.crawl().db.Prefetch(some)
			}
			if err != nil || len(some) == 0 {
				c.crawl().fail(err)
				return into, true
			}
			for _, id := range some {
				*at = id
				if _, ok := c.crawl().inHand[id]; ok {
					continue // it was put in line by name
				}
				if into, ok = b.offer(item{work: fetchNew, cycle: c, backlog: b, id: id}, into); !ok {
					return into, false
				}
				if len(b.front) > 0 { // a probe, which comes first
					break
				}
			}
		}
	}
	return into, true
}

// queued returns the next documents of the store's queue, as many as into has room for: those that
// were discovered since, then those that waited for their turn. at is the cursor that comes past
// them.
func (b *backlog) queued(into []graph.Node) (some []graph.Node, at *graph.Node, err error) {
	db, site := b.cycle.crawl().db, b.cycle.site.ID
	some = into[:0]
	if err = db.Queue(site, b.host.name, b.last, func(id graph.Node) bool {
		some = append(some, id)
		return len(some) < len(into)
	}); err != nil || len(some) > 0 || !b.wait.back {
		return some, &b.last, err
	}
	if l := b.cycle.loop(); l.open { // what was discovered in the window comes first
		l.wake(b.host)
		return nil, &b.last, nil
	}
	err = db.Queue(site, b.host.name, b.wait.at, func(id graph.Node) bool {
		if id <= b.wait.end {
			some = append(some, id)
		}
		return len(some) < len(into) && id < b.wait.end
	})
	b.wait.back = len(some) > 0
	return some, &b.wait.at, err
}

// putFirst puts an item first in line: in the place of the one that fill took from there, so that the
// first one can wait for others in a line of any length.
func (b *backlog) putFirst(it item) {
	if n := len(b.front); len(b.head) == n+1 && (n == 0 || &b.head[1] == &b.front[0]) {
		b.front = b.head
		b.front[0] = it
	} else {
		b.front = append([]item{it}, b.front...)
	}
	b.head = nil
}

// offer appends it to into if it may be fetched, or the request for the robots.txt that must be
// known first: then ok is false. What the rules or robots.txt leave out is settled here, because
// it costs no request. This is where a document's record is read, once on its way.
func (b *backlog) offer(it item, into []item) (_ []item, ok bool) {
	c := b.cycle
	if it.work == fetchProbe { // what it shows is needed to read all others
		b.host.blocked = true
		return append(into, it), false
	}
	crawl := c.crawl()
	d := it.doc
	if d == nil {
		var err error
		if d, err = crawl.doc(it.id); err != nil {
			crawl.fail(err)
			return into, false
		}
		it.doc = d
	}
	_, named := crawl.inHand[it.id]
	if it.work == fetchNew && d.State != store.Queued {
		if named {
			b.settle(it.id)
		}
		return into, true // it is not in line by the store's queue any more
	}
	if why := c.site.scope.Skip(d); why != "" {
		c.leaveOut(b, d, why)
		return into, true
	}
	if c.acts(d) {
		c.leaveOut(b, d, store.ReasonAction)
		return into, true
	}
	if it.work == fetchNew {
		switch {
		case c.variant(b, d), c.misguided(b, d), !named && b.defers(d):
			return into, true
		case named && c.due(d) == dueNever:
			c.stop(b, d)
			return into, true
		case !named && c.visit.holds(d):
			b.add(-1)
			return into, true
		case b.waitsFor(d):
			crawl.inHand[it.id] = d
			b.putFirst(it)
			b.holds = true
			return into, false
		}
	}
	crawl.inHand[it.id] = d
	if c.site.Rules.Robots == "ignore" {
		b.take(it.work, d)
		return append(into, it), true
	}
	o := b.host.origin(scope.Origin(d.URL))
	if !o.hasRules(c) {
		// The host may be asked again much later only: the record is read once more then.
		it.doc, crawl.inHand[it.id] = nil, nil
		b.putFirst(it)
		b.host.blocked = true
		return append(into, item{work: fetchRobots, cycle: c, backlog: b, origin: o}), false
	}
	if c.heedRobots(b, o) { // a probe is first in line now
		b.front = slices.Insert(b.front, 1, it)
		return into, true
	}
	if !o.rules.Allowed(d.URL) || d.Given != "" && !o.rules.Allowed(d.Given) {
		c.leaveOut(b, d, "robots")
		return into, true
	}
	b.take(it.work, d)
	return append(into, it), true
}

// turns is how many items in a row a site gives of a host that it shares.
const turns = 8

// Fill gives out items of a host for the frontier.
func (l *Loop) Fill(id frontier.Host, max int, into []item) (given []item) {
	h := l.hosts.byID[id]
	if h.blocked || h.givenUp != "" || h.waits || len(h.backlogs)+len(h.needs) == 0 {
		return into
	}
	from, n := len(into), len(into)+max
	defer func() {
		if len(given) == from && !h.blocked {
			given = h.fillNeeds(min(n, from+fewNeeds), given)
		}
		if len(given) == 0 && !h.blocked && !slices.ContainsFunc(h.backlogs, func(b *backlog) bool { return b.cycle.crowded }) {
			l.acquainted(h) // nothing there is to be asked for, whatever room there is
		}
	}()
	// Sites that share a host share its turns: each gives its part, and those that have more fill
	// up what others leave.
	if len(h.backlogs) > 1 {
		h.backlogs = append(h.backlogs[1:], h.backlogs[0])
	}
	some := make([]*backlog, 0, len(h.backlogs))
	for _, b := range h.backlogs {
		if !b.cycle.stopped() {
			some = append(some, b)
		}
	}
	for len(some) > 0 && len(into) < n {
		more := some[:0]
		for i, b := range some {
			part := n
			if len(some)-i > 1 || len(more) > 0 {
				part = min(n, len(into)+turns)
			}
			var ok bool
			if into, ok = b.fill(part, into); !ok {
				return into
			}
			if len(into) == part {
				more = append(more, b)
			}
		}
		some = more
	}
	return into
}

// Spill takes items back, to the front of their backlogs. A request for robots.txt is made anew
// when the document is offered for which it was to be made.
func (l *Loop) Spill(id frontier.Host, items []item) {
	if slices.ContainsFunc(items, func(it item) bool { return it.work == fetchRobots || it.work == fetchProbe }) {
		l.hosts.byID[id].blocked = false // until it is offered again others may have their turn
	}
	items = slices.DeleteFunc(slices.Clone(items), func(it item) bool { return it.work == fetchRobots })
	for _, it := range slices.Backward(items) {
		if it.line != nil {
			it.line.front = slices.Insert(it.line.front, 0, it)
		}
	}
	items = slices.DeleteFunc(items, func(it item) bool { return it.line != nil })
	for end := len(items); end > 0; { // row by row of one backlog, the last first
		b, from := items[end-1].backlog, end-1
		for from > 0 && items[from-1].backlog == b {
			from--
		}
		b.front = slices.Concat(items[from:end], b.front)
		end = from
	}
}
