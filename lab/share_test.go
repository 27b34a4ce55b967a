package lab

import (
	"testing"

	"forage/graph"
	"forage/internal/race"
	"forage/internal/shared"
	"forage/revisit"
)

// TestShareFinds: a budget that sites share by what their past cycles found finds as many pages
// as the same budget in equal parts. A burst that comes when a site has a fetch less than it
// takes moves one budget's sum by up to 6%: hence four budgets over all sites, and 3%.
func TestShareFinds(t *testing.T) {
	race.Skip(t)
	dir := shared.Path(t, "data", "sites")
	var sites []*site
	files, err := (&Env{Data: dir}).Files(".snap.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		s, err := readSite(file)
		if err != nil {
			t.Fatal(err)
		}
		sites = append(sites, s)
	}
	inShares, equal := 0, 0
	for _, each := range []int{3, 5, 10, 20} {
		a, b := sharing(sites, each, true), sharing(sites, each, false)
		t.Logf("%d fetches a site and week: %d pages shared, %d in equal parts", each, a, b)
		inShares, equal = inShares+a, equal+b
	}
	if float64(inShares) < .97*float64(equal) {
		t.Errorf("shared budgets find %d pages, equal parts %d", inShares, equal)
	}
}

// sharing runs best at all sites side by side with a total budget each week, in shares or in
// equal parts, and counts the pages found.
func sharing(sites []*site, each int, shares bool) (pages int) {
	runs := make([]*budgeted, len(sites))
	past := make([][][]int, len(sites)) // by site and week: pages that each fetch found
	weeks := 0
	for i, s := range sites {
		runs[i] = s.budgeted(revisit.NewBest(0), true, "none")
		runs[i].start()
		weeks = max(weeks, len(s.weeks))
	}
	for t := 1; t < weeks; t++ {
		var open []int
		rows := 0
		for i, s := range sites {
			if t < len(s.weeks) {
				open = append(open, i)
				rows += len(past[i])
			}
		}
		usual, found := 1., 0
		for _, i := range open {
			for _, row := range past[i] {
				for _, n := range row {
					found += n
				}
			}
		}
		if rows > 0 {
			usual = float64(found) / float64(rows)
		}
		claims := make([]revisit.Claim, len(open))
		for j, i := range open {
			claims[j] = revisit.Claim{Gain: revisit.Expect(past[i], usual).Gain, Max: runs[i].site.NumDocuments()}
		}
		share, _ := revisit.Share(each*len(open), claims)
		for j, i := range open {
			k := each
			if shares {
				k = share[j]
			}
			row := runs[i].week(t, k)
			for _, n := range row {
				pages += n
			}
			past[i] = append(past[i][max(0, len(past[i])-29):], row)
		}
	}
	return pages
}

// week runs one week with k fetches and returns how many pages each found first.
func (b *budgeted) week(t, k int) []int {
	b.site.Begin(revisit.Time(b.s.weeks[t].time), k)
	var row []int
	for range k {
		v, ok := b.site.Next()
		if !ok {
			break
		}
		f := b.fetch(t, graph.Node(b.site.Key(v)))
		n := 0
		for _, d := range f.Found {
			if d.Kind == revisit.HTML {
				n++
			}
		}
		row = append(row, n)
		b.site.Observe(v, f)
	}
	b.site.End()
	return row
}
