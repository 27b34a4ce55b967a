package lab

import (
	"context"
	"math"
	"os"
	"slices"
	"sync"
	"testing"

	"forage/graph"
	"forage/internal/shared"
	"forage/revisit"
)

// A witness writes down, by cycle, what a policy chose and was told.
type witness struct {
	revisit.Policy
	refetches [][]revisit.PastRefetch // of every fetch, in order
	lost      [][]bool                // the fetch found the document gone
	known     []int                   // documents that could be fetched at its end
	audit     bool                    // of the last Next
	last      []int                   // by document: cycle of the last fetch that was answered
	gone      map[graph.Node]bool
}

func (w *witness) Learn(v graph.Node, p revisit.Profile) {
	for int(v) >= len(w.last) {
		w.last = append(w.last, len(w.refetches))
	}
	w.Policy.Learn(v, p)
}

func (w *witness) Begin(now revisit.Time, budget int) {
	w.refetches, w.lost = append(w.refetches, nil), append(w.lost, nil)
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

func (w *witness) Observe(v revisit.Refetch) {
	l := revisit.PastRefetch{Page: v.Page, Audit: w.audit, Found: slices.Clone(v.Found)}
	if l.Audit {
		l.Gap, l.Shown = len(w.refetches)-w.last[v.Page], slices.Clone(v.Led)
	}
	if w.gone == nil {
		w.gone = map[graph.Node]bool{}
	}
	if v.Gone {
		w.gone[v.Page] = true
	} else {
		delete(w.gone, v.Page)
		w.last[v.Page] = len(w.refetches)
	}
	t := len(w.refetches) - 1
	w.refetches[t], w.lost[t] = append(w.refetches[t], l), append(w.lost[t], v.Gone)
	w.Policy.Observe(v)
}

func (w *witness) End(c revisit.Cycle) {
	led := map[graph.Node][]graph.Node{}
	for g, group := range c.H.Old {
		for _, x := range group {
			led[x] = c.H.Covers(nil, g)
		}
	}
	refetches := w.refetches[len(w.refetches)-1]
	for i := range refetches {
		refetches[i].Led = led[refetches[i].Page]
	}
	w.known = append(w.known, len(w.last)-len(w.gone))
	w.Policy.End(c)
}

// answered returns the refetches of the n cycles up to t, from 1, that were answered.
func (w *witness) answered(t, n int) [][]revisit.PastRefetch {
	var out [][]revisit.PastRefetch
	for c := t - n; c < t; c++ {
		var refetches []revisit.PastRefetch
		for i, l := range w.refetches[c] {
			if !w.lost[c][i] {
				refetches = append(refetches, l)
			}
		}
		out = append(out, refetches)
	}
	return out
}

// TestCoverageEstimate compares what revisit.Estimate makes of 30 cycles of a policy's own
// fetches with what the histories know: the share of the pages that became new in these weeks,
// orphans left out, that the crawl knows at their end. -v prints the table, with
// FORAGE_SITES=all for all policies that audit.
func TestCoverageEstimate(t *testing.T) {
	const window = 30
	type outcome struct{ truth, share, low, high float64 }
	type setting struct {
		policy string
		k      int
	}
	var mu sync.Mutex
	all := map[setting][]outcome{}
	policies, budgets := []string{"best"}, []int{3, 10, 30, 100}
	if os.Getenv("FORAGE_SITES") == "all" {
		policies = append(policies, "index", "feeds-first", "od-win-audit")
	}
	env := &Env{Data: shared.Path(t, "data", "sites")}
	_, err := eachSite(context.Background(), env, func(_ int, s *site) error {
		_, weeks := s.recrawls(true)
		truth := s.truth(weeks)
		for _, name := range policies {
			for _, k := range budgets {
				p, err := policy(name, 1)
				if err != nil {
					return err
				}
				w := &witness{Policy: p}
				b := s.budgeted(w, true, "none")
				b.run(k, truth)
				for end := window; end < len(s.weeks); end += window {
					there, known := 0, 0
					for y, at := range truth.born {
						if int(at) > end-window && int(at) <= end {
							there++
							if found := b.foundAt[y]; found >= 0 && int(found) <= end {
								known++
							}
						}
					}
					if c := revisit.Estimate(w.answered(end, window), w.known[end-1]); there >= 10 && c.Share >= 0 {
						mu.Lock()
						all[setting{name, k}] = append(all[setting{name, k}], outcome{float64(known) / float64(there), c.Share, c.Low, c.High})
						mu.Unlock()
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range policies {
		held, windows := 0., 0.
		for _, k := range budgets {
			var truth, share, width, in float64
			outcomes := all[setting{name, k}]
			n := float64(len(outcomes))
			for _, o := range outcomes {
				truth, share, width = truth+o.truth/n, share+o.share/n, width+(o.high-o.low)/n
				if o.low-1e-9 <= o.truth && o.truth <= o.high+1e-9 {
					in++
				}
			}
			t.Logf("%-12s k = %3d: %2g windows, %.1f%% known, %.1f%% estimated, intervals %4.1f points wide, %.0f%% of them hold", name, k, n, 100*truth, 100*share, 100*width, 100*in/n)
			held, windows = held+in, windows+n
			if name == "best" && (math.Abs(share-truth) > .06 || in < .8*n || k >= 30 && width > .25) {
				t.Errorf("%s, k = %d: %.1f%% known, the mean estimate is %.1f%%; %g of %g intervals hold, %.1f points wide", name, k,
					100*truth, 100*share, in, n, 100*width)
			}
		}
		if name == "best" && held < .85*windows {
			t.Errorf("%s: %.0f of %.0f intervals hold", name, held, windows)
		}
		t.Logf("%-12s %.0f of %.0f intervals hold, %.0f%%", name, held, windows, 100*held/windows)
	}
}
