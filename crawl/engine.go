package crawl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"forage/fetch"
	"forage/frontier"
	"forage/graph"
	"forage/store"
)

// An engine is one run of the loop. All fields belong to the goroutine of loop.
type engine struct {
	c       *Crawl
	cfg     *Config
	db      *store.DB
	client  *fetch.Client
	q       *frontier.Queue[item]
	hosts   map[string]*host
	byID    []*host // by frontier.Host
	sites   map[store.SiteID]*site
	inHost  map[string][]*site // sites by the host or domain of their scope
	cycle   *store.CycleRecord
	opened  bool              // the cycle is in the store
	told    store.CycleRecord // as it is there
	resumed bool              // an earlier run of the cycle was interrupted, nobody knows how
	begins  map[store.Cycle]store.Time
	touched []*site // these may have changed since the last commit

	jobs    chan *job
	answers chan *job
	out     int // jobs under way
	docs    int // of these, documents
	woken   map[*host]bool
	batch   []graph.Node
	began   time.Time
	shown   time.Time
	next    time.Time // when the next host is due
	res     *Result
	paused  bool
	// stopping: nothing more is handed out. err ends the loop.
	stopping bool
	err      error
	keeper   *keeper // nil: all pages are kept
}

// A site is a site of this run.
type site struct {
	*store.Site
	scope    *scope
	traps    *traps
	first    store.Time // when its first visit began
	cycle    *store.SiteCycle
	told     store.SiteCycle // as it is in the store
	touched  bool            // it is among those of the engine
	inflight int             // requests for documents under way
	open     int             // documents handed out or waiting in this run, not settled
	pages    int             // known so far
	full     bool            // a limit is reached
	ended    bool
	held     bool   // paused by hand in this run, which waits for it
	limit    string // the limit that was reached, for people
	waiting  []item // handed out while there was no room under a limit
	trouble  string // the last reason why something of it could not be fetched
	repeats  map[graph.Node]int
	links    int // found in this run
	scripted int // pages with scripts
	rv       *rediscovery
	fine     bool // it answered in this run, other than by trouble of its own
	bench    bench
	fresh    int      // hosts that take part and have answered nothing yet
	door     []*host  // that wait to take part
	order    *ordered // an explorer orders the first visit; nil: the order of discovery
}

// stopped reports whether nothing more of the site's queue may be handed out.
func (s *site) stopped() bool { return s.full || s.ended || s.State == store.SitePaused }

func (c *Crawl) newEngine(cycle *store.CycleRecord, opened bool) (*engine, error) {
	client, err := fetch.New(c.cfg.Fetch)
	if err != nil {
		return nil, err
	}
	cycles, err := c.db.Cycles()
	if err != nil {
		return nil, err
	}
	begins := map[store.Cycle]store.Time{cycle.Cycle: cycle.At}
	for _, r := range cycles {
		begins[r.Cycle] = r.At
	}
	e := &engine{
		c: c, cfg: &c.cfg, db: c.db, client: client, cycle: cycle, opened: opened, resumed: opened, begins: begins,
		hosts: map[string]*host{}, sites: map[store.SiteID]*site{}, inHost: map[string][]*site{}, woken: map[*host]bool{},
		jobs: make(chan *job, c.cfg.Parallel), answers: make(chan *job, c.cfg.Parallel),
		res: &Result{Cycle: cycle.Cycle}, began: time.Now(),
	}
	e.q = frontier.New[item](frontier.Config{Delay: c.cfg.Delay, Parallel: c.cfg.Parallel, Batch: 64, MaxHeld: 1 << 13}, e)
	return e, nil
}

