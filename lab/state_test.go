package lab

import (
	"slices"
	"testing"

	"forage/graph"
	"forage/internal/shared"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/snap"
)

// TestStates: at each cut of a recorded history the state of a policy and the records after it
// lead to the same fetches as all records do.
func TestStates(t *testing.T) {
	const cycles, k = 40, 6
	for _, name := range []string{"drill", "kudu"} {
		h, err := snap.Open(shared.Path(t, "data", "sites3", name+".snap.gz"))
		if err != nil {
			t.Fatal(err)
		}
		p := findPublications(h)
		site := p.siteAt(h, p.cycles(2*day))
		for _, d := range paper.Policies() {
			if _, ok := d.Make(revisit.Config{Alpha: 1}).(revisit.Saver); !ok {
				continue
			}
			t.Run(name+"/"+d.Name, func(t *testing.T) {
				t.Parallel()
				b := site.delayedRun(d.Make(revisit.Config{Alpha: 1}))
				owner := revisit.Owner(d.Name, revisit.Config{})
				var records, states [][]byte
				keep := func() {
					records = append(records, b.site.Record())
					s, _ := b.site.AppendState(nil, owner)
					states = append(states, s)
				}
				b.start()
				keep()
				for c := 1; c <= cycles; c++ {
					b.site.Begin(revisit.Time(site.weeks[c].time), k)
					for range k {
						if v, ok := b.site.Next(); ok {
							b.site.Observe(v, b.fetch(c, graph.Node(b.site.Key(v))))
						}
					}
					b.site.End()
					keep()
				}
				// next are the documents that a policy fetches, told of all cycles.
				next := func(s *revisit.Site, records [][]byte) (fetched []graph.Node) {
					for _, b := range records {
						if err := s.Replay(b); err != nil {
							t.Fatal(err)
						}
					}
					for c := cycles + 1; c < cycles+10; c++ {
						s.Begin(revisit.Time(site.weeks[c].time), k)
						for range k {
							if v, ok := s.Next(); ok {
								s.Observe(v, revisit.Answer{NotModified: true})
								fetched = append(fetched, v)
							}
						}
						s.End()
					}
					return fetched
				}
				want := next(revisit.NewSite(d.Make(revisit.Config{Alpha: 1})), records)
				for cut, state := range states {
					s := revisit.NewSite(d.Make(revisit.Config{Alpha: 1}))
					if err := s.Restore(state, owner); err != nil {
						t.Fatal(err)
					}
					if got := next(s, records[cut+1:]); !slices.Equal(got, want) {
						t.Fatalf("restored after cycle %d it fetches %v, told of all cycles %v", cut, got, want)
					}
				}
				t.Logf("%d documents, state %d bytes, records %d + %d bytes", b.site.NumDocuments(), len(states[cycles]), len(records[0]), len(slices.Concat(records[1:]...)))
			})
		}
	}
}
