package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"

	"forage/crawl/plan"
	"forage/revisit"
	"forage/store"
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

// TestPoliciesAgainstScan: what is kept of many sites is what a list that is searched from its beginning keeps.
func TestPoliciesAgainstScan(t *testing.T) {
	large := make([]revisit.Document, maxPolicyDocuments/4)
	for i := range large {
		large[i].Key = revisit.Key(i)
	}
	var sizes []*kept
	for _, n := range []int{0, 1, maxPolicyDocuments / 16, len(large)} {
		k := &kept{Site: revisit.NewSite(revisit.NewBest(0))}
		k.Start(large[:n])
		sizes = append(sizes, k)
	}
	plans := []*plan.Plan{{Policy: "best"}, {Policy: "index"}}
	type entry struct {
		site   store.SiteID
		plan   *plan.Plan
		policy *kept
	}
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	var p policies
	var naive []entry
	documents, dropped, found := 0, 0, 0
	drop := func(i int) {
		documents -= naive[i].policy.NumDocuments()
		naive = slices.Delete(naive, i, i+1)
	}
	for step := range 20_000 {
		site, with := store.SiteID(r.IntN(50)), plans[r.IntN(8)/7]
		var want *kept
		if i := slices.IndexFunc(naive, func(e entry) bool { return e.site == site }); i >= 0 {
			if naive[i].plan == with {
				want = naive[i].policy
				found++
			}
			drop(i)
		}
		if got := p.take(site, with); got != want {
			t.Fatalf("seed %d, step %d: take(%d) = %p, want %p", seed, step, site, got, want)
		}
		if r.IntN(4) == 0 {
			continue
		}
		k := &kept{Site: sizes[r.IntN(len(sizes))].Site}
		p.keep(site, with, k)
		naive = append(naive, entry{site, with, k})
		for documents += k.NumDocuments(); documents > maxPolicyDocuments && len(naive) > 1; dropped++ {
			drop(0)
		}
		if p.documents != documents || p.kept.Len() != len(naive) || len(p.bySite) != len(naive) {
			t.Fatalf("seed %d, step %d: %d documents of %d and %d sites, want %d of %d",
				seed, step, p.documents, p.kept.Len(), len(p.bySite), documents, len(naive))
		}
	}
	if dropped == 0 || found == 0 {
		t.Errorf("%d dropped and %d found again, want some of both", dropped, found)
	}
}