// addSite takes a site into the run. Its traps know no URLs of earlier cycles.
func (e *engine) addSite(rec *store.Site) (*site, error) {
	sc, err := newScope(&rec.Rules)
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", rec.Name, err)
	}
	s := &site{Site: rec, scope: sc, traps: newTraps(), repeats: map[graph.Node]int{}}
	var ok bool
	if s.first, ok = e.begins[rec.FirstCycle]; !ok {
		s.first = e.cycle.At
	}
	counts, err := e.db.Counters(rec.ID)
	if err != nil {
		return nil, err
	}
	s.pages = int(counts.Pages())
	s.cycle, err = e.db.SiteCycle(rec.ID, e.cycle.Cycle)
	if errors.Is(err, store.ErrNotFound) {
		s.cycle, err = &store.SiteCycle{Site: rec.ID, Cycle: e.cycle.Cycle, Kind: e.cycle.Kind, At: e.c.now()}, nil
	}
	if err != nil {
		return nil, err
	}
	e.sites[rec.ID] = s
	e.touch(s)
	key := rec.Rules.Within
	if rec.Rules.Scope == "prefix" {
		key = hostOf(key)
	}
	e.inHost[key] = append(e.inHost[key], s)
	rec.LastCycle = e.cycle.Cycle
	if rec.State != store.SitePaused {
		rec.State, rec.Reason = store.SiteCrawling, ""
	}
	e.res.Sites++
	return s, e.db.PutSite(rec)
}

// siteOf returns the site of this run that url belongs to, nil if there is none.
func (e *engine) siteOf(url string) *site {
	host := hostOf(url)
	for name := host; ; {
		for _, s := range e.inHost[name] {
			if s.scope.contains(url) {
				return s
			}
		}
		i := 0
		for i < len(name) && name[i] != '.' {
			i++
		}
		if i == len(name) {
			return nil
		}
		name = name[i+1:]
	}
}

// fail ends the run because the store or the program is broken.
func (e *engine) fail(err error) {
	if err != nil && e.err == nil {
		e.err = err
	}
}

// run starts the pool, works until nothing is left, and saves.
func (e *engine) run(ctx context.Context) (*Result, error) {
	fctx, cancel := context.WithCancel(ctx)
	var pool sync.WaitGroup
	for range e.cfg.Parallel {
		pool.Go(func() {
			r := reader{client: e.client}
			for j := range e.jobs {
				r.do(fctx, j)
				e.answers <- j
			}
		})
	}
	e.fail(e.openKeeper())
	e.loop(ctx)
	cancel()
	close(e.jobs)
	for e.out > 0 { // what was under way is cut off and waits in the queue; what has come counts
		if j := <-e.answers; e.err == nil {
			e.take(j)
		} else {
			e.out--
		}
	}
	pool.Wait()
	e.client.Close()
	err := e.finish()
	e.res.Seconds = time.Since(e.began).Seconds()
	return e.res, errors.Join(e.err, err)
}

func (e *engine) loop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var limit <-chan time.Time
	if e.cfg.MaxTime > 0 {
		t := time.NewTimer(e.cfg.MaxTime)
		defer t.Stop()
		limit = t.C
	}
	for e.err == nil {
		e.commit()
		e.handOut(time.Now())
		e.progress(time.Now())
		if e.out == 0 {
			// What was settled without a request may let something else begin.
			if woken := e.commit(); woken && !e.stopping {
				continue
			}
			if e.err != nil || e.stopping {
				return
			}
			if e.idle() {
				if e.catchUp() {
					continue
				}
				return
			}
		}
		wait := 200 * time.Millisecond // for progress
		if !e.next.IsZero() {
			wait = min(wait, max(0, time.Until(e.next)))
		}
		timer.Reset(wait)
		select {
		case j := <-e.answers:
			e.take(j)
			for n := 1; n < 64; n++ {
				select {
				case j := <-e.answers:
					e.take(j)
					continue
				default:
				}
				break
			}
		case <-timer.C:
		case <-ctx.Done():
			e.res.Interrupted = true
			return
		case <-limit:
			e.stop("--time-limit")
		case c := <-e.c.commands:
			c.done <- e.command(c)
		}
	}
}

// patience is how long a run waits with nothing to do for a host that asked to be left alone.
const patience = 10 * time.Minute

// idle reports whether nothing is left that could be fetched soon.
func (e *engine) idle() bool {
	if e.paused {
		return false
	}
	for _, s := range e.sites {
		if s.held {
			return false
		}
	}
	if e.next.IsZero() {
		return true
	}
	if time.Until(e.next) > patience {
		e.res.Cut = "a host that asks to be left alone until " + e.next.Format(time.RFC3339)
		e.cfg.Log.Warn("a host asks to be left alone for longer than a run waits; the same command goes on later", "until", e.next.Format(time.RFC3339))
		return true
	}
	return false
}

