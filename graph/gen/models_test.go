package gen

import (
	"math"
	"slices"
	"testing"

	"forage/graph"
)

func TestRMATIsTheSameForAnyThreads(t *testing.T) {
	var want *graph.CSR
	for _, threads := range []int{1, 2, 5} {
		g, err := RMAT(50000, 300000, RMATConfig{}, Options{Seed: 3, Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = g
		}
		if !slices.Equal(g.Succ, want.Succ) || !slices.Equal(g.Offset, want.Offset) {
			t.Errorf("RMAT differs with %d threads", threads)
		}
	}
}

// The first two levels of the recursion must have the shares that the probabilities give.
func TestRMATShares(t *testing.T) {
	const n = 1 << 20 // so many that parallel arcs are rare below the second level
	c := RMATConfig{0.4, 0.3, 0.2}
	g, err := RMAT(n, 400000, c, Options{Seed: 1, Loops: true})
	if err != nil {
		t.Fatal(err)
	}
	p := [2][2]float64{{c.A, c.B}, {c.C, 1 - c.A - c.B - c.C}}
	var count [4][4]float64
	for v := range graph.Node(n) {
		for _, u := range g.Successors(v) {
			count[v>>18][u>>18]++
		}
	}
	m := float64(g.NumArcs())
	for u := range 4 {
		for v := range 4 {
			want := p[u>>1][v>>1] * p[u&1][v&1]
			if got := count[u][v] / m; math.Abs(got-want) > 5*math.Sqrt(want/m)+0.002 {
				t.Errorf("sixteenth %d, %d has a share of %.4f, want %.4f", u, v, got, want)
			}
		}
	}
}

func TestRMATErrors(t *testing.T) {
	for _, tt := range []struct {
		n int
		m uint64
		c RMATConfig
	}{{-1, 0, RMATConfig{}}, {0, 1, RMATConfig{}}, {4, 1, RMATConfig{0.5, 0.5, 0.5}}, {4, 1, RMATConfig{0, 1, 0}}, {5, 1, RMATConfig{1e-11, 0, 0}}, {4, 1, RMATConfig{math.NaN(), 0, 0}}, {4, 1 << 40, RMATConfig{}}} {
		if _, err := RMAT(tt.n, tt.m, tt.c, Options{}); err == nil {
			t.Errorf("RMAT(%d, %d, %v): no error", tt.n, tt.m, tt.c)
		}
	}
	for _, n := range []int{0, 1, 3} {
		if g, err := RMAT(n, 0, RMATConfig{}, Options{}); err != nil || g.NumNodes() != n || g.NumArcs() != 0 {
			t.Errorf("RMAT(%d, 0) = %v, %v", n, g, err)
		}
	}
}

func TestCopying(t *testing.T) {
	g, err := Copying(200000, 5, 0.5, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	for v := 6; v < g.NumNodes(); v++ {
		s := g.Successors(graph.Node(v))
		if len(s) == 0 || len(s) > 5 || int(s[len(s)-1]) >= v {
			t.Fatalf("node %d links to %v", v, s)
		}
	}
	d, err := graph.CountDegrees(g)
	if err != nil {
		t.Fatal(err)
	}
	// In-degrees k have a tail of (k+5)^−1/(1−0.5): an arc goes to a node in proportion to its
	// in-degree, plus 5·0.5/(1−0.5) for the arcs that are not copied.
	tail := func(from int) (n float64) {
		for k := from; k < len(d.In); k++ {
			n += float64(d.In[k])
		}
		return n
	}
	if slope := math.Log(tail(8)/tail(80)) / math.Log(85./13); slope < 1.8 || slope > 2.2 {
		t.Errorf("the tail of the in-degrees falls with exponent %.2f, want about 2", slope)
	}
}

func TestCopyingLimits(t *testing.T) {
	// Without chance of its own every node links where the first ones do.
	g, err := Copying(1000, 2, 0, Options{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	for v := range graph.Node(1000) {
		for _, u := range g.Successors(v) {
			if u > 2 {
				t.Fatalf("node %d links to %d without chance", v, u)
			}
		}
	}
	for n := range 5 {
		g, err := Copying(n, 3, 0.5, Options{})
		if err != nil || g.NumNodes() != n || g.Check() != nil {
			t.Errorf("Copying(%d, 3) = %v, %v, %v", n, g, err, g.Check())
		}
	}
	for _, tt := range []struct {
		n, degree int
		random    float64
	}{{-1, 1, 0.5}, {5, 0, 0.5}, {5, 1, -0.1}, {5, 1, 1.1}, {5, 1, math.NaN()}, {1 << 30, 1 << 30, 0.5}} {
		if _, err := Copying(tt.n, tt.degree, tt.random, Options{}); err == nil {
			t.Errorf("Copying(%d, %d, %v): no error", tt.n, tt.degree, tt.random)
		}
	}
}

// Golden checksums: the generators must not change, on any machine.
func TestGeneratorsAreStable(t *testing.T) {
	rmat, err := RMAT(3000, 20000, RMATConfig{}, Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	copying, err := Copying(3000, 4, 0.3, Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		g    *graph.CSR
		want uint64
	}{"rmat": {rmat, 0x725a6037106af086}, "copying": {copying, 0x70bc4e8a98599226}} {
		if got := Checksum(tt.g); got != tt.want {
			t.Errorf("%s has checksum %#016x, want %#016x", name, got, tt.want)
		}
	}
}

func BenchmarkRMAT(b *testing.B) {
	const m = 1 << 22
	for b.Loop() {
		if _, err := RMAT(1<<18, m, RMATConfig{}, Options{Seed: 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(m*float64(b.N)/b.Elapsed().Seconds(), "arcs/s")
}
