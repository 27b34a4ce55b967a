package seed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/cover"
	"forage/graph"
	"forage/graph/gen"
	"forage/internal/heap"
	"forage/internal/race"
)

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 3)) }

func randomGraph(r *rand.Rand, n, m int) *graph.CSR {
	arcs := make([]graph.Arc, m)
	for i := range arcs {
		u := float64(n) * math.Pow(r.Float64(), 1.5)
		arcs[i] = graph.Arc{From: graph.Node(u), To: graph.Node(r.IntN(n))}
	}
	return graph.FromArcs(n, arcs)
}

// reachOf is the definition: all nodes within depth hops of the seeds.
func reachOf(g *graph.CSR, seeds []graph.Node, depth int) map[graph.Node]int {
	hops := map[graph.Node]int{}
	for d, layer := range g.Layers(seeds, depth) {
		for _, v := range layer {
			hops[v] = d
		}
	}
	return hops
}

func TestReachedAgainstSearch(t *testing.T) {
	for seed := range uint64(60) {
		r := random(seed)
		n := 1 + r.IntN(80)
		g := randomGraph(r, n, r.IntN(4*n))
		task := &Task{Depth: 1 + r.IntN(4), Weights: make([]float32, n)}
		for v := range task.Weights {
			task.Weights[v] = float32(r.IntN(4))
		}
		got, err := NewReached(g, task)
		if err != nil {
			t.Fatal(err)
		}
		var seeds []graph.Node
		before, worth := 0, 0.0
		for range 10 {
			s := graph.Node(r.IntN(n))
			seeds = append(seeds, s)
			pages, weight, err := got.Add(s)
			if err != nil {
				t.Fatal(err)
			}
			want := reachOf(g, seeds, task.Depth)
			sum := 0.0
			for v, h := range want {
				sum += float64(task.Weights[v])
				if d, ok := got.Hops(v); !ok || d != h {
					t.Fatalf("seed %d: page %d at %d hops, %v; want %d", seed, v, d, ok, h)
				}
			}
			if pages != len(want)-before || weight != sum-worth || got.Within(task.Depth) != len(want) || weightWithin(got, task.Depth) != sum {
				t.Fatalf("seed %d: Add(%d) = %d, %v of %d; want %d, %v of %d", seed, s, pages, weight, got.Within(task.Depth), len(want)-before, sum-worth, len(want))
			}
			before, worth = len(want), sum
		}
	}
}

// The promise of Algorithm 6: what L0 reaches in D hops, its seeds reach, all but L0 itself.
func TestLayeredReachesAllLayers(t *testing.T) {
	for seed := range uint64(80) {
		for _, a := range []cover.Algorithm{"", cover.NameSPGreedy, cover.NameGreedy} {
			r := random(seed)
			n := 20 + r.IntN(300)
			g := randomGraph(r, n, r.IntN(5*n))
			depth := 1 + r.IntN(4)
			l0 := []graph.Node{}
			for range 1 + r.IntN(12) {
				l0 = append(l0, graph.Node(r.IntN(n)))
			}
			got, err := Layered(t.Context(), g, l0, &Task{Depth: depth}, LayeredConfig{Algorithm: a})
			if err != nil {
				t.Fatal(err)
			}
			full, have := reachOf(g, l0, depth), reachOf(g, got.Seeds, depth)
			for v := range full {
				if _, ok := have[v]; !ok && !slices.Contains(l0, v) {
					t.Fatalf("seed %d, %q: page %d is reached from L0 %v, not from %v", seed, a, v, l0, got.Seeds)
				}
			}
			for i, s := range got.Seeds {
				if !slices.Contains(l0, s) || slices.Contains(got.Seeds[:i], s) {
					t.Fatalf("seed %d, %q: seeds %v of L0 %v", seed, a, got.Seeds, l0)
				}
			}
			if got.Unreached != n-len(full) {
				t.Errorf("seed %d: %d pages unreached, want %d", seed, got.Unreached, n-len(full))
			}
			if len(got.Passes) > depth*(depth+1)/2 {
				t.Errorf("seed %d: %d covers at depth %d", seed, len(got.Passes), depth)
			}
		}
	}
}

