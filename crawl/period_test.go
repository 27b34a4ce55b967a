package crawl

import (
	"context"
	"forage/crawl/plan"
	"net/http"
	"slices"
	"testing"

	"forage/store"
)

// TestPeriod comes back with a period of 3: two cycles in a row keep to the budget, the third
// fetches everything, also where it is interrupted and goes on.
func TestPeriod(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a", "/b", "/c")
	for _, p := range []string{"/a", "/b", "/c"} {
		w.pages[p] = page(p)
	}
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	p := plan.Plan{Policy: "od-win", Period: 3, Budget: func(int) int { return 1 }, Text: "1"}
	var kinds []store.CycleKind
	var old []int64
	again := func(ctx context.Context) *Result {
		t.Helper()
		r, err := c.Revisit(ctx, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for n := range 7 {
		o, err := plan.Foresee(c.View(), plan.Conditions{Now: c.now()}, p)
		if err != nil {
			t.Fatal(err)
		}
		if n == 5 { // its full recrawl stops at /c
			ctx, cancel := context.WithCancel(context.Background())
			w.set("/c", func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
			if r := again(ctx); !r.Interrupted {
				t.Fatalf("the cycle was not interrupted: %+v", r)
			}
			w.set("/c", page("/c"))
		}
		r := again(context.Background())
		rec, err := c.View().Cycle(1, r.Cycle)
		if err != nil {
			t.Fatal(err)
		}
		kinds, old = append(kinds, rec.Kind), append(old, rec.Refetched)
		want := 1
		if rec.Kind == store.FullRecrawl {
			want = 4
		}
		if int(r.Cycle) != n+2 || len(o.Sites) != 1 || o.Sites[0].Budget != want {
			t.Errorf("%d: cycle %d, outlook %+v, want a budget of %d", n, r.Cycle, o.Sites, want)
		}
	}
	budget, full := store.Revisit, store.FullRecrawl
	if want := []store.CycleKind{budget, budget, full, budget, budget, full, budget}; !slices.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
	if want := []int64{0, 0, 4, 0, 0, 4, 0}; !slices.Equal(old, want) { // od-win knows of nothing new
		t.Errorf("refetched %v, want %v", old, want)
	}
}
