package gen

import (
	"slices"

	"forage/graph"
)

// Params are the parameters of the generators of Generators; each uses those that it names.
type Params struct {
	Nodes  int
	Arcs   uint64  // of models that draw a number of arcs
	Alpha  float64 // exponent of the degrees, above 1
	AlphaT float64 // exponent of the in-degrees where it is another; 0: Alpha
	Degree int     // of weblike the least out-degree, of copying the out-degree
	Random float64 // of copying: the share of links that are not copied
	RMAT   RMATConfig
	Options
}

// A Generator is a random graph by its name on the command line.
type Generator struct {
	Name  string
	Short string   // one line
	Uses  []string // of "arcs", "alpha", "alpha-in", "degree", "random", "rmat", "loops", beside nodes and seed
	Make  func(p Params) (*graph.CSR, error)
}

// Generators returns all generators, the large web-like one first.
func Generators() []Generator {
	return append([]Generator{
		{"weblike", "hosts, Pareto degrees, links copied from neighbours, in URL order", []string{"degree"}, func(p Params) (*graph.CSR, error) {
			return Weblike(p.Nodes, p.Degree, p.Seed)
		}},
		{"rmat", "arcs dropped into quarters of quarters of the matrix [CZF04, §3]", []string{"arcs", "rmat", "loops"}, func(p Params) (*graph.CSR, error) {
			return RMAT(p.Nodes, p.Arcs, p.RMAT, p.Options)
		}},
		{"copying", "growth by copying the links of a prototype [KRRSTU00, §2.1]", []string{"degree", "random"}, func(p Params) (*graph.CSR, error) {
			return Copying(p.Nodes, p.Degree, p.Random, p.Options)
		}},
	}, Stability()...)
}

// Stability returns the random graphs of the paper on the stability of crawling, and of its
// section 5.
func Stability() []Generator {
	bppl := func(ends Ends) func(Params) (*graph.CSR, error) {
		return func(p Params) (*graph.CSR, error) { return BPPL(p.Alpha, p.Nodes, ends, p.Options) }
	}
	degree := []string{"alpha", "loops"}
	return []Generator{
		{"bppl", "bounded Pareto degrees, both ends of each arc drawn [ABCHMT08, §3]", degree, bppl(DrawnEnds)},
		{"bppl-out", "bounded Pareto degrees, out-degrees exact [ABCHMT08, §4.4]", degree, bppl(FixedOut)},
		{"bppl-exact", "bounded Pareto degrees, out- and in-degrees exact [ABCHMT08, §4.4]", degree, bppl(FixedBoth)},
		{"inout", "arcs drawn by independent power-law out- and in-degrees [ABCHMT08, §5]", []string{"arcs", "alpha", "alpha-in", "loops"}, makeInOut},
		{"chung-lu", "independent arcs by expected bounded Pareto degrees [ABCHMT08, §5]", []string{"alpha"}, func(p Params) (*graph.CSR, error) {
			d, err := ParetoDegrees(p.Alpha, p.Nodes, p.Seed)
			if err != nil {
				return nil, err
			}
			w := make([]float64, len(d))
			for v, k := range d {
				w[v] = float64(k)
			}
			return ChungLu(w, p.Options)
		}},
		{"growth", "growth by three-way coins [ABCHMT08, §5]", []string{"loops"}, func(p Params) (*graph.CSR, error) {
			return ScaleFree(p.Nodes, ThreeWayCoins, p.Options)
		}},
		{"three-arcs", "growth by a node and three arcs a step [ABCHMT08, §5]", []string{"loops"}, func(p Params) (*graph.CSR, error) {
			return ThreeArcs(p.Nodes, p.Options)
		}},
		{"scale-free", "directed scale-free growth, 7 arcs a node [BBCR03, §2]", []string{"loops"}, func(p Params) (*graph.CSR, error) {
			return ScaleFree(p.Nodes, ScaleFreeConfig{NewSource: 2. / 21, Between: 18. / 21, NewTarget: 1. / 21, In: 1, Out: 1}, p.Options)
		}},
	}
}

// makeInOut draws both degree vectors and lays the one of the targets over the nodes in random
// order, so that the two are independent.
func makeInOut(p Params) (*graph.CSR, error) {
	if p.AlphaT == 0 {
		p.AlphaT = p.Alpha
	}
	out, err := ParetoDegrees(p.Alpha, p.Nodes, p.Seed)
	if err != nil {
		return nil, err
	}
	in, err := ParetoDegrees(p.AlphaT, p.Nodes, p.Seed+1)
	if err != nil {
		return nil, err
	}
	r := stream(p.Seed, 1<<63+2)
	for i := len(in) - 1; i > 0; i-- {
		j := r.below(uint64(i + 1))
		in[i], in[j] = in[j], in[i]
	}
	m := p.Arcs
	if m == 0 && len(out) > 0 {
		m = prefix(out)[len(out)]
	}
	return InOut(out, in, m, p.Options)
}

// Cost tells what making the graph of p takes: about how many arcs it will have, the bytes of
// memory, and the seconds. Arcs of weblike and copying follow from the degree; those of models by
// exponent are a bound for exponents above 2, and ten a node where that tells nothing.
func (g Generator) Cost(p Params) (arcs float64, memory int64, seconds float64) {
	n := float64(p.Nodes)
	arcs, rate := n*10, 5e6
	switch {
	case g.Name == "weblike":
		arcs, rate = n*float64(p.Degree)*1.45, 15e6 // 1.43 at degree 21, 1.47 at degree 14
	case g.Name == "copying":
		arcs, rate = n*float64(p.Degree), 15e6
	case p.Arcs > 0:
		arcs = float64(p.Arcs)
	case slices.Contains(g.Uses, "alpha") && p.Alpha > 2:
		arcs = n * 4 / (p.Alpha - 2)
	}
	memory = int64(8*n + 12*arcs)
	if g.Name == "weblike" {
		memory = int64(8*n + 4*n*float64(p.Degree)*1.75)
	}
	return arcs, memory, arcs / rate
}
