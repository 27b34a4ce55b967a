package cover_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"forage/cover"
	"forage/cover/covertest"
	"forage/graph"
)

// improve runs the local search for the given number of calls of stop, 64 exchanges each.
func improve(t *testing.T, l *cover.Lists, o cover.Options, calls int) (before, after *cover.Result) {
	t.Helper()
	before, err := cover.Greedy(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	left := calls
	after, err = cover.Improve(l, before, o.Weights, o.MaxDegree, rand.New(rand.NewPCG(1, 0)), func() bool { left--; return left < 0 })
	if err != nil {
		t.Fatal(err)
	}
	if err := cover.Verify(l, after, o); err != nil {
		t.Fatal(err)
	}
	if after.Weight > before.Weight {
		t.Fatalf("weight %v before, %v after", before.Weight, after.Weight)
	}
	return before, after
}

// TestImproveFindsTheOptimum: on small families the search must end at the best cover.
func TestImproveFindsTheOptimum(t *testing.T) {
	better := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 11))
		l := covertest.Random(r)
		if l.NumSets() > 16 {
			continue
		}
		weights := make([]float64, l.NumSets())
		for i := range weights {
			weights[i] = float64(r.IntN(10)) / 2
		}
		for name, o := range map[string]cover.Options{"unicost": {}, "weights": {Weights: weights}} {
			before, after := improve(t, l, o, 30)
			if best := covertest.Optimum(l, o.Weights); after.Weight != best {
				t.Errorf("seed %d, %s: weight %v, the best is %v", seed, name, after.Weight, best)
			}
			if after.Weight < before.Weight {
				better++
			}
		}
		_, after := improve(t, l, cover.Options{MaxDegree: 3}, 5)
		if after.Covered != after.Coverable {
			t.Errorf("seed %d: %d of %d covered", seed, after.Covered, after.Coverable)
		}
	}
	if better == 0 {
		t.Error("the search never found anything better than greedy")
	}
}

func TestImproveRepeats(t *testing.T) {
	l := covertest.Large(rand.New(rand.NewPCG(2, 2)), 3000, 1000)
	before, a := improve(t, l, cover.Options{}, 60)
	_, b := improve(t, l, cover.Options{}, 60)
	if !slices.Equal(a.Sets, b.Sets) {
		t.Error("the same seed gave two covers")
	}
	if a.Taken >= before.Taken {
		t.Errorf("%d sets before, %d after", before.Taken, a.Taken)
	}
}

// drawn counts what is drawn from it.
type drawn struct {
	rand.Source
	n int
}

func (d *drawn) Uint64() uint64 { d.n++; return d.Source.Uint64() }

// TestImproveStopsWithinAnExchange: for the one set of the cover come, one by one, two of three
// of the sets of one element that it would take, which together cost more.
func TestImproveStopsWithinAnExchange(t *testing.T) {
	const n = 4000
	lists := make([][]graph.Node, n+1)
	weights := make([]float64, n+1)
	weights[n] = 1
	for e := range graph.Node(n) {
		lists[e], lists[n], weights[e] = []graph.Node{e}, append(lists[n], e), 1.5/n
	}
	l := cover.NewLists(lists)
	o := cover.Options{Weights: weights}
	before, err := cover.Greedy(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	r := &drawn{Source: rand.NewPCG(1, 0)}
	after, err := cover.Improve(l, before, weights, 0, rand.New(r), func() bool { return r.n > 0 })
	if err != nil || after.Taken != 1 {
		t.Fatalf("%d sets, %v; want 1", after.Taken, err)
	}
	if r.n >= n/3 {
		t.Errorf("%d sets came in before stop was asked; want fewer than %d", r.n, n/3)
	}
}
