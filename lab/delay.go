package lab

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"forage/revisit"
	"forage/snap"
)

// A delayPlan is how often a cycle begins and how many old documents it may fetch.
type delayPlan struct{ hours, budget int }

func (p delayPlan) String() string { return fmt.Sprintf("%dh:%d", p.hours, p.budget) }

// delayPlans are a daily budget of 1, 3 and 10, the second cut into three and the first saved for a
// week, and 30 a week.
var delayPlans = []delayPlan{{24, 1}, {24, 3}, {24, 10}, {8, 1}, {168, 7}, {168, 30}}

// delayPolicies are the lines of the tables: what is simple, what others do, what forage has, and
// the oracle.
var delayPolicies = []string{"round-robin", "nutch", "storm", "lists", "history", "index", "od-win", "best", "best-folds", "oracle"}

// The sites that count: those with fewer publications tell of chance, and those with more
// documents are for other budgets.
const (
	leastPublications = 7
	mostDocuments     = 4500
)

// The hours since publication within which the tables count what is found.
var delayHours = [3]float64{24, 7 * 24, 28 * 24}

var delays = []Experiment{
	{"delay", "how soon new pages are found, in hours since their publication", delay},
	{"delay-literature", "the same, of what the literature on refreshing pages proposes", delayLiterature},
	{"delay-when", "new pages found soon after publication, where fetches come evenly and by the rhythm of the site", delayWhen},
	{"delay-budget", "new pages found within a day of publication, by fetches a day", delayBudget},
}

// A delayTable has what all policies come to by all plans: by plan, policy, site.
type delayTable struct {
	plans    []delayPlan
	policies []string
	sites    []string
	runs     [][][]delayed
	left     int // sites that do not count
}

// of returns the runs of a policy by a plan; nil: there are none.
func (t *delayTable) of(plan delayPlan, policy string) []delayed {
	i, j := slices.Index(t.plans, plan), slices.Index(t.policies, policy)
	if i < 0 || j < 0 {
		return nil
	}
	return t.runs[i][j]
}

// eachDated reads these files and calls do with the number of each that is the history of a site
// that counts, and what it published, on all processors. It returns how many more histories of
// commits there are.
func eachDated(ctx context.Context, env *Env, files []string, do func(i int, h *snap.History, p *publications) error) (left int, err error) {
	dated, counts := make([]bool, len(files)), make([]bool, len(files))
	if err := each(ctx, len(files), func(i int) error {
		h, err := snap.Open(files[i])
		if err != nil {
			return err
		}
		if dated[i] = h.Dated && len(h.Snapshots) > 0; !dated[i] {
			return nil
		}
		p := findPublications(h)
		if len(p.size) < leastPublications || p.start+p.pages > mostDocuments {
			return nil
		}
		counts[i] = true
		return do(i, h, p)
	}); err != nil {
		return 0, err
	}
	for i := range files {
		if dated[i] && !counts[i] {
			left++
		}
	}
	if !slices.Contains(dated, true) {
		return 0, &DataError{fmt.Sprintf("%s holds no history of commits (SNAP3), only of recrawls; --data names the folder to search", env.Data)}
	}
	if !slices.Contains(counts, true) {
		return 0, &DataError{fmt.Sprintf("no site below %s has %d publications and at most %d documents", env.Data, leastPublications, mostDocuments)}
	}
	return left, nil
}

