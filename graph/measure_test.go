package graph

import "testing"

// TestMeasure: a cycle of three with a tail, and a node apart.
func TestMeasure(t *testing.T) {
	g := FromLists([][]Node{{1}, {2}, {0, 3}, {}, {}})
	m, err := Measure(g, MeasureConfig{Distances: 9})
	if err != nil {
		t.Fatal(err)
	}
	// From 0: 1, 2, 3 arcs; from 1: 1, 2, 2; from 2: 1, 1, 2; nothing from 3 and 4.
	if m.Nodes != 5 || m.Arcs != 4 || *m.MeanDegree != 0.8 || *m.MaxOutNode != 2 || *m.Strong != 3 || *m.LargestStrong != 3 || *m.Weak != 2 || *m.LargestWeak != 4 ||
		m.DistancesFrom != 5 || *m.MeanDistance != 15./9 || *m.Farthest != 3 || m.Isolated != 1 {
		t.Errorf("Measure = %+v", m)
	}
	if m, err := Measure(g, MeasureConfig{Quick: true, Distances: 9}); err != nil || m.Strong != nil || m.DistancesFrom != 0 || m.Degrees.Arcs != 4 {
		t.Errorf("quick: %+v, %v", m, err)
	}
	if m, err := Measure(FromLists(nil), MeasureConfig{Distances: 1}); err != nil || m.MeanDegree != nil || m.MaxOutNode != nil || m.MeanDistance != nil {
		t.Errorf("of no nodes: %+v, %v", m, err)
	}
	a, _ := Measure(g, MeasureConfig{Distances: 2, Seed: 3})
	b, _ := Measure(g, MeasureConfig{Distances: 2, Seed: 3, Threads: 1})
	if (a.MeanDistance == nil) != (b.MeanDistance == nil) || a.MeanDistance != nil && *a.MeanDistance != *b.MeanDistance {
		t.Errorf("the same seed: %v and %v", a.MeanDistance, b.MeanDistance)
	}
}
