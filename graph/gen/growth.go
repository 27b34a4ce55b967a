package gen

import (
	"fmt"
	"math"

	"forage/graph"
)

// A growing graph is an arc list with degrees in it: the source of a random arc is a node
// drawn by its out-degree, the target one drawn by its in-degree.
type growing struct {
	r    splitmix
	n    int // nodes
	arcs []graph.Arc
}

// source draws a node by its out-degree plus a constant.
func (g *growing) source(constant float64) graph.Node {
	if g.byDegree(constant) {
		return g.arcs[g.r.below(uint64(len(g.arcs)))].From
	}
	return graph.Node(g.r.below(uint64(g.n)))
}

// target draws a node by its in-degree plus a constant.
func (g *growing) target(constant float64) graph.Node {
	if g.byDegree(constant) {
		return g.arcs[g.r.below(uint64(len(g.arcs)))].To
	}
	return graph.Node(g.r.below(uint64(g.n)))
}

func (g *growing) byDegree(constant float64) bool {
	m := float64(len(g.arcs))
	return len(g.arcs) > 0 && g.r.unit()*(m+constant*float64(g.n)) < m
}

func (g *growing) add(u, v graph.Node) { g.arcs = append(g.arcs, graph.Arc{From: u, To: v}) }

func (g *growing) graph(o Options) *graph.CSR {
	return simple(g.n, [][]graph.Arc{g.arcs}, o)
}

// ScaleFreeConfig says how a directed scale-free graph grows. Each step draws one of three:
type ScaleFreeConfig struct {
	NewSource float64 // probability of a new node with an arc to a node drawn by in-degree
	Between   float64 // … of an arc between nodes drawn by out- and by in-degree
	NewTarget float64 // … of a new node with an arc from a node drawn by out-degree
	In, Out   float64 // constants that are added to in- and out-degrees when drawing
}

// ThreeWayCoins is the first model of [ABCHMT08, §5], with 1 for "some constant".
var ThreeWayCoins = ScaleFreeConfig{NewSource: 1. / 3, Between: 1. / 3, NewTarget: 1. / 3, In: 1, Out: 1}

// ScaleFree returns a directed scale-free graph of n nodes [BBCR03, §2], grown from one node
// without arcs. It is an error unless the probabilities sum to 1 (within 1e−9), new nodes come,
// and the constants are above 0. One thread does all but the sorting. Time O(arcs),
// memory 12 bytes an arc.
func ScaleFree(n int, c ScaleFreeConfig, o Options) (*graph.CSR, error) {
	if err := checkNodes(n); err != nil {
		return nil, err
	}
	if c.NewSource < 0 || c.Between < 0 || c.NewTarget < 0 || math.Abs(c.NewSource+c.Between+c.NewTarget-1) > 1e-9 {
		return nil, fmt.Errorf("probabilities %v, %v and %v: want them at least 0 and their sum 1", c.NewSource, c.Between, c.NewTarget)
	}
	if c.NewSource+c.NewTarget < 1e-3 {
		return nil, fmt.Errorf("a new node comes with probability %v: want at least 0.001", c.NewSource+c.NewTarget)
	}
	if !(c.In > 0 && c.Out > 0) {
		return nil, fmt.Errorf("constants %v and %v: want them above 0", c.In, c.Out)
	}
	g := growing{r: stream(o.Seed, 0), n: min(n, 1)}
	for g.n < n {
		switch x := g.r.unit(); {
		case x < c.NewSource:
			v := g.target(c.In)
			g.add(graph.Node(g.n), v)
			g.n++
		case x < c.NewSource+c.NewTarget:
			u := g.source(c.Out)
			g.add(u, graph.Node(g.n))
			g.n++
		default:
			u := g.source(c.Out)
			g.add(u, g.target(c.In))
		}
	}
	return g.graph(o), nil
}

// ThreeArcs returns a graph of n nodes, the third model of [ABCHMT08, §5]: each new node
// comes with an arc to a node drawn by in-degree and one from a node drawn by out-degree, both
// older, and a third arc leads from an older node drawn by out-degree to one drawn by
// in-degree. "Some constant", added to the degrees, is 1.
func ThreeArcs(n int, o Options) (*graph.CSR, error) {
	if err := checkNodes(n); err != nil {
		return nil, err
	}
	g := growing{r: stream(o.Seed, 0), n: min(n, 1)}
	for g.n < n {
		v := graph.Node(g.n)
		to, from := g.target(1), g.source(1)
		u, w := g.source(1), g.target(1)
		g.add(v, to)
		g.add(from, v)
		g.add(u, w)
		g.n++
	}
	return g.graph(o), nil
}
