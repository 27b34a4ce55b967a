package revisit

import (
	"math"
	"math/rand/v2"
	"testing"

	"forage/graph"
)

// TestAudits: what a policy calls an audit is a document fetched longest ago, and it makes as
// many as it says.
func TestAudits(t *testing.T) {
	for name, every := range map[string]int{"best": bestTuning.audit, "index": indexAudit, "od-win-audit": 5, "feeds-first": 5, "round-robin": 0} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 5))
			p, err := New(name, Config{})
			if err != nil {
				t.Fatal(err)
			}
			s := NewSite(p)
			s.Start(firstCrawl())
			next := Key(10)
			last := map[graph.Node]int{}
			fetches, audits := 0, 0
			for cycle := 1; cycle <= 60; cycle++ {
				s.Begin(Time(cycle), 4)
				for range 4 {
					old := graph.Node(s.NumDocuments())
					v, ok := s.Next()
					if !ok {
						break
					}
					fetches++
					if s.Audit() {
						audits++
						for u := range old {
							if int(s.found[u]) < cycle && last[u] < last[v] {
								t.Fatalf("cycle %d: %d is called an audit, last fetched in %d; %d was in %d", cycle, v, last[v], u, last[u])
							}
						}
					}
					f := Answer{Links: 3}
					if r.IntN(3) == 0 {
						f.Changed, f.Gained = true, []Key{next}
						f.Found = []Document{{Key: next, Path: "/2019/" + string(rune('a'+next%26)), Links: []Key{0}}}
						next++
					}
					s.Observe(v, f)
					last[v] = cycle
					for u := old; int(u) < s.NumDocuments(); u++ {
						last[u] = cycle
					}
				}
				s.End()
			}
			want := 0
			if every > 0 {
				want = fetches / every
			}
			// od-win-audit goes round where nothing is known to be worth a fetch.
			if audits < want || every != 5 && audits > want || fetches < 50 {
				t.Errorf("%d audits in %d fetches, want %d", audits, fetches, want)
			}
		})
	}
}

func TestEstimate(t *testing.T) {
	pages := func(first, n int) (out []graph.Node) {
		for i := range n {
			out = append(out, graph.Node(first+i))
		}
		return out
	}
	hub := PastRefetch{Page: 0, Found: pages(100, 30), Led: pages(100, 30)}
	audit := func(page int, found, shown []graph.Node) PastRefetch {
		return PastRefetch{Page: graph.Node(page), Audit: true, Gap: 1, Found: found, Led: found, Shown: append(found, shown...)}
	}
	late := func(l PastRefetch) PastRefetch { l.Gap = 2; return l }
	nan := math.NaN()
	for _, tt := range []struct {
		name      string
		documents int
		cycles    [][]PastRefetch
		want      Coverage
	}{
		{"no audit", 71, [][]PastRefetch{{hub}}, Coverage{Found: 30, Unseen: 70, Share: nan, Low: nan, High: nan}},
		{"nothing found", 41, [][]PastRefetch{{audit(1, nil, nil)}}, Coverage{Audits: 1, Unseen: 41, Share: nan, Low: nan, High: nan}},
		// 4 audits miss nothing, 36 documents are left. Wilson's upper end for none of 4·36/40 = 3.6
		// is 1.96²/(3.6+1.96²) = .51623.
		{"none missed", 71, [][]PastRefetch{{hub, audit(1, nil, pages(100, 9)), audit(2, nil, nil), audit(3, nil, nil), audit(4, nil, nil)}},
			Coverage{Found: 30, Audits: 4, Unseen: 70, Low: 30 / (30 + .51623*36), Share: 1, High: 1}},
		// One of 4 misses 3 pages; .04224 to .71588.
		{"missed", 74, [][]PastRefetch{{hub, audit(1, pages(200, 3), nil), audit(2, nil, nil), audit(3, nil, nil), audit(4, nil, nil)}},
			Coverage{Found: 33, Audits: 4, Unseen: 73, Hidden: .75 * 36, Low: 33 / (33 + .71588*3*36), Share: 33 / (33 + .75*36), High: 33 / (33 + .04224*3*36)}},
		// The same pages stand on a second document: nothing says that more are hidden.
		{"shown twice", 74, [][]PastRefetch{{hub, audit(1, pages(200, 3), nil), audit(2, nil, pages(200, 3)), audit(3, nil, nil), audit(4, nil, nil)}},
			Coverage{Found: 33, Audits: 4, Unseen: 73, Low: 33 / (33 + .71588*3*36), Share: 1, High: 1}},
		// A chosen fetch of the cycle shows them, after the audit.
		{"chosen too", 44, [][]PastRefetch{{audit(1, pages(200, 3), nil), {Page: 0, Led: pages(200, 3)}, audit(2, nil, nil), audit(3, nil, nil), audit(4, nil, nil)}},
			Coverage{Found: 3, Audits: 4, Unseen: 43, Low: 3 / (3 + .51623*36), Share: 1, High: 1}},
		// Two documents are audited by turns, each audit looks back over two cycles. Since then one
		// cycle has passed for the first and three for each of the three pages found: ten, as many
		// as five audits look back over. Wilson for 1 of 4, as if seen in 4·5/9: .02908 to .78768.
		{"by turns", 6, [][]PastRefetch{
			{{Page: 0, Found: pages(100, 1), Led: pages(100, 1)}, late(audit(1, pages(200, 2), nil))}, {late(audit(2, nil, nil))}, {late(audit(1, nil, nil))}, {late(audit(2, nil, nil))}},
			Coverage{Found: 3, Audits: 4, Unseen: 5, Hidden: 2.5, Low: 3 / (3 + .78768*2*5), Share: 3 / 5.5, High: 3 / (3 + .02908*2*5)}},
		{"all chosen", 1, [][]PastRefetch{{hub, {Page: 0, Audit: true, Gap: 1}}}, Coverage{Found: 30, Audits: 1, Low: 1, Share: 1, High: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Estimate(tt.cycles, tt.documents)
			if c.Found != tt.want.Found || c.Audits != tt.want.Audits || c.Unseen != tt.want.Unseen || !near(c.Hidden, tt.want.Hidden) ||
				!near(c.Low, tt.want.Low) || !near(c.Share, tt.want.Share) || !near(c.High, tt.want.High) {
				t.Errorf("Estimate = %+v, want %+v", c, tt.want)
			}
		})
	}
}

