package gen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"forage/graph"
)

// ParetoDegrees returns the degree vector d of the bounded Pareto distribution of n nodes,
// descending, with C·n·k^−α nodes of degree k on average, C = 1/ζ(α) [ABCHMT08, §3].
//
// Each degree k below k0, the least with C·n·k^−α < 1, gets ⌊C·n·k^−α⌋ nodes, and one more with
// the fraction as probability; the i-th of the nodes that are left gets h_i, the largest h with
// Σ_{k≥h} C·n·k^−α ≥ i. The paper's index runs this head backwards, which would not be sorted.
// It is an error if α is not above 1 or the degrees sum to more than a generator can hold:
// for α < 2 the largest alone is about n^(1/(α−1)).
func ParetoDegrees(alpha float64, n int, seed uint64) ([]uint32, error) {
	if err := checkNodes(n); err != nil {
		return nil, err
	}
	if !(alpha > 1) || math.IsInf(alpha, 1) {
		return nil, fmt.Errorf("the exponent α is %v: want a finite number above 1", alpha)
	}
	r := stream(seed, 1<<63)
	cn := float64(n) / hurwitz(alpha, 1)
	tail := make([]uint32, 0, n) // ascending
	for k := 1; len(tail) < n; k++ {
		x := cn * math.Pow(float64(k), -alpha)
		if x < 1 {
			break
		}
		whole := math.Floor(x)
		entries := int(whole)
		if r.unit() < x-whole {
			entries++
		}
		for range min(entries, n-len(tail)) {
			tail = append(tail, uint32(k))
		}
	}
	head := n - len(tail)
	d := make([]uint32, n)
	sum := 0.0
	for i := range head {
		h := largestDegree(alpha, cn, float64(i+1))
		if sum += h; sum > maxArcs || h > math.MaxUint32 {
			return nil, fmt.Errorf("α = %v asks %d nodes for more than %.3g arcs, at most %d fit: raise α or take fewer nodes", alpha, n, sum, uint64(maxArcs))
		}
		d[i] = uint32(h)
	}
	for i, k := range tail {
		d[n-1-i] = k
	}
	// Where the fractions fell low, the last of the head reach below k0.
	slices.SortFunc(d, func(a, b uint32) int { return cmp.Compare(b, a) })
	return d, nil
}

