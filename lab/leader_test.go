package lab

import (
	"reflect"
	"testing"
)

// TestLeader: the first of equals leads, then who found more so far; what a week brings counts
// only from the next one on.
func TestLeader(t *testing.T) {
	weeks := func(found ...int) (out []weekly) {
		for i, n := range found {
			out = append(out, weekly{fetches: 5, found: n, there: 10, score: i > 0})
		}
		return out
	}
	a, b := weeks(1, 2, 0, 3), weeks(2, 0, 9, 4)
	thrifty := weeks(2, 0, 9, 4)
	for i := range thrifty {
		thrifty[i].fetches = 2
	}
	for name, c := range map[string]struct {
		policies       [][]weekly
		found, fetches int
	}{
		"one":             {[][]weekly{a}, 2 + 0 + 3, 15},
		"after each week": {[][]weekly{a, b}, 0 + 0 + 4, 15}, // b after week 0, a after week 1, b after week 2
		"equals":          {[][]weekly{b, thrifty}, 0 + 9 + 4, 15},
	} {
		got := leader(c.policies)
		var want tally
		want.fetches, want.found, want.there, want.weeks, want.cycles = c.fetches, c.found, 30, 3, 3
		want.ratio, want.ratios = got.ratio, got.ratios
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
