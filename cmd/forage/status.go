package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"forage/internal/printable"
	"forage/retain"
	"forage/store"
)

func statusCmd() *cobra.Command {
	var (
		dir    string
		asJSON bool
		hubs   int
	)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show sites, pages, cycles, discovery and what is queued",
		Long: `Status tells how far each site of the store is, what is queued or failed and why, and what
each cycle fetched and found. Overhead is old documents fetched for each new page found.

Of the latest 30 cycles of each site, or those since the last full recrawl, it tells which
share of the new pages is known, with an interval, estimated from how long ago the documents
that showed them were fetched before. And it names the hubs: the old documents that led to
most new pages, each of which adds to those before it; with more than three sites only with
--hubs. It works beside a running crawl.`,
		Example: "  forage status\n  forage status --hubs 10\n  forage status --json",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if hubs < 0 {
				return usagef("--hubs wants 0 or more, got %d", hubs)
			}
			return onStore(cmd, dir, func(v *store.View) error {
				s, err := readStatus(v, hubs)
				if err != nil {
					return err
				}
				if own := callOf(cmd.Context()).owner; own != nil {
					s.Running = true
					if full := own.crawl.Full(); full != nil {
						s.Waits = full.Error()
					}
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), s)
				}
				return s.print(printable.Writer(cmd.OutOrStdout()), cmd.Flags().Changed("hubs") || s.Sites <= 3)
			})
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Flags().IntVar(&hubs, "hubs", 5, "old documents to name for each site")
	return cmd
}

// status is what forage status tells.
type status struct {
	Sites   int   `json:"sites"`
	Pages   int64 `json:"pages"` // that 'forage pages' lists
	Queued  int64 `json:"queued"`
	Cycles  int   `json:"cycles"`
	Running bool  `json:"running"`
	Waits   any   `json:"waits"` // why the running crawl fetches nothing: there is no room on the disk

	Documents  int64 `json:"documents"`  // pages, feeds and sitemaps
	Duplicates int64 `json:"duplicates"` // pages that repeat others, and are not listed

	Kept *keptStatus `json:"kept"` // null: --max-kept-pages was never given

	BySite  []siteStatus  `json:"by_site"`
	ByCycle []cycleStatus `json:"by_cycle"` // the latest ones
}

// keptStatus tells of the pages whose links and validators are kept.
type keptStatus struct {
	Limit    int     `json:"limit"`
	Kept     int     `json:"kept"`
	Core     int     `json:"core"`     // kept for ten rounds, or for all there were
	Turnover float64 `json:"turnover"` // share that the last round replaced
	Evicted  int     `json:"evicted"`  // in all
	Rounds   int     `json:"rounds"`
	Annealed bool    `json:"annealed"` // a page needs a lead of one vote now
}

func readKept(v *store.View) (*keptStatus, error) {
	state, err := v.Kept()
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k, err := retain.Restore(state)
	if err != nil {
		return nil, err
	}
	s := k.Stats()
	return &keptStatus{
		Limit: k.Config().Pages, Kept: s.Kept, Core: s.Core, Turnover: float64(s.Swapped) / float64(k.Config().Pages),
		Evicted: s.Evicted, Rounds: s.Rounds, Annealed: s.Annealed,
	}, nil
}

type siteStatus struct {
	Site       string   `json:"site"`
	State      string   `json:"state"`
	Reason     any      `json:"reason"`
	Pages      int64    `json:"pages"`
	New        int64    `json:"new"`
	Gone       int64    `json:"gone"`
	Feeds      int64    `json:"feeds_and_sitemaps"`
	Known      int64    `json:"known"`
	Queued     int64    `json:"queued"`
	Failed     int64    `json:"failed"`
	Skipped    int64    `json:"skipped"`
	Actions    int64    `json:"actions"`  // of these, links that look like actions where forage is logged in
	LeftOut    int64    `json:"left_out"` // of these, what was fetched before the rule came, and the URLs of LeftOutGroups
	Fetches    int64    `json:"fetches"`
	Errors     int64    `json:"errors"`
	Bytes      int64    `json:"bytes"`
	Crawled    any      `json:"crawled"`
	Documents  int64    `json:"documents"`
	Duplicates int64    `json:"duplicates"`
	Partial    any      `json:"partial"` // why the first visit did not see all
	NeedsJS    bool     `json:"needs_javascript"`
	Shell      bool     `json:"shell"` // every path answers with the same page
	Traps      []string `json:"traps"`
	SameParams []string `json:"same_params"` // parameters that do not change the page, and are left out of URLs
	// LeftOutGroups are URLs that are not fetched because others like them brought nothing.
	LeftOutGroups []store.LeftOut `json:"left_out_groups"`
	// Waiting counts the queued and failed documents by the reason that holds them back.
	Waiting map[string]int `json:"waiting"`

	shellText string

	Discovery *discoveryStatus `json:"discovery"` // null: no cycle has visited it again
	ruledOut  int64            // part of LeftOut
}

