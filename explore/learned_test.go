package explore

import (
	"math"
	"math/rand/v2"
	"testing"

	"forage/graph"
)

// TestAround: what sources count of their surroundings, kept up from answer to answer, is what a count of the whole sample says, and open
// nodes have the sums of what their parents told, in whatever order answers come and with several queries under way.
func TestAround(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		const n = 120
		var arcs []graph.Arc
		for v := graph.Node(1); v < n; v++ {
			for range 1 + r.IntN(4) {
				if u := graph.Node(r.IntN(int(v))); seed%2 == 0 || r.IntN(2) == 0 {
					arcs = append(arcs, graph.Arc{From: v, To: u}, graph.Arc{From: u, To: v})
				} else {
					arcs = append(arcs, graph.Arc{From: u, To: v})
				}
			}
		}
		g := graph.FromArcs(n, arcs)
		p := newLearned(Config{Rand: r, Directed: seed%2 == 1})
		p.Observe(graph.None, []graph.Node{0})
		var underWay []graph.Node
		for range 80 {
			for len(underWay) < 1+r.IntN(4) {
				v, ok := p.Next()
				if !ok {
					break
				}
				underWay = append(underWay, v)
			}
			if len(underWay) == 0 {
				break
			}
			i := r.IntN(len(underWay))
			v := underWay[i]
			underWay = append(underWay[:i], underWay[i+1:]...)
			p.Observe(v, g.Successors(v))
			compareAround(t, p)
		}
	}
}

// compareAround counts anew what p keeps.
func compareAround(t *testing.T, p *learned) {
	t.Helper()
	var left, alone [200]float64 // by source
	for u, parents := range p.sample.parents {
		if p.sample.seen[u] == queried {
			continue
		}
		for _, a := range parents {
			left[p.sample.node[a]]++
			if len(parents) == 1 {
				alone[p.sample.node[a]]++
			}
		}
	}
	for _, q := range p.sample.node {
		if s := &p.source[q]; s.open != left[q] || s.once != alone[q] {
			t.Fatalf("source %d has %v neighbours not queried, %v of them shown by it alone, want %v and %v", q, s.open, s.once, left[q], alone[q])
		}
	}
	for i, u := range p.open {
		var want around
		for _, a := range p.sample.parents[u] {
			want.add(&p.source[p.sample.node[a]].told)
		}
		for j := range want {
			got, want := p.x[i][once+j], want[j]/float64(max(1, len(p.sample.parents[u])))
			if math.Abs(got-want) > 1e-9 {
				t.Fatalf("feature %d of node %d is %v, want %v", once+j, u, got, want)
			}
		}
	}
}
