// Package exploretest is the suite that every explorer passes: it asks only for open nodes,
// each once, reaches all that can be reached, does not let what it has not seen sway it, and
// gives the same row of queries for the same seed.
package exploretest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"forage/explore"
	"forage/graph"
)

// Graphs returns small graphs of many shapes, by name. Undirected ones hold each edge in both
// directions.
func Graphs(directed bool) map[string]*graph.CSR {
	r := rand.New(rand.NewPCG(7, 7))
	arcs := func(n, m int) []graph.Arc {
		a := make([]graph.Arc, m)
		for i := range a {
			a[i] = graph.Arc{From: graph.Node(r.IntN(n)), To: graph.Node(r.IntN(n))}
		}
		return a
	}
	star, path, clique := []graph.Arc{}, []graph.Arc{}, []graph.Arc{}
	for v := graph.Node(1); v < 40; v++ {
		star = append(star, graph.Arc{From: 0, To: v})
		path = append(path, graph.Arc{From: v - 1, To: v})
		for u := range v % 12 {
			clique = append(clique, graph.Arc{From: v, To: v - v%12 + u})
		}
		if v%12 == 0 {
			clique = append(clique, graph.Arc{From: v - 1, To: v})
		}
	}
	hubs := arcs(400, 300)
	for range 900 {
		hubs = append(hubs, graph.Arc{From: graph.Node(r.IntN(400)), To: graph.Node(r.IntN(6))})
	}
	gs := map[string]*graph.CSR{
		"single":       graph.FromArcs(1, nil),
		"self-loop":    graph.FromArcs(2, []graph.Arc{{From: 0, To: 0}, {From: 0, To: 1}}),
		"isolated":     graph.FromArcs(5, []graph.Arc{{From: 1, To: 2}}),
		"star":         graph.FromArcs(40, star),
		"path":         graph.FromArcs(40, path),
		"cliques":      graph.FromArcs(40, clique),
		"sparse":       graph.FromArcs(300, arcs(300, 280)),
		"dense":        graph.FromArcs(60, arcs(60, 1500)),
		"hubs":         graph.FromArcs(400, hubs),
		"disconnected": graph.FromArcs(200, append(arcs(100, 300), graph.Arc{From: 150, To: 160})),
	}
	if !directed {
		for name, g := range gs {
			gs[name] = g.Undirected()
		}
	}
	return gs
}

// Query is one query of a run and its answer.
type Query struct {
	Node graph.Node
	Out  []graph.Node
}

// Explore runs the policy of that name on g from node 0 with a budget of all nodes, and fails
// the test when it asks for a node that it could not know or asks twice.
func Explore(t *testing.T, name string, g *graph.CSR, directed bool, seed uint64) (*explore.Hidden, []Query) {
	t.Helper()
	h := explore.NewHidden(g, seed)
	start, err := h.Start(0)
	if err != nil {
		t.Fatal(err)
	}
	var row []Query
	_, err = explore.Run(newPolicy(t, name, g, h, directed, seed), h, start, g.NumNodes(), func(v graph.Node, out []graph.Node) {
		row = append(row, Query{v, slices.Clone(out)})
	})
	if err != nil {
		t.Fatalf("seed %d, query %d: %v", seed, len(row), err)
	}
	return h, row
}

