package revisit

import (
	"math"
	"math/rand/v2"
	"testing"

	"forage/graph"
)

// randomCoverGraph returns an H in which each of n old documents covers each of m new pages, numbered
// from n, with a chance of its own, and N(x) of all old documents.
func randomCoverGraph(r *rand.Rand, n, m int) (*CoverGraph, [][]graph.Node) {
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
	return NewCoverGraph(fresh, nil, old, func(v graph.Node) []graph.Node {
		if int(v) < n {
			return cover[v]
		}
		return nil
	}), cover
}

// TestVanishingSite: after weeks of 404 everywhere, best takes the site up again.
func TestVanishingSite(t *testing.T) {
	for _, name := range []string{"best", "index", "round-robin"} {
		p, err := New(name, Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := NewSite(p)
		s.Start(firstCrawl())
		fetches := 0
		for week := range 12 {
			s.Begin(Time(week), 3)
			for range 3 {
				v, ok := s.Next()
				if !ok {
					break
				}
				f := Answer{Gone: week >= 2 && week < 8, Links: 3}
				if week >= 8 {
					fetches++
				}
				refetch := s.Observe(v, f)
				if refetch.Found != nil {
					t.Fatal("an old page is found again")
				}
			}
			if c := s.End(); c.New != 0 {
				t.Fatalf("%s, week %d: %d new pages", name, week, c.New)
			}
		}
		if name == "best" && fetches < 3 {
			t.Errorf("%s fetches %d documents after the site's return, want some", name, fetches)
		}
	}
}
