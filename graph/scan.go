package graph

// A Scanner lists a graph in the order of its nodes. It is what an algorithm asks for that
// reads all arcs, once or several times, and keeps O(NumNodes) of its own: *CSR, *bv.Graph
// (compressed, mapped into memory) and *arcs.Runs (sorted on disk) are scanners.
type Scanner interface {
	NumNodes() int
	NumArcs() uint64
	// Scan calls visit for the nodes lo, lo+1, …, hi−1, also those without successors, and
	// returns its first error. The successors are ascending and distinct; visit must neither
	// change nor keep them. Ranges may be scanned from several goroutines at once.
	Scan(lo, hi Node, visit func(v Node, succ []Node) error) error
}

// A Graph is a Scanner that also answers for single nodes. An algorithm takes the weakest of
// Scanner, Graph and *CSR that it can do with.
type Graph interface {
	Scanner
	// AppendSuccessors appends the successors of v to buf, ascending and distinct.
	AppendSuccessors(buf []Node, v Node) ([]Node, error)
}

var _ Graph = (*CSR)(nil)

// Scan implements Scanner; its only errors are those of visit.
func (g *CSR) Scan(lo, hi Node, visit func(v Node, succ []Node) error) error {
	for v := lo; v < hi; v++ {
		if err := visit(v, g.Successors(v)); err != nil {
			return err
		}
	}
	return nil
}

// AppendSuccessors implements Graph; it never fails.
func (g *CSR) AppendSuccessors(buf []Node, v Node) ([]Node, error) {
	return append(buf, g.Successors(v)...), nil
}

// Load returns g as a CSR: 8 bytes a node and 4 an arc.
func Load(g Scanner) (*CSR, error) {
	if c, ok := g.(*CSR); ok {
		return c, nil
	}
	n := g.NumNodes()
	c := &CSR{Offset: make([]uint64, n+1), Succ: make([]Node, 0, g.NumArcs())}
	err := g.Scan(0, Node(n), func(v Node, succ []Node) error {
		c.Succ = append(c.Succ, succ...)
		c.Offset[v+1] = uint64(len(c.Succ))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}
