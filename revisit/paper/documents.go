package paper

import (
	"forage/graph"
	"forage/revisit"
)

// documents is what the paper's policies know of a site's documents: since when each is known,
// and whether its last answered fetch found it gone. A policy that embeds it needs Begin and
// Next, and End where it learns.
type documents struct {
	born  []int32 // by document: the cycle in which it became known; unknown
	gone  []bool  // by document
	cycle int
	plan  []graph.Node // what Next hands out in this cycle
}

const unknown = -1

// Learn makes room for v.
func (d *documents) Learn(v graph.Node, _ revisit.Profile) {
	for int(v) >= len(d.born) {
		d.born, d.gone = append(d.born, unknown), append(d.gone, false)
	}
	if d.born[v] == unknown {
		d.born[v] = int32(d.cycle)
	}
}

// Next returns the next document of the plan.
func (d *documents) Next() (graph.Node, bool) {
	if len(d.plan) == 0 {
		return 0, false
	}
	v := d.plan[0]
	d.plan = d.plan[1:]
	return v, true
}

// Observe notes whether a document is gone. A fetch that failed says nothing of that.
func (d *documents) Observe(v revisit.Refetch) {
	if !v.Failed {
		d.gone[v.Page] = v.Gone
	}
}

// End notes what a full recrawl found gone and back.
func (d *documents) End(c revisit.Cycle) {
	for _, v := range c.Gone {
		d.gone[v] = true
	}
	for _, v := range c.Back {
		d.gone[v] = false
	}
}

// old appends to dst the documents that can be fetched in this cycle: known before it, not gone.
func (d *documents) old(dst []graph.Node) []graph.Node {
	for v, born := range d.born {
		if born != unknown && int(born) < d.cycle && !d.gone[v] {
			dst = append(dst, graph.Node(v))
		}
	}
	return dst
}