func newPolicy(t *testing.T, name string, g *graph.CSR, h *explore.Hidden, directed bool, seed uint64) explore.Policy {
	t.Helper()
	c := explore.Config{Rand: rand.New(rand.NewPCG(seed, 2)), Budget: g.NumNodes(), Directed: directed}
	if name == "med" {
		c.Degree = h.Degree
	}
	p, err := explore.New(name, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Test runs the suite on the policy that explore.New gives for name.
func Test(t *testing.T, name string) {
	for _, directed := range []bool{false, true} {
		for shape, g := range Graphs(directed) {
			for seed := range uint64(3) {
				h, row := Explore(t, name, g, directed, seed)
				reach := 0
				for _, layer := range g.Layers([]graph.Node{0}, -1) {
					reach += len(layer)
				}
				if len(row) != reach || h.Observed() != reach {
					t.Errorf("%s, directed %v, seed %d: %d queries, %d observed; %d nodes can be reached", shape, directed, seed, len(row), h.Observed(), reach)
				}
				if _, again := Explore(t, name, g, directed, seed); !equal(row, again) {
					t.Errorf("%s, directed %v, seed %d: a second run differs", shape, directed, seed)
				}
				if name != "med" {
					honest(t, name, shape, g, directed, seed, row)
				}
			}
			parallel(t, name, shape, g, directed)
		}
	}
}

func equal(a, b []Query) bool {
	return slices.EqualFunc(a, b, func(x, y Query) bool { return x.Node == y.Node && slices.Equal(x.Out, y.Out) })
}

// honest changes the graph where a run has not looked yet: up to that point a second run must
// ask the same.
func honest(t *testing.T, name, shape string, g *graph.CSR, directed bool, seed uint64, row []Query) {
	t.Helper()
	half := len(row) / 2
	looked := map[graph.Node]bool{}
	h := explore.NewHidden(g, seed)
	if _, err := h.Start(0); err != nil {
		t.Fatal(err)
	}
	for _, q := range row[:half] {
		if _, err := h.Query(q.Node); err != nil {
			t.Fatal(err)
		}
		looked[h.Name(q.Node)] = true
	}
	r := rand.New(rand.NewPCG(seed, 3))
	var arcs []graph.Arc
	for v := range graph.Node(g.NumNodes()) {
		for _, u := range g.Successors(v) {
			if looked[v] || looked[u] && !directed || r.IntN(2) == 0 {
				arcs = append(arcs, graph.Arc{From: v, To: u})
			}
		}
	}
	for range 2 * g.NumNodes() {
		v, u := graph.Node(r.IntN(g.NumNodes())), graph.Node(r.IntN(g.NumNodes()))
		if !looked[v] && (directed || !looked[u]) {
			arcs = append(arcs, graph.Arc{From: v, To: u})
		}
	}
	other := graph.FromArcs(g.NumNodes(), arcs)
	if !directed { // dropped halves of edges come back or go, both ends not looked at
		var mutual []graph.Arc
		for _, a := range arcs {
			mutual = append(mutual, a, graph.Arc{From: a.To, To: a.From})
		}
		other = graph.FromArcs(g.NumNodes(), mutual)
	}
	h, changed := Explore(t, name, other, directed, seed)
	if len(changed) < half || !equal(row[:half], changed[:half]) {
		t.Errorf("%s, directed %v, seed %d: arcs of nodes that were not queried changed the first %d queries", shape, directed, seed, half)
	}
	_ = h
}

// parallel keeps several queries under way, answers them out of order and lets some fail.
func parallel(t *testing.T, name, shape string, g *graph.CSR, directed bool) {
	t.Helper()
	h := explore.NewHidden(g, 5)
	p := newPolicy(t, name, g, h, directed, 5)
	start, err := h.Start(0)
	if err != nil {
		t.Fatal(err)
	}
	p.Observe(graph.None, []graph.Node{start})
	r := rand.New(rand.NewPCG(5, 5))
	asked := map[graph.Node]bool{}
	var under []graph.Node
	for {
		for len(under) < 8 {
			v, ok := p.Next()
			if !ok {
				break
			}
			if asked[v] || int(v) >= h.Observed() {
				t.Fatalf("%s, directed %v: node %d handed out twice or never observed", shape, directed, v)
			}
			asked[v] = true
			under = append(under, v)
		}
		if len(under) == 0 {
			break
		}
		i := r.IntN(len(under))
		v := under[i]
		under = slices.Delete(under, i, i+1)
		out, err := h.Query(v)
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(10) == 0 {
			p.Observe(v, nil)
			continue
		}
		p.Observe(v, out)
		if r.IntN(10) == 0 && h.Observed() > 0 { // known from elsewhere
			if u := graph.Node(r.IntN(h.Observed())); !asked[u] {
				if out, err := h.Query(u); err == nil {
					asked[u] = true
					p.Observe(u, out)
				}
			}
		}
	}
}
