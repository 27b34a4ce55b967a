// Package frontier decides which host may be asked next, and when: the crawler's politeness.
//
// Start with Queue. The caller numbers its hosts, keeps their URLs (or whatever stands for
// them, T) in its own store behind Backlog, and then repeats:
//
//	h, item, next, ok := q.Acquire(now) // ok=false: nothing before next
//	… fetch item …
//	q.Release(h, now, frontier.Answer{…})
//
// Wake tells that a host has something to fetch. The package does no I/O and reads no clock:
// the same calls give the same answers.
//
// What holds at any time:
//
//   - A host has one request out, and the next one starts no sooner after the end of the last
//     than its delay: the largest of the least gap asked for (SetDelay, else Config.Delay), the
//     host's crawl delay (SetCrawlDelay) and twice its last response time, the latter two at
//     most MaxDelay. The delay runs from the
//     end of a request, so that the server too sees it between two arrivals. One that becomes
//     longer runs from the end of the last request, too: the answer that tells of it.
//   - A host that asks for less gets less: Retry-After is obeyed, and after 429, 503, a
//     challenge page or a failure the waits double from MinBackoff to MaxBackoff, until an
//     answer is fine again. After MaxBlocked challenge pages in a row the host is paused.
//   - All hosts at one IP address have at most Config.PerAddr requests out together (SetAddr),
//     without any delay between them, so that shared hosting is not strangled.
//   - For a host whose delay is 0 (SetDelay, Config.Delay) the response-time delay and the bound
//     of addresses are off, and it may have all of Config.Parallel. Crawl delays and Retry-After
//     stay; a host with a crawl delay has one request out. Such hosts take turns: it is that one's
//     which was asked longest ago.
//   - A host of which nobody knows whether it answers, since it was not asked yet, or did not when it
//     was asked last, is on trial. Requests to such hosts may stay unanswered for as long as their limit is, so
//     that they never have all of Config.Parallel, and little of it while they keep
//     others from being asked.
//
// Memory: some 250 bytes for each host known, and at most Config.MaxHeld items, or one for
// each host that is due if these are more. Hosts that wait long hold none.
package frontier

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"

	"forage/internal/heap"
)

// Limits of politeness.
const (
	MaxDelay   = 300 * time.Second // of crawl delays and response-time delays
	MinBackoff = time.Second       // the first wait after trouble, or the host's delay if that is longer
	MaxBackoff = time.Hour         // of waits that double; Retry-After may ask for more
	MaxBlocked = 20                // challenge pages in a row that pause a host
	spillAfter = time.Minute       // a host that waits longer holds no items
)

// A Host is the caller's number of a host: what shares one politeness delay.
type Host uint32

// A Backlog is where the items of hosts live. Queue calls it from inside its own methods, so
// it must not call back.
type Backlog[T any] interface {
	// Fill appends up to max items of h to into, in the order in which they shall be fetched,
	// and takes them off. Fewer than max means that there are no more until the next Wake.
	Fill(h Host, max int, into []T) []T
	// Spill takes back items of h that were filled but not fetched; they come first again.
	Spill(h Host, items []T)
}

// Config says how polite to be.
type Config struct {
	Delay    time.Duration // least gap between two requests to a host for which SetDelay tells no other; 0: see above
	Parallel int           // requests out at once over all hosts; 0 means 64
	PerAddr  int           // requests out at once to one IP address; 0 means 8
	Batch    int           // items asked of the backlog at once, for one host; 0 means 256
	MaxHeld  int           // items held over all hosts; 0 means 65536
}

// A Kind tells what an answer says about the load of its host.
type Kind uint8

const (
	Fine       Kind = iota // any answer that is none of the below, 404 and 500 included
	Overloaded             // 429 or 503
	Blocked                // a challenge or rate-limit page
	Failed                 // no answer: no connection, or one that broke off
)

// An Answer is what Release needs to know of a finished request.
type Answer struct {
	Kind       Kind
	Took       time.Duration // response time; 0 if unknown
	RetryAfter time.Duration // asked for by the host; 0 if not
}

