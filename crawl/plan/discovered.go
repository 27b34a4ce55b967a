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
	p, err := ReadPast(v, site, usualCycles)
	if err != nil {
		return nil, err
	}
	return p.Discovery(n), nil
}

// A Past is what the cycles of a site found after its first visit, as estimates are made of it.
type Past struct {
	Rounds    []Round            // a cycle that ended each, oldest first
	First     *store.CycleRecord // the first visit, where the rounds are all that came after it; else nil
	Documents int                // old documents that can be fetched, now
}

// A Round is one cycle.
type Round struct {
	Cycle   *store.CycleRecord
	Looks   int                   // fetches of old documents
	Fetches []revisit.PastRefetch // those of them that were answered with the document
	At      []store.Time          // of each of these
	Found   int                   // pages told as new: listed, and none that has moved
}

// ReadPast reads the latest cycles of a site that ended, at most so many and 20,000 fetches. O(these fetches).
func ReadPast(v *store.View, site store.SiteID, cycles int) (*Past, error) {
	left := discoveryFetches
	p := &Past{}
	if err := v.SiteCyclesBack(site, func(c *store.CycleRecord) bool {
		switch {
		case c.Kind == store.FirstVisit:
			p.First = c
			return true
		case !c.Done, c.Kind == store.Import:
			return true
		}
		p.First = nil
		if left -= int(c.Refetched); left < 0 || len(p.Rounds) == cycles {
			return false
		}
		p.Rounds = append(p.Rounds, Round{Cycle: c})
		return true
	}); err != nil {
		return nil, err
	}
	if past, err := v.PastCycles(site); err != nil {
		return nil, err
	} else if past.Cycles > 0 || p.First != nil && !p.First.Done {
		p.First = nil
	}
	slices.Reverse(p.Rounds)
	counts, err := v.Counters(site)
	if err != nil {
		return nil, err
	}
	p.Documents = int(counts.Pages() + counts.Kind[store.Feed] + counts.Kind[store.Sitemap] - counts.Gone)
	if len(p.Rounds) == 0 {
		return p, nil
	}
	number := map[store.Cycle]int{} // of those looked back at
	for i := range p.Rounds {
		number[p.Rounds[i].Cycle.Cycle] = i
	}
	pages := map[graph.Node]bool{}
	var failed error
	if err := v.NewcomersFrom(site, p.Rounds[0].Cycle.Cycle, func(c store.Cycle, id graph.Node, k store.Kind) bool {
		if i, ok := number[c]; ok && k == store.Page {
			var doc *store.Doc
			if doc, failed = v.Doc(id); failed == nil && doc.New == store.IsNew && doc.IsListed() {
				pages[id] = true
				p.Rounds[i].Found++
			}
		}
		return failed == nil
	}); err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	return p, v.RefetchesFrom(site, p.Rounds[0].Cycle.Cycle, func(c store.Cycle, r *store.Refetch) bool {
		i, ok := number[c]
		if !ok {
			return true
		}
		round := &p.Rounds[i]
		round.Looks++
		if r.Failed() || r.Gone {
			return true
		}
		l := revisit.PastRefetch{Page: r.Page, Gap: r.Gap}
		for _, ids := range []struct {
			all  []graph.Node
			told *[]graph.Node
		}{{r.Found, &l.Found}, {r.Led, &l.Led}} {
			for _, id := range ids.all {
				if pages[id] {
					*ids.told = append(*ids.told, id)
				}
			}
		}
		round.Fetches, round.At = append(round.Fetches, l), append(round.At, r.At)
		return true
	})
}

// Fetches returns what the rounds fetched.
func (p *Past) Fetches() [][]revisit.PastRefetch {
	all := make([][]revisit.PastRefetch, len(p.Rounds))
	for i := range p.Rounds {
		all[i] = p.Rounds[i].Fetches
	}
	return all
}

// SinceFull returns the rounds after the latest full recrawl, which saw everything.
func (p *Past) SinceFull() []Round {
	from := 0
	for i := range p.Rounds {
		if p.Rounds[i].Cycle.Kind == store.FullRecrawl {
			from = i + 1
		}
	}
	return p.Rounds[from:]
}

// Latest returns the past of the last n rounds.
func (p *Past) Latest(n int) *Past {
	return &Past{Rounds: p.Rounds[max(0, len(p.Rounds)-n):], Documents: p.Documents}
}

// Discovery sums up the rounds, with up to n hubs.
func (p *Past) Discovery(n int) *Discovery {
	d := &Discovery{Cycles: len(p.Rounds), Last: map[graph.Node]store.Time{}}
	if d.Cycles == 0 {
		return d
	}
	for i := range p.Rounds {
		r := &p.Rounds[i]
		d.Fetches, d.Found = d.Fetches+r.Looks, d.Found+r.Found
		for j := range r.Fetches {
			d.Last[r.Fetches[j].Page] = r.At[j]
		}
	}
	since := &Past{Rounds: p.SinceFull()}
	d.Coverage, d.Hubs = revisit.Estimate(since.Fetches(), p.Documents), revisit.Hubs(p.Fetches(), n)
	return d
}
