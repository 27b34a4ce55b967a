package cover_test

import (
	"context"
	"fmt"

	"forage/cover"
	"forage/graph"
)

// Four pages link to five others. Two of them are enough to reach all five.
func Example() {
	pages := cover.NewLists([][]graph.Node{
		{0, 1},
		{0, 1, 2},
		{2, 3},
		{3, 4},
	})
	r, err := cover.Solve(context.Background(), pages, cover.NameFGreedy, cover.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, set := range r.Sets {
		fmt.Printf("set %d adds %d\n", set, r.Gains[i])
	}
	fmt.Printf("%d of %d elements are covered\n", r.Covered, r.Coverable)
	fmt.Println("verified:", cover.Verify(pages, r, cover.Options{}) == nil)
	// Output:
	// set 1 adds 3
	// set 3 adds 2
	// 5 of 5 elements are covered
	// verified: true
}

// With a budget of one set the largest is taken.
func ExampleOptions_budget() {
	pages := cover.NewLists([][]graph.Node{{0, 1}, {0, 1, 2}, {2, 3}})
	r, err := cover.Greedy(context.Background(), pages, cover.Options{Budget: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Sets, r.Covered, "of", r.Coverable)
	// Output: [1] 3 of 4
}
