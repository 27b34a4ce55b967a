package revisit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomClaims returns claims with falling gains, and the gains.
func randomClaims(r *rand.Rand, sites int) ([]Claim, [][]float64) {
	claims, gains := make([]Claim, sites), make([][]float64, sites)
	for i := range claims {
		g := make([]float64, 8)
		for k := range g {
			g[k] = float64(r.IntN(6)) // with ties
		}
		slices.SortFunc(g, func(a, b float64) int { return int(b - a) })
		low := r.IntN(3)
		gains[i] = g
		claims[i] = Claim{Gain: func(k int) float64 { return g[k-1] }, Min: low, Max: low + r.IntN(5), Weight: float64(1 + r.IntN(3))}
	}
	return claims, gains
}

// worth is the weighted gain of a division.
func worth(claims []Claim, gains [][]float64, fetches []int) float64 {
	sum := 0.
	for i, n := range fetches {
		for k := range n {
			sum += claims[i].Weight * gains[i][k]
		}
	}
	return sum
}

// bruteForce returns the most that any division of n within minima and maxima is worth.
func bruteForce(n int, claims []Claim, gains [][]float64, fetches []int) float64 {
	i := len(fetches)
	if i == len(claims) {
		if n != 0 {
			return math.Inf(-1)
		}
		return worth(claims, gains, fetches)
	}
	best := math.Inf(-1)
	for k := claims[i].Min; k <= min(n, claims[i].Max); k++ {
		best = max(best, bruteForce(n-k, claims, gains, append(fetches[:i:i], k)))
	}
	return best
}

func TestShare(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for range 2000 {
		claims, gains := randomClaims(r, 1+r.IntN(4))
		low, high := 0, 0
		for _, c := range claims {
			low, high = low+c.Min, high+c.Max
		}
		before := make([]int, len(claims))
		for n := range high + 3 {
			got, price := Share(n, claims)
			sum := 0
			for i, k := range got {
				sum += k
				if k < before[i] || k > claims[i].Max || n >= low && k < claims[i].Min {
					t.Fatalf("n = %d: site %d gets %d after %d, wants %d to %d", n, i, k, before[i], claims[i].Min, claims[i].Max)
				}
				if k > claims[i].Min && claims[i].Weight*gains[i][k-1] < price {
					t.Fatalf("n = %d: site %d holds a fetch worth less than the price %g", n, i, price)
				}
				if n > low && k < claims[i].Max && claims[i].Weight*gains[i][k] > price {
					t.Fatalf("n = %d: site %d lacks a fetch worth more than the price %g", n, i, price)
				}
			}
			if sum != min(n, high) {
				t.Fatalf("n = %d: %d fetches given out, of at most %d", n, sum, high)
			}
			if n >= low && n <= high {
				if got, want := worth(claims, gains, got), bruteForce(n, claims, gains, nil); got != want {
					t.Fatalf("n = %d: worth %g, the best division %g", n, got, want)
				}
			}
			before = got
		}
	}
}

func TestExpect(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 500 {
		past := make([][]int, r.IntN(6))
		for c := range past {
			past[c] = make([]int, r.IntN(40))
			for k := range past[c] {
				past[c][k] = r.IntN(1 + 20/(k+1))
			}
		}
		y := Expect(past, 3)
		sum := 0.
		for k := 1; k < 100; k++ {
			g := y.Gain(k)
			if g < 0 || k > 1 && g > y.Gain(k-1)+1e-9 {
				t.Fatalf("%v: gain %d is %g, after %g", past, k, g, y.Gain(k-1))
			}
			sum += g
			if math.Abs(y.Pages(k)-sum) > 1e-9 || y.Coverage(k) < y.Coverage(k-1) || y.Coverage(k) > 1 {
				t.Fatalf("%v: %d fetches find %g (%g of all), want %g", past, k, y.Pages(k), y.Coverage(k), sum)
			}
		}
	}
	if got := Expect(nil, 10).Pages(3); math.Abs(got-10*shape(3)) > 1e-9 {
		t.Errorf("a new site: %g pages by 3 fetches", got)
	}
	// Twenty cycles alike: the estimate is what was seen.
	same := slices.Repeat([][]int{{6, 2, 0, 0}}, 20)
	if y := Expect(same, 1); math.Abs(y.Gain(1)-6) > .3 || math.Abs(y.Gain(2)-2) > .3 || y.Gain(3) > .1 {
		t.Errorf("gains of {6, 2, 0, 0} in every cycle: %g, %g, %g", y.Gain(1), y.Gain(2), y.Gain(3))
	}
}
