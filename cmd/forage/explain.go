package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/fetch/link"
	"forage/graph"
	"forage/internal/printable"
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
				return e.print(printable.Writer(cmd.OutOrStdout()))
			})
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// explanation is what forage explain tells.
type explanation struct {
	URL     string   `json:"url"`
	State   string   `json:"state"` // queued, fetched, skipped, failed, unknown
	Reason  string   `json:"reason"`
	FoundOn any      `json:"found_on"`
	Next    any      `json:"next"`     // when it may be fetched, null: not before the next revisit, or never
	Path    []string `json:"path"`     // from a seed to it
	PathCut bool     `json:"path_cut"` // the path is longer: these are the last pages of it
	Via     any      `json:"via"`      // what kind of link led to it
	Kind    any      `json:"kind"`     // content, list, …, feed, sitemap, …
	New     any      `json:"new"`      // yes, no, unknown
	Visits  []visit  `json:"visits"`
	Depth   any      `json:"depth"`

	Changes    int `json:"changes"`     // visits that found another body than the one before
	ChangeRate any `json:"change_rate"` // of the visits after the first
	Refetches  int `json:"refetches"`   // in cycles of discovery
	LinkChurn  any `json:"link_churn"`  // links gained or lost a refetch
	Led        int `json:"led"`         // new pages that it led to in the cycles that found them
	Found      int `json:"found"`       // documents that its fetches found first
}

type visit struct {
	Cycle   store.Cycle  `json:"cycle"`
	At      any          `json:"at"`
	Status  int          `json:"status"`
	Bytes   int64        `json:"bytes"`
	Refetch *refetchJSON `json:"refetch"` // null: not in a cycle of discovery, or its first answer
}

type refetchJSON struct {
	NotModified bool `json:"not_modified"`
	Changed     bool `json:"changed"`
	Gained      int  `json:"gained"` // links
	Lost        int  `json:"lost"`
	Led         int  `json:"led"`   // |N(page)|: pages found in the cycle that it leads to
	Found       int  `json:"found"` // documents
}

// longestPath bounds the chain of pages shown.
const longestPath = 100