// stop lets requests under way end and hands nothing more out.
func (e *engine) stop(why string) {
	if !e.stopping {
		e.stopping, e.res.Cut = true, why
		for _, s := range e.sites {
			if s.limit == "" && !s.ended {
				s.limit = why
			}
		}
	}
}

// handOut gives the pool everything whose turn it is.
func (e *engine) handOut(now time.Time) {
	e.next = time.Time{}
	for !e.stopping && !e.paused && e.err == nil {
		id, it, next, ok := e.q.Acquire(now)
		if !ok {
			e.next = next
			return
		}
		h, s := e.byID[id], e.sites[it.site]
		if !h.addressed && e.cfg.Delay > 0 && e.cfg.Fetch.Proxy == nil {
			// The bound of requests to one address holds from the first one on.
			h.addressed = true
			if a, err := netip.ParseAddr(name(h.name)); err != nil {
				e.out++
				e.jobs <- &job{host: h, item: it, site: s, lookup: true}
				continue
			} else if !e.q.SetAddr(id, a) {
				e.q.Undo(id, it)
				continue
			}
		}
		if it.work == fetchNew || it.work == fetchOld {
			if it.work == fetchNew && !s.room() {
				e.q.Release(id, now, frontier.Answer{})
				s.waiting = append(s.waiting, it)
				continue
			}
			s.inflight++
		}
		j := &job{host: h, item: it, site: s}
		if it.work == fetchNew || it.work == fetchOld {
			d, err := e.db.Doc(it.id)
			if err != nil {
				e.fail(err)
				return
			}
			j.url, j.etag, j.lastModified, j.digest = d.URL, d.ETag, d.LastModified, d.Digest
			j.list = d.IsList() || d.Main || d.Via == store.ViaFeedLink
			j.soft = len(s.Soft404) > 0
			j.ignore = s.Rules.IgnoreParams
		} else {
			j.url = it.url
		}
		e.out++
		if j.work == fetchNew || j.work == fetchOld {
			e.docs++
			if e.cfg.MaxTotal > 0 && e.res.Fetched+int64(e.docs) >= e.cfg.MaxTotal {
				e.stop("--max-total")
			}
		}
		h.lastOut = now
		if d := min(e.q.State(id).CrawlDelay, frontier.MaxDelay); d > e.cfg.Delay {
			// Should we be killed before the answer, the next run knows when to ask again.
			h.kept = now.Add(d).UnixMilli()
			e.fail(e.db.PutHost(&store.Host{Origin: h.name, NotBefore: h.kept, LastRequest: now.UnixMilli(), Failures: e.q.State(id).Backoff}))
		}
		e.jobs <- j
	}
}

func name(host string) string {
	n, _ := cutPort(host)
	if len(n) > 1 && n[0] == '[' {
		n = n[1 : len(n)-1]
	}
	return n
}

// room reports whether another document may be fetched under the limits of a first visit.
func (s *site) room() bool {
	if s.rv != nil {
		return true
	}
	return (s.Rules.MaxPages == 0 || s.pages+s.inflight < s.Rules.MaxPages) &&
		(s.Rules.Budget == 0 || s.cycle.Fetched+s.inflight < s.Rules.Budget)
}

// spent notes when a limit of a first visit is reached, and gives out what waited for room.
func (e *engine) spent(s *site) {
	if s.rv != nil {
		return
	}
	switch {
	case s.Rules.MaxPages > 0 && s.pages >= s.Rules.MaxPages:
		s.full, s.limit = true, "--max-pages"
	case s.Rules.Budget > 0 && s.cycle.Fetched >= s.Rules.Budget:
		s.full, s.limit = true, "--budget"
	case len(s.waiting) > 0 && s.room():
		it := s.waiting[0]
		s.waiting = s.waiting[1:]
		d, err := e.db.Doc(it.id)
		if err != nil {
			e.fail(err)
			return
		}
		h := e.host(hostOf(d.URL))
		h.front = append(h.front, it)
		e.wake(h)
	}
}

