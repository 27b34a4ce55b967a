package explore

import "math"

// A Prior holds the weights from which the policies learned and best start.
type Prior struct {
	w     vector
	pages pageVector // of best
}

// NoPrior returns weights of 0: learned then knows nothing before its first answer, and best takes pages in
// the order of first observation until kinds of them differ.
func NoPrior() *Prior { return &Prior{} }

// Lessons are what crawls by learned or best met, in sums: the features of each node as it was when it was
// chosen, and what it showed. The zero value is none. They take O(dims²) memory, however long the
// crawls are.
type Lessons struct{ nodes, pages moments }

// moments are sums over examples: features x, and what y they came with.
type moments struct {
	n  float64
	xx [][]float64 // by feature, the products with it and those before; nil: no examples
	xy []float64
}

// add notes one node: its features, and log(1 + new nodes).
func (m *moments) add(x []float64, y float64) {
	if m.xx == nil {
		m.grow(len(x))
	}
	m.n++
	for i, a := range x {
		if a == 0 {
			continue
		}
		for j, b := range x[:i+1] {
			m.xx[i][j] += a * b
		}
		m.xy[i] += a * y
	}
}

func (m *moments) grow(dims int) {
	m.xx, m.xy = make([][]float64, dims), make([]float64, dims)
	for i := range m.xx {
		m.xx[i] = make([]float64, i+1)
	}
}

// The ridge keeps the regressions of FitPrior away from directions in which the lessons say next to nothing, as a share of
// the mean second moment of a feature.
const (
	priorRidge = 1e-4
	pageRidge  = 0.03 // of 10⁻⁴ to 0.3, with the features that there are, best on the whole out of fold
)

// FitPrior returns the weights of linear regressions over the lessons of several networks or sites, each
// weighing the same however many nodes were queried there. Features that no lesson had keep the weights that come with the policy.
// Time O(dims³).
func FitPrior(networks []*Lessons) *Prior {
	p := startPrior()
	var nodes, pages []*moments
	for _, l := range networks {
		nodes, pages = append(nodes, &l.nodes), append(pages, &l.pages)
	}
	fit(p.w[:], nodes, priorRidge)
	fit(p.pages[:], pages, pageRidge)
	return p
}

// startPrior returns the weights that come with the policies.
func startPrior() *Prior { return &Prior{w: prior, pages: pagePrior} }

// fit replaces the weights of those features that examples had.
func fit(w []float64, parts []*moments, ridge float64) {
	var all moments
	all.grow(len(w))
	for _, m := range parts {
		if m.n == 0 {
			continue
		}
		all.n++
		for i := range w {
			for j := range i + 1 {
				all.xx[i][j] += m.xx[i][j] / m.n
			}
			all.xy[i] += m.xy[i] / m.n
		}
	}
	var seen []int
	trace := 0.0
	for i := range w {
		if all.xx[i][i] > 0 {
			seen = append(seen, i)
			trace += all.xx[i][i]
		}
	}
	for k, x := range solve(seen, &all, ridge*trace/float64(max(1, len(seen)))) {
		w[seen[k]] = x
	}
}

// solve returns the weights of these features by Cholesky's decomposition.
func solve(features []int, l *moments, ridge float64) []float64 {
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
