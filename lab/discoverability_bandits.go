package lab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// banditBudgets are the fetches a site and week of bandits.
var banditBudgets = []int{1, 3, 10, 30, 100, 300, 1000, 10000}

// paperBandit is the coverage up to which the paper's bandits go, "with overhead comparable to OD-WIN" [DGKOPT07, §6].
const paperBandit = .64

// A banditRow is a policy at one budget.
type banditRow struct {
	policy, told string
	k            int
	averages
}

// What the policies of bandits are told of a week besides their own fetches.
const (
	toldNothing  = "nothing"
	toldPages    = "which pages there are"
	toldRecrawls = "full recrawls"
)

// bandits runs the multi-armed bandits [DGKOPT07, §6] without full recrawls, beside OD-WIN with them. Whether a bandit knows pages
// that its own fetches did not show the paper does not say: here are both. Pages only; OD-WIN is averaged over recrawls every 2 to 6 weeks,
// as in the paper's Table 2.
func bandits(ctx context.Context, env *Env) (*Result, error) {
	var runs []run
	for period := 2; period <= 6; period++ {
		runs = append(runs, run{policy: "od-win", period: period})
	}
	recrawled, _, err := sweep(ctx, env, runs, banditBudgets)
	if err != nil {
		return nil, err
	}
	files, _, err := env.recrawled()
	if err != nil {
		return nil, err
	}
	type line struct{ policy, told string }
	lines := []line{{"bandit", toldNothing}, {"bandit-greedy", toldNothing}, {"bandit", toldPages}, {"bandit-greedy", toldPages}}
	all := make([][][]tally, len(files)) // by site, line, budget
	data, err := eachSite(ctx, env, func(i int, s *site) error {
		first, weeks := s.recrawls(false)
		all[i] = make([][]tally, len(lines))
		for j, l := range lines {
			for _, k := range banditBudgets {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				p, err := policy(l.policy, env.Seed)
				if err != nil {
					return err
				}
				t := tally{}
				if l.told == toldPages { // the outcome of a recrawl, of which a bandit takes in the pages alone
					t = s.periodic(p, k, first, weeks)
				} else {
					t = s.budgeted(p, false, "none").run(k, s.truth(weeks))
				}
				all[i][j] = append(all[i][j], t)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var rows []banditRow
	for b, k := range banditBudgets {
		var column []averages
		for i := range runs {
			column = append(column, recrawled[i][b])
		}
		rows = append(rows, banditRow{"od-win", toldRecrawls, k, average(column)})
	}
	for j, l := range lines {
		for b, k := range banditBudgets {
			var column []tally
			for i := range all {
				column = append(column, all[i][j][b])
			}
			rows = append(rows, banditRow{l.policy, l.told, k, mean(column)})
		}
	}
	r := &Result{Columns: []string{"policy", "told", "k", "depth", "overhead", "coverage", "coverage_site_mean", "paper_coverage"}}
	panel := Panel{Title: "bandits, and OD-WIN with free recrawls", X: "budget k, fetches a site and week", Y: "share of new pages found", LogX: true}
	for _, row := range rows {
		var printed any
		if row.policy != "od-win" {
			printed = paperBandit
		}
		r.Add(row.policy, row.told, row.k, row.depth, row.overhead, row.coverage, row.siteMean, printed)
		name := row.policy + ", told " + row.told
		at := slices.IndexFunc(panel.Series, func(s Series) bool { return s.Name == name })
		if at < 0 {
			at, panel.Series = len(panel.Series), append(panel.Series, Series{Name: name})
		}
		s := &panel.Series[at]
		s.X, s.Y = append(s.X, float64(row.k)), append(s.Y, row.coverage)
	}
	r.Figure = &Figure{Panels: []Panel{panel}}
	banditNotes(r, rows)
	r.Notef("bandit is UCB1, which tries every page once first; bandit-greedy takes a random page one time in ten and else the best so far. Both pull k arms together, once a week. " +
		"The paper names neither the policy nor the budgets of its early experiments, and says that overhead is comparable to OD-WIN's: here that means at most twice or half. " +
		"In rows told nothing, fetches of weeks without new pages count too.")
	r.Notef("%s", data.differ())
	return r, nil
}

// banditNotes stands each bandit beside the paper's 64%, and its overhead there beside OD-WIN's.
func banditNotes(r *Result, rows []banditRow) {
	type line struct{ policy, told string }
	of := map[line][]banditRow{}
	var order []line
	for _, row := range rows {
		l := line{row.policy, row.told}
		if of[l] == nil {
			order = append(order, l)
		}
		of[l] = append(of[l], row)
	}
	od := of[line{"od-win", toldRecrawls}]
	for _, l := range order {
		if l.policy == "od-win" {
			continue
		}
		theirs := of[l]
		most := slices.MaxFunc(theirs, func(a, b banditRow) int { return cmp.Compare(a.coverage, b.coverage) })
		text := fmt.Sprintf("%s, told %s: the paper's bandits go up to %.0f%% of new pages, this one to %.1f%% (k = %d, overhead %.2f)", l.policy, l.told, 100*paperBandit, 100*most.coverage, most.k, most.overhead)
		at := slices.IndexFunc(theirs, func(x banditRow) bool { return x.coverage >= paperBandit })
		if at < 0 {
			r.Notef("%s; it reaches 64%% at no budget here.", text)
			continue
		}
		x := theirs[at]
		text += fmt.Sprintf("; it reaches 64%% first at k = %d, with an overhead of %.2f", x.k, x.overhead)
		if i := slices.IndexFunc(od, func(y banditRow) bool { return y.coverage >= paperBandit }); i >= 0 {
			ratio := x.overhead / od[i].overhead
			word := "comparable"
			if ratio > 2 || ratio < .5 {
				word = "not comparable"
			}
			text += fmt.Sprintf(", %s to OD-WIN's, which is %.2f where that first reaches it (k = %d): %.3g times", word, od[i].overhead, od[i].k, ratio)
		}
		r.Notef("%s.", text)
	}
}
