package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/internal/printable"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/store"
)

// smallBudget is how many documents a revisit may fetch at a site, old ones and as many new ones, with a
// store that has little memory. The default of --max-new is not more than that.
const smallBudget = 1000

// smallRevisit reports whether each site gets so few fetches that little is written.
func smallRevisit(p *plan.Plan, budget amount) bool {
	few := !budget.isPct && budget.n <= smallBudget && p.MaxNew > 0 && p.MaxNew <= smallBudget
	return few && !p.Full && p.Period == 0
}

func revisitCmd() *cobra.Command {
	var (
		ff     fetchFlags
		p      plan.Plan
		prior  string
		weight []string
		dry    bool
		budget amount
		check  amount
		share  amount
		delay  time.Duration
		strict bool
		asJSON bool
		most   int
	)
	budget.Set("10%")
	check.Set("25%")
	cmd := &cobra.Command{
		Use:   "revisit [SITE…]",
		Short: "Come back to sites and find what is new",
		Long: `Revisit is a cycle of discovery at each of the sites named, or at all sites of the store. At each
it fetches at most --budget old documents (pages, feeds, sitemaps), chosen by --policy for
the new pages that they are likely to lead to, and follows everything new to the end, --max-new
documents at most. A share of the budget, --check-gone, is for pages that a list or sitemap has
dropped, where there are any, and so are fetches of which the policy expects less: a page that is
gone is worth that share of a new one. What the policy leaves of the budget is for documents that
wait from a first visit that was cut. With
--full it fetches every known document, which tells the policy most; --period N makes a cycle
full where N-1 have passed at a site since the last full one. Where a --budget is given it holds
for these cycles as well: at a site with more documents none is full. od-win learns from full
recrawls alone: until one of them has found new pages it fetches nothing, and revisit says so.

With --coverage 90% a cycle ends when that share of what is new is expected to be found, and --budget,
where it is given, is the ceiling; else the whole site is. The estimate is what the policy expects of
the documents fetched, beside what it expects of the others. Some fetches in each cycle see what a
site is like, so that less than 60% is asked for in vain: one fetch finds more.

With --total-budget sites share a number of fetches: each fetch goes to the site that it is
expected to find most new pages at, from what the fetches of past cycles found. Before it
begins, revisit tells the share of the new pages that the budgets are expected to find, and
which budgets the delay does not let it spend before the time limit, or in as long a time as
has gone by since the last cycle. --plan stops there.

With --adopt N it then takes on sites that pages of the store link to, as 'forage crawl --adopt' does.

'forage pages --new-since CYCLE' lists what a cycle found.`,
		Example: "  forage revisit --budget 10\n  forage revisit example.org --full\n  forage revisit --coverage 90%\n  forage revisit --policy od-win --period 4\n  forage revisit --total-budget 1000 --min 1 --plan",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(p.Config.Alpha > 0 && p.Config.Alpha <= 1) {
				return usagef("--alpha: want a decay above 0 and up to 1, got %g", p.Config.Alpha)
			}
			if _, err := paper.New(p.Policy, p.Config); err != nil {
				return usagef("--policy: %w", err)
			}
			if cmd.Flags().Changed("prior") {
				if p.Policy != "best" {
					return usagef("--prior: the numbers in %s are of --policy best; %s has none", prior, p.Policy)
				}
				var err error
				if p.Config.Prior, err = readPrior(callOf(cmd.Context()).path(prior)); err != nil {
					return usagef("--prior: %w", err)
				}
			}
			if p.Period < 0 || cmd.Flags().Changed("period") && p.Period == 0 {
				return usagef("--period: want 1 or more: 1 makes every cycle a full recrawl, 4 every fourth")
			}
			if p.Total < 0 {
				return usagef("--total-budget wants 0 or more")
			}
			if p.Total > 0 && p.Period > 0 {
				return usagef("--period makes full recrawls, which are no part of a --total-budget; leave one of them out")
			}
			if err := shareFlags(cmd, &p, weight); err != nil {
				return err
			}
			if err := checkAdopt(most); err != nil {
				return err
			}
			if p.MaxNew < 0 {
				return usagef("--max-new wants 0 or more")
			}
			if !check.isPct && check.n != 0 {
				return usagef("--check-gone wants a share of the budget such as 25%%, or 0")
			}
			if cmd.Flags().Changed("coverage") {
				if err := coverageFlag(cmd, &p, &share); err != nil {
					return err
				}
			}
			p.CheckGone = check.share
			p.Sites = args
			p.Text, p.Capped = budget.String(), cmd.Flags().Changed("budget")
			p.Budget = func(known int) int {
				if budget.share > 0 { // small sites too are looked at
					return max(1, budget.of(known))
				}
				return budget.of(known)
			}
			if p.Total > 0 {
				if !cmd.Flags().Changed("budget") {
					p.Budget, p.Text = nil, ""
				}
				p.Text = strings.TrimSpace(fmt.Sprintf("%s of %d", p.Text, p.Total))
			}
			if p.Coverage > 0 {
				if p.Text = share.String() + " of what is new"; cmd.Flags().Changed("budget") {
					p.Text += ", at most " + budget.String()
				} else {
					p.Budget = nil
				}
			}
			if p.Full {
				p.Budget, p.Text = nil, "all"
			}
			cfg, err := ff.config(cmd, hostsNamed(args))
			if err != nil {
				return err
			}
			cfg.Small = smallRevisit(&p, budget) && most == 0
			allowed, err := ff.addresses()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("delay") {
				p.Delay = &delay
			}
			if dry {
				return onStore(cmd, ff.dir, func(v *store.View) error {
					now := plan.Conditions{Now: time.Now().Unix(), MaxTime: ff.limit}
					if !cfg.At.IsZero() {
						now.Now = cfg.At.Unix()
					}
					o, err := plan.Foresee(v, now, p)
					if errors.Is(err, plan.ErrNoSite) {
						return badInput(err)
					}
					if err != nil {
						return err
					}
					if asJSON {
						return printJSON(cmd.OutOrStdout(), planned(o))
					}
					return printOutlook(printable.Writer(cmd.OutOrStdout()), o, true)
				})
			}
			if callOf(cmd.Context()).owner == nil {
				if err := isStore(ff.dir); err != nil { // nothing is made where there is no store
					return err
				}
			}
			var outlook *plan.Outlook
			return ff.run(cmd, cfg, func(ctx context.Context, c *crawl.Crawl, opt crawl.Options) (*crawl.Result, error) {
				opt.Allow = allowed
				opt.Begin = func(o *plan.Outlook) error {
					outlook = o
					return printOutlook(printable.Writer(cmd.ErrOrStderr()), o, len(o.Sites) <= 10)
				}
				r, err := c.Revisit(ctx, p, opt)
				if err != nil {
					return nil, err
				}
				return c.Grow(ctx, crawl.Growth{Most: most}, opt, r)
			}, func(r *crawl.Result) error { return printRevisit(cmd, r, outlook, p.Coverage, asJSON) }, strict)
		},
	}
	ff.add(cmd)
	f := cmd.Flags()
	f.Var(&budget, "budget", "old documents to fetch at each site: a number, or a share of those known, at least one")
	f.Var(&check, "check-gone", "share of the budget for pages that lists have dropped, and what one that is gone is worth of a new one")
	f.Var(&share, "coverage", "end the cycle of a site when this share of what is new is expected to be found, such as 90%; --budget, if given, is the ceiling")
	f.IntVar(&p.MaxNew, "max-new", 1000, "new documents to follow at each site, but in full recrawls; the next cycle goes on with the rest (0: no limit)")
	f.IntVar(&p.Total, "total-budget", 0, "old documents to fetch over all sites, shared by what each is expected to find; without --budget no other limit (0: no limit)")
	f.IntVar(&p.Min, "min", 0, "least share of --total-budget for a site")
	f.IntVar(&p.Max, "max", 0, "largest share of --total-budget for a site (0: no limit)")
	f.StringArrayVar(&weight, "weight", nil, "SITE=W: a new page of the site counts W where --total-budget is shared (repeatable; 1)")
	f.BoolVar(&dry, "plan", false, "print what each site would get, what to expect and what politeness cannot meet, and stop")
	f.StringVar(&p.Policy, "policy", revisit.Default, "who chooses them: "+serving())
	f.StringVar(&prior, "prior", "", "file of the numbers of --policy best, from 'forage lab fit revisit' (those that come with it)")
	f.Float64Var(&p.Config.Alpha, "alpha", 1, "decay of older cycles in od policies, above 0 and up to 1")
	f.IntVar(&p.Period, "period", 0, "make every Nth cycle of a site a full recrawl, if a --budget that is given has room for it (0: none)")
	f.BoolVar(&p.Full, "full", false, "full recrawl: fetch every known document")
	f.Var((*delayFlag)(&delay), "delay", "least gap between two requests to a host")
	f.Lookup("delay").DefValue = "as the site was crawled"
	adoptFlag(cmd, &most)
	f.BoolVar(&strict, "strict", false, "exit 1 if any site fails, not only if all do")
	f.BoolVar(&asJSON, "json", false, "one JSON object when done")
	return cmd
}

