package lab

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
	"forage/graph/gen"
	"forage/retain"
)

// TestJudge: what is no number is no verdict, a wide interval is no agreement, and a bound is judged as one.
func TestJudge(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		claim                claim
		slope, half, printed float64
		want                 string
	}{
		{exactly, nan, nan, .5, noSlope},
		{atLeast, nan, nan, .5, noSlope},
		{exactly, .5, nan, .5, tooWide}, // two sizes
		{exactly, .5, .01, .5, agrees},
		{exactly, .52, .05, .5, agrees},
		{exactly, .5, .2, .5, tooWide},
		{exactly, .65, .2, .5, tooWide},
		{exactly, .55, .05, .5, undecided},
		{exactly, .6, .05, .5, differs},
		{exactly, .4, .05, .5, differs},
		{exactly, .9, .2, .5, differs}, // wide, and yet far away
		{atLeast, .9, .05, .5, bounded},
		{atLeast, .9, .2, .5, bounded},
		{atLeast, .48, .005, .5, bounded},
		{atLeast, .4, .05, .5, outside},
		{atLeast, .5, .05, .5, undecided},
		{atLeast, .5, .3, .5, tooWide},
		{atMost, .9, .05, .5, outside},
		{atMost, .4, .05, .5, bounded},
		{atMost, .5, .05, .5, undecided},
	} {
		if got := judge(c.claim, c.slope, c.half, c.printed); got != c.want {
			t.Errorf("judge(%d, %v ± %v, printed %v) = %s, want %s", c.claim, c.slope, c.half, c.printed, got, c.want)
		}
	}
}

func TestJudgeAboveAndNear(t *testing.T) {
	for _, c := range []struct {
		low, high, bound float64
		want             string
	}{{.5, .6, .4, holds}, {.5, .6, .7, violated}, {.5, .6, .55, tooWide}} {
		if got := judgeAbove(c.low, c.high, c.bound); got != c.want {
			t.Errorf("between %v and %v, bound %v: %s, want %s", c.low, c.high, c.bound, got, c.want)
		}
	}
	for _, c := range []struct {
		values  []float64
		printed float64
		want    string
	}{
		{[]float64{100, 100.1, 99.9}, 100.5, holds},
		{[]float64{100}, 100.5, holds}, // one graph
		{[]float64{100}, 103, violated},
		{[]float64{100, 100.1, 99.9}, 110, violated},
		{[]float64{100, 130, 70}, 110, tooWide},
	} {
		if got := judgeNear(c.values, c.printed); got != c.want {
			t.Errorf("%v beside %v: %s, want %s", c.values, c.printed, got, c.want)
		}
	}
}

// TestStudent: points of the distribution as tables of it have them.
func TestStudent(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 2: 4.303, 10: 2.228, 20: 2.086, 30: 2.042, 120: 1.980} {
		if got := student(freedom); math.Abs(got-want) > .003 {
			t.Errorf("student(%d) = %v, want %v", freedom, got, want)
		}
	}
}

// TestSlopeRows: the row of a slope has the verdict of what is claimed; of nothing measured there is none.
func TestSlopeRows(t *testing.T) {
	b := newBench(&Env{})
	for i, n := range []int{1e4, 1e5, 1e6} {
		b.row("grows", "", n, []float64{math.Pow(10, float64(i))}, 1, nil, nil)
		b.row("none", "", n, []float64{0}, 1, nil, nil)
	}
	b.slope("grows", "", exactly, 1)
	b.slope("grows", "", exactly, .5)
	b.slope("grows", "", atLeast, .5)
	b.slope("grows", "", atMost, .5)
	b.slope("none", "", exactly, .5)
	var got []any
	for _, row := range b.Rows[6:] {
		got = append(got, row[9])
	}
	if want := []any{agrees, differs, bounded, outside, noSlope}; !slices.Equal(got, want) {
		t.Errorf("verdicts %v, want %v", got, want)
	}
	b.verdicts()
	says(t, "verdicts", b.Result, []string{"Verdicts: slope agrees 1, slope DIFFERS 1, slope within the bound 1, slope OUTSIDE of the bound 1, no slope 1."}, nil)
}

