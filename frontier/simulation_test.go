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

// free reports whether h could be given, were it due.
func (m *model) free(h *modelHost) bool {
	most := m.cfg.Parallel
	if m.alone(h) {
		most = 1
	}
	return len(h.items) > 0 && !h.paused && h.out < most && (h.delay == 0 || m.outAt(h.ip) < m.cfg.PerAddr)
}

// slow is what SetDelay and SetCrawlDelay must do: the gap counts from the last request.
func (m *model) slow(h *modelHost) {
	if from := h.ended.Add(max(h.delay, min(h.crawl, MaxDelay))); !h.ended.IsZero() && from.After(h.next) {
		h.next = from
	}
}

// end is what Release must do, in the words of the package comment.
func (m *model) end(h *modelHost, now time.Time, a Answer) {
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
	if now.Add(wait).After(h.next) {
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
	m := &model{cfg: cfg}
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
					mh.ip = netip.Addr{}
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
		case h.out > 0 && m.alone(h):
			t.Errorf("step %d: host %d has a request out", step, id)
		case h.next.After(now):
			t.Errorf("step %d: host %d at %v, not due before %v", step, id, now.Sub(t0), h.next.Sub(t0))
		case h.delay > 0 && h.ip.IsValid() && m.outAt(h.ip) >= cfg.PerAddr:
			t.Errorf("step %d: address %v has %d requests out", step, h.ip, m.outAt(h.ip))
		}
		for i, o := range m.hosts { // who waited longest comes first, where addresses do not matter
			if calm && cfg.Delay == 0 && m.free(o) && o.next.Before(h.next) {
				t.Errorf("step %d: host %d, due at %v, before host %d, due at %v", step, id, h.next, i, o.next)
			}
		}
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
