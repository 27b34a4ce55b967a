package crawl

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"forage/crawl/document"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/store"
)

// Requisites are what pages need to look right when an archive is replayed: images, style sheets, scripts and fonts, of whatever
// host. They are no documents: they have no number, are in no list, count against no budget, and nothing is decided by them.
//
// Where a run wants them, each page whose body the archive has gets what was never wanted before in line, in the commit that says that
// the page was fetched. From there the way is that of documents: the frontier says when the host of one may be asked, robots.txt of
// that host is obeyed, and what came is in the archive in the commit that takes it out of the line. So a kill loses none.
//
// At a host documents go first: requisites have the turns that those leave. They hold up no visit, which says what comes next as if
// they were not there, but the cycle is over when they are there, too.

// maxSheets is how many style sheets in a row may name the next thing, so that one which makes up others comes to an end. Sites have
// two or three.
const maxSheets = 5

// fewNeeds is how many requisites of a host the frontier holds at once: a document that comes into line goes behind them.
const fewNeeds = 4

// needsRead is how many are read from the store at once.
const needsRead = 16

// maxHostTries is in how many cycles a host that cannot be asked is tried for what pages need.
const maxHostTries = 3

// A need is a requisite on its way.
type need struct {
	*store.Requisite
	attempts int
	counted  bool // in needLine.pending
}

// needs are the requisites of a cycle.
type needs struct {
	lines []*needLine // one a host
	open  int         // in line or under way, at hosts that may be asked
	out   int         // requests under way, those for robots.txt included
}

// A needLine is what one cycle has in line of requisites at one host. It holds few of them, and reads the others from the store.
type needLine struct {
	cycle   *cycle
	host    *host
	pending int    // in line or under way
	off     bool   // its host is not asked any more: what is in the store is not in line
	front   []item // read, to be offered first

	last   *store.Requisite             // the store was read up to here; nil: not at all
	taken  map[store.RequisiteHash]bool // not to be read: in line or under way, or out of the store with this window
	done   []store.RequisiteHash        // the latter
	out    []*need                      // requests under way
	fresh  []*store.Requisite           // put in line in this window, so that nobody can read them
	behind bool                         // some that were put in line come before last
}

// wantsRequisites reports whether what its pages need is fetched in the cycle.
func (c *cycle) wantsRequisites() bool {
	return c.run.opt.Requisites && c.crawl().archive != nil && !c.run.opt.Unarchived && !c.visit.manner().given
}

// needing reports whether the cycle waits for requisites.
func (c *cycle) needing() bool { return c.needs.open > 0 && !c.run.stopping && c.crawl().err == nil }

// needsStopped is stopped for requisites: a limit of documents is none for what they need.
func (c *cycle) needsStopped() bool {
	return c.closed || c.run.stopping || c.winding && !c.full || c.held || c.site.State == store.SitePaused || c.crawl().paused || c.crawl().Full() != nil
}

// stopped reports whether an item is not to be handed out now.
func (it *item) stopped() bool {
	if it.line != nil {
		return it.cycle.needsStopped()
	}
	return it.cycle.stopped()
}

// hosts calls yield for each host where something of the cycle may be in line; one of both kinds comes twice.
func (c *cycle) hosts(yield func(*host) bool) {
	for _, b := range c.backlogs {
		if !yield(b.host) {
			return
		}
	}
	for _, n := range c.needs.lines {
		if !yield(n.host) {
			return
		}
	}
}

// beginNeeds puts in line what an earlier cycle, or a part of this one that was interrupted, has left.
func (c *cycle) beginNeeds() error {
	if !c.wantsRequisites() {
		return nil
	}
	return c.crawl().db.RequisiteHosts(c.site.ID, func(host string, n int) bool {
		l := c.needLine(host)
		l.add(n - l.pending) // it may have been made, and its host be asked again, just now
		c.loop().wake(l.host)
		return true
	})
}