// commit ends the window and wakes the hosts that got something to fetch in it. It reports
// whether there were any.
func (e *engine) commit() (woken bool) {
	if e.err != nil {
		return false
	}
	e.tally()
	if err := e.db.Commit(); err != nil { // so that advance can read links
		e.fail(err)
		return false
	}
	touched := e.touched
	e.touched = nil
	for _, s := range touched {
		s.touched = false
		due := s.rv != nil && s.inflight == 0 && s.open == 0 && !s.ended && !e.stopping
		if due {
			e.advance(s)
		}
		if due || !e.opened {
			e.touch(s)
		}
	}
	e.tally()
	if err := e.db.Commit(); err != nil {
		e.fail(err)
		return false
	}
	for h := range e.woken {
		e.q.Wake(h.id)
		woken = true
	}
	clear(e.woken)
	return woken
}

// tally writes the counts of the cycle in the window of what they count, so that a run that is
// killed loses none.
func (e *engine) tally() {
	if !e.opened {
		return
	}
	if e.told != *e.cycle {
		e.told = *e.cycle
		e.fail(e.db.PutCycle(e.cycle))
	}
	for _, s := range e.touched {
		if s.told != *s.cycle {
			s.told = *s.cycle
			e.fail(e.db.PutSiteCycle(s.cycle))
		}
	}
}

// touch has the next commit look at a site: an answer was counted, or something settled. To look
// at all of them after each few answers takes a run of very many sites time with their square.
func (e *engine) touch(s *site) {
	if !s.touched {
		s.touched = true
		e.touched = append(e.touched, s)
	}
}

// take works off what a job came to.
func (e *engine) take(j *job) {
	e.out--
	if !j.lookup && (j.work == fetchNew || j.work == fetchOld) {
		e.docs--
	}
	e.touch(j.site)
	h, now := j.host, time.Now()
	if j.lookup { // no request was made: the same item is next
		if j.addr.IsValid() {
			e.q.SetAddr(h.id, j.addr)
		}
		e.q.Undo(h.id, j.item)
		return
	}
	if j.err != nil { // the run is being interrupted: the document goes on waiting
		e.q.Undo(h.id, j.item)
		if j.work == fetchNew || j.work == fetchOld {
			j.site.inflight--
		}
		return
	}
	e.openCycle()
	switch j.work {
	case fetchRobots:
		e.robots(j, now)
	case fetchProbe:
		e.probed(j)
		e.release(j, now)
	default:
		j.site.inflight--
		e.answered(j)
		e.release(j, now)
		e.spent(j.site)
		e.met(h)
	}
	j.out.Release()
}

// openCycle writes the cycle when the first answer of it is in.
func (e *engine) openCycle() {
	if !e.opened {
		e.opened = true
		e.fail(e.db.PutCycle(e.cycle))
	}
}

// release tells the frontier how a request ended.
func (e *engine) release(j *job, now time.Time) {
	o := j.out
	a := frontier.Answer{Took: o.Took, RetryAfter: o.RetryAfter}
	switch {
	case o.Class == fetch.Blocked:
		a.Kind = frontier.Blocked
	case o.Overloaded():
		a.Kind = frontier.Overloaded
	case !o.Class.Answered() && o.Transient():
		a.Kind = frontier.Failed
	}
	h := j.host
	if o.Addr.IsValid() {
		e.q.SetAddr(h.id, o.Addr.Addr().Unmap())
	}
	e.q.Release(h.id, now, a)
	if st := e.q.State(h.id); a.Kind == frontier.Overloaded && e.cycle.Kind != store.FirstVisit &&
		(st.Backoff >= maxOverloads || st.Next.Sub(now) > maxWait) {
		e.giveUp(h, away(o.Status, j.work == fetchRobots))
	}
	if a.Kind == frontier.Failed {
		if h.failed++; h.failed >= maxFailures {
			e.giveUp(h, o.Class.String()+": "+o.Reason)
		}
	} else {
		h.failed = 0
	}
	if st := e.q.State(h.id); st.Paused && h.givenUp == "" {
		e.pauseHost(h, st.Reason)
	} else if next := st.Next; next.UnixMilli()-h.kept >= 1000 && next.After(now) {
		e.keep(h, now) // a shorter wait is written at the end, and assumed after a crash
	}
}

