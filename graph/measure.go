package graph

import "math/rand/v2"

// A MeasureConfig says what Measure tells. The zero value tells all but distances.
type MeasureConfig struct {
	Quick     bool   // only what one reading tells: no components, no distances
	Distances int    // random nodes from which distances are measured; 0: none
	Seed      uint64 // of the choice of these nodes
	Threads   int    // 0: one a processor; the result does not depend on it
}

// Measures tell what a graph is like. A nil field has no value: nothing was asked, or there is
// nothing to take the mean of.
type Measures struct {
	Nodes         int      `json:"nodes"`
	Arcs          uint64   `json:"arcs"`
	MeanDegree    *float64 `json:"mean_degree"` // nil without nodes
	MaxOut        int      `json:"max_outdegree"`
	MaxOutNode    *int64   `json:"max_outdegree_node"` // nil without arcs
	MaxIn         int      `json:"max_indegree"`
	MaxInNode     *int64   `json:"max_indegree_node"` // nil without arcs
	Sinks         int      `json:"without_successors"`
	Sources       int      `json:"without_predecessors"`
	Isolated      int      `json:"isolated"`
	Loops         uint64   `json:"self_loops"`
	Strong        *int     `json:"strong_components"` // these and the rest: nil if Quick
	LargestStrong *int     `json:"largest_strong"`    // nodes
	Weak          *int     `json:"weak_components"`
	LargestWeak   *int     `json:"largest_weak"`   // nodes
	DistancesFrom int      `json:"distances_from"` // nodes
	MeanDistance  *float64 `json:"mean_distance"`  // nil where nothing is reached
	Effective     *float64 `json:"effective_diameter"`
	Farthest      *int     `json:"farthest"` // a lower bound of the diameter

	Degrees *Degrees `json:"-"`
}

// Measure tells what g is like. Time O(n + m) for each node of c.Distances and a few times that for
// the components; memory 4 bytes a node if c.Quick is set, else 32. Its only errors are those of
// reading g.
func Measure(g Graph, c MeasureConfig) (*Measures, error) {
	d, err := CountDegrees(g)
	if err != nil {
		return nil, err
	}
	m := &Measures{Nodes: d.Nodes, Arcs: d.Arcs, MaxOut: d.MaxOut, MaxIn: d.MaxIn, Sinks: d.Sinks, Sources: d.Sources, Isolated: d.Isolated, Loops: d.Loops, Degrees: d}
	if d.Nodes > 0 {
		mean := float64(d.Arcs) / float64(d.Nodes)
		m.MeanDegree = &mean
	}
	if d.Arcs > 0 {
		out, in := int64(d.MaxOutAt), int64(d.MaxInAt)
		m.MaxOutNode, m.MaxInNode = &out, &in
	}
	if c.Quick {
		return m, nil
	}
	strong, count, err := StrongComponents(g)
	if err != nil {
		return nil, err
	}
	largest := largestClass(strong)
	m.Strong, m.LargestStrong = &count, &largest
	weak, weakCount, err := WeakComponents(g)
	if err != nil {
		return nil, err
	}
	largestWeak := largestClass(weak)
	m.Weak, m.LargestWeak = &weakCount, &largestWeak
	if c.Distances > 0 && d.Nodes > 0 {
		sources := draw(d.Nodes, c.Distances, rand.New(rand.NewPCG(c.Seed, 0)))
		far, err := CountDistances(g, sources, c.Threads)
		if err != nil {
			return nil, err
		}
		m.DistancesFrom = len(sources)
		if mean, ok := far.Mean(); ok {
			effective, _ := far.Effective(0.9)
			farthest := far.Farthest()
			m.MeanDistance, m.Effective, m.Farthest = &mean, &effective, &farthest
		}
	}
	return m, nil
}

// draw returns k distinct nodes of n in the order drawn; where k ≥ n all, in ascending order.
func draw(n, k int, r *rand.Rand) []Node {
	nodes := make([]Node, 0, min(n, k))
	if k >= n {
		for v := range n {
			nodes = append(nodes, Node(v))
		}
		return nodes
	}
	chosen := map[Node]bool{}
	for len(nodes) < k {
		if v := Node(r.Uint64N(uint64(n))); !chosen[v] {
			chosen[v] = true
			nodes = append(nodes, v)
		}
	}
	return nodes
}

// largestClass returns how often the most frequent number occurs.
func largestClass(class []Node) int {
	count := make([]uint32, len(class))
	most := uint32(0)
	for _, c := range class {
		count[c]++
		most = max(most, count[c])
	}
	return int(most)
}
