package main

import (
	"testing"

	"forage/crawl/plan"
)

// TestSmallRevisit: a store has little memory only where neither old documents nor new ones may be many.
func TestSmallRevisit(t *testing.T) {
	for _, tt := range []struct {
		budget string
		p      plan.Plan
		want   bool
	}{
		{"10", plan.Plan{MaxNew: 1000}, true},
		{"1000", plan.Plan{MaxNew: 1000}, true},
		{"1001", plan.Plan{MaxNew: 1000}, false},
		{"10%", plan.Plan{MaxNew: 1000}, false},
		{"10", plan.Plan{MaxNew: 0}, false},
		{"10", plan.Plan{MaxNew: 1001}, false},
		{"10", plan.Plan{MaxNew: 1000, Full: true}, false},
		{"10", plan.Plan{MaxNew: 1000, Period: 4}, false},
	} {
		var budget amount
		if err := budget.Set(tt.budget); err != nil {
			t.Fatal(err)
		}
		if got := smallRevisit(&tt.p, budget); got != tt.want {
			t.Errorf("--budget %s with %+v: %v, want %v", tt.budget, tt.p, got, tt.want)
		}
	}
}
