package crawl

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/internal/race"
	"forage/replay"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/snap"
	"forage/store"
)

// TestPoliciesKept carries out the same cycles of the same store twice: in one crawl, whose
// policies stay in memory from cycle to cycle, and in a crawl each, whose policies are told
// everything anew from the records. Both fetch the same documents in the same order.
func TestPoliciesKept(t *testing.T) {
	t.Parallel()
	policies := []string{"best"}
	if os.Getenv("FORAGE_SITES") == "all" {
		policies = append(policies, "history", "index", "feeds-first", "round-robin", "cov", "nutch", "storm")
	}
	if !race.Enabled {
		policies = append(policies, "od-win", "bandit", "lists")
	}
	for _, policy := range policies {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := snap.Blog(rand.New(rand.NewPCG(3, 4)), 14)
				server, err := replay.New(h, 0, false)
				if err != nil {
					t.Fatal(err)
				}
				web := lan.Server("127.0.0.1:0", server)
				defer web.Close()
				ctx := context.Background()
				root := t.TempDir()
				first := filepath.Join(root, "first")
				crawl := func(dir string) *Crawl {
					cfg := local(dir)
					cfg.Parallel = 1 // all that is found is found in the same order
					c, err := Open(cfg)
					if err != nil {
						t.Fatal(err)
					}
					return c
				}
				c := crawl(first)
				if _, err := c.Run(ctx, []scope.Seed{{URL: web.URL + "/"}}, Options{}); err != nil {
					t.Fatal(err)
				}
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				cycles := func(name string, reopen bool) (string, *Crawl) {
					dir := filepath.Join(root, name)
					if err := os.CopyFS(dir, os.DirFS(first)); err != nil {
						t.Fatal(err)
					}
					c := crawl(dir)
					var b strings.Builder
					for k := 1; k < len(h.Snapshots); k++ {
						if reopen && k > 1 {
							if err := c.Close(); err != nil {
								t.Fatal(err)
							}
							c = crawl(dir)
						}
						if err := server.Switch(k); err != nil {
							t.Fatal(err)
						}
						r, err := c.Revisit(ctx, plan.Plan{Policy: policy, Full: k%6 == 2, Budget: func(int) int { return 1 + k%5 }}, Options{})
						if err != nil {
							t.Fatal(err)
						}
						fmt.Fprintf(&b, "cycle %d: %d new\n", r.Cycle, r.NewPages)
						if err := c.View().Refetches(1, r.Cycle, func(f *store.Refetch) bool {
							fmt.Fprintln(&b, " ", f.Order, f.Page, f.Status, f.Gap, f.Gained, f.Lost, f.Found, f.Led, f.Same)
							return true
						}); err != nil {
							t.Fatal(err)
						}
					}
					return b.String(), c
				}
				kept, a := cycles("kept", false)
				told, b := cycles("told", true)
				if kept != told {
					t.Errorf("with a policy that is kept, and one that is told anew:\n%s", firstDifference(kept, told))
				}
				if fmt.Sprint(contents(t, a.View())) != fmt.Sprint(contents(t, b.View())) {
					t.Error("the stores differ")
				}
				for _, c := range []*Crawl{a, b} {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestStates: a process that goes on with a site reads the state of the policy and the records
// after it, and no others; where the state is corrupt, all records. Both lead to the same fetches.
// Policies differ in their state, which revisit and revisit/paper test of each: here it is some of them,
// with FORAGE_SITES=all each.
func TestStates(t *testing.T) {
	race.Skip(t)
	t.Parallel()
	some := []string{"best", "index", "round-robin", "storm"}
	for _, d := range paper.Policies() {
		if _, ok := d.Make(revisit.Config{Alpha: 1}).(revisit.Saver); !ok || os.Getenv("FORAGE_SITES") != "all" && !slices.Contains(some, d.Name) {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			h := snap.Blog(rand.New(rand.NewPCG(5, 4)), 60)
			server, base := served(t, h)
			ctx := context.Background()
			root := t.TempDir()
			start := filepath.Join(root, "start")
			day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			open := func(dir string) *Crawl {
				cfg := local(dir)
				cfg.Parallel, cfg.At = 1, day
				c, err := Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			shut := func(c *Crawl) {
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
			cycle := func(c *Crawl) (*Result, error) {
				return c.Revisit(ctx, plan.Plan{Policy: d.Name, Budget: func(int) int { return 8 }}, Options{})
			}
			c := open(start)
			if _, err := c.Run(ctx, []scope.Seed{{URL: base + "/"}}, Options{}); err != nil {
				t.Fatal(err)
			}
			// Go on until the latest state is behind.
			var through store.Cycle
			behind, states := 0, map[store.Cycle]bool{}
			for k := 1; k < len(h.Snapshots)-1 && (len(states) < 3 || behind == 0); k++ {
				shut(c)
				day = day.Add(7 * 24 * time.Hour)
				c = open(start)
				if err := server.Switch(k); err != nil {
					t.Fatal(err)
				}
				r, err := cycle(c)
				if err != nil {
					t.Fatal(err)
				}
				if through, _, err = c.db.State(1); err != nil {
					t.Fatal(err)
				}
				behind, states[through] = int(r.Cycle-through), true
			}
			if behind == 0 || len(states) < 3 {
				t.Fatalf("states were written after cycles %v, the last one is %d cycles behind", states, behind)
			}
			shut(c)
			next := func(name string, change func(db *store.DB) error) (string, error) {
				dir := filepath.Join(root, name)
				if err := os.CopyFS(dir, os.DirFS(start)); err != nil {
					t.Fatal(err)
				}
				c := open(dir)
				defer shut(c)
				if err := errors.Join(change(c.db), c.db.Commit()); err != nil {
					t.Fatal(err)
				}
				r, err := cycle(c)
				if err != nil {
					return "", err
				}
				out := ""
				err = c.View().Refetches(1, r.Cycle, func(f *store.Refetch) bool {
					out += fmt.Sprintln(f.Order, f.Page, f.Status, f.Gap, f.Gained, f.Lost, f.Found, f.Led, f.Same)
					return true
				})
				return out, err
			}
			spoilRecords := func(db *store.DB) error {
				var cycles []store.Cycle
				err := db.Records(1, 0, func(at store.Cycle, _ []byte) bool {
					if at <= through {
						cycles = append(cycles, at)
					}
					return true
				})
				for _, at := range cycles {
					err = errors.Join(err, db.PutRecord(1, at, []byte("no record")))
				}
				return err
			}
			spoilState := func(db *store.DB) error {
				state, err := whole(db)
				state[len(state)/2] ^= 1
				return errors.Join(err, db.PutState(1, through, state))
			}
			want, err := next("whole", func(*store.DB) error { return nil })
			if err != nil || want == "" {
				t.Fatal(want, err)
			}
			for name, change := range map[string]func(*store.DB) error{"without records": spoilRecords, "without state": spoilState, "with a state of another cycle": func(db *store.DB) error {
				state, err := whole(db)
				return errors.Join(err, db.PutState(1, through+1, state))
			}} {
				if got, err := next(name, change); err != nil || got != want {
					t.Errorf("%s: %v\n%s", name, err, firstDifference(got, want))
				}
			}
			if _, err := next("neither", func(db *store.DB) error { return errors.Join(spoilRecords(db), spoilState(db)) }); !errors.Is(err, revisit.ErrRecord) {
				t.Errorf("with neither records nor state: %v", err)
			}
		})
	}
}

// whole is the state of the policy of a store's only site.
func whole(db *store.DB) (state []byte, err error) {
	_, pieces, err := db.State(1)
	if err == nil {
		for piece := range pieces {
			state = append(state, piece...)
		}
	}
	return state, err
}
