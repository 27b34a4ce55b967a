package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"forage/internal/printable"
	"forage/report"
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
				s, err := report.NewStatus(v, hubs)
				if err != nil {
					return err
				}
				if own := callOf(cmd.Context()).owner; own != nil {
					s.Running = true
					if full := own.crawl.Full(); full != nil {
						why := full.Error()
						s.Waits = &why
					}
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), s)
				}
				return printStatus(printable.Writer(cmd.OutOrStdout()), s, cmd.Flags().Changed("hubs") || s.Sites <= 3)
			})
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Flags().IntVar(&hubs, "hubs", 5, "old documents to name for each site")
	return cmd
}

// printStatus shows a status to people, with the hubs of each site where hubs is set.
func printStatus(w io.Writer, s *report.Status, hubs bool) error {
	fmt.Fprintf(w, "%s, %s, %d queued, %s", plural(int64(s.Sites), "site"), plural(s.Pages, "page"), s.Queued, plural(int64(s.Cycles), "cycle"))
	if s.Running {
		fmt.Fprint(w, ", a crawl is running")
	}
	if s.Waits != nil {
		fmt.Fprintf(w, " and waits: %s", *s.Waits)
	}
	fmt.Fprint(w, "\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "site\tstate\tpages\tnew\tgone\tfeeds\tqueued\tfailed\tskipped\tcrawled")
	for _, r := range s.BySite {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", r.Site, r.State, r.Pages, r.New, r.Gone, r.Feeds, r.Queued, r.Failed, r.Skipped, orDash(r.Crawled))
	}
	t.Flush()
	for _, r := range s.BySite {
		if r.Reason != nil {
			fmt.Fprintf(w, "  %s: %s\n", r.Site, *r.Reason)
		}
		if r.Partial != nil {
			fmt.Fprintf(w, "  %s: first visit partial: %s\n", r.Site, *r.Partial)
		}
		if r.Duplicates > 0 {
			fmt.Fprintf(w, "  %s: %s: 'forage pages --duplicates' lists them\n", r.Site, plural(r.Duplicates, "page")+" more that repeat others")
		}
		switch {
		case r.Shell:
			fmt.Fprintf(w, "  %s: %s\n", r.Site, r.ShellText)
		case r.NeedsJS:
			fmt.Fprintf(w, "  %s: its pages have scripts but next to no links; it seems to need JavaScript\n", r.Site)
		}
		if r.Actions > 0 {
			fmt.Fprintf(w, "  %s: %s not followed, as forage is logged in there and they look like actions (log out, delete, cart)\n", r.Site, plural(r.Actions, "link"))
		}
		if r.RuledOut > 0 {
			fmt.Fprintf(w, "  %s: %s left out by rules that came later; 'forage pages --include-excluded' lists them\n", r.Site, plural(r.RuledOut, "document"))
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
	printGrowth(w, s)
	if err := printDiscovery(w, s.BySite, hubs); err != nil {
		return err
	}
	if k := s.Kept; k != nil {
		core := fmt.Sprintf("the core shows after %d rounds", retain.CoreRounds)
		if k.Core != nil {
			core = fmt.Sprintf("%d of them stayed for the last %d rounds, the core", *k.Core, retain.CoreRounds)
		}
		fmt.Fprintf(w, "\nlinks and validators are kept of %d pages (at most %d, by %s): %s; the last of %s replaced %.1f%%, %d evictions\n",
			k.Kept, k.Limit, k.Rule, core, plural(int64(k.Rounds), "round"), 100*k.Turnover, k.Evicted)
	}
	if len(s.ByCycle) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "cycle\tsite\tkind\tpolicy\tbegan\ttook\tfetched\told\tnew pages\toverhead")
	for _, c := range s.ByCycle[max(0, len(s.ByCycle)-20):] {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", c.Cycle, c.Site, c.Kind, orDash(c.Policy), orDash(c.At), took(c), c.Fetched, c.Refetched, c.NewPages, percent(c.Overhead))
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

// orDash is a text for people, "-" where there is none.
func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// took is how long a cycle was worked on, for people.
func took(c *report.Cycle) string {
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
func percent(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100**f)
}

// percentOf formats n / of for people. of is above 0.
func percentOf[N int | int64](n, of N) string {
	f := float64(n) / float64(of)
	return percent(&f)
}
