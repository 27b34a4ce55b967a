package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"forage/crawl"
	"forage/report"
)

// adoptFlag adds the flag that lets a crawl grow.
func adoptFlag(cmd *cobra.Command, most *int) {
	cmd.Flags().IntVar(most, "adopt", 0, "take on sites that pages of known sites link to, up to so many over the life of the store, each with a first visit of up to 50 fetches (0: none)")
}

// checkAdopt refuses a number that is none.
func checkAdopt(most int) error {
	if most < 0 {
		return usagef("--adopt: want how many sites may be taken on, 0 or more, got %d", most)
	}
	return nil
}

// grownJSON is what --json tells of a crawl that may grow.
type grownJSON struct {
	Adopted []adoptedJSON `json:"adopted"`
	Refused []refusedJSON `json:"refused"`
}

type adoptedJSON struct {
	Site    string    `json:"site"`
	URL     string    `json:"url"`
	At      time.Time `json:"at"`
	FoundOn string    `json:"found_on"`
	Domains int       `json:"domains"`
	Links   int       `json:"links"`
	Fetched int64     `json:"fetched"`
	Pages   int64     `json:"pages"`
}

type refusedJSON struct {
	Host    string `json:"host"`
	FoundOn string `json:"found_on"`
	Reason  string `json:"reason"`
}

// grown is what r tells of sites that were adopted.
func grown(r *crawl.Result) grownJSON {
	j := grownJSON{Adopted: []adoptedJSON{}, Refused: []refusedJSON{}}
	for _, a := range r.Adopted {
		j.Adopted = append(j.Adopted, adoptedJSON{a.Site, a.URL, time.Unix(a.At, 0).UTC(), a.From, a.Domains, a.Links, a.Fetched, a.Pages})
	}
	for _, no := range r.Refused {
		j.Refused = append(j.Refused, refusedJSON{no.Host, no.From, no.Why})
	}
	return j
}

// printGrown tells people of sites that were adopted.
func printGrown(w io.Writer, r *crawl.Result) {
	for _, a := range r.Adopted {
		fmt.Fprintf(w, "forage: adopted %s: %s by %s; %s to it from %s, first %s\n", a.Site, plural(a.Pages, "page"), plural(a.Fetched, "document")+" fetched", plural(int64(a.Links), "link"), plural(int64(a.Domains), "domain"), a.From)
	}
	for _, no := range r.Refused {
		fmt.Fprintf(w, "forage: %s is not adopted: %s; %s links to it\n", no.Host, no.Why, no.From)
	}
}

// shownRefusals is of how many sites that were not adopted people are told.
const shownRefusals = 10

// printGrowth shows people how the crawl has grown, and what that costs beside new pages on sites that are known.
func printGrowth(w io.Writer, s *report.Status) {
	g := s.Growth
	if g == nil {
		return
	}
	fmt.Fprintln(w)
	for _, r := range s.BySite {
		if a := r.Adopted; a != nil {
			fmt.Fprintf(w, "  %s was adopted on %s: %s from %s, first %s\n", r.Site, a.At, plural(int64(a.Links), "link"), plural(int64(a.Domains), "domain"), a.FoundOn)
		}
	}
	for _, no := range g.Refused[:min(len(g.Refused), shownRefusals)] {
		fmt.Fprintf(w, "  %s is not adopted: %s\n", no.Host, no.Reason)
	}
	if more := len(g.Refused) - shownRefusals; more > 0 {
		fmt.Fprintf(w, "  and %s not adopted; --json lists them\n", plural(int64(more), "site"))
	}
	line := func(what string, c report.Cost, fetches string) {
		each := "-"
		if c.Each != nil {
			each = fmt.Sprintf("%.2f", *c.Each)
		}
		fmt.Fprintf(w, "  %s: %s by %s, %s each\n", what, plural(c.Pages, "page"), fetches, each)
	}
	line(fmt.Sprintf("first visits of %s", plural(int64(g.Sites), "adopted site")), g.NewSites, plural(g.NewSites.Fetches, "document")+" fetched")
	line("new pages on known sites", g.KnownSites, plural(g.KnownSites.Fetches, "old document")+" fetched")
}
