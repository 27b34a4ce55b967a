package report

import (
	"slices"

	"forage/store"
)

// A Cycle is what is told of a cycle of a site.
type Cycle struct {
	Cycle     store.Cycle `json:"cycle"`
	Site      string      `json:"site"`
	Kind      string      `json:"kind" doc:"crawl, revisit or full"`
	Policy    *string     `json:"policy"`
	At        *string     `json:"at" format:"date-time"`
	Ended     *string     `json:"ended" format:"date-time" doc:"null: it is under way, or was interrupted"`
	Seconds   float64     `json:"seconds" doc:"in which it was worked on"`
	Fetched   int64       `json:"fetched"`
	Refetched int64       `json:"refetched"`
	NewPages  int64       `json:"new_pages"`
	Overhead  *float64    `json:"overhead"`
	Coverage  *float64    `json:"coverage" doc:"of what was new, the share found as the policy estimated when the cycle ended, where one was asked for"`
}

// NewCycle returns the record of a cycle of a site of that name.
func NewCycle(c *store.CycleRecord, site string) *Cycle {
	row := &Cycle{
		Cycle: c.Cycle, Site: site, Kind: string(c.Kind), Policy: null(c.Policy), At: stamp(c.At), Ended: stamp(c.Ended), Seconds: float64(c.Took) / 1000,
		Fetched: c.Fetched, Refetched: c.Refetched, NewPages: c.New,
	}
	if c.New > 0 && c.Kind != store.FirstVisit {
		overhead := float64(c.Refetched) / float64(c.New)
		row.Overhead = &overhead
	}
	if all := c.Foreseen + c.Unseen; all > 0 {
		coverage := float64(c.Foreseen) / float64(all)
		row.Coverage = &coverage
	}
	return row
}

// latestCycles returns the latest cycles of all sites, the first of them first.
func latestCycles(v *store.View, sites []*store.Site) ([]*Cycle, error) {
	name := map[store.SiteID]string{}
	for _, site := range sites {
		name[site.ID] = site.Name
	}
	all := []*Cycle{}
	err := v.CyclesBack(func(c *store.CycleRecord) bool {
		all = append(all, NewCycle(c, name[c.Site]))
		return len(all) < shownCycles
	})
	slices.Reverse(all)
	return all, err
}

// A SiteCycle is what is told of a cycle where one site is asked about: more than of all sites' at once.
type SiteCycle struct {
	Cycle
	Done     bool   `json:"done" doc:"what it was to fetch has been fetched"`
	Budget   string `json:"budget" doc:"as it was asked for: 10, 5%"`
	Pages    int64  `json:"pages" doc:"that answered for the first time, duplicates included"`
	Content  int64  `json:"content" doc:"of the new pages, those that are there to be read"`
	Unknown  int64  `json:"unknown" doc:"of the pages, those of which nobody knows whether they are new"`
	Copies   int64  `json:"copies" doc:"of the pages, duplicates"`
	Moved    int64  `json:"moved" doc:"pages found to be others at a new URL"`
	Waited   int64  `json:"waited" doc:"of what was fetched, documents that waited from an earlier cycle"`
	Bytes    int64  `json:"bytes"`
	Failures int64  `json:"errors" doc:"fetches that failed"`
}

// Cycles returns up to limit cycles of a site, the latest first, of those with a number below before (0: of all), and
// whether there are more. Those that were condensed are none of them: PastCycles of the store is their sum. O(limit).
func Cycles(v *store.View, site *store.Site, before store.Cycle, limit int) (cycles []*SiteCycle, more bool, err error) {
	err = v.SiteCyclesBefore(site.ID, before, func(c *store.CycleRecord) bool {
		if len(cycles) == limit {
			more = true
			return false
		}
		cycles = append(cycles, &SiteCycle{
			Cycle: *NewCycle(c, site.Name), Done: c.Done, Budget: c.Budget, Pages: c.Pages, Content: c.Content, Unknown: c.Unknown, Copies: c.Copies,
			Moved: c.Moved, Waited: c.Waited, Bytes: c.Bytes, Failures: c.Errors,
		})
		return true
	})
	return cycles, more, err
}
