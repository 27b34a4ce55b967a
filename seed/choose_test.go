package seed

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
)

// TestChoose: each method reaches what its seeds reach, gain by gain, with at most K of them.
func TestChoose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var arcs []graph.Arc
	for range 400 {
		arcs = append(arcs, graph.Arc{From: graph.Node(r.IntN(100)), To: graph.Node(r.IntN(100))})
	}
	g := graph.FromArcs(100, arcs)
	task := &Task{Depth: 2}
	for _, m := range []Method{{Name: NameReach, K: 3}, {Name: NameLayered, L0: []graph.Node{0, 1, 2, 3, 4}}, {Name: NameTwoLevel, Levels: 2, MinYield: 1, K: 4}} {
		c, err := m.Choose(t.Context(), g, task, rand.New(rand.NewPCG(2, 0)))
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, gain := range c.Gains {
			sum += gain
		}
		if c.Method != m.Name || c.NumSeeds != len(c.Seeds) || c.NumSeeds == 0 || m.K > 0 && c.NumSeeds > m.K || sum != c.Reached || c.ByHops[2] != c.Reached || c.ByHops[0] != c.NumSeeds {
			t.Errorf("%s: %+v, gains %v", m.Name, c, c.Gains)
		}
		if layered := m.Name == NameLayered; layered != (c.Unreached != nil) {
			t.Errorf("%s: unreached %v", m.Name, c.Unreached)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := Method{Name: NameReach, K: 3}
	if _, err := m.Choose(ctx, g, task, r); !errors.Is(err, context.Canceled) {
		t.Errorf("Choose after the end of its context: %v", err)
	}
	rank := make([]float64, 100)
	rank[7] = 1
	lists := Rivals(g, 3, rank, rand.New(rand.NewPCG(3, 0)))
	if err := Compare(t.Context(), g, task, lists, rank); err != nil {
		t.Fatal(err)
	}
	for _, l := range lists {
		if len(l.Nodes) != 3 || l.Seeds != 3 || l.ByHops[0] != 3 {
			t.Errorf("%s: %v, %+v", l.Name, l.Nodes, l.Worth)
		}
	}
	if len(lists) != 4 || !slices.Contains(lists[1].Nodes, 7) {
		t.Errorf("Rivals = %v", lists)
	}
	if err := Compare(ctx, g, task, lists, rank); !errors.Is(err, context.Canceled) {
		t.Errorf("Compare after the end of its context: %v", err)
	}
}

func TestWriteTable(t *testing.T) {
	c := &Choice{Seeds: []graph.Node{4, 2}, Gains: []int{3, 1}}
	var table, urls bytes.Buffer
	if err := errors.Join(c.WriteTable(&table, []string{"u", "v"}, []string{"d", ""}), WriteURLs(&urls, []string{"u", "v"})); err != nil {
		t.Fatal(err)
	}
	if want := "url\tnode\tgain\treached_cumulative\tdomain\nu\t4\t3\t3\td\nv\t2\t1\t4\t\n"; table.String() != want || urls.String() != "u\nv\n" {
		t.Errorf("%q, %q", table.String(), urls.String())
	}
}