// By hand: 0 and 1 are L0, 0→2→4, 1→3→5, 0→3. Depth 2 needs both, and pass 2 covers all.
func TestLayeredByHand(t *testing.T) {
	g := graph.FromArcs(7, []graph.Arc{{From: 0, To: 2}, {From: 2, To: 4}, {From: 1, To: 3}, {From: 3, To: 5}, {From: 0, To: 3}})
	got, err := Layered(t.Context(), g, []graph.Node{1, 0, 0}, &Task{Depth: 2}, LayeredConfig{})
	if err != nil {
		t.Fatal(err)
	}
	want := &LayeredSeeds{
		Seeds: []graph.Node{0}, LayerSize: []int{2, 2, 2}, Unreached: 1,
		Passes: []Pass{{2, 1, 2, 2}, {2, 0, 2, 1}},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Layered = %+v, want %+v", got, want)
	}
	// Where only page 4 is wanted, and 0 is known, the same seed serves; without 0, none can.
	task := &Task{Depth: 2, Weights: []float32{0, 0, 0, 0, 0, 1, 0}, May: func(v graph.Node) bool { return v != 0 }}
	if got, err = Layered(t.Context(), g, []graph.Node{0, 1}, task, LayeredConfig{}); err != nil || !slices.Equal(got.Seeds, []graph.Node{1}) {
		t.Errorf("Layered for page 5 without 0 = %v, %v, want [1]", got, err)
	}
}

