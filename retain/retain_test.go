package retain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
)

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 9)) }

// randomGraph has m arcs, about, among n nodes; node v is drawn with weight 1/(v+1)^skew.
func randomGraph(r *rand.Rand, n, m int, skew float64) *graph.CSR {
	draw := func() graph.Node { return graph.Node(float64(n) * math.Pow(r.Float64(), 1+skew)) }
	arcs := make([]graph.Arc, m)
	for i := range arcs {
		arcs[i] = graph.Arc{From: draw(), To: draw()}
	}
	return graph.FromArcs(n, arcs)
}

// naiveStep is the definition: score all of S ∪ C, sort, cut.
func naiveStep(d *Dynamics, g *graph.CSR, in map[graph.Node]bool, ever map[graph.Node]bool) map[graph.Node]bool {
	votes := map[graph.Node]float64{}
	voters := in
	if d.c.Rule == Everything {
		for v := range in {
			ever[v] = true
		}
		voters = ever
	}
	cand := map[graph.Node]bool{}
	for v := range in {
		cand[v] = true
	}
	for u := range voters {
		for _, v := range g.Successors(u) {
			if u != v || d.c.SelfLoops {
				votes[v]++
				cand[v] = true
			}
		}
	}
	if d.c.Rule == PageRank {
		votes = naiveRank(d, g, in, cand)
	}
	for v := range in {
		if d.c.Lead > 0 {
			votes[v] += float64(d.c.Lead) - 0.5
		}
	}
	var list []graph.Node
	for v := range cand {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b graph.Node) int {
		if x, y := float32(votes[a]), float32(votes[b]); x != y {
			if x > y {
				return -1
			}
			return 1
		}
		if d.c.Ties == Incumbent && in[a] != in[b] {
			if in[a] {
				return -1
			}
			return 1
		}
		return int(d.priority[a]) - int(d.priority[b])
	})
	next := map[graph.Node]bool{}
	for _, v := range list[:min(len(list), d.c.Buffer)] {
		next[v] = true
	}
	return next
}

func naiveRank(d *Dynamics, g *graph.CSR, in, cand map[graph.Node]bool) map[graph.Node]float64 {
	var nodes []graph.Node
	for v := range cand {
		nodes = append(nodes, v)
	}
	slices.Sort(nodes)
	p := map[graph.Node]float64{}
	for _, v := range nodes {
		p[v] = 1 / float64(len(nodes))
	}
	for range 400 {
		q := map[graph.Node]float64{}
		for _, u := range nodes {
			var out []graph.Node
			if in[u] {
				for _, v := range g.Successors(u) {
					if u != v || d.c.SelfLoops {
						out = append(out, v)
					}
				}
			}
			if len(out) == 0 {
				out = nodes
			}
			for _, v := range out {
				q[v] += p[u] / float64(len(out))
			}
		}
		for _, v := range nodes {
			q[v] = 0.15/float64(len(nodes)) + 0.85*q[v]
		}
		p = q
	}
	// Close ranks may round to either side: the test quantises both.
	for v := range p {
		p[v] = math.Round(p[v]*1e7) / 1e7
	}
	return p
}

func TestStepAgainstNaive(t *testing.T) {
	for _, rule := range []Rule{InDegree, Everything} {
		for _, ties := range []Ties{Random, ID, Incumbent} {
			for seed := range uint64(40) {
				r := random(seed)
				n := 2 + r.IntN(60)
				g := randomGraph(r, n, r.IntN(6*n), 1)
				c := Config{Buffer: 1 + r.IntN(n), Rule: rule, Ties: ties, SelfLoops: seed%2 == 0}
				if rule == InDegree {
					c.Lead = int(seed % 4)
				}
				d, err := New(g, c, RandomStart(n, c.Buffer, r), r)
				if err != nil {
					t.Fatal(err)
				}
				in, ever := map[graph.Node]bool{}, map[graph.Node]bool{}
				for _, v := range d.Buffer(nil) {
					in[v] = true
				}
				for step := range 12 {
					before := d.Buffer(nil)
					flips := d.Step()
					in = naiveStep(d, g, in, ever)
					got := d.Buffer(nil)
					if len(got) != len(in) || slices.ContainsFunc(got, func(v graph.Node) bool { return !in[v] }) {
						t.Fatalf("rule %v, ties %v, seed %d, step %d: buffer %v, want %v", rule, ties, seed, step, got, in)
					}
					var diff []graph.Node
					for v := range graph.Node(n) {
						if slices.Contains(before, v) != slices.Contains(got, v) {
							diff = append(diff, v)
						}
					}
					if !slices.Equal(flips, diff) {
						t.Fatalf("rule %v, seed %d: Step() = %v, want %v", rule, seed, flips, diff)
					}
				}
			}
		}
	}
}