// needLine returns the cycle's line at a host, and makes it where there is none.
func (c *cycle) needLine(name string) *needLine {
	l := c.loop()
	h := l.host(name)
	for _, n := range h.needs {
		if n.cycle == c {
			return n
		}
	}
	n := &needLine{cycle: c, host: h, taken: map[store.RequisiteHash]bool{}}
	fresh := h.unasked()
	h.needs = append(h.needs, n)
	c.needs.lines = append(c.needs.lines, n)
	switch {
	case fresh:
		c.restore(h)
	case h.givenUp != "":
		l.askAgain(h)
	}
	l.setDelay(h)
	return n
}

// require has fetched what a page needs and was never wanted before.
func (a *answer) require() {
	if a.job.recording.body == nil || !a.wantsRequisites() {
		return
	}
	for _, r := range a.job.content.Requisites {
		a.cycle.require(&store.Requisite{URL: r.URL, Page: a.doc.ID, Sheet: r.Sheet, Steps: "E"})
	}
}

// require has a requisite fetched, unless it was ever wanted before, or is a document that the archive has.
func (c *cycle) require(r *store.Requisite) {
	crawl := c.crawl()
	if crawl.Elsewhere(store.HostOf(r.URL)) {
		return
	}
	added, err := crawl.db.AddRequisite(c.site.ID, r)
	if err != nil || !added {
		crawl.fail(err)
		return
	}
	c.loop().added += len(r.URL)
	if id, err := crawl.db.Find(r.URL); err == nil {
		if _, err := crawl.db.Capture(id); err == nil {
			crawl.fail(crawl.db.DropRequisite(c.site.ID, r))
			return
		}
	}
	n := c.needLine(store.HostOf(r.URL))
	if n.fresh = append(n.fresh, r); n.off { // it waits for the next cycle
		c.touch()
		return
	}
	n.add(1)
	c.loop().wake(n.host)
}

// add counts k requisites more that are in line, or, below 0, that need nothing more.
func (n *needLine) add(k int) {
	n.pending += k
	n.cycle.needs.open += k
	n.cycle.touch()
}

// committed notes that the window has ended: what was put in line can be read, what was taken out cannot.
func (n *needLine) committed() {
	for _, r := range n.fresh {
		n.behind = n.behind || n.last != nil && beforeNeed(r, n.last)
	}
	for _, h := range n.done {
		delete(n.taken, h)
	}
	n.fresh, n.done = nil, nil
}

// beforeNeed reports whether a comes before b in the store.
func beforeNeed(a, b *store.Requisite) bool {
	x, y := a.Hash(), b.Hash()
	return cmp.Or(cmp.Compare(a.Page, b.Page), bytes.Compare(x[:], y[:])) < 0
}

// read takes the next few from the store. It reports false where there are none to be read now.
func (n *needLine) read() bool {
	c := n.cycle
	for {
		seen := 0
		c.crawl().fail(c.crawl().db.Requisites(c.site.ID, n.host.name, n.last, func(r *store.Requisite) bool {
			n.last = r
			seen++
			if h := r.Hash(); !n.taken[h] {
				n.taken[h] = true
				n.front = append(n.front, item{work: fetchNeed, cycle: c, line: n, need: &need{Requisite: r, counted: true}})
			}
			return len(n.front) < needsRead && seen < 1<<10
		}))
		switch {
		case len(n.front) > 0:
			return true
		case c.crawl().err != nil:
			return false
		case seen > 0:
		case n.behind:
			n.last, n.behind = nil, false
		default:
			return false
		}
	}
}

// fill appends requisites to into until it has n, as backlog.fill does documents.
func (n *needLine) fill(most int, into []item) (_ []item, ok bool) {
	c := n.cycle
	for left := 0; len(into) < most; {
		if len(n.front) == 0 && (n.pending == 0 || !n.read()) {
			return into, true
		}
		it := n.front[0]
		n.front = n.front[1:]
		url := it.need.URL
		if why := n.leftOut(url); why != "" {
			n.giveUp(it.need, why)
			if left++; left == 1<<10 { // so much is left out that it is committed first
				c.loop().wake(n.host)
				return into, true
			}
			continue
		}
		if c.site.Rules.Robots != "ignore" {
			o := n.host.origin(scope.Origin(url))
			if !o.hasRules(c) {
				n.front = slices.Insert(n.front, 0, it)
				n.host.blocked = true
				return append(into, item{work: fetchRobots, cycle: c, line: n, origin: o}), false
			}
			n.host.crawlDelay = max(n.host.crawlDelay, o.rules.CrawlDelay())
			if !o.rules.Allowed(url) {
				n.giveUp(it.need, "robots")
				continue
			}
		}
		into = append(into, it)
	}
	return into, true
}