// runDelays runs policies by plans at all sites below the folder of env that count.
func runDelays(ctx context.Context, env *Env, plans []delayPlan, policies []string) (*delayTable, error) {
	files, err := env.Files(".snap.gz")
	if err != nil {
		return nil, err
	}
	bySite := make([][][]delayed, len(files)) // site, plan, policy
	names := make([]string, len(files))
	t := &delayTable{plans: plans, policies: policies, runs: make([][][]delayed, len(plans))}
	t.left, err = eachDated(ctx, env, files, func(i int, h *snap.History, p *publications) error {
		names[i] = h.Site
		for _, plan := range plans {
			times := p.cycles(int64(plan.hours) * hour)
			s := p.siteAt(h, times)
			var row []delayed
			for _, name := range policies {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if name == "oracle" {
					row = append(row, p.oracle(h, times, plan.budget))
					continue
				}
				policy, err := policyAt(name, h.Site, env.Seed)
				if err != nil {
					return err
				}
				row = append(row, p.delays(s.delayedRun(policy), plan.budget))
			}
			bySite[i] = append(bySite[i], row)
		}
		if env.Progress != nil {
			fmt.Fprintf(env.Progress, "%s: %d publications\n", h.Site, len(p.size))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range plans {
		t.runs[i] = make([][]delayed, len(policies))
	}
	for i, site := range bySite {
		if site != nil {
			t.sites = append(t.sites, names[i])
		}
		for j, row := range site {
			for k, d := range row {
				t.runs[j][k] = append(t.runs[j][k], d)
			}
		}
	}
	return t, nil
}

// A delayMean is the mean over sites of a policy by a plan.
type delayMean struct {
	page, publication [3]float64 // shares found within delayHours
	median, p90       float64    // hours, over pages, each site with the same weight; +Inf: never
	perNew            float64    // fetches of old documents per new page found, over all sites; NaN: none was found
	pages, events     int        // of all sites
}

func meanDelay(runs []delayed) delayMean {
	var m delayMean
	type weighed struct{ hours, weight float64 }
	var all []weighed
	n, old, found := float64(len(runs)), 0, 0
	for i := range runs {
		d := &runs[i]
		for j, hours := range delayHours {
			byPage, byPublication := d.within(hours)
			m.page[j] += byPage / n
			m.publication[j] += byPublication / n
		}
		for _, h := range d.hours {
			all = append(all, weighed{h, 1 / n / float64(len(d.hours))})
		}
		old, found = old+d.old, found+d.found
		m.pages, m.events = m.pages+len(d.hours), m.events+d.events
	}
	slices.SortFunc(all, func(a, b weighed) int { return cmp.Compare(a.hours, b.hours) })
	quantile := func(q float64) float64 {
		sum := 0.0
		for _, x := range all {
			if sum += x.weight; sum >= q-1e-9 {
				return x.hours
			}
		}
		return math.Inf(1)
	}
	m.median, m.p90 = quantile(.5), quantile(.9)
	m.perNew = math.NaN()
	if found > 0 {
		m.perNew = float64(old) / float64(found)
	}
	return m
}

// delay is the table of how soon policies find new pages, by plan.
func delay(ctx context.Context, env *Env) (*Result, error) { return delaysOf(ctx, env, delayPolicies) }

func delaysOf(ctx context.Context, env *Env, policies []string) (*Result, error) {
	t, err := runDelays(ctx, env, delayPlans, policies)
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"plan", "policy", "sites", "new_pages", "publications", "page_1d", "page_7d", "page_28d",
		"publication_1d", "publication_7d", "publication_28d", "median_hours", "p90_hours", "fetches_per_new"}}
	r.Figure = &Figure{}
	for _, plan := range t.plans {
		panel := Panel{Title: fmt.Sprintf("%d old documents every %d hours", plan.budget, plan.hours), X: "hours since publication", Y: "share found, site mean", LogX: true}
		for _, policy := range t.policies {
			runs := t.of(plan, policy)
			m := meanDelay(runs)
			r.Add(plan.String(), policy, len(runs), m.pages, m.events, m.page[0], m.page[1], m.page[2],
				m.publication[0], m.publication[1], m.publication[2], m.median, m.p90, m.perNew)
			panel.Series = append(panel.Series, foundByHours(policy, runs))
		}
		r.Figure.Panels = append(r.Figure.Panels, panel)
	}
	delayNotes(r, t)
	return r, nil
}

// foundByHours is the line of a policy: the mean over sites of the share of pages found within
// some hours.
func foundByHours(policy string, runs []delayed) Series {
	s := Series{Name: policy}
	for _, hours := range []float64{1, 2, 4, 6, 8, 12, 18, 24, 36, 48, 72, 96, 120, 168, 240, 336, 504, 672} {
		share := 0.0
		for i := range runs {
			byPage, _ := runs[i].within(hours)
			share += byPage / float64(len(runs))
		}
		s.X, s.Y = append(s.X, hours), append(s.Y, share)
	}
	return s
}

// delayNotes says what the table shows of best, with numbers that were fitted without the site.
func delayNotes(r *Result, t *delayTable) {
	r.Notef("%d sites; %d more have fewer than %d publications in the %d weeks in which they publish most often, or more than %d documents. "+
		"Cycles go on for %d days after these weeks. Shares are means over sites, by page and by publication: each commit that publishes counts once, however many pages.",
		len(t.runs[0][0]), t.left, leastPublications, delayWeeks, mostDocuments, delayTail)
	fitNote(r, t.sites, revisit.PriorSites())
	for _, plan := range t.plans {
		best, lists := t.of(plan, "best-folds"), t.of(plan, "lists")
		if best == nil || lists == nil {
			continue
		}
		b, l := meanDelay(best), meanDelay(lists)
		r.Notef("%s: best-folds less lists, within 1, 7 and 28 days: %s percentage points of pages, %s by publication. Within 28 days best-folds is worse by more than "+
			"5 points and more than two pages at %d of %d sites.", plan, differences(b.page, l.page), differences(b.publication, l.publication), worse(best, lists), len(best))
	}
	for _, cut := range []struct {
		small, large delayPlan
		from         int // of delayHours: a plan of weeks cannot find within a day
	}{{delayPlan{8, 1}, delayPlan{24, 3}, 0}, {delayPlan{168, 7}, delayPlan{24, 1}, 2}} {
		a, b := t.of(cut.small, "best-folds"), t.of(cut.large, "best-folds")
		if a == nil || b == nil {
			continue
		}
		held, x, y := true, meanDelay(a), meanDelay(b)
		for i := cut.from; i < len(delayHours); i++ {
			held = held && x.page[i] >= y.page[i]-.01
		}
		verdict := "at least as much but for a point"
		if !held {
			verdict = "less"
		}
		r.Notef("The same budget cut otherwise: best-folds by %s finds %s than by %s within %s.", cut.small, verdict, cut.large,
			map[int]string{0: "1, 7 and 28 days", 2: "28 days"}[cut.from])
	}
}

// differences writes the differences of shares in percentage points.
func differences(a, b [3]float64) string {
	return fmt.Sprintf("%+.1f, %+.1f and %+.1f", 100*(a[0]-b[0]), 100*(a[1]-b[1]), 100*(a[2]-b[2]))
}

// worse counts the sites at which a finds less than b within 28 days, by more than 5 points and
// more than two pages.
func worse(a, b []delayed) int {
	sites := 0
	for i := range a {
		x, _ := a[i].within(delayHours[2])
		y, _ := b[i].within(delayHours[2])
		if y-x > .05 && (y-x)*float64(len(a[i].hours)) > 2+1e-9 {
			sites++
		}
	}
	return sites
}
