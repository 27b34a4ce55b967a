// Package graph holds directed graphs and what every decision asks of them: successors,
// the transpose, breadth-first layers.
//
// A newcomer meets Node first, then CSR, the graph in memory, and FromArcs and FromBlocks,
// which make one, then Scanner and Graph, what algorithms ask of a graph that need not be in
// memory.
// Text and compressed formats are in graph/arcs and graph/bv, generators in graph/gen.
// The package knows nothing of URLs: whoever owns names keeps a table beside the graph.
package graph

// Node is a dense node number in [0, NumNodes).
type Node uint32

// MaxNodes is the largest number of nodes that a graph can have: the largest Node is
// never given out, so that algorithms can use it as "none".
const MaxNodes = 1<<32 - 1

// None is no node.
const None = Node(1<<32 - 1)

// An Arc is a directed link.
type Arc struct{ From, To Node }
