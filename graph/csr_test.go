package graph

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func randomArcs(r *rand.Rand, n, m int) []Arc {
	arcs := make([]Arc, m)
	for i := range arcs {
		arcs[i] = Arc{Node(r.IntN(n)), Node(r.IntN(n))}
	}
	return arcs
}

// naive is the graph as a set of arcs: the oracle.
func naive(arcs []Arc) map[Arc]bool {
	set := map[Arc]bool{}
	for _, a := range arcs {
		set[a] = true
	}
	return set
}

func arcsOf(g *CSR) map[Arc]bool {
	set := map[Arc]bool{}
	for v := range g.NumNodes() {
		for _, u := range g.Successors(Node(v)) {
			set[Arc{Node(v), u}] = true
		}
	}
	return set
}

func TestFromArcsAgainstNaive(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(30)
		arcs := randomArcs(r, n, r.IntN(100))
		g := FromArcs(n, arcs)
		if err := g.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := naive(arcs)
		if got := arcsOf(g); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: FromArcs(%d, %v) = %v, want %v", seed, n, arcs, got, want)
		}
		lists := make([][]Node, n)
		for _, a := range arcs {
			lists[a.From] = append(lists[a.From], a.To)
		}
		if l := FromLists(lists); !slices.Equal(l.Succ, g.Succ) || !slices.Equal(l.Offset, g.Offset) {
			t.Fatalf("seed %d: FromLists differs from FromArcs", seed)
		}
		tr := g.Transpose()
		if err := tr.Check(); err != nil {
			t.Fatalf("seed %d: transpose: %v", seed, err)
		}
		und := g.Undirected()
		if err := und.Check(); err != nil {
			t.Fatalf("seed %d: undirected: %v", seed, err)
		}
		for v := range Node(n) {
			for u := range Node(n) {
				if tr.HasArc(u, v) != want[Arc{v, u}] {
					t.Fatalf("seed %d: transpose has %d %d: %v", seed, u, v, tr.HasArc(u, v))
				}
				if w := v != u && (want[Arc{v, u}] || want[Arc{u, v}]); und.HasArc(u, v) != w {
					t.Fatalf("seed %d: undirected has %d %d: %v, want %v", seed, u, v, !w, w)
				}
			}
		}
	}
}

func TestCheckFindsDamage(t *testing.T) {
	for name, g := range map[string]*CSR{
		"offset start":  {Offset: []uint64{1, 2}, Succ: []Node{0, 0}},
		"offset end":    {Offset: []uint64{0, 1}, Succ: []Node{0, 0}},
		"offset falls":  {Offset: []uint64{0, 2, 1, 2}, Succ: []Node{0, 1}},
		"out of range":  {Offset: []uint64{0, 1}, Succ: []Node{1}},
		"not ascending": {Offset: []uint64{0, 2, 2}, Succ: []Node{1, 0}},
		"twice":         {Offset: []uint64{0, 2, 2}, Succ: []Node{1, 1}},
		"no nodes":      {Succ: []Node{1}},
	} {
		if g.Check() == nil {
			t.Errorf("%s: Check found nothing", name)
		}
	}
}

func TestLayers(t *testing.T) {
	g := FromArcs(6, []Arc{{0, 2}, {0, 1}, {1, 3}, {2, 3}, {3, 0}, {3, 4}})
	for _, tt := range []struct {
		name    string
		sources []Node
		depth   int
		want    [][]Node
	}{
		{"all", []Node{0}, -1, [][]Node{{0}, {1, 2}, {3}, {4}}},
		{"limited", []Node{0}, 1, [][]Node{{0}, {1, 2}}},
		{"sources repeated", []Node{3, 3, 0}, 1, [][]Node{{3, 0}, {4, 1, 2}}},
		{"sink", []Node{5}, 3, [][]Node{{5}}},
		{"depth 0", []Node{0}, 0, [][]Node{{0}}},
	} {
		if got := g.Layers(tt.sources, tt.depth); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: Layers(%v, %d) = %v, want %v", tt.name, tt.sources, tt.depth, got, tt.want)
		}
	}
}
