package lease

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The model: two processes with the code of this package, one partition, one host, and a group which behaves as badly as it may. It makes a new
// generation whenever it likes, gives the partition to whom it likes, and tells a member so, that its heartbeat is confirmed, or that it is none,
// whenever it likes; what it says arrives any time later. A process may do nothing for any time, as one that is stopped. One that may begins a
// request, which takes between nothing and Longest. All orders of all this are tried, on a clock of whole ticks.
//
// Left out is what makes nothing worse. An answer is given when the question is sent: later it would find the same, or an older generation. What is read
// of epochs is taken in at once: later it would make the process wait longer.
type model struct {
	Terms
	without string // a rule that is not kept
}

// A message is an answer of the group that is under way to a process, which asks no other question meanwhile.
type message struct {
	kind  byte // 0: none; 'h': a heartbeat is confirmed; 'j': what the process is given in a generation
	given bool // the partition
	next  bool // the generation follows that of the process
	age   int8 // of the generation
	sent  int8 // the question
}

// A peer is a process. Times count from now, generations back from that of the group, epochs back from the latest.
type peer struct {
	age     int8 // of its generation; -1: none
	until   int8
	held    bool
	seen    bool
	claimed bool
	epoch   int8
	ready   int8
	msg     message

	ending bool // it will write that it has ended in the latest epoch
	out    int8 // ticks that its request may take yet; -1: none is under way
	idle   int8 // ticks since its last request ended, up to Delay
}

// A world is a state of the model.
type world struct {
	peers [2]peer
	owner int8 // to whom the group gives the partition; -1: nobody
	ended bool // who has claimed the latest epoch says so
	fresh bool // no epoch was claimed yet
}

// oldest is how far back generations and epochs are told apart: what is older is as old.
const oldest = 2

// base is a number that a Lease sees: of the latest epoch, and of the generation of its process.
const base = 100

func (w *world) latest() int64 {
	if w.fresh {
		return 0
	}
	return base
}

// lease makes the Lease that a peer has.
func (m *model) lease(w *world, p *peer) *Lease {
	l := New(m.Terms)
	l.until = Instant(p.until)
	if p.age >= 0 {
		l.generation = base
	}
	if p.held {
		l.holds[0] = hold{}
		if p.seen {
			l.holds[0] = hold{seen: true, epoch: w.latest() - int64(p.epoch), ready: Instant(p.ready), claimed: p.claimed}
		}
	}
	return l
}

// keep takes over what a Lease has become.
func (w *world) keep(p *peer, l *Lease) {
	p.until = int8(max(l.until, 0))
	h, ok := l.holds[0]
	if p.held, p.seen, p.claimed, p.epoch, p.ready = ok, h.seen, h.claimed, 0, 0; !ok { // whatever it was given before, and until when, is as good
		p.until, p.age = 0, -1
	}
	if h.seen {
		if p.epoch = int8(min(w.latest()-h.epoch, oldest)); !h.claimed {
			p.ready = int8(max(h.ready, 0))
		}
	}
}

// lose has a peer note what it has lost.
func (w *world) lose(p *peer, lost []Lost) {
	for _, o := range lost {
		p.ending = p.ending || o.Epoch != 0 && o.Epoch == w.latest()
	}
}

// A step is something that may happen next.
type step struct {
	who  int8 // -1: the group, or the clock
	what string
	to   world
}