// A State is what must survive a restart for politeness to hold across it.
type State struct {
	Next       time.Time     // not to be asked before
	Last       time.Time     // when the last request ended; zero: not known
	Answered   bool          // the host did answer that one
	CrawlDelay time.Duration // by robots.txt
	Backoff    int           // waits doubled so far
	Blocked    int           // challenge pages in a row
	Paused     bool
	Reason     string // why Paused
}

// A Queue holds the hosts of a crawl. It is not safe for concurrent use.
type Queue[T any] struct {
	cfg     Config
	backlog Backlog[T]
	hosts   map[Host]*host[T]
	addrs   map[netip.Addr]*addr[T]
	heaps   [3]heap.Heap[*host[T]] // those that may be acquired, in the order of sooner, by record
	epoch   time.Time              // what since counts from: the first time that was met
	seq     uint64
	out     int // requests out
	held    int // items in the queues
	lined   int // hosts in the lines of addresses

	trials  []*host[T] // hosts on trial with a request out
	trying  int        // their requests
	again   int        // of these, those to hosts that did not answer before
	allowed int        // of trying, at most
}

type host[T any] struct {
	id     Host
	queue  []T // items held; queue[head:] are to be fetched
	head   int
	more   bool // the backlog may have items
	out    int
	addr   *addr[T]
	delay  time.Duration // least gap between two requests
	turn   time.Duration // since when it was acquired last
	due    time.Duration // since when it may be acquired; its place in the heap
	seq    uint64        // order of hosts that are due at the same time
	pos    int           // in its heap; -1: not there
	trial  int           // in the queue's trials; -1: not there
	record record        // how it did when it was asked last
	line   bool          // waits in addr's line
	State
}

// A record is what is known of whether a host answers. A host is on trial unless it is sure.
type record uint8

const (
	strange record = iota // it was not asked yet
	silent                // it did not answer
	sure                  // it did
)

// An addr is an IP address and the hosts that wait for one of its slots.
type addr[T any] struct {
	ip   netip.Addr
	out  int
	refs int // hosts
	line []*host[T]
}

// New returns an empty queue over backlog.
func New[T any](cfg Config, backlog Backlog[T]) *Queue[T] {
	cfg.Parallel = cmp.Or(cfg.Parallel, 64)
	cfg.PerAddr = cmp.Or(cfg.PerAddr, 8)
	cfg.Batch = cmp.Or(cfg.Batch, 256)
	cfg.MaxHeld = cmp.Or(cfg.MaxHeld, 1<<16)
	q := &Queue[T]{cfg: cfg, backlog: backlog, hosts: map[Host]*host[T]{}, addrs: map[netip.Addr]*addr[T]{}, allowed: max(1, cfg.Parallel/2)}
	for i := range q.heaps {
		q.heaps[i] = heap.Heap[*host[T]]{Before: sooner[T], Moved: func(h *host[T], pos int) { h.pos = pos }}
	}
	return q
}

// since is t as it is compared: a number, which is smaller to keep.
func (q *Queue[T]) since(t time.Time) time.Duration {
	if t.IsZero() {
		return math.MinInt64
	}
	if q.epoch.IsZero() {
		q.epoch = t
	}
	return t.Sub(q.epoch)
}

func (q *Queue[T]) host(id Host) *host[T] {
	h := q.hosts[id]
	if h == nil {
		h = &host[T]{id: id, pos: -1, trial: -1, turn: math.MinInt64, delay: q.cfg.Delay}
		q.hosts[id] = h
	}
	return h
}

// Wake tells that the backlog has items for h. O(log hosts), O(1) if h knew already.
func (q *Queue[T]) Wake(id Host) {
	h := q.host(id)
	if !h.more {
		h.more = true
		q.place(h)
	}
}

