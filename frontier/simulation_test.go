package frontier

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"forage/internal/race"
)

var seed = flag.Uint64("seed", 0, "seed of the simulation; 0 runs many")

// A model knows all hosts and looks at each of them at every step: the naive queue.
type model struct {
	cfg   Config
	hosts []*modelHost
	out   int

	allowed int // requests to hosts on trial
	grown   int // whether that may have grown by one with the request that ended last: 0 no, 1 perhaps, 2 certainly
}

type modelHost struct {
	items   []int // not yet given, in order
	next    time.Time
	ended   time.Time // the last request; zero: there was none
	delay   time.Duration
	crawl   time.Duration
	trouble int // in a row, counted as Release says
	blocked int
	paused  bool
	out     int
	ip      netip.Addr
	turn    time.Time // when it was given last
	record  record
}

func (m *model) alone(h *modelHost) bool { return h.delay > 0 || h.crawl > 0 }

// outAt counts the requests out at one address.
func (m *model) outAt(ip netip.Addr) (n int) {
	for _, h := range m.hosts {
		if ip.IsValid() && h.ip == ip {
			n += h.out
		}
	}
	return n
}

// due is when h may be given: hosts that may have several requests out take turns.
func (m *model) due(h *modelHost) time.Time {
	if !m.alone(h) && h.turn.After(h.next) {
		return h.turn
	}
	return h.next
}

// trying counts the requests out to hosts on trial.
func (m *model) trying() (n int) {
	for _, h := range m.hosts {
		if h.record != sure {
			n += h.out
		}
	}
	return n
}

// again counts those to hosts that did not answer when they were asked last.
func (m *model) again() (n int) {
	for _, h := range m.hosts {
		if h.record == silent {
			n += h.out
		}
	}
	return n
}

// onTrial reports whether h must wait for others on trial.
func (m *model) onTrial(h *modelHost) bool {
	return h.record != sure && m.trying() >= m.allowed || h.record == silent && m.again() >= max(1, m.cfg.Parallel/4)
}

// least is what hosts on trial may have out at least.
func (m *model) least() int { return max(1, m.cfg.Parallel/8) }

// waits reports whether a host is due that is not on trial, and whether one may be, which is found to have
// nothing, or others to have the slots of its address, when its turn comes.
func (m *model) waits(now time.Time) (waits, may bool) {
	for _, h := range m.hosts {
		if h.record == sure && !h.paused && !h.next.After(now) {
			may = true
			waits = waits || m.free(h)
		}
	}
	return waits, may
}

// crowd is what Acquire must do with allowed while all requests are out: hosts on trial are down to the
// least where they must be, and only where they may.
func (m *model) crowd(now time.Time, allowed int) (ok bool) {
	slow := false
	for _, h := range m.hosts {
		slow = slow || h.record != sure && h.out > 0 && h.turn.Before(now.Add(-slowAfter))
	}
	waits, may := m.waits(now)
	was := m.allowed
	m.allowed = allowed
	switch {
	case was <= m.least() || !slow || !may:
		return allowed == was
	case waits:
		return allowed == m.least()
	}
	return allowed == was || allowed == m.least()
}

// free reports whether h could be given, were it due.
func (m *model) free(h *modelHost) bool {
	if m.onTrial(h) {
		return false
	}
	return len(h.items) > 0 && !h.paused && h.out < m.most(h) && (h.delay == 0 || m.outAt(h.ip) < m.cfg.PerAddr)
}

// most is how many requests h may have out.
func (m *model) most(h *modelHost) int {
	if m.alone(h) {
		return 1
	}
	return m.cfg.Parallel
}

// slow is what SetDelay and SetCrawlDelay must do: the gap counts from the last request.
func (m *model) slow(h *modelHost) {
	if from := h.ended.Add(max(h.delay, min(h.crawl, MaxDelay))); m.alone(h) && !h.ended.IsZero() && from.After(h.next) {
		h.next = from
	}
}

