package paper

import (
	"math"
	"math/rand/v2"
	"testing"
)

// looksAt simulates a Poisson process of changes, and so many looks: at equal distances of a day times
// distance, or at the events of another Poisson process.
func looksAt(r *rand.Rand, changes float64, n int, distance float64, random bool) []look {
	looks := firstLooks(changes * math.Exp(r.NormFloat64())) // what is assumed is wrong
	for range n {
		days := distance
		if random {
			days *= r.ExpFloat64()
		}
		looks = append(looks, look{days, r.Float64() < -math.Expm1(-changes*days)})
	}
	return looks
}

var rateEstimators = []struct {
	name     string
	estimate rateEstimator
	random   bool // needs random looks
}{
	{"maximum likelihood", maximumLikelihood, false}, {"bias reduced", biasReduced, false}, {"moments", moments, false},
	{"large numbers", largeNumbers, true}, {"stochastic approximation", stochasticApproximation, true},
}

// TestRateEstimators: estimates come to the rate of a simulated process, within their standard errors and
// 2% at 2000 looks, and with 16 times as many looks their error falls to less than half.
func TestRateEstimators(t *testing.T) {
	const runs = 40
	for _, e := range rateEstimators {
		for _, changes := range []float64{.05, .4, 2} {
			for _, random := range []bool{true, false} {
				if e.random && !random {
					continue
				}
				r := rand.New(rand.NewPCG(1, 2))
				mean, errors := [2]float64{}, [2]float64{}
				for i, n := range []int{125, 2000} {
					for range runs {
						x := e.estimate(looksAt(r, changes, n, 1, random)) / changes
						mean[i] += x / runs
						errors[i] += (x - 1) * (x - 1) / runs
					}
				}
				se := math.Sqrt(errors[1] / runs)
				if math.Abs(mean[1]-1) > 4*se+.02 || errors[1] > errors[0]/4 {
					t.Errorf("%s, %g changes a day, random %v: mean %.3f of it ± %.3f, errors %.3f and %.3f", e.name, changes, random, mean[1], se,
						math.Sqrt(errors[0]), math.Sqrt(errors[1]))
				}
			}
		}
	}
}

// TestLooksAtEqualDistances: there the estimators of likelihood and of moments have closed forms, and the one
// with reduced bias is that of [CG03b].
func TestLooksAtEqualDistances(t *testing.T) {
	for n := 2; n < 40; n++ {
		for changed := 1; changed < n; changed++ {
			var looks []look
			for i := range n {
				looks = append(looks, look{2.5, i < changed})
			}
			x, m := float64(changed), float64(n)
			for _, c := range []struct {
				estimate  rateEstimator
				got, want float64
			}{
				{want: -math.Log(1-x/m) / 2.5, got: maximumLikelihood(looks)},
				{want: -math.Log(1-x/m) / 2.5, got: moments(looks)},
				{want: -math.Log((m-x+.5)/(m+.5)) / 2.5, got: biasReduced(looks)},
			} {
				if math.Abs(c.got-c.want) > 1e-8*c.want {
					t.Fatalf("%d of %d looks changed: %g, want %g", changed, n, c.got, c.want)
				}
			}
		}
	}
}

// TestEstimatesAreLikeliest compares with a search over all rates, for looks at any distance.
func TestEstimatesAreLikeliest(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		looks := looksAt(r, math.Exp(3*r.NormFloat64()), r.IntN(20), math.Exp(3*r.NormFloat64()), true)
		likelihood := func(rate float64) float64 {
			sum := 0.0
			for _, l := range looks {
				if l.changed {
					sum += math.Log(-math.Expm1(-rate * l.days))
				} else {
					sum -= rate * l.days
				}
			}
			return sum
		}
		rate := maximumLikelihood(looks)
		for x := -3.0; x < 3; x += .01 {
			if other := rate * math.Exp(x); likelihood(other) > likelihood(rate)+1e-9 {
				t.Fatalf("seed %d: %g is likelier than %g", seed, other, rate)
			}
		}
		expected, changed := 0.0, 0.0
		rate = moments(looks)
		for _, l := range looks {
			expected -= math.Expm1(-rate * l.days)
			if l.changed {
				changed++
			}
		}
		if math.Abs(expected-changed) > 1e-6*changed {
			t.Fatalf("seed %d: %g changed looks are expected, %g were", seed, expected, changed)
		}
	}
}

