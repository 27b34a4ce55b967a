package lab

import (
	"math"
	"testing"

	"forage/graph"
	"forage/internal/shared"
)

// TestLouvain: two cliques of five joined by an edge are two communities; modularity by hand.
func TestLouvain(t *testing.T) {
	var arcs []graph.Arc
	for v := range graph.Node(10) {
		for u := range v {
			if u/5 == v/5 {
				arcs = append(arcs, graph.Arc{From: u, To: v})
			}
		}
	}
	arcs = append(arcs, graph.Arc{From: 4, To: 5})
	q, k := louvain(graph.FromArcs(10, arcs).Undirected())
	if want := 2 * (20.0/42 - 0.25); k != 2 || math.Abs(q-want) > 1e-12 {
		t.Errorf("louvain = %v, %d communities; want %v, 2", q, k, want)
	}
	if q, k := louvain(graph.FromArcs(3, nil)); q != 0 || k != 3 {
		t.Errorf("louvain of no edges = %v, %d", q, k)
	}
}

// TestDETable1 compares sizes with the printed table, exactly up to the paper's extra edge,
// and the modularity of small networks.
func TestDETable1(t *testing.T) {
	nets, missing, err := networks(&Env{Data: shared.Path(t, "data", "networks")})
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) != 6 || len(nets) != 13 {
		t.Errorf("%d networks, %v missing; want 13 and 6", len(nets), missing)
	}
	for _, net := range nets {
		if net.paper == nil {
			continue
		}
		n, m := net.graph.NumNodes(), int(net.graph.NumArcs()/2)
		if n != net.paper.nodes || net.paper.edges-m > 1 || net.paper.edges < m {
			t.Errorf("%s: %d nodes, %d edges; printed %d, %d", net.name, n, m, net.paper.nodes, net.paper.edges)
		}
		if n > 3000 {
			continue
		}
		if q, _ := louvain(net.graph); math.Abs(q-net.paper.modularity) > 0.03 {
			t.Errorf("%s: modularity %.3f, printed %.2f", net.name, q, net.paper.modularity)
		}
	}
}
