package revisit

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
)

// naiveIndex is Index as its comment says it, with a sorted list for a calendar and every
// function computed anew.
type naiveIndex struct {
	roster
	n, e    []float64
	due     []int // bucket; 0: in none
	rates   map[int32]*rate
	lambda  float64
	hand    []scored // best first
	from    int      // buckets up to here are in hand
	fetches int
	spent   int
	budget  int
	worth   float64
	blocks  [][]graph.Node
}

func (p *naiveIndex) Learn(v graph.Node, profile Profile) {
	fresh := p.learn(v, profile)
	for len(p.n) < len(p.profiles) {
		p.n, p.e, p.due = append(p.n, 0), append(p.e, 0), append(p.due, 0)
	}
	if p.rates[profile.Template] == nil {
		p.rates[profile.Template] = &rate{}
	}
	if fresh {
		p.place(v)
	}
}

func (p *naiveIndex) gap(v graph.Node) float64 { return float64(p.cycle) - float64(p.last[v]) }

func (p *naiveIndex) rate(v graph.Node) float64 {
	c, r := usual.of(&p.profiles[v]), p.rates[p.profiles[v].Template]
	a0 := max((r.n+4*c)/(r.e+4), 1e-9)
	return (p.n[v] + .3*c/max(c, .05)) / (p.e[v] + .3/max(a0, .05))
}

func (p *naiveIndex) worthAfter(v graph.Node, gap float64) float64 {
	x := .2 * gap
	return p.rate(v) / .2 * (1 - math.Exp(-x)*(1+x))
}

func (p *naiveIndex) place(v graph.Node) {
	gap, want := 1, p.lambda*.2/p.rate(v)
	for x := .2; gap < 64 && 1-math.Exp(-x)*(1+x) < want; x = .2 * float64(gap) {
		gap++
	}
	p.due[v] = max(int(p.last[v])+gap, p.cycle+1)
}

func (p *naiveIndex) take(upTo int) {
	for v, due := range p.due {
		if due > p.from && due <= upTo && !p.gone[v] && int(p.last[v]) < p.cycle {
			p.hand = append(p.hand, scored{p.worthAfter(graph.Node(v), p.gap(graph.Node(v))), graph.Node(v)})
		}
	}
	slices.SortFunc(p.hand, func(a, b scored) int {
		return cmp.Or(-cmp.Compare(a.value, b.value), cmp.Compare(a.v, b.v))
	})
	p.from = upTo
}

func (p *naiveIndex) Begin(_ Time, budget int) {
	p.cycle++
	p.budget, p.spent, p.worth, p.blocks = budget, 0, -1, nil
	p.hand, p.from = nil, 0
	p.take(p.cycle)
}

func (p *naiveIndex) Next() (graph.Node, bool) {
	if p.fetches%14 == 13 {
		if v, ok := p.oldest(nil); ok {
			return v, true
		}
	}
	for {
		p.hand = slices.DeleteFunc(p.hand, func(s scored) bool { return p.gone[s.v] || int(p.last[s.v]) == p.cycle })
		if len(p.hand) > 0 {
			return p.hand[0].v, true
		}
		if p.from >= p.cycle+64 {
			return 0, false
		}
		p.take(p.from + 1)
	}
}

func (p *naiveIndex) Observe(v Refetch) {
	x, gap := v.Page, p.gap(v.Page)
	if p.fetches%14 != 13 {
		p.worth = p.worthAfter(x, gap)
	}
	p.fetches++
	p.spent++
	p.fetched(v)
	if v.Gone {
		p.due[x] = 0
		return
	}
	if !v.Failed {
		led := math.Sqrt(float64(len(v.Led)))
		if len(v.Led) > 1 {
			if slices.ContainsFunc(p.blocks, func(b []graph.Node) bool { return slices.Equal(b, v.Led) }) {
				led = 0
			}
			p.blocks = append(p.blocks, slices.Clone(v.Led))
		}
		keep, watched := math.Pow(.98, gap), (1-math.Exp(-.2*gap))/.2
		p.n[x], p.e[x] = keep*p.n[x]+led, keep*p.e[x]+watched
		r := p.rates[p.profiles[x].Template]
		r.n, r.e = r.n*.98+led, r.e*.98+watched
	}
	p.place(x)
}

func (p *naiveIndex) End(c Cycle) {
	p.recrawled(c)
	for _, v := range c.Back {
		p.place(v)
	}
	if c.Full {
		watched := (1 - math.Exp(-.2)) / .2
		for v := range p.profiles {
			if p.known[v] && !p.gone[v] && int(p.last[v]) < p.cycle {
				p.n[v], p.e[v] = .98*p.n[v], .98*p.e[v]+watched
				p.rates[p.profiles[v].Template].e += watched
				p.last[v] = int32(p.cycle)
			}
		}
		for g, docs := range c.H.Old {
			if int(p.born[docs[0]]) < p.cycle {
				led := math.Sqrt(float64(c.H.Size(g)))
				p.n[docs[0]] += led
				p.rates[p.profiles[docs[0]].Template].n += led
			}
		}
		for v := range p.profiles {
			if p.known[v] && !p.gone[v] {
				p.place(graph.Node(v))
			}
		}
	}
	if p.worth >= 0 && p.spent >= p.budget {
		p.lambda += (p.worth - p.lambda) / 4
	}
	for v := range p.due {
		if p.due[v] > 0 {
			p.due[v] = max(p.due[v], p.cycle+1)
		}
	}
}