// TestFirstLooks: what is not looked at has the rate of its kind, by each estimator about.
func TestFirstLooks(t *testing.T) {
	for _, prior := range []float64{1e-5, .01, 3} {
		for _, e := range rateEstimators {
			if x := e.estimate(firstLooks(prior)) / prior; x < .5 || x > 1.01 {
				t.Errorf("%s: %g of the rate assumed", e.name, x)
			}
		}
		if x := maximumLikelihood(firstLooks(prior)) / prior; math.Abs(x-1) > 1e-9 {
			t.Errorf("maximum likelihood: %g of the rate assumed", x)
		}
		if x := pagesADay(&watched{looks: firstLooks(prior)}) / prior; math.Abs(x-1) > 1e-9 {
			t.Errorf("pages a day: %g of the rate assumed", x)
		}
	}
}

// objectives are what the policies optimize, a document: of its changes, or pages, and its fetches a day.
var objectives = []struct {
	name  string
	rate  func(changes, price float64) float64
	worth func(changes, fetches float64) float64
}{
	{"cho", freshRate, func(c, f float64) float64 { return -math.Expm1(-c/f) * f / c }},
	{"azar", binaryRate, func(c, f float64) float64 { return f / (f + c) }},
	{"kolobov", harmonicRate, func(c, f float64) float64 { return -math.Log1p(c / f) }},
	{"lefortier", sourceRate, func(c, f float64) float64 { return -c * math.Expm1(-1/(f*interest)) * f * interest }},
}

// TestAllot: the rates sum to the total, one more fetch is worth the price wherever a rate is between its
// bounds, no more where it is 0, and no less where it is the most.
func TestAllot(t *testing.T) {
	for _, o := range objectives {
		bounds := [3]int{} // documents at 0, between, at most
		for seed := range uint64(100) {
			r := rand.New(rand.NewPCG(seed, 4))
			n := 1 + r.IntN(12)
			changes, weight, all := make([]float64, n), make([]int, n), 0
			for i := range n {
				changes[i], weight[i] = math.Exp(2*r.NormFloat64()-1), 1+r.IntN(3)
				all += weight[i]
			}
			most := math.Exp(r.NormFloat64())
			total := most * float64(all) * r.Float64() * 1.1
			near := math.Exp(4 * r.NormFloat64())
			rates, price := allot(weight, total, most, near, func(i int, price float64) float64 { return o.rate(changes[i], price) })
			again, _ := allot(weight, total, most, 1, func(i int, price float64) float64 { return o.rate(changes[i], price) })
			sum := 0.0
			for i, f := range rates {
				sum += float64(weight[i]) * f
				if f != again[i] {
					t.Fatalf("%s, seed %d: %g from one price, %g from another", o.name, seed, f, again[i])
				}
				margin := func(f float64) float64 {
					h := 1e-5 * f
					return (o.worth(changes[i], f+h) - o.worth(changes[i], f-h)) / (2 * h)
				}
				switch {
				case f == 0:
					bounds[0]++
					if m := margin(1e-3 * total); m > price*1.01 {
						t.Errorf("%s, seed %d: %g changes a day get nothing, though a fetch is worth %g at the price %g", o.name, seed, changes[i], m, price)
					}
				case f == most:
					bounds[2]++
					if m := margin(f); m < price*.999 {
						t.Errorf("%s, seed %d: %g changes a day get the most, though a fetch is worth %g at the price %g", o.name, seed, changes[i], m, price)
					}
				default:
					bounds[1]++
					if m := margin(f); math.Abs(m-price) > 1e-3*price {
						t.Errorf("%s, seed %d: %g changes a day get %g, where a fetch is worth %g at the price %g", o.name, seed, changes[i], f, m, price)
					}
				}
			}
			if want := min(total, most*float64(all)); math.Abs(sum-want) > 1e-6*want {
				t.Errorf("%s, seed %d: %g fetches a day of %g", o.name, seed, sum, want)
			}
		}
		if bounds[1] < 50 || bounds[2] < 50 || o.name != "kolobov" && bounds[0] < 20 || o.name == "kolobov" && bounds[0] > 0 {
			t.Errorf("%s: %d documents get nothing, %d something, %d the most", o.name, bounds[0], bounds[1], bounds[2])
		}
	}
	if rates, _ := allot([]int{1, 2}, 0, 1, 1, func(int, float64) float64 { return 1 }); rates[0] != 0 || rates[1] != 0 {
		t.Errorf("of nothing, documents get %g", rates)
	}
}

