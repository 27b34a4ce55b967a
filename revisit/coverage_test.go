package revisit

import (
	"math"
	"math/rand/v2"
	"testing"

	"forage/graph"
)

func TestEstimate(t *testing.T) {
	fetch := func(page, gap, found int) PastRefetch {
		return PastRefetch{Page: graph.Node(page), Gap: gap, Found: make([]graph.Node, found)}
	}
	hub := PastRefetch{Page: 0, Gap: 1, Found: []graph.Node{1, 2}}
	nan := math.NaN()
	for _, tt := range []struct {
		name      string
		documents int
		cycles    [][]PastRefetch
		want      Coverage
	}{
		{"no cycles", 0, nil, Coverage{Share: nan, Low: nan, High: nan}},
		{"nothing found", 1, [][]PastRefetch{{fetch(0, 3, 0)}}, Coverage{Share: nan, Low: nan, High: nan}},
		{"gap not known", 1, [][]PastRefetch{{fetch(0, 0, 7)}}, Coverage{Share: nan, Low: nan, High: nan}},
		{"everything in each cycle", 2, [][]PastRefetch{{fetch(0, 1, 7), fetch(1, 1, 0)}}, Coverage{Found: 7, Known: 7, Share: 1, Low: 1, High: 1}},
		{"the others never", 3, [][]PastRefetch{{fetch(0, 1, 7), fetch(1, 1, 0)}}, Coverage{Found: 7, Known: 7, Share: nan, Low: nan, High: nan}},
		{"all others found", 3, [][]PastRefetch{{hub}}, Coverage{Found: 2, Known: 2, Share: 1, Low: 1, High: 1}},
		// Had the second document shown a page, its delay would have been 0 or 1: half a page hidden in
		// a window of one cycle. The quantile of a gamma distribution with the mean 1/2 and the variance
		// 3/4 is 2.908.
		{"none late", 2, [][]PastRefetch{{fetch(0, 1, 7), fetch(1, 2, 0)}}, Coverage{Found: 7, Known: 7, Share: 1, Low: 7 / (7 + 2.908), High: 1}},
		// With a third one, never fetched: one third of 7/2 more, give or take as much. The quantile for the
		// mean 1/2 + 7/6 and the variance 3/4 + (7/6)² is 5.459.
		{"none late, one never", 3, [][]PastRefetch{{fetch(0, 1, 7), fetch(1, 2, 0)}},
			Coverage{Found: 7, Known: 7, Hidden: 7. / 6, Share: 6. / 7, Low: 7 / (7 + 5.459), High: 1}},
		// Delays of 0, 1, 2 cycles, in a window of two. Of the four pages of the first cycle one third
		// are of the window, of those of the second two thirds; another four have a gap that is not known.
		// Two bursts that each contribute 2, of 4 pages each: the quantile for the mean 4 + 2 and the
		// variance 6·6 is 22.008; with a probability of 1.5^-2 nothing is hidden.
		{"late", 3, [][]PastRefetch{{fetch(1, 3, 4), fetch(2, 0, 4)}, {fetch(0, 1, 2), fetch(1, 3, 2), fetch(2, 3, 2)}},
			Coverage{Found: 10, Known: 2 + 4./3 + 8./3, Hidden: 4, Share: 6. / 10, Low: 6 / (6 + 22.008), High: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Estimate(tt.cycles, tt.documents)
			if c.Found != tt.want.Found || !near(c.Known, tt.want.Known) || !near(c.Hidden, tt.want.Hidden) ||
				!near(c.Low, tt.want.Low) || !near(c.Share, tt.want.Share) || !near(c.High, tt.want.High) {
				t.Errorf("Estimate = %+v, want %+v", c, tt.want)
			}
		})
	}
}

func near(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-3
}

// TestHides compares with the mean by definition.
func TestHides(t *testing.T) {
	for window := 1; window <= 30; window++ {
		for gap := 1; gap <= 100; gap++ {
			want := 0.
			for delay := range gap {
				want += float64(min(delay, window)) / float64(window) / float64(gap)
			}
			if got := hides(gap, float64(window)); math.Abs(got-want) > 1e-9 {
				t.Fatalf("a gap of %d in a window of %d: %g, want %g", gap, window, got, want)
			}
		}
	}
}

// TestGammaQuantile compares with tables of χ².
func TestGammaQuantile(t *testing.T) {
	const z = 1.959964
	for _, tt := range []struct{ shape, z, want float64 }{{1, z, 3.689}, {5, z, 10.242}, {5, -z, 1.623}, {50, -z, 37.111}, {.01, z, 0}, {.1, -z, 0}} {
		if got := gammaQuantile(2*tt.shape, 4*tt.shape, tt.z) / 2; math.Abs(got-tt.want) > .01*tt.want+.01 {
			t.Errorf("shape %g, z = %g: %.3f, want %.3f", tt.shape, tt.z, got, tt.want)
		}
	}
}

