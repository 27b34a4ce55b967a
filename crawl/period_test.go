package crawl

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"forage/crawl/plan"
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
		want := 0 // od-win knows of nothing new
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
	if want := []int64{0, 0, 4, 0, 0, 4, 0}; !slices.Equal(old, want) {
		t.Errorf("refetched %v, want %v", old, want)
	}
}

// TestCappedPeriod: a budget that holds for full recrawls too is never exceeded; the outlook tells
// of those that are due and not made. Where the site fits, they are made.
func TestCappedPeriod(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a", "/b", "/c")
	for _, p := range []string{"/a", "/b", "/c"} {
		w.pages[p] = page(p)
	}
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	for n, test := range []struct {
		budget, recrawl int
		kind            store.CycleKind
	}{
		{3, 0, store.Revisit}, // not due yet
		{3, 4, store.Revisit},
		{3, 4, store.Revisit},
		{4, 0, store.FullRecrawl},
		{4, 0, store.Revisit},
	} {
		p := plan.Plan{Policy: "round-robin", Period: 2, Capped: true, Budget: func(int) int { return test.budget }, Text: fmt.Sprint(test.budget)}
		if n == 0 {
			p.Period = 3
		}
		o, err := plan.Foresee(c.View(), plan.Conditions{Now: c.now()}, p)
		if err != nil {
			t.Fatal(err)
		}
		r := w.revisit(t, c, p)
		rec, err := c.View().Cycle(1, r.Cycle)
		if err != nil {
			t.Fatal(err)
		}
		if row := o.Sites[0]; row.Recrawl != test.recrawl || row.Budget != test.budget || rec.Kind != test.kind || r.Refetched != int64(test.budget) {
			t.Errorf("%d: outlook %+v, then a %v of %d fetches, want %+v", n, row, rec.Kind, r.Refetched, test)
		}
	}
}

// TestBlind: of a policy that learns from full recrawls only the outlook promises no more than it
// fetches: nothing before one has found a new page, then the documents that led to one.
func TestBlind(t *testing.T) {
	w := newWeb(t)
	links := []string{"/a", "/b", "/c"}
	for _, p := range links {
		w.pages[p] = page(p)
	}
	w.pages["/"] = page("home", links...)
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	find := func(p string) {
		links = append(links, p)
		w.set(p, page(p))
		w.set("/", page("home", links...))
	}
	full := plan.Plan{Policy: "od-win", Full: true}
	some := plan.Plan{Policy: "od-win", Budget: func(int) int { return 3 }, Text: "3"}
	check := func(what string, p plan.Plan, budget int, blind bool, found int64) {
		t.Helper()
		o, err := plan.Foresee(c.View(), plan.Conditions{Now: c.now()}, p)
		if err != nil {
			t.Fatal(err)
		}
		r := w.revisit(t, c, p)
		row := o.Sites[0]
		if row.Budget != budget || row.Blind != blind || blind != (row.Expected == 0) || r.Refetched != int64(budget) || r.NewPages != found {
			t.Errorf("%s: outlook %+v, then %d fetches and %d new pages, want %d and %d, blind %v", what, row, r.Refetched, r.NewPages, budget, found, blind)
		}
	}
	find("/d")
	check("no full recrawl", some, 0, true, 0)
	check("another cycle that shows nothing", some, 0, true, 0)
	check("full recrawl", full, 4, false, 1)
	find("/e")
	check("after it", some, 1, false, 1)
	w.set("/", page("home"))
	check("nothing new", full, 6, false, 0)
	check("what the first one showed", some, 1, false, 0)

	quiet := newWeb(t)
	quiet.pages["/"] = page("home", "/a")
	quiet.pages["/a"] = page("a")
	c = open(t, nil)
	quiet.crawl(t, c, store.Rules{})
	w = quiet
	check("a full recrawl", full, 2, false, 0)
	check("which found nothing", some, 0, true, 0)
}