func near(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-4
}

// TestEstimateHolds draws sites that are as Estimate supposes: a hub that shows most new pages,
// documents that hide others, each its own, and audits that go round all of them, those found
// meanwhile included. The interval must hold the truth at nine of ten sites.
func TestEstimateHolds(t *testing.T) {
	const sites = 1000
	held, bias := 0, 0.
	for seed := range uint64(sites) {
		r := rand.New(rand.NewPCG(seed, 9))
		rate, each := .02*r.Float64(), 1+r.IntN(4)
		first := r.IntN(40) // cycles before those that are looked at
		hides, last := make([][]graph.Node, 20+r.IntN(200)), make([]int, 220)
		var queue []graph.Node // by last fetch
		for v := range hides {
			queue = append(queue, graph.Node(v))
		}
		born := map[graph.Node]int{} // by hidden page
		next, hub := 1000, PastRefetch{Page: 999}
		fresh := func() graph.Node { next++; return graph.Node(next) }
		var cycles [][]PastRefetch
		for t := 1; t <= first+30; t++ {
			hub.Found = nil
			var refetches []PastRefetch
			add := func(y graph.Node) { // it is a document now
				for int(y) >= len(hides) {
					hides, last = append(hides, nil), append(last, 0)
				}
				last[y] = t
				queue = append(queue, y)
			}
			for _, v := range queue {
				if r.Float64() < rate {
					for range 1 + r.IntN(3) {
						y := fresh()
						hides[v], born[y] = append(hides[v], y), t
					}
				}
			}
			for range each {
				v := queue[0]
				refetches = append(refetches, PastRefetch{Page: v, Audit: true, Gap: t - last[v], Found: hides[v], Led: hides[v], Shown: hides[v]})
				queue, last[v] = append(queue[1:], v), t
				for _, y := range hides[v] {
					delete(born, y)
					add(y)
				}
				hides[v] = nil
			}
			for range 1 + r.IntN(9) {
				y := fresh()
				hub.Found = append(hub.Found, y)
				add(y)
			}
			hub.Led = hub.Found
			cycles = append(cycles, append(refetches, hub))
		}
		hidden := 0
		for _, t := range born {
			if t > first {
				hidden++
			}
		}
		c := Estimate(cycles[first:], len(queue)+1)
		truth := float64(c.Found) / float64(c.Found+hidden)
		if !(0 <= c.Low && c.Low <= c.Share && c.Share <= c.High && c.High <= 1) {
			t.Fatalf("seed %d: %+v", seed, c)
		}
		if c.Low <= truth && truth <= c.High {
			held++
		}
		bias += (c.Share - truth) / sites
	}
	t.Logf("%d of %d intervals hold; the mean estimate is off by %+.1f points", held, sites, 100*bias)
	if held < sites*9/10 || math.Abs(bias) > .03 {
		t.Errorf("%d of %d intervals hold, the mean estimate is off by %+.1f points", held, sites, 100*bias)
	}
}

// TestHubs compares with the cover by definition.
func TestHubs(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 11))
		next, n := 100, 1+r.IntN(6)
		var cycles [][]PastRefetch
		led := map[graph.Node]map[graph.Node]bool{}
		for range 1 + r.IntN(5) {
			var fresh []graph.Node
			for range r.IntN(8) {
				fresh = append(fresh, graph.Node(next))
				next++
			}
			var refetches []PastRefetch
			for _, v := range r.Perm(8)[:r.IntN(8)] {
				l := PastRefetch{Page: graph.Node(v), Audit: r.IntN(2) == 0}
				if led[l.Page] == nil {
					led[l.Page] = map[graph.Node]bool{}
				}
				for _, y := range fresh {
					if r.IntN(3) == 0 {
						l.Led = append(l.Led, y)
						led[l.Page][y] = true
					}
				}
				refetches = append(refetches, l)
			}
			cycles = append(cycles, refetches)
		}
		covered := map[graph.Node]bool{}
		hubs := Hubs(cycles, n)
		for i := 0; ; i++ {
			best, most := graph.Node(0), 0
			for v := range graph.Node(8) {
				adds := 0
				for y := range led[v] {
					if !covered[y] {
						adds++
					}
				}
				if adds > most {
					best, most = v, adds
				}
			}
			if most == 0 || i == n {
				if len(hubs) != i {
					t.Fatalf("seed %d: %d hubs, want %d", seed, len(hubs), i)
				}
				break
			}
			if i >= len(hubs) || hubs[i].Page != best || hubs[i].Adds != most || hubs[i].Led != len(led[best]) {
				t.Fatalf("seed %d: hub %d of %+v, want %d, which adds %d of %d", seed, i, hubs, best, most, len(led[best]))
			}
			for y := range led[best] {
				covered[y] = true
			}
		}
	}
}
