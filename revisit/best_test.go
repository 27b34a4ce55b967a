package revisit

import (
	"slices"
	"testing"

	"forage/graph"
)

// TestTwins tells best of eight cycles. Documents 0 and 1 show each one's new page, 2 showed
// one of its own once, 3 nothing. After a full recrawl one of the twins is worth a fetch;
// after a budgeted cycle, or for the least difference between them, the other comes second.
func TestTwins(t *testing.T) {
	for _, c := range []struct {
		name  string
		full  bool
		apart bool // document 1 once showed a page of its own
		want  []graph.Node
	}{
		{"recrawled", true, false, []graph.Node{0, 2}},
		{"one difference", true, true, []graph.Node{1, 0}},
		{"budgeted", false, false, []graph.Node{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBest(0)
			for v := range graph.Node(4) {
				b.Learn(v, Page{Template: int32(v), Links: 30})
			}
			next := graph.Node(4)
			for week := range 8 {
				b.Begin(Time(week), 4)
				shows := map[graph.Node][]graph.Node{0: {next}, 1: {next}}
				fresh := []graph.Node{next}
				if week == 2 {
					fresh = append(fresh, next+1)
					shows[2] = []graph.Node{next + 1}
				}
				if week == 3 && c.apart {
					fresh = append(fresh, next+1)
					shows[1] = append(shows[1], next+1)
				}
				next += graph.Node(len(fresh))
				for _, y := range fresh {
					b.Learn(y, Page{Template: 4, Depth: 3})
				}
				for v := range graph.Node(4) {
					b.Observe(Visit{Page: v, Cost: 1, Led: shows[v]})
				}
				h := NewH(fresh, nil, []graph.Node{0, 1, 2, 3}, func(v graph.Node) []graph.Node { return shows[v] })
				b.End(Cycle{Full: c.full || week < 7, New: len(fresh), H: h})
			}
			b.Begin(8, 2)
			var got []graph.Node
			for range 2 {
				v, ok := b.Next()
				if !ok {
					t.Fatal("nothing to fetch")
				}
				got = append(got, v)
				b.Observe(Visit{Page: v, Cost: 1})
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("fetches %v, want %v", got, c.want)
			}
		})
	}
}
