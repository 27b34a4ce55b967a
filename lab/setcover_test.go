package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forage/graph/gen"
	"forage/internal/shared"
)

// On cnr-2000: the sizes that other measurements of the same covers gave.
func TestSetCoverFigures(t *testing.T) {
	g, err := coverGraphs(&Env{Data: shared.Path(t, "data", "webgraphs")})
	if err != nil {
		t.Fatal(err)
	}
	cnr, err := g[0].load()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		p    float64
		size uint64
	}{{1.2, 46934}, {2, 47790}} {
		its, r, err := iterations(t.Context(), cnr, tt.p)
		if err != nil {
			t.Fatal(err)
		}
		last := its[len(its)-1]
		if r.Taken != tt.size || last.taken != tt.size || last.covered != r.Coverable {
			t.Errorf("p = %v: %d sets cover %d, iterations end at %d and %d; want %d", tt.p, r.Taken, r.Coverable, last.taken, last.covered, tt.size)
		}
		for i := 1; i < len(its); i++ {
			if its[i].least >= its[i-1].least {
				t.Errorf("p = %v: level %v after %v", tt.p, its[i].least, its[i-1].least)
			}
		}
	}
}

// TestSetCoverTables runs every table on small generated graphs: the same seed the same table, but for times, and another seed
// other graphs.
func TestSetCoverTables(t *testing.T) {
	full := coverPages
	defer func() { coverPages = full }()
	coverPages = 3000
	for _, e := range setCover {
		var tables [3]string
		for i, seed := range []uint64{1, 1, 2} {
			env := &Env{Data: t.TempDir(), Out: t.TempDir(), Seed: seed}
			r, err := e.Run(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			for _, note := range r.Notes {
				if strings.Contains(note, "%!") || strings.Contains(note, "NaN") {
					t.Errorf("%s: note %q", e.Name, note)
				}
			}
			if e.Name == "setcover-fig3" { // all but the times
				for _, row := range r.Rows {
					row[4], row[5] = nil, nil
				}
			}
			if err := r.Write(env.Out, e.Name); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(env.Out, e.Name+".csv"))
			if err != nil {
				t.Fatal(err)
			}
			tables[i] = string(b)
			if !strings.Contains(tables[i], "weblike") || !strings.Contains(tables[i], "copying") {
				t.Errorf("%s lacks a graph:\n%s", e.Name, tables[i])
			}
		}
		if tables[0] != tables[1] {
			t.Errorf("%s: two runs give\n%s\n%s", e.Name, tables[0], tables[1])
		}
		if tables[0] == tables[2] {
			t.Errorf("%s: another seed gives the same table", e.Name)
		}
	}
}

// TestCoverGraphsSeed: the seed reaches each generated graph.
func TestCoverGraphsSeed(t *testing.T) {
	full := coverPages
	defer func() { coverPages = full }()
	coverPages = 2000
	sums := map[string]map[uint64]bool{}
	for _, seed := range []uint64{1, 1, 2, 3} {
		graphs, err := coverGraphs(&Env{Data: t.TempDir(), Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, cg := range graphs {
			g, err := cg.load()
			if err != nil {
				t.Fatal(err)
			}
			if sums[cg.name] == nil {
				sums[cg.name] = map[uint64]bool{}
			}
			sums[cg.name][gen.Checksum(g)] = true
		}
	}
	for name, of := range sums {
		if len(of) != 3 {
			t.Errorf("%s: seeds 1, 2 and 3 give %d graphs, want 3", name, len(of))
		}
	}
}

func TestFig2Notes(t *testing.T) {
	for _, c := range []struct {
		all            []coverSizes
		want, unwanted string
	}{
		{[]coverSizes{{"g", 100, 103}}, "g: the cover has 100 sets for p = 1.2 and 103 for p = 2: +3.00%.\nThe paper", "nothing"},
		{[]coverSizes{{"g", 100, 103}}, "on 1 of 1 graphs here: the printed labels look swapped.", "nothing"},
		{[]coverSizes{{"g", 100, 97}, {"h", 5, 6}}, "on 1 of 2 graphs here. Iterations", "swapped"},
	} {
		var r Result
		fig2Notes(&r, c.all)
		says(t, "fig2", &r, []string{c.want}, []string{c.unwanted})
	}
}

func TestFig3Notes(t *testing.T) {
	for _, c := range []struct {
		all            []coverTimes
		want, unwanted string
	}{
		{[]coverTimes{{"g", 2, 1}}, "takes less on 1 of 1 graphs, the opposite: within", "nothing"},
		{[]coverTimes{{"g", 1, 2.6}}, "takes less on 0 of 1 graphs. Times", "opposite"},
	} {
		var r Result
		fig3Notes(&r, c.all)
		says(t, "fig3", &r, []string{c.want}, []string{c.unwanted})
	}
}

// TestFig4Notes: the headline, and where layered seeds pay, turn with the rows.
func TestFig4Notes(t *testing.T) {
	rows := func(layered, chance int, median float64) []seedRow {
		row := func(seeds string, number, reached int, median float64) seedRow {
			return seedRow{"g", seeds, number, [seedHops + 1]int{number, reached / 4, reached / 3, reached / 2, reached}, median}
		}
		return []seedRow{
			row(seedsLayered, 50, layered, median), row(seedsL0, 100, 2*layered, 1), row(seedsReach, 50, 100, 1), row(seedsLinks, 50, 200, 1), row(seedsRank, 50, 150, 1),
			row(seedsRandom, 50, chance, 1), row(seedsLayeredRandom, 40, 3000, 1), row(seedsRandomToo, 40, 2000, 1),
		}
	}
	for _, c := range []struct {
		layered, chance int
		median          float64
		want, unwanted  []string
	}{
		{1210, 1000, 1, []string{
			"g: with 50% of L0's pages layered reaches 50.0% of what L0 does within 4 hops. That is 1.21 times what as many random pages reach, and 1.21 times what the best list of as many (random) does. Of an L0 at random layered takes 40% and reaches 1.5 times",
			"beside chance it is not reproduced: 1.21 (g) times", "2.32 times as high, is not reproduced beside chance: 1 (g)", "here on g; not on none"}, []string{"ahead of it"}},
		{400, 100, 3, []string{"2 times what the best list of as many (top in-degree) does", "beside chance it is reached on 1 of 1: 4 (g) times", "2.32 times as high, is reached on 1 of 1 beside chance: 3 (g)"}, []string{"not reproduced"}},
		{100, 1200, 1, []string{"Random pages are ahead of it at hops 1, 2, 3, 4, by up to 12", "is not reproduced: 0.0833 (g) times", "here on none; not on g"}, nil},
	} {
		var r Result
		fig4Notes(&r, rows(c.layered, c.chance, c.median))
		says(t, "fig4", &r, c.want, c.unwanted)
	}
}

func TestFig5Notes(t *testing.T) {
	var r Result
	fig5Notes(&r, []Series{{Name: "g", Y: []float64{1, .05, .004, .001}}, {Name: "the paper's web", Y: []float64{1, .0457, .0005}}}, map[string][]float64{"g": {.9, .3, .1}})
	says(t, "fig5", &r, []string{"g: pages of yield ≥ 3 are 0.05 of the graph at level 1 (the paper 0.0457), 0.004 of the graph at level 2 (the paper 0.0005) and those of level 2 lead to 30.0% of all pages"}, nil)
}
