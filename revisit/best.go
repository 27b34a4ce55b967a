package revisit

import "forage/graph"

// Best is residual coverage, what a user gets who names no policy. Each column of new pages
// that a past cycle found is a pattern: documents that showed it are expected to show what
// the next cycle brings. A pattern has a weight, which fades with its age, and an urgency,
// which grows while no document that shows it is fetched and falls when one is; a document is
// worth the weight × urgency of its patterns over the time that it was watched. So the
// documents that one cycle fetches complete each other, as in a greedy cover, and what was
// not looked at for long becomes urgent again.
//
// What a document itself has shown is weighed against what its role has shown (the newest
// four of a template: what the latest post did, the next one will do), its template, and a
// prior learnt on other sites. The last page of a list that goes on over numbered pages is a
// role by itself, of the whole site: it shows the next page of the list, which no other page
// shows. Of documents of one template what is not known of each by itself counts less with
// every one fetched in the cycle, and less the more of them were gone of late: sites drop
// templates whole. A document that was gone twice is fetched again only if another one newly
// links to it. Every 20th fetch goes to the document fetched longest ago.
//
// After a full recrawl every document has been fetched, and the same estimates hold. What is
// known then of all documents alike also tells duplicates, which showed the same pages without one
// exception: one of them is fetched, the others are left for when little else is worth it. Time of a
// cycle O(documents log documents + patterns shown), memory about 135 bytes a document
// and 12 bytes for each pattern that a document shows.
//
// Each of its parts has a file: bestclock.go (time), bestroles.go (the newest of a template, the
// last of a list), bestpatterns.go and bestpools.go (what is known of what documents show),
// bestranking.go (what a fetch is worth), bestduplicates.go, bestfates.go (documents that are gone),
// bestaudit.go, and bestconstants.go, which tells where the numbers come from. This file has the
// events in the order in which a cycle brings them.
type Best struct {
	clock
	roles
	patterns
	ranking
	rotation
	pools      pools
	fates      fates
	duplicates duplicates

	cfg   tuning
	prior *Prior
	stop  float64 // no fetch that is worth less

	docs      []doc      // by document
	done      []bool     // by document: fetched in this cycle, or known to be the same as before
	answered  []answered // of this cycle
	replaying bool       // see Replaying
}

var (
	_ Replayer       = (*Best)(nil)
	_ Auditor        = (*Best)(nil)
	_ SignalObserver = (*Best)(nil)
)

// doc is what Best knows of one document, beside what it shows.
type doc struct {
	profile      Profile
	last         int32 // cycle of the last fetch that answered, of Learn before that; −1: not known
	misses       uint8 // fetches in a row that found it gone, at most 2: then it is fetched no more
	role         int8  // its rank now, lastPage, or −1 none
	formerHolder bool  // it holds a role or held one: segments has it
}

// answered is a fetch of this cycle. What it adds to the time that the document was watched is
// known when the cycle ends.
type answered struct {
	v     graph.Node
	since int32 // cycle of the fetch before
}

// NewBest returns residual coverage that stops a cycle when a fetch is expected to find less
// than the share stop of a cycle's new pages; 0: never.
func NewBest(stop float64) *Best { return newBest(bestTuning, stop) }

func newBest(cfg tuning, stop float64) *Best {
	return &Best{
		cfg: cfg, prior: &prior, stop: stop,
		clock:      newClock(cfg.fade, cfg.idle),
		roles:      roles{segments: make(map[graph.Node][]segment)},
		pools:      make([]pool, 1),
		ranking:    ranking{heap: byValue()},
		duplicates: duplicates{fetched: make(map[uint64]bool)},
		fates:      make([]fate, 1),
	}
}

// Learn takes in a document. Its roles, like all roles, change with the cycle.
func (b *Best) Learn(v graph.Node, p Profile) {
	for int(v) >= len(b.docs) {
		b.docs = append(b.docs, doc{last: -1, role: -1})
		b.done = append(b.done, false)
		b.entries = append(b.entries, nil)
		b.patternOf = append(b.patternOf, -1)
		b.next = append(b.next, graph.None)
	}
	d := &b.docs[v]
	if d.last >= 0 {
		p.Born = d.profile.Born
		d.profile = p
		return
	}
	d.profile, d.last = p, int32(b.cycle)
	d.profile.Born = b.cycle
	b.queued(v, d.last)
	for int(p.Template) >= len(b.size) {
		b.addTemplate()
		b.taken = append(b.taken, 0)
		b.pools = append(b.pools, make(pools, 1+maxRoles)...)
		b.fates = append(b.fates, fate{})
	}
	b.extend(v, &d.profile)
	b.join(v, p.Template)
}

