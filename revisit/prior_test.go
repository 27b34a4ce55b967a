package revisit

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// TestShares is what is usual by class.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		p    Profile
		want float64
	}{
		{Profile{Home: true, Links: 100}, .56},
		{Profile{Kind: Sitemap, Main: true}, .66},
		{Profile{Kind: Feed}, .001},
		{Profile{Links: 4}, .001},
		{Profile{Links: 19, Depth: 1}, .002 * .6},
		{Profile{Links: 20, Depth: 5, Index: true}, .006 * .2},
		{Profile{Links: 20, Depth: 1, List: 1, Number: 7}, .006 * .6 * .3},
		{Profile{Links: 60, Index: true}, .03 + .15},
	} {
		if got := usual.of(&c.p); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v shows %g, want %g", c.p, got, c.want)
		}
	}
}

// TestPriorOf: each kind of document has its number, and pages less of theirs in directories.
func TestPriorOf(t *testing.T) {
	p := Prior{Home: .1, Feed: .2, Sitemap: .3, Index: .4, Page: .5, Deeper: .5}
	for _, c := range []struct {
		p    Profile
		want float64
	}{
		{Profile{Home: true, Index: true}, .1},
		{Profile{Kind: Feed, Main: true}, .2},
		{Profile{Kind: Sitemap, Main: true}, .3},
		{Profile{Index: true, Depth: 3}, .4},
		{Profile{}, .5},
		{Profile{Depth: 1}, .25},
		{Profile{Depth: 7}, .125},
		{Profile{Kind: Feed, Depth: 1}, .25},
	} {
		if got := p.of(&c.p); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v shows %g, want %g", c.p, got, c.want)
		}
	}
}

// TestParseFit: a file is read as it was written, and one that lacks a number, has others or one out
// of its limits is refused by name.
func TestParseFit(t *testing.T) {
	fit := &Fit{Origin{[]string{"a", "b"}, "2/10", 87.5}, shipped.Prior}
	good := fit.JSON()
	got, err := ParseFit(good)
	if err != nil || got.Prior != fit.Prior || got.Origin.Fold != "2/10" || !bytes.Equal(got.JSON(), good) {
		t.Fatalf("%+v, %v; want %+v", got, err, fit)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"missing":    {`"home"`, `"away"`, `"home"`},
		"too large":  {`"left": `, `"left": 1`, "left"},
		"negative":   {`"idle": `, `"idle": -`, "idle"},
		"too many":   {`"home"`, `"x": 1, "home"`, "another version"},
		"not JSON":   {`{`, ``, "JSON"},
		"not number": {`"home": `, `"home": "a`, ""},
	} {
		bad := strings.Replace(string(good), c.old, c.new, 1)
		if _, err := ParseFit([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.want) && name != "not JSON" {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
	for _, n := range fit.Prior.Numbers() {
		if !(*n.Value >= n.Least && *n.Value <= n.Most) {
			t.Errorf("the shipped %s is %g, outside of %g to %g", n.Name, *n.Value, n.Least, n.Most)
		}
	}
}
