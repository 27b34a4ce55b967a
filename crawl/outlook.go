package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"forage/graph"
	"forage/revisit"
	"forage/store"
)

// An Outlook is what a cycle of discovery is expected to come to, from what is in the store.
type Outlook struct {
	Sites []Prospect
	Price float64 // λ: weighted new pages expected of the last fetch of Plan.Total; 0 without
}

// A Prospect is the outlook of one site.
type Prospect struct {
	Site     string
	Known    int           // old documents
	Budget   int           // of them to be fetched, at most
	Expected float64       // new pages
	Coverage float64       // share of the new pages expected to be found; NaN: no cycle to learn from yet
	Needs    time.Duration // what politeness asks for: the delay times the requests to the site's host
	Has      time.Duration // the time limit or the time since the last cycle, the shorter; 0: unknown
	id       store.SiteID
}

// Late reports whether politeness does not let the budget be spent in time.
func (p *Prospect) Late() bool { return p.Has > 0 && p.Needs > p.Has }

// Foresee tells what Revisit would come to. It fetches and writes nothing.
func Foresee(v *store.View, cfg Config, p Plan) (*Outlook, error) {
	sites, err := sitesNamed(v, p.Sites)
	if err != nil {
		return nil, err
	}
	if p, err = p.settled(v, sites); err != nil {
		return nil, err
	}
	kind := store.Revisit
	if p.Full {
		kind = store.FullRecrawl
	}
	c := &Crawl{cfg: cfg}
	cycle, _, err := nextCycle(v, kind, p.Policy, p.Text, c.now())
	if err != nil {
		return nil, err
	}
	return foresee(v, cfg, &p, sites, cycle)
}

// usualCycles is how many cycles of a site are looked back at.
const usualCycles = 30

// foresee plans a cycle at those of the sites that can be visited again. What an interrupted
// run of the cycle did does not change the plan: sites that it began at keep their budgets, of
// which nothing is left for others.
func foresee(v *store.View, cfg Config, p *Plan, sites []*store.Site, cycle *store.CycleRecord) (*Outlook, error) {
	o := new(Outlook)
	var past [][][]int
	hosts := make([]string, 0, len(sites))
	delays := make([]time.Duration, 0, len(sites))
	var sum, cycles float64
	for _, s := range sites {
		if s.State == store.SiteFailed || s.FirstCycle == cycle.Cycle {
			continue
		}
		counts, err := v.Counters(s.ID)
		if err != nil {
			return nil, err
		}
		row := Prospect{Site: s.Name, id: s.ID, Known: int(counts.Pages() + counts.Kind[store.Feed] + counts.Kind[store.Sitemap])}
		if err := v.Newcomers(s.ID, cycle.Cycle, func(graph.Node, store.Kind) bool { row.Known--; return true }); err != nil {
			return nil, err
		}
		row.Budget = row.Known
		if p.Budget != nil && !p.Full {
			row.Budget = min(row.Known, p.Budget(row.Known))
		}
		found, last, err := firstFinds(v, s, cycle.Cycle)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			cycles++
			for _, n := range f {
				sum += float64(n)
			}
		}
		if last > 0 {
			row.Has = max(0, time.Duration(cycle.At-last)*time.Second)
		}
		if cfg.MaxTime > 0 && (row.Has == 0 || cfg.MaxTime < row.Has) {
			row.Has = cfg.MaxTime
		}
		delay := cfg.Delay
		if delay < 0 {
			delay = time.Duration(s.Rules.DelayMillis) * time.Millisecond
		}
		host := s.Name
		if len(s.Seeds) > 0 {
			host = hostOf(s.Seeds[0])
		}
		o.Sites, past, hosts, delays = append(o.Sites, row), append(past, found), append(hosts, host), append(delays, delay)
	}
	for name := range p.Weight {
		if !slices.ContainsFunc(sites, func(s *store.Site) bool { return s.Name == name }) {
			return nil, fmt.Errorf("a weight for %s: %w", name, ErrNoSite)
		}
	}
	begun, err := budgets(v, cycle)
	if err != nil {
		return nil, err
	}
	usual := 1. // new pages a cycle of a site of which nothing is known
	if cycles > 0 {
		usual = sum / cycles
	}
	yields, claims := make([]*revisit.Yield, len(o.Sites)), make([]revisit.Claim, len(o.Sites))
	for i := range o.Sites {
		row := &o.Sites[i]
		yields[i] = revisit.Expect(past[i], usual)
		if k, ok := begun[row.id]; ok {
			row.Budget = k
		}
		most := row.Budget
		if p.Max > 0 {
			most = min(most, p.Max)
		}
		claims[i] = revisit.Claim{Gain: yields[i].Gain, Min: min(p.Min, most), Max: most, Weight: p.Weight[row.Site]}
	}
	if p.Total > 0 && !p.Full {
		var share []int
		share, o.Price = revisit.Share(p.Total, claims)
		if len(begun) > 0 {
			left := p.Total
			for _, k := range begun {
				left -= k
			}
			for i := range claims {
				if _, ok := begun[o.Sites[i].id]; ok {
					claims[i].Min, claims[i].Max = 0, 0
				}
			}
			share, _ = revisit.Share(left, claims)
		}
		for i, k := range share {
			if _, ok := begun[o.Sites[i].id]; !ok {
				o.Sites[i].Budget = k
			}
		}
	}
	needs := map[string]time.Duration{}
	for i := range o.Sites {
		row := &o.Sites[i]
		row.Expected, row.Coverage = yields[i].Pages(row.Budget), yields[i].Coverage(row.Budget)
		if len(past[i]) == 0 {
			row.Coverage = math.NaN()
		}
		needs[hosts[i]] += time.Duration((float64(row.Budget) + row.Expected) * float64(delays[i]))
	}
	for i := range o.Sites {
		o.Sites[i].Needs = needs[hosts[i]]
	}
	return o, nil
}

// budgets returns the budgets of the sites at which a budgeted cycle has begun, which only one
// that was interrupted has.
func budgets(v *store.View, c *store.CycleRecord) (map[store.SiteID]int, error) {
	if c.Kind != store.Revisit {
		return nil, nil
	}
	sites, err := v.Sites()
	if err != nil {
		return nil, err
	}
	begun := map[store.SiteID]int{}
	for _, s := range sites {
		sc, err := v.SiteCycle(s.ID, c.Cycle)
		switch {
		case err == nil:
			begun[s.ID] = sc.Budget
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	return begun, nil
}

// firstFinds returns, for the latest budgeted cycles of a site before c, oldest first, how many
// pages each fetch found first, and when the last cycle of any kind began; 0: never.
func firstFinds(v *store.View, s *store.Site, c store.Cycle) (found [][]int, last store.Time, err error) {
	var before []store.Cycle
	if err := v.SiteCycles(s.ID, func(sc *store.SiteCycle) bool {
		if sc.Cycle < c {
			last = sc.At
			if sc.Kind == store.Revisit {
				before = append(before, sc.Cycle)
			}
		}
		return true
	}); err != nil {
		return nil, 0, err
	}
	for _, b := range before[max(0, len(before)-usualCycles):] {
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
