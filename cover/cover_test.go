package cover_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/cover"
	"forage/cover/covertest"
	"forage/graph"
)

func engine(a cover.Algorithm, set func(*cover.Options)) func(context.Context, cover.Family, cover.Options) (*cover.Result, error) {
	return func(ctx context.Context, f cover.Family, o cover.Options) (*cover.Result, error) {
		if set != nil {
			set(&o)
		}
		return cover.Solve(ctx, f, a, o)
	}
}

func TestEngines(t *testing.T) {
	for _, tt := range []struct {
		name  string
		a     cover.Algorithm
		exact bool
		set   func(*cover.Options)
	}{
		{"greedy", cover.NameGreedy, true, nil},
		{"fgreedy", cover.NameFGreedy, true, nil},
		{"fgreedy-bucket", cover.NameFGreedyBucket, false, nil},
		{"rfgreedy q=1", cover.NameRFGreedy, true, nil},
		{"rfgreedy q=1.05", cover.NameRFGreedy, false, func(o *cover.Options) { o.Q = 1.05 }},
		{"rfgreedy q=3", cover.NameRFGreedy, false, func(o *cover.Options) { o.Q = 3 }},
		{"pgreedy p=2 q=1", cover.NamePGreedy, true, nil},
		{"pgreedy p=1.1 q=1", cover.NamePGreedy, true, func(o *cover.Options) { o.P = 1.1 }},
		{"pgreedy p=10 q=1", cover.NamePGreedy, true, func(o *cover.Options) { o.P = 10 }},
		{"pgreedy p=2 q=2", cover.NamePGreedy, false, func(o *cover.Options) { o.Q = 2 }},
		{"spgreedy p=1.2", cover.NameSPGreedy, false, nil},
		{"spgreedy p=2", cover.NameSPGreedy, false, func(o *cover.Options) { o.P = 2 }},
		{"spgreedy p=100", cover.NameSPGreedy, false, func(o *cover.Options) { o.P = 100 }},
	} {
		t.Run(tt.name, func(t *testing.T) { covertest.Run(t, 150, tt.exact, engine(tt.a, tt.set)) })
	}
}

// naiveLevels is pgreedy (simple=false) or spgreedy as [ST15, Alg. 4 and 5] say them, without
// weights: every level recounts every set.
func naiveLevels(l *cover.Lists, points []float64, q float64, simple bool) (sets []uint64) {
	done := make([]bool, l.N)
	count := func(i int) (n int) {
		for _, e := range l.Set(uint64(i)) {
			if !done[e] {
				n++
			}
		}
		return n
	}
	take := func(i int) {
		sets = append(sets, uint64(i))
		for _, e := range l.Set(uint64(i)) {
			done[e] = true
		}
	}
	for _, p := range slices.Backward(points) {
		size := map[int]int{} // S_L with s
		for i := range int(l.NumSets()) {
			if c := count(i); float64(c) >= p {
				size[i] = c
			}
		}
		for len(size) > 0 {
			t := -1
			for i := range int(l.NumSets()) {
				s, ok := size[i]
				if ok && (t < 0 || !simple && s > size[t]) {
					t = i
				}
			}
			now := count(t)
			switch {
			case now == 0:
				delete(size, t)
			case simple:
				delete(size, t)
				if float64(now) >= p {
					take(t)
				}
			case q*float64(now) >= float64(size[t]):
				delete(size, t)
				take(t)
			case float64(now) >= p:
				size[t] = now
			default:
				delete(size, t)
			}
		}
	}
	return sets
}

