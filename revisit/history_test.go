package revisit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
)

// checkCover checks the plan of p against the definition of the cover: every document is valued
// anew for each choice. The documents that showed anything come first.
func checkCover(p *History) error {
	weights := make([][]float64, len(p.cycles))
	shown := make([]map[graph.Node][]entryOf, len(p.cycles)) // by cycle and document: its columns
	for i := range p.cycles {
		c := &p.cycles[i]
		for _, pages := range c.h.New {
			weights[i] = append(weights[i], math.Pow(historyFade, float64(p.cycle-c.cycle))*float64(len(pages))/math.Sqrt(float64(c.h.NumNew())))
		}
		shown[i] = map[graph.Node][]entryOf{}
		add := func(x graph.Node, part float64, cols []int32) {
			for _, col := range cols {
				shown[i][x] = append(shown[i][x], entryOf{int(col), part})
			}
		}
		for g, docs := range c.h.Old {
			in := map[graph.Node]bool{}
			for _, x := range docs {
				in[x] = true
				add(x, 1, c.h.Cols[g])
			}
			for _, role := range c.roles[g] {
				for T, ranks := range p.newest {
					for r, n := range ranks {
						if (roleOf{int32(T), int8(r)}) == role && p.size[T] >= 3 && !in[n.v] {
							in[n.v] = true
							add(n.v, historyRole, c.h.Cols[g])
						}
					}
				}
			}
		}
	}
	for i := 0; ; i++ {
		value := make([]float64, len(p.profiles))
		for x := range value {
			for i := range shown {
				for _, e := range shown[i][graph.Node(x)] {
					value[x] += weights[i][e.at] * e.part
				}
			}
			if !p.candidate(graph.Node(x)) || slices.Contains(p.plan[:i], graph.Node(x)) {
				value[x] = 0
			}
		}
		switch most := slices.Max(value); {
		case most == 0:
			return nil
		case i == len(p.plan):
			return fmt.Errorf("plans %d documents, and one is worth %g", i, most)
		case value[p.plan[i]] < most*(1-1e-12):
			return fmt.Errorf("plans document %d, worth %g, where another is worth %g", p.plan[i], value[p.plan[i]], most)
		}
		for k := range shown {
			for _, e := range shown[k][p.plan[i]] {
				weights[k][e.at] *= 1 - historyRho*e.part
			}
		}
	}
}

// TestHistoryCover compares the cover by lots with one by documents, over cycles whose new pages
// many documents show alike, with documents that are gone and roles that pass on.
func TestHistoryCover(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := NewHistory()
		next := graph.Node(0)
		learn := func(n int) (fresh []graph.Node) {
			for range n {
				p.Learn(next, Profile{Template: r.Int32N(3), Links: 10 * r.IntN(8), Depth: r.IntN(3)})
				fresh = append(fresh, next)
				next++
			}
			return fresh
		}
		learn(30)
		for range 8 {
			p.Begin(0, 10)
			var old []graph.Node
			for x := range next {
				if r.IntN(3) > 0 {
					old = append(old, x)
				}
			}
			if r.IntN(2) == 0 {
				p.Observe(Refetch{Page: graph.Node(r.IntN(int(next))), Cost: 1, Gone: true})
			}
			fresh := learn(1 + r.IntN(4))
			h := NewCoverGraph(fresh, nil, old, func(v graph.Node) []graph.Node {
				if v >= fresh[0] {
					return nil
				}
				return fresh[:r.IntN(1+len(fresh))]
			})
			p.End(Cycle{New: len(fresh), H: h})
		}
		p.Begin(0, int(next))
		if err := checkCover(p); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestHistoryLots: documents of one template that all showed the same are not looked at one by
// one, neither for the newest nor for what each is worth.
func TestHistoryLots(t *testing.T) {
	const n = 1000
	p := NewHistory()
	var old []graph.Node
	for x := range graph.Node(n) {
		p.Learn(x, Profile{Links: 30})
		old = append(old, x)
		if len(p.newest[0]) > 2*maxRoles {
			t.Fatalf("%d documents are held for %d roles", len(p.newest[0]), maxRoles)
		}
	}
	for week := range graph.Node(5) {
		p.Begin(0, 0)
		y := n + week
		p.Learn(y, Profile{Links: 30})
		p.End(Cycle{Full: true, New: 1, H: NewCoverGraph([]graph.Node{y}, nil, old, func(graph.Node) []graph.Node { return []graph.Node{y} })})
	}
	p.Begin(0, 1)
	if len(p.plan) != 1 || p.heap.Len() > 1+2*maxRoles {
		t.Errorf("%d documents that showed the same are %d lots", n, p.heap.Len())
	}
}
