package revisit

import (
	"cmp"
	"math"
	"slices"
)

// Where sites are shared by several processes, a budget over all of them is divided in two steps: each process tells how many fetches of its sites are worth
// what (DemandOf), one finds the price at which all of them together take what there is (Allot), and each divides what it
// is given among its own sites (Share). What is told is small: not a number for each fetch, but one for each band of
// gains.

// A Band is how many fetches gain from 2^(Step/4) up to 2^((Step+1)/4) new pages each.
type Band struct {
	Step    int `json:"step"`
	Fetches int `json:"fetches"`
}

// The bands of fetches that gain less than the lowest one tells, nothing too, and more than the highest.
const (
	lowestStep  = -4 * 30
	highestStep = 4 * 20
)

// A Demand is what some sites would do with fetches: bands, the best first.
type Demand []Band

// Total is how many fetches the sites take at most.
func (d Demand) Total() (n int) {
	for _, b := range d {
		n += b.Fetches
	}
	return n
}

// DemandOf tells what sites would do with fetches. A minimum is worth more than anything else. O(their fetches together).
func DemandOf(claims []Claim) Demand {
	fetches := map[int]int{}
	for i := range claims {
		for k := 0; ; k++ {
			b, ok := claims[i].bid(i, k)
			if !ok {
				break
			}
			step := highestStep
			if !b.due {
				step = stepOf(b.gain)
			}
			fetches[step]++
		}
	}
	var d Demand
	for step, n := range fetches {
		d = append(d, Band{step, n})
	}
	slices.SortFunc(d, func(a, b Band) int { return cmp.Compare(b.Step, a.Step) })
	return d
}

func stepOf(gain float64) int {
	if !(gain > 0) {
		return lowestStep
	}
	return int(min(max(math.Floor(4*math.Log2(gain)), lowestStep), highestStep-1))
}

// Allot divides n fetches among those whose demands these are, and returns the fetches of each and the price λ: none that gains
// more is left out, none that gains less is made, but for those of the last band, of which each gets the same share, to a whole fetch. So what it loses against
// one Share of all sites is less than a fifth of what the fetches of that band gain. All of n is given out unless it is more than
// all demand. O(bands log bands).
func Allot(n int, demands []Demand) (fetches []int, price float64) {
	fetches = make([]int, len(demands))
	at := map[int]int{} // fetches of each step
	for _, d := range demands {
		for _, b := range d {
			at[b.Step] += max(0, b.Fetches)
		}
	}
	steps := make([]int, 0, len(at))
	for step := range at {
		steps = append(steps, step)
	}
	slices.SortFunc(steps, func(a, b int) int { return cmp.Compare(b, a) })
	for _, step := range steps {
		if n <= 0 {
			break
		}
		price = math.Exp2(float64(step) / 4)
		all, given, passed := at[step], min(n, at[step]), 0
		// The shares of those up to each one are rounded, not each share: so they add up to what is given.
		for i, d := range demands {
			before := passed
			for _, b := range d {
				if b.Step == step {
					passed += max(0, b.Fetches)
				}
			}
			fetches[i] += portion(given, passed, all) - portion(given, before, all)
		}
		n -= given
	}
	return fetches, price
}

// portion is n·part/all, rounded down.
func portion(n, part, all int) int {
	if n == all {
		return part
	}
	return int(float64(n) * float64(part) / float64(all))
}