func TestRefusals(t *testing.T) {
	g := randomGraph(random(1), 10, 30)
	none := func(graph.Node) bool { return false }
	for name, f := range map[string]func() error{
		"depth 0": func() error {
			_, err := Layered(t.Context(), g, []graph.Node{1}, &Task{}, LayeredConfig{})
			return err
		},
		"depth 255": func() error { _, err := NewReached(g, &Task{Depth: 255}); return err },
		"L0 outside": func() error {
			_, err := Layered(t.Context(), g, []graph.Node{10}, &Task{Depth: 1}, LayeredConfig{})
			return err
		},
		"weights short":   func() error { _, err := NewReached(g, &Task{Depth: 1, Weights: []float32{1}}); return err },
		"weight negative": func() error { return (&Task{Depth: 1, Weights: []float32{-1}}).check(1) },
		"limit of 0":      func() error { return (&Task{Depth: 1, Limits: []Limit{{make([]uint32, 3), 0}}}).check(3) },
		"no seeds wanted": func() error { _, err := Reach(g, g, &Task{Depth: 1}, 0, ReachConfig{}, random(1)); return err },
		"certainly dead":  func() error { _, err := Reach(g, g, &Task{Depth: 1}, 1, ReachConfig{Dead: 1}, random(1)); return err },
		"negative sketch": func() error {
			_, err := Reach(g, g, &Task{Depth: 1}, 1, ReachConfig{Sketch: -1}, random(1))
			return err
		},
		"levels 0": func() error { _, _, err := TwoLevel(t.Context(), g, 0, 3, &Task{}, LayeredConfig{}); return err },
		"yield 0":  func() error { _, _, err := TwoLevel(t.Context(), g, 2, 0, &Task{}, LayeredConfig{}); return err },
		"limits, layered": func() error {
			_, err := Layered(t.Context(), g, []graph.Node{1}, &Task{Depth: 1, Limits: []Limit{{make([]uint32, 10), 1}}}, LayeredConfig{})
			return err
		},
		"limits, twolevel": func() error {
			_, _, err := TwoLevel(t.Context(), g, 1, 1, &Task{Limits: []Limit{{make([]uint32, 10), 1}}}, LayeredConfig{})
			return err
		},
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Layered(t.Context(), g, nil, &Task{Depth: 1}, LayeredConfig{}); !errors.Is(err, ErrNoLayer) {
		t.Errorf("empty L0: %v, want %v", err, ErrNoLayer)
	}
	if _, err := Layered(t.Context(), g, []graph.Node{1}, &Task{Depth: 1, May: none}, LayeredConfig{}); !errors.Is(err, ErrNoLayer) {
		t.Errorf("L0 that may not be: %v, want %v", err, ErrNoLayer)
	}
	if _, err := Reach(g, g, &Task{Depth: 1, May: none}, 1, ReachConfig{}, random(1)); !errors.Is(err, ErrNoSeeds) {
		t.Errorf("no candidates: %v, want %v", err, ErrNoSeeds)
	}
	// A graph of isolated pages has empty layers: nothing to cover, no seeds.
	if got, err := Layered(t.Context(), graph.FromArcs(5, nil), []graph.Node{1}, &Task{Depth: 3}, LayeredConfig{}); err != nil || len(got.Seeds) != 0 || got.Unreached != 4 {
		t.Errorf("empty layers: %+v, %v, want no seeds, 4 unreached", got, err)
	}
}

// greedy is plain greedy for the exact problem.
func greedy(g *graph.CSR, task *Task, k int) []graph.Node {
	covered := map[graph.Node]bool{}
	var seeds []graph.Node
	for range k {
		best, most := graph.None, 0.0
		for v := range graph.Node(g.NumNodes()) {
			sum := 0.0
			if task.may(v) {
				for u := range reachOf(g, []graph.Node{v}, task.Depth) {
					if !covered[u] {
						sum += float64(task.weight(u))
					}
				}
			}
			if sum > most {
				best, most = v, sum
			}
		}
		if best == graph.None {
			break
		}
		seeds = append(seeds, best)
		for u := range reachOf(g, []graph.Node{best}, task.Depth) {
			covered[u] = true
		}
	}
	return seeds
}

func worth(t *testing.T, g *graph.CSR, task *Task, seeds []graph.Node) float64 {
	t.Helper()
	r, err := NewReached(g, task)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range seeds {
		if _, _, err := r.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	return weightWithin(r, task.Depth)
}

// With sketches larger than the graph all pages mark before a seed is chosen: exact greedy.
func TestReachIsGreedyWhenExact(t *testing.T) {
	for seed := range uint64(40) {
		r := random(seed)
		n := 5 + r.IntN(60)
		g := randomGraph(r, n, r.IntN(4*n))
		task := &Task{Depth: 1 + r.IntN(3)}
		if seed%2 == 0 {
			task.Weights = make([]float32, n)
			for v := range task.Weights {
				task.Weights[v] = float32(r.IntN(5))
			}
			task.May = func(v graph.Node) bool { return v%3 != 0 }
		}
		got, err := Reach(g, g.Transpose(), task, 6, ReachConfig{Sketch: n + 1}, r)
		if err != nil {
			t.Fatal(err)
		}
		if want := greedy(g, task, 6); !slices.Equal(got, want) {
			t.Fatalf("seed %d: Reach = %v, want greedy's %v", seed, got, want)
		}
	}
}

func TestReachIsNearGreedy(t *testing.T) {
	for seed := range uint64(race.Fewer(6)) {
		r := random(seed)
		g := randomGraph(r, 1500, 5000)
		task := &Task{Depth: 3}
		got, err := Reach(g, g.Transpose(), task, 30, ReachConfig{Sketch: 32}, r)
		if err != nil {
			t.Fatal(err)
		}
		want := greedy(g, task, 30)
		if a, b := worth(t, g, task, got), worth(t, g, task, want); a < 0.93*b || len(got) != 30 {
			t.Errorf("seed %d: %d seeds reach %v pages, greedy's %v", seed, len(got), a, b)
		}
	}
}

// Marks that were taken back must be those that were given: after a run, sums are what a fresh
// count says.
func TestReachKeepsCounts(t *testing.T) {
	for _, dead := range []float64{0, 0.3} {
		r := random(4)
		n := 300
		g := randomGraph(r, n, 900)
		rev := g.Transpose()
		task := &Task{Depth: 2}
		s := &reach{g: g, rev: rev, t: task, c: ReachConfig{Sketch: 10, Dead: dead}, quota: newQuota(nil),
			left: make([]float32, n), rank: make([]float32, n), marks: make([]uint32, n), gain: make([]float64, n), seen: make([]uint32, n),
			marked: newBitset(n), closed: newBitset(n), later: heap.Heap[ranked]{Before: lowerRank}}
		for v := range graph.Node(n) {
			s.left[v], s.rank[v] = 1, float32(v+1)
			s.order = append(s.order, v)
		}
		s.run(12)
		marks, gain := make([]uint32, n), make([]float64, n)
		for v := range graph.Node(n) {
			if s.marked.has(v) {
				for u := range reachOf(rev, []graph.Node{v}, 2) {
					marks[u]++
					gain[u] += float64(s.left[v])
				}
			}
		}
		for v := range n {
			if s.marks[v] != marks[v] || math.Abs(s.gain[v]-gain[v]) > 1e-5 {
				t.Fatalf("dead %v: page %d has %d marks worth %v, want %d worth %v", dead, v, s.marks[v], s.gain[v], marks[v], gain[v])
			}
		}
	}
}

func TestReachLimitsAndDead(t *testing.T) {
	r := random(5)
	n := 1000
	g := randomGraph(r, n, 4000)
	rev := g.Transpose()
	host := make([]uint32, n)
	for v := range host {
		host[v] = uint32(v / 50)
	}
	free, _ := Reach(g, rev, &Task{Depth: 2}, 15, ReachConfig{}, random(1))
	held, err := Reach(g, rev, &Task{Depth: 2, Limits: []Limit{{host, 1}}}, 15, ReachConfig{}, random(1))
	if err != nil {
		t.Fatal(err)
	}
	used := map[uint32]int{}
	for _, s := range held {
		used[host[s]]++
		if used[host[s]] > 1 {
			t.Errorf("two seeds of host %d", host[s])
		}
	}
	if len(held) != 15 || slices.Equal(free, held) {
		t.Errorf("%d seeds with one a host, the same without: %v", len(held), slices.Equal(free, held))
	}
	// Where seeds may be gone, pages are reached more than once: expected reach must not fall.
	dead, err := Reach(g, rev, &Task{Depth: 2}, 40, ReachConfig{Dead: 0.4}, random(1))
	if err != nil {
		t.Fatal(err)
	}
	sure, _ := Reach(g, rev, &Task{Depth: 2}, 40, ReachConfig{}, random(1))
	expected := func(seeds []graph.Node) float64 {
		missed := make([]float64, n)
		for v := range missed {
			missed[v] = 1
		}
		for _, s := range seeds {
			for v := range reachOf(g, []graph.Node{s}, 2) {
				missed[v] *= 0.4
			}
		}
		sum := 0.0
		for _, m := range missed {
			sum += 1 - m
		}
		return sum
	}
	if a, b := expected(dead), expected(sure); a <= b {
		t.Errorf("seeds chosen for death reach %.1f, others %.1f", a, b)
	}
}

func TestReachRepeats(t *testing.T) {
	g, err := gen.Weblike(20000, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	rev := g.Transpose()
	run := func() []graph.Node {
		s, err := Reach(g, rev, &Task{Depth: 3}, 50, ReachConfig{}, random(2))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Error("the same random source gives other seeds")
	}
}

// More seeds than pages: it stops when all that can be is reached.
func TestReachEnds(t *testing.T) {
	g := graph.FromArcs(6, []graph.Arc{{From: 0, To: 1}, {From: 0, To: 2}, {From: 3, To: 4}})
	got, err := Reach(g, g.Transpose(), &Task{Depth: 1}, 100, ReachConfig{}, random(1))
	if err != nil || !slices.Equal(got, []graph.Node{0, 3, 5}) {
		t.Errorf("Reach = %v, %v, want [0 3 5]", got, err)
	}
}

func TestTwoLevel(t *testing.T) {
	// 0 covers 1…4, 5 covers 6…8, 9 covers 0 and 5 and 10; 11 covers only 9.
	g := graph.FromArcs(12, []graph.Arc{
		{From: 0, To: 1}, {From: 0, To: 2}, {From: 0, To: 3}, {From: 0, To: 4},
		{From: 5, To: 6}, {From: 5, To: 7}, {From: 5, To: 8},
		{From: 9, To: 0}, {From: 9, To: 5}, {From: 9, To: 10}, {From: 11, To: 9},
	})
	seeds, levels, err := TwoLevel(t.Context(), g, 2, 1, &Task{}, LayeredConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []Level{{12, 1, 4, 4}, {4, 1, 2, 2}}; !slices.Equal(levels, want) || !slices.Equal(seeds, []graph.Node{9, 11}) {
		t.Errorf("levels %v, seeds %v; want %v, [9 11]", levels, seeds, want)
	}
	seeds, levels, err = TwoLevel(t.Context(), g, 2, 3, &Task{}, LayeredConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []Level{{12, 1, 4, 3}, {3, 0, 2, 0}}; !slices.Equal(levels, want) || len(seeds) != 0 {
		t.Errorf("levels %v, seeds %v; want %v, none", levels, seeds, want)
	}
}

// [ST15, §5.4]: what the first level's yielding pages covered lies within two hops of the
// second level's whole cover.
func TestTwoLevelReach(t *testing.T) {
	g := randomGraph(random(3), 2000, 12000)
	seeds, levels, err := TwoLevel(t.Context(), g, 2, 1, &Task{}, LayeredConfig{})
	if err != nil {
		t.Fatal(err)
	}
	got := len(reachOf(g, seeds, 2))
	if want := levels[0].Targets - levels[0].Uncovered - levels[1].Uncovered*50; got < want {
		t.Errorf("%d seeds reach %d of the %d pages that have links, levels %+v", len(seeds), got, want, levels)
	}
}

func TestTrust(t *testing.T) {
	// 0 and 1 (one domain) and 2 (another) are trusted: all lead to 3, 0 and 1 to 4 over 3; 5 is alone.
	g := graph.FromArcs(7, []graph.Arc{{From: 0, To: 3}, {From: 1, To: 3}, {From: 2, To: 3}, {From: 3, To: 4}, {From: 4, To: 6}, {From: 0, To: 1}})
	for _, tt := range []struct {
		group []uint32
		most  int
		want  []uint32
	}{
		{nil, 1, []uint32{1, 2, 1, 3, 3, 0, 0}},
		{[]uint32{7, 7, 8, 0, 0, 0, 0}, 1, []uint32{1, 1, 1, 2, 2, 0, 0}},
		{[]uint32{7, 7, 8, 0, 0, 0, 0}, 2, []uint32{1, 2, 1, 3, 3, 0, 0}},
	} {
		if got := Trust(g, []graph.Node{0, 1, 2}, tt.group, tt.most); !slices.Equal(got, tt.want) {
			t.Errorf("Trust(group %v, most %d) = %v, want %v", tt.group, tt.most, got, tt.want)
		}
	}
	if got, want := Bounded([]uint32{1, 1, 1, 1, 2}, nil, 2), []float32{.5, .5, .5, .5, 1}; !slices.Equal(got, want) {
		t.Errorf("Bounded = %v, want %v", got, want)
	}
	if got, want := Bounded([]uint32{1, 1}, []float32{3, 1}, 2), []float32{1.5, .5}; !slices.Equal(got, want) {
		t.Errorf("Bounded = %v, want %v", got, want)
	}
}

func ExampleLayered() {
	// Two good pages; one of them leads to all that both lead to.
	g := graph.FromArcs(5, []graph.Arc{{From: 0, To: 2}, {From: 1, To: 2}, {From: 1, To: 3}, {From: 3, To: 4}})
	s, err := Layered(context.Background(), g, []graph.Node{0, 1}, &Task{Depth: 2}, LayeredConfig{})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Seeds)
	// Output: [1]
}

// TestTrustAgainstSearch: the votes of a group are its pages that reach a page in two hops, up to
// most.
func TestTrustAgainstSearch(t *testing.T) {
	for seed := range uint64(60) {
		r := random(seed)
		n := 2 + r.IntN(40)
		g := randomGraph(r, n, r.IntN(6*n))
		group := make([]uint32, n)
		var trusted []graph.Node
		for v := range group {
			group[v] = uint32(r.IntN(3))
			if r.IntN(2) == 0 {
				trusted = append(trusted, graph.Node(v))
			}
		}
		for most := 1; most < 4; most++ {
			want := make([]uint32, n)
			for k := range uint32(3) {
				votes := make([]int, n)
				for _, v := range trusted {
					if group[v] == k {
						for u := range reachOf(g, []graph.Node{v}, 2) {
							votes[u]++
						}
					}
				}
				for v, k := range votes {
					want[v] += uint32(min(k, most))
				}
			}
			if got := Trust(g, trusted, group, most); !slices.Equal(got, want) {
				t.Fatalf("seed %d, most %d: %v, want %v", seed, most, got, want)
			}
		}
	}
}

// TestReachBars: no search goes where no page that may be a seed leads.
func TestReachBars(t *testing.T) {
	for seed := range uint64(60) {
		r := random(seed)
		n := 2 + r.IntN(60)
		g := randomGraph(r, n, r.IntN(3*n))
		var open []graph.Node
		s := &reach{g: g, rev: g.Transpose(), t: &Task{Depth: 1 + r.IntN(3)}, seen: make([]uint32, n), closed: newBitset(n)}
		for v := range graph.Node(n) {
			if r.IntN(4) == 0 {
				open = append(open, v)
			} else {
				s.closed.add(v)
			}
		}
		s.bar()
		led := reachOf(g, open, s.t.Depth)
		for v := range graph.Node(n) {
			s.bfs(s.rev, v)
			got := map[graph.Node]bool{}
			for _, u := range s.around {
				got[u] = true
				if _, ok := led[u]; !ok && u != v {
					t.Fatalf("seed %d: the search from %d comes to %d, where no seed leads", seed, v, u)
				}
			}
			for u := range reachOf(s.rev, []graph.Node{v}, s.t.Depth) {
				if slices.Contains(open, u) && !got[u] {
					t.Fatalf("seed %d: the search from %d misses %d, which may be a seed", seed, v, u)
				}
			}
		}
	}
}

// weightWithin returns what the pages reached within so many hops are worth.
func weightWithin(r *Reached, hops int) float64 {
	w := 0.0
	for _, x := range r.Weight[:hops+1] {
		w += x
	}
	return w
}