// rowsOf is a bench with rows of (quantity, parameters, n, measured, poisson, printed, verdict).
func rowsOf(rows ...[]any) *bench {
	b := newBench(&Env{})
	for _, r := range rows {
		b.Add(r[0], r[1], r[2], 1, r[3], nil, nil, r[4], r[5], r[6])
	}
	return b
}

func TestLemma1Notes(t *testing.T) {
	count := func(measured, poisson, printed float64) *bench {
		return rowsOf([]any{"nodes of in-degree ≥ 3", "", 100, measured, poisson, printed, nil})
	}
	b := count(160, 150, 100)
	b.lemma1Notes([]int{3, 4})
	says(t, "above", b.Result, []string{"with a constant of 1 the count exceeds it at h = 3.", "within 6.7% of the Poisson sum"}, nil)
	b = count(90, 180, 100)
	b.lemma1Notes([]int{3, 4})
	says(t, "below", b.Result, []string{"at no h here does the count exceed it", "within 50.0% of"}, nil)
}

func TestLemma2Notes(t *testing.T) {
	var r Result
	lemma2Notes(&r, []lemma2Exponent{{"α=2.75", .2, .21, .143}, {"α=2.5", .3, .34, .333}, {"α=2.25", math.NaN(), .5, .6}})
	says(t, "lemma 2", &r, []string{"α=2.75: −log(1−P) has the exponent 0.210 by the Poisson estimate, steeper than printed (0.143); measured 0.200.", "α=2.5: −log(1−P) has the exponent 0.340 by the Poisson estimate, as printed",
		"flatter than printed (0.600); nothing to measure"}, nil)
}

// TestLemma6Notes: why the bound is violated is told only where it is.
func TestLemma6Notes(t *testing.T) {
	const name, sum = "P", "P, bound by the sum itself"
	b := rowsOf([]any{name, "", 10, .2, .2, .8, violated}, []any{name, "", 10, .3, .3, .9, violated}, []any{sum, "", 10, .2, .2, 0., holds}, []any{sum, "", 10, .2, .1, .1, holds})
	b.lemma6Notes(name, .25, .3)
	says(t, "violated", b.Result, []string{"violated in 2 of 2 rows; the Poisson estimate is at most 0.333 of what is printed", "Why: ", "0.25 to 0.30 of it", "a bound that is violated in 0 of 2 rows"}, nil)
	b = rowsOf([]any{name, "", 10, .9, .9, .8, holds}, []any{sum, "", 10, .2, .2, .5, violated})
	b.lemma6Notes(name, .25, .3)
	says(t, "holds", b.Result, []string{"violated in 0 of 1 rows; the Poisson estimate is at most 1.12", "a bound that is violated in 1 of 1 rows"}, []string{"Why"})
}

// TestUnionBound: 1 less the sum over ordered pairs, by hand.
func TestUnionBound(t *testing.T) {
	s := &sample{d: []uint32{30, 20}, m: 50}
	if got, want := unionBound(s, 2), 1-2*math.Pow(1-600./2500, 50); math.Abs(got-want) > 1e-12 {
		t.Errorf("unionBound = %v, want %v", got, want)
	}
	if got := unionBound(&sample{d: []uint32{1, 1}, m: 50}, 2); got != 0 {
		t.Errorf("a sum above 1 gives %v, want 0", got)
	}
}

func TestLikelyNote(t *testing.T) {
	b := rowsOf([]any{"P", "h=2 c=1 b=0.1 n", 10, .9, .9, nil, nil}, []any{"P", "h=3 c=1 b=0.2 n", 10, .8, .9, nil, nil}, []any{"P", "h=2 c=3 b=0.3 n", 10, 1., .9, nil, nil})
	b.likelyNote([]float64{.1, 1, 3})
	says(t, "likely", b.Result, []string{"over all sizes and h: 0.8 for c = 1, 1 for c = 3."}, []string{"c = 0.1"})
}

