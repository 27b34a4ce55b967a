package explore

import (
	"math"
	"math/rand/v2"
	"testing"

	"forage/graph"
)

// TestFitPriorFindsWeights: lessons that weights made without noise give these weights, and features that no lesson had keep the weights
// that come with learned.
func TestFitPriorFindsWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var want vector
	for i := range want {
		want[i] = r.NormFloat64()
	}
	want[declared], want[excess] = prior[declared], prior[excess]
	networks := []*Lessons{{}, {}, {}} // the last stays empty: it says nothing
	for k, l := range networks[:2] {
		for range 500 * (k + 1) {
			var x vector
			for i := range x {
				x[i] = r.NormFloat64()
			}
			x[declared], x[excess] = 0, 0
			l.nodes.add(x[:], want.dot(&x))
		}
	}
	got := FitPrior(networks)
	for i := range want {
		if math.Abs(got.w[i]-want[i]) > 1e-3 {
			t.Errorf("weight %d = %v, want %v", i, got.w[i], want[i])
		}
	}
	if got := FitPrior(nil); got.w != prior {
		t.Errorf("no lessons give %v, want the prior that comes with learned", got.w)
	}
}

// TestFitPriorWeighsNetworksAlike: a network with a hundred times the nodes counts as much as another.
func TestFitPriorWeighsNetworksAlike(t *testing.T) {
	small, large := &Lessons{}, &Lessons{}
	x := vector{one: 1}
	for range 10 {
		small.nodes.add(x[:], 1)
	}
	for range 1000 {
		large.nodes.add(x[:], 3)
	}
	if got := FitPrior([]*Lessons{small, large}).w[one]; math.Abs(got-2) > 1e-3 {
		t.Errorf("answers of 1 and of 3 give %v, want 2", got)
	}
}

// TestLessons: a crawl notes every node that it chose, its choices are those of a crawl that notes nothing, and the prior matters only as
// far as it is another.
func TestLessons(t *testing.T) {
	g := graph.FromArcs(60, func() (arcs []graph.Arc) {
		r := rand.New(rand.NewPCG(3, 3))
		for v := graph.Node(1); v < 60; v++ {
			arcs = append(arcs, graph.Arc{From: v, To: graph.Node(r.IntN(int(v)))}, graph.Arc{From: v, To: graph.Node(r.IntN(int(v)))})
		}
		return arcs
	}()).Undirected()
	crawl := func(p *Prior, l *Lessons) (order []graph.Node) {
		trial := Trial{Graph: g, Seed: 1, Run: 1, Start: 5, Budget: 20, Prior: p, Lessons: l}
		if _, _, err := trial.Record("learned", func(v graph.Node, _ []graph.Node) error {
			order = append(order, v)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return order
	}
	var l Lessons
	with, without := crawl(nil, &l), crawl(nil, nil)
	if len(with) != 20 || l.nodes.n != 20 {
		t.Errorf("%d queries, %v lessons, want 20 each", len(with), l.nodes.n)
	}
	for i := range with {
		if with[i] != without[i] {
			t.Fatalf("query %d is %d with lessons and %d without", i, with[i], without[i])
		}
	}
	if again := crawl(&Prior{w: prior}, nil); again[19] != without[19] {
		t.Error("the prior that comes with learned, given, makes another crawl")
	}
	other := &Prior{w: vector{yield: -4, logK: -4}}
	same := true
	for i, v := range crawl(other, nil) {
		same = same && v == without[i]
	}
	if same {
		t.Error("a prior against nodes that promise much makes the same crawl")
	}
}