// TestAllotBruteForce compares with all ways to give three documents parts of the total.
func TestAllotBruteForce(t *testing.T) {
	const parts = 60
	for _, o := range objectives {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 5))
			var changes [3]float64
			for i := range changes {
				changes[i] = math.Exp(1.5*r.NormFloat64() - 1)
			}
			total := math.Exp(r.NormFloat64())
			worth := func(f []float64) float64 {
				sum := 0.0
				for i, c := range changes {
					sum += o.worth(c, max(f[i], 1e-12))
				}
				return sum
			}
			rates, _ := allot([]int{1, 1, 1}, total, total, 1, func(i int, price float64) float64 { return o.rate(changes[i], price) })
			got := worth(rates)
			for i := range parts + 1 {
				for j := range parts + 1 - i {
					f := []float64{float64(i), float64(j), float64(parts - i - j)}
					for k := range f {
						f[k] *= total / parts
					}
					if w := worth(f); w > got+1e-6*math.Abs(got) {
						t.Fatalf("%s, seed %d: changes %g, rates %g are worth %g, %g are worth %g", o.name, seed, changes, rates, got, f, w)
					}
				}
			}
		}
	}
}

// TestChoExample is the example of [CG03a]: five documents that change 1 to 5 times a day, and 5 fetches.
func TestChoExample(t *testing.T) {
	rates, _ := allot([]int{1, 1, 1, 1, 1}, 5, 5, 1, func(i int, price float64) float64 { return freshRate(float64(i+1), price) })
	for i, want := range []float64{1.15, 1.36, 1.35, 1.14, 0} {
		if math.Abs(rates[i]-want) > .005 {
			t.Errorf("%d changes a day: %.3f fetches, want %g", i+1, rates[i], want)
		}
	}
}

// TestAzarClosedForm compares with the closed form of [AHLPS18]: with s = Σ changes and r = Σ √changes
// over the documents that are fetched, each gets √changes·(total + s)/r − changes.
func TestAzarClosedForm(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 6))
		n := 2 + r.IntN(20)
		changes, ones := make([]float64, n), make([]int, n)
		s, root := 0.0, 0.0
		for i := range n {
			changes[i], ones[i] = math.Exp(2*r.NormFloat64()), 1
			s, root = s+changes[i], root+math.Sqrt(changes[i])
		}
		total := math.Exp(2 * r.NormFloat64())
		left := make([]bool, n)
		for again := true; again; { // leave out the one that changes most, while it would get less than nothing
			again = false
			worst := -1
			for i, c := range changes {
				if !left[i] && (worst < 0 || c > changes[worst]) {
					worst = i
				}
			}
			if c := changes[worst]; math.Sqrt(c)*(total+s)/root <= c {
				left[worst], again = true, true
				s, root = s-c, root-math.Sqrt(c)
			}
		}
		rates, _ := allot(ones, total, total, 1, func(i int, price float64) float64 { return binaryRate(changes[i], price) })
		for i, c := range changes {
			want := 0.0
			if !left[i] {
				want = math.Sqrt(c)*(total+s)/root - c
			}
			if math.Abs(rates[i]-want) > 1e-6*total {
				t.Fatalf("seed %d: %g changes a day get %g, want %g", seed, c, rates[i], want)
			}
		}
	}
}