func TestLemma4Notes(t *testing.T) {
	b := rowsOf([]any{"exponent in n of |S_2|", "", nil, .75, .747, .679, differs}, []any{"exponent in n of x", "", nil, .9, .7, .7, differs}, []any{"exponent in n of y", "", nil, .5, .5, .5, agrees})
	b.lemma4Notes()
	says(t, "lemma 4", b.Result, []string{"|S_2| (0.750 measured, as the Poisson estimate has it: 0.747; printed 0.679); x (0.900 measured, but not as the Poisson estimate has it: 0.700; printed 0.700)."}, []string{"y ("})
	b = rowsOf([]any{"exponent in n of y", "", nil, .5, .5, .5, agrees})
	if b.lemma4Notes(); len(b.Notes) > 0 {
		t.Errorf("all agree, and yet %q", b.Notes)
	}
}

func TestConstantNote(t *testing.T) {
	b := rowsOf([]any{"|T_1|", "", 10, 2., 2., 8., nil}, []any{"|T_1|", "", 100, 30., 2., 20., nil}, []any{"exponent in n of |T_1|", "", nil, 9., 2., 1., nil})
	b.constantNote("|T_1|")
	says(t, "constants", b.Result, []string{"|T_1| is 0.25 to 1.5 times what is printed"}, nil)
}

func TestPeriodsNote(t *testing.T) {
	b := newBench(&Env{})
	b.periodsNote(map[int]int{1: 5, 4: 2, 0: 1})
	says(t, "periods", b.Result, []string{"Of 8 runs 5 end at a fixed point, 2 in a cycle of 2 or more steps, the longest of 4, and 1 in none"}, nil)
}

// TestLinksNote: steps of h are told only where there are some.
func TestLinksNote(t *testing.T) {
	b := newBench(&Env{})
	b.scales = []scale{{1e4, 1}, {1e6, 1}}
	b.linksNote("δ=1/16", 1./16)
	b.linksNote("δ=1/4", 1./4)
	says(t, "links", b.Result, []string{"δ=1/16: h = n^δ, rounded to a whole number of links, is 2 at all sizes", "δ=1/4: h = n^δ, rounded to a whole number of links, is 10, 32 over these sizes: its steps"}, nil)
}

func TestLemma5Notes(t *testing.T) {
	row := func(name string, measured float64, verdict string) []any {
		return []any{name, "h=2", 100, measured, 1., 1., verdict}
	}
	b := rowsOf(row(pyramidC0, 1, holds), row(pyramidS0, .7, violated))
	lemma5Notes(b.Result, map[string][2]int{"h=1": {2, 3}, "h=2": {7, 9}}, 0, 2)
	says(t, "as the argument", b.Result, []string{"stays): violated in 0 of 1 rows; the least mean is 1.000", "starts with): violated in 1 of 1 rows; the least mean is 0.700", "h = 2: C_0 has 7 to 9 nodes."}, []string{"left out"})
	b = rowsOf(row(pyramidC0, .9, violated), row(pyramidS0, 1, holds))
	lemma5Notes(b.Result, nil, 3, 4)
	says(t, "opposite", b.Result, []string{"stays): violated in 1 of 1 rows; the least mean is 0.900", "starts with): violated in 0 of 1 rows", "Of 4 pairs of a graph and h, 3 are left out"}, []string{"C_0 has"})
}

