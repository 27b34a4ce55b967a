package report

import (
	"math"

	"forage/crawl/plan"
	"forage/store"
)

// An Estimate tells how finding new pages went at a site lately: in its latest 30 cycles that ended, or fewer where these
// fetched much.
type Estimate struct {
	Cycles    int      `json:"cycles" doc:"looked back at"`
	Refetched int      `json:"refetched" doc:"old documents"`
	Found     int      `json:"found" doc:"new pages, duplicates included"`
	Overhead  *float64 `json:"overhead"`
	Coverage  *float64 `json:"coverage" doc:"which share of the new pages was found, since the last full recrawl; null: nothing was found"`
	Low       *float64 `json:"coverage_low" doc:"with a confidence of 95% it is not less"`
	High      *float64 `json:"coverage_high" doc:"nor more"`
	Hidden    *float64 `json:"hidden" doc:"pages that became new and that nothing has found, as estimated"`
}

// A Discovery is an Estimate with hubs.
type Discovery struct {
	Estimate
	HubShare *float64 `json:"hub_share" doc:"of the pages found, those that hubs led to"`
	Hubs     []*Hub   `json:"hubs" nullable:"false"`
}

// A Hub is an old document that led to new pages.
type Hub struct {
	URL         string  `json:"url"`
	Led         int     `json:"led" doc:"new pages that it led to"`
	Adds        int     `json:"adds" doc:"of them, to which no hub before it led"`
	Found       int     `json:"found" doc:"of them, first found by its fetches"`
	Fetches     int     `json:"fetches"`
	LastFetched *string `json:"last_fetched" format:"date-time"`
}

// NewDiscovery returns how discovery went at a site, with up to so many of its hubs, each of which adds to those before
// it; nil for a site that no cycle has visited again. O(fetches of the cycles looked back at, which are 20,000 at most).
func NewDiscovery(v *store.View, site store.SiteID, hubs int) (*Discovery, error) {
	d, err := plan.Discovered(v, site, hubs)
	if err != nil {
		return nil, err
	}
	return newDiscovery(v, d, hubs)
}

func newDiscovery(v *store.View, d *plan.Discovery, hubs int) (*Discovery, error) {
	if d.Cycles == 0 {
		return nil, nil
	}
	c := &d.Coverage
	s := &Discovery{Estimate: Estimate{Cycles: d.Cycles, Refetched: d.Fetches, Found: d.Found}, Hubs: []*Hub{}}
	if !math.IsNaN(c.Share) {
		s.Coverage, s.Low, s.High, s.Hidden = &c.Share, &c.Low, &c.High, &c.Hidden
	}
	together := 0
	for _, h := range d.Hubs {
		doc, err := v.Doc(h.Page)
		if err != nil {
			return nil, err
		}
		together += h.Adds
		s.Hubs = append(s.Hubs, &Hub{doc.URL, h.Led, h.Adds, h.Found, h.Fetches, stamp(d.Last[h.Page])})
	}
	if d.Found > 0 {
		overhead, share := float64(d.Fetches)/float64(d.Found), float64(together)/float64(d.Found)
		s.Overhead = &overhead
		if hubs > 0 {
			s.HubShare = &share
		}
	}
	return s, nil
}