// next returns all that may happen in a state, and what is wrong with one of these, or "".
func (m *model) next(w *world, steps []step) (_ []step, wrong string) {
	add := func(who int8, what string, to *world) { steps = append(steps, step{who, what, *to}) }

	// The group makes another generation.
	for owner := int8(-1); owner < 2; owner++ {
		to := *w
		to.owner = owner
		for i := range to.peers {
			p := &to.peers[i]
			if p.age >= 0 {
				p.age = min(p.age+1, oldest)
			}
			if p.msg.kind == 'j' {
				p.msg.age = min(p.msg.age+1, oldest)
			}
		}
		add(-1, newGeneration[owner+1], &to)
	}

	// A tick goes by, if no request has taken all the time that it may.
	if w.peers[0].out != 0 && w.peers[1].out != 0 {
		to := *w
		for i := range to.peers {
			p := &to.peers[i]
			p.until, p.ready = max(p.until-1, 0), max(p.ready-1, 0)
			if p.out > 0 {
				p.out--
			} else if p.out < 0 {
				p.idle = min(p.idle+1, int8(m.Delay))
			}
			if p.msg.kind != 0 && m.without != "the lease counts from the question" {
				p.msg.sent = max(p.msg.sent-1, -int8(m.Term))
			}
			if p.msg.kind == 'h' && p.msg.sent == -int8(m.Term) { // it prolongs nothing
				p.msg = message{}
			}
		}
		add(-1, "a tick goes by", &to)
	}

	for i := range w.peers {
		p := &w.peers[i]
		act := func(what string, do func(to *world, p *peer)) {
			to := *w
			do(&to, &to.peers[i])
			add(int8(i), what, &to)
		}
		switch p.msg.kind {
		case 0:
			if p.age == 0 {
				act("sends a heartbeat, which is confirmed", func(_ *world, p *peer) { p.msg.kind = 'h' })
			}
			act("asks what it is given", func(to *world, p *peer) {
				p.msg = message{kind: 'j', given: to.owner == int8(i), next: p.age == 1 || m.without == "what was had before a break is lost"}
			})
		case 'h':
			act("hears that its heartbeat was confirmed", func(to *world, p *peer) {
				l := m.lease(to, p)
				l.Confirmed(Instant(p.msg.sent), base)
				p.msg = message{}
				to.keep(p, l)
			})
		case 'j':
			act(hears[p.msg.given], func(to *world, p *peer) {
				l := m.lease(to, p)
				var given []int32
				if p.msg.given {
					given = []int32{0}
				}
				generation := int32(base + oldest)
				if p.msg.next {
					generation = base + 1
				}
				_, lost := l.Joined(Instant(p.msg.sent), generation, given)
				p.age, p.msg = p.msg.age, message{}
				to.keep(p, l)
				to.lose(p, lost)
			})
		}
		if p.held {
			act("hears that it is no member", func(to *world, p *peer) {
				l := m.lease(to, p)
				lost := l.Expelled()
				p.msg, p.age = message{}, -1
				to.keep(p, l)
				to.lose(p, lost)
			})
		}

		if p.held && !p.claimed {
			act("looks which epoch is the latest", func(to *world, p *peer) {
				l := m.lease(to, p)
				l.Saw(0, 0, to.latest(), to.ended)
				if to.keep(p, l); m.without == "who has seen an epoch waits" {
					p.ready = 0
				}
			})
			if p.seen && (p.epoch == 0 || m.without == "an epoch is claimed once") { // else the claim fails
				act("claims the next epoch", func(to *world, _ *peer) { m.claim(to, i) })
			}
		}
		if p.ending && p.out < 0 {
			act("writes that it has ended", func(to *world, p *peer) { to.ended, p.ending = true, false })
		}

		// Requests.
		if p.out >= 0 {
			act("ends its request", func(_ *world, p *peer) { p.out, p.idle = -1, 0 })
		} else if p.claimed && m.lease(w, p).May(0, 0) == nil {
			other := &w.peers[1-i]
			if other.out >= 0 {
				return steps, "begins a request while one of the other is under way"
			}
			if other.idle < int8(m.Delay) {
				return steps, "begins a request too soon after one of the other"
			}
			act("begins a request", func(_ *world, p *peer) { p.out = int8(m.Longest) })
		}
	}
	return steps, ""
}

// claim has a peer claim the epoch after the latest.
func (m *model) claim(w *world, i int) {
	leases := [2]*Lease{m.lease(w, &w.peers[0]), m.lease(w, &w.peers[1])}
	was := w.latest()
	if p := &w.peers[i]; p.epoch > 0 { // which only a model without that rule comes to
		leases[i].Claimed(0, 0, leases[i].holds[0].epoch+1)
		w.keep(p, leases[i])
		return
	}
	leases[i].Claimed(0, 0, was+1)
	w.fresh, w.ended = false, false
	for j := range w.peers {
		p := &w.peers[j]
		p.ending = false // what it says of an epoch that is not the latest nobody reads
		w.keep(p, leases[j])
		if p.seen { // epochs count from the new one now
			p.epoch = int8(min(was+1-leases[j].holds[0].epoch, oldest))
		}
	}
}

var (
	newGeneration = [3]string{"a new generation, in which nobody has it", "a new generation, in which the first has it", "a new generation, in which the second has it"}
	hears         = map[bool]string{false: "hears that it is not given it", true: "hears that it is given it"}
)

// A code is a state as a number, the same for both processes exchanged.
type code [2]uint64