// TestGainInverse goes there and back.
func TestGainInverse(t *testing.T) {
	for x := 1e-6; x < 30; x *= 1.1 {
		if got := gainInverse(gain(x)); math.Abs(got-x) > 1e-3*x && x < 1e-4 || math.Abs(got-x) > 1e-6*x && x >= 1e-4 && x < 15 {
			t.Errorf("gainInverse(gain(%g)) = %g", x, got)
		}
	}
}

// TestWhittleIndex: it is what the discrete index comes to in short steps, and the price at which fetching at that
// distance is best: the mean reward, what waits at a fetch less the price, over the distance.
func TestWhittleIndex(t *testing.T) {
	for _, pages := range []float64{.1, 3} {
		for _, days := range []float64{.5, 5, 30} {
			index := whittleIndex(pages, days)
			const k = 100000
			alpha := math.Exp(-days / k / interest)
			u := pages * days / k
			if discrete := u*(1-math.Pow(alpha, k))/(1-alpha) - k*u*math.Pow(alpha, k); math.Abs(discrete-index) > 1e-3*index {
				t.Errorf("%g pages a day, %g days: index %g, in short steps %g", pages, days, index, discrete)
			}
			reward := func(days float64) float64 {
				return (-pages*interest*math.Expm1(-days/interest) - index) / days
			}
			for _, other := range []float64{.5, .9, 1.1, 2} {
				if reward(days*other) > reward(days) {
					t.Errorf("%g pages a day: at the price %g a distance of %g days is better than %g", pages, index, days*other, days)
				}
			}
		}
	}
}

// TestCrawlValue compares with simulated waits for a fetch.
func TestCrawlValue(t *testing.T) {
	const unsignalled = .3
	for _, days := range []float64{.5, 4, 20} {
		if got, want := crawlValue(unsignalled, 0, .5, days, 0), gain(unsignalled*days)/unsignalled; got != want {
			t.Errorf("no signals, %g days: value %g, want %g", days, got, want)
		}
		if got, want := crawlValue(unsignalled, .4, 1e-9, days, 0), gain(unsignalled*days)/unsignalled; math.Abs(got-want) > 1e-3*want {
			t.Errorf("signals that tell nothing, %g days: value %g, want %g", days, got, want)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		signals, precision, days float64
		n                        int
	}{{.2, .5, 3, 0}, {1, .3, 5, 1}, {.5, .9, 8, 2}, {2, .2, 1, 3}} {
		beta := -math.Log1p(-c.precision) / unsignalled
		s := c.days + beta*float64(c.n)
		const runs = 100000
		sum, squares := 0.0, 0.0
		for range runs { // from a fetch to the time at which t + β·n is s
			t, n, w := 0.0, 0.0, 0.0
			for {
				end := s - beta*n
				if end <= t {
					break
				}
				next := t + r.ExpFloat64()/c.signals
				until := min(next, end)
				w += math.Pow(1-c.precision, n) * (math.Exp(-unsignalled*t) - math.Exp(-unsignalled*until)) / unsignalled
				t = until
				if next >= end {
					break
				}
				n++
			}
			x := w - math.Exp(-unsignalled*s)*t
			sum += x / runs
			squares += x * x / runs
		}
		se := math.Sqrt((squares - sum*sum) / runs)
		if got := crawlValue(unsignalled, c.signals, -math.Log1p(-c.precision), c.days, c.n); math.Abs(got-sum) > 4*se {
			t.Errorf("%+v: value %g, simulated %g ± %g", c, got, sum, se)
		}
	}
}
