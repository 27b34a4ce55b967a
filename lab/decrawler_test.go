package lab

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forage/graph"
	"forage/internal/shared"
	"forage/snap"
)

// TestLouvain: two cliques of five joined by an edge are two communities; modularity by hand.
func TestLouvain(t *testing.T) {
	var arcs []graph.Arc
	for v := range graph.Node(10) {
		for u := range v {
			if u/5 == v/5 {
				arcs = append(arcs, graph.Arc{From: u, To: v})
			}
		}
	}
	arcs = append(arcs, graph.Arc{From: 4, To: 5})
	q, k := louvain(graph.FromArcs(10, arcs).Undirected())
	if want := 2 * (20.0/42 - 0.25); k != 2 || math.Abs(q-want) > 1e-12 {
		t.Errorf("louvain = %v, %d communities; want %v, 2", q, k, want)
	}
	if q, k := louvain(graph.FromArcs(3, nil)); q != 0 || k != 3 {
		t.Errorf("louvain of no edges = %v, %d", q, k)
	}
}

// TestDETable1 compares sizes with the printed table, exactly up to the paper's extra edge,
// and the modularity of small networks.
func TestDETable1(t *testing.T) {
	nets, missing, err := networks(&Env{Data: shared.Path(t, "data", "networks")})
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) != 6 || len(nets) != 13 {
		t.Errorf("%d networks, %v missing; want 13 and 6", len(nets), missing)
	}
	for _, net := range nets {
		if net.paper == nil {
			continue
		}
		n, m := net.graph.NumNodes(), int(net.graph.NumArcs()/2)
		if n != net.paper.nodes || net.paper.edges-m > 1 || net.paper.edges < m {
			t.Errorf("%s: %d nodes, %d edges; printed %d, %d", net.name, n, m, net.paper.nodes, net.paper.edges)
		}
		if n > 3000 {
			continue
		}
		if q, _ := louvain(net.graph); math.Abs(q-net.paper.modularity) > 0.03 {
			t.Errorf("%s: modularity %.3f, printed %.2f", net.name, q, net.paper.modularity)
		}
	}
}

// explored is what tableTwo did on a network: its policies' regrets, the same in each run but for a little, learned-folds
// as learned unless it is given.
func explored(name string, paper map[string]float64, regret map[string]float64, runs int) exploration {
	x := exploration{network{name, nil, nil}, make([][]float64, len(tableTwo)), make([][]float64, len(tableTwo))}
	if paper != nil {
		x.paper = &published{name: name, regret: paper}
	}
	for j, policy := range tableTwo {
		y, ok := regret[policy]
		if !ok {
			y = regret["learned"]
		}
		for k := range runs {
			x.regret[j] = append(x.regret[j], y+.001*float64(k%2*2-1)*float64(min(1, runs-1)))
			x.observed[j] = append(x.observed[j], 1000*(1-y))
		}
	}
	return x
}

