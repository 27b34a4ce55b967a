package explore

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLeastSquaresFindsWeights: examples without noise end at the weights that made them.
func TestLeastSquaresFindsWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var want vector
	for i := range want {
		want[i] = r.NormFloat64()
	}
	l := newLeastSquares(vector{}, 10)
	for range 2000 {
		var x vector
		for i := range x {
			x[i] = r.NormFloat64()
		}
		l.learn(&x, want.dot(&x), 0.995)
	}
	for i := range want {
		if math.Abs(l.w[i]-want[i]) > 1e-6 {
			t.Errorf("weight %d = %v, want %v", i, l.w[i], want[i])
		}
	}
}

// TestLeastSquaresAgainstBatch: without forgetting the weights are those of ridge regression,
// here by gradient descent on the same examples.
func TestLeastSquaresAgainstBatch(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	l := newLeastSquares(vector{}, 4)
	var xs []vector
	var ys []float64
	for range 60 {
		var x vector
		for i := range x {
			x[i] = r.NormFloat64()
		}
		y := r.NormFloat64() + x[0]
		xs, ys = append(xs, x), append(ys, y)
		l.learn(&x, y, 1)
	}
	var w vector
	for range 20000 {
		g := w
		for i := range g {
			g[i] /= 4
		}
		for k := range xs {
			err := w.dot(&xs[k]) - ys[k]
			for i := range g {
				g[i] += err * xs[k][i]
			}
		}
		for i := range w {
			w[i] -= 0.003 * g[i]
		}
	}
	for i := range w {
		if math.Abs(l.w[i]-w[i]) > 1e-4 {
			t.Errorf("weight %d = %v, batch %v", i, l.w[i], w[i])
		}
	}
}

// TestDrawSpread: draws have the covariance that the estimate leaves open.
func TestDrawSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	l := newLeastSquares(vector{}, 1)
	for range 30 {
		var x vector
		for i := range x {
			x[i] = r.NormFloat64()
		}
		l.learn(&x, 0, 1)
	}
	const n = 20000
	var c vector
	for range n {
		w := l.draw(r, 1)
		for j := range c {
			c[j] += (w[2] - l.w[2]) * (w[j] - l.w[j]) / n
		}
	}
	for j := range c {
		if math.Abs(c[j]-l.p[2][j]) > 0.05*l.p[2][2] {
			t.Errorf("covariance of weights 2 and %d = %.4f, want %.4f", j, c[j], l.p[2][j])
		}
	}
}
