package crawl

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"forage/crawl/document"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/frontier"
	"forage/store"
)

// A Loop does the work of one or several stores, in one goroutine and a pool of workers. It
// runs while there is a run to be done, and ends by itself. mu guards running, ended and asked;
// all else belongs to its goroutine.
type Loop struct {
	clock    Clock
	client   *fetch.Client
	cfg      Config // Parallel, Delay, Fetch
	queue    *frontier.Queue[item]
	hosts    hosts
	turns    []*Turn // that wait for theirs, in order
	pool     pool
	crawls   []*Crawl  // those with runs
	finished []*run    // to be told so when the loop has left their stores alone
	next     time.Time // when the next host is due; zero: that takes an answer first
	back     int       // cycles that were parked, and to which nothing was handed out since
	manyOpen int       // see parked.go
	maxTold  int       // see ordered.go
	added    int       // bytes of the URLs that became known in the window
	saved    time.Time // when a window ended last
	taken    int       // answers that the last turn took in
	open     bool      // the window is to end windowTime after that at the latest
	counter  counter

	mu      sync.Mutex
	running bool
	ended   chan struct{} // closed when the goroutine has ended
	asked   []func()      // by other goroutines, to be called by the loop
	notify  chan struct{} // holds a token while something is asked
}

// NewLoop returns a loop that fetches as cfg says; Dir, At, MaxKept and Keep are those of its stores.
// The error is that of a cfg.Fetch which cannot work.
func NewLoop(cfg Config) (*Loop, error) {
	cfg.Parallel, cfg.Delay = cmp.Or(cfg.Parallel, 64), max(0, cmp.Or(cfg.Delay, DefaultDelay))
	client, err := fetch.New(cfg.Fetch)
	if err != nil {
		return nil, err
	}
	l := &Loop{clock: cfg.Clock, client: client, cfg: cfg, manyOpen: manyOpen, maxTold: maxTold, notify: make(chan struct{}, 1)}
	if l.clock == nil {
		l.clock = machineClock{}
	}
	l.hosts = hosts{byName: map[string]*host{}, woken: map[*host]bool{}, left: map[string]time.Time{}}
	l.queue = frontier.New[item](frontier.Config{Delay: cfg.Delay, Parallel: cfg.Parallel, Batch: 64, MaxHeld: 1 << 13}, l)
	return l, nil
}

// do has the loop call f between two answers. It starts the loop where it does not run.
func (l *Loop) do(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, f)
	select {
	case l.notify <- struct{}{}:
	default:
	}
	if !l.running {
		l.running, l.ended = true, make(chan struct{})
		go l.work()
	}
}

// heed calls what was asked for.
func (l *Loop) heed() {
	l.mu.Lock()
	asked := l.asked
	l.asked = nil
	l.mu.Unlock()
	if len(asked) == 0 {
		return
	}
	for _, c := range l.crawls { // so that what is asked for finds counts and documents that fit
		c.save()
	}
	for _, f := range asked {
		f()
	}
}

// leave ends the loop if nothing is left to be done and nothing was asked for meanwhile.
func (l *Loop) leave() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.crawls) > 0 || len(l.turns) > 0 || len(l.asked) > 0 {
		return false
	}
	l.running = false
	close(l.ended)
	return true
}

// work is the loop's goroutine.
func (l *Loop) work() {
	l.pool.start(l.cfg.Parallel, l.client)
	pool := &l.pool
	for {
		l.heed()
		l.arrive()
		now := l.clock.Now()
		if l.open = l.keepsOpen(now); !l.open {
			l.commit()
			now = l.clock.Now()
			l.saved = now
		}
		for _, c := range l.crawls {
			c.look(now)
		}
		l.handOut(now)
		l.counter.hosts(l.queue.Stats())
		if l.open && l.starves(l.pool.out) {
			l.saved = time.Time{}
			continue
		}
		l.watch(now)
		if !l.open && l.unsettled() { // what was settled without a request ends something, or lets it begin
			continue
		}
		l.announce()
		if len(l.crawls) == 0 && len(l.turns) == 0 {
			pool.stop()
			l.client.Close()
			if l.leave() {
				return
			}
			pool.start(l.cfg.Parallel, l.client)
			continue
		}
		l.sleep(now)
	}
}

// announce tells runs that they have ended: their stores may be closed from now on.
func (l *Loop) announce() {
	for _, r := range l.finished {
		close(r.done)
	}
	l.finished = nil
}

// fullWindow is how many bytes of URLs may become known before they are committed. The store holds
// some five times as much until then: each URL is in its own record and that of its document, and both
// are in what is written to the log and in the table in memory.
const fullWindow = 1 << 20

// windowTime is how long a window stays open at most while many requests are under way. At 10,000 answers a
// second two came to a window when each turn of the loop ended one: with its own rows and a part of the log that is
// written again by the next one, windows took 550 bytes of the disk for each page, of 1,510.
const windowTime = 50 * time.Millisecond

