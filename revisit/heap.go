package revisit

import (
	"forage/graph"
	"forage/internal/heap"
)

// scored is a document with its value.
type scored struct {
	value float64
	v     graph.Node
}

// before puts the largest value first, ties to the lower node, so that plans do not depend on
// the order in which documents came into the heap.
func before(x, y scored) bool { return x.value > y.value || x.value == y.value && x.v < y.v }

// byValue returns an empty heap of documents.
func byValue() heap.Heap[scored] { return heap.Heap[scored]{Before: before} }
