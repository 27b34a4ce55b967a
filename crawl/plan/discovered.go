package plan

import (
	"errors"
	"slices"

	"forage/graph"
	"forage/revisit"
	"forage/store"
)

// A Discovery is how finding new pages went at one site lately: in its latest cycles that
// ended, at most 30 cycles and 20,000 fetches.
type Discovery struct {
	Cycles   int
	Fetches  int              // of old documents
	Found    int              // pages told as new: listed, and none that has moved
	Coverage revisit.Coverage // of the cycles since the last full recrawl, which saw everything
	Hubs     []revisit.Hub
	Last     map[graph.Node]store.Time // by document: its latest fetch
}

// discoveryFetches bounds the fetches that Discovered reads at a site.
const discoveryFetches = 20_000

// Discovered reads how discovery went at a site and up to n of its hubs. O(fetches in the
// cycles looked back at).
func Discovered(v *store.View, site store.SiteID, n int) (*Discovery, error) {
	var past []*store.CycleRecord // the latest first
	sinceFull, full, left := 0, false, discoveryFetches
	if err := v.SiteCyclesBack(site, func(c *store.CycleRecord) bool {
		if !c.Done || c.Kind == store.FirstVisit {
			return true
		}
		if left -= int(c.Refetched); left < 0 {
			return false
		}
		past = append(past, c)
		full = full || c.Kind == store.FullRecrawl
		if !full {
			sinceFull++
		}
		return len(past) < usualCycles
	}); err != nil {
		return nil, err
	}
	slices.Reverse(past)
	d := &Discovery{Cycles: len(past), Last: map[graph.Node]store.Time{}}
	if d.Cycles == 0 {
		return d, nil
	}
	number := map[store.Cycle]int{} // of those looked back at
	for i, sc := range past {
		number[sc.Cycle] = i
	}
	pages := map[graph.Node]bool{}
	var failed error
	if err := v.NewcomersFrom(site, past[0].Cycle, func(c store.Cycle, id graph.Node, k store.Kind) bool {
		if _, ok := number[c]; ok && k == store.Page {
			var doc *store.Doc
			if doc, failed = v.Doc(id); failed == nil && doc.New == store.IsNew && doc.IsListed() {
				pages[id] = true
			}
		}
		return failed == nil
	}); err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	cycles := make([][]revisit.PastRefetch, d.Cycles)
	if err := v.RefetchesFrom(site, past[0].Cycle, func(c store.Cycle, r *store.Refetch) bool {
		i, ok := number[c]
		if !ok {
			return true
		}
		d.Fetches++
		if r.Failed() || r.Gone {
			return true
		}
		l := revisit.PastRefetch{Page: r.Page, Gap: r.Gap, Led: r.Led}
		for _, id := range r.Found {
			if pages[id] {
				l.Found = append(l.Found, id)
			}
		}
		cycles[i] = append(cycles[i], l)
		d.Last[r.Page] = r.At
		return true
	}); err != nil {
		return nil, err
	}
	d.Found = len(pages)
	counts, err := v.Counters(site)
	if err != nil {
		return nil, err
	}
	documents := counts.Pages() + counts.Kind[store.Feed] + counts.Kind[store.Sitemap] - counts.Gone
	d.Coverage, d.Hubs = revisit.Estimate(cycles[len(cycles)-sinceFull:], int(documents)), revisit.Hubs(cycles, n)
	return d, nil
}
