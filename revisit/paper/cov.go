package paper

import "forage/revisit"

// Cov fetches the greedy k-cover of the latest full recrawl that found new pages: algorithm
// Cov of [DGKOPT07, §5.3]. A cover shorter than the budget leaves the rest unused. Costs as
// Cover.
type Cov struct {
	documents
	h *revisit.CoverGraph // of the latest full recrawl that found pages; nil: none
}

var _ revisit.Policy = (*Cov)(nil)

// Begin plans the cycle.
func (p *Cov) Begin(_ revisit.Time, budget int) {
	p.plan = p.plan[:0]
	if p.h == nil {
		return
	}
	cover, _ := Cover(p.h, budget, 1)
	for _, v := range cover {
		if !p.gone[v] {
			p.plan = append(p.plan, v)
		}
	}
}

// End keeps a full recrawl that found pages.
func (p *Cov) End(c revisit.Cycle) {
	p.documents.End(c)
	if c.Full && c.H.NumNew() > 0 {
		p.h = c.H
	}
}
