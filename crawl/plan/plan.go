// Package plan says what a cycle of discovery is to do and what it is expected to bring, from
// what is in the store: which sites, how many old documents at each, whether a full recrawl is
// due. It reads a store.View and nothing else, fetches nothing and writes nothing.
//
// Start with Plan. Foresee works out an Outlook, by which the live crawl goes; Discovered tells
// how finding new pages went at a site so far.
package plan

import (
	"errors"
	"fmt"
	"time"

	"forage/crawl/scope"
	"forage/graph"
	"forage/revisit"
	"forage/store"
)

// A Plan says how cycles of discovery are to go, one at each of its sites.
type Plan struct {
	Sites  []string // names or URLs of sites; none: all
	Policy string   // of package revisit; "": its Default
	Config revisit.Config
	Full   bool            // fetch every known document
	Period int             // do so at a site whose cycles since it was last done, first visits included, are Period-1; 0: never
	Budget func(n int) int // old documents to fetch at a site that has n; nil: all that the policy names
	// Coverage ends a budgeted cycle when this share of what is new is expected to be found, with a policy that
	// is a revisit.Forecaster; Budget is the ceiling. 0: the whole budget is spent.
	Coverage float64
	Total    int                // old documents to fetch over all sites, shared by what each is expected to find; 0: no limit
	Min      int                // of Total, for each site
	Max      int                // of Total, for each site; 0: no limit but Budget
	Weight   map[string]float64 // of a new page where Total is shared, by name of site; 1 where it is not given
	MaxNew   int                // documents followed at a site in a budgeted cycle as they are new; 0: no limit
	// CheckGone is the share of Budget, 0 to 1, for pages that lists have dropped, where there are
	// any; what the policy leaves of the budget is theirs, too, unless it is 0. It is also what a page
	// that is gone is worth of a new one: beyond the share a look comes instead of a document of which
	// a policy that says so expects less.
	CheckGone float64
	Day       int            // where Budget is a part of what a site has for a day: all of that
	Capped    bool           // Budget binds Period too: where a full recrawl may take more, none is made
	Text      string         // the budget as asked for, to recognise an interrupted cycle
	Delay     *time.Duration // least gap between two requests to a host; nil: as each site was crawled
}

// Checks is how many pages that lists have dropped may be looked at in cycle n of a site, from 1,
// with a budget: none of one so small that the plan's share of it, or of that of a day, is less than a fetch. That share is
// reduced to twice the part of such looks at the site that bore the suspicion out, by Laplace's rule
// of succession: where lists drop what is there still, the budget is for discovery, but for a look
// every few cycles.
//
// With a share of a quarter and a budget of 10, 24 weeks of ten histories gave 939 new pages, and 934
// without any look.
func (p *Plan) Checks(s *store.Site, n, budget int) int {
	if p.CheckGone*float64(max(budget, p.Day)) < 1 {
		return 0
	}
	share := p.CheckGone * float64(min(budget, 1<<30))
	share *= min(1, 2*float64(s.Departed+1)/float64(s.Looked+2))
	return int(share*float64(n)) - int(share*float64(n-1))
}

// ErrNoSite is wrapped by the error for a name that no site of the store has.
var ErrNoSite = errors.New("no such site in the store")

// SitesNamed returns the sites with these names, or that hold these URLs, each once; all sites
// for none. O(1) a name, O(sites) for one that is the URL of a page.
func SitesNamed(v *store.View, names []string) ([]*store.Site, error) {
	if len(names) == 0 {
		return v.Sites()
	}
	var out []*store.Site
	chosen := map[store.SiteID]bool{}
	for _, n := range names {
		s, err := siteNamed(v, n)
		if err != nil {
			return nil, err
		}
		if !chosen[s.ID] {
			chosen[s.ID] = true
			out = append(out, s)
		}
	}
	return out, nil
}

func siteNamed(v *store.View, name string) (*store.Site, error) {
	s, err := v.SiteNamed(name)
	if !errors.Is(err, store.ErrNotFound) {
		return s, err
	}
	s = nil
	if url, err := scope.Normalise(name, nil); err == nil {
		if err := v.SitesFrom(0, func(o *store.Site) bool {
			if sc, err := scope.New(&o.Rules); err == nil && sc.Contains(url) {
				s = o
			}
			return s == nil
		}); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return nil, fmt.Errorf("%s: %w; 'forage status' lists them", name, ErrNoSite)
	}
	return s, nil
}

