package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"forage/graph"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/store"
)

// An Outlook is what a plan is expected to come to, from what is in the store.
type Outlook struct {
	Sites []Prospect
	Price float64 // λ: weighted new pages expected of the last fetch of Plan.Total; 0 without
}

// A Prospect is the outlook of one site.
type Prospect struct {
	Site     *store.Site
	Cycle    *store.CycleRecord // the cycle to work in: new, without a number, or one that was interrupted
	Done     bool               // Cycle has ended; other sites of the same interrupted run go on
	Known    int                // old documents
	Budget   int                // of them to be fetched, at most; no more than the policy can name
	Likely   int                // of Budget, those that are likely to be fetched: fewer where the cycle ends at Plan.Coverage, and a cycle tells when
	Ceiling  bool               // Budget is one: the cycle ends at Plan.Coverage
	Blind    bool               // Budget is 0 as the policy learns from full recrawls only, and none has found a new page
	Recrawl  int                // what a full recrawl that is due may take, which is too much for the budget; 0: none is
	Expected float64            // new pages
	Coverage float64            // share of the new pages expected to be found; NaN: no cycle to learn from yet
	Needs    time.Duration      // what politeness asks for: the delay times the requests to the site's host
	Has      time.Duration      // the time limit or the time since the last cycle, the shorter; 0: unknown
}

// Late reports whether politeness does not let the budget be spent in time.
func (p *Prospect) Late() bool { return p.Has > 0 && p.Needs > p.Has }

// Conditions are those under which a plan is carried out.
type Conditions struct {
	Now     store.Time    // the crawl's clock
	Delay   time.Duration // least gap between two requests to a host, whatever its site asks for
	MaxTime time.Duration // of the run; 0: no limit
	// Running reports whether the open cycle of a site is being worked on, so that it was not
	// interrupted; nil: none is.
	Running func(store.SiteID) bool
}

// usualCycles is how many cycles of a site are looked back at.
const usualCycles = 30

// Foresee plans a cycle at those of the plan's sites that can be visited again. What an
// interrupted run of the plan did does not change it: sites at which it began keep their
// budgets, of which nothing is left for others, and are not begun at once more. It fetches and
// writes nothing. O(sites of the plan, the fetches of their latest cycles).
func Foresee(v *store.View, now Conditions, p Plan) (*Outlook, error) {
	if p.Policy == "" {
		p.Policy = revisit.Default
	}
	sites, err := SitesNamed(v, p.Sites)
	if err != nil {
		return nil, err
	}
	for name := range p.Weight {
		if !slices.ContainsFunc(sites, func(s *store.Site) bool { return s.Name == name }) {
			return nil, fmt.Errorf("a weight for %s: %w", name, ErrNoSite)
		}
	}
	o := new(Outlook)
	if err := o.choose(v, now, &p, sites); err != nil {
		return nil, err
	}
	return o, o.share(v, now, &p)
}

// choose fills in which sites are visited, in which cycle, and what is known of each.
func (o *Outlook) choose(v *store.View, now Conditions, p *Plan, sites []*store.Site) error {
	interrupted := map[store.Cycle]bool{} // runs of this plan
	for _, s := range sites {
		if s.State == store.SiteFailed {
			continue
		}
		if last, err := Latest(v, s.ID); err != nil {
			return err
		} else if last == nil && s.CrawledAt == 0 && s.State == store.SiteCrawling { // known from a list alone: it has a first visit to come
			continue
		}
		c, over, err := p.cycle(v, s.ID, now.Now, now.Running != nil && now.Running(s.ID))
		if err != nil {
			return err
		}
		if c.Cycle != 0 {
			interrupted[c.Run] = true
		}
		o.Sites = append(o.Sites, Prospect{Site: s, Cycle: c, Recrawl: over})
	}
	for i := range o.Sites {
		row := &o.Sites[i]
		if row.Cycle.Cycle == 0 && len(interrupted) > 0 {
			last, err := Latest(v, row.Site.ID)
			if err != nil {
				return err
			}
			if last != nil && last.Done && last.Kind != store.FirstVisit && interrupted[last.Run] {
				row.Cycle, row.Done = last, true
			}
		}
		var err error
		if row.Known, _, err = documents(v, row.Site.ID, row.Cycle.Cycle); err != nil {
			return err
		}
		row.Budget = row.Known
		if row.Cycle.Kind == store.FullRecrawl {
			continue
		}
		if p.Budget != nil {
			row.Budget = min(row.Known, p.Budget(row.Known))
		}
		if paper.NeedsRecrawls(p.Policy) && row.Budget > 0 {
			if row.Budget, err = shown(v, row.Site.ID, row.Budget); err != nil {
				return err
			}
			row.Blind = row.Budget == 0
		}
	}
	return nil
}

// shown counts the documents of a site, up to most, that led to a new page in a full recrawl.
func shown(v *store.View, site store.SiteID, most int) (int, error) {
	led := map[graph.Node]bool{}
	var failed error
	err := v.SiteCyclesBack(site, func(c *store.CycleRecord) bool {
		if c.Kind == store.FullRecrawl && c.Done && c.Pages > 0 {
			failed = v.Refetches(site, c.Cycle, func(r *store.Refetch) bool {
				if len(r.Led) > 0 {
					led[r.Page] = true
				}
				return len(led) < most
			})
		}
		return len(led) < most && failed == nil
	})
	return len(led), errors.Join(err, failed)
}

