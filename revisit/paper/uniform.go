package paper

import (
	"math/rand/v2"

	"forage/graph"
	"forage/revisit"
)

// Uniform fetches documents at random, each at most once a cycle and none that is gone.
// O(documents) a cycle.
type Uniform struct {
	documents
	rand *rand.Rand
}

var _ revisit.Policy = (*Uniform)(nil)

// NewUniform returns the uniform policy with a source of chance.
func NewUniform(r *rand.Rand) *Uniform { return &Uniform{rand: r} }

// Begin lists the documents that can be fetched.
func (p *Uniform) Begin(revisit.Time, int) {
	p.cycle++
	p.plan = p.old(p.plan[:0])
}

// Next returns any document that is left.
func (p *Uniform) Next() (graph.Node, bool) {
	n := len(p.plan)
	if n == 0 {
		return 0, false
	}
	i := p.rand.IntN(n)
	v := p.plan[i]
	p.plan[i] = p.plan[n-1]
	p.plan = p.plan[:n-1]
	return v, true
}