// The ranks, not the choice, are compared: pages of nearly equal rank may fall either way.
func TestPageRankAgainstNaive(t *testing.T) {
	for seed := range uint64(40) {
		r := random(seed)
		n := 2 + r.IntN(40)
		g := randomGraph(r, n, r.IntN(6*n), 1)
		d, err := New(g, Config{Buffer: 1 + r.IntN(n), Rule: PageRank, Tolerance: 1e-12}, RandomStart(n, n/2, r)[:0], r)
		if err != nil {
			t.Fatal(err)
		}
		in, cand := map[graph.Node]bool{}, map[graph.Node]bool{}
		for _, v := range RandomStart(n, d.c.Buffer, r) {
			d.in.add(v)
			in[v], cand[v] = true, true
			for _, u := range g.Successors(v) {
				if u != v {
					cand[u] = true
				}
			}
		}
		want := naiveRank(d, g, in, cand)
		d.voteRank()
		if len(d.known) != len(cand) {
			t.Fatalf("seed %d: %d pages ranked, want %d", seed, len(d.known), len(cand))
		}
		for _, v := range d.known {
			if got := float64(math.Float32frombits(d.score[v])); math.Abs(got-want[v]) > 2e-7 {
				t.Fatalf("seed %d: rank of %d is %v, want %v", seed, v, got, want[v])
			}
		}
	}
}

// Symmetric graphs have period 1 or 2 under a fixed priority: the number of links between
// successive buffers never falls (Goles and Olivos).
func TestSymmetricPeriod(t *testing.T) {
	longer := 0
	for seed := range uint64(500) {
		r := random(seed)
		n := 2 + r.IntN(80)
		g := randomGraph(r, n, r.IntN(4*n), float64(seed%3)).Undirected()
		b := 1 + r.IntN(n)
		for _, ties := range []Ties{Random, ID} {
			d, err := New(g, Config{Buffer: b, Ties: ties}, RandomStart(n, b, r), r)
			if err != nil {
				t.Fatal(err)
			}
			if l := Run(d, 10000); !l.Cyclic || l.Period > 2 {
				t.Errorf("seed %d: n=%d b=%d ties %v: period %d after %d steps", seed, n, b, ties, l.Period, l.Steps)
			}
		}
		dir := randomGraph(r, n, r.IntN(4*n), 1)
		d, _ := New(dir, Config{Buffer: b}, RandomStart(n, b, r), r)
		if Run(d, 10000).Period > 2 {
			longer++
		}
	}
	if longer == 0 {
		t.Error("no directed graph had a period above 2: the test of symmetric ones shows nothing")
	}
}

