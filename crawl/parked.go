package crawl

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"forage/crawl/document"
	"forage/graph"
	"forage/internal/heap"
	"forage/store"
)

// Where very many sites are open, those that have to wait for their host, and of which little is known
// yet, are parked: what is kept of one are the few bytes of parked, some hundred instead of several
// thousand. All else is in the store, from where it is read back when the host may be asked again, a link
// leads to the site, or somebody asks for it. So is what is kept of a first visit that has ended, which a
// link may open again.
//
// To read a site back is what a process does that goes on with an interrupted visit, without the wait for
// requests that it would know nothing of. It takes some 0.2 ms.

const (
	manyOpen   = 4096                   // cycles that are open without any being parked
	mostKnown  = 32                     // documents of a site that is parked
	worthAWait = 500 * time.Millisecond // a wait for which it is parked
	mostBegun  = 1024                   // sites that begin, or come back, without having been asked for anything yet
)

// A parked is a cycle that is parked, or a first visit that is over.
type parked struct {
	run     *run
	site    store.SiteID
	cycle   store.Cycle
	slot    int // in run.cycles
	open    int // documents in line
	over    bool
	due     time.Time // when its host may be asked
	since   time.Time
	seen    observations
	rows    []uint64 // of its pages, see document.Rows.Counts
	failure string   // of one that is over
	key     uint64   // hash of withinHost
	next    *parked  // another one with this key
	saves   int      // parking.saves at the time: what it wrote last is committed when there are more
	place   int      // in the heap; -1: none
}

// parking is what is parked of a store.
type parking struct {
	bySite map[store.SiteID]*parked
	byHost map[uint64]*parked // by parked.key
	due    heap.Heap[*parked] // those that are not over
	saves  int                // windows that ended
}

func newParking() parking {
	return parking{
		bySite: map[store.SiteID]*parked{}, byHost: map[uint64]*parked{},
		due: heap.Heap[*parked]{
			Before: func(a, b *parked) bool {
				if !a.due.Equal(b.due) {
					return a.due.Before(b.due)
				}
				return a.site < b.site
			},
			Moved: func(p *parked, place int) { p.place = place },
		},
	}
}

func (ps *parking) add(p *parked) {
	ps.bySite[p.site] = p
	p.next = ps.byHost[p.key]
	ps.byHost[p.key] = p
	if p.place = -1; !p.over {
		ps.due.Push(p)
	}
}

func (ps *parking) remove(p *parked) {
	delete(ps.bySite, p.site)
	if first := ps.byHost[p.key]; first != p {
		for first.next != p {
			first = first.next
		}
		first.next = p.next
	} else if p.next != nil {
		ps.byHost[p.key] = p.next
	} else {
		delete(ps.byHost, p.key)
	}
	if p.place >= 0 {
		ps.due.Remove(p.place)
	}
}

func parkedKey(within string) uint64 { return xxhash.Sum64String(within) }

// parkSome parks those of some cycles that can be, when everything is committed.
func (c *Crawl) parkSome(some []*cycle) {
	if len(c.sites) <= c.loop.manyOpen || c.err != nil {
		return
	}
	now := c.loop.clock.Now()
	for _, cy := range some {
		s := cy.site
		if cy.touched || c.sites[s.ID] != s || s.cycle != cy || len(s.next) > 0 || cy.run.over || cy.rec.Kind != store.FirstVisit {
			continue
		}
		if _, first := cy.visit.(*firstVisit); !first {
			continue
		}
		if cy.closed {
			if !cy.full && (cy.trouble == "" || !cy.rec.Done) {
				c.park(cy, now)
			}
			continue
		}
		due, ok, err := cy.waitsLong(now)
		if ok && err == nil {
			cy.took(now)
			if cy.stored != recordHash(cy.rec) {
				err = c.db.PutCycle(cy.rec)
			}
		}
		if c.fail(err); c.err != nil {
			return
		}
		if ok {
			cy.dropNeeds()
			cy.backlogs[0].drop()
			if cy.backlogs = nil; c.err != nil {
				return // it is closed like all others
			}
			cy.back(false)
			c.park(cy, due)
		}
	}
}

// waitsLong reports whether an open cycle has nothing to do until its host may be asked, and when that is,
// and whether all that is known of its site can be read back.
func (c *cycle) waitsLong(now time.Time) (due time.Time, ok bool, err error) {
	if c.stopped() || c.crowded || c.inflight > 0 || c.needs.open > 0 || c.open == 0 || c.turn != dueNow || c.reconsider || c.asked > 0 ||
		c.trouble != "" || c.lost != "" || c.limit != "" || c.mute || c.seen.repeats != nil || len(c.traps.Cut()) > 0 || len(c.backlogs) != 1 {
		return due, false, nil
	}
	b := c.backlogs[0]
	h := b.host
	if b.pending != c.open || b.holds || b.wait.back || b.wait.first != graph.None || len(h.backlogs) != 1 || h.givenUp != "" || h.failed > 0 || h.waits {
		return due, false, nil
	}
	st := c.loop().queue.State(h.id)
	wait := st.Next.Sub(now)
	if st.Paused || st.Blocked > 0 || wait < worthAWait || wait > patience {
		return due, false, nil
	}
	for _, o := range h.origins {
		if o.tries > 0 || o.rules != nil && c.crawl().now()+store.Time(wait/time.Second)+mostLate >= o.expires {
			return due, false, nil // they would be asked for again each time
		}
	}
	counts, err := c.crawl().db.Counters(c.site.ID)
	if err != nil || counts.Known() > mostKnown || counts.Kind[store.Sitemap]+counts.Kind[store.Feed] > 0 { // what a cycle makes of lists is not stored
		return due, false, err
	}
	return st.Next, true, nil
}

