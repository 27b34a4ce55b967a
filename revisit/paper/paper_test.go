package paper

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forage/graph"
	"forage/revisit"
)

// randomCoverGraph returns an H in which each of n old documents covers each of m new pages, numbered
// from n, with a chance of its own, and N(x) of all old documents.
func randomCoverGraph(r *rand.Rand, n, m int) (*revisit.CoverGraph, [][]graph.Node) {
	cover := make([][]graph.Node, n)
	var fresh, old []graph.Node
	for y := range m {
		fresh = append(fresh, graph.Node(n+y))
	}
	for x := range n {
		old = append(old, graph.Node(x))
		p := math.Pow(r.Float64(), 3)
		for _, y := range fresh {
			if r.Float64() < p {
				cover[x] = append(cover[x], y)
			}
		}
	}
	return revisit.NewCoverGraph(fresh, nil, old, func(v graph.Node) []graph.Node {
		if int(v) < n {
			return cover[v]
		}
		return nil
	}), cover
}

func union(cover [][]graph.Node, chosen []graph.Node) int {
	seen := map[graph.Node]bool{}
	for _, x := range chosen {
		for _, y := range cover[x] {
			seen[y] = true
		}
	}
	return len(seen)
}

func both(a, b []graph.Node) int {
	n := 0
	for _, y := range a {
		if slices.Contains(b, y) {
			n++
		}
	}
	return n
}

func jaccard(a, b []graph.Node) float64 {
	i := both(a, b)
	if len(a)+len(b) == i {
		return 1
	}
	return float64(i) / float64(len(a)+len(b)-i)
}

// optimum returns the best k-cover by trying all.
func optimum(cover [][]graph.Node, k int) int {
	best := 0
	var try func(from int, chosen []graph.Node)
	try = func(from int, chosen []graph.Node) {
		best = max(best, union(cover, chosen))
		if len(chosen) == k {
			return
		}
		for x := from; x < len(cover); x++ {
			try(x+1, append(chosen, graph.Node(x)))
		}
	}
	try(0, nil)
	return best
}

// TestCover compares the lazy greedy cover with the paper's loop.
func TestCover(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		h, cover := randomCoverGraph(r, 1+r.IntN(12), 1+r.IntN(30))
		k, rho := r.IntN(8)-1, float64(r.IntN(11))/10
		got, gain := Cover(h, k, rho)
		total := 0
		for _, c := range h.New {
			total += len(c)
		}
		var want []graph.Node
		for (k < 0 || len(want) < k) && float64(union(cover, want)) < rho*float64(total) {
			best, most := graph.Node(0), 0
			for x := range cover {
				if n := union(cover, append(slices.Clone(want), graph.Node(x))) - union(cover, want); n > most {
					best, most = graph.Node(x), n
				}
			}
			if most == 0 {
				break
			}
			want = append(want, best)
			if i := len(want) - 1; i >= len(gain) || gain[i] != most {
				t.Fatalf("seed %d: gains %v, want %d at %d", seed, gain, most, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: Cover(%d, %g) = %v, want %v", seed, k, rho, got, want)
		}
	}
}

// TestLemma1: OD with true p reaches p_[1] / (p_[1] + Σ_{i=k+1}^{2k−1} p_[i]) of the optimum
// [DGKOPT07, Lemma 1].
func TestLemma1(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		_, cover := randomCoverGraph(r, 2+r.IntN(9), 1+r.IntN(20))
		for k := 1; k <= 4; k++ {
			order := byDegree(cover)
			od := union(cover, order[:min(k, len(order))])
			best := optimum(cover, k)
			if best == 0 {
				continue
			}
			p := func(i int) float64 { // p_[i], from 1
				if i > len(order) {
					return 0
				}
				return float64(len(cover[order[i-1]]))
			}
			rest := 0.0
			for i := k + 1; i <= 2*k-1; i++ {
				rest += p(i)
			}
			if bound := p(1) / (p(1) + rest); float64(od)/float64(best) < bound-1e-9 {
				t.Fatalf("seed %d, k = %d: OD finds %d of %d, below the bound %g", seed, k, od, best, bound)
			}
		}
	}
}

func byDegree(cover [][]graph.Node) []graph.Node {
	var order []graph.Node
	for x := range cover {
		order = append(order, graph.Node(x))
	}
	slices.SortStableFunc(order, func(a, b graph.Node) int { return cmp.Compare(len(cover[b]), len(cover[a])) })
	return order
}