// leftOut returns why a requisite is not fetched under the rules of the site, "" if it is.
func (n *needLine) leftOut(url string) string {
	switch c := n.cycle; {
	case c.crawl().Elsewhere(n.host.name):
		return store.ReasonElsewhere
	case c.site.scope.Excludes(url):
		return "exclude"
	case c.acts(&store.Doc{URL: url}):
		return store.ReasonAction
	}
	return ""
}

// fillNeeds appends a few requisites of a host, in turn of the cycles that have some there.
func (h *host) fillNeeds(most int, into []item) []item {
	if len(h.needs) == 0 {
		return into
	}
	h.needs = append(h.needs[1:], h.needs[0])
	for _, n := range h.needs {
		if n.off || n.cycle.needsStopped() {
			continue
		}
		var ok bool
		if into, ok = n.fill(most, into); !ok || len(into) >= most {
			break
		}
	}
	return into
}

// sent notes that a request is under way.
func (n *needLine) sent(j *job) {
	if j.need != nil {
		n.out = append(n.out, j.need)
	}
}

// came notes that it is no more.
func (n *needLine) came(j *job) {
	n.out = slices.DeleteFunc(n.out, func(r *need) bool { return r == j.need })
}

// settle notes that a requisite needs nothing more.
func (n *needLine) settle(r *need) {
	crawl := n.cycle.crawl()
	crawl.fail(crawl.db.DropRequisite(n.cycle.site.ID, r.Requisite))
	h := r.Hash()
	n.taken[h] = true
	if n.done = append(n.done, h); r.counted {
		n.add(-1)
	}
	n.cycle.touch()
}

// giveUp settles a requisite that is not fetched.
func (n *needLine) giveUp(r *need, why string) {
	n.cycle.report(&store.Doc{URL: r.URL, FoundOn: r.Page}, why)
	n.settle(r)
}

// putOff leaves what is in line for the next cycle, since the host is not to be asked; for good where that was so in several. The
// frontier holds none of it.
func (n *needLine) putOff(why string) {
	if n.off = true; n.pending == 0 {
		return
	}
	c := n.cycle
	crawl := c.crawl()
	n.reset()
	crawl.fail(crawl.db.Requisites(c.site.ID, n.host.name, nil, func(r *store.Requisite) bool {
		switch r.Tries++; {
		case n.taken[r.Hash()]:
		case r.Tries < maxHostTries:
			crawl.fail(crawl.db.PutRequisite(c.site.ID, r))
		default:
			n.giveUp(&need{Requisite: r}, why)
		}
		return crawl.err == nil
	}))
	n.add(-n.pending)
	c.run.opt.Log.Warn("what pages need is left for later: its host is left alone", "site", c.site.Name, "host", n.host.name, "reason", why)
}

// reset forgets what was read. What is under way is counted no more.
func (n *needLine) reset() {
	n.front, n.last, n.behind = nil, nil, false
	clear(n.taken)
	for _, h := range n.done {
		n.taken[h] = true
	}
	for _, r := range n.out {
		n.taken[r.Hash()], r.counted = true, false
	}
}

// goOn puts in line again what putOff left, since the host may be asked again.
func (n *needLine) goOn() {
	if !n.off {
		return
	}
	n.off = false
	n.reset()
	waits := map[store.RequisiteHash]bool{}
	n.cycle.crawl().fail(n.cycle.crawl().db.Requisites(n.cycle.site.ID, n.host.name, nil, func(r *store.Requisite) bool {
		waits[r.Hash()] = true
		return true
	}))
	for _, r := range n.fresh {
		waits[r.Hash()] = true
	}
	for h := range n.taken {
		delete(waits, h)
	}
	n.add(len(waits) - n.pending)
}

