package seed

import (
	"slices"
	"testing"

	"forage/graph"
)

// The graph of these tests: 0 links to 1 and 2, 1 to 3, 3 to 0; 2 and 4 have no links.
func small() *graph.CSR { return graph.FromLists([][]graph.Node{{1, 2}, {3}, {}, {0}, {}}) }

func TestCriteria(t *testing.T) {
	set := func(in ...int) []bool {
		s := make([]bool, 5)
		for _, v := range in {
			s[v] = true
		}
		return s
	}
	for _, c := range []struct {
		name    string
		c       Criteria
		weights []float32
		may     []graph.Node
	}{
		{"zero", Criteria{}, nil, []graph.Node{0, 1, 2, 3, 4}},
		{"targets and covered", Criteria{Targets: set(0, 1, 2), Covered: set(1)}, []float32{1, 0, 1, 0, 0}, []graph.Node{0, 1, 2, 3, 4}},
		{"only and exclude", Criteria{Only: set(1, 2), Exclude: set(2, 3)}, nil, []graph.Node{1}},
		{"dangling", Criteria{DropDangling: true, Weights: []float32{3, 1, 1, 1, 1}}, []float32{3, 1, 0, 1, 0}, []graph.Node{0, 1, 3}},
		{"trust", Criteria{Trust: []uint32{1, 0, 2, 0, 0}, Domain: []uint32{0, 1, 0, 0, 0}, DomainWeight: 2}, []float32{0.5, 1, 0.5, 0.5, 0.5}, []graph.Node{0, 2}},
	} {
		task, err := c.c.Task(small())
		if err != nil {
			t.Fatal(err)
		}
		var may []graph.Node
		for v := range graph.Node(5) {
			if task.may(v) {
				may = append(may, v)
			}
		}
		if !slices.Equal(task.Weights, c.weights) || !slices.Equal(may, c.may) {
			t.Errorf("%s: weights %v, seeds from %v; want %v, %v", c.name, task.Weights, may, c.weights, c.may)
		}
	}
	if got := Members(set(1, 4)); !slices.Equal(got, []graph.Node{1, 4}) {
		t.Errorf("Members = %v", got)
	}
}

func TestHeads(t *testing.T) {
	score, host := []uint32{1, 5, 5, 9, 0}, []uint32{7, 7, 7, 2, 3}
	if got := Heads(score, host, &Task{}); !slices.Equal(got, []graph.Node{1, 3, 4}) {
		t.Errorf("Heads = %v", got)
	}
	may := &Task{May: func(v graph.Node) bool { return v != 1 && v != 4 }}
	if got := Heads(score, host, may); !slices.Equal(got, []graph.Node{2, 3}) {
		t.Errorf("Heads among some = %v", got)
	}
}

func TestWeigh(t *testing.T) {
	rank := []float64{.5, .1, .2, .1, .1}
	w, err := Weigh(small(), &Task{Depth: 2}, []graph.Node{1}, rank)
	if err != nil || !slices.Equal(w.ByHops, []int{1, 2, 3}) || w.Seeds != 1 || w.PerSeed != 3 || w.PerFetch != 1.5 || w.MedianRank != .5 {
		t.Errorf("Weigh = %+v, %v", w, err)
	}
	if w, err = Weigh(small(), &Task{Depth: 2}, nil, rank); err != nil || w.PerSeed != 0 || w.MedianRank != 0 {
		t.Errorf("Weigh of no seeds = %+v, %v", w, err)
	}
}

// TestEstimate: less where covers go out of core, and where the graph stays in its file.
func TestEstimate(t *testing.T) {
	for _, method := range Names() {
		held, streams := Estimate(method, 1e6, 1e7, 3, 2, false), Estimate(method, 1e6, 1e7, 3, 2, true)
		if held.Least > held.Memory || streams.Memory > held.Memory || held.Seconds <= 0 {
			t.Errorf("%s: %+v, streaming %+v", method, held, streams)
		}
		if same := held == streams; same != (method == NameReach) {
			t.Errorf("%s: streaming the same: %v", method, same)
		}
	}
}
