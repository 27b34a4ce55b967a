package explore_test

import (
	"fmt"

	"forage/explore"
	"forage/graph"
)

// A policy chooses the next node to query in a graph that only answers reveal. It numbers the
// nodes in the order in which it first hears of them.
func ExamplePolicy() {
	answers := map[graph.Node][]graph.Node{0: {1, 2}, 1: {0, 2, 3}, 2: {0, 1}, 3: {1}}
	p, err := explore.New("mod", explore.Config{}) // the node of the largest observed degree
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Observe(graph.None, []graph.Node{0}) // the start
	for {
		v, ok := p.Next()
		if !ok {
			break
		}
		fmt.Println("query", v)
		p.Observe(v, answers[v])
		if v == 1 {
			break
		}
	}
	// Output:
	// query 0
	// query 2
	// query 1
}

// Run drives a policy on a graph that is known, hidden from it, as the lab does.
func ExampleRun() {
	star := graph.FromLists([][]graph.Node{{1, 2, 3, 4}, {0}, {0}, {0}, {0, 5}, {4}})
	p, err := explore.New("bfs", explore.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	hidden := explore.NewHidden(star, 1)
	start, err := hidden.Start(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	queries, err := explore.Run(p, hidden, start, 6, nil)
	fmt.Println(queries, "queries,", hidden.Observed(), "nodes observed,", err)
	// Output: 6 queries, 6 nodes observed, <nil>
}
