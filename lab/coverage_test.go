package lab

import (
	"context"
	"math"
	"os"
	"slices"
	"sync"
	"testing"

	"forage/graph"
	"forage/internal/race"
	"forage/internal/shared"
	"forage/revisit"
)

// A witness writes down, by cycle, what a policy chose and was told.
type witness struct {
	revisit.Policy
	refetches [][]revisit.PastRefetch // of every fetch, in order
	lost      [][]bool                // the fetch found the document gone
	known     []int                   // documents that could be fetched at its end
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

func (w *witness) ObserveSignal(same []graph.Node) {
	if p, ok := w.Policy.(revisit.SignalObserver); ok {
		p.ObserveSignal(same)
	}
}

func (w *witness) ObserveLinks(v graph.Node, to []graph.Node) {
	if p, ok := w.Policy.(revisit.LinkObserver); ok {
		p.ObserveLinks(v, to)
	}
}

func (w *witness) Observe(v revisit.Refetch) {
	l := revisit.PastRefetch{Page: v.Page, Gap: len(w.refetches) - w.last[v.Page], Found: slices.Clone(v.Found)}
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
// FORAGE_SITES=all for policies that leave most documents alone, too.
func TestCoverageEstimate(t *testing.T) {
	race.Skip(t)
	policies := estimatePolicies()
	// How far the mean estimate may be off at a budget of 3 and at others, in percentage points, by policy
	// and set. With 3 fetches a week best hardly looks at what it expects nothing of: what that hides is
	// estimated by a prior alone, and differs by site.
	off := map[string]map[string][2]float64{"best": {"sites": {3.5, 1.5}, "sites-more": {6, 2}}, "round-robin": {"sites": {7, 7}, "sites-more": {6, 6}}}
	for _, set := range []string{"sites", "sites-more"} {
		t.Run(set, func(t *testing.T) {
			all := estimates(t, set)
			for _, name := range policies {
				held, windows := 0., 0.
				for _, k := range estimateBudgets {
					var truth, share, width, in float64
					outcomes := all[estimateSetting{name, k}]
					n := float64(len(outcomes))
					for _, o := range outcomes {
						truth, share, width = truth+100*o.truth/n, share+100*o.Share/n, width+100*(o.High-o.Low)/n
						if o.Low-1e-9 <= o.truth && o.truth <= o.High+1e-9 {
							in++
						}
					}
					held, windows = held+in, windows+n
					t.Logf("%-12s k = %3d: %2g windows, %.1f%% known, %.1f%% estimated, intervals %4.1f points wide, %.0f%% of them hold", name, k, n, truth, share, width, 100*in/n)
					most, ok := off[name][set]
					if ok && !(math.Abs(share-truth) <= most[min(1, k/10)]) {
						t.Errorf("%s, k = %d: %.1f%% known, the mean estimate is %.1f%%", name, k, truth, share)
					}
					if name == "best" && (in < .75*n || k >= 30 && (in < .85*n || width > 20)) {
						t.Errorf("%s, k = %d: %g of %g intervals hold, %.1f points wide", name, k, in, n, width)
					}
				}
				t.Logf("%-12s %.0f of %.0f intervals hold, %.0f%%", name, held, windows, 100*held/windows)
				if off[name] != nil && held < .85*windows {
					t.Errorf("%s: %.0f of %.0f intervals hold", name, held, windows)
				}
			}
		})
	}
}

var estimateBudgets = []int{3, 10, 30, 100}

func estimatePolicies() []string {
	policies := []string{"best", "round-robin"}
	if os.Getenv("FORAGE_SITES") == "all" {
		policies = append(policies, "index", "feeds-first")
	}
	return policies
}

type estimateSetting struct {
	policy string
	k      int
}

// An estimate is one of a window, with the true share.
type estimate struct {
	truth float64
	revisit.Coverage
}

// A watched site is one with runs of policies at it.
type watched struct {
	weeks int
	truth truth
	runs  map[estimateSetting]watchedRun
}

type watchedRun struct {
	*witness
	foundAt []int32 // by page, as in budgeted
}

// watch runs the policies of TestCoverageEstimate at the sites of a data set with each of its budgets, and best with those
// of TestTimely too: once for both.
func watch(t *testing.T, set string) []watched {
	t.Helper()
	dir := shared.Path(t, "data", set)
	run, _ := watching.LoadOrStore(set, sync.OnceValues(func() ([]watched, error) {
		var mu sync.Mutex
		var all []watched
		_, err := eachSite(context.Background(), &Env{Data: dir}, func(_ int, s *site) error {
			_, weeks := s.recrawls(true)
			at := watched{len(s.weeks), s.truth(weeks), map[estimateSetting]watchedRun{}}
			for _, name := range estimatePolicies() {
				budgets := estimateBudgets
				if name == "best" {
					budgets = slices.Concat(timelyBudgets, budgets)
				}
				for _, k := range budgets {
					if _, ok := at.runs[estimateSetting{name, k}]; ok {
						continue
					}
					p, err := policy(name, 1)
					if err != nil {
						return err
					}
					w := &witness{Policy: p}
					b := s.budgeted(w, true, "none")
					b.run(k, at.truth)
					w.Policy = nil // and what it knows
					at.runs[estimateSetting{name, k}] = watchedRun{w, b.foundAt}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, at)
			return nil
		})
		return all, err
	}))
	all, err := run.(func() ([]watched, error))()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var watching sync.Map // func() ([]watched, error), by data set

// estimates returns those of all windows of the sites of a data set in which ten pages or more
// became new.
func estimates(t *testing.T, set string) map[estimateSetting][]estimate {
	const window = 30
	all := map[estimateSetting][]estimate{}
	for _, s := range watch(t, set) {
		for setting, run := range s.runs {
			for end := window; end < s.weeks; end += window {
				there, known := 0, 0
				for y, at := range s.truth.born {
					if int(at) > end-window && int(at) <= end {
						there++
						if found := run.foundAt[y]; found >= 0 && int(found) <= end {
							known++
						}
					}
				}
				if c := revisit.Estimate(run.answered(end, window), run.known[end-1]); there >= 10 && !math.IsNaN(c.Share) {
					all[setting] = append(all[setting], estimate{float64(known) / float64(there), c})
				}
			}
		}
	}
	return all
}