// TestEstimateUnbiased publishes pages at random on documents that are fetched at fixed gaps, some
// longer than the window: on average as many are known and hidden as estimated. The intervals hold
// too, also where several pages are published at once.
func TestEstimateUnbiased(t *testing.T) {
	const sites, window, before = 2000, 30, 100
	for _, most := range []int{1, 6} { // pages at once
		var known, hidden stat // estimated less true
		held, windows := 0, 0
		for seed := range uint64(sites) {
			r := rand.New(rand.NewPCG(seed, 9))
			gaps, next := make([]int, 10), make([]int, 10)
			for v := range gaps {
				gaps[v] = 1 + r.IntN(1+r.IntN(before))
				next[v] = 1 + r.IntN(gaps[v]) // nothing is known of it before
			}
			waiting := make([][]int, len(gaps)) // by document: when pages were published that it shows
			var cycles [][]PastRefetch
			trueKnown := 0
			for t := 1; t <= before+window; t++ {
				for v := range gaps {
					if r.IntN(15) == 0 {
						for range 1 + r.IntN(most) {
							waiting[v] = append(waiting[v], t)
						}
					}
				}
				var refetches []PastRefetch
				for v, gap := range gaps {
					if next[v] != t {
						continue
					}
					next[v] += gap
					refetches = append(refetches, PastRefetch{Page: graph.Node(v), Gap: gap, Found: make([]graph.Node, len(waiting[v]))})
					for _, at := range waiting[v] {
						if at > before {
							trueKnown++
						}
					}
					waiting[v] = nil
				}
				if t > before {
					cycles = append(cycles, refetches)
				}
			}
			trueHidden := 0
			for _, times := range waiting {
				for _, at := range times {
					if at > before {
						trueHidden++
					}
				}
			}
			c := Estimate(cycles, len(gaps))
			known.add(c.Known - float64(trueKnown))
			hidden.add(c.Hidden - float64(trueHidden))
			if math.IsNaN(c.Share) || trueKnown+trueHidden == 0 {
				continue
			}
			if !(0 <= c.Low && c.Low <= c.Share && c.Share <= c.High && c.High <= 1) {
				t.Fatalf("seed %d: %+v", seed, c)
			}
			windows++
			if truth := float64(trueKnown) / float64(trueKnown+trueHidden); c.Low <= truth && truth <= c.High {
				held++
			}
		}
		t.Logf("up to %d pages at once: known %+.2f ± %.2f, hidden %+.2f ± %.2f, %d of %d intervals hold", most, known.mean(), known.err(), hidden.mean(), hidden.err(), held, windows)
		if math.Abs(known.mean()) > 3*known.err() || math.Abs(hidden.mean()) > 3*hidden.err() || held < windows*92/100 {
			t.Errorf("up to %d pages at once: the estimates are off by %+.2f ± %.2f known, %+.2f ± %.2f hidden; %d of %d intervals hold",
				most, known.mean(), known.err(), hidden.mean(), hidden.err(), held, windows)
		}
	}
}

// A stat has the mean of numbers and its standard error.
type stat struct{ n, sum, squares float64 }

func (s *stat) add(x float64) {
	s.n++
	s.sum += x
	s.squares += x * x
}

func (s *stat) mean() float64 { return s.sum / s.n }

func (s *stat) err() float64 { return math.Sqrt((s.squares/s.n - s.mean()*s.mean()) / s.n) }

// TestHubs compares with the cover by definition.
func TestHubs(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 11))
		next, n := 100, 1+r.IntN(6)
		var cycles [][]PastRefetch
		led := map[graph.Node]map[graph.Node]bool{}
		for range 1 + r.IntN(5) {
			var fresh []graph.Node
			for range r.IntN(8) {
				fresh = append(fresh, graph.Node(next))
				next++
			}
			var refetches []PastRefetch
			for _, v := range r.Perm(8)[:r.IntN(8)] {
				l := PastRefetch{Page: graph.Node(v)}
				if led[l.Page] == nil {
					led[l.Page] = map[graph.Node]bool{}
				}
				for _, y := range fresh {
					if r.IntN(3) == 0 {
						l.Led = append(l.Led, y)
						led[l.Page][y] = true
					}
				}
				refetches = append(refetches, l)
			}
			cycles = append(cycles, refetches)
		}
		covered := map[graph.Node]bool{}
		hubs := Hubs(cycles, n)
		for i := 0; ; i++ {
			best, most := graph.Node(0), 0
			for v := range graph.Node(8) {
				adds := 0
				for y := range led[v] {
					if !covered[y] {
						adds++
					}
				}
				if adds > most {
					best, most = v, adds
				}
			}
			if most == 0 || i == n {
				if len(hubs) != i {
					t.Fatalf("seed %d: %d hubs, want %d", seed, len(hubs), i)
				}
				break
			}
			if i >= len(hubs) || hubs[i].Page != best || hubs[i].Adds != most || hubs[i].Led != len(led[best]) {
				t.Fatalf("seed %d: hub %d of %+v, want %d, which adds %d of %d", seed, i, hubs, best, most, len(led[best]))
			}
			for y := range led[best] {
				covered[y] = true
			}
		}
	}
}