// coverageFlag checks the flags that go with --coverage.
func coverageFlag(cmd *cobra.Command, p *plan.Plan, share *amount) error {
	if !share.isPct || !(share.share > 0 && share.share < 1) {
		return usagef("--coverage: want a share of what is new, above 0%% and below 100%%, such as 90%%, got %q; --full finds all", share.String())
	}
	for _, other := range []string{"full", "total-budget"} {
		if cmd.Flags().Changed(other) {
			return usagef("--coverage and --%s: each says how much is fetched; leave one of them out", other)
		}
	}
	policy, err := paper.New(p.Policy, p.Config)
	if err != nil {
		return usagef("--policy: %w", err)
	}
	if _, ok := policy.(revisit.Forecaster); !ok {
		return usagef("--coverage wants a policy that says what it expects: --policy best; %s does not", p.Policy)
	}
	p.Coverage = share.share
	return nil
}

// newKinds says which of the new pages are content, where some are not or repeat others.
func newKinds(r *crawl.Result) string {
	if rest := r.NewPages - r.Content + r.Copies; rest > 0 && r.Content > 0 {
		copies := "lists and copies"
		if rest == 1 {
			copies = "list or copy"
		}
		return fmt.Sprintf(": %d content; %d %s,", r.Content, rest, copies)
	}
	return ""
}

