package lab

import (
	"strings"
	"testing"
)

// says fails where the notes of r do not have each of wants, or have one of unwanted.
func says(t *testing.T, name string, r *Result, wants, unwanted []string) {
	t.Helper()
	notes := strings.Join(r.Notes, "\n")
	for _, want := range wants {
		if !strings.Contains(notes, want) {
			t.Errorf("%s: notes\n%s\nwant %q", name, notes, want)
		}
	}
	for _, no := range unwanted {
		if strings.Contains(notes, no) {
			t.Errorf("%s: notes\n%s\ndo not want %q", name, notes, no)
		}
	}
}

// TestTable2Notes: what is said of averages, gaps, order and clusters turns with the rows.
func TestTable2Notes(t *testing.T) {
	row := func(policy string, k int, coverage, overhead, overheadMean, cut, theirs, theirOverhead float64) tableRow {
		return tableRow{policy, k, averages{depth: overhead * 10, coverage: coverage, overhead: overhead, overheadMean: overheadMean, cut: cut}, theirOverhead, theirs}
	}
	as := []tableRow{
		row("cliq-win", 10, .2, 1, 2, .5, .19, 1), row("od-win", 10, .21, 1, 2, .5, .18, 1),
		row("cliq-win", 1000, .5, 12, 90, 0, .52, 1), row("od-win", 1000, .5, 12, 90, 0, .53, 1), row("od-1", 1000, .4, 15, 99, 0, .43, 1), row("od-all", 1000, .6, 14, 99, 0, .55, 1),
		row("cliq-win-disjoint", 10, .3, .9, 99, .1, .19, 1), row("greedy", 1000, 1, .1, .5, 0, 1, .27),
	}
	var r Result
	table2Notes(&r, as)
	says(t, "as the paper", &r, []string{
		"overhead is the closer to what it prints in 6 of 7 rows, overhead_mean in 1", "1 to 1 at k = 10, 12 to 15 at k = 1000", "a site has 10 of them in a week here",
		"k = 10: of the pairs of policies whose coverage the paper tells apart, the optimum left out, 0 of 1 are in its order (not: od-win 21%, cliq-win 20%)",
		"k = 1000: of the pairs of policies whose coverage the paper tells apart, the optimum left out, 2 of 3 are in its order (not: cliq-win 50%, od-win 50%); 3 more must be",
		"finds what od-win finds with as many fetches in 1 of 2 rows", "covers 30.0% at an overhead of 0.90 at k = 10, cliq-win 20.0% at 1.00; the paper 19% at 1.00",
	}, nil)

	// The opposite numbers: the mean is closer, nothing is in order, and budgets are used up, so that nothing must be.
	opposite := []tableRow{
		row("cliq-win", 1000, .6, 12, 1.1, .2, .52, 1), row("od-win", 1000, .5, 12, 1.1, .2, .53, 1), row("od-1", 1000, .7, 15, 1, .2, .43, 1), row("od-all", 1000, .3, 14, 1, .2, .55, 1),
	}
	r = Result{}
	table2Notes(&r, opposite)
	says(t, "opposite", &r, []string{"in 0 of 4 rows, overhead_mean in 4", "0 of 6 are in its order", "in 0 of 1 rows"}, []string{"more must be", "a site has", "covers"})
}

// TestBoundsNote: the bound is said to fall only where it does, as printed.
func TestBoundsNote(t *testing.T) {
	for _, c := range []struct {
		bounds [3]float64
		want   string
	}{
		{[3]float64{.86, .84, .83}, "the bound falls with the age of what is known, as the paper's does; less is out of reach"},
		{[3]float64{.9912, .9911, .9909}, "99.1%, 99.1% and 99.1%: the bound does not change"},
		{[3]float64{.6, .65, .7}, "rises with the age of what is known, where the paper's falls; more is out of reach"},
		{[3]float64{.74, .8, .7}, "does not follow the age of what is known; as much is out of reach"},
	} {
		var r Result
		boundsNote(&r, c.bounds)
		says(t, "bounds", &r, []string{c.want}, nil)
	}
}

func TestDepthNote(t *testing.T) {
	lines := func(cov, od, disjoint float64) []Series {
		return []Series{{Name: "greedy", Y: []float64{1, 1}}, {Name: "od-win", Y: []float64{.5, od}}, {Name: "cov", Y: []float64{.4, cov}}, {Name: "cliq-win-disjoint", Y: []float64{.45, disjoint}}}
	}
	for _, c := range []struct {
		period            int
		cov, od, disjoint float64
		want              string
	}{
		{1, .6, .8, .7, "(74%). Here Cov ends at 60.0%, OD at 80.0%, and the best of all but the oracle, od-win, at 80.0%; CLIQ that fetches one page of a cluster is up to 10.0 points from OD"},
		{4, .9, .8, .8, "OD ends at 59%. Here Cov ends at 90.0%, OD at 80.0%, and the best of all but the oracle, cov, at 90.0%; CLIQ that fetches one page of a cluster is up to 5.0 points"},
	} {
		var r Result
		depthNote(&r, c.period, lines(c.cov, c.od, c.disjoint))
		says(t, "depth", &r, []string{c.want}, nil)
	}
}