// TestSelfHolding: against a search of all subsets of the first nodes; and what it finds holds itself.
func TestSelfHolding(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		const n = 8
		var arcs []graph.Arc
		for range 6 + r.IntN(30) {
			arcs = append(arcs, graph.Arc{From: graph.Node(r.IntN(n)), To: graph.Node(r.IntN(n))})
		}
		g := graph.FromArcs(n, arcs)
		for h := 1; h <= 3; h++ {
			got := selfHolding(g, h)
			var want []graph.Node
			for m := 2; m <= n && want == nil; m *= 2 {
				for set := range 1 << m { // of all that hold themselves the largest, which is their union
					var nodes []graph.Node
					for v := range m {
						if set>>v&1 != 0 {
							nodes = append(nodes, graph.Node(v))
						}
					}
					ok := len(nodes) > 0
					for _, v := range nodes {
						votes := 0
						for _, u := range nodes {
							if u != v && g.HasArc(u, v) {
								votes++
							}
						}
						ok = ok && votes >= h
					}
					if ok && len(nodes) > len(want) {
						want = nodes
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, h = %d: %v, want %v of %v", seed, h, got, want, arcs)
			}
		}
	}
}

// TestPyramid: two levels by hand, of a set of two that hold each other.
func TestPyramid(t *testing.T) {
	// 0 and 1 link to 4, which they together vote for; 4 and 1 to 3, of which only 4 is of the level before.
	g := graph.FromArcs(6, []graph.Arc{{From: 0, To: 4}, {From: 1, To: 4}, {From: 4, To: 3}, {From: 1, To: 3}, {From: 0, To: 5}})
	if got := pyramid(g, []graph.Node{0, 1}, 2); !slices.Equal(got, []graph.Node{0, 1, 4}) {
		t.Errorf("2-pyramid %v, want 0 1 4", got)
	}
	if got := pyramid(g, []graph.Node{0, 1}, 1); !slices.Equal(got, []graph.Node{0, 1, 3, 4, 5}) {
		t.Errorf("1-pyramid %v, want 0 1 3 4 5", got)
	}
}

// TestLemma5Argument: the pyramid of a set that holds itself is in the core, on small graphs of many seeds.
func TestLemma5Argument(t *testing.T) {
	found := 0
	for seed := range uint64(40) {
		g, err := gen.BPPL(typicalAlpha, 300, gen.DrawnEnds, gen.Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 2))
		in := indegrees(g)
		for h := 1; h <= 3; h++ {
			c0, size := selfHolding(g, h), withLinks(in, h)+1
			if len(c0) == 0 {
				continue
			}
			found++
			d, err := retain.New(g, retain.Config{Buffer: size}, filled(c0, g.NumNodes(), size, r), r)
			if err != nil {
				t.Fatal(err)
			}
			core, p := retain.Run(d, coreSteps).Core, pyramid(g, c0, h)
			if retain.Overlap(core, p) != len(p) {
				t.Errorf("seed %d, h = %d: %d of %d nodes of the pyramid are in the core", seed, h, retain.Overlap(core, p), len(p))
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d sets that hold themselves", found)
	}
}

// TestBuffersNotes: the answer to the paper's question turns with the rows.
func TestBuffersNotes(t *testing.T) {
	row := func(web string, x, links, rank float64) []any { return []any{web, x, 3, "1", links, rank} }
	r := Result{Rows: [][]any{row("a", .02, .9, .8), row("a", .05, 1, .95), row("a", .1, 1, 1), row("b", .05, .5, .4), row("b", .1, .9, .9)}}
	buffersNotes(&r)
	says(t, "buffers", &r, []string{"by links on 1 of 2 graphs here", "a 100.0% of them by links, 95.0% by PageRank, all by links from b/n = 0.05 on; b 50.0% of them by links, 40.0% by PageRank."}, []string{"b/n = 0.1 on"})
	r = Result{Rows: [][]any{row("a", .02, 1, 1), row("a", .05, .99, .9), row("a", .1, 1, 1)}}
	buffersNotes(&r)
	says(t, "not always", &r, []string{"on 0 of 1 graphs", "99.0% of them by links, 90.0% by PageRank, all by links from b/n = 0.1 on."}, nil)
}

func TestAccuracy(t *testing.T) {
	got := accuracy("web", map[string]float64{"pagerank 1e-9": .6, "pagerank 1e-3": .6, "pagerank 0.1": .5, "indegree": .65})
	if want := "web: of the true top b by PageRank the buffer holds 0.600 by PageRank, 0.600 (+0.000) if it stops at changes of 1e-3, 0.500 (-0.100) of 0.1, 0.650 (+0.050) by links in its place."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
