package ledger

import (
	"testing"

	"forage/crawl/plan"
	"forage/revisit"
)

// TestPoliciesByContents: a prior that was read from a file once more is the same prior.
func TestPoliciesByContents(t *testing.T) {
	with := func(index float64) *plan.Plan {
		prior := revisit.RoundPrior()
		prior.Index = index
		return &plan.Plan{Policy: "best", Config: revisit.Config{Prior: &prior}}
	}
	for _, test := range []struct {
		plan *plan.Plan
		same bool
	}{
		{with(.1), true},
		{with(.2), false},
		{&plan.Plan{Policy: "best"}, false},
		{&plan.Plan{Policy: "index", Config: with(.1).Config}, false},
	} {
		var p policies
		k := &kept{Site: revisit.NewSite(revisit.NewBest(0))}
		p.keep(1, with(.1), k)
		if got := p.take(1, test.plan); (got == k) != test.same {
			t.Errorf("%s with %+v: kept is %v, want %v", test.plan.Policy, test.plan.Config.Prior, got == k, test.same)
		}
	}
}