// readPrior reads the numbers of the policy best from a file.
func readPrior(path string) (*revisit.Prior, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := revisit.ParseFit(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &f.Prior, nil
}

// serving lists the policies of use outside of the lab.
func serving() string {
	var names []string
	for _, d := range paper.Policies() {
		if !d.Lab {
			names = append(names, d.Name)
		}
	}
	return strings.Join(names, ", ")
}

// revisitJSON is the result of forage revisit.
type revisitJSON struct {
	Cycle       store.Cycle        `json:"cycle"`
	Cycles      []store.Cycle      `json:"cycles"`
	Sites       int                `json:"sites"`
	Refetched   int64              `json:"refetched"`
	NewPages    int64              `json:"new_pages"`
	Content     int64              `json:"new_content"` // of new_pages, those that are there to be read
	Unknown     int64              `json:"unknown_pages"`
	Copies      int64              `json:"copies"` // pages that answered first and repeat others
	Moved       int64              `json:"moved_pages"`
	Waited      int64              `json:"waited"`   // documents fetched within the budget that waited from earlier cycles
	Over        int64              `json:"left_new"` // new documents left for the next cycle by --max-new
	Overhead    any                `json:"overhead"`
	Coverage    any                `json:"coverage"` // estimated, where --coverage asked for it
	Fetched     int64              `json:"fetched"`
	Bytes       int64              `json:"bytes"`
	Requisites  crawl.Requisites   `json:"requisites"`
	Errors      int64              `json:"errors"`
	Failed      []crawl.FailedSite `json:"failed_sites"`
	Interrupted bool               `json:"interrupted"`
	Cut         any                `json:"stopped_by"`
	Seconds     float64            `json:"seconds"`
	plannedJSON
	grownJSON
}

// printRevisit tells of a revisit that was to find a share of what is new; 0: none.
func printRevisit(cmd *cobra.Command, r *crawl.Result, o *plan.Outlook, share float64, asJSON bool) error {
	out, note := cmd.OutOrStdout(), printable.Writer(cmd.ErrOrStderr())
	for _, s := range r.Failed {
		fmt.Fprintf(note, "forage: %s failed: %s\n", s.Site, s.Reason)
	}
	printGrown(note, r)
	overhead, ok := r.Overhead()
	coverage, reached := r.Coverage()
	if reached && coverage < share-.001 && !r.Interrupted && r.Cut == "" { // both sums are in thousandths of a page
		fmt.Fprintf(note, "forage: --budget ended it before %g%% of what is new was expected to be found; a larger one finds more\n", 100*share)
	}
	if asJSON {
		j := revisitJSON{r.Cycle, append([]store.Cycle{}, r.Cycles...), r.Sites, r.Refetched, r.NewPages, r.Content, r.Unknown, r.Copies, r.Moved, r.Waited, r.Over, nil, nil, r.Fetched, r.Bytes, r.Requisites, r.Errors, append([]crawl.FailedSite{}, r.Failed...), r.Interrupted, orNull(r.Cut), r.Seconds, planned(o), grown(r)}
		if ok {
			j.Overhead = overhead
		}
		if reached {
			j.Coverage = coverage
		}
		return printJSON(out, j)
	}
	text := "no overhead to tell"
	if ok {
		text = fmt.Sprintf("overhead %.0f%%", 100*overhead)
	}
	if reached {
		text += fmt.Sprintf(", an estimated %.0f%% of what is new", math.Floor(100*coverage))
	}
	_, err := fmt.Fprintf(out, "%s: %s%s by fetching %s (%s); %d fetched, %s in %s\n", cyclesText(r), plural(r.NewPages, "new page"), newKinds(r), plural(r.Refetched, "old document"), text, r.Fetched, bytesText(r.Bytes), seconds(r.Seconds))
	if err == nil && r.Moved > 0 {
		fmt.Fprintf(note, "forage: %s: 'forage pages --moved-since %d'\n", plural(r.Moved, "page")+" moved to a new URL", r.Cycle)
	}
	if err == nil && r.Over > 0 {
		fmt.Fprintf(note, "forage: %s for the next cycle: --max-new\n", plural(r.Over, "new document")+" left")
	}
	if err == nil && r.Unknown > 0 {
		fmt.Fprintf(note, "forage: %d more pages may be new or old: 'forage pages --new-since %d --include-unknown'\n", r.Unknown, r.Cycle)
	}
	if err == nil && r.Cut != "" && !r.Interrupted {
		fmt.Fprintf(note, "forage: stopped by %s; the same command goes on where it was\n", r.Cut)
	}
	return err
}