// Acquire returns the host that has been due for longest, and its next item: a request is
// out until Release or Undo. ok=false: nothing may be fetched now. Then next is the time at
// which the next host is due, or zero if that takes a Release, Wake or Resume first.
// O(log hosts) a host looked at. A host is looked at in vain only when its address is full,
// at most PerAddr of them for each request that ends, or when its backlog has run dry.
func (q *Queue[T]) Acquire(now time.Time) (id Host, item T, next time.Time, ok bool) {
	if q.out >= q.cfg.Parallel {
		q.crowd(now)
		return
	}
	for {
		h := q.top()
		if h == nil {
			return
		}
		if h.Next.After(now) {
			return id, item, h.Next, false
		}
		if h.full(q.cfg.PerAddr) {
			q.remove(h)
			h.line = true
			h.addr.line = append(h.addr.line, h)
			q.lined++
			continue
		}
		if h.head == len(h.queue) {
			q.fill(h)
			if len(h.queue) == 0 {
				q.place(h)
				continue
			}
		}
		item = h.queue[h.head]
		clear(h.queue[h.head : h.head+1])
		h.head++
		q.held--
		h.turn = q.since(now)
		q.count(h, 1)
		q.seq++
		h.seq = q.seq // others that are due come first
		q.place(h)
		return h.id, item, next, true
	}
}

// Take takes the turn of a host for a request that is none of its items: it is out until Release, and goes before those
// that wait. ok=false: it may not be asked now. Then next is when it may, or zero if that takes a Release or Resume
// first. What a Take waits for is the host and its address; how many there are the caller bounds. O(log hosts).
func (q *Queue[T]) Take(id Host, now time.Time) (next time.Time, ok bool) {
	h := q.host(id)
	switch {
	case h.Paused || h.out >= q.mostOf(h) || h.full(q.cfg.PerAddr):
		return next, false
	case h.Next.After(now):
		return h.Next, false
	}
	q.unline(h) // else it would be called when this request ends, and is not due then
	h.turn = q.since(now)
	q.count(h, 1)
	q.place(h)
	return next, true
}

// mostOf is how many requests h may have out.
func (q *Queue[T]) mostOf(h *host[T]) int {
	if h.delay == 0 && h.CrawlDelay == 0 {
		return q.cfg.Parallel
	}
	return 1
}

// top is the host that is due first, of those that may be acquired; nil: there is none.
func (q *Queue[T]) top() (first *host[T]) {
	for r := range q.heaps {
		all := q.heaps[r].Items
		switch r := record(r); {
		case len(all) == 0, r != sure && q.trying >= q.allowed, r == silent && q.again >= q.mostAgain():
		case first == nil || sooner(all[0], first):
			first = all[0]
		}
	}
	return first
}

func (q *Queue[T]) heap(h *host[T]) *heap.Heap[*host[T]] { return &q.heaps[h.record] }

// slowAfter is how long an answer takes at least that is slow to come: a host which does not answer
// has its request out for longer, most others for less.
const slowAfter = time.Second

// least is how many requests hosts on trial may have out whatever happens, and most how many at most,
// so that as many are left to others.
func (q *Queue[T]) least() int { return max(1, q.cfg.Parallel/8) }
func (q *Queue[T]) most() int  { return max(1, q.cfg.Parallel-q.least()) }

// mostAgain is how many requests hosts may have out that did not answer before: those that still do not
// are given more time then, in which others may turn out to have much to be fetched.
func (q *Queue[T]) mostAgain() int { return max(1, q.cfg.Parallel/4) }

// crowd has hosts on trial get the least from now on if they keep others waiting: all requests are out, some
// of them to hosts on trial that are slow to answer, and another host is due. Each that answers gives them
// one more, and so does each that does not while no other host is due.
func (q *Queue[T]) crowd(now time.Time) {
	if q.allowed <= q.least() || !q.waiting(now) {
		return
	}
	long := q.since(now) - slowAfter
	if slices.ContainsFunc(q.trials, func(h *host[T]) bool { return h.turn < long }) {
		q.allowed = q.least()
	}
}

// waiting reports whether a host is due that is not on trial.
func (q *Queue[T]) waiting(now time.Time) bool {
	all := q.heaps[sure].Items
	return len(all) > 0 && !all[0].Next.After(now)
}

