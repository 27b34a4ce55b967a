package lab

import (
	"context"
	"fmt"
	"slices"

	"forage/graph"
	"forage/revisit"
	"forage/revisit/paper"
)

// The experiments of [DGKOPT07], over every history (*.snap.gz) below the data folder.
var discoverability = []Experiment{
	{"discoverability-data", "share of new pages that an old page links to, and orphans", discoverabilityData},
	{"discoverability-fig2", "greedy covers: pages fetched and pages covered", fig2},
	{"discoverability-fig3", "greedy covers by budget, and covers of 90%", fig3},
	{"discoverability-fig4", "sizes of covers of 90%", fig4},
	{"discoverability-fig5", "overlap of what old pages cover", fig5},
	{"discoverability-fig6", "one greedy cover of all sites", fig6},
	{"discoverability-table1", "new pages on new sites and on old ones, of a store or a generated web", table1},
	{"discoverability-fig7", "old pages fetched to find new sites, of a store or a generated web", fig7},
	{"discoverability-upper-bounds", "what pages that ever led to a new page can find", upperBounds},
	{"discoverability-table2", "the paper's policies by budget", table2},
	{"discoverability-alpha", "OD-WIN by the decay α of what past recrawls showed", alphas},
	{"discoverability-bandits", "multi-armed bandits without recrawls, beside OD-WIN with them", bandits},
	{"discoverability-fig8", "coverage by average cover size, recrawls every week", fig8},
	{"discoverability-fig9", "coverage by average cover size, recrawls every fourth week", fig9},
	{"discoverability-beyond", "every revisit policy at every budget, told full recrawls or not", beyond},
	{"discoverability-partial", "cycles that stop at a coverage: what they fetch and what they reach", partial},
}

// A cover is the greedy cover of one site's new pages in one week.
type cover struct {
	site string
	week int
	gain []int // new pages that each choice adds
	h    *revisit.CoverGraph
}

// within returns how many choices cover the share rho of all that can be covered.
func (c *cover) within(rho float64) (size, covered int) {
	want := rho * float64(c.h.NumNew())
	for _, g := range c.gain {
		if float64(covered) >= want {
			break
		}
		size, covered = size+1, covered+g
	}
	return size, covered
}

