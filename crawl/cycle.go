package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"net/netip"
	"slices"
	"time"

	"forage/crawl/document"
	"forage/crawl/novelty"
	"forage/crawl/scope"
	"forage/frontier"
	"forage/graph"
	"forage/store"
)

// A site is a site that the runs work on, or wait to work on.
type site struct {
	*store.Site
	crawl *Crawl
	scope *scope.Scope
	allow []netip.Prefix // addresses that may be asked although they are not public
	cycle *cycle         // the latest one begun here; nil: none yet
	next  []visitRequest // what waits until that one is closed
}

// A visitRequest is a visit that waits until a site is free.
type visitRequest struct {
	run   *run
	begin func() error
}

// busy reports whether a cycle of the site is open.
func (s *site) busy() bool { return s.cycle != nil && !s.cycle.closed }

// whenFree calls begin, for a run, as soon as no cycle is open at a site. begin opens one, or
// gives the run's claim on the site up (run.pending).
func (c *Crawl) whenFree(id store.SiteID, r *run, begin func() error) error {
	r.pending++
	if s := c.at(id); s != nil && (s.busy() || len(s.next) > 0) {
		s.next = append(s.next, visitRequest{r, begin})
		return nil
	}
	n := len(r.cycles)
	err := begin()
	if err != nil && len(r.cycles) == n { // else the cycle that was opened is closed in time
		r.pending--
	}
	return err
}

// startNext begins what waited at a site until it was free.
func (s *site) startNext() {
	for len(s.next) > 0 && !s.busy() && s.crawl.err == nil {
		n := s.next[0]
		s.next = s.next[1:]
		opened := len(n.run.cycles)
		if err := n.begin(); err != nil {
			if len(n.run.cycles) == opened {
				n.run.pending--
			}
			n.run.err = errors.Join(n.run.err, fmt.Errorf("site %s: %w", s.Name, err))
			n.run.stop("", false)
		}
		n.run.ended()
	}
}

// A cycle is the work of a run at one site, from the moment that it is begun, or gone on with,
// until it is closed: its record, its visit, and what is in line and under way for it.
//
// Between two calls of the loop: open is the number of documents that are in line, or under
// way, at hosts that may still be asked; inflight the number of requests under way, of any
// kind. When both are 0 and everything is committed, the visit is asked for more (rest). Only
// close closes, and only when nothing is under way.
type cycle struct {
	site     *site
	run      *run
	rec      *store.CycleRecord
	stored   uint64 // a hash of rec as it is in the store
	visit    visit
	resumed  bool       // an earlier run of the cycle was interrupted, nobody knows how
	began    time.Time  // in this run
	counted  time.Time  // up to here the time is in rec.Took
	first    store.Time // when the first visit of the site began
	backlogs []*backlog // one a host
	traps    *scope.Traps
	lists    scope.Lists
	rows     document.Rows // of its pages
	worth    worth
	bounds   bounds
	turn     turn // documents of later turns wait
	admission
	needs needs

	inflight  int
	documents int // of them, requests for documents
	open      int
	pages     int        // of the site, known so far
	crowded   bool       // documents are held back: there is no room under a limit
	from      graph.Node // what the store's queue holds below is not handed out
	touched   bool       // it is among those of the crawl
	slot      int        // in run.cycles
	isBack    bool       // it was parked, and nothing was handed out since
	mute      bool       // a probe told nothing, and would be made anew where the cycle is read back

	sights     novelty.Sights // what the lists read in this cycle name
	asked      int            // times that the site was asked for an address that is made up
	reconsider bool           // the rules of the site have changed since it began
	earlier    bool           // what it takes in was there before the site was fetched last: nothing is new, see import.go

	winding bool // nothing more is handed out
	full    bool // a limit of the site is reached
	keep    bool // it stays open in the store: it was interrupted
	held    bool // paused by hand: the run waits for it
	closed  bool
	limit   string // what ended it, for people
	trouble string // the last reason why something could not be fetched
	lost    string // the last reason why a host was left alone
	failure string // why the site counts as failed
	seen    observations
}

// observations are what a first visit concludes from, see firstVisit.conclude.
type observations struct {
	answered bool // other than by trouble of the site's own
	refused  bool // a rule of ours or robots.txt kept what was asked for from being fetched
	links    int
	scripted int                // pages with scripts
	repeats  map[graph.Node]int // by page: others with the same body
	tried    bool               // links of a hollow body were followed
}

func (c *cycle) crawl() *Crawl { return c.site.crawl }
func (c *cycle) loop() *Loop   { return c.site.crawl.loop }

