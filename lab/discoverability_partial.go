package lab

import (
	"context"
	"math"
	"slices"

	"forage/revisit"
)

// partialShares are the coverages that discoverability-partial asks for.
var partialShares = []float64{.5, .7, .9, .95}

// partialBudgets are the fixed budgets that it compares with, fetches a site and cycle.
var partialBudgets = []int{1, 3, 10, 30, 100}

// partial runs cycles that stop at a coverage: what they spend and what they reach.
func partial(ctx context.Context, env *Env) (*Result, error) {
	files, err := env.Files(".snap.gz")
	if err != nil {
		return nil, err
	}
	type row struct {
		stop  string
		asked float64 // 0: a budget
		k     int
		tail  revisit.Tail
	}
	var rows []row
	for _, tail := range []struct {
		name string
		revisit.Tail
	}{{"shipped", revisit.ShippedTail}, {"development", revisit.DevelopmentTail}} {
		for _, share := range partialShares {
			rows = append(rows, row{"coverage, " + tail.name + " tail", share, math.MaxInt32, tail.Tail})
		}
	}
	for _, k := range partialBudgets {
		rows = append(rows, row{stop: "budget", k: k})
	}
	tallies := make([][]tally, len(files)) // by site, row
	n, err := eachSite(ctx, env, func(i int, s *site) error {
		tallies[i] = make([]tally, len(rows))
		_, weeks := s.recrawls(true)
		truth := s.truth(weeks)
		for j, r := range rows {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			p, err := policyAt("best-folds", s.name, env.Seed)
			if err != nil {
				return err
			}
			b := s.budgeted(p, true, "none")
			if r.asked > 0 {
				b.partial = &revisit.Partial{Share: r.asked, Tail: r.tail}
			}
			tallies[i][j] = b.run(r.k, truth)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"stop", "asked", "k", "fetches_a_cycle", "fetches_a_cycle_site_median", "coverage", "coverage_site_mean", "estimated"}}
	lines := map[string]*Series{}
	panel := Panel{Title: "coverage by what it takes", X: "fetches a site and cycle, mean", Y: "coverage, site mean", LogX: true}
	for j, of := range rows {
		var all []tally
		var each []float64
		var fetches, cycles, expected, left float64
		for i := range tallies {
			t := tallies[i][j]
			all = append(all, t)
			fetches, cycles = fetches+float64(t.fetches), cycles+float64(t.cycles)
			expected, left = expected+t.expected, left+t.left
			if t.cycles > 0 {
				each = append(each, float64(t.fetches)/float64(t.cycles))
			}
		}
		m := mean(all)
		var asked, k, estimated any
		if of.asked > 0 {
			asked, estimated = of.asked, expected/(expected+left)
		} else {
			k = of.k
		}
		r.Add(of.stop, asked, k, fetches/cycles, middle(each), m.coverage, m.siteMean, estimated)
		if lines[of.stop] == nil {
			lines[of.stop] = &Series{Name: of.stop}
		}
		line := lines[of.stop]
		line.X, line.Y = append(line.X, fetches/cycles), append(line.Y, m.siteMean)
		if of.asked > 0 {
			switch short := of.asked - m.siteMean; {
			case short > .02:
				r.Notef("%s: %.0f%% asked for, %.1f%% reached in the mean over sites: too few fetches.", of.stop, 100*of.asked, 100*m.siteMean)
			case short < -.1:
				r.Notef("%s: %.0f%% asked for, %.1f%% reached in the mean over sites: more fetches than it takes.", of.stop, 100*of.asked, 100*m.siteMean)
			}
		}
	}
	for _, name := range []string{rows[0].stop, rows[len(partialShares)].stop, "budget"} {
		panel.Series = append(panel.Series, *lines[name])
	}
	r.Figure = &Figure{Panels: []Panel{panel}}
	r.Notef("%d sites, policy best-folds, own fetches only (setting B of discoverability-beyond), the whole site as the ceiling. coverage counts pages found in the very cycle in which they became new.", n.sites)
	r.Notef("The shipped tail was fitted to the set sites-more and the development tail to the set sites: out of fold are the rows of the first on sites and those of the second on sites-more.")
	r.Notef("estimated is Σ expected/Σ(expected + left) when cycles stopped, over all cycles.")
	return r, nil
}

// partialFetch asks whether the cycle is to go on, and notes what is expected of the next document.
func (b *budgeted) partialFetch() (more bool) {
	pages, ok := b.site.Expected()
	if !ok {
		panic("lab: a coverage is asked of a policy that expects nothing")
	}
	if b.partial.Enough(pages, b.site.NumDocuments()) {
		return false
	}
	b.partial.Fetched(pages)
	return true
}

// middle is the median.
func middle(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	slices.Sort(xs)
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}
