package explore

import "math"

// A Prior holds the weights from which the policy learned starts.
type Prior struct{ w vector }

// NoPrior returns weights of 0: learned then knows nothing before its first answer.
func NoPrior() *Prior { return &Prior{} }

// Lessons are what crawls by learned met, in sums: the features of each node as it was when it was
// chosen, and what it showed. The zero value is none. They take O(dims²) memory, however long the
// crawls are.
type Lessons struct {
	n  float64
	xx [dims]vector // second moments, symmetric
	xy vector
}

// add notes one node: its features, and log(1 + new nodes).
func (l *Lessons) add(x *vector, y float64) {
	l.n++
	for i := range x {
		for j := range x {
			l.xx[i][j] += x[i] * x[j]
		}
		l.xy[i] += x[i] * y
	}
}

// priorRidge keeps the regression of FitPrior away from directions in which the lessons say next to nothing, as a share of
// the mean second moment of a feature.
const priorRidge = 1e-4

// FitPrior returns the weights of one linear regression over the lessons of several networks, each
// weighing the same however many nodes were queried there. Features that no lesson had keep the weights that come with learned.
// Time O(dims³).
func FitPrior(networks []*Lessons) *Prior {
	var all Lessons
	for _, l := range networks {
		if l.n == 0 {
			continue
		}
		all.n++
		for i := range dims {
			for j := range dims {
				all.xx[i][j] += l.xx[i][j] / l.n
			}
			all.xy[i] += l.xy[i] / l.n
		}
	}
	p := &Prior{w: prior}
	var seen []int
	trace := 0.0
	for i := range dims {
		if all.xx[i][i] > 0 {
			seen = append(seen, i)
			trace += all.xx[i][i]
		}
	}
	for k, w := range solve(seen, &all, priorRidge*trace/float64(max(1, len(seen)))) {
		p.w[seen[k]] = w
	}
	return p
}

// solve returns the weights of these features by Cholesky's decomposition.
func solve(features []int, l *Lessons, ridge float64) []float64 {
	n := len(features)
	c, w := make([][]float64, n), make([]float64, n)
	for i := range n {
		c[i] = make([]float64, i+1)
		for j := range i + 1 {
			s := l.xx[features[i]][features[j]]
			if i == j {
				s += ridge
			}
			for k := range j {
				s -= c[i][k] * c[j][k]
			}
			if i == j {
				c[i][i] = math.Sqrt(s)
			} else {
				c[i][j] = s / c[j][j]
			}
		}
		s := l.xy[features[i]]
		for k := range i {
			s -= c[i][k] * w[k]
		}
		w[i] = s / c[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			w[i] -= c[k][i] * w[k]
		}
		w[i] /= c[i][i]
	}
	return w
}
