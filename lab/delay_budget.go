package lab

import (
	"context"

	"forage/revisit"
)

// delayBudgets are the fetches of old documents a day of delay-budget.
var delayBudgets = []int{1, 2, 3, 5, 10, 20, 30, 50}

// delayBudget is the budget curve: what is found within a day of publication, by fetches a day.
func delayBudget(ctx context.Context, env *Env) (*Result, error) {
	var plans []delayPlan
	for _, k := range delayBudgets {
		plans = append(plans, delayPlan{24, k})
	}
	t, err := runDelays(ctx, env, plans, delayPolicies)
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"policy", "fetches_a_day", "page_1d", "publication_1d", "fetches_per_new"}}
	page := Panel{Title: "each page counts", X: "fetches a day", Y: "share found within a day, site mean", LogX: true}
	publication := page
	publication.Title = "each publication counts once"
	for _, policy := range t.policies {
		byPage, byPublication := Series{Name: policy}, Series{Name: policy}
		for i, plan := range t.plans {
			m := meanDelay(t.of(plan, policy))
			r.Add(policy, delayBudgets[i], m.page[0], m.publication[0], m.perNew)
			byPage.X, byPage.Y = append(byPage.X, float64(delayBudgets[i])), append(byPage.Y, m.page[0])
			byPublication.X, byPublication.Y = append(byPublication.X, float64(delayBudgets[i])), append(byPublication.Y, m.publication[0])
		}
		page.Series, publication.Series = append(page.Series, byPage), append(publication.Series, byPublication)
	}
	r.Figure = &Figure{Panels: []Panel{page, publication}}
	budgetNotes(r, t)
	fitNote(r, t.sites, revisit.PriorSites())
	return r, nil
}

// budgetNotes says what it takes to find as much as lists does at its largest budget.
func budgetNotes(r *Result, t *delayTable) {
	last := len(t.plans) - 1
	want := meanDelay(t.of(t.plans[last], "lists")).page[0]
	for _, plan := range t.plans {
		if m := meanDelay(t.of(plan, "best-folds")); m.page[0] >= want {
			r.Notef("Within a day best-folds finds with a budget of %d a day what lists finds with %d: %.1f%% of new pages, site mean.",
				plan.budget, t.plans[last].budget, 100*want)
			return
		}
	}
	r.Notef("At no budget up to %d fetches a day does best-folds find what lists finds with as many: %.1f%% of new pages within a day, site mean.", t.plans[last].budget, 100*want)
}