// blocks returns covers that fall into classes: nearly the same within a class, nearly
// disjoint between classes.
func blocks(r *rand.Rand) [][]graph.Node {
	var cover [][]graph.Node
	page := graph.Node(100)
	for range 1 + r.IntN(4) {
		size := 4 + r.IntN(12)
		var all []graph.Node
		for range size {
			all = append(all, page)
			page++
		}
		for range 1 + r.IntN(3) {
			n := slices.Clone(all)
			if r.IntN(2) == 0 {
				n = slices.Delete(n, 0, r.IntN(2))
			}
			if len(cover) > 0 && r.IntN(4) == 0 && !slices.Contains(n, cover[0][0]) {
				n = append(n, cover[0][0])
			}
			cover = append(cover, n)
		}
	}
	return cover
}

func epsilons(cover [][]graph.Node, large float64) (b, s float64) {
	for i := range cover {
		for j := range i {
			if x := jaccard(cover[i], cover[j]); x >= large {
				b = max(b, 1-x)
			} else {
				s = max(s, x)
			}
		}
	}
	return b, s
}

func clusters(cover [][]graph.Node, far float64) [][]graph.Node {
	var fresh, old []graph.Node
	for x := range cover {
		old = append(old, graph.Node(x))
		fresh = append(fresh, cover[x]...)
	}
	slices.Sort(fresh)
	fresh = slices.Compact(fresh)
	h := revisit.NewCoverGraph(fresh, nil, old, func(v graph.Node) []graph.Node {
		if int(v) < len(cover) {
			return cover[v]
		}
		return nil
	})
	return Clusters(h, far)
}

