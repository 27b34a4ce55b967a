package lab

import (
	"math/rand/v2"
	"slices"
	"testing"

	"forage/internal/shared"
	"forage/snap"
)

// TestSiteNotes: who is first, and on how many sites, turns with the rows.
func TestSiteNotes(t *testing.T) {
	policies := []string{"bfs", "de", "med", "best", "best-folds"}
	site := func(bfs, best float64) [][]float64 {
		of := [][]float64{{bfs, bfs, bfs}, {.1, .1, .1}, {1, 1, 1}, {.9, .9, .9}, {best, best, best}}
		return of
	}
	for _, c := range []struct {
		seen [][][]float64
		want string
	}{
		{[][][]float64{site(.5, .481), site(.5, .479)}, "With 1% of queries best-folds finds the most of all, or at most 2 points less, on 1 of 2 sites (50%), bfs on 2."},
		{[][][]float64{site(.2, .6), site(.3, .6)}, "With 10% of queries best-folds finds the most of all, or at most 2 points less, on 2 of 2 sites (100%), bfs on 0."},
	} {
		var r Result
		withinNote(&r, policies, c.seen)
		says(t, "within", &r, []string{c.want}, nil)
	}
	var lines []Series
	for name, y := range map[string]float64{"med": .9, "best": .8, "best-folds": .7, "bfs": .6, "opic": .5, "de": .1} {
		lines = append(lines, Series{Name: name, X: []float64{.03}, Y: []float64{y}})
	}
	var r Result
	firstNotes(&r, lines)
	says(t, "first", &r, []string{"With 3% of queries the first three are best-folds 0.700, bfs 0.600, opic 0.500; de is number 4 with 0.100."}, nil)
}

// TestHomeNote: why bfs and de differ turns with where they go and what is found there.
func TestHomeNote(t *testing.T) {
	lines := func(bfs, de float64) []Series {
		return []Series{{Name: "bfs", Y: []float64{0, 0, bfs}}, {Name: "de", Y: []float64{0, 0, de}}}
	}
	of := func(bfsFar, bfsNear, deFar, deNear, perFar, perNear int) [][]homeward {
		return [][]homeward{{
			{[2]int{far: bfsFar, near: bfsNear}, [2]int{far: bfsFar * perFar, near: bfsNear * perNear}},
			{[2]int{far: deFar, near: deNear}, [2]int{far: deFar * perFar, near: deNear * perNear}},
		}}
	}
	for _, c := range []struct {
		lines []Series
		home  [][]homeward
		want  string
	}{
		{lines(.6, .5), of(1, 3, 3, 1, 2, 5), "bfs finds 0.600 with 10% of queries, de 0.500. Of the queries after the first 75% of bfs go to pages that / links to, of de 25%; such a query of these two finds 5.0 pages, another 2.0: the order of discovery takes"},
		{lines(.5, .6), of(1, 3, 3, 1, 2, 5), "5.0 pages, another 2.0: that does not tell why."},
		{lines(.6, .5), of(1, 3, 3, 1, 5, 2), "2.0 pages, another 5.0: who stays near / does so though it finds less there."},
	} {
		var r Result
		homeNote(&r, []string{"bfs", "de"}, c.lines, c.home)
		says(t, "home", &r, []string{c.want}, nil)
	}
	var r Result
	if homeNote(&r, []string{"bfs", "de"}, lines(1, 1), of(0, 0, 0, 0, 1, 1)); len(r.Notes) > 0 {
		t.Errorf("of no queries %q", r.Notes)
	}
}

// TestBestOutOfFold: at sites that its weights were not fitted to, best finds more than every other policy, on average, and is the first of them or
// next to it at six in ten sites, of one run: where each policy has as few, more of the others are lucky than in the table, where it is four in five. What comes with it is no worse than these at the sites that it was fitted to.
func TestBestOutOfFold(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	env := &Env{Data: shared.Path(t, "data"), Seed: 1, Runs: 1}
	r, err := exploreSites(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string][]float64{} // by site and policy
	for _, row := range r.Rows {
		site, policy := row[0].(string), row[2].(string)
		if found[site] == nil {
			found[site] = map[string][]float64{}
		}
		for _, x := range row[4:7] {
			found[site][policy] = append(found[site][policy], x.(float64))
		}
	}
	all := found["all"]
	delete(found, "all")
	for k, share := range siteShares {
		for policy, x := range all {
			if !slices.Contains([]string{"med", "best", "best-folds"}, policy) && all["best-folds"][k] < x[k]+0.03 {
				t.Errorf("at %g%% best-folds finds %.3f, %s %.3f", 100*share, all["best-folds"][k], policy, x[k])
			}
		}
		if all["best"][k] < all["best-folds"][k]-0.01 {
			t.Errorf("at %g%% best finds %.3f, best-folds %.3f", 100*share, all["best"][k], all["best-folds"][k])
		}
		within := 0
		for _, of := range found {
			top := 0.0
			for policy, x := range of {
				if policy != "med" && policy != "best" {
					top = max(top, x[k])
				}
			}
			if of["best-folds"][k] >= top-withinPoints {
				within++
			}
		}
		if 10*within < 6*len(found) {
			t.Errorf("at %g%% best-folds is first or next to it on %d of %d sites", 100*share, within, len(found))
		}
	}
}

// TestSiteTrial: pages that only redirect are not found, the same seed gives the same crawl, and what goes elsewhere ends too.
func TestSiteTrial(t *testing.T) {
	h := snap.Blog(rand.New(rand.NewPCG(1, 1)), 1)
	s, err := newWebSite(h)
	if err != nil {
		t.Fatal(err)
	}
	if s.pages < 5 {
		t.Fatalf("%d pages", s.pages)
	}
	crawl := func(elsewhere float64) (last, found int) {
		trial := siteTrial{site: &s, policy: "best", seed: 1, run: 1, budget: 10 * s.pages, elsewhere: elsewhere}
		if err := trial.explore(func(q, n int) { last, found = q, n }); err != nil {
			t.Fatal(err)
		}
		return last, found
	}
	for _, elsewhere := range []float64{0, .5, 1} {
		if queries, found := crawl(elsewhere); found != s.pages || queries < s.pages {
			t.Errorf("%d of %d pages found in %d queries, a share of %g of them anywhere", found, s.pages, queries, elsewhere)
		}
	}
	s.stub[s.start] = true
	s.pages--
	if _, found := crawl(0); found != s.pages {
		t.Errorf("%d pages found, with / a redirect, want %d", found, s.pages)
	}
}
