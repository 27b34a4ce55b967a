package revisit

import (
	"cmp"
	"slices"

	"forage/graph"
)

// Audit is OD with a share of the budget spent round robin, so that it needs no full recrawl:
// p_i is the mean of |N(i)|/|Y| over the cycles with new pages in which i was fetched, and
// every fifth fetch goes to the document fetched longest ago. With Lists, the main feeds and
// sitemaps and the home page come first in every cycle. Full recrawls count as fetches of
// everything. O(documents + k log k) a cycle.
type Audit struct {
	roster
	lists bool
	every int // each every-th fetch is an audit

	sum, times []float64 // of p_i; cycles with new pages in which i was fetched
	all        float64   // full recrawls with new pages, counted for all documents
	since      []float64 // all when i was learnt
	plan       []graph.Node
	done       []bool // fetched in this cycle
	marked     []graph.Node
	fetches    int
}

var _ Policy = (*Audit)(nil)

// NewAudit returns OD with an audit; lists: main feeds, sitemaps and home come first.
func NewAudit(lists bool) *Audit { return &Audit{lists: lists, every: 5} }

// Learn takes in a document.
func (p *Audit) Learn(v graph.Node, profile Profile) {
	if p.learn(v, profile) {
		for len(p.sum) < len(p.profiles) {
			p.sum, p.times, p.done = append(p.sum, 0), append(p.times, 0), append(p.done, false)
			p.since = append(p.since, 0)
		}
		p.since[v] = p.all
	}
}

// mean returns p_i.
func (p *Audit) mean(v graph.Node) float64 {
	if n := p.times[v] + p.all - p.since[v]; n > 0 {
		return p.sum[v] / n
	}
	return 0
}

// Begin plans the cycle.
func (p *Audit) Begin(_ Time, budget int) {
	p.cycle++
	for _, v := range p.marked {
		p.done[v] = false
	}
	p.marked, p.plan = p.marked[:0], p.plan[:0]
	value := make([]float64, len(p.profiles))
	for v := range p.profiles {
		if !p.candidate(graph.Node(v)) {
			continue
		}
		value[v] = p.mean(graph.Node(v))
		if profile := &p.profiles[v]; p.lists && (profile.Home || profile.Main) {
			value[v] += 2 // above any p
		}
		if value[v] > 0 {
			p.plan = append(p.plan, graph.Node(v))
		}
	}
	slices.SortFunc(p.plan, func(a, b graph.Node) int { return cmp.Or(-cmp.Compare(value[a], value[b]), cmp.Compare(a, b)) })
}

// Next returns the best document, or the one fetched longest ago.
func (p *Audit) Next() (graph.Node, bool) {
	if p.fetches%p.every == p.every-1 {
		if v, ok := p.oldest(nil); ok {
			return v, true
		}
	}
	for len(p.plan) > 0 {
		v := p.plan[0]
		p.plan = p.plan[1:]
		if !p.done[v] {
			return v, true
		}
	}
	return p.oldest(nil)
}

// Observe notes a fetch.
func (p *Audit) Observe(v Refetch) {
	p.fetches++
	p.done[v.Page] = true
	p.marked = append(p.marked, v.Page)
	p.fetched(v)
}

// End updates p of what was fetched.
func (p *Audit) End(c Cycle) {
	p.recrawled(c)
	n := c.H.NumNew()
	if n == 0 {
		return
	}
	if c.Full {
		p.all++
	} else {
		for _, v := range p.marked {
			p.times[v]++
		}
	}
	for g, docs := range c.H.Old {
		share := float64(c.H.Size(g)) / float64(n)
		for _, x := range docs {
			p.sum[x] += share
		}
	}
}