// open takes a site into the run and opens rec there, or goes on with it if it has a number.
// The caller sets the visit and calls start.
func (r *run) open(site *store.Site, rec *store.CycleRecord) (*cycle, error) {
	c := r.crawl
	s, err := c.site(site)
	if err != nil {
		return nil, err
	}
	now := c.loop.clock.Now()
	cy := &cycle{
		site: s, run: r, rec: rec, resumed: rec.Cycle != 0, began: now, counted: now, traps: scope.NewTraps(), lists: scope.Lists{Doc: c.doc},
		worth: worth{off: site.Rules.All}, rows: document.Rows{Common: site.Rows},
	}
	counts, err := c.db.Counters(site.ID)
	if err != nil {
		return nil, err
	}
	cy.pages = int(counts.Pages())
	if rec.Cycle == 0 {
		err = c.db.OpenCycle(rec)
		if err == nil && rec.Run == 0 {
			rec.Run = rec.Cycle
			err = c.db.PutCycle(rec)
		}
	} else {
		err = c.db.PutCycle(rec) // what is written from now on is of it
	}
	if err != nil {
		return nil, err
	}
	cy.worth.params.Ignore(site.SameParams)
	cy.stored = recordHash(rec)
	first, err := c.db.Cycle(site.ID, site.FirstCycle)
	switch {
	case err == nil:
		cy.first = first.At
	case errors.Is(err, store.ErrNotFound):
		cy.first = rec.At
	default:
		return nil, err
	}
	s.cycle = cy
	r.has(cy)
	site.LastCycle = rec.Cycle
	site.State, site.Reason = store.SiteCrawling, ""
	return cy, nil
}

// has adds a cycle to those of the run.
func (r *run) has(c *cycle) {
	if c.slot = len(r.cycles); c.slot == 0 {
		r.first = c.site.Rules
	}
	r.cycles = append(r.cycles, c)
}

// site returns the site of a record, taken among those that the runs work on.
func (c *Crawl) site(rec *store.Site) (*site, error) {
	sc, err := c.newScope(&rec.Rules)
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", rec.Name, err)
	}
	allow, err := scope.Addresses(&rec.Rules)
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", rec.Name, err)
	}
	s := c.sites[rec.ID]
	if s == nil {
		s = &site{crawl: c}
		c.sites[rec.ID] = s
		key := withinHost(&rec.Rules)
		c.within[key] = append(c.within[key], s)
	}
	s.Site, s.scope, s.allow = rec, sc, allow
	return s, nil
}

// withinHost is the host or domain that the URLs of a site with these rules have.
func withinHost(r *store.Rules) string {
	if r.Scope == "prefix" {
		return store.HostOf(r.Within)
	}
	return r.Within
}

// release drops a site on which no run works any more.
func (c *Crawl) release(s *site) {
	if c.sites[s.ID] != s || s.busy() || len(s.next) > 0 || s.cycle != nil && slices.Contains(c.runs, s.cycle.run) {
		return
	}
	c.drop(s)
}

func (c *Crawl) drop(s *site) {
	delete(c.sites, s.ID)
	key := withinHost(&s.Rules)
	c.within[key] = slices.DeleteFunc(c.within[key], func(o *site) bool { return o == s })
	if len(c.within[key]) == 0 {
		delete(c.within, key)
	}
}

// start puts the first documents of the visit in line.
func (c *cycle) start() error {
	c.touch()
	if err := errors.Join(c.visit.begin(), c.beginNeeds()); err != nil {
		return err
	}
	return c.crawl().db.PutSite(c.site.Site)
}

// lineUp counts n documents more that are in line or under way, at hosts that may be asked.
func (c *cycle) lineUp(n int) {
	c.open += n
	c.run.queued += int64(n)
}

// touch has the next commit look at the cycle: an answer was counted, or something settled. To
// look at all of them after each few answers takes a run of very many sites time with their square.
func (c *cycle) touch() {
	if !c.touched {
		c.touched = true
		c.crawl().touched = append(c.crawl().touched, c)
	}
}

// save ends the window: everything that is known is committed, with the counts of cycles.
func (c *Crawl) save() {
	if c.err == nil {
		c.tally()
		c.fail(c.db.Commit())
		c.parking.saves++
		for _, cy := range c.touched { // nothing of others has changed
			for _, n := range cy.needs.lines {
				n.committed()
			}
		}
	}
	c.loop.added = 0
}

// commit ends the window, and has visits with nothing in line or under way say what comes next.
func (c *Crawl) commit() {
	c.save() // so that visits can read the links of what was just fetched
	touched := c.touched
	c.touched = nil
	for _, cy := range touched {
		cy.touched = false
		if !cy.closed && cy.inflight == cy.needs.out {
			cy.rest()
		}
	}
	c.save()
	c.parkSome(touched)
}

