package paper

import "math"

// A look is one fetch of a document that was answered, as the literature of refreshing sees it: how
// long after the look before it was, and whether the document had changed in between, once or more.
type look struct {
	days    float64
	changed bool
}

// firstLooks are what is assumed of a document that was not looked at yet: one look that found it
// changed and one that did not, so that its rate is prior, in changes a day: with looks of the same
// length d both estimators of maximum likelihood and of moments come to ln 2 / d. [KPLH19] begins
// in the same way, with half a day for every document.
func firstLooks(prior float64) []look {
	d := math.Ln2 / prior
	return []look{{d, true}, {d, false}}
}

// A rateEstimator makes of the looks at a document how often it changes, in changes a day, above 0.
// There are looks of both kinds among them.
type rateEstimator func([]look) float64

// likeliest is the rate of greatest likelihood of a Poisson process of which each look shows whether
// there was any event since the one before, as in [CG03b] for irregular access: the root of
//
//	Σ over changed looks days/(e^(rate·days) − 1) = Σ over unchanged looks days + more
//
// where more is the length of another unchanged look. The left side is convex and falls, so that
// Newton's steps from below reach the root from below. O(looks).
func likeliest(looks []look, more float64) float64 {
	n, changed, unchanged := 0.0, 0.0, more
	for _, l := range looks {
		if l.changed {
			n++
			changed += l.days
		} else {
			unchanged += l.days
		}
	}
	rate := n / (unchanged + changed/2) // below the root, since x/(e^x − 1) > 1 − x/2
	for range 100 {
		sum, slope := 0.0, 0.0
		for _, l := range looks {
			if !l.changed {
				continue
			}
			if e := math.Expm1(rate * l.days); e > 0 {
				sum += l.days / e
				slope += l.days / e * l.days * (1 + 1/e)
			} else {
				sum += 1 / rate
				slope += 1 / (rate * rate)
			}
		}
		step := (sum - unchanged) / slope
		if rate += step; step < 1e-10*rate {
			break
		}
	}
	return rate
}

// maximumLikelihood is the estimator of [KPLH19], its equation 10.
func maximumLikelihood(looks []look) float64 { return likeliest(looks, 0) }

// biasReduced is the estimator of [CG03b] with reduced bias, −log((unchanged + ½)/(n + ½)) over the length of a
// look. That is the likeliest rate with half an unchanged look more, which is how it is extended here to
// looks of any length: half of one of mean length more.
func biasReduced(looks []look) float64 {
	days := 0.0
	for _, l := range looks {
		days += l.days
	}
	return likeliest(looks, days/float64(len(looks))/2)
}

// moments is the rate at which as many looks are expected to find a change as did: the root of
//
//	Σ over looks (1 − e^(−rate·days)) = changed looks
//
// The left side is concave and grows, so that Newton's steps from below stay below. O(looks).
func moments(looks []look) float64 {
	n, days := 0.0, 0.0
	for _, l := range looks {
		days += l.days
		if l.changed {
			n++
		}
	}
	rate := n / days
	for range 100 {
		sum, slope := 0.0, 0.0
		for _, l := range looks {
			e := math.Exp(-rate * l.days)
			sum += 1 - e
			slope += l.days * e
		}
		step := (n - sum) / slope
		if rate += step; step < 1e-10*rate {
			break
		}
	}
	return rate
}

// largeNumbers is the estimator of [APT20] by the law of large numbers, for looks at the events of a Poisson
// process: p·changed/(n + α − changed), where p is the number of looks a day. α is 1; any that grows less than
// n will do.
func largeNumbers(looks []look) float64 {
	n, changed, days := float64(len(looks)), 0.0, 0.0
	for _, l := range looks {
		days += l.days
		if l.changed {
			changed++
		}
	}
	return n / days * changed / (n + 1 - changed)
}

// stochasticApproximation is the other estimator of [APT20]: rate ← rate + η·(changed·(rate + p) − rate)
// after each look, where changed is 0 or 1, p the number of looks a day, and η = (n+1)^(−¾) in step n. At
// the true rate, where changed is 1 with the probability rate/(rate + p), the mean step is 0. It begins with
// the rate of the first two looks, which are those of firstLooks. The exponent is ours: steps that fall
// as the power of ½ to 1 of n converge.
func stochasticApproximation(looks []look) float64 {
	rate := math.Ln2 / looks[0].days
	days := 0.0
	for i, l := range looks {
		days += l.days
		if i < 2 {
			continue
		}
		target := 0.0
		if l.changed {
			target = rate + float64(i+1)/days
		}
		rate += math.Pow(float64(i), -.75) * (target - rate)
	}
	return rate
}