// end is what Release must do, in the words of the package comment.
func (m *model) end(h *modelHost, now time.Time, a Answer) {
	most := max(1, m.cfg.Parallel-m.least())
	m.grown = 0 // it must not grow
	if h.record != sure && m.allowed < most {
		switch waits, may := m.waits(now); {
		case a.Kind != Failed || !may:
			m.grown = 2 // it must
		case !waits:
			m.grown = 1 // it may
		}
	}
	if h.record = silent; a.Kind != Failed {
		h.record = sure
	}
	h.out--
	m.out--
	h.ended = now
	delay := min(h.crawl, MaxDelay)
	if h.delay > 0 {
		delay = max(delay, h.delay, min(2*a.Took, MaxDelay))
	}
	wait := max(delay, a.RetryAfter)
	switch a.Kind {
	case Fine:
		h.trouble, h.blocked = 0, 0
	default:
		if !h.next.After(now) {
			h.trouble++
		}
		back := max(delay, MinBackoff)
		for i := 1; i < h.trouble && back < MaxBackoff; i++ {
			back = min(2*back, MaxBackoff)
		}
		wait = max(wait, back)
		if a.Kind == Blocked {
			if h.blocked++; h.blocked == MaxBlocked {
				h.paused = true
			}
		}
	}
	if wait > 0 && now.Add(wait).After(h.next) {
		h.next = now.Add(wait)
	}
}

// source is the backlog of the simulation, and checks what it is asked.
type source struct {
	t     *testing.T
	items map[Host][]int
	taken int // held by the queue
}

func (s *source) Fill(h Host, max int, into []int) []int {
	if max < 1 {
		s.t.Fatalf("Fill(%d, %d)", h, max)
	}
	n := min(max, len(s.items[h]))
	into = append(into, s.items[h][:n]...)
	s.items[h] = s.items[h][n:]
	s.taken += n
	return into
}

func (s *source) Spill(h Host, items []int) {
	s.items[h] = append(slices.Clone(items), s.items[h]...)
	s.taken -= len(items)
}

// TestSimulation runs crawls of random hosts on a clock of its own and compares every answer
// with the model: nothing is given too early, twice, out of order or to too many, and nothing
// that could be given is held back.
func TestSimulation(t *testing.T) {
	if *seed != 0 {
		simulate(t, *seed)
		return
	}
	for s := range uint64(race.Fewer(500)) {
		a := simulate(t, s+1)
		if s%10 == 0 && !slices.Equal(a, simulate(t, s+1)) {
			t.Errorf("seed %d: two runs differ", s+1)
		}
		if t.Failed() {
			t.Fatalf("run again with -seed %d", s+1)
		}
	}
}

