package paper

import (
	"slices"
	"testing"

	"forage/graph"
	"forage/revisit"
)

// TestListsFirst: lists and home in every cycle, the others in turn; what was gone gets one more
// look in its turn, a list too, and what fails keeps its rank.
func TestListsFirst(t *testing.T) {
	p := NewListsFirst()
	for v, profile := range []revisit.Profile{
		{Home: true}, {}, {}, {Kind: revisit.Feed, Main: true}, {Kind: revisit.Sitemap, Main: true}, {Kind: revisit.Feed},
	} {
		p.Learn(graph.Node(v), profile)
	}
	for i, cycle := range []struct {
		budget       int
		gone, failed []graph.Node
		want         []graph.Node
	}{
		{budget: 2, want: []graph.Node{3, 4}},                                       // lists before home
		{budget: 2, want: []graph.Node{0, 3}},                                       // home was never fetched
		{budget: 4, want: []graph.Node{4, 3, 0, 1}},                                 // of 3 and 0 in one cycle, home last
		{budget: 5, failed: []graph.Node{3}, want: []graph.Node{3, 4, 0, 2, 5}},     //
		{budget: 4, gone: []graph.Node{4}, want: []graph.Node{3, 4, 0, 1}},          //
		{budget: 4, gone: []graph.Node{1}, want: []graph.Node{3, 0, 2, 5}},          // 4 is in the queue with all others
		{budget: 4, gone: []graph.Node{1, 4}, want: []graph.Node{3, 0, 1, 4}},       //
		{budget: 9, gone: []graph.Node{1}, want: []graph.Node{3, 0, 2, 5, 1}},       // 4 no more
		{budget: 9, gone: []graph.Node{0, 2, 3, 5}, want: []graph.Node{3, 0, 2, 5}}, // 1 no more
		{budget: 9, gone: []graph.Node{2, 3}, want: []graph.Node{0, 2, 3, 5}},       // nothing ranks first now
		{budget: 9, want: []graph.Node{0, 5}},                                       // home answers again
	} {
		p.Begin(revisit.Time(i), cycle.budget)
		var got []graph.Node
		for len(got) < cycle.budget {
			v, ok := p.Next()
			if !ok {
				break
			}
			got = append(got, v)
			p.Observe(revisit.Refetch{Page: v, Gone: slices.Contains(cycle.gone, v), Failed: slices.Contains(cycle.failed, v)})
		}
		p.End(revisit.Cycle{})
		if !slices.Equal(got, cycle.want) {
			t.Fatalf("cycle %d: %v, want %v", i+1, got, cycle.want)
		}
	}
	p.End(revisit.Cycle{Full: true, Gone: []graph.Node{0}, Back: []graph.Node{4}})
	p.Begin(99, 9)
	if v, _ := p.Next(); v != 4 {
		t.Errorf("after a full recrawl that found it again, the sitemap is not first, but %d", v)
	}
}