// tally writes the counts of cycles in the window of what they count, so that a run that is
// killed loses none.
func (c *Crawl) tally() {
	now := c.loop.clock.Now()
	for _, cy := range c.touched {
		if cy.closed {
			continue
		}
		if recordHash(cy.rec) != cy.stored {
			cy.took(now)
			cy.stored = recordHash(cy.rec)
			c.fail(c.db.PutCycle(cy.rec))
		}
	}
}

// recordHash stands for what a record is: a copy of it would take 200 bytes for each site.
func recordHash(r *store.CycleRecord) uint64 { return maphash.Comparable(recordSeed, *r) }

var recordSeed = maphash.MakeSeed()

// took adds the time since it was called last to what the cycle took.
func (c *cycle) took(now time.Time) {
	if d := now.Sub(c.counted).Milliseconds(); d > 0 {
		c.rec.Took += d
		c.counted = c.counted.Add(time.Duration(d) * time.Millisecond)
	}
}

// rest is called when no request of the cycle is under way, but for requisites, and everything is committed.
func (c *cycle) rest() {
	crawl := c.crawl()
	switch {
	case c.needs.out > 0 && (crawl.err != nil || c.winding || c.site.State == store.SitePaused):
		return
	case crawl.err != nil:
		c.close()
		return
	case c.full && c.needing():
		if !c.needsStopped() {
			c.putOffStalled()
		}
		return
	case c.winding || c.full:
		c.close()
		return
	case c.held || crawl.paused || crawl.Full() != nil:
		return
	case c.site.State == store.SitePaused: // the site blocks us
		c.keep = true
		c.close()
		return
	case c.open > 0 && c.crowded && c.visit.room():
		c.makeRoom()
		return
	case c.open > 0:
		if until, stalled := c.stalled(c.loop().clock.Now()); stalled {
			why := "a host that asks to be left alone until " + until.Format(time.RFC3339)
			c.run.opt.Log.Warn("a host asks to be left alone for longer than a run waits; the same command goes on later", "site", c.site.Name, "until", until.Format(time.RFC3339))
			c.run.res.Cut = cmp.Or(c.run.res.Cut, why)
			if c.windUp(why, true); c.needs.out == 0 {
				c.close()
			}
		}
		return
	}
	if c.resumeDeferred() || c.reopened() {
		return
	}
	over, err := c.visit.idle()
	crawl.fail(err)
	if c.open == 0 && c.needing() {
		c.putOffStalled()
		over = false
	}
	if over || crawl.err != nil {
		c.close()
	}
}

// patience is how long a cycle waits with nothing to do for hosts that asked to be left alone.
const patience = 10 * time.Minute

// stalled reports whether all hosts where something is in line are to be left alone for longer
// than patience, and until when the first of them is.
func (c *cycle) stalled(now time.Time) (until time.Time, stalled bool) {
	for _, b := range c.backlogs {
		if b.pending == 0 || b.host.givenUp != "" {
			continue
		}
		next := c.loop().queue.State(b.host.id).Next
		if next.Sub(now) <= patience {
			return until, false
		}
		if until.IsZero() || next.Before(until) {
			until = next
		}
	}
	return until, !until.IsZero()
}

// stopped reports whether nothing may be handed out now.
func (c *cycle) stopped() bool {
	return c.winding || c.full || c.closed || c.held || c.site.State == store.SitePaused || c.crawl().paused || c.crawl().Full() != nil
}

// windUp has the cycle end when what is under way has ended. keep: it was interrupted, and
// stays open in the store.
func (c *cycle) windUp(why string, keep bool) {
	if c.closed {
		return
	}
	if c.winding {
		if c.full && c.needs.open > 0 { // it waits for what its documents need
			c.keep = c.keep || keep
			c.touch()
		}
		return
	}
	c.winding, c.keep = true, keep
	c.limit = cmp.Or(c.limit, why)
	for h := range c.hosts {
		c.loop().queue.Spill(h.id)
	}
	c.touch()
}

// hasRoom reports whether another document may be fetched under the limits of the site. Where
// it may not, what is held back is handed out when there is room again.
func (c *cycle) hasRoom() bool {
	if c.visit.room() {
		return true
	}
	c.crowded = true
	return false
}

// makeRoom has what was held back handed out.
func (c *cycle) makeRoom() {
	c.crowded = false
	for _, b := range c.backlogs {
		if b.pending > 0 {
			c.loop().wake(b.host)
		}
	}
}

// delay is the least gap between two requests to a host of the site.
func (c *cycle) delay() time.Duration {
	d := time.Duration(c.site.Rules.DelayMillis) * time.Millisecond
	if c.run.delay != nil {
		d = *c.run.delay
	}
	return max(d, c.loop().cfg.Delay)
}

