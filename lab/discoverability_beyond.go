package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"forage/revisit"
	"forage/revisit/paper"
)

// beyondBudgets are the budgets of discoverability-beyond, fetches a site and cycle.
var beyondBudgets = []int{1, 3, 10, 30, 100, 300, 1000}

// stopShare is the θ of the row best-stop: stop when a fetch is expected to find less than
// this share of a cycle's new pages.
const stopShare = 0.02

// A variant is one line of discoverability-beyond at every budget.
type variant struct {
	setting, candidates, signals, policy string
}

// discovering returns the policies that are compared: all but those of delay-literature.
func discovering() []revisit.Description {
	return slices.DeleteFunc(paper.Policies(), func(d revisit.Description) bool { return slices.Contains(refreshing, d.Name) })
}

// beyondVariants lists what is compared: in setting A every policy with and without feeds and
// sitemaps; in B, where full recrawls never come, those that can learn without.
func beyondVariants() []variant {
	var out []variant
	for _, candidates := range []string{"html", "all"} {
		out = append(out, variant{"A", candidates, "none", "greedy"})
		for _, d := range discovering() {
			out = append(out, variant{"A", candidates, "none", d.Name})
		}
		out = append(out, variant{"A", candidates, "none", "leader"}, variant{"A", candidates, "none", "best-stop"})
	}
	out = append(out, variant{"A", "all", "none", "best-folds"})
	for _, signals := range []string{"none", "http", "lastmod"} {
		for _, d := range discovering() {
			if signals == "none" || d.Name == "best" {
				out = append(out, variant{"B", "all", signals, d.Name})
			}
		}
	}
	return append(out, variant{"B", "html", "none", "best"}, variant{"B", "all", "none", "best-stop"}, variant{"B", "all", "none", "best-folds"})
}

// policy makes a policy of the lab: those of paper.New, the oracle and best-stop.
func policy(name string, seed uint64) (revisit.Policy, error) {
	switch name {
	case "greedy":
		return &paper.Greedy{}, nil
	case "best-stop":
		return revisit.New("best", revisit.Config{Stop: stopShare})
	}
	return paper.New(name, revisit.Config{Seed: seed})
}