// covers computes the greedy cover of every site and week with new pages, from HTML pages.
func covers(ctx context.Context, env *Env) ([]cover, *histories, error) {
	files, _, err := env.recrawled()
	if err != nil {
		return nil, nil, err
	}
	bySite := make([][]cover, len(files))
	data, err := eachSite(ctx, env, func(i int, s *site) error {
		_, weeks := s.recrawls(false)
		for _, r := range weeks {
			if r.h.NumNew() == 0 {
				continue
			}
			_, gain := paper.Cover(r.h, -1, 1)
			bySite[i] = append(bySite[i], cover{s.name, r.t, gain, r.h})
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	all := slices.Concat(bySite...)
	if len(all) == 0 {
		return nil, nil, &DataError{fmt.Sprintf("no old page of the %d sites below %s leads to a new one", data.sites, env.Data)}
	}
	return all, data, nil
}

// discoverabilityData counts what [DGKOPT07, §3] says of its data.
func discoverabilityData(ctx context.Context, env *Env) (*Result, error) {
	files, _, err := env.recrawled()
	if err != nil {
		return nil, err
	}
	type row struct {
		name                                 string
		weeks, first, fresh, direct, orphans int
		kept, lists                          bool
	}
	rows := make([]row, len(files))
	data, err := eachSite(ctx, env, func(i int, s *site) error {
		r := row{name: s.name, weeks: len(s.weeks), first: s.weeks[0].count, kept: true, lists: s.hasLists()}
		_, weeks := s.recrawls(false)
		for _, w := range s.weeks {
			r.kept = r.kept && w.count >= 100 && w.count <= 200_000
		}
		direct := make([]bool, len(s.urls))
		for _, w := range weeks {
			week := &s.weeks[w.t]
			r.fresh += len(week.fresh)
			r.orphans += len(week.fresh) - w.h.NumNew()
			for v := range s.pages {
				if s.old(graph.Node(v), w.t) {
					for _, u := range week.links[v] {
						direct[u] = direct[u] || int(u) < s.pages && int(s.reached[u]) == w.t
					}
				}
			}
		}
		for _, d := range direct {
			if d {
				r.direct++
			}
		}
		rows[i] = r
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &Result{Columns: []string{"site", "snapshots", "pages_first", "new_pages", "directly_linked", "orphans"}}
	var all row
	data = &histories{dated: data.dated}
	for _, r := range rows {
		if env.PaperFilter && !r.kept {
			continue
		}
		data.add(r.weeks, r.first, r.lists)
		share := func(x int) any {
			if r.fresh == 0 {
				return nil
			}
			return float64(x) / float64(r.fresh)
		}
		out.Add(r.name, r.weeks, r.first, r.fresh, share(r.direct), share(r.orphans))
		all.first, all.fresh, all.direct, all.orphans = all.first+r.first, all.fresh+r.fresh, all.direct+r.direct, all.orphans+r.orphans
	}
	if all.fresh == 0 {
		return nil, &DataError{fmt.Sprintf("no site below %s is left with new pages", env.Data)}
	}
	n := float64(all.fresh)
	out.Add("all", nil, all.first, all.fresh, float64(all.direct)/n, float64(all.orphans)/n)
	dataNote(out, data.sites, all.first, all.fresh, all.direct, all.orphans)
	if !env.PaperFilter {
		out.Notef("--paper-filter keeps sites with 100 to 200,000 pages in every snapshot, as the paper did.")
	}
	out.Notef("%s", data.differ())
	return out, nil
}

// dataNote stands the sums over sites beside the paper's.
func dataNote(r *Result, sites, first, fresh, direct, orphans int) {
	n := float64(fresh)
	few := "below 5%% as there"
	if float64(orphans) >= .05*n {
		few = "more than there"
	}
	r.Notef("The paper: 42 sites, 640,489 pages at first, 223,435 new ones, about 40%% directly linked to by an old page, orphans below 5%%. "+
		"Here: %d sites, %d pages at first, %d new ones, %.1f%% directly linked to by an old page, %.1f%% orphans, "+few+".", sites, first, fresh, 100*float64(direct)/n, 100*float64(orphans)/n)
}

// fig2 gives every partial cover of every site and week [DGKOPT07, Fig. 2].
func fig2(ctx context.Context, env *Env) (*Result, error) {
	all, data, err := covers(ctx, env)
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"site", "week", "cover", "covered"}}
	large := Panel{Title: "all", X: "cover size", Y: "new pages covered"}
	small := Panel{Title: "covers up to 100", X: large.X, Y: large.Y}
	knee, late := 0, 0
	for _, c := range all {
		s := Series{Name: c.site, Points: true}
		covered := 0
		for i, g := range c.gain {
			covered += g
			r.Add(c.site, c.week, i+1, covered)
			s.X, s.Y = append(s.X, float64(i+1)), append(s.Y, float64(covered))
		}
		at := slices.IndexFunc(large.Series, func(x Series) bool { return x.Name == s.Name })
		for _, p := range []*Panel{&large, &small} {
			part := s
			if p == &small && len(s.X) > 100 {
				continue
			}
			if at >= 0 && at < len(p.Series) && p.Series[at].Name == s.Name {
				p.Series[at].X, p.Series[at].Y = append(p.Series[at].X, part.X...), append(p.Series[at].Y, part.Y...)
			} else {
				p.Series = append(p.Series, Series{Name: s.Name, Points: true, X: slices.Clone(part.X), Y: slices.Clone(part.Y)})
			}
		}
		size, _ := c.within(.9)
		knee += size
		late += len(c.gain) - size
	}
	r.Figure = &Figure{Panels: []Panel{large, small}}
	returnsNote(r, knee, late)
	r.Notef("%s", data.differ())
	return r, nil
}

// returnsNote says how many of all fetches the covers need for the last tenth of what they cover.
func returnsNote(r *Result, knee, late int) {
	share := 100 * float64(late) / float64(max(1, knee+late))
	so := "so that they diminish here too"
	if share <= 10 {
		so = "so that they do not diminish here"
	}
	r.Notef("The paper: returns diminish; most covers reach 90%% at once and must work much harder for the rest. Here the last 10%% of new pages take %.0f%% of all fetches (%d of %d), %s.", share, late, knee+late, so)
}

// byBudget returns, for covers cut at k, their fetches and the pages covered.
func byBudget(all []cover, k int) (fetches, covered int) {
	for _, c := range all {
		for i, g := range c.gain {
			if i < k {
				fetches, covered = fetches+1, covered+g
			}
		}
	}
	return fetches, covered
}

// fig3 aggregates covers by budget, and those of 90% [DGKOPT07, Fig. 3].
func fig3(ctx context.Context, env *Env) (*Result, error) {
	all, data, err := covers(ctx, env)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, c := range all {
		total += c.h.NumNew()
	}
	r := &Result{Columns: []string{"panel", "k", "cover", "covered", "overhead", "share"}}
	pages := Series{Name: "new pages a cover"}
	overhead := Series{Name: "overhead, %"}
	share := Series{Name: "share of new pages"}
	var last float64
	for _, k := range []int{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 83, 100, 150, 200, 300, 400, 500, 600} {
		f, c := byBudget(all, k)
		n := float64(len(all))
		r.Add("ab", k, float64(f)/n, float64(c)/n, float64(f)/float64(c), float64(c)/float64(total))
		pages.X, pages.Y = append(pages.X, float64(k)), append(pages.Y, float64(c)/n)
		overhead.X, overhead.Y = append(overhead.X, float64(k)), append(overhead.Y, 100*float64(f)/float64(c))
		share.X, share.Y = append(share.X, float64(k)), append(share.Y, float64(c)/float64(total))
		last = float64(f) / float64(c)
	}
	k90 := 1
	for ; k90 < 10000; k90++ {
		if _, c := byBudget(all, k90); float64(c) >= .9*float64(total) {
			break
		}
	}
	points := Series{Name: "site and week", Points: true}
	for _, c := range all {
		size, covered := c.within(.9)
		r.Add("c", nil, size, covered, float64(size)/float64(covered), float64(covered)/float64(c.h.NumNew()))
		points.X, points.Y = append(points.X, float64(size)), append(points.Y, float64(covered))
	}
	r.Figure = &Figure{Panels: []Panel{
		{Title: "(a) pages covered and overhead", X: "largest cover k", Y: "pages; %", Series: []Series{pages, overhead}},
		{Title: "(b) share of new pages", X: "largest cover k", Y: "share", Series: []Series{share}},
		{Title: "(c) covers of 90%", X: "cover size", Y: "new pages covered", LogX: true, LogY: true, Series: []Series{points}},
	}}
	_, c200 := byBudget(all, 200)
	budgetNote(r, float64(total)/float64(len(all)), last, float64(c200)/float64(total), k90)
	r.Notef("%s", data.differ())
	return r, nil
}

// budgetNote stands what covers have and cost beside the paper's.
func budgetNote(r *Result, pages, overhead, at200 float64, k90 int) {
	r.Notef("The paper: about %d new pages a cover and 9%% overhead for full covers; k = 200 covers 97.3%% of new pages, 90%% are covered at k = 83. "+
		"Here: %.3g new pages a cover and %.1f%% overhead (Σ fetches / Σ new pages) at k = 600; k = 200 covers %.1f%%, 90%% are covered at k = %d.",
		paperCover, pages, 100*overhead, 100*at200, k90)
}

// fig4 counts covers of 90% by size [DGKOPT07, Fig. 4].
func fig4(ctx context.Context, env *Env) (*Result, error) {
	all, data, err := covers(ctx, env)
	if err != nil {
		return nil, err
	}
	bounds := []int{1, 2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1000, 1 << 30}
	counts := make([]int, len(bounds))
	largest, small := 0, 0
	for _, c := range all {
		size, _ := c.within(.9)
		largest = max(largest, size)
		if size <= 5 {
			small++
		}
		at, _ := slices.BinarySearch(bounds, size)
		counts[at]++
	}
	r := &Result{Columns: []string{"from", "to", "covers"}}
	bars := Series{Name: "site-weeks"}
	var labels []string
	from := 1
	for i, to := range bounds {
		label := fmt.Sprint(from)
		switch {
		case i == len(bounds)-1:
			r.Add(from, nil, counts[i])
			label += " and more"
		default:
			r.Add(from, to, counts[i])
			if from < to {
				label += fmt.Sprintf("–%d", to)
			}
		}
		labels = append(labels, label)
		bars.X, bars.Y = append(bars.X, float64(i)), append(bars.Y, float64(counts[i]))
		from = to + 1
	}
	r.Figure = &Figure{Panels: []Panel{{Title: "covers of 90%", X: "size of the cover", Y: "site-weeks", Labels: labels, Series: []Series{bars}}}}
	sizesNote(r, small, len(all), largest)
	r.Notef("%s", data.differ())
	return r, nil
}

// sizesNote says how many covers of 90% are of five pages or fewer, and how large the largest is.
func sizesNote(r *Result, small, all, largest int) {
	most := "for most, as there"
	if 2*small <= all {
		most = "not for most"
	}
	need := "none needs more than a hundred"
	switch {
	case largest > 1000:
		need = "some need more than a thousand"
	case largest > 100:
		need = "some need more than a hundred and none more than a thousand, as there"
	}
	r.Notef("The paper: five or fewer pages suffice for most sites, some need more than a hundred, none more than a thousand. Here five or fewer suffice for %.1f%% of %d site-weeks, %s; %s: the largest cover of 90%% has %d pages.",
		100*float64(small)/float64(all), all, most, need, largest)
}

// fig5 is the distribution of Jaccard coefficients over pairs of old pages that both cover
// something [DGKOPT07, Fig. 5].
func fig5(ctx context.Context, env *Env) (*Result, error) {
	all, data, err := covers(ctx, env)
	if err != nil {
		return nil, err
	}
	const bins = 20
	counts := make([]float64, bins+1) // the last: exactly 1
	pairs := 0.0
	for _, c := range all {
		h := c.h
		columns := make([]map[int32]bool, len(h.Old))
		for g, cols := range h.Cols {
			columns[g] = make(map[int32]bool, len(cols))
			for _, col := range cols {
				columns[g][col] = true
			}
		}
		for g := range h.Old {
			n := float64(len(h.Old[g]))
			counts[bins] += n * (n - 1) / 2
			pairs += n * (n - 1) / 2
			for f := range g {
				both := 0
				for _, col := range h.Cols[f] {
					if columns[g][col] {
						both += len(h.New[col])
					}
				}
				j := float64(both) / float64(h.Size(f)+h.Size(g)-both)
				w := n * float64(len(h.Old[f]))
				counts[min(bins-1, int(j*bins))] += w
				pairs += w
			}
		}
	}
	r := &Result{Columns: []string{"jaccard_from", "jaccard_to", "pairs", "share"}}
	bars := Series{Name: "pairs of old pages"}
	var labels []string
	for i, n := range counts {
		from, to := float64(i)/bins, float64(min(bins, i+1))/bins
		if pairs == 0 {
			break
		}
		r.Add(from, to, int(n), n/pairs)
		label := fmt.Sprintf("%g–%g", from, to)
		if i == bins {
			label = "1"
		}
		labels = append(labels, label)
		bars.X, bars.Y = append(bars.X, float64(i)), append(bars.Y, n/pairs)
	}
	r.Figure = &Figure{Panels: []Panel{{Title: "overlap", X: "Jaccard coefficient (1: the same pages)", Y: "share of pairs", Labels: labels, Series: []Series{bars}}}}
	if pairs > 0 {
		overlapNote(r, (counts[0]+counts[1])/pairs, (counts[bins]+counts[bins-1]+counts[bins-2])/pairs, pairs)
	}
	r.Notef("%s", data.differ())
	return r, nil
}

// overlapNote says which shares of the pairs of old pages overlap hardly, and nearly wholly.
func overlapNote(r *Result, low, high, pairs float64) {
	between := 1 - low - high
	so := "few are between, as there"
	if between > .5 {
		so = "most are between, unlike there"
	} else if between > .1 {
		so = "many are between"
	}
	r.Notef("The paper: a significant fraction of pairs has a coefficient very close to 0 or to 1. Here %.1f%% of %.0f pairs are below 0.1 and %.1f%% at 0.9 or above: %s.", 100*low, pairs, 100*high, so)
}

// fig6 is one greedy cover of all sites and weeks, interleaved by gain [DGKOPT07, Fig. 6].
func fig6(ctx context.Context, env *Env) (*Result, error) {
	all, data, err := covers(ctx, env)
	if err != nil {
		return nil, err
	}
	var gains []int
	total := 0
	for _, c := range all {
		gains = append(gains, c.gain...)
		total += c.h.NumNew()
	}
	slices.SortFunc(gains, func(a, b int) int { return b - a }) // each site's gains fall already
	r := &Result{Columns: []string{"coverage", "fetches", "overhead"}}
	line := Series{Name: "all sites"}
	covered, next := 0, 1
	var at90, at100 float64
	for i, g := range gains {
		covered += g
		for next <= 100 && 100*covered >= next*total {
			o := float64(i+1) / float64(covered)
			r.Add(float64(next)/100, i+1, o)
			line.X, line.Y = append(line.X, float64(next)/100), append(line.Y, o)
			if next == 90 {
				at90 = o
			}
			at100 = o
			next++
		}
	}
	r.Figure = &Figure{Panels: []Panel{{Title: "new pages on old sites", X: "share of new pages covered", Y: "overhead", Series: []Series{line}}}}
	overheadNote(r, at90, at100)
	r.Notef("%s", data.differ())
	return r, nil
}

// overheadNote stands the overheads of one cover of all sites beside the paper's.
func overheadNote(r *Result, at90, at100 float64) {
	r.Notef("The paper: 90%% of new pages at 3%% overhead, all of them at 9%%: the last tenth costs 3 times the rest. Here 90%% at %.1f%% and all at %.1f%%: %.1f times.", 100*at90, 100*at100, at100/at90)
}