// keepsOpen reports whether what was written waits for more that is written with it.
func (l *Loop) keepsOpen(now time.Time) bool {
	took := now.Sub(l.saved)
	return !l.starves(l.pool.out+l.taken) && l.added < fullWindow && 0 <= took && took < windowTime
}

// fewRequests under way bring so few answers that each of them may end a window.
const fewRequests = 8

// starves reports whether half of the workers have nothing to do, or all but a few, where out are busy: what they are
// to fetch may be what is known by now, and not committed.
func (l *Loop) starves(out int) bool { return out < max(fewRequests, (l.cfg.Parallel+1)/2) }

// sleep takes in the answers that are there, or waits for one, for a host's turn, for the end of the window, or for
// somebody who asks.
func (l *Loop) sleep(now time.Time) {
	out := l.pool.out
	defer func() { l.taken = out - l.pool.out }()
	for n := range 64 {
		select {
		case j := <-l.pool.answers:
			if l.take(j); l.added >= fullWindow {
				return
			}
			continue
		default:
		}
		if n == 0 && !l.arriving() {
			select {
			case j := <-l.pool.answers:
				l.take(j)
			case <-l.clock.After(l.rest(now)):
			case <-l.notify:
			}
		}
		return
	}
}

// rest is how long there is nothing to do unless something happens.
func (l *Loop) rest(now time.Time) time.Duration {
	wait := time.Hour
	if l.open {
		wait = windowTime - now.Sub(l.saved)
	}
	if !l.next.IsZero() {
		wait = min(wait, l.next.Sub(now))
	}
	for _, c := range l.crawls {
		if c.Full() != nil {
			wait = min(wait, fullInterval)
		} else if due := c.parking.due.Items; len(due) > 0 && l.back < mostBegun && !c.paused {
			wait = min(wait, due[0].due.Sub(now))
		}
		for _, r := range c.runs {
			if r.opt.Progress != nil {
				wait = min(wait, 200*time.Millisecond)
			}
			if !r.deadline.IsZero() && !r.stopping {
				wait = min(wait, r.deadline.Sub(now))
			}
		}
	}
	return max(0, wait)
}

// unsettled reports whether a commit would bring anything on.
func (l *Loop) unsettled() bool {
	return len(l.hosts.woken) > 0 || slices.ContainsFunc(l.crawls, func(c *Crawl) bool { return len(c.touched) > 0 })
}

// watch ends runs whose time is over, and shows progress.
func (l *Loop) watch(now time.Time) {
	for _, c := range slices.Clone(l.crawls) {
		for _, r := range slices.Clone(c.runs) {
			if !r.deadline.IsZero() && !r.stopping && !now.Before(r.deadline) {
				r.stop("--time-limit", false)
			}
			r.progress(now)
		}
	}
}

// commit ends the window of each store, lets cycles go on or end, and wakes the hosts that got
// something to fetch.
func (l *Loop) commit() {
	for _, c := range slices.Clone(l.crawls) {
		c.commit()
	}
	for h := range l.hosts.woken {
		if h.joined {
			h.joined = false
			l.queue.Spill(h.id)
		}
		l.queue.Wake(h.id)
	}
	clear(l.hosts.woken)
}

// handOut gives the pool everything whose turn it is.
func (l *Loop) handOut(now time.Time) {
	turn := l.giveTurns(now)
	for {
		id, it, next, ok := l.queue.Acquire(now)
		if l.next = next; !ok {
			if !turn.IsZero() && (next.IsZero() || turn.Before(next)) {
				l.next = turn
			}
			return
		}
		h, c := l.hosts.byID[id], it.cycle
		if st := l.queue.State(id); h.crawlDelay > st.CrawlDelay { // the store has its rules
			if l.queue.SetCrawlDelay(id, h.crawlDelay); l.queue.State(id).Next.After(now) {
				l.queue.Undo(id, it)
				continue
			}
		}
		if it.stopped() || c.crawl().err != nil || it.isDocument() && !c.hasRoom() {
			l.queue.Undo(id, it) // with all that is held of the host, in order
			l.queue.Spill(id)
			continue
		}
		if l.client.Permitted(h.name) != nil { // the worker would find out, and others may have its turn meanwhile
			l.queue.Postpone(id, it, now, refusedFor)
			continue
		}
		if !h.addressed && c.delay() > 0 && l.cfg.Fetch.Proxy == nil {
			// The bound of requests to one address holds from the first one on.
			h.addressed = true
			if a, err := netip.ParseAddr(scope.Hostname(h.name)); err != nil {
				l.send(&job{host: h, item: it, lookup: true})
				continue
			} else if !l.queue.SetAddr(id, a) {
				l.queue.Undo(id, it)
				continue
			}
		}
		if l.cfg.Spend != nil && (it.isDocument() || it.work == fetchNeed) {
			if wait := l.cfg.Spend(); wait > 0 {
				l.queue.Postpone(id, it, now, wait)
				continue
			}
		}
		j := &job{host: h, item: it, first: h.strange}
		c.request(j)
		c.record(j)
		if h.strange = false; j.first {
			j.request.Wait = firstWait
		}
		if c.crawl().fail(h.sending(c.crawl(), c.delay())); c.crawl().err != nil {
			l.queue.Undo(id, it)
			l.queue.Spill(id)
			continue
		}
		l.send(j)
		c.run.handedOut()
	}
}

