package cover_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"forage/cover"
	"forage/cover/covertest"
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