// Begin values all documents.
func (b *Best) Begin(Time, int) {
	if b.cycle == 0 {
		b.assign()
	}
	b.cycle++
	b.answered, b.spent, b.outage = b.answered[:0], 0, 0
	clear(b.done)
	clear(b.taken)
	b.age()
	b.fates.fade(b.cfg.fateFade)
	b.weigh()
	b.heap.Items = b.heap.Items[:0]
	if !b.replaying {
		b.duplicates.compare(b.entries, b.base)
		b.rank()
	}
}

// Replaying says whether cycles are over already, and need no ranking.
func (b *Best) Replaying(on bool) { b.replaying = on }

// Next returns the document that is worth most, or now and then the one fetched longest ago.
func (b *Best) Next() (graph.Node, bool) {
	b.audit = false
	if b.cfg.audit > 0 && (b.fetches+b.spent)%b.cfg.audit == b.cfg.audit-1 {
		if v, ok := b.longestAgo(); ok {
			b.audit = true
			return v, true
		}
	}
	v, ok := b.top()
	if !ok || b.heap.Items[0].value < b.stop {
		return 0, false
	}
	return v, true
}

// Observe takes in what a fetch showed of earlier cycles' pages. Those of this cycle are part of
// no pattern before End.
func (b *Best) Observe(r Refetch) {
	b.spent++
	d := &b.docs[r.Page]
	b.take(r.Page)
	b.revive(r.Relinked)
	if r.Failed {
		return
	}
	b.fates.count(d.profile.Template, d.role == lastPage, 1, r.Gone)
	if r.Gone {
		b.outage++
		d.misses = min(2, d.misses+1)
		d.last = int32(b.cycle)
		b.queued(r.Page, d.last)
		return
	}
	d.misses = 0
	b.answered = append(b.answered, answered{r.Page, d.last})
	d.last = int32(b.cycle)
	b.queued(r.Page, d.last)
	b.showed(r.Page, r.Led)
}

// take marks v as fetched. What it shows is less urgent now, whatever it will have shown, and
// its duplicates are worth less.
func (b *Best) take(v graph.Node) {
	b.done[v] = true
	b.taken[b.docs[v].profile.Template]++
	b.duplicates.take(v)
	b.relieve(v)
}

// ObserveSignal leaves documents out of the cycle as if their servers had answered 304 at no
// cost: the time since their last fetch showed nothing. What they usually show remains urgent
// all the same: others show it too, and these may have changed.
func (b *Best) ObserveSignal(same []graph.Node) {
	for _, v := range same {
		d := &b.docs[v]
		if b.done[v] || d.misses > 0 {
			continue
		}
		b.done[v] = true
		b.answered = append(b.answered, answered{v, d.last})
		d.last = int32(b.cycle)
		b.queued(v, d.last)
	}
	b.prune()
}

// End turns what the cycle found into patterns. The clock ticks first, since exposure counts the
// cycle that ends; roles change last, since the cycle's pages were shown by those that held them.
func (b *Best) End(c Cycle) {
	b.duplicates.told = c.Full
	b.fetches += b.spent
	b.excuse()
	b.tick(c.H.NumNew() > 0)
	for _, a := range b.answered {
		b.expose(a.v, a.since)
	}
	if c.Full {
		b.recrawled(c)
	}
	b.keep(c.H)
	b.assign()
}

// recrawled takes in that every document was fetched: which are gone, and that nothing of what
// the others showed before is left to find.
func (b *Best) recrawled(c Cycle) {
	for _, v := range c.Gone {
		b.docs[v].misses = 2
	}
	for _, v := range c.Back {
		b.docs[v].misses = 0
	}
	for i := range b.live {
		b.live[i].urgency = 0
	}
	b.oldest = b.oldest[:0]
	for v := range b.docs {
		d := &b.docs[v]
		if d.last < 0 || d.misses > 1 {
			continue
		}
		if since := d.last; since < int32(b.cycle) {
			d.last = int32(b.cycle)
			b.expose(graph.Node(v), since)
		}
		b.queued(graph.Node(v), d.last)
	}
}
