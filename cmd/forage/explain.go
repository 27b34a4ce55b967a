package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"forage/fetch/link"
	"forage/internal/printable"
	"forage/report"
	"forage/store"
)

func explainCmd() *cobra.Command {
	var (
		dir    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "explain URL",
		Short: "Tell why a URL was fetched or not, which page led there, when it is due",
		Long: `Explain tells what the store knows of one URL: whether it has been fetched, is queued, was
left out and by which rule, or failed and why; the chain of pages that led to it; when it may
be fetched next; and what fetching it again has shown: how often it changed, its links gained
and lost, and the new pages that it led to. It works beside a running crawl.`,
		Example: "  forage explain https://example.org/about",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onStore(cmd, dir, func(v *store.View) error {
				e, err := explain(v, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), e)
				}
				return printExplanation(printable.Writer(cmd.OutOrStdout()), e)
			})
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// explain tells of a URL as it was given.
func explain(v *store.View, raw string) (*report.Explanation, error) {
	norm, err := link.Parse(raw)
	if err != nil && !strings.Contains(raw, "://") {
		return nil, usagef("%q is no URL that can be fetched: want http:// or https:// and a host", raw)
	} else if err != nil {
		return nil, usagef("%q is no URL that can be fetched: %w", raw, err)
	}
	e, _, err := report.Explain(v, norm, 0)
	return e, err
}

func printExplanation(w io.Writer, e *report.Explanation) error {
	fmt.Fprintf(w, "%s\n  state     %s\n  why       %s\n", e.URL, e.State, e.Reason)
	if e.Kind != nil {
		fmt.Fprintf(w, "  kind      %s", *e.Kind)
		if e.New != nil {
			fmt.Fprintf(w, ", new: %s", *e.New)
		}
		fmt.Fprintln(w)
	}
	if e.State != "unknown" {
		if e.FoundOn == nil {
			fmt.Fprintln(w, "  found     given by hand, in a list or an index, or named by robots.txt")
		} else {
			fmt.Fprintf(w, "  found on  %s (%s)\n", *e.FoundOn, *e.Via)
		}
	}
	for _, line := range e.Use.Lines() {
		fmt.Fprintf(w, "  use       %s\n", printable.Text(line))
	}
	if len(e.Path) > 1 {
		if e.PathCut {
			fmt.Fprintf(w, "  path      the last %d pages of it\n", len(e.Path))
		} else {
			fmt.Fprintln(w, "  path")
		}
		for _, u := range e.Path {
			fmt.Fprintf(w, "            %s\n", u)
		}
	}
	if e.Next != nil {
		fmt.Fprintf(w, "  next      not before %s\n", *e.Next)
	}
	if e.ChangeRate != nil {
		fmt.Fprintf(w, "  changed   %s, in %s of the visits after the first\n", plural(int64(e.Changes), "time"), percent(e.ChangeRate))
	}
	if e.Refetches > 0 {
		fmt.Fprintf(w, "  led to    %s, found %s first, in %s; %.1f links gained or lost in each\n", plural(int64(e.Led), "new page"),
			plural(int64(e.Found), "document"), plural(int64(e.Refetches), "revisit"), *e.LinkChurn)
	}
	for _, x := range e.Visits[max(0, len(e.Visits)-10):] {
		fmt.Fprintf(w, "  visit     cycle %d, %s: %d, %d bytes", x.Cycle, orDash(x.At), x.Status, x.Bytes)
		if r := x.Refetch; r != nil {
			if r.Led > 0 {
				fmt.Fprintf(w, ", led to %s", plural(int64(r.Led), "new page"))
			}
			if r.Found > 0 {
				fmt.Fprintf(w, ", found %d first", r.Found)
			}
		}
		fmt.Fprintln(w)
	}
	return nil
}
