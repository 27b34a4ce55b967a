package explore

import (
	"maps"
	"math"
	"slices"

	"forage/graph"
)

// A Sample is what a walk in an undirected graph saw, burn-in left out.
type Sample struct {
	Steps   []Step                     // repeats included
	Uniform bool                       // the walk stands at all nodes equally often (mhrw), else in proportion to degree
	Linked  func(a, b graph.Node) bool // whether two queried nodes are linked; nil: not known
}

// An Estimate is a value with a 95% interval: from the spread when a part of the walk at a
// time is left out (jackknife over 20 parts in a row, which keeps steps that hang together
// together). NaN: it cannot be told.
type Estimate struct{ Value, Low, High float64 }

// Estimates is what a sample tells of the whole graph.
type Estimates struct {
	MeanDegree Estimate
	Size       Estimate // number of nodes, from steps that met [HK13, §4.1]; low for frontier until its walkers have parted
	Clustering Estimate // mean local clustering coefficient [HK13, §3.1]; NaN for uniform walks
	Degrees    []DegreeShare
	Collisions int     // pairs of steps far apart that stood at the same node
	Geweke     float64 // z of the mean log degree, first tenth against last half; beyond ±2 the walk has not settled
	Effective  float64 // independent steps that would tell as much of the log degree
}

// DegreeShare is the share of nodes that have a degree.
type DegreeShare struct {
	Degree int
	Share  float64
}

// Record returns the estimates from so many steps of a policy as JSON can hold them: null for what
// is not known.
func (e *Estimates) Record(policy string, steps int) map[string]any {
	number := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	estimate := func(x Estimate) map[string]any {
		return map[string]any{"value": number(x.Value), "low": number(x.Low), "high": number(x.High)}
	}
	degrees := make([][2]float64, len(e.Degrees))
	for i, d := range e.Degrees {
		degrees[i] = [2]float64{float64(d.Degree), d.Share}
	}
	return map[string]any{
		"policy": policy, "steps": steps, "effective_steps": number(e.Effective), "geweke": number(e.Geweke),
		"mean_degree": estimate(e.MeanDegree), "size": estimate(e.Size), "collisions": e.Collisions,
		"clustering": estimate(e.Clustering), "degrees": degrees,
	}
}

// parts is how many parts the jackknife leaves out in turn.
const parts = 20

// Estimate computes all estimates: by weights 1/degree (Hansen-Hurwitz) for walks that stand at
// a node in proportion to its degree, without weights for uniform ones. Steps at nodes without
// neighbours count only in uniform walks. Time O(steps · parts).
func (s *Sample) Estimate() Estimates {
	steps := s.Steps
	e := Estimates{
		MeanDegree: jackknife(steps, s.meanDegree),
		Size:       jackknife(steps, func(x []Step) float64 { n, _ := s.size(x); return n }),
		Clustering: Estimate{math.NaN(), math.NaN(), math.NaN()},
	}
	_, e.Collisions = s.size(steps)
	if s.Linked != nil && !s.Uniform {
		e.Clustering = jackknife(steps, s.clustering)
	}
	weight := map[int]float64{}
	sum := 0.0
	for _, x := range steps {
		if w := s.weight(x); w > 0 {
			weight[x.Degree] += w
			sum += w
		}
	}
	for _, d := range slices.Sorted(maps.Keys(weight)) {
		e.Degrees = append(e.Degrees, DegreeShare{d, weight[d] / sum})
	}
	logs := make([]float64, len(steps))
	for i, x := range steps {
		logs[i] = math.Log1p(float64(x.Degree))
	}
	first, last := logs[:len(logs)/10], logs[len(logs)/2:]
	m1, v1 := meanVariance(first)
	m2, v2 := meanVariance(last)
	e.Geweke = (m1 - m2) / math.Sqrt(v1+v2)
	if _, v := meanVariance(logs); v > 0 {
		mean, ss := 0.0, 0.0
		for _, x := range logs {
			mean += x / float64(len(logs))
		}
		for _, x := range logs {
			ss += (x - mean) * (x - mean) / float64(len(logs))
		}
		e.Effective = min(float64(len(logs)), ss/v)
	}
	return e
}

