package explore

import (
	"fmt"
	"math/rand/v2"

	"forage/graph"
)

// A Hidden is a graph that tells nothing but the answers to queries. Its numbers are handed
// out in the order of first observation and answers are shuffled, so that neither file
// numbers nor their order help an explorer; a query for a node not observed is an error.
// Memory: 4 bytes a node of the graph, 5 a node observed.
type Hidden struct {
	g       *graph.CSR
	seed    uint64
	number  []graph.Node // by node of g; None: not observed
	name    []graph.Node // by number: the node of g
	queried []bool       // by number
	out     []graph.Node
}

// NewHidden hides g. An undirected graph must hold each edge in both directions. Equal seeds
// give equal answers to equal rows of queries.
func NewHidden(g *graph.CSR, seed uint64) *Hidden {
	h := &Hidden{g: g, seed: seed, number: make([]graph.Node, g.NumNodes())}
	for v := range h.number {
		h.number[v] = graph.None
	}
	return h
}

// Start makes node v of the graph observed and returns its number.
func (h *Hidden) Start(v graph.Node) (graph.Node, error) {
	if int(v) >= len(h.number) {
		return graph.None, fmt.Errorf("start node %d: the graph has nodes 0 to %d", v, len(h.number)-1)
	}
	return h.observe(v), nil
}

func (h *Hidden) observe(v graph.Node) graph.Node {
	if h.number[v] == graph.None {
		h.number[v] = graph.Node(len(h.name))
		h.name = append(h.name, v)
		h.queried = append(h.queried, false)
	}
	return h.number[v]
}

// Query returns the neighbours of the node with number v, itself left out, in an order of
// chance that depends on the seed and the node alone. The slice holds until the next query.
// It fails for a node that no answer has shown, and for one queried before.
func (h *Hidden) Query(v graph.Node) ([]graph.Node, error) {
	if int(v) >= len(h.name) {
		return nil, fmt.Errorf("node %d was asked for and never observed", v)
	}
	if h.queried[v] {
		return nil, fmt.Errorf("node %d was asked for twice", v)
	}
	h.queried[v] = true
	name := h.name[v]
	h.out = h.out[:0]
	for _, u := range h.g.Successors(name) {
		if u != name {
			h.out = append(h.out, u)
		}
	}
	r := rand.New(rand.NewPCG(h.seed, uint64(name)))
	r.Shuffle(len(h.out), func(i, j int) { h.out[i], h.out[j] = h.out[j], h.out[i] })
	for i, u := range h.out {
		h.out[i] = h.observe(u)
	}
	return h.out, nil
}

// Observed returns how many nodes are observed, the queried ones among them.
func (h *Hidden) Observed() int { return len(h.name) }

// Name returns the node of the graph that has number v.
func (h *Hidden) Name(v graph.Node) graph.Node { return h.name[v] }

// Degree returns the true number of neighbours of an observed node: only the oracle may ask.
func (h *Hidden) Degree(v graph.Node) int {
	d := h.g.OutDegree(h.name[v])
	if h.g.HasArc(h.name[v], h.name[v]) {
		d--
	}
	return d
}

// Run lets p explore h from its start until budget queries are spent or p knows no open
// node, and returns the queries spent. start is a number that Start returned. visit, if not
// nil, is told of each answer, which holds until it returns. An error is a fault of the
// policy: it asked for a node that it could not know, or asked twice.
func Run(p Policy, h *Hidden, start graph.Node, budget int, visit func(v graph.Node, out []graph.Node)) (queries int, err error) {
	p.Observe(graph.None, []graph.Node{start})
	for ; queries < budget; queries++ {
		v, ok := p.Next()
		if !ok {
			break
		}
		out, err := h.Query(v)
		if err != nil {
			return queries, err
		}
		p.Observe(v, out)
		if visit != nil {
			visit(v, out)
		}
	}
	return queries, nil
}
