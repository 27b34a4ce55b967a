package graph

import (
	"bytes"
	"math/rand/v2"
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

func TestSample(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, k := range []int{0, 1, 5, 10, 11} {
		got := Sample(10, k, r)
		if len(got) != min(k, 10) || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("Sample(10, %d) = %v", k, got)
		}
	}
	if got := Sample(3, 9, nil); !slices.Equal(got, []Node{0, 1, 2}) {
		t.Errorf("Sample(3, 9) = %v", got)
	}
}

func TestWrite(t *testing.T) {
	d, err := CountDegrees(FromLists([][]Node{{1, 2}, {2}, {}}))
	if err != nil {
		t.Fatal(err)
	}
	var degrees, ranks bytes.Buffer
	if err := d.WriteCSV(&degrees); err != nil || degrees.String() != "degree,nodes_out,nodes_in\n0,1,1\n1,1,1\n2,1,1\n" {
		t.Errorf("WriteCSV = %q, %v", degrees.String(), err)
	}
	if err := WriteRanks(&ranks, []float64{0.5, 1e-9}); err != nil || ranks.String() != "0.5\n1e-09\n" {
		t.Errorf("WriteRanks = %q, %v", ranks.String(), err)
	}
}