func (s *Sample) weight(x Step) float64 {
	if s.Uniform {
		return 1
	}
	if x.Degree == 0 {
		return 0
	}
	return 1 / float64(x.Degree)
}

func (s *Sample) meanDegree(steps []Step) float64 {
	degrees, weights := 0.0, 0.0
	for _, x := range steps {
		w := s.weight(x)
		degrees += w * float64(x.Degree)
		weights += w
	}
	return degrees / weights
}

// size estimates the number of nodes from pairs of steps at least a tenth of the walk apart,
// and returns the number of pairs that stood at one node.
func (s *Sample) size(steps []Step) (n float64, collisions int) {
	gap := max(1, len(steps)/10)
	at := map[graph.Node]int{} // steps so far, gap behind
	sumD, sumW, pairs := 0.0, 0.0, 0.0
	for i, x := range steps {
		if i >= gap {
			y := steps[i-gap]
			at[y.Node]++
			if s.Uniform {
				sumD, sumW = sumD+1, sumW+1
			} else if y.Degree > 0 {
				sumD += float64(y.Degree)
				sumW += 1 / float64(y.Degree)
			}
		}
		collisions += at[x.Node]
		// Σ over earlier y of (d_x/d_y + d_y/d_x)/2, both orders of the pair.
		if s.Uniform {
			pairs += sumD
		} else if x.Degree > 0 {
			pairs += (float64(x.Degree)*sumW + sumD/float64(x.Degree)) / 2
		}
	}
	if collisions == 0 {
		return math.NaN(), 0
	}
	return pairs / float64(collisions), collisions
}

// clustering estimates the mean local clustering coefficient from steps whose two neighbours on
// the walk are linked.
func (s *Sample) clustering(steps []Step) float64 {
	last := map[int][2]Step{} // by walker: the two steps before
	have := map[int]int{}
	linked, weights, n := 0.0, 0.0, 0
	for _, x := range steps {
		l := last[x.Walker]
		if have[x.Walker] >= 2 && l[1].Degree > 0 {
			n++
			weights += 1 / float64(l[1].Degree)
			if l[1].Degree > 1 && l[0].Node != x.Node && s.Linked(l[0].Node, x.Node) {
				linked += 1 / float64(l[1].Degree-1)
			}
		}
		last[x.Walker] = [2]Step{l[1], x}
		have[x.Walker]++
	}
	if n == 0 {
		return math.NaN()
	}
	return linked / weights
}

// jackknife returns value of all steps, with an interval from leaving out a part at a time.
func jackknife(steps []Step, value func([]Step) float64) Estimate {
	e := Estimate{value(steps), math.NaN(), math.NaN()}
	if len(steps) < 2*parts {
		return e
	}
	var left [parts]float64
	mean := 0.0
	rest := make([]Step, 0, len(steps))
	for i := range left {
		rest = append(append(rest[:0], steps[:i*len(steps)/parts]...), steps[(i+1)*len(steps)/parts:]...)
		left[i] = value(rest)
		mean += left[i] / parts
	}
	ss := 0.0
	for _, v := range left {
		ss += (v - mean) * (v - mean)
	}
	half := 2.09 * math.Sqrt(ss*(parts-1)/parts) // Student's t, 19 degrees of freedom
	e.Low, e.High = e.Value-half, e.Value+half
	return e
}

// meanVariance returns the mean and the variance of the mean, from means of parts in a row.
func meanVariance(x []float64) (mean, variance float64) {
	n := min(parts, len(x))
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	var m [parts]float64
	for i := range n {
		part := x[i*len(x)/n : (i+1)*len(x)/n]
		for _, v := range part {
			m[i] += v / float64(len(part))
		}
		mean += m[i] / float64(n)
	}
	for _, v := range m[:n] {
		variance += (v - mean) * (v - mean) / float64(n-1) / float64(n)
	}
	return mean, variance
}
