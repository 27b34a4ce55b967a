package lab

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"forage/revisit"
	"forage/snap"
)

// delayWhens are the fetches of old documents a day of delay-when.
var delayWhens = []int{1, 3, 10, 24}

// rhythmSites are those at which the numbers of revisit.Rhythm were chosen: of the others the figures are honest.
var rhythmSites = strings.Fields(`
	1000ch 2i2c aakinshin accumulo adron ariapractices camis comdev crysol dladblog drill frictionless hugegraph
	javaswag julialang kowainik kudu lwg mynewt plc4x rustblog servo solr strobofm wcag wulc`)

// delayWhen compares fetches that come evenly over the day with those that come by revisit.Rhythm, which learns from
// what the run itself finds. Looks are on the hour: in each as many fetches as have come together.
func delayWhen(ctx context.Context, env *Env) (*Result, error) {
	files, err := env.Files(".snap.gz")
	if err != nil {
		return nil, err
	}
	runs := make([][][2]delayed, len(files)) // site, budget, evenly or by rhythm
	names := make([]string, len(files))
	left, err := eachDated(ctx, env, files, func(i int, h *snap.History, p *publications) error {
		names[i] = h.Site
		s := p.siteAt(h, p.cycles(hour))
		for _, perDay := range delayWhens {
			var row [2]delayed
			for j := range row {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				policy, err := policyAt("best-folds", h.Site, env.Seed)
				if err != nil {
					return err
				}
				b := s.delayedRun(policy)
				b.allotByCredit(float64(perDay), j == 1)
				row[j] = p.delays(b, 0)
			}
			runs[i] = append(runs[i], row)
		}
		if env.Progress != nil {
			fmt.Fprintf(env.Progress, "%s: %d publications\n", h.Site, len(p.size))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"fetches_a_day", "when", "sites", "page_6h", "page_1d", "page_7d", "publication_6h", "publication_1d", "publication_7d", "median_hours", "p90_hours", "fetches"}}
	var sites []string
	for i := range runs {
		if runs[i] != nil {
			sites = append(sites, names[i])
		}
	}
	r.Figure = &Figure{}
	for k, perDay := range delayWhens {
		panel := Panel{Title: fmt.Sprintf("%d old documents a day", perDay), X: "hours since publication", Y: "share found, site mean", LogX: true}
		var both [2][]delayed
		for j, when := range []string{"evenly", "rhythm"} {
			fetches := 0
			var soon [2]float64
			for i := range runs {
				if runs[i] != nil {
					d := &runs[i][k][j]
					both[j] = append(both[j], *d)
					byPage, byPublication := d.within(6)
					soon[0], soon[1] = soon[0]+byPage/float64(len(sites)), soon[1]+byPublication/float64(len(sites))
					fetches += d.old
				}
			}
			m := meanDelay(both[j])
			r.Add(perDay, when, len(sites), soon[0], m.page[0], m.page[1], soon[1], m.publication[0], m.publication[1], m.median, m.p90, fetches)
			panel.Series = append(panel.Series, foundByHours(when, both[j]))
		}
		waitNotes(r, perDay, sites, both)
		r.Figure.Panels = append(r.Figure.Panels, panel)
	}
	r.Notef("%d sites; %d more have too few publications or too many documents.", len(sites), left)
	fitNote(r, sites, revisit.PriorSites())
	return r, nil
}

// waitNotes compares how long pages wait where fetches come by the rhythm of the site and where they come evenly, at the sites at which the numbers
// of revisit.Rhythm were chosen and at others.
func waitNotes(r *Result, perDay int, sites []string, both [2][]delayed) {
	for _, part := range []struct {
		of    string
		among bool
	}{{"other sites than those at which the numbers of revisit.Rhythm were chosen", false}, {"the sites at which they were", true}} {
		var a, b []delayed
		for i, site := range sites {
			if slices.Contains(rhythmSites, site) == part.among {
				a, b = append(a, both[0][i]), append(b, both[1][i])
			}
		}
		if len(a) > 0 {
			ratio, sooner := waits(a, b)
			r.Notef("%d a day, %d %s: a page waits %.3f times as long by rhythm as evenly, geometric mean over sites of the mean over pages, at most %d days each; less at %d.",
				perDay, len(a), part.of, ratio, mostWait/24, sooner)
		}
	}
}

// mostWait is how many hours a page counts at most that is not found, or late.
const mostWait = 28 * 24

// waits compares how long pages wait in two runs of the same sites: the geometric mean of the ratios, and at how many sites
// they wait less in the second.
func waits(a, b []delayed) (ratio float64, less int) {
	mean := func(d *delayed) (sum float64) {
		for _, h := range d.hours {
			sum += min(h, mostWait) / float64(len(d.hours))
		}
		return sum
	}
	for i := range a {
		x, y := mean(&a[i]), mean(&b[i])
		ratio += math.Log(y/x) / float64(len(a))
		if y < x {
			less++
		}
	}
	return math.Exp(ratio), less
}

// allotByCredit has the fetches of a day come together evenly, or by what the run learns of the rhythm of the site, and
// spends them as soon as there is one.
func (b *budgeted) allotByCredit(perDay float64, byRhythm bool) {
	var rhythm revisit.Rhythm
	credit, pages := 0., 0 // pages: found up to the look before the latest, which began like those at times given
	at := revisit.Time(b.s.weeks[0].time)
	before, looked := at, at
	b.allot = func(t int) int {
		if byRhythm && looked > before && b.found > pages {
			rhythm.Saw(before, looked)
		}
		before, pages = looked, b.found
		now := revisit.Time(b.s.weeks[t].time)
		credit += perDay * rhythm.Between(at, now)
		at = now
		k := int(credit + 1e-9)
		if k > 0 {
			looked = now
		}
		credit -= float64(k)
		return k
	}
}