// know notes whether h answered when it was asked.
func (q *Queue[T]) know(h *host[T], answers bool, now time.Time) {
	if h.record != sure && (answers || !q.waiting(now)) {
		q.allowed = min(q.allowed+1, q.most())
	}
	h.Answered = answers
	if answers {
		q.hasRecord(h, sure)
	} else {
		q.hasRecord(h, silent)
	}
}

// hasRecord notes how h did. It is out of its heap then, until settle.
func (q *Queue[T]) hasRecord(h *host[T], is record) {
	if h.record == is {
		return
	}
	if h.pos >= 0 {
		q.remove(h)
	}
	q.tell(h, -h.out)
	h.record = is
	q.tell(h, h.out)
	q.enlist(h)
}

// tell counts n requests of h more among those to hosts on trial, where it is.
func (q *Queue[T]) tell(h *host[T], n int) {
	if h.record != sure {
		q.trying += n
	}
	if h.record == silent {
		q.again += n
	}
}

// enlist puts h among the trials or takes it out of them, as its state demands.
func (q *Queue[T]) enlist(h *host[T]) {
	switch want := h.record != sure && h.out > 0; {
	case want && h.trial < 0:
		h.trial = len(q.trials)
		q.trials = append(q.trials, h)
	case !want && h.trial >= 0:
		last := q.trials[len(q.trials)-1]
		q.trials[h.trial], last.trial = last, h.trial
		q.trials[len(q.trials)-1] = nil
		q.trials = q.trials[:len(q.trials)-1]
		h.trial = -1
	}
}

func (q *Queue[T]) fill(h *host[T]) {
	n := max(1, min(q.cfg.Batch, q.cfg.MaxHeld-q.held))
	h.queue, h.head = q.backlog.Fill(h.id, n, h.queue[:0]), 0
	h.more = len(h.queue) >= n
	q.held += len(h.queue)
}

// Release tells that a request of h has ended at now. O(log hosts).
func (q *Queue[T]) Release(id Host, now time.Time, a Answer) {
	h := q.host(id)
	if h.out == 0 {
		panic("frontier: Release without Acquire")
	}
	q.know(h, a.Kind != Failed, now)
	q.count(h, -1)
	h.Last = now
	delay := h.gap()
	if h.delay > 0 {
		delay = max(delay, min(2*a.Took, MaxDelay))
	}
	wait := max(delay, a.RetryAfter)
	if a.Kind == Fine {
		h.Backoff, h.Blocked = 0, 0
	} else {
		// Requests that were out together count as one trouble, not as one each.
		if !now.Before(h.Next) {
			h.Backoff++
		}
		back := max(delay, MinBackoff)
		for range h.Backoff - 1 {
			if back >= MaxBackoff {
				break
			}
			back = min(2*back, MaxBackoff)
		}
		wait = max(wait, back)
	}
	if a.Kind == Blocked {
		if h.Blocked++; h.Blocked >= MaxBlocked && !h.Paused {
			h.Paused, h.Reason = true, "blocked by the site: challenge pages, one after another"
		}
	}
	if t := now.Add(wait); wait > 0 && t.After(h.Next) {
		h.Next = t
	}
	q.place(h)
	if h.Paused || wait > spillAfter {
		q.spill(h)
	}
}

// Undo takes an Acquire back: item was not fetched and comes first again.
func (q *Queue[T]) Undo(id Host, item T) {
	h := q.host(id)
	if h.out == 0 {
		panic("frontier: Undo without Acquire")
	}
	q.count(h, -1)
	if h.head > 0 {
		h.head--
		h.queue[h.head] = item
	} else {
		h.queue = append([]T{item}, h.queue...)
	}
	q.held++
	q.place(h)
	if h.Paused {
		q.spill(h)
	}
}

