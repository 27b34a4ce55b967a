package crawl

import (
	"fmt"
	"forage/crawl/plan"
	"math"
	"testing"
	"time"

	"forage/store"
)

// TestShare shares a budget between a site that always has new pages and one that never has:
// the plan gives the first one more, is kept to, and counts the documents that can be chosen.
func TestShare(t *testing.T) {
	busy, quiet := newWeb(t), newWeb(t)
	var links []string
	for i := range 12 {
		p := fmt.Sprintf("/p%d", i)
		links = append(links, p)
		busy.pages[p], quiet.pages[p] = page("page "+p), page("page "+p)
	}
	busy.pages["/"], quiet.pages["/"] = page("home", links...), page("home", links...)
	// All cycles are at one time, so that there is nothing to compare what they need with.
	c := open(t, func(cfg *Config) { cfg.At = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) })
	busy.crawl(t, c, store.Rules{})
	quiet.crawl(t, c, store.Rules{})
	fresh := func(n int) {
		for i := range 3 {
			p := fmt.Sprintf("/new%d-%d", n, i)
			links = append([]string{p}, links...)
			busy.set(p, page("new "+p))
		}
		busy.set("/", page("home", links...))
	}
	for n := range 3 {
		fresh(n)
		w := busy.revisit(t, c, plan.Plan{Budget: func(int) int { return 4 }})
		if w.NewPages != 3 {
			t.Fatalf("cycle %d found %d new pages, want 3", w.Cycle, w.NewPages)
		}
	}
	fresh(3)
	var told *plan.Outlook
	p := plan.Plan{Total: 9, Min: 1}
	before, err := plan.Foresee(c.View(), plan.Conditions{Now: c.now(), Delay: time.Minute}, p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Revisit(t.Context(), p, Options{Begin: func(o *plan.Outlook) error { told = o; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if len(told.Sites) != 2 || told.Price <= 0 {
		t.Fatalf("the plan: %+v", told)
	}
	a, b := told.Sites[0], told.Sites[1]
	if a.Known != 13+9 || b.Known != 13 {
		t.Errorf("%d and %d old documents, want 22 and 13", a.Known, b.Known)
	}
	if a.Budget+b.Budget != 9 || a.Budget <= b.Budget || b.Budget < 1 || a.Budget != before.Sites[0].Budget {
		t.Errorf("budgets %d and %d of 9", a.Budget, b.Budget)
	}
	if a.Expected < 2 || a.Expected > 4 || b.Expected > .5 || !(a.Coverage > .5 && a.Coverage <= 1) {
		t.Errorf("expected %g (%g of all) and %g new pages", a.Expected, a.Coverage, b.Expected)
	}
	if p := before.Sites[0]; p.Needs < time.Duration(p.Budget)*time.Minute || p.Late() {
		t.Errorf("needs %v, has %v, late %v", p.Needs, p.Has, p.Late())
	}
	if r.Refetched > 9 || r.NewPages != 3 {
		t.Errorf("%d fetched of 9, %d new pages", r.Refetched, r.NewPages)
	}
	o, err := plan.Foresee(c.View(), plan.Conditions{Now: c.now(), Delay: time.Minute, MaxTime: time.Minute}, plan.Plan{Sites: []string{b.Site.Name}})
	if err != nil || len(o.Sites) != 1 || !o.Sites[0].Late() || o.Sites[0].Budget != 13 {
		t.Errorf("13 fetches, a minute apart, in a minute: %+v, %v", o, err)
	}
	never := newWeb(t)
	never.pages["/"] = page("home")
	d := open(t, nil)
	never.crawl(t, d, store.Rules{})
	if o, err = plan.Foresee(d.View(), plan.Conditions{Now: d.now()}, plan.Plan{}); err != nil || !math.IsNaN(o.Sites[0].Coverage) {
		t.Errorf("a site without a cycle: %+v, %v", o, err)
	}
}