func explain(v *store.View, raw string) (*explanation, error) {
	norm, err := link.Parse(raw)
	if err != nil && !strings.Contains(raw, "://") {
		return nil, usagef("%q is no URL that can be fetched: want http:// or https:// and a host", raw)
	} else if err != nil {
		return nil, usagef("%q is no URL that can be fetched: %w", raw, err)
	}
	e := &explanation{URL: norm, State: "unknown", Reason: "no page, feed or sitemap fetched so far leads to it", Path: []string{}, Visits: []visit{}}
	id, err := v.Find(norm)
	if errors.Is(err, store.ErrNotFound) {
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := v.Doc(id)
	if err != nil {
		return nil, err
	}
	site, err := v.Site(d.Site)
	if err != nil {
		return nil, err
	}
	e.State, e.Depth = d.State.String(), d.Depth
	if d.Kind != store.Unseen {
		e.Kind = d.KindText()
	}
	if d.IsPage() {
		e.New = d.New.String()
	}
	c := v.Cursor()
	defer c.Close()
	if e.FoundOn, err = urlOf(c, d.FoundOn); err != nil {
		return nil, err
	}
	e.Via = d.Via.String()
	for at := d; at.FoundOn != graph.None; {
		if e.PathCut = len(e.Path) == longestPath; e.PathCut {
			break
		}
		if at, err = v.Doc(at.FoundOn); err != nil {
			return nil, err
		}
		e.Path = append([]string{at.URL}, e.Path...)
	}
	if err := v.Visits(d, func(x store.Visit) bool {
		e.Visits = append(e.Visits, visit{x.Cycle, stamp(x.At), x.Status, x.Bytes, nil})
		return true
	}); err != nil {
		return nil, err
	}
	churn := 0
	for i := range e.Visits {
		r, err := v.Refetch(d, e.Visits[i].Cycle)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		e.Visits[i].Refetch = &refetchJSON{r.NotModified, r.Changed, len(r.Gained), r.Lost, len(r.Led), len(r.Found)}
		e.Refetches++
		e.Led, e.Found, churn = e.Led+len(r.Led), e.Found+len(r.Found), churn+len(r.Gained)+r.Lost
	}
	e.Changes = d.Changes
	if d.Visits > 1 {
		e.ChangeRate = float64(d.Changes) / float64(d.Visits-1)
	}
	if e.Refetches > 0 {
		e.LinkChurn = float64(churn) / float64(e.Refetches)
	}
	e.Reason = reason(d, site)
	for _, r := range []struct {
		id   graph.Node
		text string
	}{
		{d.DuplicateOf, "it repeats %v"}, {d.StandIn, "%v names it canonical and stands for it until it is fetched"}, {d.MovedFrom, "it is %v at a new URL"},
	} {
		if r.id == graph.None {
			continue
		}
		other, err := urlOf(c, r.id)
		if err != nil {
			return nil, err
		}
		if r.id == d.MovedFrom && d.Moved == 0 {
			r.text = "it may be %v at a new URL: that has not been looked at since"
		}
		e.Reason += "; " + fmt.Sprintf(r.text, other)
	}
	if d.State == store.Queued {
		h, err := v.Host(store.HostOf(norm))
		if err != nil {
			return nil, err
		}
		at := h.NotBefore
		if h.LastRequest > 0 {
			at = max(at, h.LastRequest+site.Rules.DelayMillis)
		}
		if at > 0 {
			e.Next = time.UnixMilli(at).UTC().Format(time.RFC3339)
		}
	}
	return e, nil
}

// reason says in a sentence why d is in its state.
func reason(d *store.Doc, site *store.Site) string {
	why := d.Reason
	switch d.State {
	case store.Queued:
		switch {
		case site.State == store.SitePaused:
			return "waits: the site is paused: " + site.Reason
		case why != "":
			return "waits: " + why
		case site.State == store.SiteDone:
			return "waits for the next 'forage crawl' or 'forage revisit'"
		}
		return "waits for its turn"
	case store.Skipped:
		if d.LeftOut() {
			return "left out since it was fetched: " + why + skips[why]
		}
		if group, ok := strings.CutPrefix(why, store.StoppedReason); ok {
			why = "left out: URLs like it brought nothing"
			for _, g := range site.LeftOut {
				switch {
				case g.Group != group:
				case g.Fetched == 0:
					why = fmt.Sprintf("left out: of %s, %s", g.Group, g.Why)
				default:
					why = fmt.Sprintf("left out: of %s %s fetched, %s", g.Group, were(g.Fetched), g.Why)
				}
			}
			return why + "; 'forage crawl --all' fetches it, or give it as a URL"
		}
		return "not fetched: " + why + skips[why]
	case store.Failed:
		return fmt.Sprintf("could not be fetched (%d tries): %s", d.Attempts, why)
	}
	s := fmt.Sprintf("fetched, the latest answer was %d", d.Status)
	switch {
	case d.Gone != 0:
		s += ", it is gone"
	case d.Dropped > 0:
		s += fmt.Sprintf(", but %s dropped it since: it is looked at as --check-gone allows", plural(int64(d.Dropped), "document"))
	case d.Kind == store.Soft404:
		s += " with the body that the site gives for what is not there"
	case d.Hollow:
		s += " with the body that the site gives for every path"
	case d.Stub:
		s += ", a redirect by meta refresh: it is told as new when it is a page of its own"
	case d.Truncated:
		s += ", cut: its body was too long or did not come in time, or it has more links, or longer ones, than are taken"
	}
	if d.Seed {
		s += "; it was given by hand"
	}
	return s
}

// were is how many documents something happened to.
func were(n int64) string {
	if n == 1 {
		return "1 was"
	}
	return fmt.Sprintf("%d were", n)
}

// skips tells what the short reasons mean, of which a rule of the site is one.
var skips = map[string]string{
	"scope":   " (outside of the site whose link led there; 'forage crawl URL' makes it a site of its own)",
	"include": " (no --include of the site fits)",
	"exclude": " (an --exclude of the site fits)",
	"depth":   " (beyond --max-depth of the site)",
	"action":  " (it looks like something that is done, such as to log out or to delete, and --cookies or --header log in there; give it as a URL to fetch it)",
}

func (e *explanation) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n  state     %s\n  why       %s\n", e.URL, e.State, e.Reason)
	if e.Kind != nil {
		fmt.Fprintf(w, "  kind      %v", e.Kind)
		if e.New != nil {
			fmt.Fprintf(w, ", new: %v", e.New)
		}
		fmt.Fprintln(w)
	}
	if e.State != "unknown" {
		if e.FoundOn == nil {
			fmt.Fprintln(w, "  found     given by hand, or named by robots.txt")
		} else {
			fmt.Fprintf(w, "  found on  %v (%v)\n", e.FoundOn, e.Via)
		}
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
		fmt.Fprintf(w, "  next      not before %v\n", e.Next)
	}
	if e.ChangeRate != nil {
		fmt.Fprintf(w, "  changed   %s, in %s of the visits after the first\n", plural(int64(e.Changes), "time"), percent(e.ChangeRate))
	}
	if e.Refetches > 0 {
		fmt.Fprintf(w, "  led to    %s, found %s first, in %s; %.1f links gained or lost in each\n", plural(int64(e.Led), "new page"),
			plural(int64(e.Found), "document"), plural(int64(e.Refetches), "revisit"), e.LinkChurn)
	}
	for _, x := range e.Visits[max(0, len(e.Visits)-10):] {
		fmt.Fprintf(w, "  visit     cycle %d, %v: %d, %d bytes", x.Cycle, x.At, x.Status, x.Bytes)
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
