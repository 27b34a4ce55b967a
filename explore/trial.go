package explore

import (
	"cmp"
	"math/rand/v2"

	"forage/graph"
)

// A Trial is one start node and one budget for several policies to be compared on: each sees
// the same start, and chance of its own that depends on the seed, the run and nothing else.
type Trial struct {
	Graph    *graph.CSR // undirected graphs hold each edge in both directions
	Directed bool
	Seed     uint64
	Run      int
	Start    graph.Node // node of Graph
	Budget   int        // queries
	Prior    *Prior     // as Config has it
	Lessons  *Lessons   // as Config has it
}

// RandomStart returns the start node of a run: uniform over n nodes, the same for equal seeds.
func RandomStart(n int, seed uint64, run int) graph.Node {
	return graph.Node(rand.New(rand.NewPCG(seed, uint64(run))).IntN(n))
}

// Explore runs the policy of that name and returns how many queries it made and how many nodes
// it observed, the start among them. visit, if not nil, is told the count after each query.
func (t *Trial) Explore(name string, visit func(queries, observed int)) (queries, observed int, err error) {
	h, p, start, err := t.begin(name, false)
	if err != nil {
		return 0, 0, err
	}
	n := 0
	queries, err = Run(p, h, start, t.Budget, func(graph.Node, []graph.Node) {
		if n++; visit != nil {
			visit(n, h.Observed())
		}
	})
	return queries, h.Observed(), err
}

// Record runs the policy as Explore does, tells visit of each answer by nodes of Graph, and
// returns the policy. out holds until visit returns; an error of visit ends the run.
func (t *Trial) Record(name string, visit func(v graph.Node, out []graph.Node) error) (p Policy, queries int, err error) {
	h, p, start, err := t.begin(name, true)
	if err != nil {
		return nil, 0, err
	}
	var names []graph.Node
	var failed error
	queries, err = Run(p, h, start, t.Budget, func(v graph.Node, out []graph.Node) {
		names = names[:0]
		for _, u := range out {
			names = append(names, h.Name(u))
		}
		if failed == nil {
			failed = visit(h.Name(v), names)
		}
	})
	return p, queries, cmp.Or(failed, err)
}

func (t *Trial) begin(name string, steps bool) (h *Hidden, p Policy, start graph.Node, err error) {
	h = NewHidden(t.Graph, t.Seed^uint64(t.Run)<<32)
	if start, err = h.Start(t.Start); err != nil {
		return nil, nil, 0, err
	}
	c := Config{Rand: rand.New(rand.NewPCG(t.Seed, 1<<32+uint64(t.Run))), Budget: t.Budget, Directed: t.Directed, NoSteps: !steps, Prior: t.Prior, Lessons: t.Lessons}
	if name == "med" {
		c.Degree = h.Degree
	}
	p, err = New(name, c)
	return h, p, start, err
}

// An Outcome is what one run of a policy shows.
type Outcome struct {
	Policy   string   `json:"policy"`
	Run      int      `json:"run"`
	Start    any      `json:"start"`  // node number, or the id at a live source
	Budget   int      `json:"budget"` // queries
	Queries  int      `json:"queries"`
	Observed int      `json:"observed"`
	Nodes    *int     `json:"nodes"`  // nil: not known
	Oracle   *int     `json:"oracle"` // nodes that the oracle observes; nil: there is none
	Regret   *float64 `json:"regret"` // nil as Oracle
	Seconds  float64  `json:"seconds"`
}

// Judge compares what the policy of that name observed with so many queries, as Explore returned it,
// with what the oracle does from the same start with the whole budget. The seconds are the caller's
// to tell.
func (t *Trial) Judge(name string, queries, observed int) (*Outcome, error) {
	_, oracle, err := t.Explore("med", nil)
	if err != nil {
		return nil, err
	}
	n, regret := t.Graph.NumNodes(), Regret(observed, oracle)
	return &Outcome{Policy: name, Run: t.Run, Start: t.Start, Budget: t.Budget, Queries: queries, Observed: observed, Nodes: &n, Oracle: &oracle, Regret: &regret}, nil
}

// Regret returns how far observed stays behind the oracle's count, as a share of it [DE, §5].
func Regret(observed, oracle int) float64 { return float64(oracle-observed) / float64(oracle) }
