package revisit

import (
	"math/rand/v2"

	"forage/graph"
)

// RoundRobin fetches the document that was fetched longest ago: the baseline that every site
// can do. Documents that are gone are not fetched again. O(1) a fetch.
type RoundRobin struct{ roster }

var _ Policy = (*RoundRobin)(nil)

// Learn takes in a document.
func (p *RoundRobin) Learn(v graph.Node, page Page) { p.learn(v, page) }

// Begin starts a cycle.
func (p *RoundRobin) Begin(Time, int) { p.cycle++ }

// Next returns the document fetched longest ago.
func (p *RoundRobin) Next() (graph.Node, bool) { return p.oldest(nil) }

// Observe puts a document at the end of the queue.
func (p *RoundRobin) Observe(v Visit) { p.fetched(v) }

// End notes what is gone.
func (p *RoundRobin) End(c Cycle) { p.recrawled(c) }

// Uniform fetches documents at random, each at most once a cycle and none that is gone.
// O(documents) a cycle.
type Uniform struct {
	roster
	rand *rand.Rand
	left []graph.Node
}

var _ Policy = (*Uniform)(nil)

// NewUniform returns the uniform policy with a source of chance.
func NewUniform(r *rand.Rand) *Uniform { return &Uniform{rand: r} }

// Learn takes in a document.
func (p *Uniform) Learn(v graph.Node, page Page) { p.learn(v, page) }

// Begin lists the documents that can be fetched.
func (p *Uniform) Begin(Time, int) {
	p.cycle++
	p.queue = p.queue[:0]
	p.left = p.left[:0]
	for v := range p.pages {
		if p.candidate(graph.Node(v)) {
			p.left = append(p.left, graph.Node(v))
		}
	}
}

// Next returns any document that is left.
func (p *Uniform) Next() (graph.Node, bool) {
	n := len(p.left)
	if n == 0 {
		return 0, false
	}
	i := p.rand.IntN(n)
	v := p.left[i]
	p.left[i] = p.left[n-1]
	p.left = p.left[:n-1]
	return v, true
}

// Observe notes what is gone.
func (p *Uniform) Observe(v Visit) { p.fetched(v) }

// End notes what is gone.
func (p *Uniform) End(c Cycle) { p.recrawled(c) }