// close writes down what came of the cycle, gives its hosts up, and lets what waited for the
// site begin. Nothing is under way.
func (c *cycle) close() {
	crawl := c.crawl()
	c.winding, c.closed = true, true
	c.admission.queue = nil
	c.back(false)
	for _, b := range c.backlogs {
		b.drop()
	}
	c.backlogs = nil
	c.lineUp(-c.open)
	waits := c.needs.open > 0
	c.dropNeeds()
	if crawl.err == nil {
		crawl.fail(c.conclude(waits))
	}
	c.forget()
	r := c.run
	c.site.startNext()
	r.sub()
}

// forget drops what an open cycle knows.
func (c *cycle) forget() {
	c.winding, c.closed = true, true
	c.admission, c.traps, c.seen.repeats, c.lists, c.worth, c.bounds = admission{}, nil, nil, scope.Lists{}, worth{}, bounds{}
}

// conclude writes down what came of the cycle, for the site and for the cycle itself. waits: what pages need is still in line.
func (c *cycle) conclude(waits bool) error {
	crawl, s := c.crawl(), c.site
	now := crawl.now()
	if c.reconsider {
		c.reconsider = false
		if _, _, err := crawl.reconsider(s.Site, s.scope, nil); err != nil {
			return err
		}
	}
	counts, err := crawl.db.Counters(s.ID)
	if err != nil {
		return err
	}
	for why, n := range c.traps.Cut() {
		text := fmt.Sprintf("%s (%d URLs)", why, n)
		if len(s.Traps) < 100 && !slices.Contains(s.Traps, text) {
			s.Traps = append(s.Traps, text)
		}
	}
	slices.Sort(s.Traps)
	s.Rows = c.rows.Common
	c.tellLeftOut()
	whole := c.visit.whole(counts) && !(waits && c.keep)
	switch {
	case s.State == store.SitePaused:
		c.keep = true
	case whole:
		s.State, s.Reason, s.CrawledAt = store.SiteDone, "", now
		c.rec.Done, c.keep = true, false
	case c.trouble != "":
		s.Reason = c.trouble
	case c.limit != "":
		s.Reason = "stopped by " + c.limit
	default:
		s.Reason = "interrupted"
	}
	c.visit.conclude(counts, whole)
	if nothing := counts.Pages()+counts.Kind[store.Feed]+counts.Kind[store.Sitemap]+counts.Kind[store.Other] == 0; nothing && (!c.keep || c.trouble != "") {
		c.failure = cmp.Or(c.trouble, s.seedReason())
		if s.State != store.SitePaused {
			s.State, s.Reason = store.SiteFailed, c.failure
		}
	}
	if c.failure != "" && c.rec.Kind == store.FirstVisit && c.rec.Fetched == 0 && c.seen.refused {
		// Nothing of the site was seen: the next try is its first visit, in this cycle.
		c.keep, c.rec.Done = true, false
	}
	if !c.keep {
		c.rec.Ended = max(now, 1)
	}
	c.took(c.loop().clock.Now())
	c.stored = recordHash(c.rec)
	c.tellOfSite(now)
	return errors.Join(crawl.db.PutSite(s.Site), crawl.db.PutCycle(c.rec), crawl.db.Commit())
}

// reopen goes on with a first visit that was closed while its run goes on: another site of the
// run led to a document of it.
func (c *cycle) reopen() {
	c.closed, c.winding, c.counted = false, false, c.loop().clock.Now()
	c.rec.Done, c.rec.Ended, c.failure, c.limit = false, 0, "", ""
	c.traps, c.lists.Doc = scope.NewTraps(), c.crawl().doc
	c.worth, c.bounds = worth{off: c.site.Rules.All}, bounds{}
	c.worth.params.Ignore(c.site.SameParams)
	c.crawl().save()
	c.crawl().fail(c.learnAll(func(*store.Doc) {}))
	c.run.pending++
	c.site.State, c.site.Reason = store.SiteCrawling, ""
	c.touch()
	c.crawl().fail(c.crawl().db.PutSite(c.site.Site))
}

// mayReopen reports whether documents that turn up now are still those of this first visit.
func (c *cycle) mayReopen() bool {
	return c.closed && c.rec.Kind == store.FirstVisit && c.rec.Done && !c.full && !c.run.stopping && c.crawl().err == nil &&
		len(c.site.next) == 0 && slices.Contains(c.crawl().runs, c.run)
}

// seedReason tells why the first seed of the site gave no page.
func (s *site) seedReason() string {
	if len(s.Seeds) == 0 {
		return "no seed"
	}
	id, err := s.crawl.db.Find(s.Seeds[0])
	if err != nil {
		return err.Error()
	}
	d, err := s.crawl.doc(id)
	if err != nil {
		return err.Error()
	}
	return cmp.Or(d.Outcome(), "its seed was not fetched")
}

var _ frontier.Backlog[item] = (*Loop)(nil)
