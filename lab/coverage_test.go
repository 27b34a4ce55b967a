package lab

import (
	"slices"

	"forage/graph"
	"forage/revisit"
)

// A witness writes down, by cycle, what a policy chose and was told.
type witness struct {
	revisit.Policy
	looks [][]revisit.Look // of every fetch, in order
	lost  [][]bool         // the fetch found the document gone
	audit bool             // of the last Next
}

func (w *witness) Begin(now revisit.Time, budget int) {
	w.looks, w.lost = append(w.looks, nil), append(w.lost, nil)
	w.Policy.Begin(now, budget)
}

func (w *witness) Next() (graph.Node, bool) {
	v, ok := w.Policy.Next()
	a, is := w.Policy.(revisit.Auditor)
	w.audit = is && a.Audit()
	return v, ok
}

func (w *witness) ObserveSignal(same []graph.Node) {
	if p, ok := w.Policy.(revisit.SignalObserver); ok {
		p.ObserveSignal(same)
	}
}

func (w *witness) Observe(v revisit.Visit) {
	l := revisit.Look{Page: v.Page, Audit: w.audit, Found: slices.Clone(v.Found)}
	if l.Audit {
		l.Shown = slices.Clone(v.Led)
	}
	t := len(w.looks) - 1
	w.looks[t], w.lost[t] = append(w.looks[t], l), append(w.lost[t], v.Gone)
	w.Policy.Observe(v)
}

func (w *witness) End(c revisit.Cycle) {
	led := map[graph.Node][]graph.Node{}
	for g, group := range c.H.Old {
		for _, x := range group {
			led[x] = c.H.Covers(nil, g)
		}
	}
	looks := w.looks[len(w.looks)-1]
	for i := range looks {
		looks[i].Led = led[looks[i].Page]
	}
	w.Policy.End(c)
}
