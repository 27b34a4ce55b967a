package revisit

import (
	"math"
	"math/rand/v2"
	"testing"
)

// claimsOf makes sites with gains that fall.
func claimsOf(r *rand.Rand, n int) []Claim {
	claims := make([]Claim, n)
	for i := range claims {
		first, falls := math.Exp(r.NormFloat64()*2), .3+.69*r.Float64()
		claims[i] = Claim{Gain: func(k int) float64 { return first * math.Pow(falls, float64(k-1)) }, Max: r.IntN(60)}
		if r.IntN(4) == 0 {
			claims[i].Min = r.IntN(3)
		}
		if r.IntN(4) == 0 {
			claims[i].Weight = 2
		}
	}
	return claims
}

// gainOf is what the fetches of claims gain together.
func gainOf(claims []Claim, fetches []int) (sum float64) {
	for i, c := range claims {
		for k := range fetches[i] {
			b, _ := c.bid(i, k)
			sum += b.gain
		}
	}
	return sum
}

// TestAllot holds what several processes do with one budget against one Share of all their sites.
func TestAllot(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var all, lost float64
	for range 300 {
		parts := make([][]Claim, 1+r.IntN(8))
		demands := make([]Demand, len(parts))
		var claims []Claim
		total, least := 0, 0
		for i := range parts {
			parts[i] = claimsOf(r, r.IntN(12))
			demands[i] = DemandOf(parts[i])
			claims = append(claims, parts[i]...)
			total += demands[i].Total()
			for _, c := range parts[i] {
				least += c.Min
			}
		}
		n := least + r.IntN(total-least+20)
		want, price := Share(n, claims)
		allotted, about := Allot(n, demands)
		given, got := 0, 0.
		for i := range parts {
			if allotted[i] < 0 || allotted[i] > demands[i].Total() {
				t.Fatalf("%d of a demand of %d", allotted[i], demands[i].Total())
			}
			given += allotted[i]
			fetches, _ := Share(allotted[i], parts[i])
			got += gainOf(parts[i], fetches)
		}
		if given != min(n, total) {
			t.Fatalf("%d of %d were given out, demand %d", given, n, total)
		}
		best := gainOf(claims, want)
		if all, lost = all+best, lost+best-got; got < best*.98-1e-9 {
			t.Errorf("%d fetches: %g new pages, %g where all are shared at once", n, got, best)
		}
		if price > 1e-6 && about < 1e6 && (about > price*1.0001 || about < price/math.Exp2(.25)/1.0001) {
			t.Errorf("price %g, want %g or a little less", about, price)
		}
	}
	if lost > .002*all {
		t.Errorf("%.2f%% of what one Share of all gains is lost", 100*lost/all)
	}
}

func TestAllotBands(t *testing.T) {
	demands := []Demand{{{Step: 4, Fetches: 3}, {Step: 0, Fetches: 10}}, nil, {{Step: 0, Fetches: 20}, {Step: lowestStep, Fetches: 1}}, {{Step: 0, Fetches: -5}}}
	for _, tt := range []struct {
		n     int
		want  [4]int
		price float64
	}{
		{0, [4]int{}, 0}, {-1, [4]int{}, 0}, {2, [4]int{2}, 2}, {3, [4]int{3}, 2}, {6, [4]int{4, 0, 2}, 1}, {33, [4]int{13, 0, 20}, 1}, {100, [4]int{13, 0, 21}, math.Exp2(-30)},
	} {
		if got, price := Allot(tt.n, demands); [4]int(got) != tt.want || price != tt.price {
			t.Errorf("%d fetches: %v at %g, want %v at %g", tt.n, got, price, tt.want, tt.price)
		}
	}
	if d := DemandOf([]Claim{{Gain: func(int) float64 { return math.NaN() }, Max: 2}, {Gain: func(int) float64 { return 0 }, Max: 1}, {Gain: func(int) float64 { return 1e9 }, Min: 1, Max: 2}}); len(d) != 3 || d[0] != (Band{highestStep, 1}) || d[1] != (Band{highestStep - 1, 1}) || d[2] != (Band{lowestStep, 3}) {
		t.Errorf("%v", d)
	}
}