// Postpone gives an item back that was not asked for after all, as Undo does, and leaves its host alone for a time, and
// for its delay at least: something may have been sent. Nothing else is known of the host by that.
func (q *Queue[T]) Postpone(id Host, item T, now time.Time, wait time.Duration) {
	h := q.host(id)
	if t := now.Add(max(wait, h.gap())); t.After(h.Next) {
		h.Next = t
	}
	q.Undo(id, item)
}

// Pause stops h: requests that are out may end, no more are given. reason is for people.
func (q *Queue[T]) Pause(id Host, reason string) {
	h := q.host(id)
	h.Paused, h.Reason = true, reason
	q.place(h)
	q.spill(h)
}

// Resume ends a pause, whoever began it. Delays and Retry-After still hold.
func (q *Queue[T]) Resume(id Host) {
	h := q.host(id)
	h.Paused, h.Reason, h.Blocked = false, "", 0
	q.place(h)
}

// gap is the least time from the end of a request to the next one.
func (h *host[T]) gap() time.Duration { return max(h.delay, min(h.CrawlDelay, MaxDelay)) }

// stretch has a gap that has become longer count from the end of the last request.
func (h *host[T]) stretch() {
	if h.Last.IsZero() || h.gap() == 0 {
		return
	}
	if t := h.Last.Add(h.gap()); t.After(h.Next) {
		h.Next = t
	}
}

// SetDelay sets the least gap between two requests to h, that from the last one on included; 0
// means none, see above.
func (q *Queue[T]) SetDelay(id Host, d time.Duration) {
	h := q.host(id)
	h.delay = d
	h.stretch()
	q.unline(h) // without a delay it need not wait for its address
	q.place(h)
	q.call(h.addr)
}

// SetCrawlDelay sets the delay that robots.txt asks for, from the end of the last request on; 0
// means none.
func (q *Queue[T]) SetCrawlDelay(id Host, d time.Duration) {
	h := q.host(id)
	h.CrawlDelay = d
	h.stretch()
	q.place(h)
}

// SetAddr tells the IP address that h resolves to. It returns false if h has a request out
// and the address has too many with it: the caller must Undo that one, and h gets its turn
// when another request to the address ends.
func (q *Queue[T]) SetAddr(id Host, ip netip.Addr) bool {
	h := q.host(id)
	if h.addr == nil || h.addr.ip != ip {
		out := h.out
		q.count(h, -out)
		q.leave(h)
		a := q.addrs[ip]
		if a == nil {
			a = &addr[T]{ip: ip}
			q.addrs[ip] = a
		}
		a.refs++
		h.addr = a
		q.count(h, out)
		q.place(h)
	}
	return h.delay == 0 || h.out == 0 || h.addr.out <= q.cfg.PerAddr
}

// leave takes h off its address, which has no request of h.
func (q *Queue[T]) leave(h *host[T]) {
	a := h.addr
	if a == nil {
		return
	}
	q.unline(h)
	h.addr = nil
	if a.refs--; a.refs == 0 {
		delete(q.addrs, a.ip)
	} else {
		q.call(a)
	}
}

// unline takes h out of the line that it waits in, if any. O(line).
func (q *Queue[T]) unline(h *host[T]) {
	if h.line {
		h.line = false
		q.lined--
		i := slices.Index(h.addr.line, h)
		h.addr.line = slices.Delete(h.addr.line, i, i+1)
	}
}

// Spill gives the items that h holds back to the backlog, as when their order has changed.
func (q *Queue[T]) Spill(id Host) {
	h := q.host(id)
	q.spill(h)
	q.place(h)
}

func (q *Queue[T]) spill(h *host[T]) {
	if rest := h.queue[h.head:]; len(rest) > 0 {
		q.held -= len(rest)
		q.backlog.Spill(h.id, rest)
		h.more = true
	}
	h.queue, h.head = nil, 0
}

// State returns what to keep of h for a restart.
func (q *Queue[T]) State(id Host) State {
	if h := q.hosts[id]; h != nil {
		return h.State
	}
	return State{}
}

