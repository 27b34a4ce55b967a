package plan

import (
	"testing"

	"forage/store"
)

// TestChecks: the share of the budget that is for pages that lists have dropped, over 20 cycles.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		share            float64
		budget, day      int
		looked, departed int
		want             int
	}{
		{.25, 10, 0, 0, 0, 50},
		{.25, 3, 0, 0, 0, 0},
		{.25, 4, 0, 0, 0, 20},
		{.25, 10, 0, 8, 8, 50},
		{.25, 10, 0, 8, 4, 50},
		{.25, 10, 0, 8, 0, 10},
		{.25, 10, 0, 98, 0, 1},
		{.25, 1, 10, 0, 0, 5},
		{.25, 1, 3, 0, 0, 0},
		{.25, 2, 10, 8, 0, 2},
		{0, 1000, 0, 0, 0, 0},
		{1, 10, 0, 0, 0, 200},
	} {
		p, s, sum := &Plan{CheckGone: c.share, Day: c.day}, &store.Site{Looked: c.looked, Departed: c.departed}, 0
		for n := range 20 {
			sum += p.Checks(s, n+1, c.budget)
		}
		if sum != c.want {
			t.Errorf("%+v: %d looks in 20 cycles, want %d", c, sum, c.want)
		}
	}
}
