package crawl

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/replay"
	"forage/snap"
	"forage/store"
)

// TestPoliciesKept carries out the same cycles of the same store twice: in one crawl, whose
// policies stay in memory from cycle to cycle, and in a crawl each, whose policies are told
// everything anew from the records. Both fetch the same documents in the same order.
func TestPoliciesKept(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"best", "od-win", "bandit", "history", "index", "feeds-first", "round-robin", "cov"} {
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
							fmt.Fprintln(&b, " ", f.Order, f.Page, f.Status, f.Audit, f.Gap, f.Gained, f.Lost, f.Found, f.Led, f.Same)
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