// TestLemma2: where 2ε_b + ε_s < 1 and every pair is near or far, clusters are equivalence
// classes [DGKOPT07, Lemma 2]. At ε_b = ε_s = 1/3, which the paper allows, they are not.
func TestLemma2(t *testing.T) {
	checked := 0
	for seed := range uint64(500) {
		cover := blocks(rand.New(rand.NewPCG(seed, 5)))
		b, s := epsilons(cover, .5)
		if 2*b+s >= 1 {
			continue
		}
		checked++
		for _, class := range clusters(cover, b+1e-12) {
			for _, i := range class {
				for _, j := range class {
					if jaccard(cover[i], cover[j]) < 1-b-1e-9 {
						t.Fatalf("seed %d: %d and %d are in one class at %g", seed, i, j, jaccard(cover[i], cover[j]))
					}
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d cases", checked)
	}
	counter := [][]graph.Node{{10, 11}, {10, 11, 12}, {11, 12}}
	if got := clusters(counter, 1./3+1e-12); len(got) != 1 || jaccard(counter[0], counter[2]) >= 2./3 {
		t.Errorf("{a,b}, {a,b,c}, {b,c}: classes %v, want one that is no equivalence class", got)
	}
}

// TestTheorem1: CLIQ with true p reaches (1 − k'ε_s)/(1 + kε_b) of the optimum
// [DGKOPT07, Theorem 1].
func TestTheorem1(t *testing.T) {
	for seed := range uint64(200) {
		cover := blocks(rand.New(rand.NewPCG(seed, 6)))
		b, s := epsilons(cover, .5)
		if 2*b+s >= 1 || len(cover) > 9 {
			continue
		}
		var heads []graph.Node
		for _, class := range clusters(cover, b+1e-12) {
			heads = append(heads, slices.MaxFunc(class, func(x, y graph.Node) int {
				return cmp.Or(cmp.Compare(len(cover[x]), len(cover[y])), cmp.Compare(y, x))
			}))
		}
		slices.SortStableFunc(heads, func(x, y graph.Node) int { return cmp.Compare(len(cover[y]), len(cover[x])) })
		for k := 1; k <= 3; k++ {
			chosen := heads[:min(k, len(heads))]
			bound := (1 - float64(len(chosen))*s) / (1 + float64(k)*b)
			if got, best := union(cover, chosen), optimum(cover, k); float64(got) < bound*float64(best)-1e-9 {
				t.Fatalf("seed %d, k = %d: CLIQ finds %d of %d, below the bound %g", seed, k, got, best, bound)
			}
		}
	}
}

// naive is a policy of the paper written down again: p by the formula, over kept covers.
type naive struct {
	name  string
	alpha float64
	t     int
	past  []naiveCycle
	gone  map[graph.Node]bool
	n     int
}

type naiveCycle struct {
	t     int
	cover [][]graph.Node
	total int
}

func (p *naive) plan(k int) []graph.Node {
	type choice struct {
		v graph.Node
		q float64
	}
	at := func(v graph.Node, last bool) float64 {
		sum, weights := 0.0, 0.0
		for _, c := range p.past {
			if last && c.t != p.past[len(p.past)-1].t {
				continue
			}
			w := math.Pow(p.alpha, float64(p.t-c.t))
			sum += w * float64(len(c.cover[v])) / float64(c.total)
			weights += w
		}
		return sum / weights
	}
	if len(p.past) == 0 {
		return nil
	}
	var all []choice
	for v := range p.n {
		if q := at(graph.Node(v), strings.HasSuffix(strings.TrimSuffix(p.name, "-disjoint"), "-1")); q > 0 && !p.gone[graph.Node(v)] {
			all = append(all, choice{graph.Node(v), q})
		}
	}
	slices.SortStableFunc(all, func(a, b choice) int {
		if math.Abs(a.q-b.q) < 1e-12 {
			return cmp.Compare(a.v, b.v)
		}
		return -cmp.Compare(a.q, b.q)
	})
	var out []graph.Node
	of := p.clusters()
	for _, c := range all {
		if len(out) < k && !slices.ContainsFunc(out, func(v graph.Node) bool { return of[v] == of[c.v] }) {
			out = append(out, c.v)
		}
	}
	return out
}

// clusters numbers the clusters of the latest recrawl, where the policy clusters at all: otherwise each
// document is one.
func (p *naive) clusters() []int {
	of := make([]int, p.n)
	for v := range of {
		of[v] = v
	}
	if !strings.HasSuffix(p.name, "-disjoint") {
		return of
	}
	cover := p.past[len(p.past)-1].cover
	for again := true; again; {
		again = false
		for i := range of {
			for j := range of {
				if len(cover[i]) > 0 && len(cover[j]) > 0 && of[j] > of[i] && jaccard(cover[i], cover[j]) >= 1-cliqFar-1e-12 {
					of[j], again = of[i], true
				}
			}
		}
	}
	return of
}

// TestPaperPolicies compares od-win, od-1, both readings of cliq-win and cliq-1, and cov with naive ones
// over random recrawls.
func TestPaperPolicies(t *testing.T) {
	for seed := range uint64(100) {
		for _, name := range []string{"od-win", "od-1", "cliq-win", "cliq-1", "cliq-win-disjoint", "cliq-1-disjoint", "cov"} {
			r := rand.New(rand.NewPCG(seed, 7))
			const n = 12
			cfg := revisit.Config{Alpha: []float64{1, .8}[r.IntN(2)]}
			p, err := New(name, cfg)
			if err != nil {
				t.Fatal(err)
			}
			want := &naive{name: name, alpha: cfg.Alpha, gone: map[graph.Node]bool{}, n: n}
			for v := range graph.Node(n) {
				p.Learn(v, revisit.Profile{})
			}
			var latest *revisit.CoverGraph
			for range 8 {
				want.t++
				k := 1 + r.IntN(n)
				p.Begin(revisit.Time(want.t), k)
				var got []graph.Node
				for len(got) < k {
					v, ok := p.Next()
					if !ok {
						break
					}
					got = append(got, v)
				}
				plan := want.plan(k)
				if name == "cov" {
					plan = nil
					if latest != nil {
						cover, _ := Cover(latest, k, 1)
						for _, v := range cover {
							if !want.gone[v] {
								plan = append(plan, v)
							}
						}
					}
				}
				if !slices.Equal(got, plan) {
					t.Fatalf("seed %d, %s, cycle %d: chose %v, want %v", seed, name, want.t, got, plan)
				}
				h, cover := randomCoverGraph(r, n, r.IntN(6))
				c := revisit.Cycle{Full: r.IntN(3) > 0, H: h, New: h.NumNew()}
				if c.Full {
					for v := range graph.Node(n) {
						switch {
						case r.IntN(12) == 0 && !want.gone[v]:
							want.gone[v] = true
							c.Gone = append(c.Gone, v)
						case r.IntN(3) == 0 && want.gone[v]:
							want.gone[v] = false
							c.Back = append(c.Back, v)
						}
					}
					if h.NumNew() > 0 {
						latest = h
						want.past = append(want.past, naiveCycle{want.t, cover, h.NumNew()})
					}
				}
				p.End(c)
			}
		}
	}
}

// TestPolicies runs every policy over made-up sites: it never names a document twice in a
// cycle, nor one that is new, and it is the same again with the same seed.
func TestPolicies(t *testing.T) {
	for _, d := range Policies() {
		t.Run(d.Name, func(t *testing.T) {
			for seed := range uint64(30) {
				var told [2]string
				for i := range told {
					told[i] = drive(t, d.Name, seed)
				}
				if told[0] != told[1] {
					t.Fatalf("seed %d: two runs differ:\n%s\n%s", seed, told[0], told[1])
				}
			}
		})
	}
}

// drive runs a policy on a made-up site through budgeted and full cycles.
func drive(t *testing.T, name string, seed uint64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 8))
	p, err := New(name, revisit.Config{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	s := revisit.NewSite(p)
	s.Start(firstCrawl())
	next := revisit.Key(10)
	out := ""
	for range 12 {
		fetch := func(v graph.Node) revisit.Answer {
			f := revisit.Answer{Gone: r.IntN(20) == 0, Failed: r.IntN(20) == 0}
			if !f.Gone && !f.Failed && r.IntN(3) == 0 {
				f.Changed, f.Links = true, r.IntN(100)
				for range r.IntN(3) {
					f.Gained = append(f.Gained, next, revisit.Key(r.IntN(int(next))))
					f.Found = append(f.Found, revisit.Document{Key: next, Path: fmt.Sprintf("/%d/%d", r.IntN(3), next), Kind: revisit.Kind(max(0, r.IntN(8)-5)), Links: []revisit.Key{revisit.Key(r.IntN(int(next)))}})
					next++
				}
			}
			return f
		}
		if r.IntN(4) == 0 {
			s.BeginFull(revisit.Time(s.Cycle()))
			for v := range graph.Node(s.NumDocuments()) {
				s.Observe(v, fetch(v))
			}
			s.End()
			continue
		}
		k := 1 + r.IntN(8)
		s.Begin(revisit.Time(s.Cycle()), k)
		taken := map[graph.Node]bool{}
		for range k {
			v, ok := s.Next() // panics for a new document
			if !ok {
				break
			}
			if taken[v] {
				t.Fatalf("%s, seed %d, cycle %d: %d twice", name, seed, s.Cycle(), v)
			}
			taken[v] = true
			out += fmt.Sprint(v, " ")
			s.Observe(v, fetch(v))
		}
		s.End()
	}
	return out
}

// firstCrawl is a site of / (key 0), two posts, a feed that / links to, a sitemap index at a
// well-known place and its part.
func firstCrawl() []revisit.Document {
	return []revisit.Document{
		{Key: 0, Path: "/", Home: true, Links: []revisit.Key{1, 2, 3}},
		{Key: 1, Path: "/2019/10/b.html", Links: []revisit.Key{0}},
		{Key: 2, Path: "/2019/9/a.html", Links: []revisit.Key{0}},
		{Key: 3, Path: "/feed.xml", Kind: revisit.Feed, Links: []revisit.Key{0, 1, 2}},
		{Key: 4, Path: "/sitemap.xml", Kind: revisit.Sitemap, WellKnown: true, Links: []revisit.Key{5}},
		{Key: 5, Path: "/part.xml", Kind: revisit.Sitemap, Links: []revisit.Key{0, 1}},
	}
}

func TestNew(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"od-wim", `no revisit policy is called "od-wim": do you mean "od-win"? Else there are`},
		{"nonsense", `no revisit policy is called "nonsense": there are `},
	} {
		_, err := New(test.name, revisit.Config{})
		if err == nil || len(err.Error()) < len(test.want) || err.Error()[:len(test.want)] != test.want {
			t.Errorf("New(%q) = %v, want %s…", test.name, err, test.want)
		}
	}
	for _, d := range Policies() {
		if _, err := New(d.Name, revisit.Config{}); err != nil {
			t.Errorf("New(%q) = %v", d.Name, err)
		}
		if _, err := New(d.Name, revisit.Config{Alpha: 2}); err == nil {
			t.Errorf("New(%q) takes a decay of 2", d.Name)
		}
	}
}

// TestNeedsRecrawls: which policies name nothing before a full recrawl has led to a new page,
// whatever other cycles show, and that they name what led to it then.
func TestNeedsRecrawls(t *testing.T) {
	for _, d := range Policies() {
		p, err := New(d.Name, revisit.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := revisit.NewSite(p)
		s.Start(firstCrawl())
		next := revisit.Key(10)
		home := func() { // shows a new page
			v, _ := s.Node(0)
			s.Observe(v, revisit.Answer{Changed: true, Links: 4, Gained: []revisit.Key{next}, Found: []revisit.Document{{Key: next, Path: fmt.Sprint("/new/", next)}}})
			next++
		}
		names := func() (n int) {
			s.Begin(revisit.Time(s.Cycle()), 10)
			for _, ok := s.Next(); ok && n < 10; _, ok = s.Next() {
				n++
			}
			home()
			s.End()
			return n
		}
		first, second := names(), names()
		s.BeginFull(revisit.Time(s.Cycle()))
		home()
		s.End()
		third := names()
		if got := first == 0 && second == 0; got != NeedsRecrawls(d.Name) || third == 0 {
			t.Errorf("%s names %d and %d documents before a full recrawl and %d after it, NeedsRecrawls is %v", d.Name, first, second, third, NeedsRecrawls(d.Name))
		}
	}
}
