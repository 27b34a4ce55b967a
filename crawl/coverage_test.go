package crawl

import (
	"context"
	"math"
	"testing"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/internal/race"
	"forage/internal/software"
)

// TestCoverage asks for shares of what is new: the more is asked for the more is fetched, short of the whole site, a
// budget is the ceiling, and the store tells the estimate at which each cycle ended.
func TestCoverage(t *testing.T) {
	race.Skip(t)
	for _, h := range histories(t)[:2] {
		t.Run(h.Site, func(t *testing.T) {
			t.Parallel()
			spent := func(share float64, budget func(int) int) (total int64) {
				server, base := served(t, h)
				c := open(t, func(cfg *Config) { cfg.Parallel, cfg.At = 1, software.Start }) // what is expected follows from the time
				if _, err := c.Run(context.Background(), []scope.Seed{{URL: base + "/"}}, Options{}); err != nil {
					t.Fatal(err)
				}
				for k := 1; k <= 5; k++ {
					c.cfg.At = c.cfg.At.Add(software.Week)
					if err := server.Switch(k); err != nil {
						t.Fatal(err)
					}
					r, err := c.Revisit(context.Background(), plan.Plan{Coverage: share, Budget: budget, CheckGone: .25}, Options{})
					if err != nil {
						t.Fatal(err)
					}
					rec, err := c.View().Cycle(1, r.Cycle)
					if err != nil {
						t.Fatal(err)
					}
					got, ok := r.Coverage()
					if !ok || math.Abs(got-float64(rec.Foreseen)/float64(rec.Foreseen+rec.Unseen)) > 1e-9 {
						t.Errorf("cycle %d: coverage %g, %v; the store has %d and %d", r.Cycle, got, ok, rec.Foreseen, rec.Unseen)
					}
					if budget == nil && got < share-.001 {
						t.Errorf("cycle %d ended at %g, want %g", r.Cycle, got, share)
					}
					if budget != nil && r.Refetched > int64(budget(0)) {
						t.Errorf("cycle %d: %d fetched, the ceiling is %d", r.Cycle, r.Refetched, budget(0))
					}
					total += r.Refetched
				}
				return total
			}
			half, most, capped := spent(.5, nil), spent(.95, nil), spent(.95, func(int) int { return 2 })
			if !(half <= most) || half < 5 || capped > 10 {
				t.Errorf("%d fetches for a half, %d for .95, %d with a ceiling of 2 in each of 5 cycles", half, most, capped)
			}
		})
	}
}

// TestCoverageGoesOn: a cycle that is cut again and again goes on with what it had found by then, and takes about as many
// fetches as one that is not.
func TestCoverageGoesOn(t *testing.T) {
	h := histories(t)[1]
	refetched := func(most int64) int64 {
		server, base := served(t, h)
		c := open(t, func(cfg *Config) { cfg.Parallel, cfg.At = 1, software.Start })
		if _, err := c.Run(context.Background(), []scope.Seed{{URL: base + "/"}}, Options{}); err != nil {
			t.Fatal(err)
		}
		c.cfg.At = c.cfg.At.Add(software.Week)
		if err := server.Switch(1); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			r, err := c.Revisit(context.Background(), plan.Plan{Coverage: .95, Text: "95%"}, Options{MaxTotal: most})
			if err != nil || r.Cycle != 2 {
				t.Fatalf("%+v, %v", r, err)
			}
			if r.Cut == "" {
				return r.Refetched
			}
		}
		t.Fatal("the cycle does not end")
		return 0
	}
	whole := refetched(0)
	if whole < 5 {
		t.Errorf("%d fetches", whole)
	}
	if got := refetched(2); got < whole-1 || got > whole+1 {
		t.Errorf("%d fetches where the cycle was cut, %d where it was not", got, whole)
	}
}
