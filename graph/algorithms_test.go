package graph

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func randomGraph(r *rand.Rand) *CSR {
	n := 1 + r.IntN(60)
	return FromArcs(n, randomArcs(r, n, r.IntN(3*n)))
}

// larger has enough nodes to be worked on by several threads.
func larger(seed uint64) *CSR {
	r := rand.New(rand.NewPCG(seed, 20))
	n := 70000 + r.IntN(10000)
	arcs := randomArcs(r, n, 5*n)
	for i := range arcs {
		if r.IntN(3) == 0 {
			arcs[i].To = Node(r.IntN(1 + r.IntN(n))) // some nodes are popular
		}
	}
	return FromBlocks(n, [][]Arc{arcs}, 1)
}

// closure[u][v] tells the distance from u to v, −1 where there is no path.
func closure(g *CSR) [][]int {
	n := g.NumNodes()
	d := make([][]int, n)
	for u := range d {
		d[u] = make([]int, n)
		for v := range d[u] {
			d[u][v] = -1
		}
		for _, v := range g.Successors(Node(u)) {
			d[u][v] = 1
		}
		d[u][u] = 0
	}
	for k := range n {
		for u := range n {
			for v := range n {
				if d[u][k] >= 0 && d[k][v] >= 0 && (d[u][v] < 0 || d[u][k]+d[k][v] < d[u][v]) {
					d[u][v] = d[u][k] + d[k][v]
				}
			}
		}
	}
	return d
}

// broken fails when a node is read.
type broken struct {
	*CSR
	at Node
}

var errBroken = errors.New("broken")

func (b broken) Scan(lo, hi Node, visit func(Node, []Node) error) error {
	return b.CSR.Scan(lo, hi, func(v Node, succ []Node) error {
		if v == b.at {
			return errBroken
		}
		return visit(v, succ)
	})
}

func (b broken) AppendSuccessors(buf []Node, v Node) ([]Node, error) {
	if v == b.at {
		return buf, errBroken
	}
	return b.CSR.AppendSuccessors(buf, v)
}

func TestErrorsOfReadingAreReturned(t *testing.T) {
	g := broken{larger(1), 60000}
	everything := make([]Node, g.NumNodes())
	for v := range everything {
		everything[v] = Node(v)
	}
	for name, run := range map[string]func() error{
		"Load":             func() error { _, err := Load(g); return err },
		"Transpose":        func() error { _, err := Transpose(g, 3); return err },
		"PageRank 1":       func() error { _, _, _, err := PageRank(g, PageRankConfig{Threads: 1}); return err },
		"PageRank 3":       func() error { _, _, _, err := PageRank(g, PageRankConfig{Threads: 3}); return err },
		"StrongComponents": func() error { _, _, err := StrongComponents(g); return err },
		"WeakComponents":   func() error { _, _, err := WeakComponents(g); return err },
		"CountDegrees":     func() error { _, err := CountDegrees(g); return err },
		"CountDistances":   func() error { _, err := CountDistances(g, everything[59999:60002], 2); return err },
		"Layers":           func() error { _, err := Layers(g, everything, 1); return err },
	} {
		if err := run(); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v, want %v", name, err, errBroken)
		}
	}
}

func TestTransposeIsTheSameForAnyThreads(t *testing.T) {
	g := larger(2)
	var reversed []Arc
	for v := range Node(g.NumNodes()) {
		for _, u := range g.Successors(v) {
			reversed = append(reversed, Arc{u, v})
		}
	}
	want := FromArcs(g.NumNodes(), reversed)
	for _, threads := range []int{0, 1, 2, 3, 16, 100} {
		got, err := Transpose(g, threads)
		if err != nil || !slices.Equal(got.Offset, want.Offset) || !slices.Equal(got.Succ, want.Succ) {
			t.Errorf("Transpose with %d threads differs: %v", threads, err)
		}
	}
}

func TestUndirectedIsTheUnionOfBothDirections(t *testing.T) {
	g := larger(3)
	var both []Arc
	for v := range Node(g.NumNodes()) {
		for _, u := range g.Successors(v) {
			if u != v {
				both = append(both, Arc{u, v}, Arc{v, u})
			}
		}
	}
	want := FromArcs(g.NumNodes(), both)
	if got := g.Undirected(); !slices.Equal(got.Offset, want.Offset) || !slices.Equal(got.Succ, want.Succ) {
		t.Error("Undirected differs")
	}
}

