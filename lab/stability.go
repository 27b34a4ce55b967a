package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"forage/graph"
	"forage/graph/gen"
)

// stability reproduces On the Stability of Web Crawling and Web Search.
var stability = []Experiment{ // [ABCHMT08]
	{"stability-lemma1", "in-degrees of BPPL graphs", lemma1},
	{"stability-lemma2", "vertices 1 and 2 link to each other", lemma2},
	{"stability-lemma3", "a random buffer links to vertices 1 and 2", lemma3},
	{"stability-lemma4", "what vertices 1 and 2 reach, by hop", lemma4},
	{"stability-lemma5", "the pyramid of a set that holds itself is in the core", lemma5},
	{"stability-lemma6", "cliques of the first h vertices", lemma6},
	{"stability-lemma7", "a random buffer links h times to the first h vertices", lemma7},
	{"stability-lemma8", "total degree of the first h vertices", lemma8},
	{"stability-lemma9", "how many have h links from a set of total degree n^γ", lemma9},
	{"stability-lemma10", "total degree of those with h links from a set", lemma10},
	{"stability-theorem1", "size of h-pyramids", theorem1},
	{"stability-theorem2", "core of a buffer of c·n pages", theorem2},
	{"stability-theorem3", "core of a buffer for pages of n^δ links", theorem3},
	{"stability-buffer", "the questions of section 1, by size of the buffer", buffers},
	{"stability-variants", "rules, ties, partial exploration, accuracy, inertia, change", variants},
	{"stability-keep", "what a bounded store loses on site histories, by what it goes by", keepings},
	{"stability-models", "cores in all random graphs of the paper", models},
}

// The lab's tables of [ABCHMT08] stand measured values beside a first-order estimate, in which
// every count of links is Poisson with the mean that the degree vector gives, and beside
// what the paper prints. Most of the printed bounds are Θ, with constants that nobody knows;
// for these, only slopes over n can be compared.

// typicalAlpha is the exponent that the paper works out.
const typicalAlpha = 11. / 4

// A scale is the size of graphs, and how many of them are drawn.
type scale struct{ n, runs int }

// scales are those of lemmas, coreScales those of tables that run buffers to their limit cycles: these sizes take minutes, and those that
// fullScales adds up to an hour.
var (
	scales     = []scale{{1e4, 20}, {1e5, 10}, {1e6, 4}, {1e7, 1}}
	coreScales = []scale{{1e4, 20}, {3e4, 14}, {1e5, 10}, {3e5, 7}, {1e6, 4}}
	fullScales = []scale{{3e6, 2}, {1e7, 1}}
)

// coreScales returns the scales of tables of cores.
func (e *Env) coreScales() []scale {
	if e.Full {
		return slices.Concat(coreScales, fullScales)
	}
	return coreScales
}

// A bench collects the rows of one table.
type bench struct {
	*Result
	env    *Env
	scales []scale
	series map[string]*curve // by quantity and parameters, for slopes
	order  []string
}

// A curve is a quantity over n.
type curve struct {
	quantity, parameters string
	n, measured, poisson []float64
}

// Verdicts of rows.
const (
	holds      = "holds"
	violated   = "VIOLATED"
	noConstant = "constant missing"
	tooWide    = "interval too wide"
)

// Verdicts of slopes.
const (
	agrees    = "slope agrees"
	differs   = "slope DIFFERS"
	bounded   = "slope within the bound"
	outside   = "slope OUTSIDE of the bound"
	undecided = "slope undecided"
	noSlope   = "no slope"
)

// A claim is what the paper says of a quantity by a power of n.
type claim int

const (
	exactly claim = iota // Θ
	atLeast              // Ω, or a lower bound on an expectation
	atMost
)

// Slopes are taken over a few sizes, so that constants and lower terms move them: by slopeTolerance where nothing else is wrong. One whose
// 95% interval is more than slopeWide to a side says too little to agree.
const (
	slopeTolerance = .03
	slopeWide      = .1
)

// judge compares a slope, known up to half, with the one that is claimed.
func judge(c claim, slope, half, printed float64) string {
	low, high := slope-half, slope+half
	switch {
	case math.IsNaN(slope):
		return noSlope
	case math.IsNaN(half): // two sizes
		return tooWide
	case c == exactly && (high < printed-slopeTolerance || low > printed+slopeTolerance):
		return differs
	case c == atLeast && high < printed-slopeTolerance, c == atMost && low > printed+slopeTolerance:
		return outside
	case c == atLeast && low >= printed-slopeTolerance, c == atMost && high <= printed+slopeTolerance:
		return bounded
	case half > slopeWide:
		return tooWide
	case c == exactly && math.Abs(slope-printed) <= slopeTolerance:
		return agrees
	}
	return undecided
}

// judgeAbove compares a quantity, known to be between low and high, with a lower bound.
func judgeAbove(low, high, bound float64) string {
	switch {
	case high < bound:
		return violated
	case low >= bound:
		return holds
	}
	return tooWide
}