// [ABCHMT08, Lemma 5]: where every page of C is linked h times from C, C in the buffer, and at
// most b pages have h links or more, then C and its h-pyramid stay.
func TestPyramidStays(t *testing.T) {
	tried := 0
	for seed := range uint64(400) {
		r := random(seed)
		n, h := 60, 2+r.IntN(2)
		g := randomGraph(r, n, 300, 1)
		t2 := g.Transpose()
		b := 0
		for v := range graph.Node(n) {
			in := t2.OutDegree(v)
			if t2.HasArc(v, v) {
				in--
			}
			if in >= h {
				b++
			}
		}
		// The largest C: drop pages with fewer than h links from C until none is left to drop.
		c := map[graph.Node]bool{}
		for v := range graph.Node(n) {
			c[v] = true
		}
		votes := func(v graph.Node, from map[graph.Node]bool) int {
			k := 0
			for _, u := range t2.Successors(v) {
				if u != v && from[u] {
					k++
				}
			}
			return k
		}
		for again := true; again; {
			again = false
			for v := range graph.Node(n) {
				if c[v] && votes(v, c) < h {
					delete(c, v)
					again = true
				}
			}
		}
		if len(c) == 0 || b < len(c) {
			continue
		}
		tried++
		start := []graph.Node{}
		for v := range c {
			start = append(start, v)
		}
		pyramid, level := map[graph.Node]bool{}, c
		for len(level) > 0 {
			for v := range level {
				pyramid[v] = true
			}
			next := map[graph.Node]bool{}
			for v := range graph.Node(n) {
				if !pyramid[v] && votes(v, level) >= h {
					next[v] = true
				}
			}
			level = next
		}
		d, err := New(g, Config{Buffer: b}, start, r)
		if err != nil {
			t.Fatal(err)
		}
		l := Run(d, 10000)
		for v := range pyramid {
			if !slices.Contains(l.Core, v) {
				t.Fatalf("seed %d: page %d of the %d-pyramid is not in the core %v", seed, v, h, l.Core)
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d graphs had a pyramid", tried)
	}
}

func TestRunAgainstHistory(t *testing.T) {
	for seed := range uint64(120) {
		for _, rule := range []Rule{InDegree, PageRank, Everything} {
			n := 2 + random(seed).IntN(30)
			start := func() *Dynamics {
				r := random(seed)
				n := 2 + r.IntN(30)
				g := randomGraph(r, n, r.IntN(5*n), 1)
				b := 1 + r.IntN(n)
				d, err := New(g, Config{Buffer: b, Rule: rule}, RandomStart(n, b, r), r)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			l := Run(start(), 10000)
			if !l.Cyclic {
				t.Fatalf("seed %d, %v: no cycle", seed, rule)
			}
			// Two turns of the cycle, as whole buffers.
			d := start()
			var all [][]graph.Node
			for range l.Transient + 2*l.Period + 1 {
				all = append(all, d.Buffer(nil))
				d.Step()
			}
			core, often := []graph.Node(nil), 0
			for v := range graph.Node(n) {
				k := 0
				for _, s := range all[l.Transient : l.Transient+l.Period] {
					if slices.Contains(s, v) {
						k++
					}
				}
				if k == l.Period {
					core = append(core, v)
				} else if k > 0 {
					often++
				}
			}
			for i := l.Transient; i+l.Period < len(all); i++ {
				if !slices.Equal(all[i], all[i+l.Period]) {
					t.Fatalf("seed %d, %v: state %d differs from state %d; period %d", seed, rule, i, i+l.Period, l.Period)
				}
			}
			if !slices.Equal(core, l.Core) || often != l.Moving {
				t.Fatalf("seed %d, %v: core %v, %d moving; want %v, %d", seed, rule, l.Core, l.Moving, core, often)
			}
			if rule == Everything && l.Period != 1 {
				t.Errorf("seed %d: the rule everything has period %d; what is known only grows", seed, l.Period)
			}
		}
	}
}

func TestWholeGraphIsTheCore(t *testing.T) {
	g := randomGraph(random(1), 20, 60, 1)
	for _, b := range []int{20, 21, 1000} {
		d, err := New(g, Config{Buffer: b}, RandomStart(20, b, random(2)), random(3))
		if err != nil {
			t.Fatal(err)
		}
		if l := Run(d, 10); len(l.Core) != 20 || l.Period != 1 || l.Transient != 0 {
			t.Errorf("buffer %d of 20: core %d, period %d, transient %d; want 20, 1, 0", b, len(l.Core), l.Period, l.Transient)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	g := randomGraph(random(1), 5, 9, 1)
	for name, f := range map[string]func() error{
		"no nodes":         func() error { _, err := New(&graph.CSR{}, Config{Buffer: 1}, nil, random(1)); return err },
		"buffer 0":         func() error { _, err := New(g, Config{}, nil, random(1)); return err },
		"links 2":          func() error { _, err := New(g, Config{Buffer: 1, Links: 2}, nil, random(1)); return err },
		"negative lead":    func() error { _, err := New(g, Config{Buffer: 1, Lead: -1}, nil, random(1)); return err },
		"lead of rank":     func() error { _, err := New(g, Config{Buffer: 1, Lead: 1, Rule: PageRank}, nil, random(1)); return err },
		"damping 1":        func() error { _, err := New(g, Config{Buffer: 1, Damping: 1}, nil, random(1)); return err },
		"start too large":  func() error { _, err := New(g, Config{Buffer: 1}, []graph.Node{0, 1}, random(1)); return err },
		"start outside":    func() error { _, err := New(g, Config{Buffer: 1}, []graph.Node{5}, random(1)); return err },
		"start with twice": func() error { _, err := New(g, Config{Buffer: 2}, []graph.Node{1, 1}, random(1)); return err },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// With one page in two cliques of mutual links, all that is linked stays; the rest of the
// buffer is what the priority says, without a vote.
func TestZeroVotes(t *testing.T) {
	g := graph.FromArcs(10, []graph.Arc{{From: 0, To: 1}, {From: 1, To: 0}})
	d, _ := New(g, Config{Buffer: 4, Ties: ID}, []graph.Node{1, 7, 8, 9}, nil)
	l := Run(d, 10)
	if want := []graph.Node{0, 1, 7, 8}; !slices.Equal(l.Core, want) || l.ZeroVotes != 2 || d.ZeroVotes() != 2 {
		t.Errorf("core %v with %d without votes, want %v with 2", l.Core, l.ZeroVotes, want)
	}
}

func TestWatchChangingGraph(t *testing.T) {
	r := random(5)
	g := randomGraph(r, 2000, 20000, 2)
	run := func(links, change float64) *Spell {
		r := random(6)
		d, err := New(g, Config{Buffer: 200, Links: links}, RandomStart(2000, 200, r), r)
		if err != nil {
			t.Fatal(err)
		}
		h := g
		return Watch(d, 20, 40, 0.05, func(int) {
			if change > 0 {
				h = Rewire(h, change, r)
				d.SetGraph(h)
			}
		})
	}
	still, half, moving := run(0, 0), run(0.5, 0), run(0, 0.5)
	if len(still.Core) <= len(half.Core) || still.Turnover >= half.Turnover {
		t.Errorf("half of the links: core %d, turnover %.3f; all: %d, %.3f", len(half.Core), half.Turnover, len(still.Core), still.Turnover)
	}
	if len(moving.Core) >= len(still.Core) {
		t.Errorf("a changing graph has a core of %d, a fixed one %d", len(moving.Core), len(still.Core))
	}
	if half.Links >= 0.6*still.Links {
		t.Errorf("half of the links are %.0f, all are %.0f", half.Links, still.Links)
	}
}

func TestRewireKeepsDegrees(t *testing.T) {
	g := randomGraph(random(1), 3000, 9000, 0)
	if same := Rewire(g, 0, random(2)); !slices.Equal(same.Succ, g.Succ) || !slices.Equal(same.Offset, g.Offset) {
		t.Error("a share of 0 changes the graph")
	}
	h := Rewire(g, 1, random(2))
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	if h.NumArcs() < g.NumArcs()*98/100 {
		t.Errorf("%d of %d arcs are left", h.NumArcs(), g.NumArcs())
	}
	a, b := g.Transpose(), h.Transpose()
	off := 0
	for v := range graph.Node(3000) {
		off += abs(a.OutDegree(v) - b.OutDegree(v))
	}
	if off > 200 {
		t.Errorf("in-degrees differ by %d in sum", off)
	}
	shared := 0
	for v := range graph.Node(3000) {
		for _, u := range h.Successors(v) {
			if g.HasArc(v, u) {
				shared++
			}
		}
	}
	if shared > 100 {
		t.Errorf("%d arcs are as before", shared)
	}
}

func abs(x int) int { return max(x, -x) }

func TestRandomStartIsUniform(t *testing.T) {
	const n, b, runs = 12, 5, 24000
	count := [n]int{}
	r := random(3)
	for range runs {
		s := RandomStart(n, b, r)
		if len(s) != b || !slices.IsSorted(s) || len(slices.Compact(slices.Clone(s))) != b {
			t.Fatalf("RandomStart(%d, %d) = %v", n, b, s)
		}
		for _, v := range s {
			count[v]++
		}
	}
	for v, k := range count {
		if math.Abs(float64(k)-runs*b/n) > 400 { // five standard deviations
			t.Errorf("page %d was drawn %d times, want about %d", v, k, runs*b/n)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	r := random(1)
	const n = 1e6
	g := randomGraph(r, n, 10*n, 1)
	for _, rule := range []Rule{InDegree, Everything, PageRank} {
		b.Run(fmt.Sprintf("rule=%v/n=1e6/b=1e5", rule), func(b *testing.B) {
			r := random(2)
			d, err := New(g, Config{Buffer: 1e5, Rule: rule}, RandomStart(n, 1e5, r), r)
			if err != nil {
				b.Fatal(err)
			}
			for range 5 {
				d.Step() // the first buffers are unlike all later ones
			}
			links := 0.0
			for b.Loop() {
				d.Step()
				links += float64(d.followed)
			}
			b.ReportMetric(links/float64(b.N), "links/op")
		})
	}
}

// Pages that are gone leave the buffer and come back only by a vote; the hash follows.
func TestRemove(t *testing.T) {
	g := graph.FromLists([][]graph.Node{{1, 2}, {0}, {0}, {}})
	d, err := New(g, Config{Buffer: 3, Ties: ID}, []graph.Node{0, 1, 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.Remove([]graph.Node{2, 3})
	if got := d.Buffer(nil); !slices.Equal(got, []graph.Node{0, 1}) {
		t.Fatalf("buffer %v after 3 is gone, want [0 1]", got)
	}
	if want := mix(0) ^ mix(1); d.hash != want {
		t.Errorf("hash %x, want %x", d.hash, want)
	}
	d.Step()
	if got := d.Buffer(nil); !slices.Equal(got, []graph.Node{0, 1, 2}) {
		t.Errorf("buffer %v a step later, want [0 1 2]", got)
	}
}
