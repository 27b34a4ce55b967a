package gen

import (
	"math"
	"os"
	"runtime"
	"slices"
	"testing"

	"forage/graph"
	"forage/internal/race"
)

func TestHurwitz(t *testing.T) {
	for _, tt := range []struct{ s, q, want float64 }{
		{2, 1, math.Pi * math.Pi / 6},
		{2, 2, math.Pi*math.Pi/6 - 1},
		{4, 1, math.Pow(math.Pi, 4) / 90},
		{2.75, 1, 1.2602057102}, // summed to 10^6 terms below
		{1.01, 1, 100.5779433384},
	} {
		if tt.s == 2.75 {
			sum := 0.0
			for k := 1e6; k >= 1; k-- {
				sum += math.Pow(k, -tt.s)
			}
			tt.want = sum + math.Pow(1e6+.5, 1-tt.s)/(tt.s-1)
		}
		if got := hurwitz(tt.s, tt.q); math.Abs(got/tt.want-1) > 1e-11 {
			t.Errorf("hurwitz(%v, %v) = %.13g, want %.13g", tt.s, tt.q, got, tt.want)
		}
	}
}

// The vector by its definition, with plain sums.
func TestParetoDegreesAgainstDefinition(t *testing.T) {
	const n, alpha = 3000, 2.75
	seeds := 6
	if os.Getenv("FORAGE_LONG") != "" {
		seeds = 100
	}
	zeta := 0.0
	for k := 2e6; k >= 1; k-- {
		zeta += math.Pow(k, -alpha)
	}
	c := 1 / zeta
	expected := func(k int) float64 { return c * n * math.Pow(float64(k), -alpha) }
	k0 := 1
	for expected(k0) >= 1 {
		k0++
	}
	for seed := range uint64(race.Fewer(seeds)) {
		d, err := ParetoDegrees(alpha, n, seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(d) != n || !slices.IsSortedFunc(d, func(a, b uint32) int { return int(b) - int(a) }) {
			t.Fatalf("seed %d: %d degrees, or not descending", seed, len(d))
		}
		count := map[uint32]int{}
		for _, k := range d {
			count[k]++
		}
		for k := 1; k < k0; k++ {
			if got, e := float64(count[uint32(k)]), expected(k); k < k0/2 && (got < math.Floor(e) || got > math.Floor(e)+1) {
				t.Errorf("seed %d: %v nodes of degree %d, expected %v", seed, got, k, e)
			}
		}
		// The head: h_i is the largest h with a tail sum of at least i.
		sum, i := 0.0, 1
		heads := []uint32{}
		for k := 2000000; k >= k0; k-- {
			sum += expected(k)
			for ; sum >= float64(i); i++ {
				heads = append(heads, uint32(k))
			}
		}
		// How many of them there is room for depends on the fractions.
		for len(heads) > 0 && d[len(heads)-1] < uint32(k0) {
			heads = heads[:len(heads)-1]
		}
		if len(heads) < 5 || !slices.Equal(d[:len(heads)], heads) {
			t.Errorf("seed %d: head %v, want %v", seed, d[:len(heads)], heads)
		}
	}
}

func TestParetoDegreesRefuses(t *testing.T) {
	for _, alpha := range []float64{1, 0.5, -2, math.NaN(), math.Inf(1)} {
		if _, err := ParetoDegrees(alpha, 10, 1); err == nil {
			t.Errorf("ParetoDegrees(%v, 10): no error", alpha)
		}
	}
	if _, err := ParetoDegrees(1.1, 1e5, 1); err == nil {
		t.Error("α = 1.1 and 10^5 nodes: no error; the largest degree would be about 10^50")
	}
	if d, err := ParetoDegrees(2.5, 0, 1); err != nil || len(d) != 0 {
		t.Errorf("ParetoDegrees(2.5, 0) = %v, %v, want none", d, err)
	}
	if d, err := ParetoDegrees(2.5, 1, 1); err != nil || len(d) != 1 || d[0] == 0 {
		t.Errorf("ParetoDegrees(2.5, 1) = %v, %v, want one degree above 0", d, err)
	}
	if _, err := ParetoDegrees(2.5, -1, 1); err == nil {
		t.Error("-1 nodes: no error")
	}
}

func TestAliasIsProportional(t *testing.T) {
	weights := []float64{0, 1, 2, 3.5, 0, 10, 0.25}
	a, err := NewAlias(weights)
	if err != nil {
		t.Fatal(err)
	}
	const draws = 1 << 20
	count := make([]int, len(weights))
	r := stream(1, 1)
	for range draws {
		count[a.draw(&r)]++
	}
	for i, w := range weights {
		p := w / 16.75
		if sd := math.Sqrt(draws * p * (1 - p)); math.Abs(float64(count[i])-draws*p) > 5*sd {
			t.Errorf("index %d of weight %v was drawn %d times, want %.0f ± %.0f", i, w, count[i], draws*p, sd)
		}
	}
	for name, w := range map[string][]float64{"none": nil, "zero": {0, 0}, "negative": {1, -1}, "not a number": {math.NaN()}, "infinite": {1, math.Inf(1)}} {
		if _, err := NewAlias(w); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Every generator gives valid graphs, the same for any number of threads, others for other seeds.
func TestGenerators(t *testing.T) {
	for _, g := range Stability() {
		for _, n := range []int{0, 1, 2, 100, 20000} {
			p := Params{Nodes: n, Alpha: 2.5, Options: Options{Seed: 7, Threads: 1}}
			one, err := g.Make(p)
			if err != nil {
				t.Errorf("%s of %d nodes: %v", g.Name, n, err)
				continue
			}
			if err := one.Check(); err != nil || one.NumNodes() != n {
				t.Errorf("%s of %d nodes: %v, %d nodes", g.Name, n, err, one.NumNodes())
			}
			for v := range n {
				if one.HasArc(graph.Node(v), graph.Node(v)) {
					t.Errorf("%s: node %d links to itself", g.Name, v)
				}
			}
			p.Threads = 5
			if five, _ := g.Make(p); !slices.Equal(one.Succ, five.Succ) || !slices.Equal(one.Offset, five.Offset) {
				t.Errorf("%s of %d nodes differs between 1 and 5 threads", g.Name, n)
			}
			if n < 20000 {
				continue
			}
			p.Seed = 8
			if other, _ := g.Make(p); slices.Equal(one.Succ, other.Succ) {
				t.Errorf("%s: seeds 7 and 8 give the same graph", g.Name)
			}
			if one.NumArcs() < uint64(n)/2 {
				t.Errorf("%s: %d arcs among %d nodes", g.Name, one.NumArcs(), n)
			}
			// All have a heavy tail: one node has far more than its share of links.
			most := 0
			tr := one.Transpose()
			for v := range n {
				most = max(most, tr.OutDegree(graph.Node(v)))
			}
			if most < 30 {
				t.Errorf("%s: the largest in-degree is %d", g.Name, most)
			}
		}
	}
}

func TestBPPLVariantsKeepDegrees(t *testing.T) {
	const n = 5000
	d, err := ParetoDegrees(2.5, n, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, ends := range []Ends{DrawnEnds, FixedOut, FixedBoth} {
		blocks, err := BPPLArcs(2.5, n, ends, Options{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		out, in := make([]uint32, n), make([]uint32, n)
		m := uint64(0)
		for _, b := range blocks {
			for _, a := range b {
				out[a.From]++
				in[a.To]++
				m++
			}
		}
		if m != prefix(d)[n] {
			t.Errorf("ends %d: %d arcs, want %d", ends, m, prefix(d)[n])
		}
		if got := slices.Equal(out, d); got != (ends != DrawnEnds) {
			t.Errorf("ends %d: out-degrees exact: %v", ends, got)
		}
		if got := slices.Equal(in, d); got != (ends == FixedBoth) {
			t.Errorf("ends %d: in-degrees exact: %v", ends, got)
		}
		// Node 0 expects d_0 arcs each way; five standard deviations of a Poisson variable.
		if x := math.Abs(float64(in[0]) - float64(d[0])); x > 5*math.Sqrt(float64(d[0])) {
			t.Errorf("ends %d: node 0 has %d links, expects %d", ends, in[0], d[0])
		}
	}
}

func TestChungLuAgainstDefinition(t *testing.T) {
	w := []float64{9, 1, 4, 0, 2, 7, 0.5, 3}
	total := 26.5
	const runs = 20000
	count := map[graph.Arc]int{}
	for seed := range uint64(runs) {
		g, err := ChungLu(w, Options{Seed: seed, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		for u := range graph.Node(8) {
			for _, v := range g.Successors(u) {
				count[graph.Arc{From: u, To: v}]++
			}
		}
	}
	for u := range graph.Node(8) {
		for v := range graph.Node(8) {
			p := min(1, w[u]*w[v]/total)
			if u == v {
				p = 0
			}
			if got, sd := float64(count[graph.Arc{From: u, To: v}]), math.Sqrt(runs*p*(1-p)); math.Abs(got-runs*p) > 5*sd {
				t.Errorf("arc %d %d came %v times, want %.0f ± %.0f", u, v, got, runs*p, sd)
			}
		}
	}
}

func TestLoopsAreKept(t *testing.T) {
	loops := func(o Options) (k int) {
		g, err := BPPL(2.2, 3000, DrawnEnds, o)
		if err != nil {
			t.Fatal(err)
		}
		for v := range graph.Node(3000) {
			if g.HasArc(v, v) {
				k++
			}
		}
		return k
	}
	if a, b := loops(Options{Seed: 1}), loops(Options{Seed: 1, Loops: true}); a != 0 || b == 0 {
		t.Errorf("%d self-loops without Loops, %d with; want 0 and some", a, b)
	}
}

func TestScaleFreeRefuses(t *testing.T) {
	for _, c := range []ScaleFreeConfig{{}, {NewSource: 1}, {Between: 1, In: 1, Out: 1}, {NewSource: 2, Between: -1, In: 1, Out: 1}} {
		if _, err := ScaleFree(10, c, Options{}); err == nil {
			t.Errorf("ScaleFree(10, %+v): no error", c)
		}
	}
}

// 10^8 arcs among 10^7 nodes, drawn and sorted.
func BenchmarkInOut(b *testing.B) {
	for _, m := range []uint64{1e6, 1e8} {
		if m > 1e6 && testing.Short() {
			continue
		}
		name := "m=1e6/n=1e5"
		if m > 1e6 {
			name = "m=1e8/n=1e7"
		}
		b.Run(name, func(b *testing.B) {
			d, err := ParetoDegrees(2.5, int(m/10), 1)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				g, err := InOut(d, d, m, Options{Seed: 1})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(g.NumArcs()), "arcs")
			}
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			b.ReportMetric(float64(s.Sys)/(1<<30), "GiB")
		})
	}
}