// beyond runs every policy at every budget in both settings.
func beyond(ctx context.Context, env *Env) (*Result, error) {
	variants := beyondVariants()
	files, _, err := env.recrawled()
	if err != nil {
		return nil, err
	}
	tallies := make([][][]tally, len(files)) // by site, variant, budget
	names := make([]string, len(files))
	data, err := eachSite(ctx, env, func(i int, s *site) error {
		names[i] = s.name
		tallies[i] = make([][]tally, len(variants))
		type recrawled struct {
			first []learnt
			weeks []recrawl
		}
		told := map[string]recrawled{}
		for _, candidates := range []string{"html", "all"} {
			first, weeks := s.recrawls(candidates == "all")
			told[candidates] = recrawled{first, weeks}
		}
		for j, v := range variants {
			r := told[v.candidates]
			if v.policy == "leader" {
				for b := range beyondBudgets {
					var followed [][]weekly
					for x, o := range variants[:j] {
						if o.candidates == v.candidates && slices.ContainsFunc(discovering(), func(d revisit.Description) bool { return d.Name == o.policy }) {
							followed = append(followed, tallies[i][x][b].weekly)
						}
					}
					tallies[i][j] = append(tallies[i][j], leader(followed))
				}
				continue
			}
			for _, k := range beyondBudgets {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				p, err := policyAt(v.policy, s.name, env.Seed)
				if err != nil {
					return err
				}
				if v.setting == "A" {
					tallies[i][j] = append(tallies[i][j], s.periodic(p, k, r.first, r.weeks))
				} else {
					tallies[i][j] = append(tallies[i][j], s.budgeted(p, v.candidates == "all", v.signals).run(k, s.truth(r.weeks)))
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"setting", "candidates", "signals", "policy", "k", "depth", "overhead", "overhead_mean",
		"coverage", "coverage_site_mean", "coverage_4", "coverage_4_site_mean", "delay_days", "bytes"}}
	var lines [2]Panel
	for j, v := range variants {
		var xs, ys []float64
		for b, k := range beyondBudgets {
			var all []tally
			for i := range tallies {
				all = append(all, tallies[i][j][b])
			}
			m := mean(all)
			xs, ys = append(xs, float64(k)), append(ys, m.siteMean)
			cells := []any{v.setting, v.candidates, v.signals, v.policy, k, m.depth, m.overhead, m.overheadMean, m.coverage, m.siteMean}
			if v.setting == "A" {
				r.Add(append(cells, nil, nil, nil, nil)...)
			} else {
				r.Add(append(cells, m.coverage4, m.siteMean4, m.delay, m.bytes)...)
			}
		}
		if v.candidates == "all" && v.signals == "none" {
			panel := &lines[v.setting[0]-'A']
			panel.Series = append(panel.Series, Series{Name: v.policy, X: xs, Y: ys})
		}
	}
	for i, title := range []string{"A: told a full recrawl each cycle", "B: own fetches only"} {
		lines[i].Title, lines[i].X, lines[i].Y, lines[i].LogX = title, "budget k, fetches a site and cycle", "coverage, site mean", true
	}
	r.Figure = &Figure{Panels: lines[:]}
	r.Notef("Fetches of feeds and sitemaps count as those of pages; candidates html leaves them out. Orphans are left out of every denominator, " +
		"and the first week with new pages at a site, which is the first history.")
	recrawlsNote(r)
	r.Notef("%s", data.differ())
	fitNote(r, names, revisit.PriorSites())
	r.Notef("bytes is a model: 2,000 bytes and 80 a link for a fetch, 300 for a 304; the histories hold no texts.")
	r.Notef("signals lastmod is an idealisation: whenever a sitemap is fetched, at the cost of any fetch, it tells of every document that it lists when it changed, and is right. " +
		"Real ones are believed only when fetches have borne them out; these rows count for no threshold.")
	r.Notef("leader follows the leader: each week is that of the policy, of all but the oracle, that found most at the site so far.")
	bootstrap(r, env.Seed, variants, tallies)
	return r, nil
}

// averages over sites of a row.
type averages struct {
	depth, overhead, overheadMean, coverage, siteMean float64
	cut                                               float64 // share of scored weeks that used up the budget; setting A only
	coverage4, siteMean4, delay, bytes                float64
}

// mean averages tallies of one policy and budget. NaN stands where there is nothing to divide.
func mean(all []tally) averages {
	var sum tally
	var m averages
	sites, sites4 := 0, 0
	for _, a := range all {
		sum.fetches, sum.found, sum.there, sum.weeks = sum.fetches+a.fetches, sum.found+a.found, sum.there+a.there, sum.weeks+a.weeks
		sum.ratio, sum.ratios = sum.ratio+a.ratio, sum.ratios+a.ratios
		sum.found4, sum.there4 = sum.found4+a.found4, sum.there4+a.there4
		sum.delay, sum.delayed, sum.bytes = sum.delay+a.delay, sum.delayed+a.delayed, sum.bytes+a.bytes
		sum.cycles += a.cycles
		sum.cut += a.cut
		if a.there > 0 {
			m.siteMean += a.coverage()
			sites++
		}
		if a.there4 > 0 {
			m.siteMean4 += float64(a.found4) / float64(a.there4)
			sites4++
		}
	}
	div := func(a, b float64) float64 {
		if b == 0 {
			return math.NaN()
		}
		return a / b
	}
	m.siteMean, m.siteMean4 = div(m.siteMean, float64(sites)), div(m.siteMean4, float64(sites4))
	m.depth = div(float64(sum.fetches), float64(sum.cycles))
	m.overhead, m.overheadMean = div(float64(sum.fetches), float64(sum.found)), div(sum.ratio, float64(sum.ratios))
	m.cut = div(float64(sum.cut), float64(sum.weeks))
	m.coverage, m.coverage4 = div(float64(sum.found), float64(sum.there)), div(float64(sum.found4), float64(sum.there4))
	m.delay, m.bytes = div(sum.delay, float64(sum.delayed))/(24*60*60), sum.bytes
	return m
}

func (a *tally) coverage() float64 { return float64(a.found) / float64(a.there) }

// bootstrap compares best with what it must beat in setting B, by paired bootstrap over sites, with
// numbers that were fitted without the site: the sites are drawn anew 10,000 times, and the interval
// holds 90% of the mean differences.
func bootstrap(r *Result, seed uint64, variants []variant, tallies [][][]tally) {
	row := func(policy string) int {
		return slices.Index(variants, variant{"B", "all", "none", policy})
	}
	for _, k := range []int{10, 30} {
		b := slices.Index(beyondBudgets, k)
		for _, other := range []string{"round-robin", "uniform", "od-win-audit", "feeds-first", "bandit", "bandit-greedy"} {
			var diffs []float64
			for i := range tallies {
				if x, y := tallies[i][row("best-folds")][b], tallies[i][row(other)][b]; x.there > 0 {
					diffs = append(diffs, 100*(x.coverage()-y.coverage()))
				}
			}
			if len(diffs) == 0 {
				continue
			}
			low, high := interval(diffs, rand.New(rand.NewPCG(seed, uint64(k))))
			avg := 0.0
			for _, d := range diffs {
				avg += d / float64(len(diffs))
			}
			r.Notef("%s", apart(k, other, avg, low, high))
		}
	}
}

// apart words by how much best-folds and another policy differ: the mean and its interval.
func apart(k int, other string, mean, low, high float64) string {
	by := "more"
	if mean < 0 {
		by, mean, low, high = "fewer", -mean, -high, -low
	}
	text := fmt.Sprintf("Setting B, k = %d: best-folds finds %.1f percentage points %s than %s (site mean; 90%% interval %.1f to %.1f)", k, mean, by, other, low, high)
	if low <= 0 {
		text += ": no difference that could not be chance"
	}
	return text + "."
}

// recrawlsNote stands what free recrawls bring in the table beside what they do in the paper's Table 2.
func recrawlsNote(r *Result) {
	at := map[int]float64{}
	most := 0
	for _, row := range r.Rows {
		if row[0] == "A" && row[1] == "html" && row[3] == "od-all" {
			k := row[4].(int)
			at[k], most = 100*row[8].(float64), max(most, k)
		}
	}
	if most > 0 {
		r.Notef("Full recrawls are free in the paper's Table 2: OD-ALL reaches 24%% at k = 10 there and 74%% at k = 10,000. Here od-all reaches %.1f%% in setting A at k = 10 and %.1f%% at k = %d, pages alone.",
			at[10], at[most], most)
	}
}

// interval returns the 5% and 95% points of the mean of draws from xs with replacement.
func interval(xs []float64, r *rand.Rand) (low, high float64) {
	means := make([]float64, 10000)
	for i := range means {
		for range xs {
			means[i] += xs[r.IntN(len(xs))]
		}
		means[i] /= float64(len(xs))
	}
	slices.Sort(means)
	return means[len(means)/20], means[len(means)-1-len(means)/20]
}