// indexCycles drives policies side by side through cycles of random outcomes on a site of n
// documents; next chooses for all, and after is called when a cycle has ended.
func indexCycles(r *rand.Rand, n, cycles int, next func() (graph.Node, bool), after func(), policies ...Policy) {
	learn := func(v graph.Node, born int) {
		profile := Profile{Home: v == 0, Template: int32(r.IntN(5)), Depth: r.IntN(3), Links: r.IntN(90), Index: r.IntN(9) == 0, Born: born}
		profile.Kind, profile.Main = Kind(max(0, r.IntN(6)-3)), r.IntN(3) == 0
		for _, p := range policies {
			p.Learn(v, profile)
		}
	}
	for v := range n {
		learn(graph.Node(v), 0)
	}
	gone := map[graph.Node]bool{}
	for t := 1; t <= cycles; t++ {
		k := 1 + r.IntN(n)
		for _, p := range policies {
			p.Begin(Time(t), k)
		}
		c := Cycle{Full: r.IntN(8) == 0, H: &CoverGraph{}}
		spent := r.IntN(k + 1)
		if r.IntN(2) == 0 {
			spent = k
		}
		for range spent {
			v, ok := next()
			if !ok {
				break
			}
			if r.IntN(40) == 0 { // the caller's own choice
				v = graph.Node(r.IntN(n))
			}
			refetch := Refetch{Page: v, Cost: 1, Gone: r.IntN(30) == 0, Failed: r.IntN(20) == 0}
			refetch.Failed = refetch.Failed && !refetch.Gone
			if !refetch.Gone && !refetch.Failed && r.IntN(4) == 0 {
				from := r.IntN(n)
				for y := from; y < min(n, from+r.IntN(4)); y++ {
					refetch.Led = append(refetch.Led, graph.Node(y))
				}
			}
			if !refetch.Failed {
				gone[v] = refetch.Gone
			}
			for _, p := range policies {
				p.Observe(refetch)
			}
		}
		for range r.IntN(3) {
			learn(graph.Node(n), t)
			n++
		}
		if r.IntN(3) == 0 {
			learn(graph.Node(r.IntN(n)), 0) // what is known of it is different now
		}
		if c.Full {
			c.H, _ = randomCoverGraph(r, n, r.IntN(6))
			for v := range graph.Node(n) {
				switch {
				case gone[v] && r.IntN(3) == 0:
					c.Back, gone[v] = append(c.Back, v), false
				case !gone[v] && r.IntN(20) == 0:
					c.Gone, gone[v] = append(c.Gone, v), true
				}
			}
		}
		for _, p := range policies {
			p.End(c)
		}
		after()
	}
}

// TestIndexNaive: the calendar, the heap and the tables choose what sorted lists choose.
func TestIndexNaive(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 12))
		fast, slow := NewIndex(), &naiveIndex{lambda: .05, rates: map[int32]*rate{}}
		indexCycles(r, 1+r.IntN(120), 100, func() (graph.Node, bool) {
			got, ok := fast.Next()
			if want, wanted := slow.Next(); got != want || ok != wanted {
				t.Fatalf("seed %d, cycle %d: %d, %v; want %d, %v", seed, fast.cycle, got, ok, want, wanted)
			}
			return got, ok
		}, func() {
			if fast.lambda != slow.lambda {
				t.Fatalf("seed %d, cycle %d: λ is %g, want %g", seed, fast.cycle, fast.lambda, slow.lambda)
			}
		}, fast, slow)
	}
}

// TestIndexBatches: where a bucket is taken bit by bit, no document is lost or named twice.
func TestIndexBatches(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 13))
		p := NewIndex()
		p.batch = 1 + r.IntN(5)
		indexCycles(r, 1+r.IntN(60), 80, func() (graph.Node, bool) {
			v, ok := p.Next()
			if ok && (p.gone[v] || int(p.last[v]) == p.cycle) {
				t.Fatalf("seed %d, cycle %d: %d is gone or was fetched", seed, p.cycle, v)
			}
			for v := range p.docs {
				if !ok && p.candidate(graph.Node(v)) && int(p.last[v]) < p.cycle {
					t.Fatalf("seed %d, cycle %d: nothing is left but %d", seed, p.cycle, v)
				}
			}
			return v, ok
		}, func() {
			for v := range p.docs {
				due := p.docs[v].due
				if !p.gone[v] && (int(due) <= p.cycle || int(due) > p.cycle+indexFar || !slices.Contains(*p.bucket(due), graph.Node(v))) {
					t.Fatalf("seed %d, after cycle %d: %d is not in its bucket, %d", seed, p.cycle, v, due)
				}
			}
		}, p)
	}
}
