package explore

import (
	"math"
	"math/rand/v2"
)

// vector holds the features of an open node, or their weights.
type vector [dims]float64

// leastSquares is a linear regression that is corrected after every example and forgets old
// ones: recursive least squares. An example costs O(dims²).
type leastSquares struct {
	w vector
	p [dims]vector // inverse of the discounted second moments, symmetric
}

// newLeastSquares starts from weights w with the given variance of doubt in each.
func newLeastSquares(w vector, doubt float64) *leastSquares {
	l := &leastSquares{w: w}
	for i := range l.p {
		l.p[i][i] = doubt
	}
	return l
}

func (w *vector) dot(x *vector) float64 {
	s := 0.0
	for i := range w {
		s += w[i] * x[i]
	}
	return s
}

// learn corrects the weights towards y at x; older examples count forget times what they did.
func (l *leastSquares) learn(x *vector, y, forget float64) {
	var px vector
	for i := range l.p {
		px[i] = l.p[i].dot(x)
	}
	gain := 1 / (forget + px.dot(x))
	err := y - l.w.dot(x)
	trace := 0.0
	for i := range l.p {
		l.w[i] += px[i] * gain * err
		trace += l.p[i][i]
	}
	if trace > 1e5*dims { // nothing new along some direction for long: doubt must not grow without end
		forget = 1
	}
	for i := range l.p {
		for j := range i + 1 {
			v := (l.p[i][j] - px[i]*px[j]*gain) / forget
			l.p[i][j], l.p[j][i] = v, v
		}
	}
}

// draw returns weights drawn from the normal distribution around the estimate that has noise
// times its standard deviations: p is their covariance, up to the noise of the examples.
func (l *leastSquares) draw(r *rand.Rand, noise float64) vector {
	var c [dims]vector // Cholesky: c·cᵀ = p
	w := l.w
	var z vector
	for i := range dims {
		z[i] = noise * r.NormFloat64()
		for j := range i + 1 {
			s := l.p[i][j]
			for k := range j {
				s -= c[i][k] * c[j][k]
			}
			if i == j {
				c[i][i] = math.Sqrt(max(s, 1e-12))
			} else {
				c[i][j] = s / c[j][j]
			}
			w[i] += c[i][j] * z[j]
		}
	}
	return w
}
