package revisit

import (
	"math"
	"testing"
)

// TestPartialOnShape: where gains fall as they usually do, and the tail is not corrected, the fetches that
// Partial asks for are those of which shape says the same.
func TestPartialOnShape(t *testing.T) {
	for _, share := range []float64{.9, .95, .97} {
		p := Partial{Share: share, Tail: Tail{1, math.Inf(1), 1}}
		gain := func() float64 { k := p.Fetches; return 100 * (shape(k+1) - shape(k)) }
		for !p.Enough(gain(), math.MaxInt32) {
			p.Fetched(gain())
		}
		if got := shape(p.Fetches); math.Abs(got-share) > .05 || got < share-.01 {
			t.Errorf("share %g: %d fetches, which show %.3f", share, p.Fetches, got)
		}
		if got := p.Expected / (p.Expected + p.Left); got < share {
			t.Errorf("share %g: stopped at an estimate of %g", share, got)
		}
	}
}

func TestPartialEnds(t *testing.T) {
	for _, test := range []struct {
		name      string
		expected  []float64
		documents int
		fetches   int
	}{
		{"nothing is expected: one look all the same", []float64{0, 0, 0}, 100, 1},
		{"one document shows everything", []float64{5, 0, 0}, 100, 1},
		{"all alike", []float64{1, 1, 1, 1, 1, 1, 1, 1}, 5, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Partial{Share: .9}
			for !p.Enough(test.expected[p.Fetches], test.documents) {
				p.Fetched(test.expected[p.Fetches])
			}
			if p.Fetches != test.fetches {
				t.Errorf("%d fetches, want %d", p.Fetches, test.fetches)
			}
		})
	}
}

// TestPartialMonotone: who asks for more never gets fewer fetches.
func TestPartialMonotone(t *testing.T) {
	last := 0
	for share := .05; share < 1; share += .05 {
		p := Partial{Share: share}
		for !p.Enough(10*math.Pow(float64(p.Fetches+1), -1.3), 10_000) {
			p.Fetched(10 * math.Pow(float64(p.Fetches+1), -1.3))
		}
		if p.Fetches < last {
			t.Errorf("share %g: %d fetches, and %d for less", share, p.Fetches, last)
		}
		last = p.Fetches
	}
	if last < 30 {
		t.Errorf("%d fetches for nearly all", last)
	}
}