// putOffStalled puts off what waits at hosts that ask to be left alone for longer than a run waits, if nothing else is waited for.
func (c *cycle) putOffStalled() {
	now := c.loop().clock.Now()
	for _, n := range c.needs.lines {
		if n.pending > 0 && c.loop().queue.State(n.host.id).Next.Sub(now) <= patience {
			return
		}
	}
	for _, n := range c.needs.lines {
		c.loop().queue.Spill(n.host.id)
		n.putOff("it asks to be left alone for longer than a run waits")
	}
}

// dropNeeds gives up what is in line, in memory. Nothing is under way.
func (c *cycle) dropNeeds() {
	l := c.loop()
	for _, n := range c.needs.lines {
		h := n.host
		l.queue.Spill(h.id)
		h.needs = slices.DeleteFunc(h.needs, func(o *needLine) bool { return o == n })
		l.part(h, c.crawl())
	}
	c.needs = needs{}
}

// needed takes in the answer to a request for a requisite.
func (c *cycle) needed(j *job) {
	n, r, o := j.line, j.need, j.out
	crawl := c.crawl()
	c.rec.Bytes += o.Wire
	c.rec.RequisiteBytes += o.Wire
	answers := int64(0)
	if o.Class.Answered() {
		answers = 1
		c.rec.Requisites++
		c.run.required++
	}
	crawl.fail(crawl.db.CountRequisites(c.site.ID, answers, o.Wire))
	if o.Transient() {
		if !j.first || o.Class != fetch.Timeout { // else it had 3 s only, see firstWait
			r.attempts++
		}
		switch {
		case r.attempts >= fetches:
			n.giveUp(r, o.Class.String())
		case r.counted: // else it waits for the next cycle
			n.front = append(n.front, j.item)
			c.loop().wake(n.host)
		}
		return
	}
	switch {
	case o.Class == fetch.Redirect:
		if to, err := scope.Normalise(o.Location, nil); err == nil && len(r.Steps)-len(strings.TrimRight(r.Steps, "R")) < fetch.MaxRedirects {
			c.require(&store.Requisite{URL: to, Page: r.Page, Sheet: r.Sheet, Steps: r.Steps + "R"})
		}
	case strings.Count(r.Steps, "E") <= maxSheets:
		for _, more := range j.content.Needs() {
			c.require(&store.Requisite{URL: more.URL, Page: r.Page, Sheet: more.Sheet, Steps: r.Steps + "E"})
		}
	}
	n.settle(r)
	if n.pending > 0 {
		c.loop().wake(n.host)
	}
}

// recordNeed notes what is to be told of the answer to a request for a requisite, or for the robots.txt of its host.
func (c *cycle) recordNeed(j *job, r *recording) {
	r.role = roleRequisite
	if j.work == fetchRobots {
		if c.site.scope.Contains(j.origin.name + "/") {
			r.role = roleRobots + " " + j.origin.name
		}
		return
	}
	r.from, r.steps = j.need.Page, j.need.Steps
	if rules := j.host.origin(scope.Origin(j.need.URL)).rules; rules != nil {
		r.robots = rules.Said(j.need.URL)
	}
}

// need makes the request for a requisite. Only style sheets are held: of what else comes nobody wants to know but the archive.
func (w *worker) need(j *job) {
	w.job, j.content = j, nil
	j.request.Buffer, j.request.Stream = w.buf[:0], func(o *fetch.Outcome, _ []byte) (func(io.Reader), bool) {
		if j.need.Sheet && document.IsSheet(o) {
			return nil, false
		}
		return func(body io.Reader) { io.Copy(io.Discard, body) }, false
	}
	out, err := w.client.Fetch(j.ctx, &j.request)
	if j.out = out; err != nil {
		j.err = err
	}
	j.at = j.cycle.crawl().wall()
	if j.err == nil && out.Class == fetch.OK && j.need.Sheet && document.IsSheet(out) {
		j.content = document.Sheet(out, j.need.URL)
	}
	w.capture(j, out)
	if w.keepBuffer(j) && out.Large() {
		j.hold(j.content.Size())
	}
}
