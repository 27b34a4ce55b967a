package revisit

import (
	"math/rand/v2"
	"testing"

	"forage/graph"
)

// TestAudits: what a policy calls an audit is a document fetched longest ago, and it makes as
// many as it says.
func TestAudits(t *testing.T) {
	for name, every := range map[string]int{"best": bestTuning.audit, "index": indexAudit, "od-win-audit": 5, "feeds-first": 5, "round-robin": 0, "od-win": 0} {
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
					f := Fetch{Links: 3}
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
			if audits < want || every != 5 && audits > want || fetches < 50 && name != "od-win" {
				t.Errorf("%d audits in %d fetches, want %d", audits, fetches, want)
			}
		})
	}
}
