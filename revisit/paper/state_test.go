package paper

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"forage/graph"
	"forage/revisit"
)

// TestStates: for each policy whose state can be kept, the state at each cut of a made-up history
// and the records after it lead to the same choices as all records do.
func TestStates(t *testing.T) {
	savers := 0
	for _, d := range Policies() {
		if _, ok := d.Make(revisit.Config{Alpha: 1}).(revisit.Saver); !ok {
			continue
		}
		savers++
		for seed := range uint64(20) {
			site := func() *revisit.Site { return revisit.NewSite(d.Make(revisit.Config{Alpha: 1, Seed: seed})) }
			live := site()
			r := rand.New(rand.NewPCG(seed, 9))
			live.Start(dated(firstCrawl()))
			records := [][]byte{live.Record()}
			owner := revisit.Owner(d.Name, revisit.Config{})
			lived := [][]byte{state(t, live, owner)} // at each cut, of a policy that chose, which may not be as one that was told
			next := revisit.Key(10)
			for cycle := 1; cycle <= 12; cycle++ {
				wander(live, r, cycle, &next)
				records = append(records, live.Record())
				lived = append(lived, state(t, live, owner))
			}
			whole := site()
			var told [][]byte
			for _, b := range records {
				if err := whole.Replay(b); err != nil {
					t.Fatal(err)
				}
				told = append(told, state(t, whole, owner))
			}
			end := state(t, whole, owner)
			want := choices(whole)
			for cut := range records {
				for i, b := range [][]byte{told[cut], lived[cut]} {
					s := site()
					if err := s.Restore(b, owner); err != nil {
						t.Fatalf("%s, seed %d, cut %d: %v", d.Name, seed, cut, err)
					}
					if !bytes.Equal(state(t, s, owner), b) {
						t.Fatalf("%s, seed %d, cut %d: what was restored has another state", d.Name, seed, cut)
					}
					for _, b := range records[cut+1:] {
						if err := s.Replay(b); err != nil {
							t.Fatal(err)
						}
					}
					if i == 0 && !bytes.Equal(state(t, s, owner), end) {
						t.Fatalf("%s, seed %d, cut %d: another state at the end", d.Name, seed, cut)
					}
					if got := choices(s); got != want {
						t.Fatalf("%s, seed %d, cut %d: goes on with\n%s, told all with\n%s", d.Name, seed, cut, got, want)
					}
				}
			}
		}
	}
	if savers < 5 {
		t.Errorf("%d policies have states", savers)
	}
}

func dated(docs []revisit.Document) []revisit.Document {
	for i := range docs {
		docs[i].Seen = revisit.Time(-1000 * i)
	}
	return docs
}

func state(t *testing.T, s *revisit.Site, owner string) []byte {
	t.Helper()
	b, ok := s.AppendState(nil, owner)
	if !ok {
		t.Fatal("no state")
	}
	return b
}

// wander is one made-up cycle, full or not.
func wander(s *revisit.Site, r *rand.Rand, cycle int, next *revisit.Key) {
	fetch := func() revisit.Answer {
		f := revisit.Answer{Gone: r.IntN(12) == 0, Failed: r.IntN(15) == 0, Modified: r.IntN(3) == 0}
		if !f.Gone && !f.Failed && r.IntN(3) == 0 {
			f.Changed, f.Links = true, r.IntN(100)
			for range r.IntN(4) {
				f.Gained = append(f.Gained, *next, revisit.Key(r.IntN(int(*next))))
				f.Found = append(f.Found, revisit.Document{Key: *next, Path: fmt.Sprintf("/%d/%d", r.IntN(3), *next), Kind: revisit.Kind(max(0, r.IntN(8)-5)),
					Links: []revisit.Key{revisit.Key(r.IntN(int(*next)))}})
				*next++
			}
		}
		return f
	}
	now := revisit.Time(cycle * day)
	if r.IntN(5) == 0 {
		s.BeginFull(now)
		for v := range graph.Node(s.NumDocuments()) {
			s.Observe(v, fetch())
		}
		s.End()
		return
	}
	s.Begin(now, 1+r.IntN(9))
	for range 1 + r.IntN(9) {
		v, ok := s.Next()
		if !ok {
			break
		}
		s.Observe(v, fetch())
	}
	s.End()
}

// choices are what a site's policy fetches in three cycles to come.
func choices(s *revisit.Site) string {
	var out []graph.Node
	for cycle := range 3 {
		s.Begin(revisit.Time((100+cycle)*day), 7)
		for range 7 {
			v, ok := s.Next()
			if !ok {
				break
			}
			out = append(out, v)
			s.Observe(v, revisit.Answer{Changed: v%3 == 0, Links: 1, Gone: v%7 == 6})
		}
		s.End()
	}
	return fmt.Sprint(out)
}
