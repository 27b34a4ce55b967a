package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// The decays, budgets and weeks between recrawls of alphas. The paper says which decays do well and prints none of it.
var (
	alphaDecays  = []float64{.2, .4, .6, .8, .9, 1}
	alphaBudgets = []int{1, 10, 100, 1000}
	alphaPeriods = []int{1, 2, 4}
)

// An alphaRow is OD-WIN of one decay at one period and budget.
type alphaRow struct {
	alpha     float64
	period, k int
	averages
}

// alphas runs OD-WIN with several decays α [DGKOPT07, §5.6].
func alphas(ctx context.Context, env *Env) (*Result, error) {
	var runs []run
	for _, period := range alphaPeriods {
		for _, a := range alphaDecays {
			runs = append(runs, run{policy: "od-win", period: period, alpha: a})
		}
	}
	got, data, err := sweep(ctx, env, runs, alphaBudgets)
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"period", "alpha", "k", "depth", "overhead", "coverage", "coverage_site_mean"}, Figure: &Figure{}}
	var rows []alphaRow
	for i, run := range runs {
		for j, k := range alphaBudgets {
			m := got[i][j]
			r.Add(run.period, run.alpha, k, m.depth, m.overhead, m.coverage, m.siteMean)
			rows = append(rows, alphaRow{run.alpha, run.period, k, m})
		}
	}
	for _, period := range alphaPeriods {
		panel := Panel{Title: fmt.Sprintf("a full recrawl every %d weeks", period), X: "decay α", Y: "share of new pages covered"}
		if period == 1 {
			panel.Title = "a full recrawl every week"
		}
		for _, k := range alphaBudgets {
			s := Series{Name: fmt.Sprintf("k = %d", k)}
			for _, row := range rows {
				if row.period == period && row.k == k {
					s.X, s.Y = append(s.X, row.alpha), append(s.Y, row.coverage)
				}
			}
			panel.Series = append(panel.Series, s)
		}
		r.Figure.Panels = append(r.Figure.Panels, panel)
	}
	alphaNotes(r, rows)
	r.Notef("%s", data.differ())
	return r, nil
}

// alphaNotes says how the decays that the paper found to do well compare with the best at each period and budget.
func alphaNotes(r *Result, rows []alphaRow) {
	type cell struct{ period, k int }
	best, of := map[cell]alphaRow{}, map[cell]map[float64]float64{}
	var cells []cell
	for _, row := range rows {
		c := cell{row.period, row.k}
		if of[c] == nil {
			cells, of[c] = append(cells, c), map[float64]float64{}
		}
		of[c][row.alpha] = row.coverage
		if b, ok := best[c]; !ok || row.coverage > b.coverage {
			best[c] = row
		}
	}
	behind, at := 0., cell{}
	for _, c := range cells {
		if d := 100 * (best[c].coverage - max(of[c][.8], of[c][1])); d > behind {
			behind, at = d, c
		}
	}
	verdict := "so they do here: the better of them is the best of all decays at every period and budget"
	if behind > 0 {
		verb := "so they do here: the better of them is"
		if behind > 2 {
			verb = "here the better of them is as much as"
		}
		verdict = fmt.Sprintf("%s %.2f points of coverage below the best decay, α = %g, at a recrawl every %d weeks and k = %d, and nowhere further", verb, behind, best[at].alpha, at.period, at.k)
	}
	r.Notef("The paper evaluated various α, prints none, and says that .8 and 1 do well; %s.", verdict)
	counts := map[float64]int{}
	for _, c := range cells {
		for a, y := range of[c] {
			if y == best[c].coverage {
				counts[a]++
			}
		}
	}
	var parts []string
	for _, row := range rows {
		if n, ok := counts[row.alpha]; ok {
			parts = append(parts, fmt.Sprintf("%g at %d", row.alpha, n))
			delete(counts, row.alpha)
		}
	}
	slices.Sort(parts)
	r.Notef("Best, ties counted for each, of %d pairs of period and budget: α = %s.", len(cells), strings.Join(parts, ", "))
}
