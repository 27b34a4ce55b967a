// Package history runs the buffers of package retain on the history of a site, whose pages and
// links come and go while the buffer is kept. The nodes are the pages of the history's table.
package history

import (
	"iter"
	"math/rand/v2"

	"forage/graph"
	"forage/retain"
	"forage/snap"
)

// NewTrial returns a trial on the last snapshot of h, whose runs start from pages of the first. The
// caller sets the rest of it.
func NewTrial(h *snap.History) *retain.Trial {
	n := h.NumPages()
	t := &retain.Trial{Graph: pages(h.At(len(h.Snapshots)-1), n), Pages: []graph.Node{}}
	first := h.At(0)
	for v := range n {
		if first.Alive[v] {
			t.Pages = append(t.Pages, graph.Node(v))
		}
	}
	return t
}

// Run runs t on all snapshots of h: Window steps on the first, to warm up, and every steps, at least
// 1, on each later one, which are watched. Pages that are gone leave the buffer.
func Run(t *retain.Trial, h *snap.History, every int, start []graph.Node, r *rand.Rand) (*retain.Outcome, error) {
	n := h.NumPages()
	next, end := iter.Pull(func(yield func(*snap.State) bool) { h.Walk(yield) })
	defer end()
	t.Later = every * (len(h.Snapshots) - 1)
	t.Change = func(d *retain.Dynamics, step int) {
		if step > 0 && (step < t.Window || (step-t.Window)%every != 0) {
			return
		}
		s, _ := next()
		d.SetGraph(pages(s, n))
		var gone []graph.Node
		for v := range n {
			if !s.Alive[v] {
				gone = append(gone, graph.Node(v))
			}
		}
		d.Remove(gone)
	}
	return t.Run(start, r)
}

// pages returns the links among the first n documents of a snapshot; those that are not there are
// nodes without links.
func pages(s *snap.State, n int) *graph.CSR {
	lists := make([][]graph.Node, n)
	for u := range n {
		for _, v := range s.Links[u] {
			if int(v) < n && s.Alive[v] {
				lists[u] = append(lists[u], graph.Node(v))
			}
		}
	}
	return graph.FromLists(lists)
}