func TestAlphaNotes(t *testing.T) {
	rows := func(a, b, c float64) (out []alphaRow) {
		for _, x := range []struct{ alpha, coverage float64 }{{.4, a}, {.8, b}, {1, c}} {
			out = append(out, alphaRow{x.alpha, 2, 10, averages{coverage: x.coverage}})
		}
		return out
	}
	for _, c := range []struct {
		rows []alphaRow
		want []string
	}{
		{rows(.5, .6, .7), []string{"so they do here: the better of them is the best of all decays", "α = 1 at 1."}},
		{rows(.71, .6, .7), []string{"so they do here: the better of them is 1.00 points of coverage below the best decay, α = 0.4, at a recrawl every 2 weeks and k = 10", "α = 0.4 at 1."}},
		{rows(.9, .6, .7), []string{"and 1 do well; here the better of them is as much as 20.00 points of coverage below the best decay, α = 0.4"}},
	} {
		var r Result
		alphaNotes(&r, c.rows)
		says(t, "alpha", &r, c.want, nil)
	}
}

func TestBanditNotes(t *testing.T) {
	od := banditRow{"od-win", toldRecrawls, 1, averages{coverage: .7, overhead: .2}}
	bandit := func(coverage, overhead float64) banditRow {
		return banditRow{"bandit", toldNothing, 10, averages{coverage: coverage, overhead: overhead}}
	}
	for _, c := range []struct {
		bandit banditRow
		want   string
	}{
		{bandit(.8, .3), "this one to 80.0% (k = 10, overhead 0.30); it reaches 64% first at k = 10, with an overhead of 0.30, comparable to OD-WIN's, which is 0.20 where that first reaches it (k = 1): 1.5 times."},
		{bandit(.64, 3), "not comparable to OD-WIN's, which is 0.20 where that first reaches it (k = 1): 15 times."},
		{bandit(.5, .3), "this one to 50.0% (k = 10, overhead 0.30); it reaches 64% at no budget here."},
	} {
		var r Result
		banditNotes(&r, []banditRow{od, c.bandit})
		says(t, "bandits", &r, []string{c.want}, nil)
	}
}

