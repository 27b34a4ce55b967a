package paper

import (
	"math"
	"slices"
)

// allot divides total fetches a day among documents, most at most for each: weight[i] of them are as i.
// rate(i, price) is the rate at which one more fetch of such a document is worth price; it falls with
// the price and ends at 0 or near it. At the optimum one more fetch is worth the same wherever a rate is between
// its bounds. That is the price, the Lagrange multiplier of the sum, which bisection finds: 0 where
// total suffices for the most of all, +Inf where it is 0. near is where the search begins.
// O(len(weight)), times some forty.
func allot(weight []int, total, most, near float64, rate func(i int, price float64) float64) (rates []float64, price float64) {
	rates = make([]float64, len(weight))
	n := 0
	for i, w := range weight {
		rates[i] = most
		n += w
	}
	if float64(n)*most <= total {
		return rates, 0
	}
	if total <= 0 {
		clear(rates)
		return rates, math.Inf(1)
	}
	sum := func(price float64) float64 {
		sum := 0.0
		for i, w := range weight {
			rates[i] = min(most, rate(i, price))
			sum += float64(w) * rates[i]
		}
		return sum
	}
	// high is the least power of 4 that is dear enough, from wherever the search begins, so that the
	// result does not depend on near.
	high := math.Pow(4, math.Round(math.Log(near)/math.Log(4)))
	if sum(high) <= total {
		for sum(high/4) <= total {
			high /= 4
		}
	} else {
		for sum(high) > total {
			high *= 4
		}
	}
	low := high / 4
	for high-low > 1e-9*high {
		price = math.Sqrt(low * high)
		if sum(price) > total {
			low = price
		} else {
			high = price
		}
	}
	// Where the worth of a fetch hardly falls with the rate, as that of what changes far too often, rates jump between
	// prices as near to each other as numbers can be. Any part of the jump is as good, so that which adds up
	// to the total is taken.
	more := sum(low)
	cheap := slices.Clone(rates)
	if less := sum(high); more > less {
		part := (total - less) / (more - less)
		for i := range rates {
			rates[i] += part * (cheap[i] - rates[i])
		}
	}
	return rates, high
}

// gain is 1 − (1 + x)e^(−x), which grows from 0 to 1. It is the worth of one more fetch, but for a factor, of
// what is fetched at equal distances of x, in units of the time in which freshness [CG03a] or interest
// [LOSS13] falls to 1/e. In [OP08] it is derived for anything that is lost with time: t·D(t) − ∫D, where D is
// what is lost t after a fetch.
func gain(x float64) float64 { return -math.Expm1(-x) - x*math.Exp(-x) }

// gainInverse returns x with gain(x) = y, for 0 < y < 1. gain is convex up to 1 and concave beyond,
// and Newton's steps begin on the side from which they cannot miss.
func gainInverse(y float64) float64 {
	x := 1.0
	if least := 1 - 2/math.E; y < least {
		x = math.Sqrt(y / least) // above the root, since gain(x)/x² falls
	}
	for range 200 {
		step := (y - gain(x)) / (x * math.Exp(-x))
		x += step
		if math.Abs(step) <= 1e-12*x {
			break
		}
	}
	return x
}