type cycleStatus struct {
	Cycle     store.Cycle `json:"cycle"`
	Site      string      `json:"site"`
	Kind      string      `json:"kind"`
	Policy    any         `json:"policy"`
	At        any         `json:"at"`
	Ended     any         `json:"ended"`
	Seconds   float64     `json:"seconds"` // in which it was worked on
	Fetched   int64       `json:"fetched"`
	Refetched int64       `json:"refetched"`
	NewPages  int64       `json:"new_pages"`
	Overhead  any         `json:"overhead"`
}

func readStatus(v *store.View, hubs int) (*status, error) {
	sites, err := v.Sites()
	if err != nil {
		return nil, err
	}
	last, err := v.LastCycle()
	if err != nil {
		return nil, err
	}
	s := &status{Sites: len(sites), Cycles: int(last), BySite: []siteStatus{}, ByCycle: []cycleStatus{}}
	if s.Kept, err = readKept(v); err != nil {
		return nil, err
	}
	for _, site := range sites {
		c, err := v.Counters(site.ID)
		if err != nil {
			return nil, err
		}
		row := siteStatus{
			Site: site.Name, State: string(site.State), Reason: orNull(site.Reason),
			Pages: c.Distinct, Documents: c.Documents(), Duplicates: c.Duplicates(), New: c.New, Gone: c.Gone, Feeds: c.Kind[store.Feed] + c.Kind[store.Sitemap], Known: c.Known(),
			Queued: c.Queued(), Failed: c.State[store.Failed], Skipped: c.State[store.Skipped], LeftOut: c.LeftOut, Actions: c.Actions,
			Fetches: c.Fetches, Errors: c.Errors, Bytes: c.Bytes, Crawled: stamp(site.CrawledAt),
			Partial: orNull(site.PartialWhy), NeedsJS: site.NeedsJS, Shell: site.Shell(c), Traps: append([]string{}, site.Traps...), Waiting: map[string]int{},
		}
		row.shellText = site.ShellText()
		row.ruledOut, row.SameParams = row.LeftOut, append([]string{}, site.SameParams...)
		row.LeftOutGroups = append([]store.LeftOut{}, site.LeftOut...)
		for _, g := range site.LeftOut {
			row.LeftOut += g.URLs
		}
		if site.Partial && row.Partial == nil {
			row.Partial = "the first visit did not see all of it"
		}
		if row.Queued+row.Failed > 0 {
			if row.Waiting, err = v.Waiting(site.ID); err != nil {
				return nil, err
			}
		}
		if row.Discovery, err = readDiscovery(v, site.ID, hubs); err != nil {
			return nil, fmt.Errorf("site %s: %w", site.Name, err)
		}
		s.Pages += row.Pages
		s.Documents += row.Documents
		s.Duplicates += row.Duplicates
		s.Queued += row.Queued
		s.BySite = append(s.BySite, row)
	}
	return s, s.readCycles(v, sites)
}

// shownCycles is how many of the latest cycles status tells of.
const shownCycles = 100

// readCycles reads the latest cycles, the first of them first.
func (s *status) readCycles(v *store.View, sites []*store.Site) error {
	name := map[store.SiteID]string{}
	for _, site := range sites {
		name[site.ID] = site.Name
	}
	err := v.CyclesBack(func(c *store.CycleRecord) bool {
		row := cycleStatus{
			Cycle: c.Cycle, Site: name[c.Site], Kind: string(c.Kind), Policy: orNull(c.Policy), At: stamp(c.At), Ended: stamp(c.Ended), Seconds: float64(c.Took) / 1000,
			Fetched: c.Fetched, Refetched: c.Refetched, NewPages: c.New,
		}
		if c.New > 0 && c.Kind != store.FirstVisit {
			row.Overhead = float64(c.Refetched) / float64(c.New)
		}
		s.ByCycle = append(s.ByCycle, row)
		return len(s.ByCycle) < shownCycles
	})
	slices.Reverse(s.ByCycle)
	return err
}