// Restore sets what State told before a restart. A host of which it tells a request is on trial no
// more where that was answered.
func (q *Queue[T]) Restore(id Host, s State) {
	h := q.host(id)
	h.State = s
	switch {
	case s.Answered:
		q.hasRecord(h, sure)
	case !s.Last.IsZero() || s.Backoff > 0:
		q.hasRecord(h, silent)
	}
	q.unline(h)
	q.place(h)
	q.call(h.addr)
}

// Drop forgets h, which must have no request out, and gives its items back to the backlog. The
// caller keeps its State, and restores it before the next Wake.
func (q *Queue[T]) Drop(id Host) {
	h := q.hosts[id]
	if h == nil {
		return
	}
	if h.out > 0 {
		panic("frontier: Drop of a host with a request out")
	}
	q.spill(h)
	h.more = false
	q.settle(h)
	q.leave(h)
	delete(q.hosts, id)
}

// Stats are counts for progress.
type Stats struct {
	Hosts  int // known
	Active int // with something to fetch, not paused, and below their bound of requests
	Lined  int // that wait for an address
	Out    int // requests out
	Held   int // items in memory
}

// Stats counts. O(1).
func (q *Queue[T]) Stats() Stats {
	return Stats{Hosts: len(q.hosts), Active: q.heaps[strange].Len() + q.heaps[silent].Len() + q.heaps[sure].Len(), Lined: q.lined, Out: q.out, Held: q.held}
}

// Strangers is how many hosts wait for the first request ever made to them; 0 where the next of them is not
// due at now, so that no more of the workers would bring it on. O(1).
func (q *Queue[T]) Strangers(now time.Time) int {
	if all := q.heaps[strange].Items; len(all) > 0 && !all[0].Next.After(now) {
		return len(all)
	}
	return 0
}

// full reports whether h may not be asked because its address has no slot left.
func (h *host[T]) full(perAddr int) bool {
	return h.addr != nil && h.delay > 0 && h.addr.out >= perAddr
}

// count adds n requests out to h, its address and the whole, and calls hosts from the
// address's line to the slots that this frees.
func (q *Queue[T]) count(h *host[T], n int) {
	h.out += n
	q.out += n
	q.tell(h, n)
	q.enlist(h)
	a := h.addr
	if a == nil {
		return
	}
	a.out += n
	q.call(a)
}

// call takes as many hosts from a's line as a has free slots. Some may find the slots taken
// when their turn comes, and go back into the line.
func (q *Queue[T]) call(a *addr[T]) {
	if a == nil {
		return
	}
	for free := q.cfg.PerAddr - a.out; free > 0 && len(a.line) > 0; {
		h := a.line[0]
		a.line = a.line[1:]
		h.line = false
		q.lined--
		if q.settle(h); h.pos >= 0 {
			free--
		}
	}
}

// place does settle; if h then cannot use a slot of its address, another host is called.
func (q *Queue[T]) place(h *host[T]) {
	if q.settle(h); h.pos < 0 {
		q.call(h.addr)
	}
}

// settle puts h into its heap, moves it, or takes it out, as its state demands.
func (q *Queue[T]) settle(h *host[T]) {
	most := q.mostOf(h)
	h.due = q.since(h.Next)
	if h.delay == 0 && h.CrawlDelay == 0 {
		h.due = max(h.due, h.turn)
	}
	switch want := !h.Paused && !h.line && h.out < most && (h.more || h.head < len(h.queue)); {
	case want && h.pos < 0:
		q.heap(h).Push(h)
	case want:
		q.heap(h).Fix(h.pos)
	case h.pos >= 0:
		q.remove(h)
	}
}

func (q *Queue[T]) remove(h *host[T]) {
	q.heap(h).Remove(h.pos)
	h.pos = -1
}

// sooner is the order of the hosts that may be acquired: by the time at which each is due, then
// by whose turn it is.
func sooner[T any](a, b *host[T]) bool {
	if a.due != b.due {
		return a.due < b.due
	}
	if a.seq != b.seq {
		return a.seq < b.seq
	}
	return a.id < b.id
}