func newBench(env *Env) *bench {
	return &bench{
		Result: &Result{Columns: []string{"quantity", "parameters", "n", "runs", "measured", "low", "high", "poisson", "printed", "verdict"}},
		env:    env, scales: scales, series: map[string]*curve{},
	}
}

// row adds measured values (their mean, with a 95% interval) beside the estimate and what is
// printed. printed and verdict may be nil.
func (b *bench) row(quantity, parameters string, n int, values []float64, poisson float64, printed, verdict any) {
	mean, half := meanInterval(values)
	b.rowOf(quantity, parameters, n, len(values), mean, mean-half, mean+half, poisson, printed, verdict)
}

func (b *bench) rowOf(quantity, parameters string, n, runs int, mean, low, high, poisson float64, printed, verdict any) {
	var lo, hi any = low, high
	if runs < 2 {
		lo, hi = nil, nil
	}
	b.Add(quantity, parameters, n, runs, mean, lo, hi, poisson, printed, verdict)
	key := quantity + "|" + parameters
	c := b.series[key]
	if c == nil {
		c = &curve{quantity: quantity, parameters: parameters}
		b.series[key] = c
		b.order = append(b.order, key)
	}
	c.n, c.measured, c.poisson = append(c.n, float64(n)), append(c.measured, mean), append(c.poisson, poisson)
}

// slope adds the exponent of a quantity in n beside the printed one: least squares on the logarithms, with the 95% interval of the fit.
func (b *bench) slope(quantity, parameters string, c claim, printed float64) {
	v := b.series[quantity+"|"+parameters]
	if v == nil {
		return
	}
	s, half := fit(v.n, v.measured)
	p, _ := fit(v.n, v.poisson)
	b.Add("exponent in n of "+quantity, parameters, nil, nil, s, s-half, s+half, p, printed, judge(c, s, half, printed))
}

// verdicts counts the verdicts of a table in a note.
func (b *bench) verdicts() {
	counts := map[string]int{}
	for _, row := range b.Rows {
		if v, ok := row[9].(string); ok && v != noConstant {
			counts[v]++
		}
	}
	slopes := slices.ContainsFunc(b.Rows, func(row []any) bool { return row[2] == nil })
	var parts []string
	for _, v := range []string{holds, violated, agrees, differs, bounded, outside, undecided, tooWide, noSlope} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", v, counts[v]))
		}
	}
	if len(parts) == 0 {
		return
	}
	text := fmt.Sprintf("Verdicts: %s.", strings.Join(parts, ", "))
	if slopes {
		text += fmt.Sprintf(" Slopes are of a few sizes, with 95%% intervals: one agrees within %g of what is printed, and not where its interval is more than %g to a side.", slopeTolerance, slopeWide)
	}
	b.Notef("%s", text)
}

// figure draws all quantities over n.
func (b *bench) figure(title string) *Result {
	panel := Panel{Title: title, X: "n", Y: "measured (points), Poisson estimate (lines)", LogX: true, LogY: true}
	for _, key := range b.order {
		c := b.series[key]
		if len(c.n) < 2 {
			continue
		}
		name := c.quantity
		if c.parameters != "" {
			name += ", " + c.parameters
		}
		panel.Series = append(panel.Series, Series{Name: name, X: c.n, Y: c.measured, Points: true}, Series{Name: name, X: c.n, Y: c.poisson, Model: true})
	}
	b.Figure = &Figure{Panels: []Panel{panel}}
	b.verdicts()
	return b.Result
}

// meanInterval returns the mean and half the width of its 95% interval.
func meanInterval(values []float64) (mean, half float64) {
	for _, x := range values {
		mean += x / float64(len(values))
	}
	if len(values) < 2 {
		return mean, math.NaN()
	}
	v := 0.0
	for _, x := range values {
		v += (x - mean) * (x - mean) / float64(len(values)-1)
	}
	return mean, student(len(values)-1) * math.Sqrt(v/float64(len(values)))
}

// student returns the 97.5% point of Student's distribution with so many degrees of freedom.
func student(freedom int) float64 {
	points := [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086}
	if freedom <= len(points) {
		return points[freedom-1]
	}
	z := 1.959964
	return z + (z*z*z+z)/(4*float64(freedom)) // its first term in 1/freedom: off by .002 at most here
}

// wilson returns the 95% interval of a probability after k of n trials.
func wilson(k, n int) (low, high float64) {
	const z = 1.96
	p, m := float64(k)/float64(n), float64(n)
	mid, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	if low, high = (mid-half)/(1+z*z/m), (mid+half)/(1+z*z/m); k == 0 {
		low = 0 // but for rounding
	}
	return low, high
}