// TestApart: what is said of two policies turns with the sign, and a difference that may be chance is said to be one.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		mean, low, high float64
		want            string
	}{
		{3, 1, 5, "finds 3.0 percentage points more than uniform (site mean; 90% interval 1.0 to 5.0)."},
		{-3, -5, -1, "finds 3.0 percentage points fewer than uniform (site mean; 90% interval 1.0 to 5.0)."},
		{1, -1, 3, "1.0 percentage points more than uniform (site mean; 90% interval -1.0 to 3.0): no difference that could not be chance."},
	} {
		if got := apart(10, "uniform", c.mean, c.low, c.high); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestRecrawlsNote: what is said of free recrawls is read off the rows of setting A without lists, or is not said.
func TestRecrawlsNote(t *testing.T) {
	row := func(setting, candidates string, k int, coverage float64) []any {
		return []any{setting, candidates, "none", "od-all", k, nil, nil, nil, coverage}
	}
	r := Result{Rows: [][]any{row("A", "html", 10, .7), row("A", "html", 100, .8), row("A", "all", 1000, .99), row("B", "html", 1000, .1)}}
	recrawlsNote(&r)
	says(t, "recrawls", &r, []string{"od-all reaches 70.0% in setting A at k = 10 and 80.0% at k = 100, pages alone"}, nil)
	r = Result{Rows: [][]any{row("B", "all", 10, .7)}}
	if recrawlsNote(&r); len(r.Notes) > 0 {
		t.Errorf("no recrawls, and yet %q", r.Notes)
	}
}

func TestDiffer(t *testing.T) {
	h := &histories{}
	h.add(20, 100, true)
	h.add(30, 300, false)
	got := h.differ()
	want := "Data: 2 sites of 200 pages on average at first, in 20 to 30 snapshots; 1 have a feed or sitemap. The paper: 42 sites of 2004 and 2005 of 15250 pages, 76 times as many, in 23 weekly ones."
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	h = &histories{dated: 3}
	h.add(5, 30500, false)
	if got := h.differ(); !strings.Contains(got, "1 sites of 30500 pages on average at first, in 5 snapshots; 0 have") || !strings.Contains(got, "15250 pages, 0.5 times") || !strings.HasSuffix(got, " 3 histories of commits below the folder are not for this table.") {
		t.Error(got)
	}
}

// TestFigureNotes: each note of a figure turns with made-up numbers.
func TestFigureNotes(t *testing.T) {
	for _, c := range []struct {
		name string
		note func(r *Result)
		want string
	}{
		{"data", func(r *Result) { dataNote(r, 2, 10, 100, 40, 1) }, "Here: 2 sites, 10 pages at first, 100 new ones, 40.0% directly linked to by an old page, 1.0% orphans, below 5% as there."},
		{"data", func(r *Result) { dataNote(r, 2, 10, 100, 90, 10) }, "90.0% directly linked to by an old page, 10.0% orphans, more than there."},
		{"returns", func(r *Result) { returnsNote(r, 60, 40) }, "take 40% of all fetches (40 of 100), so that they diminish here too."},
		{"returns", func(r *Result) { returnsNote(r, 95, 5) }, "take 5% of all fetches (5 of 100), so that they do not diminish here."},
		{"budgets", func(r *Result) { budgetNote(r, 15.4, .11, .999, 2) }, "Here: 15.4 new pages a cover and 11.0% overhead (Σ fetches / Σ new pages) at k = 600; k = 200 covers 99.9%, 90% are covered at k = 2."},
		{"sizes", func(r *Result) { sizesNote(r, 9, 10, 70) }, "suffice for 90.0% of 10 site-weeks, for most, as there; none needs more than a hundred: the largest cover of 90% has 70 pages."},
		{"sizes", func(r *Result) { sizesNote(r, 4, 10, 700) }, "for 40.0% of 10 site-weeks, not for most; some need more than a hundred and none more than a thousand, as there: the largest"},
		{"sizes", func(r *Result) { sizesNote(r, 4, 10, 7000) }, "some need more than a thousand: the largest"},
		{"overlap", func(r *Result) { overlapNote(r, .02, .95, 50) }, "Here 2.0% of 50 pairs are below 0.1 and 95.0% at 0.9 or above: few are between, as there."},
		{"overlap", func(r *Result) { overlapNote(r, .2, .5, 50) }, "many are between."},
		{"overlap", func(r *Result) { overlapNote(r, .1, .1, 50) }, "most are between, unlike there."},
		{"overhead", func(r *Result) { overheadNote(r, .034, .102) }, "Here 90% at 3.4% and all at 10.2%: 3.0 times."},
		{"table 1", func(r *Result) { newSitesNote(r, []float64{.142, .06}, 36, 2) }, "Here 14.2%, 6.0% of them are, with 18.0 pages a site."},
		{"table 1", func(r *Result) { newSitesNote(r, []float64{0}, 0, 0) }, "Here 0.0% of them are: no site is new."},
		{"figure 7", func(r *Result) { newSiteCostNote(r, 5, 1.5, .039, 252, 260) }, "Here 5.0 to 1.5 sites a fetch (the first 5% of sites, all), and an overhead of 3.9%; 252 of 260 new sites"},
		{"cores", func(r *Result) { coresNote(r, .09, "inout, b/n = 0.02") }, "so they are in all models here: the smallest is 0.09 of its buffer (inout, b/n = 0.02)."},
		{"cores", func(r *Result) { coresNote(r, .001, "x") }, "not so in all models here"},
		{"share", func(r *Result) { (&bench{Result: r}).shareNote("It", .5, .51) }, "It is 0.5000 of the graph at the smallest n and 0.5100 at the largest: it keeps its share"},
		{"share", func(r *Result) { (&bench{Result: r}).shareNote("It", .5, .1) }, "its share falls"},
		{"share", func(r *Result) { (&bench{Result: r}).shareNote("It", .5, .9) }, "its share grows"},
	} {
		var r Result
		c.note(&r)
		says(t, c.name, &r, []string{c.want}, nil)
	}
}

// TestWaitNotes: how long pages wait by rhythm turns with the runs, and sites at which its numbers were chosen are told apart.
func TestWaitNotes(t *testing.T) {
	evenly, rhythm := madeUp(10, 10), madeUp(5, 5)
	both := [2][]delayed{append(evenly, rhythm...), append(rhythm, evenly...)}
	var r Result
	waitNotes(&r, 3, []string{"elsewhere", "kudu"}, both)
	says(t, "waits", &r, []string{"3 a day, 1 other sites than those at which the numbers of revisit.Rhythm were chosen: a page waits 0.500 times as long by rhythm as evenly", "less at 1.",
		"3 a day, 1 the sites at which they were: a page waits 2.000 times", "less at 0."}, nil)
}

// TestFirstNotes: who observes most of a site turns with the lines.
func TestFirstNotes(t *testing.T) {
	line := func(name string, y ...float64) Series { return Series{Name: name, X: []float64{.01, .1}, Y: y} }
	var r Result
	firstNotes(&r, []Series{line("bfs", .4, .5), line("de", .3, .9), line("rw", .35, .7), line("mod", .36, .6), line("med", .9, .99)})
	says(t, "first", &r, []string{"With 1% of queries the first three are bfs 0.400, mod 0.360, rw 0.350; de is number 4 with 0.300.", "With 10% of queries the first three are de 0.900, rw 0.700, mod 0.600."}, nil)
}