// naivePageRank solves the definition by iteration, over in-links and with compensated sums.
func naivePageRank(g *CSR, damping float64) []float64 {
	n := g.NumNodes()
	tr := g.Transpose()
	rank := make([]float64, n)
	for v := range rank {
		rank[v] = 1 / float64(n)
	}
	for range 400 {
		lost := 0.0
		for v := range rank {
			if g.OutDegree(Node(v)) == 0 {
				lost += rank[v]
			}
		}
		next := make([]float64, n)
		for v := range next {
			for _, u := range tr.Successors(Node(v)) {
				next[v] += rank[u] / float64(g.OutDegree(u))
			}
			next[v] = (1-damping)/float64(n) + damping*(next[v]+lost/float64(n))
		}
		rank = next
	}
	return rank
}

func TestPageRankAgainstNaive(t *testing.T) {
	for seed := range uint64(50) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 21)))
		for _, damping := range []float64{0.5, 0.85} {
			want := naivePageRank(g, damping)
			got, _, change, err := PageRank(g, PageRankConfig{Damping: damping, Tolerance: 1e-13})
			if err != nil || change > 1e-13 {
				t.Fatalf("seed %d: change %g, %v", seed, change, err)
			}
			sum := 0.0
			for v := range got {
				sum += got[v]
				if math.Abs(got[v]-want[v]) > 1e-11 {
					t.Fatalf("seed %d: rank of %d is %g, want %g", seed, v, got[v], want[v])
				}
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("seed %d: ranks add up to %g", seed, sum)
			}
		}
	}
}

func TestPageRankIsTheSameForAnyThreads(t *testing.T) {
	g := larger(4)
	want, iterations, _, err := PageRank(g, PageRankConfig{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{2, 3, 7} {
		// In memory each thread has a range of targets; where reading may fail there are bins.
		for _, g := range []Scanner{g, broken{g, None}} {
			got, k, _, err := PageRank(g, PageRankConfig{Threads: threads})
			if err != nil || k != iterations || !slices.Equal(got, want) {
				t.Errorf("PageRank of a %T with %d threads differs after %d iterations, with one after %d; %v", g, threads, k, iterations, err)
			}
		}
	}
	if _, k, change, _ := PageRank(g, PageRankConfig{Most: 3}); k != 3 || change <= 1e-9 {
		t.Errorf("PageRank stops after %d iterations at a change of %g, want 3 and more than 1e-9", k, change)
	}
}

func TestStrongComponentsAgainstClosure(t *testing.T) {
	for seed := range uint64(300) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 22)))
		d := closure(g)
		component, count, err := StrongComponents(g)
		if err != nil {
			t.Fatal(err)
		}
		for u := range d {
			if int(component[u]) >= count {
				t.Fatalf("seed %d: component %d of %d", seed, component[u], count)
			}
			for v := range d {
				if same := d[u][v] >= 0 && d[v][u] >= 0; same != (component[u] == component[v]) {
					t.Fatalf("seed %d: nodes %d and %d in components %d and %d, connected both ways: %v", seed, u, v, component[u], component[v], same)
				}
				if d[u][v] >= 0 && component[u] < component[v] {
					t.Fatalf("seed %d: component %d leads to %d", seed, component[u], component[v])
				}
			}
		}
		if used := slices.Max(component); int(used) != count-1 {
			t.Fatalf("seed %d: %d components, the last is %d", seed, count, used)
		}
	}
}

// A long path with a way back, and lists that exceed what is kept on the way.
func TestStrongComponentsOfDeepGraphs(t *testing.T) {
	const n = 70000
	lists := make([][]Node, n)
	for v := range lists {
		if v+1 < n {
			lists[v] = append(lists[v], Node(v+1))
		}
		for k := 2; k < 12 && v+k < n; k++ {
			lists[v] = append(lists[v], Node(v+k))
		}
	}
	g := FromLists(lists)
	component, count, err := StrongComponents(g)
	if err != nil || count != n || component[0] != n-1 || component[n-1] != 0 {
		t.Errorf("a path has %d components, first %d, last %d, %v", count, component[0], component[n-1], err)
	}
	lists[n-1] = []Node{n / 2}
	component, count, err = StrongComponents(FromLists(lists))
	if err != nil || count != n/2+1 || component[n/2] != component[n-1] || component[n/2] == component[n/2-1] {
		t.Errorf("a path with a way back has %d components, %v", count, err)
	}
}

// counted fails when more than so many successors are read at random.
type counted struct {
	*CSR
	left int
}

func (c *counted) AppendSuccessors(buf []Node, v Node) ([]Node, error) {
	if c.left -= c.OutDegree(v); c.left < 0 {
		return buf, errBroken
	}
	return c.CSR.AppendSuccessors(buf, v)
}