// fit returns the slope of log y over log x, of the points where both are above 0 and finite,
// and half of its 95% interval, NaN for two points.
func fit(x, y []float64) (slope, half float64) {
	var u, v []float64
	for i := range x {
		if x[i] > 0 && y[i] > 0 && !math.IsInf(y[i], 0) {
			u, v = append(u, math.Log(x[i])), append(v, math.Log(y[i]))
		}
	}
	n := float64(len(u))
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	mu, _ := meanInterval(u)
	mv, _ := meanInterval(v)
	sxx, sxy := 0.0, 0.0
	for i := range u {
		sxx += (u[i] - mu) * (u[i] - mu)
		sxy += (u[i] - mu) * (v[i] - mv)
	}
	slope = sxy / sxx
	if n < 3 {
		return slope, math.NaN()
	}
	rest := 0.0
	for i := range u {
		e := v[i] - mv - slope*(u[i]-mu)
		rest += e * e
	}
	return slope, student(len(u)-2) * math.Sqrt(rest/(n-2)/sxx)
}

// A sample is one BPPL graph with the vector that it was drawn from. Node 0 is the paper's
// vertex 1.
type sample struct {
	n, run int
	d      []uint32
	m      float64 // ‖d‖₁
	g      *graph.CSR
	r      *rand.Rand
}

// eachSample draws the graphs of all scales, or only their vectors, and hands them to do; after
// the last of a size, done is called.
func (b *bench) eachSample(ctx context.Context, alpha float64, vectorOnly bool, do func(s *sample), done func(n, runs int)) error {
	for _, scale := range b.scales {
		runs := scale.runs
		if b.env.Runs > 0 {
			runs = b.env.Runs
		}
		for run := range runs {
			if err := ctx.Err(); err != nil {
				return err
			}
			seed := b.env.Seed<<20 + uint64(run)
			d, err := gen.ParetoDegrees(alpha, scale.n, seed)
			if err != nil {
				return err
			}
			s := &sample{n: scale.n, run: run, d: d, r: rand.New(rand.NewPCG(seed, uint64(scale.n)))}
			for _, k := range d {
				s.m += float64(k)
			}
			if !vectorOnly {
				if s.g, err = gen.BPPL(alpha, scale.n, gen.DrawnEnds, gen.Options{Seed: seed}); err != nil {
					return err
				}
			}
			do(s)
		}
		done(scale.n, runs)
		b.env.progress("n = %d: %d graphs", scale.n, runs)
	}
	return nil
}

func (e *Env) progress(format string, args ...any) {
	if e.Progress != nil {
		fmt.Fprintf(e.Progress, "forage: "+format+"\n", args...)
	}
}

// poissonAtLeast returns P(X ≥ h) of a Poisson variable of the given mean.
func poissonAtLeast(mean float64, h int) float64 {
	if h <= 0 {
		return 1
	}
	if mean > 700 {
		// Far above any h in use, or a normal tail.
		z := (float64(h) - 0.5 - mean) / math.Sqrt(mean)
		return 0.5 * math.Erfc(z/math.Sqrt2)
	}
	term, sum := math.Exp(-mean), 0.0
	for k := range h {
		sum += term
		term *= mean / float64(k+1)
	}
	if tail := 1 - sum; tail > 1e-9 {
		return tail
	}
	// The tail itself, where 1 − sum has no digits left.
	tail := 0.0
	for k := h; term > 0 && k < h+1000; k++ {
		tail += term
		term *= mean / float64(k+1)
		if term < tail*1e-17 {
			break
		}
	}
	return tail
}

// overDegrees sums f(k)·(nodes of degree k) over the vector, which is descending, so that f
// is computed once for each degree.
func (s *sample) overDegrees(from int, f func(k float64) float64) float64 {
	sum := 0.0
	for i := from; i < len(s.d); {
		j := i
		for j < len(s.d) && s.d[j] == s.d[i] {
			j++
		}
		sum += float64(j-i) * f(float64(s.d[i]))
		i = j
	}
	return sum
}

// binomial draws the number of successes in m trials of probability p, by the gaps between them.
func binomial(r *rand.Rand, m, p float64) int {
	if p <= 0 {
		return 0
	}
	if p >= 1 {
		return int(m)
	}
	k, at := 0, 0.0
	for {
		at += math.Floor(math.Log1p(-r.Float64())/math.Log1p(-p)) + 1
		if at > m {
			return k
		}
		k++
	}
}

// indegrees returns the in-degrees of a graph.
func indegrees(g *graph.CSR) []uint32 {
	in := make([]uint32, g.NumNodes())
	for _, v := range g.Succ {
		in[v]++
	}
	return in
}

// topNodes returns 0, 1, … h−1: the paper's vertices 1 … h.
func topNodes(h int) []graph.Node {
	out := make([]graph.Node, h)
	for i := range out {
		out[i] = graph.Node(i)
	}
	return out
}

// votedAtLeast returns the nodes with at least h links from a set that are not in seen, ascending,
// and marks them there. count is scratch: zero for all nodes before and after.
func votedAtLeast(g *graph.CSR, set []graph.Node, h int, seen []bool, count []uint32) []graph.Node {
	var touched []graph.Node
	for _, u := range set {
		for _, v := range g.Successors(u) {
			if count[v]++; count[v] == 1 {
				touched = append(touched, v)
			}
		}
	}
	var out []graph.Node
	for _, v := range touched {
		if int(count[v]) >= h && !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
		count[v] = 0
	}
	slices.Sort(out)
	return out
}