func (s *status) print(w io.Writer, hubs bool) error {
	fmt.Fprintf(w, "%s, %s, %d queued, %s", plural(int64(s.Sites), "site"), plural(s.Pages, "page"), s.Queued, plural(int64(s.Cycles), "cycle"))
	if s.Running {
		fmt.Fprint(w, ", a crawl is running")
	}
	if s.Waits != nil {
		fmt.Fprintf(w, " and waits: %s", s.Waits)
	}
	fmt.Fprint(w, "\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "site\tstate\tpages\tnew\tgone\tfeeds\tqueued\tfailed\tskipped\tcrawled")
	for _, r := range s.BySite {
		crawled := r.Crawled
		if crawled == nil {
			crawled = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%v\n", r.Site, r.State, r.Pages, r.New, r.Gone, r.Feeds, r.Queued, r.Failed, r.Skipped, crawled)
	}
	t.Flush()
	for _, r := range s.BySite {
		if r.Reason != nil {
			fmt.Fprintf(w, "  %s: %v\n", r.Site, r.Reason)
		}
		if r.Partial != nil {
			fmt.Fprintf(w, "  %s: first visit partial: %v\n", r.Site, r.Partial)
		}
		if r.Duplicates > 0 {
			fmt.Fprintf(w, "  %s: %s: 'forage pages --duplicates' lists them\n", r.Site, plural(r.Duplicates, "page")+" more that repeat others")
		}
		switch {
		case r.Shell:
			fmt.Fprintf(w, "  %s: %s\n", r.Site, r.shellText)
		case r.NeedsJS:
			fmt.Fprintf(w, "  %s: its pages have scripts but next to no links; it seems to need JavaScript\n", r.Site)
		}
		if r.Actions > 0 {
			fmt.Fprintf(w, "  %s: %s not followed, as forage is logged in there and they look like actions (log out, delete, cart)\n", r.Site, plural(r.Actions, "link"))
		}
		if r.ruledOut > 0 {
			fmt.Fprintf(w, "  %s: %s left out by rules that came later; 'forage pages --include-excluded' lists them\n", r.Site, plural(r.ruledOut, "document"))
		}
		for _, g := range r.LeftOutGroups[:min(len(r.LeftOutGroups), shownLeftOut)] {
			fmt.Fprintf(w, "  %s: %s\n", r.Site, leftOutText(&g))
		}
		if more := len(r.LeftOutGroups) - shownLeftOut; more > 0 {
			fmt.Fprintf(w, "  %s: and %s of URLs left out; --json lists them\n", r.Site, plural(int64(more), "more group"))
		}
		if len(r.LeftOutGroups) > 0 {
			fmt.Fprintf(w, "  %s: 'forage crawl --all URL' fetches what is left out\n", r.Site)
		}
		if len(r.SameParams) > 0 {
			fmt.Fprintf(w, "  %s: parameters that do not change the page, left out of URLs: %s\n", r.Site, strings.Join(r.SameParams, ", "))
		}
		for _, trap := range r.Traps {
			fmt.Fprintf(w, "  %s: trap: %s\n", r.Site, trap)
		}
		for _, reason := range sortedKeys(r.Waiting) {
			fmt.Fprintf(w, "  %s: %s for %q\n", r.Site, plural(int64(r.Waiting[reason]), "URL")+" waiting or failed", reason)
		}
	}
	if err := printDiscovery(w, s.BySite, hubs); err != nil {
		return err
	}
	if k := s.Kept; k != nil {
		fmt.Fprintf(w, "\nlinks and validators are kept of %d pages (at most %d): %d of them are the core, the last of %s replaced %.1f%%, %d evictions\n",
			k.Kept, k.Limit, k.Core, plural(int64(k.Rounds), "round"), 100*k.Turnover, k.Evicted)
	}
	if len(s.ByCycle) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "cycle\tsite\tkind\tpolicy\tbegan\ttook\tfetched\told\tnew pages\toverhead")
	for _, c := range s.ByCycle[max(0, len(s.ByCycle)-20):] {
		fmt.Fprintf(t, "%d\t%s\t%s\t%v\t%v\t%s\t%d\t%d\t%d\t%s\n", c.Cycle, c.Site, c.Kind, orDash(c.Policy), orDash(c.At), took(c), c.Fetched, c.Refetched, c.NewPages, percent(c.Overhead))
	}
	return t.Flush()
}

// shownLeftOut is of how many groups of URLs that are left out people are told.
const shownLeftOut = 10

// leftOutText tells of a group of URLs that are left out, for people.
func leftOutText(g *store.LeftOut) string {
	if g.Fetched == 0 { // beyond a bound
		return fmt.Sprintf("%s of %s left out, and what they alone lead to: %s", plural(g.URLs, "URL"), g.Group, g.Why)
	}
	return fmt.Sprintf("%s of %s left out: %s fetched, %s", plural(g.URLs, "URL"), g.Group, plural(g.Fetched, "other"), g.Why)
}

// plural is a number of things, for people.
func plural(n int64, what string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func orDash(v any) any {
	if v == nil {
		return "-"
	}
	return v
}

// took is how long a cycle was worked on, for people.
func took(c cycleStatus) string {
	if c.Ended == nil {
		return "open"
	}
	d := time.Duration(c.Seconds * float64(time.Second))
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// percent formats a fraction for people, "-" where it is undefined.
func percent(v any) string {
	if f, ok := v.(float64); ok {
		return fmt.Sprintf("%.0f%%", 100*f)
	}
	return "-"
}
