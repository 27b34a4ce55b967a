package paper

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
	"forage/revisit"
)

// known is a method that has rates for six documents: each half of the one before, together 1 a day.
type known struct {
	random bool
	every  int // explore with each so many-th fetch; 0: never
}

func (known) changes(*watched) float64 { return 1 }

func (m known) place(p *refresher, queue []scored) {
	rates := make(map[float64]float64)
	for i := range queue {
		v := queue[i].v
		p.docs[v].changes = math.Pow(2, -float64(v)) * 32 / 63
		rates[p.docs[v].changes] = p.docs[v].changes
	}
	if m.random {
		p.atRandom(queue, rates, 5)
	} else {
		p.inTime(queue, rates)
	}
}

func (m known) explores(n int) bool { return m.every > 0 && n%m.every == 0 }

// fetches runs cycles of a day with so many fetches each, that show nothing.
func fetches(p revisit.Policy, from, cycles, budget int) []graph.Node {
	var out []graph.Node
	for cycle := range cycles {
		p.Begin(revisit.Time((from+cycle)*day), budget)
		for range budget {
			v, ok := p.Next()
			if !ok {
				break
			}
			out = append(out, v)
			p.Observe(revisit.Refetch{Page: v})
		}
		p.End(revisit.Cycle{})
	}
	return out
}

// TestSchedules: over many cycles documents are fetched at the rates that they got, in time or at
// random.
func TestSchedules(t *testing.T) {
	for _, random := range []bool{false, true} {
		p := newRefresher(known{random: random})
		for v := range graph.Node(6) {
			p.Learn(v, revisit.Profile{Seen: 1})
		}
		const cycles = 6300
		counts := make([]float64, 6)
		for _, v := range fetches(&p, 1, cycles, 1) {
			counts[v]++
		}
		for v, n := range counts {
			want := cycles * math.Pow(2, -float64(v)) * 32 / 63
			if far := math.Abs(n - want); far > 4*math.Sqrt(want) || !random && far > .02*want+1 {
				t.Errorf("random %v: document %d is fetched %g times, want %g", random, v, n, want)
			}
		}
	}
}