// refusedFor is how long a host waits that fetch.Config.Permit did not let be asked, so that nothing spins while that lasts.
const refusedFor = time.Second

// firstWait is how long the answer to the first request ever to a host may take to begin. Hosts that do not
// answer at all are many in old lists; one that takes longer is asked again, with all the time that
// others get.
const firstWait = 3 * time.Second

// send gives a job to the pool.
func (l *Loop) send(j *job) {
	c := j.cycle
	j.ctx = fetch.Allow(c.run.ctx, c.site.allow)
	c.inflight++
	if j.line != nil {
		c.needs.out++
		j.line.sent(j)
	}
	c.back(false)
	c.count(j, 1)
	l.pool.out++
	j.sent = l.clock.Now()
	l.pool.jobs <- j
}

// count counts a request that is under way, or is no more, against the limits of documents.
func (c *cycle) count(j *job, n int64) {
	switch {
	case j.lookup:
	case j.isDocument():
		c.documents += int(n)
		c.run.out += n
	case j.work == fetchNeed:
		c.run.out += n
	}
}

// take takes in what a job came to.
func (l *Loop) take(j *job) {
	c, h, now := j.cycle, j.host, l.clock.Now()
	l.pool.out--
	c.inflight--
	if j.line != nil {
		c.needs.out--
		j.line.came(j)
	}
	c.count(j, -1)
	c.touch()
	if j.err == nil && c.crawl().err == nil {
		j.err = c.crawl().archived(j)
	}
	switch {
	case j.lookup: // no request was made: the same item is next
		if j.addr.IsValid() {
			l.queue.SetAddr(h.id, j.addr)
		}
		l.queue.Undo(h.id, j.item)
		return
	case notPermitted(j.err) && c.crawl().err == nil: // the same item is next, and nothing is known of the host
		h.strange = h.strange || j.first
		l.queue.Postpone(h.id, j.item, now, refusedFor)
		j.recording.drop()
		if j.out != nil {
			j.out.Release()
		}
		return
	case j.err != nil || c.crawl().err != nil: // the run is being interrupted: the document goes on waiting
		l.queue.Release(h.id, now, frontier.Answer{}) // the server may have seen the request
		l.Spill(h.id, []item{j.item})
		j.recording.drop()
		if j.out != nil {
			j.out.Release()
		}
		return
	}
	if j.out != nil {
		l.counter.answer(j, now.Sub(j.sent))
	}
	switch j.work {
	case fetchRobots:
		l.robots(j, now)
	case fetchProbe:
		l.release(j, now)
		if j.asks != nil {
			l.told(j)
		} else {
			l.probed(j)
		}
	case fetchNeed:
		c.needed(j)
		l.release(j, now)
		l.acquainted(h)
	default:
		c.answered(j)
		j.backlog.untake(j.id)
		l.release(j, now)
		c.visit.spent()
		l.acquainted(h)
	}
	j.out.Release()
}

// notPermitted reports whether a request was not made, or not to its end, because fetch.Config.Permit did not let it.
func notPermitted(err error) bool {
	var e *fetch.NotPermittedError
	return errors.As(err, &e)
}

// request fills in the request of an item.
func (c *cycle) request(j *job) {
	s := c.site
	switch j.work {
	case fetchRobots:
		j.request.Follows = c.crawl().follows
		return
	case fetchNeed:
		j.request = fetch.Request{URL: j.need.URL, Any: j.need.Sheet}
		return
	case fetchProbe:
		if j.asks != nil {
			j.request.URL = j.asks.url
			j.read = document.Options{URL: j.asks.url, Says: []string{j.asks.of.doc.URL, j.asks.url}}
			return
		}
		j.request.URL = j.origin.name + probePath(s, j.origin)
		j.read = document.Options{URL: j.request.URL, Shapes: true}
		return
	}
	d := j.doc
	j.request = fetch.Request{URL: d.URL, Any: d.IsList() || d.Main || d.Via == store.ViaFeedLink}
	if j.work == fetchOld && c.conditional(d) {
		j.request.ETag, j.request.LastModified = d.ETag, d.LastModified
	}
	j.read = document.Options{URL: d.URL, Simhash: true, Actions: c.loop().client.Identifies(d.URL), Texts: c.doubts(d, j.work == fetchNew), IgnoreParams: s.Rules.IgnoreParams, Shapes: len(s.Soft404) > 0, Requisites: c.wantsRequisites()}
	if j.work == fetchOld && d.Kind == store.Page && d.Class == store.ContentPage {
		j.read.Says = []string{d.URL}
	}
}
