package main

import (
	"context"
	"testing"
)

// TestLeast crawls a small site of each kind and compares with what must be reached. A figure that
// is better than its bound is logged: the bound can be raised.
func TestLeast(t *testing.T) {
	for _, b := range least {
		t.Run(b.kind, func(t *testing.T) {
			t.Parallel()
			r, err := judge(context.Background(), b.trial(1))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", *r)
			if b.ended && !r.Ended {
				t.Errorf("the first visit was cut after %d requests, want it to end by itself", r.Requests)
			} else if r.Ended && !b.ended {
				t.Log("better: the first visit ends by itself")
			}
			figure := func(what string, got, bound int64, low bool) {
				t.Helper()
				if !low {
					got, bound = -got, -bound
				}
				switch {
				case got > bound:
					t.Errorf("%s: got %d, want at %s %d", what, abs(got), map[bool]string{true: "most", false: "least"}[low], abs(bound))
				case got < bound:
					t.Logf("better: %s %d, the bound is %d", what, abs(got), abs(bound))
				}
			}
			figure("requests of the first visit", r.Requests, b.requests, true)
			figure("content pages found", int64(r.Found), int64(b.found), false)
			figure("published pages told new", int64(r.ToldNew), int64(b.toldNew), false)
			figure("pages told new that were there", int64(r.FalseNew), int64(b.falseNew), true)
			figure("deleted and renamed pages told", int64(r.ToldAway), int64(b.toldAway), false)
			figure("pages told gone that are there", int64(r.FalseGone), int64(b.falseGone), true)
			figure("requests of a later cycle", r.Revisit, b.revisit, true)
		})
	}
}

func abs(n int64) int64 { return max(n, -n) }

// TestSameSeed: a trial comes out the same twice.
func TestSameSeed(t *testing.T) {
	tr := least[0].trial(3)
	tr.first = 60 // cut, where the order counts
	a, err := judge(context.Background(), tr)
	if err != nil {
		t.Fatal(err)
	}
	b, err := judge(context.Background(), tr)
	if err != nil || *a != *b {
		t.Errorf("%+v and then %+v, %v", a, b, err)
	}
}
