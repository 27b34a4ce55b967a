package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/crawl/plan"
)

// shareFlags checks the flags that go with --total-budget and reads the weights.
func shareFlags(cmd *cobra.Command, p *plan.Plan, weights []string) error {
	for _, name := range []string{"min", "max", "weight"} {
		if cmd.Flags().Changed(name) && p.Total == 0 {
			return usagef("--%s is about --total-budget, which is not given", name)
		}
	}
	if p.Total > 0 && p.Full {
		return usagef("--full fetches every known document; leave --total-budget out")
	}
	if p.Min < 0 || p.Max < 0 || p.Max > 0 && p.Max < p.Min {
		return usagef("--min and --max want 0 or more, and --max no less than --min")
	}
	p.Weight = map[string]float64{}
	for _, text := range weights {
		i := strings.LastIndexByte(text, '=')
		if i < 1 {
			return usagef("--weight %q: want SITE=W", text)
		}
		w, err := strconv.ParseFloat(text[i+1:], 64)
		if err != nil || !(w > 0) || math.IsInf(w, 0) {
			return usagef("--weight %q: want a number above 0 after the =", text)
		}
		p.Weight[text[:i]] = w
	}
	return nil
}

// plannedJSON is what was to be expected of a cycle.
type plannedJSON struct {
	Price float64       `json:"price"` // of a fetch, in new pages; 0: nothing was shared
	Plan  []plannedSite `json:"plan"`
}

type plannedSite struct {
	Site     string  `json:"site"`
	Known    int     `json:"known"`
	Budget   int     `json:"budget"`
	Expected float64 `json:"expected_new_pages"`
	Coverage any     `json:"expected_coverage"`
	Needs    float64 `json:"seconds_needed"`
	Has      any     `json:"seconds_available"`
	InTime   bool    `json:"in_time"`
	Blind    bool    `json:"blind"`          // the policy knows nothing without full recrawls
	Recrawl  any     `json:"recrawl_over"`   // what a full recrawl may take that the budget has no room for
	Likely   int     `json:"likely_fetches"` // fewer than budget where a coverage ends the cycle
}

func planned(o *plan.Outlook) plannedJSON {
	p := plannedJSON{Plan: []plannedSite{}}
	if o == nil {
		return p
	}
	p.Price = o.Price
	for i := range o.Sites {
		s := &o.Sites[i]
		row := plannedSite{s.Site.Name, s.Known, s.Budget, s.Expected, nil, s.Needs.Seconds(), nil, !s.Late(), s.Blind, orNull(s.Recrawl), s.Likely}
		if !math.IsNaN(s.Coverage) {
			row.Coverage = s.Coverage
		}
		if s.Has > 0 {
			row.Has = s.Has.Seconds()
		}
		p.Plan = append(p.Plan, row)
	}
	return p
}

// printOutlook prints a line a site, or one for all and one for what is late.
func printOutlook(w io.Writer, o *plan.Outlook, each bool) error {
	var budget, late, blind, over int
	var expected float64
	for i := range o.Sites {
		s := &o.Sites[i]
		budget, expected = budget+s.Likely, expected+s.Expected
		if s.Late() {
			late++
		}
		if s.Blind {
			blind++
		}
		if s.Recrawl > 0 {
			over++
		}
		if !each {
			continue
		}
		text := "no cycle yet to learn from"
		if !math.IsNaN(s.Coverage) {
			text = fmt.Sprintf("%.0f%% of what is new", 100*s.Coverage)
		}
		if s.Blind {
			text = fmt.Sprintf("nothing is fetched: %s learns from full recrawls only, and none has found new pages yet; --full makes one, --policy best needs none", s.Cycle.Policy)
		}
		if s.Recrawl > 0 {
			text += fmt.Sprintf("; a full recrawl is due, but may take %d fetches: --period makes it where no --budget is given", s.Recrawl)
		}
		if s.Late() {
			text += fmt.Sprintf("; politeness asks for %s, there are %s", s.Needs.Round(time.Second), s.Has.Round(time.Second))
		}
		count := fmt.Sprint(s.Likely)
		switch {
		case s.Ceiling && s.Likely < s.Budget:
			count = fmt.Sprintf("some %d, at most %d,", s.Likely, s.Budget)
		case s.Ceiling:
			count = fmt.Sprintf("at most %d", s.Budget)
		}
		if _, err := fmt.Fprintf(w, "forage: %s: %s of %d old documents, some %.1f new pages expected (%s)\n", s.Site.Name, count, s.Known, s.Expected, text); err != nil {
			return err
		}
	}
	if len(o.Sites) == 1 && each {
		return nil
	}
	text := ""
	if blind > 0 && !each {
		text += fmt.Sprintf("; at %d of them nothing is fetched, as the policy learns from full recrawls only and none has found new pages yet", blind)
	}
	if over > 0 && !each {
		text += fmt.Sprintf("; at %d of them a full recrawl is due, but may take more than --budget", over)
	}
	if late > 0 && !each {
		text += fmt.Sprintf("; at %d of them politeness does not let the budget be spent in time", late)
	}
	if text != "" {
		text += ": 'forage revisit --plan' lists them"
	}
	_, err := fmt.Fprintf(w, "forage: %d sites: %d old documents to fetch, some %.1f new pages expected%s\n", len(o.Sites), budget, expected, text)
	return err
}
