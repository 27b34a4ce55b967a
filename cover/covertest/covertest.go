// Package covertest checks set cover engines: random families, an oracle written for
// clarity only, and a suite that every engine must pass.
package covertest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/cover"
	"forage/graph"
)

// Random returns a family of up to 40 sets of up to 30 elements, with empty and repeated sets
// among them, of a shape that r chooses.
func Random(r *rand.Rand) *cover.Lists {
	m, n := 1+r.IntN(40), 1+r.IntN(30)
	density := r.Float64()
	l := &cover.Lists{Offset: []uint64{0}}
	for i := range m {
		var s []graph.Node
		if i > 0 && r.IntN(8) == 0 {
			s = slices.Clone(l.Set(uint64(r.IntN(i))))
		} else {
			d := density * r.Float64()
			for e := range n {
				if r.Float64() < d {
					s = append(s, graph.Node(e))
				}
			}
		}
		l.Append(s)
	}
	l.N = uint64(n)
	return l
}

// Large returns a family of m sets of elements below n with sizes of a heavy tail and
// neighbouring sets alike, as in a web graph.
func Large(r *rand.Rand, m, n int) *cover.Lists {
	l := &cover.Lists{Offset: []uint64{0}}
	for i := range m {
		d := min(n, int(3/math.Sqrt(1-r.Float64())))
		if r.IntN(8) == 0 {
			d = 0
		}
		var s []graph.Node
		for range d {
			switch r.IntN(3) {
			case 0:
				s = append(s, graph.Node(r.IntN(n)))
			case 1:
				s = append(s, graph.Node((i*n/m+r.IntN(50))%n))
			default:
				s = append(s, graph.Node(int(float64(n)*math.Pow(r.Float64(), 3))))
			}
		}
		l.Append(s)
	}
	l.N = uint64(n)
	return l
}

// Naive is greedy as [ST15, Alg. 1] says it, recounting every set before each choice: the
// oracle. It knows every problem of cover.Options.
func Naive(l *cover.Lists, o cover.Options) (sets, gains []uint64) {
	k := max(1, o.Multi)
	set := func(i int) []graph.Node {
		s := l.Set(uint64(i))
		if o.MaxDegree > 0 && len(s) > o.MaxDegree {
			s = s[:o.MaxDegree]
		}
		return s
	}
	need := make([]int, l.N) // how often an element must still be covered
	held := make([]int, l.N)
	m := int(l.NumSets())
	for i := range m {
		for _, e := range set(i) {
			held[e]++
		}
	}
	coverable := 0
	for e := range held {
		if held[e] >= k {
			need[e] = k
			coverable++
		}
	}
	wanted := k * coverable
	if o.Partial > 0 {
		wanted = int(math.Ceil(o.Partial*float64(wanted) - 1e-9))
	}
	chosen := make([]bool, m)
	for met := 0; met < wanted && (o.Budget == 0 || len(sets) < o.Budget); {
		best, bestGain, bestValue := -1, 0, 0.0
		for i := range m {
			gain := 0
			for _, e := range set(i) {
				if need[e] > 0 {
					gain++
				}
			}
			value := float64(gain)
			if o.Weights != nil && gain > 0 {
				value /= o.Weights[i]
			}
			if !chosen[i] && value > bestValue {
				best, bestGain, bestValue = i, gain, value
			}
		}
		chosen[best] = true
		for _, e := range set(best) {
			need[e] = max(0, need[e]-1)
		}
		met += bestGain
		sets, gains = append(sets, uint64(best)), append(gains, uint64(bestGain))
	}
	return sets, gains
}

// Optimum returns the least weight of a cover (its size without weights), by trying all
// families of sets: for at most 20 sets.
func Optimum(l *cover.Lists, weights []float64) float64 {
	m := int(l.NumSets())
	if m > 20 || l.N > 64 {
		panic(fmt.Sprintf("covertest: %d sets of %d elements are too many for the optimum", m, l.N))
	}
	sets := make([]uint64, m)
	all := uint64(0)
	for i := range sets {
		for _, e := range l.Set(uint64(i)) {
			sets[i] |= 1 << e
		}
		all |= sets[i]
	}
	best := math.Inf(1)
	var try func(i int, covered uint64, cost float64)
	try = func(i int, covered uint64, cost float64) {
		if cost >= best {
			return
		}
		if covered == all {
			best = cost
			return
		}
		if i == m {
			return
		}
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		try(i+1, covered|sets[i], cost+w)
		try(i+1, covered, cost)
	}
	try(0, 0, 0)
	return best
}

