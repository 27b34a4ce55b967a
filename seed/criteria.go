package seed

import (
	"slices"

	"forage/graph"
)

// Criteria are what a person knows of the pages of a graph, node by node: which are to be
// reached, and which may be seeds. Every slice has an element for each node, or is nil. The zero
// value wants every page and takes every page.
type Criteria struct {
	Depth   int       // as in Task
	Weights []float32 // what it is worth to reach a page, at least 0; nil: 1 each
	Targets []bool    // the pages that are to be reached; nil: all
	Covered []bool    // the pages that are known already and need not be reached
	Exclude []bool    // the pages that may not be seeds
	Only    []bool    // the pages that alone may be seeds; nil: all
	Limits  []Limit   // as in Task

	// Trust, if not nil, is what the function Trust returned: a page that nobody vouches for
	// may be no seed, and no group of Domain is worth more than DomainWeight, in pages.
	Trust        []uint32
	Domain       []uint32
	DomainWeight float64

	DropDangling bool // pages without links are neither seeds nor count as reached
}

// Task returns what the criteria come to for g. It may change c.Weights. Groups are bounded
// before single pages are left out, so a domain that is partly left out is worth less. Its only
// errors are those of reading g, which it does with DropDangling alone.
func (c *Criteria) Task(g graph.Scanner) (*Task, error) {
	n := g.NumNodes()
	t := &Task{Depth: c.Depth, Weights: c.Weights, Limits: c.Limits}
	barred := make([]bool, n)
	if c.Trust != nil {
		for v, k := range c.Trust {
			barred[v] = k == 0
		}
		t.Weights = Bounded(c.Domain, t.Weights, c.DomainWeight)
	}
	drop := func(v int) {
		if t.Weights == nil {
			t.Weights = slices.Repeat([]float32{1}, n)
		}
		t.Weights[v] = 0
	}
	for v, in := range c.Targets {
		if !in {
			drop(v)
		}
	}
	for v, in := range c.Covered {
		if in {
			drop(v)
		}
	}
	for v, in := range c.Exclude {
		barred[v] = barred[v] || in
	}
	for v, in := range c.Only {
		barred[v] = barred[v] || !in
	}
	if c.DropDangling {
		err := g.Scan(0, graph.Node(n), func(v graph.Node, succ []graph.Node) error {
			if len(succ) == 0 {
				drop(int(v))
				barred[v] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if slices.Contains(barred, true) {
		t.May = func(v graph.Node) bool { return !barred[v] }
	}
	return t, nil
}

// Members returns the nodes that are true in set, ascending: a first layer, trusted pages.
func Members(set []bool) []graph.Node {
	var nodes []graph.Node
	for v, in := range set {
		if in {
			nodes = append(nodes, graph.Node(v))
		}
	}
	return nodes
}

// Heads returns the page of highest score of each group (host), ties by the lower number, among
// those that may be seeds of t, ascending: a first layer with a page of every host. score and
// group are by node.
func Heads(score, group []uint32, t *Task) []graph.Node {
	best := map[uint32]graph.Node{}
	for v := range graph.Node(len(group)) {
		if !t.may(v) {
			continue
		}
		if b, ok := best[group[v]]; !ok || score[v] > score[b] {
			best[group[v]] = v
		}
	}
	heads := make([]graph.Node, 0, len(best))
	for _, v := range best {
		heads = append(heads, v)
	}
	slices.Sort(heads)
	return heads
}
