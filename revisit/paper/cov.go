package revisit

import "forage/graph"

// Cov fetches the greedy k-cover of the latest full recrawl that found new pages: algorithm
// Cov of [DGKOPT07, §5.3]. A cover shorter than the budget leaves the rest unused. Costs as
// H.Cover.
type Cov struct {
	h    *H
	gone []bool
	plan []graph.Node
}

var _ Policy = (*Cov)(nil)

// Learn makes room for v.
func (p *Cov) Learn(v graph.Node, _ Page) {
	for int(v) >= len(p.gone) {
		p.gone = append(p.gone, false)
	}
}

// Begin plans the cycle.
func (p *Cov) Begin(_ Time, budget int) {
	p.plan = p.plan[:0]
	if p.h == nil {
		return
	}
	cover, _ := p.h.Cover(budget, 1)
	for _, v := range cover {
		if !p.gone[v] {
			p.plan = append(p.plan, v)
		}
	}
}

// Next returns the next document of the cover.
func (p *Cov) Next() (graph.Node, bool) {
	if len(p.plan) == 0 {
		return 0, false
	}
	v := p.plan[0]
	p.plan = p.plan[1:]
	return v, true
}

// Observe notes what is gone.
func (p *Cov) Observe(v Visit) {
	if !v.Failed {
		p.gone[v.Page] = v.Gone
	}
}

// End keeps a full recrawl that found pages.
func (p *Cov) End(c Cycle) {
	for _, v := range c.Gone {
		p.gone[v] = true
	}
	for _, v := range c.Back {
		p.gone[v] = false
	}
	if c.Full && c.H.NumNew() > 0 {
		p.h = c.H
	}
}
