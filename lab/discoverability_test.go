package lab

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forage/graph"
	"forage/internal/shared"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/snap"
)

// blog returns an Env over one generated history.
func blog(t *testing.T) *Env {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "blog.snap.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := snap.Write(f, snap.Blog(rand.New(rand.NewPCG(1, 1)), 20)); err != nil {
		t.Fatal(err)
	}
	return &Env{Data: dir, Out: dir, Seed: 1}
}

// TestDiscoverability runs every experiment twice: the same rows, and columns that the
// contract names.
func TestDiscoverability(t *testing.T) {
	env := blog(t)
	for _, e := range discoverability {
		t.Run(strings.TrimPrefix(e.Name, "discoverability-"), func(t *testing.T) {
			var first string
			for range 2 {
				r, err := e.Run(context.Background(), env)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Write(env.Out, e.Name); err != nil {
					t.Fatal(err)
				}
				b, err := os.ReadFile(filepath.Join(env.Out, e.Name+".csv"))
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Rows) == 0 || len(r.Notes) == 0 {
					t.Fatalf("%d rows, %d notes", len(r.Rows), len(r.Notes))
				}
				if first != "" && first != string(b) {
					t.Error("a second run gives another table")
				}
				first = string(b)
			}
		})
	}
}

// TestReference compares settings A's od-all and greedy with an independent implementation:
// site means in percent at k = 3, 10, 30, 100.
func TestReference(t *testing.T) {
	env := &Env{Data: shared.Path(t, "data", "sites")}
	budgets := []int{3, 10, 30, 100}
	want := map[string][]float64{
		"html od-all": {74.4, 77.4, 81.2, 84.5}, "all od-all": {80.8, 83.7, 85.7, 87.8},
		"html greedy": {95.0, 96.8, 98.6, 100}, "all greedy": {97.9, 98.9, 99.6, 100},
	}
	got := map[string][]float64{}
	n := make(map[string]float64)
	results := make([]map[string][]float64, 200)
	_, err := eachSite(context.Background(), env, func(i int, s *site) error {
		results[i] = map[string][]float64{}
		for _, candidates := range []string{"html", "all"} {
			first, weeks := s.recrawls(candidates == "all")
			for _, name := range []string{"od-all", "greedy"} {
				for _, k := range budgets {
					p, err := policy(name, 1)
					if err != nil {
						return err
					}
					a := s.periodic(p, k, first, weeks)
					results[i][candidates+" "+name] = append(results[i][candidates+" "+name], a.coverage())
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, bySite := range results {
		for name, shares := range bySite {
			if got[name] == nil {
				got[name] = make([]float64, len(budgets))
			}
			n[name]++
			for j, x := range shares {
				got[name][j] += 100 * x
			}
		}
	}
	for name, shares := range want {
		for j := range shares {
			if g := got[name][j] / n[name]; g < shares[j]-.1 || g > shares[j]+.1 {
				t.Errorf("%s at k = %d: %.2f, want %.1f", name, budgets[j], g, shares[j])
			}
		}
	}
}

// TestPoliciesSeeNoFuture renumbers a site at random and runs it in setting B: what a policy
// finds must not depend on the numbers of the history.
func TestPoliciesSeeNoFuture(t *testing.T) {
	env := blog(t)
	s, err := readSite(filepath.Join(env.Data, "blog.snap.gz"))
	if err != nil {
		t.Fatal(err)
	}
	_, weeks := s.recrawls(true)
	truths := []truth{s.truth(weeks)}
	turned := s.renumbered(rand.New(rand.NewPCG(7, 7)))
	_, weeks = turned.recrawls(true)
	truths = append(truths, turned.truth(weeks))
	for _, d := range paper.Policies() {
		for _, k := range []int{1, 5} {
			var fetched [2][]string
			var found [2]tally
			for i, at := range []*site{s, turned} {
				p, err := policy(d.Name, 1)
				if err != nil {
					t.Fatal(err)
				}
				run := at.budgeted(p, true, "none")
				run.served = func(_ int, v graph.Node, _ *revisit.Answer) { fetched[i] = append(fetched[i], at.urls[v]) }
				found[i] = run.run(k, truths[i])
			}
			if !slices.Equal(fetched[0], fetched[1]) || found[0].found != found[1].found {
				t.Errorf("%s, k = %d: %d pages found with the history's numbers, %d with others", d.Name, k, found[0].found, found[1].found)
			}
		}
	}
}

// renumbered returns s with its pages, and its lists, in another order.
func (s *site) renumbered(r *rand.Rand) *site {
	n := len(s.urls)
	to := make([]graph.Node, n)
	for i, v := range r.Perm(s.pages) {
		to[i] = graph.Node(v)
	}
	for i, v := range r.Perm(n - s.pages) {
		to[s.pages+i] = graph.Node(s.pages + v)
	}
	out := *s
	out.urls, out.kind = make([]string, n), make([]revisit.Kind, n)
	out.reached, out.listed, out.main = never(n), never(n), never(n)
	out.home = to[s.home]
	for v, u := range to {
		out.urls[u], out.kind[u], out.reached[u], out.listed[u], out.main[u] = s.urls[v], s.kind[v], s.reached[v], s.listed[v], s.main[v]
	}
	move := func(nodes []graph.Node) []graph.Node {
		var moved []graph.Node
		for _, v := range nodes {
			moved = append(moved, to[v])
		}
		slices.Sort(moved)
		return moved
	}
	out.weeks = nil
	for _, w := range s.weeks {
		m := week{time: w.time, alive: make([]bool, n), links: make([][]graph.Node, n), ver: make([]int32, n), reach: make([]bool, n),
			fresh: move(w.fresh), well: move(w.well), count: w.count}
		for v, u := range to {
			m.alive[u], m.links[u], m.ver[u], m.reach[u] = w.alive[v], move(w.links[v]), w.ver[v], w.reach[v]
		}
		out.weeks = append(out.weeks, m)
	}
	return &out
}