func TestLevelsAgainstNaive(t *testing.T) {
	powers := func(p float64, largest uint64) (points []float64) {
		for j := 0.0; math.Pow(p, j) <= float64(largest); j++ {
			points = append(points, math.Pow(p, j))
		}
		return points
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := covertest.Random(r)
		largest := uint64(0)
		for i := range l.NumSets() {
			largest = max(largest, uint64(len(l.Set(i))))
		}
		for _, p := range []float64{1.01, 1.2, 1.5, 2, 7} {
			for _, q := range []float64{1, 1.2, 2, 5} {
				got, err := cover.PGreedy(t.Context(), l, cover.Options{P: p, Q: q})
				if err != nil {
					t.Fatal(err)
				}
				if want := naiveLevels(l, powers(p, largest), q, false); !slices.Equal(got.Sets, want) {
					t.Fatalf("seed %d: PGreedy p=%v q=%v = %v, want %v", seed, p, q, got.Sets, want)
				}
				if wantNone := q > p; math.IsNaN(got.Guarantee) != (wantNone || largest == 0) || wantNone != (len(got.Warnings) == 1) {
					t.Fatalf("seed %d: PGreedy p=%v q=%v: guarantee %v, warnings %q", seed, p, q, got.Guarantee, got.Warnings)
				}
			}
			got, err := cover.SPGreedy(t.Context(), l, cover.Options{P: p})
			if err != nil {
				t.Fatal(err)
			}
			if want := naiveLevels(l, powers(p, largest), 1, true); !slices.Equal(got.Sets, want) {
				t.Fatalf("seed %d: SPGreedy p=%v = %v, want %v", seed, p, got.Sets, want)
			}
		}
		points := []float64{2.5, 4, 9}
		got, err := cover.SPGreedy(t.Context(), l, cover.Options{Points: points})
		if err != nil {
			t.Fatal(err)
		}
		if want := naiveLevels(l, []float64{1, 2.5, 4, 9}, 1, true); !slices.Equal(got.Sets, want) {
			t.Fatalf("seed %d: SPGreedy points %v = %v, want %v", seed, points, got.Sets, want)
		}
	}
}

// TestThresholds: they are the levels that the engine runs, from the first that a set reaches.
func TestThresholds(t *testing.T) {
	for _, tt := range []struct {
		p       float64
		largest uint64
		want    []uint64
	}{
		{2, 0, nil}, {2, 1, []uint64{1}}, {2, 9, []uint64{8, 4, 2, 1}}, {1.5, 8, []uint64{8, 6, 4, 3, 2, 1}}, {10, 9, []uint64{1}},
	} {
		if got := cover.Thresholds(tt.p, tt.largest); !slices.Equal(got, tt.want) {
			t.Errorf("p = %v, largest %d: %v, want %v", tt.p, tt.largest, got, tt.want)
		}
	}
	r := rand.New(rand.NewPCG(17, 18))
	for range 50 {
		l, p := covertest.Random(r), 1.01+3*r.Float64()
		var ran []float64
		res, err := cover.SPGreedy(t.Context(), l, cover.Options{P: p, Progress: func(g cover.Progress) { ran = append(ran, math.Ceil(g.Threshold)) }})
		if err != nil {
			t.Fatal(err)
		}
		known := cover.Thresholds(p, res.Largest)
		for _, threshold := range ran {
			if !slices.Contains(known, uint64(threshold)) {
				t.Errorf("p = %v, largest %d: a level from %v, not among %v", p, res.Largest, threshold, known)
			}
		}
	}
}

// TestReadsBound is Lemma 3.2 of [ST15]: at most (2q−1)/(q−1)·M reads.
func TestReadsBound(t *testing.T) {
	for seed := range uint64(20) {
		l := covertest.Large(rand.New(rand.NewPCG(seed, 5)), 2000, 500+int(seed)*100)
		for _, q := range []float64{1.01, 1.05, 1.5, 2, 4} {
			got, err := cover.RFGreedy(t.Context(), l, cover.Options{Q: q})
			if err != nil {
				t.Fatal(err)
			}
			if err := cover.Verify(l, got, cover.Options{}); err != nil {
				t.Fatal(err)
			}
			if bound := (2*q - 1) / (q - 1) * float64(got.Size); float64(got.Reads) > bound {
				t.Errorf("seed %d, q=%v: %d reads of %d elements, bound %v", seed, q, got.Reads, got.Size, bound)
			}
		}
	}
}

