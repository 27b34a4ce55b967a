package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"forage/crawl/plan"
	"forage/store"
)

// discoveryStatus tells how finding new pages went at a site lately.
type discoveryStatus struct {
	Cycles    int       `json:"cycles"`    // looked back at
	Refetched int       `json:"refetched"` // old documents
	Found     int       `json:"found"`     // new pages, duplicates included
	Overhead  any       `json:"overhead"`
	Coverage  any       `json:"coverage"` // since the last full recrawl; null: nothing was found
	Low       any       `json:"coverage_low"`
	High      any       `json:"coverage_high"`
	Hidden    any       `json:"hidden"`    // pages that became new and that nothing has found, as estimated
	HubShare  any       `json:"hub_share"` // of the pages found, those that hubs led to
	Hubs      []hubJSON `json:"hubs"`
}

type hubJSON struct {
	URL         string `json:"url"`
	Led         int    `json:"led"`   // new pages that it led to
	Adds        int    `json:"adds"`  // of them, to which no hub before it led
	Found       int    `json:"found"` // of them, first found by its fetches
	Fetches     int    `json:"fetches"`
	LastFetched any    `json:"last_fetched"`
}

// readDiscovery returns nil for a site that no cycle has visited again.
func readDiscovery(v *store.View, site store.SiteID, hubs int) (*discoveryStatus, error) {
	d, err := plan.Discovered(v, site, hubs)
	if err != nil || d.Cycles == 0 {
		return nil, err
	}
	c := &d.Coverage
	s := &discoveryStatus{Cycles: d.Cycles, Refetched: d.Fetches, Found: d.Found, Hubs: []hubJSON{}}
	if !math.IsNaN(c.Share) {
		s.Coverage, s.Low, s.High, s.Hidden = c.Share, c.Low, c.High, c.Hidden
	}
	together := 0
	for _, h := range d.Hubs {
		doc, err := v.Doc(h.Page)
		if err != nil {
			return nil, err
		}
		together += h.Adds
		s.Hubs = append(s.Hubs, hubJSON{doc.URL, h.Led, h.Adds, h.Found, h.Fetches, stamp(d.Last[h.Page])})
	}
	if d.Found > 0 {
		s.Overhead = float64(d.Fetches) / float64(d.Found)
		if hubs > 0 {
			s.HubShare = float64(together) / float64(d.Found)
		}
	}
	return s, nil
}

// printDiscovery shows a line a site, and below it the hubs of each site if lists is set.
func printDiscovery(w io.Writer, sites []siteStatus, lists bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	any := false
	for _, r := range sites {
		d := r.Discovery
		if d == nil {
			continue
		}
		if !any {
			any = true
			fmt.Fprintln(t, "\nsite\tlast cycles\told\tnew pages\toverhead\tcoverage\thubs")
		}
		coverage, hubs := "-", "-"
		if d.Coverage != nil {
			coverage = fmt.Sprintf("%s (%s to %s)", percent(d.Coverage), percent(d.Low), percent(d.High))
		}
		if d.HubShare != nil {
			hubs = fmt.Sprintf("%d show %s", len(d.Hubs), percent(d.HubShare))
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\t%s\t%s\n", r.Site, d.Cycles, d.Refetched, d.Found, percent(d.Overhead), coverage, hubs)
	}
	if err := t.Flush(); err != nil || !lists {
		return err
	}
	for _, r := range sites {
		if r.Discovery == nil || len(r.Discovery.Hubs) == 0 {
			continue
		}
		fmt.Fprintf(w, "\nhubs of %s\n", r.Site)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "led to\ttogether\tfetches\tlast fetched\tURL")
		together := 0
		for _, h := range r.Discovery.Hubs {
			together += h.Adds
			fmt.Fprintf(t, "%d\t%s\t%d\t%v\t%s\n", h.Led, percent(float64(together)/float64(r.Discovery.Found)), h.Fetches, h.LastFetched, h.URL)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
