package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"forage/report"
)

// printDiscovery shows a line a site, and below it the hubs of each site if lists is set.
func printDiscovery(w io.Writer, sites []report.SiteStatus, lists bool) error {
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
			fmt.Fprintf(t, "%d\t%s\t%d\t%v\t%s\n", h.Led, percentOf(together, r.Discovery.Found), h.Fetches, orDash(h.LastFetched), h.URL)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
