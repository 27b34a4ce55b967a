package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"forage/crawl/keep"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/store"
)

// A run is one call of Run or Revisit: the cycles that it asked for, its limits, and what came
// of them. It ends when the last of its cycles is closed.
type run struct {
	crawl    *Crawl
	opt      Options
	ctx      context.Context // of its requests; cancel cuts them off
	cancel   context.CancelFunc
	began    time.Time
	deadline time.Time // zero: none
	shown    time.Time // when progress was shown last

	pending    int         // sites whose cycle has not been closed
	arrivals   arrivals    // sites that have not begun
	cycles     []*cycle    // begun, in this order; nil: it is parked
	first      store.Rules // of the site of the first of them
	delay      *time.Duration
	out        int64 // requests under way for documents and what they need
	required   int64 // answers to requests for what pages need
	queued     int64 // documents in line or under way at hosts that may be asked, over all cycles
	fetched    int64 // answers to such requests
	pages      int64 // pages that answered for the first time
	stopping   bool
	handedBack bool
	over       bool // it has ended: the result is its caller's
	left       bool // sites whose turn had not come when it was stopped
	res        *Result
	err        error
	done       chan struct{} // closed when all is on the disk
}

// execute has the loop carry out a run and waits for its end.
func (c *Crawl) execute(ctx context.Context, opt Options, begin func(*run) error) (*Result, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	r := &run{crawl: c, opt: opt, res: new(Result), done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(fetch.Allow(context.WithoutCancel(ctx), opt.Allow))
	defer r.cancel()
	l := c.loop
	l.do(func() {
		r.began = l.clock.Now()
		if opt.MaxTime > 0 {
			r.deadline = r.began.Add(opt.MaxTime)
		}
		if len(c.runs) == 0 {
			l.crawls = append(l.crawls, c)
			c.err = nil
			c.paused = c.paused && len(c.growths) > 0
			if c.keeper == nil {
				var err error
				c.keeper, err = keep.Open(c.db, c.doc, c.cfg.MaxKept, c.cfg.Keep)
				c.fail(err)
			}
		}
		c.runs = append(c.runs, r)
		r.pending++ // until all of its sites are known
		switch {
		case c.closing:
			r.err = ErrHandedBack
		case c.err == nil:
			r.err = begin(r)
		}
		if r.err != nil {
			r.stop("", false)
		}
		if ctx.Err() != nil {
			r.interrupt()
		}
		r.tellFull()
		r.sub()
	})
	stop := context.AfterFunc(ctx, func() { l.do(r.interrupt) })
	defer stop()
	<-r.done
	if r.err != nil {
		return nil, r.err
	}
	return r.res, nil
}

// interrupt ends a run at once: requests under way are cut off, and their documents wait.
func (r *run) interrupt() {
	r.stop("", true)
	r.cancel()
}

// stop lets requests under way end and hands nothing more out for the run. why is for people.
func (r *run) stop(why string, interrupted bool) {
	if r.over {
		return
	}
	r.res.Interrupted = r.res.Interrupted || interrupted
	if r.stopping {
		return
	}
	r.stopping, r.res.Cut = true, cmp.Or(r.res.Cut, why)
	for _, c := range r.cycles {
		if c != nil && !c.closed {
			c.windUp(why, true)
		}
	}
	r.leaveParked(why)
	r.leaveComing()
	for _, s := range r.crawl.sites { // what had to wait for its turn does not come to it
		s.next = slices.DeleteFunc(s.next, func(n visitRequest) bool {
			if n.run == r {
				r.pending--
				r.left = true
			}
			return n.run == r
		})
	}
	r.ended()
}

// HandBack ends all runs of the crawl, with their state saved, and lets none begin; they return
// ErrHandedBack. What is under way is finished first. HandBack waits for it.
func (c *Crawl) HandBack() {
	all := make(chan []*run)
	c.loop.do(func() {
		c.closing = true
		runs := slices.Clone(c.runs)
		for _, r := range runs {
			r.handedBack = true
			r.stop("", true)
		}
		all <- runs
	})
	for _, r := range <-all {
		<-r.done
	}
}

// handedOut ends the run when its last document has been handed out.
func (r *run) handedOut() {
	if r.opt.MaxTotal > 0 && !r.stopping && r.fetched+r.required+r.out >= r.opt.MaxTotal {
		r.stop("--max-total", false)
	}
}

// sub notes that a site of the run needs nothing more.
func (r *run) sub() {
	r.pending--
	r.ended()
}

// ended ends the run if nothing of it is left: its result is put together, and everything is
// brought to the disk.
func (r *run) ended() {
	c := r.crawl
	if r.pending > 0 || r.over {
		return
	}
	r.over = true
	c.runs = slices.DeleteFunc(c.runs, func(o *run) bool { return o == r })
	if c.err == nil && r.err == nil {
		c.fail(c.keeper.Save(!r.res.Interrupted && r.res.Cut == ""))
	}
	if c.err == nil && r.err == nil {
		c.fail(r.sum())
	}
	for _, cy := range r.cycles {
		if cy != nil {
			c.release(cy.site)
		}
	}
	r.forgetParked()
	if c.err == nil {
		c.fail(c.db.Sync())
	}
	r.err = errors.Join(r.err, c.err)
	if r.handedBack && r.err == nil {
		r.err = ErrHandedBack
	}
	if len(c.runs) == 0 {
		c.loop.crawls = slices.DeleteFunc(c.loop.crawls, func(o *Crawl) bool { return o == c })
	}
	r.res.Seconds, r.res.answers = c.loop.clock.Now().Sub(r.began).Seconds(), r.fetched
	c.loop.finished = append(c.loop.finished, r)
}

// sum puts the result together from the cycles.
func (r *run) sum() error {
	res := r.res
	done := true
	add := func(rec *store.CycleRecord, site func() (*store.Site, error), failure string) error {
		done = done && rec.Done
		counts, err := r.crawl.db.Counters(rec.Site)
		if err != nil {
			return err
		}
		if r.crawl.intake == nil { // which counts each site once
			res.count(counts)
		}
		return r.sumCycle(rec, counts, site, failure)
	}
	for _, c := range r.cycles {
		if c != nil {
			if err := add(c.rec, func() (*store.Site, error) { return c.site.Site, nil }, c.failure); err != nil {
				return err
			}
		}
	}
	for _, p := range r.parked() {
		rec, err := r.crawl.db.Cycle(p.site, p.cycle)
		if err == nil {
			err = add(rec, func() (*store.Site, error) { return r.crawl.db.Site(p.site) }, p.failure)
		}
		if err != nil {
			return err
		}
	}
	res.Sites = len(r.cycles) + len(res.Finished)
	latest := store.Cycle(0)
	for _, s := range res.Finished {
		counts, err := r.crawl.db.Counters(s.ID)
		if err != nil {
			return err
		}
		res.count(counts)
		latest = max(latest, s.LastCycle)
	}
	if !r.left && len(r.cycles) > 0 && done {
		res.Interrupted = false // it came too late to keep anything from being done
	}
	slices.Sort(res.Cycles)
	res.Cycles = slices.Compact(res.Cycles)
	if res.Cycle = latest; len(res.Cycles) > 0 {
		res.Cycle = res.Cycles[0]
	}
	slices.Sort(res.Shells)
	slices.SortFunc(res.Failed, func(a, b FailedSite) int { return cmp.Compare(a.Site, b.Site) })
	return nil
}

// sumCycle adds a cycle to the result. counts are those of its site.
func (r *run) sumCycle(rec *store.CycleRecord, counts *store.Counters, site func() (*store.Site, error), failure string) error {
	res := r.res
	res.Cycles = append(res.Cycles, rec.Cycle)
	res.Fetched += rec.Fetched
	res.Refetched += rec.Refetched
	res.Pages += rec.Pages
	res.Copies += rec.Copies
	res.NewPages += rec.New
	res.Content += rec.Content
	res.Unknown += rec.Unknown
	res.Moved += rec.Moved
	res.Waited += rec.Waited
	res.Foreseen += float64(rec.Foreseen) / 1000
	res.Unseen += float64(rec.Unseen) / 1000
	res.Bytes += rec.Bytes
	res.Requisites.Fetched += rec.Requisites
	res.Requisites.Bytes += rec.RequisiteBytes
	res.Errors += rec.Errors
	if failure == "" && counts.Hollow == 0 {
		return nil
	}
	s, err := site()
	if err != nil {
		return err
	}
	if s.Shell(counts) {
		res.Shells = append(res.Shells, s.Name)
	}
	if failure != "" {
		res.Failed = append(res.Failed, FailedSite{s.Name, failure})
	}
	return nil
}

// count adds what the store has of a site.
func (r *Result) count(c *store.Counters) {
	r.Known += c.Distinct
	r.Documents += c.Documents()
	r.Duplicates += c.Duplicates()
}

// progress shows how far the run is, now and then.
func (r *run) progress(now time.Time) {
	if r.opt.Progress == nil || r.over || now.Sub(r.shown) < 100*time.Millisecond {
		return
	}
	r.shown = now
	l := r.crawl.loop
	p := Progress{Elapsed: now.Sub(r.began), Fetched: r.fetched, Pages: r.pages, Queued: r.queued, Sites: r.arrivals.left(), Hosts: l.queue.Stats().Active, Out: l.pool.out}
	next := l.next
	if due := r.crawl.parking.due.Items; len(due) > 0 && (next.IsZero() || due[0].due.Before(next)) {
		next = due[0].due
	}
	if !next.IsZero() {
		p.Wait = max(0, next.Sub(now))
	}
	r.opt.Progress(p)
}

// visit begins the first visits of the sites of seeds, which were checked, or goes on with them: of
// the first few at once, of the others soon.
func (r *run) visit(seeds []scope.Seed) error {
	if err := r.expect(seeds); err != nil {
		return err
	}
	return r.arriveFirst()
}

// arriveFirst has the first few sites of a run begin, at once.
func (r *run) arriveFirst() error {
	if err := r.arrive(); err != nil {
		return err
	}
	if r.arrivals.left() == 0 {
		r.arrivals = arrivals{}
		r.pending--
	}
	return r.crawl.db.Commit()
}

// visitOnce begins or goes on with the first visit of a site, as soon as no other cycle is open
// there.
func (r *run) visitOnce(s seeded) error {
	c := r.crawl
	return c.whenFree(s.ID, r, func() error {
		if s.docs != nil {
			return r.beginFirst(s)
		}
		rec, err := c.db.Site(s.ID) // another cycle may have changed it
		if err != nil {
			return err
		}
		counts, err := c.db.Counters(rec.ID)
		if err != nil {
			return err
		}
		open, err := r.unended(rec)
		if err != nil {
			return err
		}
		if (counts.Queued() == 0 || satisfied(rec, counts)) && !open {
			r.res.Finished = append(r.res.Finished, rec)
			r.pending--
			return nil
		}
		return r.beginFirst(seeded{Site: rec})
	})
}

// unended reports whether the end of a site's first visit is still to be written down: it was interrupted, maybe when nothing was left in
// line but what its pages need, or nothing at all.
func (r *run) unended(s *store.Site) (bool, error) {
	rec, err := plan.Latest(&r.crawl.db.View, s.ID)
	return err == nil && rec != nil && rec.Ended == 0 && rec.Kind == store.FirstVisit, err
}

// satisfied reports whether a site's first visit has ended under rules that leave out what waits.
func satisfied(s *store.Site, c *store.Counters) bool {
	if s.State != store.SiteDone {
		return false
	}
	r := &s.Rules
	return r.MaxPages > 0 && c.Pages() >= int64(r.MaxPages) || r.Budget > 0 && c.Fetches >= int64(r.Budget)
}

// beginFirst opens the cycle of a first visit, or goes on with one that was interrupted.
func (r *run) beginFirst(s seeded) error {
	c, site := r.crawl, s.Site
	var rec *store.CycleRecord
	if s.docs == nil {
		var err error
		if rec, err = plan.Latest(&c.db.View, site.ID); err != nil {
			return err
		}
	}
	if rec == nil || rec.Ended != 0 || rec.Kind != store.FirstVisit {
		rec = &store.CycleRecord{Site: site.ID, Kind: store.FirstVisit, At: c.now()}
	}
	if rec.Fetched == 0 {
		rec.At = c.now()
	}
	still := site.LastCycle == site.FirstCycle
	cy, err := r.open(site, rec)
	if err != nil {
		return err
	}
	if still {
		// No cycle of discovery came between: it is the first visit still, though it may
		// have failed, or stopped at a limit, in another cycle.
		site.FirstCycle = rec.Cycle
	}
	first := firstVisit{cycle: cy, docs: s.docs}
	cy.visit = &first
	if order := orderOf(r.opt.Policy, &site.Rules); order != "" {
		v, err := newOrdered(first, order)
		if err != nil {
			return err
		}
		cy.visit = v
	}
	return cy.start()
}

// revisit begins a cycle of discovery at each site of the plan: at the first few at once, at the others soon.
func (r *run) revisit(p plan.Plan) error {
	c := r.crawl
	p.Policy = cmp.Or(p.Policy, revisit.Default)
	if _, err := paper.New(p.Policy, p.Config); err != nil {
		return err
	}
	r.delay = p.Delay
	outlook, err := plan.Foresee(&c.db.View, plan.Conditions{
		Now: c.now(), Delay: c.loop.cfg.Delay, MaxTime: r.opt.MaxTime,
		Running: c.busy,
	}, p)
	if err != nil {
		return err
	}
	if len(p.Sites) == 0 { // where a first visit is under way there is nothing to come back to yet
		outlook.Sites = slices.DeleteFunc(outlook.Sites, func(row plan.Prospect) bool {
			s := c.sites[row.Site.ID]
			return c.busy(row.Site.ID) && (s == nil || s.cycle.rec.Kind == store.FirstVisit)
		})
	}
	if len(outlook.Sites) == 0 {
		return fmt.Errorf("%w: nothing has been crawled that could be visited again; 'forage crawl URL' does the first visit", plan.ErrNoSite)
	}
	if r.opt.Begin != nil {
		if err := r.opt.Begin(outlook); err != nil {
			return err
		}
	}
	group := store.Cycle(0) // what the cycles of this run have in common, by which a later run goes on with it
	for i := range outlook.Sites {
		if row := &outlook.Sites[i]; row.Cycle.Cycle != 0 {
			group = max(group, row.Cycle.Run)
		}
	}
	var cycles []*later
	for i := range outlook.Sites {
		row := &outlook.Sites[i]
		if row.Done { // by the run that this one goes on with
			r.has(&cycle{site: &site{Site: row.Site, crawl: c}, run: r, rec: row.Cycle, closed: true})
			continue
		}
		if row.Site.State == store.SitePaused && len(p.Sites) == 0 {
			r.opt.Log.Warn("a paused site is left out; name it to visit it again", "site", row.Site.Name, "reason", row.Site.Reason)
			continue
		}
		cycles = append(cycles, &later{site: row.Site.Name, begin: func() error {
			return c.whenFree(row.Site.ID, r, func() error { return r.beginCycle(&p, row, &group) })
		}})
	}
	r.postpone(cycles)
	return r.arriveFirst()
}

// beginCycle opens a cycle of discovery at a site, or goes on with one that was interrupted.
func (r *run) beginCycle(p *plan.Plan, row *plan.Prospect, group *store.Cycle) error {
	c := r.crawl
	site, err := c.db.Site(row.Site.ID)
	if err != nil {
		return err
	}
	rec, err := p.Cycle(&c.db.View, site.ID, c.now()) // what the outlook saw may have ended while it waited
	if err != nil {
		return err
	}
	if rec.Cycle == 0 {
		rec.Run = *group
		rec.Limit = row.Budget
		if rec.Kind == store.FullRecrawl {
			rec.Limit = -1
		}
	}
	if site.State == store.SiteCrawling && site.LastCycle == site.FirstCycle {
		site.Partial, site.PartialWhy = true, "its first visit was interrupted"
	}
	cy, err := r.open(site, rec)
	if err != nil {
		return err
	}
	if *group == 0 {
		*group = rec.Run
	}
	if rec.Kind == store.FullRecrawl {
		cy.visit = &fullRecrawl{rediscovery: rediscovery{cycle: cy, plan: p}}
	} else {
		cy.visit = &budgetedCycle{rediscovery: rediscovery{cycle: cy, plan: p}}
	}
	return cy.start()
}
