package report

import (
	"context"
	"errors"

	"forage/cover"
	"forage/crawl/plan"
	"forage/graph"
	"forage/revisit"
	"forage/store"
)

// A Span is the time from one cycle that saw all of a site to the next, a first visit or a full recrawl: of it
// everything that was new at its end is known, and so what an oracle would have found.
type Span struct {
	From, To store.Time // when the two cycles began
	New      int        // pages told as new in the cycles after the first one, the last one included
	Found    int        // of them, those that were known before the last one
	Looks    int        // fetches of old documents before the last one
	Best     int        // pages that an oracle finds by as many: Found, or what the greedy cover by the links at the end has
}

// Share is Found of Best, 1 where an oracle finds nothing either.
func (s Span) Share() float64 {
	if s.Best == 0 {
		return 1
	}
	return float64(s.Found) / float64(s.Best)
}

// newSpans returns the spans that the past covers in which there was a look and something new, oldest first. An oracle
// fetches what covers most, once, at the end; chains of new pages are followed as cycles do. Greedy finds at least 1-1/e
// of what the best choice does [DGKOPT07, §3.1]. O(links of the documents that the last cycles fetched).
func newSpans(v *store.View, site store.SiteID, past *plan.Past) ([]Span, error) {
	var all []Span
	begin := past.First
	from := 0
	for i := range past.Rounds {
		c := past.Rounds[i].Cycle
		if c.Kind != store.FullRecrawl {
			continue
		}
		if begin != nil {
			s, err := newSpan(v, site, begin, past.Rounds[from:i+1])
			if err != nil {
				return nil, err
			}
			if s.Looks > 0 && s.New > 0 {
				all = append(all, s)
			}
		}
		begin, from = c, i+1
	}
	return all, nil
}

// newSpan returns the span from a cycle on over the rounds after it, of which the last one is a full recrawl.
func newSpan(v *store.View, site store.SiteID, begin *store.CycleRecord, rounds []plan.Round) (s Span, err error) {
	last := rounds[len(rounds)-1]
	s = Span{From: begin.At, To: last.Cycle.At}
	for _, r := range rounds {
		s.New += r.Found
	}
	s.Found = s.New - last.Found
	for _, r := range rounds[:len(rounds)-1] {
		s.Looks += r.Looks
	}
	if s.Best = s.Found; s.Looks == 0 || last.Found == 0 {
		return s, nil
	}
	var fresh, through, old []graph.Node
	isNew := map[graph.Node]bool{}
	var failed error
	if err := v.NewcomersFrom(site, begin.Cycle+1, func(c store.Cycle, id graph.Node, k store.Kind) bool {
		if c > last.Cycle.Cycle {
			return false
		}
		var d *store.Doc
		if d, failed = v.Doc(id); failed != nil {
			return false
		}
		isNew[id] = true
		if k == store.Page && d.New == store.IsNew && d.IsListed() {
			fresh = append(fresh, id)
		} else {
			through = append(through, id)
		}
		return true
	}); err != nil || failed != nil {
		return s, errors.Join(err, failed)
	}
	for _, f := range last.Fetches {
		if !isNew[f.Page] {
			old = append(old, f.Page)
		}
	}
	h := revisit.NewCoverGraph(fresh, through, old, func(id graph.Node) (to []graph.Node) {
		if err := v.LinkHistory(id, func(c store.Cycle, links []store.Link) bool {
			if c > last.Cycle.Cycle {
				return true // it has changed since
			}
			for _, l := range links {
				to = append(to, l.To)
			}
			return false
		}); err != nil && failed == nil {
			failed = err
		}
		return to
	})
	if failed != nil {
		return s, failed
	}
	if len(h.Old) == 0 {
		return s, nil
	}
	first := []int{0} // by column: its pages are numbered from there on
	for _, pages := range h.New {
		first = append(first, first[len(first)-1]+len(pages))
	}
	sets := make([][]graph.Node, len(h.Old))
	for g, columns := range h.Cols {
		for _, c := range columns {
			for y := first[c]; y < first[c+1]; y++ {
				sets[g] = append(sets[g], graph.Node(y))
			}
		}
	}
	r, err := cover.Greedy(context.Background(), cover.NewLists(sets), cover.Options{Budget: s.Looks, Threads: 1, InPlace: true})
	if err != nil {
		return s, err
	}
	s.Best = max(s.Found, int(r.Covered))
	return s, nil
}