// Latest returns the latest cycle of a site in which something was to be fetched, nil where there is none.
func Latest(v *store.View, site store.SiteID) (last *store.CycleRecord, err error) {
	err = v.SiteCyclesBack(site, func(c *store.CycleRecord) bool {
		if c.Kind != store.Import {
			last = c
		}
		return last == nil
	})
	return last, err
}

// kind returns what a cycle of the plan at a site is: a full recrawl where it asks for one, or
// where Period does and the budget has room for it. Else over is how many documents the full
// recrawl that is due may take; 0: none is due. open is the cycle of the site that was
// interrupted, nil for none: that one stays what it is.
func (p *Plan) kind(v *store.View, site store.SiteID, open *store.CycleRecord) (kind store.CycleKind, over int, err error) {
	due := p.Full
	if !due && p.Period > 0 {
		due, err = p.due(v, site, open)
	}
	if err != nil || !due {
		return store.Revisit, 0, err
	}
	if p.Capped && !p.Full && p.Budget != nil {
		old, failed, err := documents(v, site, 0)
		if err != nil {
			return store.Revisit, 0, err
		}
		if old+failed > p.Budget(old) {
			return store.Revisit, old + failed, nil
		}
	}
	return store.FullRecrawl, 0, nil
}

// documents counts those of a site that are old in cycle c (0: one to come), and those that
// failed, which a full recrawl asks for as well.
func documents(v *store.View, site store.SiteID, c store.Cycle) (old, failed int, err error) {
	counts, err := v.Counters(site)
	if err != nil {
		return 0, 0, err
	}
	old = int(counts.Pages() + counts.Kind[store.Feed] + counts.Kind[store.Sitemap])
	if c != 0 {
		err = v.Newcomers(site, c, func(graph.Node, store.Kind) bool { old--; return true })
	}
	return old, int(counts.State[store.Failed]), err
}

// due reports whether Period makes a cycle of a site a full recrawl.
func (p *Plan) due(v *store.View, site store.SiteID, open *store.CycleRecord) (bool, error) {
	since, full := 0, false // cycles since all documents were fetched
	err := v.SiteCyclesBack(site, func(c *store.CycleRecord) bool {
		if c.Kind != store.Import && (open == nil || c.Cycle != open.Cycle) {
			if c.Kind != store.Revisit {
				full = true
				return false
			}
			since++
		}
		return since+1 < p.Period
	})
	if err == nil && !full && since+1 < p.Period {
		var past *store.PastCycles
		if past, err = v.PastCycles(site); err == nil {
			since += int(past.Cycles) // all of these were budgeted
		}
	}
	return since+1 >= p.Period, err
}

// text is what the budget of a cycle of this kind is recorded as.
func (p *Plan) text(kind store.CycleKind) string {
	if kind == store.FullRecrawl && !p.Full {
		return "all"
	}
	return p.Text
}

// Cycle returns the cycle that the plan works in at a site: the latest one, if that was
// interrupted and is of the same kind, policy and budget, else a new one, without a number.
func (p *Plan) Cycle(v *store.View, site store.SiteID, now store.Time) (*store.CycleRecord, error) {
	c, _, err := p.cycle(v, site, now, false)
	return c, err
}

// cycle is Cycle, with what kind tells of a full recrawl that is not made; running: the latest
// cycle is being worked on, and is not to be gone on with.
func (p *Plan) cycle(v *store.View, site store.SiteID, now store.Time, running bool) (c *store.CycleRecord, over int, err error) {
	last, err := Latest(v, site)
	if err != nil {
		return nil, 0, err
	}
	if last != nil && (last.Ended != 0 || running) {
		last = nil
	}
	kind, over, err := p.kind(v, site, last)
	if err != nil {
		return nil, 0, err
	}
	r := &store.CycleRecord{Site: site, Kind: kind, Policy: p.Policy, Budget: p.text(kind), At: now}
	if last != nil && last.Kind == kind && last.Policy == r.Policy && last.Budget == r.Budget {
		return last, over, nil
	}
	return r, over, nil
}