// simulate runs one crawl and returns the trace of what was given when.
func simulate(t *testing.T, seed uint64) (trace []string) {
	r := rand.New(rand.NewPCG(seed, 1))
	cfg := Config{
		Delay:    time.Duration(r.IntN(3)) * 700 * time.Millisecond,
		Parallel: 1 + r.IntN(12), PerAddr: 1 + r.IntN(4), Batch: 1 + r.IntN(5), MaxHeld: 1 + r.IntN(20),
	}
	src := &source{t: t, items: map[Host][]int{}}
	q := New(cfg, src)
	m := &model{cfg: cfg, allowed: max(1, cfg.Parallel/2)}
	numHosts, numAddrs := 1+r.IntN(12), 1+r.IntN(4)
	calm := r.IntN(2) == 0 // without commands from outside
	total, given, item := 0, 0, 0
	add := func(h int) {
		for range 1 + r.IntN(8) {
			m.hosts[h].items = append(m.hosts[h].items, item)
			src.items[Host(h)] = append(src.items[Host(h)], item)
			item++
			total++
		}
		q.Wake(Host(h))
	}
	for h := range numHosts {
		m.hosts = append(m.hosts, &modelHost{delay: cfg.Delay})
		if r.IntN(4) == 0 {
			d := time.Duration(r.IntN(400)) * time.Second
			m.hosts[h].crawl = d
			q.SetCrawlDelay(Host(h), d)
		}
		add(h)
	}
	type request struct {
		h    int
		from time.Time
		done time.Time
	}
	var running []request
	now := t0
	for step := 0; step < 4000 && !t.Failed(); step++ {
		// Commands from outside.
		if h := r.IntN(numHosts); !calm && r.IntN(4) == 0 {
			mh := m.hosts[h]
			switch r.IntN(9) {
			case 0:
				q.Pause(Host(h), "by hand")
				mh.paused = true
			case 1, 2:
				q.Resume(Host(h))
				mh.paused, mh.blocked = false, 0
			case 3:
				next, ok := q.Take(Host(h), now)
				free := !mh.paused && mh.out < m.most(mh) && (mh.delay == 0 || m.outAt(mh.ip) < cfg.PerAddr)
				switch {
				case ok != (free && !mh.next.After(now)):
					t.Errorf("step %d: Take(%d) = %v at %v: %+v", step, h, ok, now.Sub(t0), mh)
				case ok:
					mh.turn = now
					mh.out++
					m.out++
					running = append(running, request{h, now, now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)})
				case free && !next.Equal(mh.next) || !free && !next.IsZero():
					t.Errorf("step %d: Take(%d) may be at %v, model has %v", step, h, next, mh.next)
				}
			case 4:
				q.Spill(Host(h))
			case 5:
				if total < 400 {
					add(h)
				}
			case 6:
				if mh.out == 0 {
					s := q.State(Host(h))
					q.Drop(Host(h))
					if len(src.items[Host(h)]) != len(mh.items) {
						t.Fatalf("step %d: host %d was dropped with items", step, h)
					}
					mh.ip, mh.turn = netip.Addr{}, time.Time{} // its record stays
					q.Restore(Host(h), s)
					q.SetDelay(Host(h), mh.delay)
					q.Wake(Host(h))
				}
			case 7:
				mh.crawl = time.Duration(r.IntN(3)) * time.Second
				q.SetCrawlDelay(Host(h), mh.crawl)
				m.slow(mh)
			case 8:
				mh.delay = time.Duration(r.IntN(3)) * 300 * time.Millisecond
				q.SetDelay(Host(h), mh.delay)
				m.slow(mh)
			}
		}
		id, got, next, ok := q.Acquire(now)
		trace = append(trace, fmt.Sprint(id, got, next, ok))
		if full := m.out >= cfg.Parallel; full && !m.crowd(now, q.allowed) || q.allowed != m.allowed {
			t.Errorf("step %d: %d requests to hosts on trial are allowed, model has %d", step, q.allowed, m.allowed)
		}
		if s := q.Stats(); s.Held > src.taken || s.Held > cfg.MaxHeld+numHosts || s.Out != m.out+map[bool]int{true: 1}[ok] {
			t.Errorf("step %d: %+v, %d taken, model has %d out", step, s, src.taken, m.out)
		}
		if !ok {
			// Nothing may be due, and next not later than the first that will be.
			var first time.Time
			for i, h := range m.hosts {
				if m.out >= cfg.Parallel || !m.free(h) {
					continue
				}
				if !h.next.After(now) {
					t.Errorf("step %d, %v: host %d is due since %v but was not given", step, now.Sub(t0), i, h.next.Sub(t0))
				}
				if first.IsZero() || h.next.Before(first) {
					first = h.next
				}
			}
			if !first.IsZero() && (next.IsZero() || next.After(first)) {
				t.Errorf("step %d: next %v, but a host is due at %v", step, next, first)
			}
			if !next.IsZero() && !next.After(now) {
				t.Errorf("step %d: next %v is past", step, next)
			}
			// Time passes, to the next event.
			if len(running) == 0 && next.IsZero() {
				if calm {
					break
				}
				now = now.Add(time.Second)
				continue
			}
			to := next
			for _, q := range running {
				if to.IsZero() || q.done.Before(to) {
					to = q.done
				}
			}
			now = to
			for i := 0; i < len(running); {
				if running[i].done.After(now) {
					i++
					continue
				}
				d := running[i]
				running = slices.Delete(running, i, i+1)
				a := Answer{Took: d.done.Sub(d.from)}
				switch r.IntN(12) {
				case 0:
					a.Kind = Overloaded
					a.RetryAfter = time.Duration(r.IntN(3)) * 10 * time.Second
				case 1:
					a.Kind = Failed
				case 2:
					a.Kind = Blocked
				}
				q.Release(Host(d.h), now, a)
				m.end(m.hosts[d.h], now, a)
				if by := q.allowed - m.allowed; by < m.grown/2 || by > (m.grown+1)/2 {
					t.Errorf("step %d: %d requests to hosts on trial are allowed after %d, want growth %d", step, q.allowed, m.allowed, m.grown)
				}
				m.allowed = q.allowed
				if s := q.State(Host(d.h)); !s.Next.Equal(m.hosts[d.h].next) || s.Paused != m.hosts[d.h].paused {
					t.Errorf("step %d: host %d: %+v, model %+v", step, d.h, s, m.hosts[d.h])
				}
			}
			continue
		}
		h := m.hosts[id]
		src.taken--
		switch {
		case m.out >= cfg.Parallel:
			t.Errorf("step %d: more than %d at once", step, cfg.Parallel)
		case len(h.items) == 0 || h.items[0] != got:
			t.Errorf("step %d: host %d gave %d, want %v", step, id, got, h.items)
		case h.paused:
			t.Errorf("step %d: host %d is paused", step, id)
		case m.onTrial(h):
			t.Errorf("step %d: host %d is on trial, and %d requests to such are out, %d again", step, id, m.trying(), m.again())
		case h.out > 0 && m.alone(h):
			t.Errorf("step %d: host %d has a request out", step, id)
		case h.next.After(now):
			t.Errorf("step %d: host %d at %v, not due before %v", step, id, now.Sub(t0), h.next.Sub(t0))
		case h.delay > 0 && h.ip.IsValid() && m.outAt(h.ip) >= cfg.PerAddr:
			t.Errorf("step %d: address %v has %d requests out", step, h.ip, m.outAt(h.ip))
		}
		for i, o := range m.hosts { // who waited longest comes first, where addresses do not matter
			if calm && cfg.Delay == 0 && m.free(o) && m.due(o).Before(m.due(h)) {
				t.Errorf("step %d: host %d, due at %v, before host %d, due at %v", step, id, m.due(h), i, m.due(o))
			}
		}
		h.turn = now
		h.out++
		m.out++
		// The caller looks its address up, which may send it back.
		if !h.ip.IsValid() || r.IntN(20) == 0 {
			ip := netip.AddrFrom4([4]byte{198, 41, 0, byte(r.IntN(numAddrs))})
			h.ip = ip
			fits := h.delay == 0 || m.outAt(ip) <= cfg.PerAddr
			if q.SetAddr(id, ip) != fits {
				t.Errorf("step %d: SetAddr(%d, %v) = %v", step, id, ip, !fits)
			}
			if !fits {
				q.Undo(id, got)
				src.taken++
				if h.paused {
					t.Errorf("step %d: paused", step)
				}
				h.out--
				m.out--
				continue
			}
		}
		h.items = h.items[1:]
		given++
		running = append(running, request{int(id), now, now.Add(time.Duration(r.IntN(1500)) * time.Millisecond)})
	}
	if calm && !t.Failed() {
		left := 0
		for _, h := range m.hosts {
			if !h.paused {
				left += len(h.items)
			}
		}
		if left > 0 {
			t.Errorf("seed %d: %d of %d items were never given", seed, left, total)
		}
	}
	return trace
}