// TestExploration: an exploring fetch goes to the document fetched longest ago.
func TestExploration(t *testing.T) {
	p := newRefresher(known{every: 3})
	for v := range graph.Node(6) {
		p.Learn(v, revisit.Profile{Seen: revisit.Time(10 - v)})
	}
	if got, want := fetches(&p, 1, 9, 1), 3; got[2] != 5 || got[5] != 4 && got[5] != 3 || len(got) != 9 {
		t.Errorf("fetches %v, want the oldest with each %d", got, want)
	}
	for _, c := range []struct {
		m    method
		want []int
	}{{upadhyay{}, []int{1, 4, 9, 16, 25}}, {lefortier{}, []int{10, 20}}, {cho{}, nil}, {whittle{}, nil}} {
		var got []int
		for n := 1; n < 30; n++ {
			if c.m.explores(n) {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%T explores with %d, want %d", c.m, got, c.want)
		}
	}
}

// TestRefresherOutcomes: a failed fetch puts a document off and is no look, two that find it gone end it,
// a recrawl begins anew, and a look counts from the look before it.
func TestRefresherOutcomes(t *testing.T) {
	p := newRefresher(cho{})
	for v := range graph.Node(2) {
		p.Learn(v, revisit.Profile{Seen: day})
	}
	step := func(at int, r revisit.Refetch, c revisit.Cycle) (n int) {
		p.Begin(revisit.Time(at*day), 2)
		n = p.queue.Len()
		p.Observe(r)
		p.End(c)
		return n
	}
	step(3, revisit.Refetch{Page: 0, Failed: true}, revisit.Cycle{})
	if d := &p.docs[0]; len(d.looks) != 2 || d.last != day || d.tried != 3*day {
		t.Errorf("after a failed fetch: %+v", d)
	}
	step(5, revisit.Refetch{Page: 0, Led: []graph.Node{8, 9}}, revisit.Cycle{})
	if d := &p.docs[0]; len(d.looks) != 3 || d.looks[2] != (look{4, true}) || d.pages != 2 {
		t.Errorf("after a look: %+v", d)
	}
	step(6, revisit.Refetch{Page: 0, Modified: true, Changed: true}, revisit.Cycle{})
	if d := &p.docs[0]; d.looks[3] != (look{1, false}) || d.pages != 2 {
		t.Errorf("after a change that leads nowhere: %+v", d)
	}
	step(7, revisit.Refetch{Page: 1, Gone: true}, revisit.Cycle{})
	if n := step(8, revisit.Refetch{Page: 1, Gone: true}, revisit.Cycle{}); n != 2 {
		t.Errorf("%d documents after one that was gone once, want 2", n)
	}
	if n := step(9, revisit.Refetch{Page: 0}, revisit.Cycle{Full: true, Back: []graph.Node{1}}); n != 1 {
		t.Errorf("%d documents after one that was gone twice, want 1", n)
	}
	if d := &p.docs[1]; d.last != 9*day || len(d.looks) != 2 || d.misses != 0 {
		t.Errorf("after a recrawl: %+v", d)
	}
}

// TestLiteratureFindsTheList: of a hundred documents one shows a new page every other day. All of the
// literature's policies come to fetch it at least twice as often as its share, and those of ephemeral content ten
// times.
func TestLiteratureFindsTheList(t *testing.T) {
	for _, c := range []struct {
		name  string
		least int // of 400 fetches; its share is 4
	}{{"cho", 8}, {"olston", 8}, {"lefortier", 40}, {"azar", 8}, {"whittle", 40}, {"kolobov", 8}, {"upadhyay", 8},
		{"avrachenkov-lln", 8}, {"avrachenkov-sa", 8}, {"busa-fekete", 8}} {
		p, err := New(c.name, revisit.Config{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for v := range graph.Node(100) {
			p.Learn(v, revisit.Profile{Seen: day, Links: 30})
		}
		r := rand.New(rand.NewPCG(1, 1))
		waits, n, next := false, 0, graph.Node(1000)
		for cycle := 2; cycle < 202; cycle++ {
			waits = waits || r.IntN(2) == 0
			p.Begin(revisit.Time(cycle*day), 2)
			for range 2 {
				v, _ := p.Next()
				o := revisit.Refetch{Page: v}
				if v == 7 {
					n++
					if waits {
						o.Led, waits = []graph.Node{next}, false
						next++
					}
				}
				p.Observe(o)
			}
			p.End(revisit.Cycle{})
		}
		if n < c.least {
			t.Errorf("%s fetches the list %d times of 400, want %d", c.name, n, c.least)
		}
	}
}

// TestSignalPrecision: the share of signals that are true is found from looks. Of .02 changes a day .6 give a signal, and
// false ones come besides: .6 × .02 true ones a day, .01 false.
func TestSignalPrecision(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	p := NewBusaFekete()
	p.Replaying(true)
	const n = 100
	for v := range graph.Node(n) {
		p.Learn(v, revisit.Profile{Seen: day, Links: 30})
	}
	var changed [n]bool
	for cycle := 2; cycle < 4000; cycle++ {
		p.Begin(revisit.Time(cycle*day), n)
		var signals []graph.Node
		for v := range changed {
			change := r.Float64() < .02
			changed[v] = changed[v] || change
			if change && r.Float64() < .6 || r.Float64() < .01 {
				signals = append(signals, graph.Node(v))
			}
		}
		p.ObserveLinks(0, signals)
		for v := range changed {
			if r.IntN(20) > 0 {
				continue
			}
			o := revisit.Refetch{Page: graph.Node(v)}
			if changed[v] {
				o.Led, changed[v] = []graph.Node{9999}, false
			}
			p.Observe(o)
		}
		p.End(revisit.Cycle{})
	}
	mean := 0.0
	for v := range p.signals {
		mean -= math.Expm1(-p.signals[v].worth) / n
	}
	if want := 12. / 22; math.Abs(mean-want) > .04 {
		t.Errorf("precision %.3f, want %.3f", mean, want)
	}
}