// share shares Plan.Total over the sites and tells what to expect of each.
func (o *Outlook) share(v *store.View, now Conditions, p *Plan) error {
	past := make([][][]int, len(o.Sites))
	var sum, cycles float64
	for i := range o.Sites {
		row := &o.Sites[i]
		found, last, err := firstFinds(v, row.Site, row.Cycle.Cycle)
		if err != nil {
			return err
		}
		past[i] = found
		for _, f := range found {
			cycles++
			for _, n := range f {
				sum += float64(n)
			}
		}
		if last > 0 {
			row.Has = max(0, time.Duration(row.Cycle.At-last)*time.Second)
		}
		if now.MaxTime > 0 && (row.Has == 0 || now.MaxTime < row.Has) {
			row.Has = now.MaxTime
		}
	}
	usual := 1. // new pages a cycle of a site of which nothing is known
	if cycles > 0 {
		usual = sum / cycles
	}
	yields, claims := make([]*revisit.Yield, len(o.Sites)), make([]revisit.Claim, len(o.Sites))
	for i := range o.Sites {
		row := &o.Sites[i]
		yields[i] = revisit.Expect(past[i], usual)
		if row.begun() {
			row.Budget = row.Cycle.Limit
		}
		most := row.Budget
		if p.Max > 0 {
			most = min(most, p.Max)
		}
		claims[i] = revisit.Claim{Gain: yields[i].Gain, Min: min(p.Min, most), Max: most, Weight: p.Weight[row.Site.Name]}
	}
	if p.Total > 0 && !p.Full {
		var share []int
		share, o.Price = revisit.Share(p.Total, claims)
		left, some := p.Total, false
		for i := range o.Sites {
			if row := &o.Sites[i]; row.begun() {
				left, some = left-row.Cycle.Limit, true
				claims[i].Min, claims[i].Max = 0, 0
			}
		}
		if some {
			share, _ = revisit.Share(left, claims)
		}
		for i, k := range share {
			if row := &o.Sites[i]; !row.begun() && row.Cycle.Kind != store.FullRecrawl {
				row.Budget = k
			}
		}
	}
	needs := map[string]time.Duration{}
	for i := range o.Sites {
		row := &o.Sites[i]
		row.Likely = row.Budget
		row.Ceiling = p.Coverage > 0 && row.Cycle.Kind == store.Revisit
		if row.Ceiling && len(past[i]) > 0 && !math.IsNaN(yields[i].Coverage(row.Budget)) { // else nobody can tell when that is
			row.Likely = sort.Search(row.Budget, func(k int) bool { return k > 0 && !(yields[i].Coverage(k) < p.Coverage) })
		}
		row.Expected, row.Coverage = yields[i].Pages(row.Likely), yields[i].Coverage(row.Likely)
		if len(past[i]) == 0 {
			row.Coverage = math.NaN()
		}
		needs[row.host()] += time.Duration((float64(row.Likely) + row.Expected) * float64(p.delay(row.Site, now)))
	}
	for i := range o.Sites {
		o.Sites[i].Needs = needs[o.Sites[i].host()]
	}
	return nil
}

// begun reports whether an interrupted run gave the site its budget.
func (p *Prospect) begun() bool { return p.Cycle.Cycle != 0 && p.Cycle.Kind == store.Revisit }

// host is the host that most of the site's requests go to: that of its first seed.
func (p *Prospect) host() string {
	if len(p.Site.Seeds) > 0 {
		return store.HostOf(p.Site.Seeds[0])
	}
	return p.Site.Name
}

// delay is the least gap between two requests to a host of s.
func (p *Plan) delay(s *store.Site, now Conditions) time.Duration {
	if p.Delay != nil {
		return max(*p.Delay, now.Delay)
	}
	return max(now.Delay, time.Duration(s.Rules.DelayMillis)*time.Millisecond)
}

// Finds returns, for the latest budgeted cycles of a site, oldest first, how many pages each fetch found first.
func Finds(v *store.View, site store.SiteID) ([][]int, error) {
	found, _, err := firstFinds(v, &store.Site{ID: site}, 0)
	return found, err
}

// firstFinds returns, for the latest budgeted cycles of a site before c (0: all), oldest first,
// how many pages each fetch found first, and when the last cycle of any kind began; 0: never.
func firstFinds(v *store.View, s *store.Site, c store.Cycle) (found [][]int, last store.Time, err error) {
	var before []store.Cycle // the latest first
	if err := v.SiteCyclesBack(s.ID, func(r *store.CycleRecord) bool {
		if (c == 0 || r.Cycle < c) && r.Kind != store.Import {
			if last == 0 {
				last = r.At
			}
			if r.Kind == store.Revisit && r.Refetched > 0 { // else it shows nothing
				before = append(before, r.Cycle)
			}
		}
		return len(before) < usualCycles
	}); err != nil {
		return nil, 0, err
	}
	slices.Reverse(before)
	for _, b := range before {
		pages := map[graph.Node]bool{}
		if err := v.Newcomers(s.ID, b, func(id graph.Node, k store.Kind) bool { pages[id] = k == store.Page; return true }); err != nil {
			return nil, 0, err
		}
		var rows []*store.Refetch
		if err := v.Refetches(s.ID, b, func(r *store.Refetch) bool { rows = append(rows, r); return true }); err != nil {
			return nil, 0, err
		}
		slices.SortFunc(rows, func(a, b *store.Refetch) int { return cmp.Compare(a.Order, b.Order) })
		counts := make([]int, len(rows))
		for i, r := range rows {
			for _, id := range r.Found {
				if pages[id] {
					counts[i]++
				}
			}
		}
		found = append(found, counts)
	}
	return found, last, nil
}