func encode(w *world) code {
	a, b, owner := w.peers[0].code(), w.peers[1].code(), w.owner
	if b < a {
		if a, b = b, a; owner >= 0 {
			owner = 1 - owner
		}
	}
	flags := uint64(owner + 1)
	for _, f := range []bool{w.ended, w.fresh} {
		if flags <<= 1; f {
			flags |= 1
		}
	}
	return code{a, b<<4 | flags}
}

func (c code) decode() (w world) {
	w.fresh, w.ended, w.owner = c[1]&1 != 0, c[1]&2 != 0, int8(c[1]>>2&3)-1
	w.peers = [2]peer{decodePeer(c[0]), decodePeer(c[1] >> 4)}
	return w
}

func (p *peer) code() (n uint64) {
	for _, v := range [...]int8{p.age, p.until, p.epoch, p.ready, p.msg.age, p.msg.sent, p.out, p.idle} {
		n = n<<4 | uint64(v+4)&15
	}
	for _, f := range [...]bool{p.held, p.seen, p.claimed, p.msg.given, p.msg.next, p.ending} {
		if n <<= 1; f {
			n |= 1
		}
	}
	return n<<7 | uint64(p.msg.kind)
}

func decodePeer(n uint64) (p peer) {
	p.msg.kind = byte(n & 127)
	n >>= 7
	for _, f := range [...]*bool{&p.ending, &p.msg.next, &p.msg.given, &p.claimed, &p.seen, &p.held} {
		*f = n&1 != 0
		n >>= 1
	}
	for _, v := range [...]*int8{&p.idle, &p.out, &p.msg.sent, &p.msg.age, &p.ready, &p.epoch, &p.until, &p.age} {
		*v = int8(n&15) - 4
		n >>= 4
	}
	return p
}

// TestModel tries all that may happen on a coarse clock; FORAGE_LONG=1: on finer ones, too, which takes minutes.
func TestModel(t *testing.T) {
	terms := []Terms{{Term: 1, Longest: 1, Delay: 1}}
	if os.Getenv("FORAGE_LONG") != "" {
		terms = append(terms, Terms{Term: 2, Longest: 1, Delay: 1}, Terms{Term: 1, Longest: 2, Delay: 1}, Terms{Term: 3, Longest: 1, Delay: 1})
	}
	for _, terms := range terms {
		m := model{Terms: terms}
		n, trace := m.explore()
		t.Logf("%+v: %d states", terms, n)
		if trace != nil {
			t.Errorf("two processes contact a host at once, or too soon after each other:\n%s", strings.Join(trace, "\n"))
		}
		if n < 10_000 {
			t.Errorf("%d states are too few to be all", n)
		}
	}
}

// TestModelFinds proves that the model finds what goes wrong without each of the rules.
func TestModelFinds(t *testing.T) {
	for _, rule := range []string{"the lease counts from the question", "who has seen an epoch waits", "what was had before a break is lost", "an epoch is claimed once"} {
		m := model{Terms{Term: 1, Longest: 1, Delay: 1}, rule}
		n, trace := m.explore()
		if trace == nil {
			t.Errorf("nothing is found wrong in %d states without: %s", n, rule)
		}
		t.Logf("without %q, found in %d states:\n%s", rule, n, strings.Join(trace, "\n"))
	}
}

// explore goes through all states, breadth first, and returns how many there are, and the shortest way to one that is wrong; nil: none is.
func (m *model) explore() (n int, trace []string) {
	type way struct {
		from int32
		who  int8
		what string
	}
	idle := peer{age: -1, out: -1, idle: int8(m.Delay)}
	start := encode(&world{peers: [2]peer{idle, idle}, owner: -1, fresh: true})
	number := map[code]int32{start: 0}
	states, ways := []code{start}, []way{{from: -1, who: -1, what: "nothing has happened"}}
	var steps []step
	for at := 0; at < len(states); at++ {
		w := states[at].decode()
		var wrong string
		if steps, wrong = m.next(&w, steps[:0]); wrong != "" {
			for i := int32(at); i >= 0; i = ways[i].from {
				trace = append(trace, fmt.Sprintf("%+v: %d %s", states[i].decode(), ways[i].who, ways[i].what))
			}
			slices.Reverse(trace)
			return len(states), append(trace, wrong)
		}
		for i := range steps {
			to := encode(&steps[i].to)
			if _, known := number[to]; !known {
				number[to] = int32(len(states))
				states, ways = append(states, to), append(ways, way{int32(at), steps[i].who, steps[i].what})
			}
		}
	}
	return len(states), nil
}