// TestDETable2Notes: who is best, what the prior is worth and how far the paper is off turn with the rows.
func TestDETable2Notes(t *testing.T) {
	printed := regrets(.1, .2, .3, .4, .5)
	wins := explored("n", printed, map[string]float64{"de": .1, "rw": .2, "mod": .3, "opic": .4, "bfs": .9, "learned": .05, "learned-folds": .07}, 4)
	loses := explored("m", printed, map[string]float64{"de": .3, "rw": .1, "mod": .3, "opic": .4, "bfs": .5, "learned": .2, "learned-folds": .22}, 4)

	var r Result
	table2PaperNotes(&r, []exploration{wins})
	priorNote(&r, []exploration{wins})
	learnedNotes(&r, []exploration{wins})
	says(t, "de wins", &r, []string{
		"on all but Anybeat: here on 1 of 1.", "here at most +12% nodes (n)", "of the five it is the furthest from it", "bfs 0.900 (mean distance from the paper's 0.400)",
		"learned starts without a prior: 0.050. With one that is fitted to the other networks (learned-folds) it is 0.070, +0.020 ± 0.000: worse.",
		"learned is not above de on 1 of 1 networks.",
	}, []string{"The others", "on n by"})

	r = Result{}
	table2PaperNotes(&r, []exploration{wins, loses})
	learnedNotes(&r, []exploration{wins, loses})
	says(t, "de wins and loses", &r, []string{"here on 1 of 2. The others: m (rw 0.100, de 0.300)"}, nil)

	worse := explored("w", printed, map[string]float64{"de": .1, "rw": .2, "mod": .2, "opic": .2, "bfs": .5, "learned": .2, "learned-folds": .3}, 4)
	worse.regret[6] = []float64{.1, .3, .2, .205} // the mean of learned, and by chance above or below
	r = Result{}
	table2PaperNotes(&r, []exploration{worse})
	priorNote(&r, []exploration{worse})
	learnedNotes(&r, []exploration{worse})
	says(t, "learned is worse", &r, []string{"of the five it is not the furthest", "a difference that may be chance", "learned is not above de on 0 of 1 networks; paired by run it is on w by 0.100"}, nil)

	one := explored("o", printed, map[string]float64{"de": .1, "rw": .2, "mod": .2, "opic": .2, "bfs": .2, "learned": .2}, 1)
	one.regret[6] = nil // no other network to fit to
	r = Result{}
	priorNote(&r, []exploration{one})
	learnedNotes(&r, []exploration{one})
	says(t, "one run of one network", &r, []string{"learned is not above de on 0 of 1 networks; paired by run it is on o by 0.100."}, []string{"folds", "NaN"})

	r = Result{}
	priorNote(&r, []exploration{explored("p", printed, map[string]float64{"learned": .2, "learned-folds": .1}, 1)})
	says(t, "one run", &r, []string{"(learned-folds) it is 0.100, -0.100, of one run."}, nil)
}

// TestOthersNotes: on how many networks de is the best turns with the rows, and so does the order of policies.
func TestOthersNotes(t *testing.T) {
	edu := explored("web-edu", nil, map[string]float64{"de": .606, "rw": .4, "mod": .5, "opic": .5, "bfs": .035, "learned": .02}, 2)
	var r Result
	othersNote(&r, []exploration{edu})
	says(t, "bfs is best", &r, []string{"de is the best of its five on 0 of 1. The others: web-edu (bfs 0.035, de 0.606)"}, nil)
	if got := regretList([]exploration{edu}); !strings.HasPrefix(got, "learned 0.020, learned-folds 0.020, ") || !strings.HasSuffix(got, "de 0.606") {
		t.Errorf("by regret: %s", got)
	}
	best := explored("a", nil, map[string]float64{"de": .1, "rw": .4, "mod": .5, "opic": .5, "bfs": .5, "learned": .2}, 2)
	r = Result{}
	othersNote(&r, []exploration{best})
	negativeNote(&r, []exploration{best})
	says(t, "de is best", &r, []string{"on 1 of 1.", "below 0 in 0 of 10 rows"}, []string{"others:"})
	r = Result{}
	if othersNote(&r, nil); len(r.Notes) > 0 {
		t.Errorf("no networks, and yet %q", r.Notes)
	}
	below := explored("b", nil, map[string]float64{"de": -.1, "rw": .4, "mod": .5, "opic": .5, "bfs": .5, "learned": -.2}, 2)
	negativeNote(&r, []exploration{below})
	says(t, "below the oracle", &r, []string{"below 0 in 6 of 10 rows"}, nil)
}

// TestCurveNotes: who is ahead turns with the curves.
func TestCurveNotes(t *testing.T) {
	set := func(de, rw, mod []float64) *curveSet {
		return &curveSet{network: "n", budgets: []float64{.05, .1}, policies: []string{"de", "rw", "mod"}, observed: [][]float64{de, rw, mod}}
	}
	for _, c := range []struct {
		de, rw, mod []float64
		lead, fig3  string
		fig4        string
	}{
		{[]float64{.5, .8}, []float64{.4, .6}, []float64{.3, .5}, "ahead of all at 2 of 2 budgets; at 10% it observes +33.3% nodes beside the best of them, rw.",
			"Fig. 3, rw ahead of mod: so it is here (rw 60.0%, mod 50.0% of nodes with the whole budget), and de is ahead of both (80.0%)", "Fig. 4, mod ahead of rw: not so here"},
		{[]float64{.2, .8}, []float64{.4, .4}, []float64{.3, .5}, "ahead of all at 1 of 2 budgets, at all from 10.0% of the nodes on; at 10% it observes +60.0% nodes beside the best of them, mod.",
			"Fig. 3, rw ahead of mod: not so here", "Fig. 4, mod ahead of rw: so it is here"},
		{[]float64{.2, .25}, []float64{.4, .4}, []float64{.3, .5}, "ahead of all at 0 of 2 budgets; at 10% it observes -50.0% nodes beside the best", "de is not ahead of both (25.0%)", "de is not ahead of both"},
	} {
		var r Result
		leadNote(&r, set(c.de, c.rw, c.mod))
		walkNote(&r, set(c.de, c.rw, c.mod), true)
		walkNote(&r, set(c.de, c.rw, c.mod), false)
		says(t, "curves", &r, []string{c.lead, c.fig3, c.fig4}, nil)
	}
}

