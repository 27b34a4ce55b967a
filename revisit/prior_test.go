package revisit

import (
	"math"
	"testing"
)

// TestLearnPrior has two sites: one with 100 documents of a class that show .01, one with 4
// that show .1, all of it alone. Weighted by the roots of 100 and 4 that makes .025.
func TestLearnPrior(t *testing.T) {
	var a, b Experience
	page := Profile{Links: 30, Depth: 1}
	for range 100 {
		a.Add(&page, false, .01, .01)
	}
	for range 4 {
		b.Add(&page, false, .1, .1)
	}
	b.Add(&page, true, .2, .2)
	p := LearnPrior([]*Experience{&a, &b})
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	near("page", p.Of(&page, false), .025)
	near("links", p.Links[2], .025)
	near("depth", p.Depth[1], 1)
	near("last page", p.Of(&page, true), 4*.2)
	near("home, which nobody taught", p.Of(&Profile{Home: true}, false), prior.Home)
	if got := LearnPrior(nil); got != prior {
		t.Errorf("nobody teaches %+v, want the default", got)
	}
}

// TestPrior is the default by class.
func TestPrior(t *testing.T) {
	for _, c := range []struct {
		p    Profile
		last bool
		want float64
	}{
		{Profile{Home: true, Links: 100}, false, .56},
		{Profile{Kind: Sitemap, Main: true}, false, .66},
		{Profile{Kind: Feed}, false, .001},
		{Profile{Links: 100}, true, .06},
		{Profile{Links: 4}, false, .001},
		{Profile{Links: 19, Depth: 1}, false, .002 * .6},
		{Profile{Links: 20, Depth: 5, Index: true}, false, .006 * .2},
		{Profile{Links: 20, Depth: 1, List: 1, Number: 7}, false, .006 * .6 * .3},
		{Profile{Links: 20, Depth: 1, List: 1, Number: 7}, true, .06},
		{Profile{Links: 60, Index: true}, false, .03 + .15},
	} {
		if got := prior.Of(&c.p, c.last); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v shows %g, want %g", c.p, got, c.want)
		}
	}
}
