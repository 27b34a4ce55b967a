package crawl

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/store"
)

// TestRobotsKept asks for robots.txt as seldom as its age, by the clock of the crawl, permits:
// what is kept serves all cycles, of this process and of the next.
func TestRobotsKept(t *testing.T) {
	t.Parallel()
	const minute, hour = time.Minute, time.Hour
	type step struct {
		after time.Duration // on the crawl's clock since the step before
		full  bool
		asked bool
	}
	answer := func(cache string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if cache != "" {
				w.Header().Set("Cache-Control", cache)
			}
			plain("User-agent: *\nDisallow: /private")(w, r)
		}
	}
	for _, test := range []struct {
		name  string
		robot http.HandlerFunc
		steps []step
	}{
		{"three cycles within an hour, and a day later", answer(""), []step{
			{after: minute}, {after: 20 * minute}, {after: 30 * minute}, {after: 22 * hour}, {after: 2 * hour, asked: true}, {after: 23 * hour},
		}},
		{"for a minute", answer("max-age=60"), []step{
			{after: 30 * time.Second}, {after: 31 * time.Second, asked: true}, {after: 59 * time.Second}, {after: hour, asked: true},
		}},
		{"for a year, which is too long", answer("max-age=31536000"), []step{{after: 23 * hour}, {after: 2 * hour, asked: true}}},
		{"not at all", answer("no-cache"), []step{{asked: true}, {after: time.Second, asked: true}, {after: minute, asked: true}}},
		{"not to be stored", answer("no-store"), []step{{asked: true}, {after: minute, asked: true}}},
		{"full recrawls ask anew", answer(""), []step{
			{after: minute}, {after: minute, full: true, asked: true}, {after: minute}, {after: 23 * hour}, {after: hour, asked: true}, {full: true, asked: true},
		}},
		{"there is none", status(404), []step{{after: minute}, {after: 23 * hour}, {after: 2 * hour, asked: true}}},
	} {
		for _, reopen := range []bool{false, true} {
			name := test.name
			if reopen {
				name += ", in a process each"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWeb(t)
					w.tree("/", 2)
					w.set("/robots.txt", test.robot)
					cfg := local(t.TempDir())
					cfg.At = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
					c, err := Open(cfg)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { c.Close() }()
					w.crawl(t, c, store.Rules{})
					for i, s := range test.steps {
						cfg.At = cfg.At.Add(s.after)
						if reopen {
							if err := c.Close(); err != nil {
								t.Fatal(err)
							}
							if c, err = Open(cfg); err != nil {
								t.Fatal(err)
							}
						}
						c.cfg.At = cfg.At // no run is under way
						before := w.count("/robots.txt")
						r := w.revisit(t, c, plan.Plan{Policy: "round-robin", Budget: func(int) int { return 1 }, Full: s.full})
						if r.Refetched == 0 {
							t.Fatalf("step %d: %+v", i, r)
						}
						n := w.count("/robots.txt") - before
						if n > 1 || (n == 1) != s.asked {
							t.Errorf("step %d, %v after the one before: robots.txt was asked for %d times, want %v", i, s.after, n, s.asked)
						}
					}
				})
			})
		}
	}
}