// TestOneSequence holds the exact engines to one another where the naive oracle is too slow.
func TestOneSequence(t *testing.T) {
	l := covertest.Large(rand.New(rand.NewPCG(1, 1)), 30000, 20000)
	for name, o := range map[string]cover.Options{"full": {}, "multi": {Multi: 3}} {
		want, err := cover.Greedy(t.Context(), l, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := cover.Verify(l, want, o); err != nil {
			t.Fatal(err)
		}
		for _, a := range []cover.Algorithm{cover.NameFGreedy, cover.NameRFGreedy, cover.NamePGreedy} {
			got, err := cover.Solve(t.Context(), l, a, o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Sets, want.Sets) || !slices.Equal(got.Gains, want.Gains) {
				t.Errorf("%s, %s: not the sequence of greedy", name, a)
			}
		}
		for a, band := range map[cover.Algorithm]float64{cover.NameFGreedyBucket: 1.005, cover.NameSPGreedy: 1.01} {
			got, err := cover.Solve(t.Context(), l, a, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := cover.Verify(l, got, o); err != nil {
				t.Fatal(err)
			}
			if float64(got.Taken) > band*float64(want.Taken) {
				t.Errorf("%s, %s: %d sets, more than %v times %d", name, a, got.Taken, band, want.Taken)
			}
		}
	}
}

func TestGuarantee(t *testing.T) {
	l := covertest.Large(rand.New(rand.NewPCG(1, 1)), 200, 300)
	var largest float64
	for i := range l.NumSets() {
		largest = max(largest, float64(len(l.Set(i))))
	}
	ones := make([]float64, l.NumSets())
	for i := range ones {
		ones[i] = 1
	}
	for _, tt := range []struct {
		a    cover.Algorithm
		o    cover.Options
		want float64
	}{
		{cover.NameGreedy, cover.Options{}, math.Log(largest) + 1},
		{cover.NameFGreedy, cover.Options{Weights: ones}, math.Log(200) + 1},
		{cover.NameRFGreedy, cover.Options{Q: 1.5}, 1.5*math.Log(largest) + 1},
		{cover.NamePGreedy, cover.Options{Q: 1.5, P: 1.5}, 1.5*math.Log(largest) + 1},
		{cover.NamePGreedy, cover.Options{Q: 1.5, P: 1.4}, math.NaN()},
		{cover.NamePGreedy, cover.Options{Q: 3, Points: []float64{1, 3, 10}}, 3*math.Log(largest) + 1},
		{cover.NamePGreedy, cover.Options{Q: 3.1, Points: []float64{1, 3, 10}}, math.NaN()},
		{cover.NameSPGreedy, cover.Options{P: 1.3}, 1.3*math.Log(largest) + 1},
		{cover.NameSPGreedy, cover.Options{Points: []float64{1, 2}}, largest/2*math.Log(largest) + 1},
		{cover.NameSPGreedy, cover.Options{Points: []float64{1, 2, largest / 2}}, max(2, largest/4)*math.Log(largest) + 1},
		{cover.NameGreedy, cover.Options{Budget: 3}, math.NaN()},
	} {
		got, err := cover.Solve(t.Context(), l, tt.a, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		if g := got.Guarantee; !(math.Abs(g-tt.want) < 1e-9 || math.IsNaN(g) && math.IsNaN(tt.want)) {
			t.Errorf("%s %+v: guarantee %v, want %v", tt.a, tt.o, g, tt.want)
		}
	}
}

func TestBadOptions(t *testing.T) {
	l := cover.NewLists([][]graph.Node{{0, 1}, {2}})
	nan := math.NaN()
	for _, tt := range []struct {
		a      cover.Algorithm
		o      cover.Options
		option string
	}{
		{"best", cover.Options{}, "algorithm"},
		{cover.NamePGreedy, cover.Options{Q: 0.9}, "q"},
		{cover.NamePGreedy, cover.Options{Q: nan}, "q"},
		{cover.NameGreedy, cover.Options{Q: 2}, "q"},
		{cover.NameSPGreedy, cover.Options{P: 1}, "p"},
		{cover.NameSPGreedy, cover.Options{P: nan}, "p"},
		{cover.NameFGreedy, cover.Options{P: 2}, "p"},
		{cover.NameSPGreedy, cover.Options{P: 2, Points: []float64{1, 2}}, "points"},
		{cover.NameSPGreedy, cover.Options{Points: []float64{1, 3, 2}}, "points"},
		{cover.NameSPGreedy, cover.Options{Points: []float64{0.5, 3}}, "points"},
		{cover.NameSPGreedy, cover.Options{Points: []float64{1, nan}}, "points"},
		{cover.NameGreedy, cover.Options{Budget: -1}, "k"},
		{cover.NameGreedy, cover.Options{Partial: 1.1}, "partial"},
		{cover.NameGreedy, cover.Options{Partial: nan}, "partial"},
		{cover.NameGreedy, cover.Options{Multi: -1}, "multi"},
		{cover.NameGreedy, cover.Options{MaxDegree: -1}, "max-degree"},
		{cover.NameGreedy, cover.Options{Weights: []float64{1, -1}}, "weights"},
		{cover.NameGreedy, cover.Options{Weights: []float64{1, nan}}, "weights"},
		{cover.NameGreedy, cover.Options{Weights: []float64{1}}, "weights"},
		{cover.NameGreedy, cover.Options{Weights: []float64{1, 1}, Budget: 1}, "k"},
	} {
		_, err := cover.Solve(t.Context(), l, tt.a, tt.o)
		var oe *cover.OptionError
		if !errors.As(err, &oe) || oe.Option != tt.option {
			t.Errorf("%s %+v: %v, want an error of %s", tt.a, tt.o, err, tt.option)
		}
	}
}

func TestVerifyFindsFaults(t *testing.T) {
	l := cover.NewLists([][]graph.Node{{0, 1, 2}, {2, 3}, {3}, {}})
	good := func() *cover.Result {
		return &cover.Result{Sets: []uint64{0, 1}, Gains: []uint64{3, 1}, Covered: 4, Met: 4, Coverable: 4}
	}
	if err := cover.Verify(l, good(), cover.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*cover.Result){
		"no such set":   func(r *cover.Result) { r.Sets[1] = 4 },
		"twice":         func(r *cover.Result) { r.Sets[1] = 0 },
		"useless":       func(r *cover.Result) { r.Sets, r.Gains = []uint64{0, 1, 2}, []uint64{3, 1, 0} },
		"wrong gain":    func(r *cover.Result) { r.Gains[1] = 2 },
		"wrong order":   func(r *cover.Result) { r.Sets[0], r.Sets[1] = 1, 0 },
		"not all":       func(r *cover.Result) { r.Sets, r.Gains, r.Covered = []uint64{0}, []uint64{3}, 3 },
		"claims more":   func(r *cover.Result) { r.Covered = 5 },
		"claims others": func(r *cover.Result) { r.Coverable = 5 },
	} {
		r := good()
		if spoil(r); cover.Verify(l, r, cover.Options{}) == nil {
			t.Errorf("%s: Verify found nothing", name)
		}
	}
	weights := cover.Options{Weights: []float64{2, .5, 0, 1}}
	for weight, ok := range map[float64]bool{2.5: true, 2: false, 0: false, 3.5: false} {
		r := good()
		if r.Weight = weight; (cover.Verify(l, r, weights) == nil) != ok {
			t.Errorf("weight %g: right is %v, want %v", weight, !ok, ok)
		}
	}
}

// Only what is in K sets takes room for K.
func TestVerifyMulticover(t *testing.T) {
	l := cover.NewLists([][]graph.Node{{0, 1}, {0, 2}, {0, 1, 99999}, {0}})
	for _, c := range []struct {
		k                  int
		sets, gains        []uint64
		coverable, covered int
		ok                 bool
	}{
		{3, []uint64{0, 1, 2}, []uint64{1, 1, 1}, 1, 1, true},
		{3, []uint64{0, 1}, []uint64{1, 1}, 1, 0, false},
		{2, []uint64{0, 2}, []uint64{2, 2}, 2, 2, true},
		{2, []uint64{0, 1, 2}, []uint64{2, 1, 1}, 2, 2, true},
		{2, []uint64{0, 1, 2}, []uint64{2, 0, 2}, 2, 2, false},
		{math.MaxInt32, nil, nil, 0, 0, true},
	} {
		r := &cover.Result{Sets: c.sets, Gains: c.gains, Coverable: uint64(c.coverable), Covered: uint64(c.covered)}
		for _, g := range c.gains {
			r.Met += g
		}
		if err := cover.Verify(l, r, cover.Options{Multi: c.k}); (err == nil) != c.ok {
			t.Errorf("K = %d, sets %v: %v", c.k, c.sets, err)
		}
	}
}

func TestCancel(t *testing.T) {
	l := covertest.Large(rand.New(rand.NewPCG(1, 1)), 2000, 2000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, a := range cover.Algorithms() {
		if _, err := cover.Solve(ctx, l, a, cover.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", a, err)
		}
		stop := errors.New("enough")
		_, err := cover.Solve(t.Context(), l, a, cover.Options{Take: func(set, gain uint64) error { return stop }})
		if !errors.Is(err, stop) {
			t.Errorf("%s: %v, want the error of Take", a, err)
		}
	}
}

func TestEmpty(t *testing.T) {
	for name, l := range map[string]*cover.Lists{
		"no sets":    {},
		"empty sets": cover.NewLists(make([][]graph.Node, 70)),
	} {
		for _, a := range cover.Algorithms() {
			got, err := cover.Solve(t.Context(), l, a, cover.Options{})
			if err != nil || got.Taken != 0 || !math.IsNaN(got.Guarantee) {
				t.Errorf("%s, %s: %+v, %v", name, a, got, err)
			}
		}
	}
}

func TestOutLinks(t *testing.T) {
	g := graph.FromArcs(5, []graph.Arc{{From: 0, To: 1}, {From: 0, To: 2}, {From: 3, To: 2}, {From: 3, To: 4}})
	for name, f := range map[string]cover.Family{"csr": cover.OutLinks(g), "scanner": cover.OutLinks(struct{ graph.Scanner }{g})} {
		got, err := cover.Greedy(t.Context(), f, cover.Options{})
		if err != nil || !slices.Equal(got.Sets, []uint64{0, 3}) || got.Coverable != 3 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// pairs is a family in which any two sets share one element of their own, and each has one for itself: each
// set that is taken lowers the gains of all others by one.
func pairs(m int) *cover.Lists {
	l := &cover.Lists{Offset: []uint64{0}, N: uint64(m * (m + 1) / 2)}
	for i := range m {
		for j := range m {
			a, b := min(i, j), max(i, j)
			l.Elem = append(l.Elem, graph.Node(b*(b+1)/2+a))
		}
		l.Offset = append(l.Offset, uint64(len(l.Elem)))
	}
	return l
}

// TestGiveUp: where a lazy engine would look at everything again and again, greedy goes on, and the sequence
// stays what it is; elsewhere nothing changes.
func TestGiveUp(t *testing.T) {
	l := pairs(300)
	m := uint64(len(l.Elem))
	weights := make([]float64, 300)
	for i := range weights {
		weights[i] = float64(1 + i%3)
	}
	for name, o := range map[string]cover.Options{"full": {}, "partial": {Partial: .9}, "k": {Budget: 150}, "weights": {Weights: weights}, "max-degree": {MaxDegree: 250}} {
		want, err := cover.Greedy(t.Context(), l, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []cover.Algorithm{cover.NameRFGreedy, cover.NamePGreedy} {
			o.GiveUp = 0
			lazy, err := cover.Solve(t.Context(), l, a, o)
			if err != nil {
				t.Fatal(err)
			}
			o.GiveUp = 20
			got, err := cover.Solve(t.Context(), l, a, o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Sets, want.Sets) || !slices.Equal(got.Gains, want.Gains) || got.Coverable != want.Coverable || got.Covered != want.Covered || got.Met != want.Met {
				t.Errorf("%s, %s: not the sequence of greedy", name, a)
			}
			if err := cover.Verify(l, got, o); err != nil {
				t.Errorf("%s, %s: %v", name, a, err)
			}
			if lazy.GreedyFrom != nil || lazy.Reads < 30*m {
				t.Fatalf("%s, %s: %d reads without giving up, greedy from %v", name, a, lazy.Reads, lazy.GreedyFrom)
			}
			if got.GreedyFrom == nil || *got.GreedyFrom == 0 || *got.GreedyFrom >= got.Taken || got.Reads > 22*m {
				t.Errorf("%s, %s: greedy from %v of %d sets, %d reads of %d elements", name, a, got.GreedyFrom, got.Taken, got.Reads, m)
			}
		}
	}
	for name, l := range map[string]*cover.Lists{"large": covertest.Large(rand.New(rand.NewPCG(1, 1)), 3000, 2000), "few": pairs(30)} {
		r, err := cover.PGreedy(t.Context(), l, cover.Options{GiveUp: cover.Patience})
		if err != nil || r.GreedyFrom != nil {
			t.Errorf("%s: greedy from %v after %d reads of %d elements, %v", name, r.GreedyFrom, r.Reads, r.Size, err)
		}
	}
}

// TestGiveUpAnywhere holds pgreedy that gives up at once, or soon, to the naive oracle.
func TestGiveUpAnywhere(t *testing.T) {
	for _, after := range []int{1, 2, 3} {
		covertest.Run(t, 60, true, engine(cover.NamePGreedy, func(o *cover.Options) { o.GiveUp = after }))
	}
}
