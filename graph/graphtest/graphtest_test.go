package graphtest_test

import (
	"path/filepath"
	"slices"
	"testing"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
	"forage/graph/gen"
	"forage/graph/graphtest"
	"forage/internal/race"
)

func TestImplementations(t *testing.T) {
	for name, want := range map[string]func() (*graph.CSR, error){
		"weblike": func() (*graph.CSR, error) { return gen.Weblike(5000, 4, 1) },
		"empty":   func() (*graph.CSR, error) { return graph.FromArcs(0, nil), nil },
		"no arcs": func() (*graph.CSR, error) { return graph.FromArcs(70, nil), nil },
		"last":    func() (*graph.CSR, error) { return graph.FromArcs(70, []graph.Arc{{From: 69, To: 69}}), nil },
	} {
		g, err := want()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		t.Run(name+"/csr", func(t *testing.T) { graphtest.Run(t, g, g) })
		t.Run(name+"/bv", func(t *testing.T) {
			if _, err := bv.Write(filepath.Join(dir, "g"), g, bv.Config{}); err != nil {
				t.Fatal(err)
			}
			b, err := bv.Open(filepath.Join(dir, "g"))
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			graphtest.Run(t, b, g)
		})
		t.Run(name+"/runs", func(t *testing.T) {
			// An adjacency list keeps nodes without arcs at the end.
			path := filepath.Join(dir, "g.txt")
			if err := arcs.WriteFile(path, g, arcs.Adjacency); err != nil {
				t.Fatal(err)
			}
			r, err := arcs.Sort([]string{path}, arcs.Options{Format: arcs.Adjacency, Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			graphtest.Run(t, r, g)
		})
	}
}

// Every algorithm gives the same on a compressed graph as in memory.
func TestAlgorithmsOnCompressedGraphs(t *testing.T) {
	race.Skip(t)
	g, err := gen.Weblike(80000, 3, 5)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "g")
	if _, err := bv.Write(name, g, bv.Config{}); err != nil {
		t.Fatal(err)
	}
	b, err := bv.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tg, err := graph.Transpose(b, 3)
	if want := g.Transpose(); err != nil || !slices.Equal(tg.Succ, want.Succ) || !slices.Equal(tg.Offset, want.Offset) {
		t.Errorf("Transpose differs: %v", err)
	}
	want, _, _, err := graph.PageRank(g, graph.PageRankConfig{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _, err := graph.PageRank(b, graph.PageRankConfig{Threads: 3}); err != nil || !slices.Equal(got, want) {
		t.Errorf("PageRank differs: %v", err)
	}
	gc, gn, _ := graph.StrongComponents(g)
	if bc, bn, err := graph.StrongComponents(b); err != nil || bn != gn || !slices.Equal(bc, gc) {
		t.Errorf("StrongComponents differs: %v", err)
	}
	gw, _, _ := graph.WeakComponents(g)
	if bw, _, err := graph.WeakComponents(b); err != nil || !slices.Equal(bw, gw) {
		t.Errorf("WeakComponents differs: %v", err)
	}
	gd, _ := graph.CountDegrees(g)
	if bd, err := graph.CountDegrees(b); err != nil || !slices.Equal(bd.In, gd.In) || !slices.Equal(bd.Out, gd.Out) {
		t.Errorf("CountDegrees differs: %v", err)
	}
	sources := []graph.Node{0, 5, 70000}
	gs, _ := graph.CountDistances(g, sources, 1)
	if bs, err := graph.CountDistances(b, sources, 2); err != nil || !slices.Equal(bs.At, gs.At) {
		t.Errorf("CountDistances differs: %v", err)
	}
	gl := g.Layers(sources, -1)
	if bl, err := graph.Layers(b, sources, -1); err != nil || !slices.EqualFunc(bl, gl, slices.Equal) {
		t.Errorf("Layers differs: %v", err)
	}
}
