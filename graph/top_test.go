package graph

import (
	"slices"
	"testing"
)

func TestTop(t *testing.T) {
	odd := func(v Node) bool { return v%2 == 1 }
	for _, c := range []struct {
		score []int
		k     int
		may   func(Node) bool
		want  []Node
	}{
		{[]int{1, 3, 2}, 2, nil, []Node{1, 2}},
		{[]int{5, 5, 5}, 2, nil, []Node{0, 1}},
		{[]int{1, 2}, 9, nil, []Node{0, 1}},
		{[]int{9, 1, 9, 2}, 1, odd, []Node{3}},
		{[]int{9, 1, 9, 2}, 5, odd, []Node{1, 3}},
		{nil, 1, nil, []Node{}},
	} {
		if got := Top(c.score, c.k, c.may); !slices.Equal(got, c.want) {
			t.Errorf("Top(%v, %d) = %v, want %v", c.score, c.k, got, c.want)
		}
	}
}

func TestHarmonic(t *testing.T) {
	d3 := 3.0 // a constant would be added exactly
	g := FromLists([][]Node{{1}, {2, 3}, {}, {0}})
	if got, want := g.Harmonic([]Node{0, 3}), []float64{1, 1.5, 0.5 + 1/d3, 0.5}; !slices.Equal(got, want) {
		t.Errorf("Harmonic = %v, want %v", got, want)
	}
	if got, err := InDegrees(g); err != nil || !slices.Equal(got, []uint32{1, 1, 1, 1}) {
		t.Errorf("InDegrees = %v, %v", got, err)
	}
}
