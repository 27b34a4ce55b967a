package crawl

import (
	"cmp"
	"errors"
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
	backlogs []*backlog  // of the cycles that ask it
	needs    []*needLine // of the cycles that ask it for what pages need
	turns    []*Turn     // of others who do, or wait to; none of these: the host is forgotten
	origins  []*origin   // http and https
	blocked  bool        // until a robots.txt or probe is answered nothing else is given out
	joined   bool        // by a cycle that has no part in what the frontier holds
	strange  bool        // it was never asked, as far as anybody knows
	failed   int         // requests in a row without an answer
	givenUp  string      // why it is not asked any more in these cycles
	// addressed: the frontier knows the address, or could not be told.
	addressed  bool
	crawlDelay time.Duration // that robots.txt asks for, to be told to the frontier
	stored     store.Host    // what is stored of it
	next       time.Time     // its NotBefore by the clock that paces
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

// quit takes a backlog off its host.
func (l *Loop) quit(b *backlog) {
	h := b.host
	l.acquainted(h)
	h.backlogs = slices.DeleteFunc(h.backlogs, func(o *backlog) bool { return o == b })
	h.waits = false // the cycle that it waited for may be the one that ends
	l.part(h, b.cycle.crawl())
}

// part lets go of a host that one asks no more who did. The last one takes it along, once its politeness is written
// down in the store of that one.
func (l *Loop) part(h *host, crawl *Crawl) {
	now := l.clock.Now()
	st := l.queue.State(h.id)
	if crawl.err == nil && (st.Next.After(now) || st.Backoff != h.stored.Failures) {
		h.keepUntil(crawl, st.Next, now, st.Backoff)
	}
	if !h.unasked() {
		l.setDelay(h)
		l.wake(h)
		return
	}
	l.hosts.leave(h.name, st.Next, now)
	if crawl.err == nil {
		crawl.db.ForgetAsked(h.name, l.clock.Wall().Add(st.Next.Sub(now)).UnixMilli())
	}
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

// unasked reports whether nobody asks the host, or waits to.
func (h *host) unasked() bool { return len(h.backlogs)+len(h.needs)+len(h.turns) == 0 }

// delay is the longest delay of the sites that ask a host.
func (h *host) delay() (d time.Duration) {
	for _, t := range h.turns {
		d = max(d, t.delay)
	}
	for _, b := range h.backlogs {
		d = max(d, b.cycle.delay())
	}
	for _, n := range h.needs {
		d = max(d, n.cycle.delay())
	}
	return d
}

// setDelay has a host keep the longest delay of the sites that ask it.
func (l *Loop) setDelay(h *host) { l.queue.SetDelay(h.id, h.delay()) }

// release tells the frontier how a request ended.
func (l *Loop) release(j *job, now time.Time) {
	o, h, c := j.out, j.host, j.cycle
	a := answerOf(o)
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
	} else if next := st.Next; next.Sub(h.next) >= time.Second && next.After(now) {
		h.keepUntil(c.crawl(), next, now, st.Backoff) // a shorter wait is written at the end, and by sending
	}
}

// answerOf is what an outcome says of its host.
func answerOf(o *fetch.Outcome) frontier.Answer {
	a := frontier.Answer{Took: o.Took, RetryAfter: o.RetryAfter}
	switch {
	case o.Class == fetch.Blocked:
		a.Kind = frontier.Blocked
	case o.Overloaded():
		a.Kind = frontier.Overloaded
	case !o.Class.Answered() && o.Transient():
		a.Kind = frontier.Failed
	}
	return a
}

// keepUntil writes until when a host is to be left alone, so that politeness holds across runs.
func (h *host) keepUntil(c *Crawl, next, now time.Time, failures int) {
	wall := c.loop.clock.Wall()
	h.next, h.stored = next, store.Host{Origin: h.name, LastRequest: wall.UnixMilli(), NotBefore: wall.Add(next.Sub(now)).UnixMilli(), Failures: failures}
	c.fail(c.db.PutHost(&h.stored))
}

// sending notes that a host is about to be asked, where it is to be left alone afterwards: so that
// a kill at any moment from here on leaves the next process knowing. A host without a delay costs
// nothing here.
func (h *host) sending(c *Crawl, delay time.Duration) error {
	if delay > 0 || h.crawlDelay > 0 {
		return c.db.PutAsked(h.name, c.loop.clock.Wall().UnixMilli())
	}
	return nil
}

// restore brings the politeness of an earlier run back, for one who asks the host not before a time, and obeys its
// robots.txt or does not.
func (h *host) restore(c *Crawl, obeys bool, from time.Time) error {
	l, db := c.loop, c.db
	rec, err := db.Host(h.name)
	if err != nil {
		return err
	}
	h.stored = *rec
	now, wall := l.clock.Now(), l.clock.Wall()
	last, sure := h.lastAsked(db, wall, cmp.Or(l.cfg.Fetch.Timeout, time.Minute))
	h.strange = !sure
	if others := c.cfg.AskedUntil; !others.IsZero() && (!sure || others.After(last)) {
		last, sure = earlier(others, wall), true
	}
	if sure && wall.Sub(last) < frontier.MaxDelay && obeys {
		if err := h.recallDelay(c); err != nil {
			return err
		}
	}
	st := frontier.State{Backoff: rec.Failures, CrawlDelay: h.crawlDelay}
	if sure {
		st.Last = now.Add(last.Sub(wall))
		st.Answered = rec.LastRequest != 0 && rec.Failures == 0
	}
	next := now.Add(leftAlone(rec, wall))
	if from.After(next) {
		next = from
	}
	if left := l.hosts.left[h.name]; left.After(next) {
		next = left
	}
	delete(l.hosts.left, h.name)
	h.next, st.Next = next, next
	if sure || rec.Failures > 0 || next.After(now) {
		l.queue.Restore(h.id, st)
	}
	return nil
}

// lastAsked is when the last request of an earlier run to the host ended, at the latest, and false
// where there is no word of any. Where a kill left a request under way it may have reached the host
// at any moment until then, or until its timeout. A time that lies ahead of wall, which has been set
// back since, is taken for wall.
func (h *host) lastAsked(db *store.DB, wall time.Time, timeout time.Duration) (last time.Time, sure bool) {
	if at := h.stored.LastRequest; at != 0 {
		last, sure = earlier(time.UnixMilli(at), wall), true
	}
	if at := db.Asked(h.name); at != 0 {
		if end := earlier(time.UnixMilli(at).Add(timeout), wall); !sure || end.After(last) {
			last, sure = end, true
		}
	}
	return last, sure
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// leftAlone is how long a host is to be left alone yet by what is stored of it: at least 0. Where
// the last request lies ahead of wall, the clock has been set back since and nobody knows how much
// of the wait has passed: all of it is to come.
func leftAlone(rec *store.Host, wall time.Time) time.Duration {
	from := max(rec.LastRequest, wall.UnixMilli())
	wait := time.Duration(max(0, rec.NotBefore-from)) * time.Millisecond
	if wait > maxLeftAlone { // no server may ask for it
		return 0
	}
	return wait
}

// maxLeftAlone is the longest wait that is believed when it is found in the store.
const maxLeftAlone = fetch.MaxRetryAfter

// recallDelay sets the crawl delay that the stored rules of the host ask for, which holds until they
// are fetched again.
func (h *host) recallDelay(c *Crawl) error {
	for _, scheme := range []string{"http://", "https://"} {
		kept, err := c.db.Robots(scheme + h.name)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		rules := fetch.ReadRobots(c.loop.cfg.Fetch.UserAgent, kept.Status, kept.Body, time.Unix(kept.FetchedAt, 0))
		h.crawlDelay = max(h.crawlDelay, rules.CrawlDelay())
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
		b.cycle.lineUp(-b.pending)
	}
	h.givenUp = why
	l.acquainted(h)
	l.queue.Pause(h.id, why)
	warned := false
	for _, b := range h.backlogs {
		c := b.cycle
		c.trouble, c.lost = why, why
		c.visit.hostLost()
		c.touch()
		if c.pages > 0 && !warned { // a site without pages is told as failed
			warned = true
			c.run.opt.Log.Warn("a host is left alone for the rest of this run", "host", h.name, "reason", why)
		}
	}
	for _, n := range h.needs {
		n.putOff(why)
	}
}

// askAgain has a host that was given up take part again.
func (l *Loop) askAgain(h *host) {
	if h.givenUp != "" {
		for _, b := range h.backlogs {
			b.cycle.lineUp(b.pending)
		}
	}
	h.givenUp, h.failed = "", 0
	for _, n := range h.needs {
		n.goOn()
	}
	l.queue.Resume(h.id)
	l.wake(h)
}

// pause stops the sites of a host that blocks us. Where it is asked for what pages need alone, these do without.
func (l *Loop) pause(h *host, why string) {
	if len(h.backlogs) == 0 {
		l.giveUp(h, why)
	}
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
