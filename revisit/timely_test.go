package revisit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
)

func TestTimelyShare(t *testing.T) {
	// Document 0 shows both pages of each round, 1 the second of them, 2 showed some in one round only.
	var rounds [][]PastRefetch
	for i := range graph.Node(10) {
		a, b := 100+2*i, 101+2*i
		round := []PastRefetch{{Page: 1, Gap: 1, Led: []graph.Node{b}}, {Page: 0, Gap: 1, Found: []graph.Node{a, b}, Led: []graph.Node{a, b}}}
		if i == 3 {
			round = append(round, PastRefetch{Page: 2, Gap: 1, Found: []graph.Node{99}, Led: []graph.Node{99}})
		}
		rounds = append(rounds, round)
	}
	m := NewTimely(rounds, .9, 50)
	// By rounds that had no part in choosing it, the first shows 20 of 21 pages, of nine tenths of all; 99 is shown by a
	// document that no other round chooses.
	for _, tt := range []struct{ k, want float64 }{{0, 0}, {-1, 0}, {.5, .9 * 10 / 21}, {1, .9 * 20 / 21}, {50, 1}, {1e9, 1}} {
		if got := m.Share(tt.k); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("Share(%g) = %g, want %g", tt.k, got, tt.want)
		}
	}
	last := 0.
	for k := 0.; k < 60; k += .25 {
		if s := m.Share(k); s < last || s > 1 {
			t.Errorf("Share(%g) = %g after %g", k, s, last)
		} else {
			last = s
		}
	}
	if s := NewTimely(nil, math.NaN(), 10).Share(1); math.Abs(s-shape(1)) > 1e-9 {
		t.Errorf("Share(1) = %g of a site of which nothing is known, want what is usual, %g", s, shape(1))
	}
}

// TestRanked compares with the greedy cover by definition.
func TestRanked(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 12))
		led, fetches := map[graph.Node][]graph.Node{}, map[graph.Node]int{}
		var rounds [][]PastRefetch
		for range r.IntN(6) {
			var round []PastRefetch
			for _, v := range r.Perm(9)[:r.IntN(9)] {
				l := PastRefetch{Page: graph.Node(v)}
				for y := range graph.Node(12) {
					if r.IntN(4) == 0 {
						l.Led = append(l.Led, y)
					}
				}
				led[l.Page] = append(led[l.Page], l.Led...)
				fetches[l.Page]++
				round = append(round, l)
			}
			rounds = append(rounds, round)
		}
		n := r.IntN(8)
		var want []graph.Node
		covered := map[graph.Node]bool{}
		for len(want) < n {
			best, most := graph.Node(0), 0
			for v := range graph.Node(9) {
				adds := map[graph.Node]bool{}
				for _, y := range led[v] {
					if !covered[y] {
						adds[y] = true
					}
				}
				if len(adds) > most || len(adds) == most && most > 0 && fetches[v] < fetches[best] {
					best, most = v, len(adds)
				}
			}
			if most == 0 {
				break
			}
			want = append(want, best)
			for _, y := range led[best] {
				covered[y] = true
			}
		}
		if got := ranked(rounds, n); !slices.Equal(got, want) {
			t.Fatalf("seed %d: ranked(%v, %d) = %v, want %v", seed, rounds, n, got, want)
		}
	}
}