func TestDETable1Notes(t *testing.T) {
	g := graph.FromArcs(3, []graph.Arc{{From: 0, To: 1}, {From: 1, To: 2}}).Undirected()
	for _, c := range []struct {
		edges          int
		want, unwanted string
	}{{3, "one edge more in 1 of 1 networks", "nothing"}, {2, "Citeseer", "one edge more"}} {
		var r Result
		table1Notes(&r, []network{{"n", &published{name: "n", edges: c.edges}, g}})
		says(t, "table 1", &r, []string{c.want}, []string{c.unwanted, "anybeat"})
	}
	var r Result
	noteAnybeat(&r, []network{{name: "soc-anybeat"}})
	says(t, "anybeat alone", &r, []string{"soc-anybeat is the paper's graph"}, []string{"clean"})
}

func TestLargestComponent(t *testing.T) {
	// 1–4–5 and 0–2, and 3 alone.
	g := graph.FromArcs(6, []graph.Arc{{From: 1, To: 4}, {From: 4, To: 5}, {From: 0, To: 2}}).Undirected()
	got := largestComponent(g)
	if got.NumNodes() != 3 || got.NumArcs() != 4 || !got.HasArc(0, 1) || !got.HasArc(2, 1) || got.HasArc(0, 2) {
		t.Errorf("largest component: %d nodes, arcs %v", got.NumNodes(), got.Succ)
	}
}

// TestExplorerTables runs the tables of explorers on a small network, and the other networks on small graphs: twice the same, no note with what
// is no number.
func TestExplorerTables(t *testing.T) {
	nodes, least := othersNodes, leastNodes
	defer func() { othersNodes, leastNodes = nodes, least }()
	othersNodes, leastNodes = 300, 10
	dir := t.TempDir()
	for _, name := range []string{"ca-HepPh", "soc-hamsterster", "small"} {
		var text strings.Builder
		r := rand.New(rand.NewPCG(1, uint64(len(name))))
		for v := 1; v < 120; v++ {
			fmt.Fprintf(&text, "%d\t%d\n", r.IntN(v), v)
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(text.String()))
		z.Close()
		if err := os.WriteFile(filepath.Join(dir, name+".tsv.gz"), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range explorers {
		if e.Name == "explore-sites" {
			continue
		}
		var tables [2]string
		for i := range tables {
			env := &Env{Data: dir, Out: t.TempDir(), Seed: 1, Runs: 2}
			r, err := e.Run(t.Context(), env)
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			for _, note := range r.Notes {
				if strings.Contains(note, "%!") || strings.Contains(note, "NaN") || strings.Contains(note, "Inf") {
					t.Errorf("%s: note %q", e.Name, note)
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
		}
		if tables[0] != tables[1] {
			t.Errorf("%s: two runs give\n%s\n%s", e.Name, tables[0], tables[1])
		}
	}
}

// TestSiteFiles: of a site with both histories the one of recrawls counts, and each site once.
func TestSiteFiles(t *testing.T) {
	dir := t.TempDir()
	for path, dated := range map[string]bool{"a/one.snap.gz": true, "b/one.snap.gz": false, "c/one.snap.gz": false, "a/two.snap.gz": true} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		h := snap.Blog(rand.New(rand.NewPCG(1, 1)), 3)
		h.Dated = dated
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := snap.Write(f, h); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	got, err := (&Env{Data: dir}).siteFiles()
	if want := []string{filepath.Join(dir, "a/two.snap.gz"), filepath.Join(dir, "b/one.snap.gz")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
