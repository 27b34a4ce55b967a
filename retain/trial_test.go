package retain

import (
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
)

func TestTrial(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var arcs []graph.Arc
	for range 600 {
		arcs = append(arcs, graph.Arc{From: graph.Node(r.IntN(100)), To: graph.Node(r.IntN(1 + r.IntN(100)))})
	}
	g := graph.FromArcs(100, arcs)
	base := Trial{Graph: g, Config: Config{Buffer: 20, Links: 1}, MaxSteps: 500, Window: 30, Delta: 0.05}
	run := func(trial Trial) *Outcome {
		t.Helper()
		r := rand.New(rand.NewPCG(2, 0))
		o, err := trial.Run(RandomStart(100, 20, r), r)
		if err != nil {
			t.Fatal(err)
		}
		if o.Buffer != 20 || o.Core != len(o.Pages) || o.CoreShare != float64(o.Core)/20 || o.Core == 0 || o.InDegree <= 0 || o.InDegree > 1 {
			t.Errorf("%+v", o)
		}
		return o
	}
	still := run(base)
	if still.Period == nil || still.Moving == nil {
		t.Errorf("a web that stands still: %+v", still)
	}
	stochastic, rewired, changing := base, base, base
	stochastic.Config.Links, rewired.Rewire = 0.5, 0.1
	for name, o := range map[string]*Outcome{"stochastic": run(stochastic), "rewired": run(rewired)} {
		if o.Period != nil || o.Moving != nil || o.Steps != 60 {
			t.Errorf("%s: %+v", name, o)
		}
	}
	var steps []int
	changing.Later, changing.Change = 5, func(d *Dynamics, step int) { steps = append(steps, step) }
	if o := run(changing); o.Period != nil || o.Steps != 35 || len(steps) != 35 || steps[34] != 34 {
		t.Errorf("changing: %+v, steps %v", o, steps)
	}
}

func TestAgree(t *testing.T) {
	runs := []*Outcome{{Pages: []graph.Node{1, 2}}, {Pages: []graph.Node{2, 3}}, {Pages: []graph.Node{1, 2}}}
	Agree(runs)
	got := []float64{*runs[0].Agreement, *runs[1].Agreement, *runs[2].Agreement}
	if want := []float64{2. / 3, 1. / 3, 2. / 3}; !slices.EqualFunc(got, want, func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }) {
		t.Errorf("Agree = %v, want %v", got, want)
	}
	if Agree(runs[:1]); *runs[0].Agreement != got[0] {
		t.Error("a single run agrees with itself")
	}
}