// largestDegree returns the largest h with cn·ζ(α, h) ≥ i.
func largestDegree(alpha, cn, i float64) float64 {
	lo, hi := 1.0, 2.0
	for cn*hurwitz(alpha, hi) >= i && hi < 1<<52 {
		lo, hi = hi, hi*2
	}
	for hi-lo > 1 {
		if mid := math.Floor((lo + hi) / 2); cn*hurwitz(alpha, mid) >= i {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// hurwitz returns ζ(s, q) = Σ_{k≥0} (q+k)^−s for s > 1 and q ≥ 1, by Euler and Maclaurin's
// formula after ten terms; the error is below 1e−13 of the value.
func hurwitz(s, q float64) float64 {
	sum := 0.0
	for range 10 {
		sum += math.Pow(q, -s)
		q++
	}
	t := math.Pow(q, -s)
	sum += t*q/(s-1) + t/2
	// B_2j/(2j)! times the rising factorial s(s+1)…(s+2j−2) times q^(−s−2j+1).
	t *= s / q
	for j, c := range []float64{1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160} {
		sum += c * t
		x := s + float64(2*j)
		t *= (x + 1) * (x + 2) / (q * q)
	}
	return sum
}

// Ends tells how the arcs of a BPPL graph find their ends.
type Ends int

const (
	// DrawnEnds draws both ends of each of the m = ‖d‖₁ arcs from d: the model of [ABCHMT08, §3].
	DrawnEnds Ends = iota
	// FixedOut gives node i exactly d_i arcs and draws their targets from d [ABCHMT08, §4.4].
	FixedOut
	// FixedBoth gives node i exactly d_i arcs out and d_i in, by a random permutation of the
	// targets [ABCHMT08, §4.4].
	FixedBoth
)

// BPPL returns a random (α, n)-BPPL graph: node v has expected degrees d_v, descending, so
// that node 0 is the paper's vertex 1. Self-loops and parallel arcs are dropped, not drawn
// again [ABCHMT08, §4.4]; o.Loops keeps self-loops, BPPLArcs all. See ParetoDegrees for errors.
// Memory: 12 bytes an arc, 20 a node; the result takes 4 and 8.
func BPPL(alpha float64, n int, ends Ends, o Options) (*graph.CSR, error) {
	blocks, err := BPPLArcs(alpha, n, ends, o)
	if err != nil {
		return nil, err
	}
	return simple(n, blocks, o), nil
}

// BPPLArcs returns the arcs of a BPPL graph as they were drawn, with self-loops and parallel
// arcs.
func BPPLArcs(alpha float64, n int, ends Ends, o Options) ([][]graph.Arc, error) {
	d, err := ParetoDegrees(alpha, n, o.Seed)
	if err != nil || n == 0 {
		return nil, err
	}
	switch ends {
	case FixedOut:
		a, err := NewAlias(d)
		if err != nil {
			return nil, err
		}
		begin := prefix(d)
		return draw(begin[n], o, func(r *splitmix, first uint64, block []graph.Arc) {
			sources(begin, first, block)
			for i := range block {
				block[i].To = graph.Node(a.draw(r))
			}
		})
	case FixedBoth:
		begin := prefix(d)
		m := begin[n]
		if m > maxArcs {
			return nil, fmt.Errorf("%d arcs: want at most %d", m, uint64(maxArcs))
		}
		to := make([]graph.Node, 0, m)
		for v, k := range d {
			for range k {
				to = append(to, graph.Node(v))
			}
		}
		r := stream(o.Seed, 1<<63+1)
		for i := m; i > 1; i-- {
			j := r.below(i)
			to[i-1], to[j] = to[j], to[i-1]
		}
		return draw(m, o, func(_ *splitmix, first uint64, block []graph.Arc) {
			sources(begin, first, block)
			for i := range block {
				block[i].To = to[first+uint64(i)]
			}
		})
	}
	return InOutArcs(d, d, prefix(d)[n], o)
}

// prefix returns the sums of the first i degrees, i = 0 … len(d).
func prefix(d []uint32) []uint64 {
	begin := make([]uint64, len(d)+1)
	for v, k := range d {
		begin[v+1] = begin[v] + uint64(k)
	}
	return begin
}

// sources sets the sources of the arcs first, first+1, … where node v has those of
// [begin[v], begin[v+1]).
func sources(begin []uint64, first uint64, block []graph.Arc) {
	v := sort.Search(len(begin), func(v int) bool { return begin[v] > first }) - 1
	for i := range block {
		for begin[v+1] <= first+uint64(i) {
			v++
		}
		block[i].From = graph.Node(v)
	}
}

// InOut returns the graph of m arcs, each with a source drawn by the weights out and a target
// drawn by the weights in, which are of the same length: the second model of
// [ABCHMT08, §5]. Parallel arcs count once; self-loops are dropped unless o keeps them.
func InOut[W uint32 | uint64 | float64](out, in []W, m uint64, o Options) (*graph.CSR, error) {
	blocks, err := InOutArcs(out, in, m, o)
	if err != nil {
		return nil, err
	}
	return simple(len(out), blocks, o), nil
}

// InOutArcs returns the arcs of InOut as they were drawn.
func InOutArcs[W uint32 | uint64 | float64](out, in []W, m uint64, o Options) ([][]graph.Arc, error) {
	if len(out) != len(in) {
		return nil, fmt.Errorf("weights of %d sources and %d targets: want as many", len(out), len(in))
	}
	if m == 0 {
		return nil, nil
	}
	from, err := NewAlias(out)
	if err != nil {
		return nil, fmt.Errorf("weights of the sources: %w", err)
	}
	to, err := NewAlias(in)
	if err != nil {
		return nil, fmt.Errorf("weights of the targets: %w", err)
	}
	return draw(m, o, func(r *splitmix, _ uint64, block []graph.Arc) {
		for i := range block {
			block[i] = graph.Arc{From: graph.Node(from.draw(r)), To: graph.Node(to.draw(r))}
		}
	})
}