// A hub links to all pages, half of them link back and to one of the others: below each of
// these the path holds a few successors more than there are nodes.
func TestStrongComponentsReadsAHubSeldom(t *testing.T) {
	const half = 35000
	lists := make([][]Node, 2*half+1)
	for v := Node(1); v <= half; v++ {
		lists[0] = append(lists[0], v, half+v)
		lists[v] = []Node{0, half + v}
	}
	g := FromLists(lists)
	_, count, err := StrongComponents(&counted{g, 3 * int(g.NumArcs())})
	if err != nil || count != half+1 {
		t.Errorf("%d components, %v; want %d and no more than thrice the arcs read", count, err, half+1)
	}
}

func TestWeakComponentsAgainstClosure(t *testing.T) {
	for seed := range uint64(200) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 23)))
		d := closure(g.Undirected())
		least, count, err := WeakComponents(g)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for u := range d {
			first := slices.IndexFunc(d[u], func(x int) bool { return x >= 0 })
			if int(least[u]) != first {
				t.Fatalf("seed %d: node %d has %d, want %d", seed, u, least[u], first)
			}
			if first == u {
				want++
			}
		}
		if count != want {
			t.Fatalf("seed %d: %d components, want %d", seed, count, want)
		}
	}
}

func TestCountDegrees(t *testing.T) {
	g := FromArcs(6, []Arc{{0, 1}, {0, 2}, {0, 0}, {1, 2}, {4, 2}})
	d, err := CountDegrees(g)
	if err != nil {
		t.Fatal(err)
	}
	want := Degrees{Nodes: 6, Arcs: 5, Loops: 1, Sinks: 3, Sources: 3, Isolated: 2, MaxOut: 3, MaxIn: 3, MaxOutAt: 0, MaxInAt: 2,
		Out: []uint64{3, 2, 0, 1}, In: []uint64{3, 2, 0, 1}}
	if fmt.Sprint(*d) != fmt.Sprint(want) {
		t.Errorf("CountDegrees = %+v, want %+v", *d, want)
	}
	d, err = CountDegrees(&CSR{})
	if err != nil || d.MaxInAt != None || d.MaxOutAt != None || d.Nodes != 0 {
		t.Errorf("CountDegrees of nothing = %+v, %v", d, err)
	}
}

func TestCountDistancesAgainstClosure(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 24))
		g := randomGraph(r)
		d := closure(g)
		sources := make([]Node, r.IntN(8))
		var want []uint64
		for i := range sources {
			sources[i] = Node(r.IntN(g.NumNodes()))
			for _, k := range d[sources[i]] {
				for ; k >= len(want); want = append(want, 0) {
				}
				if k >= 0 {
					want[k]++
				}
			}
		}
		for _, threads := range []int{1, 3} {
			got, err := CountDistances(g, sources, threads)
			if err != nil || !slices.Equal(got.At, want) {
				t.Fatalf("seed %d: CountDistances from %v = %v, %v, want %v", seed, sources, got.At, err, want)
			}
		}
	}
}

func TestDistances(t *testing.T) {
	d := Distances{At: []uint64{1, 2, 6, 2}, Pairs: 10}
	if m, ok := d.Mean(); !ok || m != 2 {
		t.Errorf("Mean() = %v, %v, want 2", m, ok)
	}
	if e, ok := d.Effective(0.5); !ok || e != 1.5 {
		t.Errorf("Effective(0.5) = %v, %v, want 1.5", e, ok)
	}
	if e, ok := d.Effective(1); !ok || e != 3 || d.Farthest() != 3 {
		t.Errorf("Effective(1) = %v, %v, Farthest() = %d, want 3", e, ok, d.Farthest())
	}
	none := Distances{At: []uint64{4}}
	if _, ok := none.Mean(); ok {
		t.Error("a mean without pairs")
	}
	if _, ok := none.Effective(0.9); ok {
		t.Error("an effective diameter without pairs")
	}
}

func BenchmarkPageRankIteration(b *testing.B) {
	g := larger(5)
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				if _, _, _, err := PageRank(g, PageRankConfig{Threads: threads, Most: 10}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(10*float64(g.NumArcs())*float64(b.N)/b.Elapsed().Seconds(), "arcs/s")
		})
	}
}

func BenchmarkTranspose(b *testing.B) {
	g := larger(5)
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				if _, err := Transpose(g, threads); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(g.NumArcs())*float64(b.N)/b.Elapsed().Seconds(), "arcs/s")
		})
	}
}

func BenchmarkStrongComponents(b *testing.B) {
	g := larger(5)
	for b.Loop() {
		if _, _, err := StrongComponents(g); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(g.NumArcs())*float64(b.N)/b.Elapsed().Seconds(), "arcs/s")
}
