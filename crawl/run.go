package crawl

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forage/graph"
	"forage/store"
)

// Run visits the sites of the seeds for the first time, or goes on where it was interrupted:
// what waits is fetched, what was fetched is not. It returns when nothing is left, or when
// ctx ends; then Result.Interrupted is set and the same call goes on later.
func (c *Crawl) Run(ctx context.Context, seeds []Seed) (*Result, error) {
	now := c.now()
	cycle, continued, err := nextCycle(&c.db.View, store.FirstVisit, "", "", now)
	if err != nil {
		return nil, err
	}
	sites, err := c.addSeeds(seeds, cycle.Cycle, now)
	if err != nil {
		return nil, err
	}
	e, err := c.newEngine(cycle, continued)
	if err != nil {
		return nil, err
	}
	for _, rec := range sites {
		counts, err := c.db.Counters(rec.ID)
		if err != nil {
			return nil, err
		}
		if counts.Queued() == 0 || done(rec, counts) {
			e.res.Sites++
			e.res.Known += counts.Pages()
			e.res.Finished = append(e.res.Finished, rec)
			continue
		}
		if rec.LastCycle == rec.FirstCycle {
			// No cycle of discovery came between: it is the first visit still, though it may
			// have failed, or stopped at a limit, in another cycle.
			rec.FirstCycle = cycle.Cycle
		}
		if rec.State == store.SitePaused { // asked for again
			rec.State = store.SiteCrawling
		}
		s, err := e.addSite(rec)
		if err != nil {
			return nil, err
		}
		s.open = int(counts.Queued())
		if c.cfg.Policy != "" && c.cfg.Policy != "bfs" {
			if s.order, err = e.newOrder(s, c.cfg.Policy); err != nil {
				return nil, err
			}
		}
	}
	if len(e.sites) == 0 {
		e.res.Cycle = max(1, cycle.Cycle-1)
		if continued {
			cycle.Ended = now
			e.res.Cycle = cycle.Cycle
			err = c.db.PutCycle(cycle)
		}
		if err == nil {
			err = c.db.Sync()
		}
		return e.res, err
	}
	err = c.db.QueueHosts(func(id store.SiteID, name string) bool {
		if e.sites[id] != nil {
			h := e.host(name)
			h.cursors[id] = newCursor(graph.None)
			e.fail(e.restoreHost(h))
			e.meet(e.sites[id], h)
			e.wake(h)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, id := range e.siteIDs() {
		if s := e.sites[id]; s.order != nil {
			s.order.next(e, s)
		}
	}
	e.setDelays()
	c.begin()
	defer c.end()
	return e.run(ctx)
}

// done reports whether a site's first visit has ended under rules that leave out what waits.
func done(s *store.Site, c *store.Counters) bool {
	if s.State != store.SiteDone {
		return false
	}
	r := &s.Rules
	return r.MaxPages > 0 && c.Pages() >= int64(r.MaxPages) || r.Budget > 0 && c.Fetches >= int64(r.Budget)
}

// delay is the least gap between two requests to a host that the site asks for.
func (s *site) delay() time.Duration { return time.Duration(s.Rules.DelayMillis) * time.Millisecond }

// setDelays gives the hosts of sites with a delay of their own a longer one.
func (e *engine) setDelays() {
	for _, h := range e.byID {
		for id := range h.cursors {
			if d := e.sites[id].delay(); d > e.cfg.Delay {
				e.q.SetCrawlDelay(h.id, max(d, e.q.State(h.id).CrawlDelay))
			}
		}
	}
}

// finish closes the sites and the cycle, and syncs.
func (e *engine) finish() error {
	now := e.c.now()
	ended := !e.res.Interrupted && e.res.Cut == "" && e.err == nil
	for _, id := range e.siteIDs() {
		s := e.sites[id]
		counts, err := e.db.Counters(id)
		if err != nil {
			return err
		}
		e.res.Known += counts.Pages()
		whole := counts.Queued() == 0 || s.full
		if s.rv != nil {
			whole = s.rv.done
		}
		for why, n := range s.traps.cut {
			text := fmt.Sprintf("%s (%d URLs)", why, n)
			if len(s.Traps) < 100 && !slices.Contains(s.Traps, text) {
				s.Traps = append(s.Traps, text)
			}
		}
		slices.Sort(s.Traps)
		switch {
		case s.State == store.SitePaused:
			ended = ended && s.rv == nil
		case whole && !(s.ended && s.rv == nil):
			s.State, s.Reason, s.CrawledAt = store.SiteDone, "", now
			s.cycle.Done = true
		case s.trouble != "":
			s.Reason = s.trouble
		case s.limit != "":
			s.Reason = "stopped by " + s.limit
		default:
			s.Reason = "interrupted"
		}
		if s.rv == nil {
			s.Partial, s.PartialWhy = partial(s, counts)
			s.NeedsJS = s.scripted > 0 && s.pages > 0 && s.pages <= 3 && s.links <= s.pages
		} else if s.rv.done && s.rv.full && s.rv.misses == 0 && counts.Queued() == 0 {
			s.Partial, s.PartialWhy = false, ""
		}
		if counts.Pages() == 0 && counts.Kind[store.Feed]+counts.Kind[store.Sitemap]+counts.Kind[store.Other] == 0 && (ended || s.trouble != "") {
			why := s.trouble
			if why == "" {
				why = e.seedReason(s)
			}
			e.res.Failed = append(e.res.Failed, FailedSite{s.Name, why})
			if s.State != store.SitePaused {
				s.State, s.Reason = store.SiteFailed, why
			}
		}
		if s.rv != nil && !s.rv.done && s.trouble != "" && !s.fine {
			e.res.Failed = append(e.res.Failed, FailedSite{s.Name, s.trouble})
		}
		if err := e.db.PutSite(s.Site); err != nil {
			return err
		}
		if e.opened {
			if err := e.db.PutSiteCycle(s.cycle); err != nil {
				return err
			}
		}
	}
	for _, h := range e.byID {
		if now, st := time.Now(), e.q.State(h.id); st.Next.After(now) || st.Backoff != h.failures {
			e.keep(h, now)
		}
	}
	if ended {
		e.cycle.Ended = max(now, 1)
	}
	if e.opened || e.cycle.Kind != store.FirstVisit {
		if err := e.db.PutCycle(e.cycle); err != nil {
			return err
		}
	}
	if err := e.keeper.save(e.db, ended); err != nil {
		return err
	}
	return e.db.Sync()
}

// partial tells whether a first visit left something out that may hold old pages.
func partial(s *site, c *store.Counters) (bool, string) {
	failed := c.State[store.Failed]
	switch {
	case s.full:
		return true, "stopped by " + s.limit
	case c.Queued() > 0:
		return true, fmt.Sprintf("documents that were not fetched: %d", c.Queued())
	case failed*20 > c.Known()-c.State[store.Skipped]:
		return true, fmt.Sprintf("%d documents could not be fetched", failed)
	}
	return false, ""
}

// seedReason tells why the first seed of a site gave no page.
func (e *engine) seedReason(s *site) string {
	if len(s.Seeds) == 0 {
		return "no seed"
	}
	id, err := e.db.Find(s.Seeds[0])
	if err != nil {
		return "its seed was not fetched"
	}
	d, err := e.db.Doc(id)
	switch {
	case err != nil:
		return err.Error()
	case d.Reason != "" && d.Status == 0:
		return d.Reason
	case d.Status != 0 && d.Reason != "":
		return fmt.Sprintf("status %d: %s", d.Status, d.Reason)
	case d.Status != 0:
		return fmt.Sprintf("status %d", d.Status)
	}
	return "its seed was not fetched"
}

// siteIDs returns the sites of the run in the order of their numbers.
func (e *engine) siteIDs() []store.SiteID {
	var ids []store.SiteID
	for id := range e.sites {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