// park drops a cycle that waits, or is over, but for a few bytes.
func (c *Crawl) park(cy *cycle, due time.Time) {
	s := cy.site
	var rows []uint64
	if !cy.closed {
		rows = cy.rows.Counts()
	}
	c.parking.add(&parked{
		run: cy.run, site: s.ID, cycle: cy.rec.Cycle, slot: cy.slot, open: cy.open, over: cy.closed,
		due: due, since: cy.counted, seen: cy.seen, rows: rows, failure: cy.failure, key: parkedKey(withinHost(&s.Rules)), saves: c.parking.saves,
	})
	cy.run.cycles[cy.slot] = nil
	c.drop(s)
}

// unpark reads a cycle back. It ends the window if what is known of it may not be committed.
func (c *Crawl) unpark(p *parked) {
	if p.saves == c.parking.saves {
		c.save()
	}
	c.parking.remove(p)
	r := p.run
	if err := c.readBack(p); err != nil {
		if r.cycles[p.slot] == nil && !p.over {
			r.pending--
		}
		r.failed(fmt.Errorf("cycle %d: %w", p.cycle, err))
	}
}

func (c *Crawl) readBack(p *parked) error {
	r := p.run
	site, err := c.db.Site(p.site)
	if err != nil {
		return err
	}
	rec, err := c.db.Cycle(p.site, p.cycle)
	if err != nil {
		return err
	}
	state, reason := site.State, site.Reason
	cy, err := r.open(site, rec)
	if err != nil {
		return err
	}
	last := len(r.cycles) - 1
	r.cycles[last], r.cycles[p.slot], cy.slot = nil, cy, p.slot
	r.cycles = r.cycles[:last]
	cy.resumed, cy.seen, cy.counted, cy.failure = false, p.seen, p.since, p.failure
	cy.touch() // so that it is parked again where nothing comes of it
	v := &firstVisit{cycle: cy}
	cy.visit = v
	if p.over {
		site.State, site.Reason = state, reason
		cy.forget()
		return nil
	}
	r.queued -= int64(p.open)
	cy.rows.Count(p.rows)
	cy.back(true)
	return v.begin()
}

// mostLate is how late a site may come back, in seconds, with the rules of its robots.txt.
const mostLate = 600

// back notes that a cycle has come back, or that it was handed something out since.
func (c *cycle) back(is bool) {
	if c.isBack != is {
		c.isBack = is
		if c.loop().back--; is {
			c.loop().back += 2
		}
	}
}

// at returns the site of that number among those that the runs work on, nil if there is none.
func (c *Crawl) at(id store.SiteID) *site {
	if p := c.parking.bySite[id]; p != nil {
		c.unpark(p)
	}
	return c.sites[id]
}

// busy reports whether a cycle of a site is open.
func (c *Crawl) busy(id store.SiteID) bool {
	if p := c.parking.bySite[id]; p != nil && !p.over {
		return true
	}
	s := c.sites[id]
	return s != nil && s.busy()
}

// within returns a parked site whose scope has that host or domain, nil if there is none.
func (ps *parking) within(name string) *parked {
	if len(ps.byHost) == 0 {
		return nil
	}
	return ps.byHost[parkedKey(name)]
}

// comingBack reports whether sites are to be read back now.
func (c *Crawl) comingBack(now time.Time) bool {
	due := c.parking.due.Items
	return len(due) > 0 && !due[0].due.After(now) && c.loop.back < mostBegun && c.err == nil && !c.paused && c.Full() == nil
}

// comeBack reads back the next few sites whose hosts may be asked.
func (c *Crawl) comeBack(now time.Time) {
	for n := 0; n < portion && c.comingBack(now); n++ {
		c.unpark(c.parking.due.Items[0])
	}
}

// leaveParked ends the cycles of a run that are parked; they stay open in the store. why is for people.
func (r *run) leaveParked(why string) {
	c := r.crawl
	for _, p := range c.parking.bySite {
		if p.run != r || p.over {
			continue
		}
		c.parking.due.Remove(p.place)
		p.over, p.place = true, -1
		r.pending--
		r.queued -= int64(p.open)
		r.left = true
		if c.err == nil {
			c.fail(c.conclude(p, why))
		}
	}
}

// conclude writes down that a first visit was interrupted, as firstVisit.conclude does.
func (c *Crawl) conclude(p *parked, why string) error {
	s, err := c.db.Site(p.site)
	if err != nil {
		return err
	}
	rows := document.Rows{Common: s.Rows}
	rows.Count(p.rows)
	s.Rows = rows.Common
	s.Reason = "interrupted"
	if why != "" {
		s.Reason = "stopped by " + why
	}
	s.Partial, s.PartialWhy = true, fmt.Sprintf("documents that were not fetched: %d", p.open)
	return c.db.PutSite(s)
}

// forgetParked drops what is parked of a run that has ended.
func (r *run) forgetParked() {
	ps := &r.crawl.parking
	for _, p := range ps.bySite {
		if p.run == r {
			ps.remove(p)
		}
	}
	if len(ps.bySite) == 0 {
		saves := ps.saves
		*ps = newParking() // maps that were large stay so
		ps.saves = saves
	}
}

// parked returns what is parked of a run, in the order of its sites.
func (r *run) parked() (all []*parked) {
	for _, p := range r.crawl.parking.bySite {
		if p.run == r {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *parked) int { return cmp.Compare(a.site, b.site) })
	return all
}