// Problems returns options of every kind that the engines must solve, for a family of m sets.
func Problems(r *rand.Rand, m int) map[string]cover.Options {
	weights := make([]float64, m)
	for i := range weights {
		weights[i] = float64(r.IntN(20)) / 4 // zeros and equals among them
	}
	return map[string]cover.Options{
		"full":                {},
		"budget":              {Budget: 1 + r.IntN(5)},
		"partial":             {Partial: 0.01 + 0.99*r.Float64()},
		"budget and partial":  {Budget: 1 + r.IntN(5), Partial: 0.5},
		"multi 2":             {Multi: 2},
		"multi 3":             {Multi: 3},
		"multi 5 and budget":  {Multi: 5, Budget: 4},
		"weights":             {Weights: weights},
		"weights and partial": {Weights: weights, Partial: 0.7},
		"weights and multi":   {Weights: weights, Multi: 2},
		"partial and multi":   {Partial: 0.01 + 0.99*r.Float64(), Multi: 2 + r.IntN(4)},
		"weights and both":    {Partial: 0.5, Multi: 3, Weights: weights},
		"budget and both":     {Partial: 0.8, Multi: 2, Budget: 4},
		"degree":              {MaxDegree: 1 + r.IntN(4)},
		"degree and multi":    {MaxDegree: 3, Multi: 2},
	}
}

// Run passes an engine through every problem on random families: the cover is verified, the
// sequence is that of Naive if exact is set, the guarantee holds against the optimum, and one
// and three threads, a copy and InPlace, Take and Result.Sets agree.
func Run(t *testing.T, families int, exact bool, solve func(ctx context.Context, f cover.Family, o cover.Options) (*cover.Result, error)) {
	t.Helper()
	ctx := context.Background()
	for seed := range uint64(families) {
		r := rand.New(rand.NewPCG(seed, 7))
		l := Random(r)
		for name, o := range Problems(r, int(l.NumSets())) {
			o.Threads = 1
			got, err := solve(ctx, l, o)
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
			if err := cover.Verify(l, got, o); err != nil {
				t.Fatalf("seed %d, %s: %v\nsets %v gains %v", seed, name, err, got.Sets, got.Gains)
			}
			sets, gains := Naive(l, o)
			if exact && (!slices.Equal(got.Sets, sets) || !slices.Equal(got.Gains, gains)) {
				t.Fatalf("seed %d, %s: sets %v gains %v, want %v %v", seed, name, got.Sets, got.Gains, sets, gains)
			}
			weight := 0.0
			for _, s := range got.Sets {
				if o.Weights == nil {
					weight++
				} else {
					weight += o.Weights[s]
				}
			}
			if got.Weight != weight || got.Taken != uint64(len(got.Sets)) {
				t.Fatalf("seed %d, %s: weight %v of %d sets, want %v of %d", seed, name, got.Weight, got.Taken, weight, len(got.Sets))
			}
			full := name == "full" || name == "weights"
			if full && l.NumSets() <= 16 && got.Size > 0 {
				if best := Optimum(l, o.Weights); got.Weight > best*got.Guarantee+1e-9 {
					t.Fatalf("seed %d, %s: weight %v, more than %v times the best, %v", seed, name, got.Weight, got.Guarantee, best)
				}
			}
			again := o
			again.Threads = 3
			again.InPlace = true
			var streamed []uint64
			again.Take = func(set, gain uint64) error { streamed = append(streamed, set); return nil }
			clone := &cover.Lists{Offset: slices.Clone(l.Offset), Elem: slices.Clone(l.Elem), N: l.N}
			twice, err := solve(ctx, clone, again)
			if err != nil {
				t.Fatalf("seed %d, %s: three threads: %v", seed, name, err)
			}
			if !slices.Equal(streamed, got.Sets) || len(twice.Sets) != 0 {
				t.Fatalf("seed %d, %s: three threads took %v, one %v", seed, name, streamed, got.Sets)
			}
			if twice.Reads != got.Reads || twice.Passes != got.Passes || twice.Covered != got.Covered {
				t.Fatalf("seed %d, %s: three threads: %+v, one: %+v", seed, name, twice, got)
			}
		}
	}
}
