package crawl

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"forage/fetch"
	"forage/frontier"
	"forage/store"
)

// A host is a name and port that answers requests: what shares a politeness delay.
type host struct {
	id       frontier.Host
	name     string
	backlogs []*backlog // of the cycles that ask it; none: the host is forgotten
	origins  []*origin  // http and https
	blocked  bool       // until a robots.txt or probe is answered nothing else is given out
	joined   bool       // by a cycle that has no part in what the frontier holds
	failed   int        // requests in a row without an answer
	givenUp  string     // why it is not asked any more in these cycles
	// addressed: the frontier knows the address, or could not be told.
	addressed  bool
	crawlDelay time.Duration // that robots.txt asks for, to be told to the frontier
	kept       int64         // NotBefore as stored
	failures   int           // Failures as stored
	newcomer
}

// hosts are those that the loop's cycles ask.
type hosts struct {
	byName map[string]*host
	byID   []*host // by frontier.Host; nil: the number is free
	free   []frontier.Host
	woken  map[*host]bool // to be woken after the next commit

	// left tells until when hosts that no cycle asks any more are to be left alone: the next one
	// may be of another store, which has no record of it.
	left     map[string]time.Time
	leftMost int // when so many are in it those whose time has come are taken out
}

// leave notes until when a host is to be left alone that is being forgotten. Amortized O(1).
func (hs *hosts) leave(name string, next, now time.Time) {
	if !next.After(now) {
		return
	}
	hs.left[name] = next
	if len(hs.left) > hs.leftMost {
		maps.DeleteFunc(hs.left, func(_ string, until time.Time) bool { return !until.After(now) })
		hs.leftMost = 2*len(hs.left) + 1024
	}
}

// host returns the host of that name, making it where there is none.
func (l *Loop) host(name string) *host {
	h := l.hosts.byName[name]
	if h != nil {
		return h
	}
	h = &host{name: strings.Clone(name)} // it may be part of a page's text
	if n := len(l.hosts.free); n > 0 {
		h.id = l.hosts.free[n-1]
		l.hosts.free = l.hosts.free[:n-1]
		l.hosts.byID[h.id] = h
	} else {
		h.id = frontier.Host(len(l.hosts.byID))
		l.hosts.byID = append(l.hosts.byID, h)
	}
	l.hosts.byName[h.name] = h
	return h
}

// quit takes a backlog off its host. The last one takes the host along, once its politeness is
// written down.
func (l *Loop) quit(b *backlog) {
	h, crawl := b.host, b.cycle.crawl()
	l.acquainted(h)
	h.backlogs = slices.DeleteFunc(h.backlogs, func(o *backlog) bool { return o == b })
	now := l.clock.Now()
	if st := l.queue.State(h.id); crawl.err == nil && (st.Next.After(now) || st.Backoff != h.failures) {
		h.keepUntil(crawl, st.Next, now, st.Backoff)
	}
	if len(h.backlogs) > 0 {
		h.waits = false // the cycle that it waited for may be the one that ends
		l.setDelay(h)
		l.wake(h)
		return
	}
	l.hosts.leave(h.name, l.queue.State(h.id).Next, now)
	l.queue.Drop(h.id)
	delete(l.hosts.woken, h)
	delete(l.hosts.byName, h.name)
	l.hosts.byID[h.id] = nil
	l.hosts.free = append(l.hosts.free, h.id)
}

// wake makes the frontier ask for a host's items after the next commit, when they can be read.
func (l *Loop) wake(h *host) {
	if !h.waits {
		l.hosts.woken[h] = true
	}
}

// delay is the longest delay of the sites that ask a host.
func (h *host) delay() (d time.Duration) {
	for _, b := range h.backlogs {
		d = max(d, b.cycle.delay())
	}
	return d
}

// setDelay has a host keep the longest delay of the sites that ask it.
func (l *Loop) setDelay(h *host) { l.queue.SetDelay(h.id, h.delay()) }