// keep writes until when a host is to be left alone, so that politeness holds across runs.
func (e *engine) keep(h *host, now time.Time) {
	st := e.q.State(h.id)
	h.kept, h.failures = st.Next.UnixMilli(), st.Backoff
	e.fail(e.db.PutHost(&store.Host{Origin: h.name, NotBefore: h.kept, LastRequest: now.UnixMilli(), Failures: st.Backoff}))
}

// maxFailures is how many requests in a row may stay without an answer before a host is left
// alone for the rest of the run.
const maxFailures = 6

// In a cycle of discovery a host that answers 429 or 503 is left alone after maxOverloads of
// them in a row, those of earlier runs included, or when it is to be left alone for more than
// maxWait: there will be another cycle, and each such answer takes of the budget.
const (
	maxOverloads = 3
	maxWait      = time.Minute
)

func away(status int, robots bool) string {
	what := ""
	if robots {
		what = "robots.txt: "
	}
	return fmt.Sprintf("%sanswers with status %d, and is left alone until the next cycle", what, status)
}

// giveUp leaves a host alone for the rest of the run. What waits there goes on waiting.
func (e *engine) giveUp(h *host, why string) {
	if h.givenUp != "" {
		return
	}
	h.givenUp = why
	e.met(h)
	e.q.Pause(h.id, why)
	if e.dropHost(h, why) {
		e.cfg.Log.Warn("a host is left alone for the rest of this run", "host", h.name, "reason", why)
	}
}

// dropHost notes at the sites of a host that it will not be asked any more; a cycle of
// discovery there ends. It reports whether any of them has pages, and is not told as failed.
func (e *engine) dropHost(h *host, why string) (hasPages bool) {
	seen := map[store.SiteID]bool{}
	for id := range h.cursors {
		seen[id] = true
	}
	for _, it := range h.front {
		seen[it.site] = true
	}
	for id := range seen {
		s := e.sites[id]
		if s == nil {
			continue
		}
		s.trouble = why
		hasPages = hasPages || s.pages > 0
		if s.rv != nil {
			s.ended = true
		}
	}
	return hasPages
}

// pauseHost stops the sites of a host that blocks us.
func (e *engine) pauseHost(h *host, why string) {
	for id := range h.cursors {
		if s := e.sites[id]; s != nil && s.State != store.SitePaused {
			s.State, s.Reason = store.SitePaused, why
			s.trouble = why
			e.fail(e.db.PutSite(s.Site))
			e.cfg.Log.Warn("paused", "site", s.Name, "reason", why)
		}
	}
}

// restoreHost brings the politeness of an earlier run back. After a crash a request may have
// been under way that left no trace: the host gets its delay first.
func (e *engine) restoreHost(h *host) error {
	rec, err := e.db.Host(h.name)
	if err != nil {
		return err
	}
	h.kept, h.failures = rec.NotBefore, rec.Failures
	next := time.UnixMilli(rec.NotBefore)
	if from := e.began.Add(e.cfg.Delay); e.resumed && from.After(next) {
		next = from
	}
	if rec.Failures > 0 || next.After(time.Now()) {
		e.q.Restore(h.id, frontier.State{Next: next, Backoff: rec.Failures})
	}
	return nil
}

func (e *engine) progress(now time.Time) {
	if e.cfg.Progress == nil || now.Sub(e.shown) < 100*time.Millisecond {
		return
	}
	e.shown = now
	st := e.q.Stats()
	p := Progress{Elapsed: now.Sub(e.began), Fetched: e.res.Fetched, Pages: e.res.Pages, Hosts: st.Active, Out: e.out}
	for id := range e.sites {
		c, err := e.db.Counters(id)
		if err != nil {
			e.fail(err)
			return
		}
		p.Queued += c.Queued()
		if len(e.sites) > 1000 {
			break // too many to count ten times a second
		}
	}
	if !e.next.IsZero() {
		p.Wait = time.Duration(math.Max(0, float64(e.next.Sub(now))))
	}
	e.cfg.Progress(p)
}