// release tells the frontier how a request ended.
func (l *Loop) release(j *job, now time.Time) {
	o, h, c := j.out, j.host, j.cycle
	a := frontier.Answer{Took: o.Took, RetryAfter: o.RetryAfter}
	switch {
	case o.Class == fetch.Blocked:
		a.Kind = frontier.Blocked
	case o.Overloaded():
		a.Kind = frontier.Overloaded
	case !o.Class.Answered() && o.Transient():
		a.Kind = frontier.Failed
	}
	if o.Addr.IsValid() {
		l.queue.SetAddr(h.id, o.Addr.Addr().Unmap())
	}
	l.queue.Release(h.id, now, a)
	if st := l.queue.State(h.id); a.Kind == frontier.Overloaded && !c.visit.manner().patient && (st.Backoff >= maxOverloads || st.Next.Sub(now) > maxWait) {
		why := fmt.Sprintf("answers with status %d, and is left alone until the next cycle", o.Status)
		if j.work == fetchRobots {
			why = "robots.txt: " + why
		}
		l.giveUp(h, why)
	}
	if a.Kind == frontier.Failed {
		if h.failed++; h.failed >= maxFailures {
			l.giveUp(h, o.Class.String()+": "+o.Reason)
		}
	} else {
		h.failed = 0
	}
	if st := l.queue.State(h.id); st.Paused && h.givenUp == "" {
		l.pause(h, st.Reason)
	} else if next := st.Next; next.UnixMilli()-h.kept >= 1000 && next.After(now) {
		h.keepUntil(c.crawl(), next, now, st.Backoff) // a shorter wait is written at the end, and assumed after a crash
	}
}

// keepUntil writes until when a host is to be left alone, so that politeness holds across runs.
func (h *host) keepUntil(c *Crawl, next, now time.Time, failures int) {
	h.kept, h.failures = next.UnixMilli(), failures
	c.fail(c.db.PutHost(&store.Host{Origin: h.name, NotBefore: h.kept, LastRequest: now.UnixMilli(), Failures: failures}))
}

// restore brings the politeness of an earlier run back. After a crash a request may have been
// under way that left no trace: the host gets its delay first.
func (h *host) restore(c *cycle) error {
	rec, err := c.crawl().db.Host(h.name)
	if err != nil {
		return err
	}
	h.kept, h.failures = rec.NotBefore, rec.Failures
	next := time.UnixMilli(rec.NotBefore)
	if from := c.began.Add(c.delay()); c.resumed && from.After(next) {
		next = from
	}
	l := c.loop()
	if left := l.hosts.left[h.name]; left.After(next) {
		next = left
	}
	delete(l.hosts.left, h.name)
	if rec.Failures > 0 || next.After(l.clock.Now()) {
		l.queue.Restore(h.id, frontier.State{Next: next, Backoff: rec.Failures})
	}
	return nil
}

// maxFailures is how many requests in a row may stay without an answer before a host is left
// alone by the cycles that ask it.
const maxFailures = 6

// In a cycle of discovery a host that answers 429 or 503 is left alone after maxOverloads of
// them in a row, those of earlier runs included, or when it is to be left alone for more than
// maxWait: there will be another cycle, and each such answer takes of the budget.
const (
	maxOverloads = 3
	maxWait      = time.Minute
)

// giveUp leaves a host alone for the rest of the cycles that ask it. What is in line there goes
// on waiting in the store, and keeps no cycle open.
func (l *Loop) giveUp(h *host, why string) {
	if h.givenUp != "" {
		return
	}
	for _, b := range h.backlogs {
		b.cycle.open -= b.pending
	}
	h.givenUp = why
	l.acquainted(h)
	l.queue.Pause(h.id, why)
	warned := false
	for _, b := range h.backlogs {
		c := b.cycle
		c.trouble = why
		c.visit.hostLost()
		c.touch()
		if c.pages > 0 && !warned { // a site without pages is told as failed
			warned = true
			c.run.opt.Log.Warn("a host is left alone for the rest of this run", "host", h.name, "reason", why)
		}
	}
}

// askAgain has a host that was given up take part again.
func (l *Loop) askAgain(h *host) {
	if h.givenUp != "" {
		for _, b := range h.backlogs {
			b.cycle.open += b.pending
		}
	}
	h.givenUp, h.failed = "", 0
	l.queue.Resume(h.id)
	l.wake(h)
}

// pause stops the sites of a host that blocks us.
func (l *Loop) pause(h *host, why string) {
	for _, b := range h.backlogs {
		c := b.cycle
		if s := c.site; s.State != store.SitePaused {
			s.State, s.Reason = store.SitePaused, why
			c.trouble = why
			c.crawl().fail(c.crawl().db.PutSite(s.Site))
			c.run.opt.Log.Warn("paused", "site", s.Name, "reason", why)
			c.touch()
		}
	}
}
