package retain_test

import (
	"fmt"

	"forage/graph"
	"forage/retain"
)

// A buffer of two pages on a graph of five: pages 0 and 1 link to each other and everybody else
// links to them, so that they displace whatever was there, and stay.
func ExampleRun() {
	g := graph.FromLists([][]graph.Node{{1}, {0}, {0, 1}, {0, 1}, {0, 1}})
	d, err := retain.New(g, retain.Config{Buffer: 2, Ties: retain.ID}, []graph.Node{3, 4}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	l := retain.Run(d, 100)
	fmt.Printf("core %v from step %d on, period %d\n", l.Core, l.Transient, l.Period)
	// Output: core [0 1] from step 1 on, period 1
}

// A Keeper decides during a crawl which pages' links a bounded store keeps.
func ExampleKeeper() {
	k, err := retain.NewKeeper(retain.KeeperConfig{Pages: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	const host1, host2, host3 = 1, 2, 3
	k.Vote(host1, 7) // a page of host 1 links to page 7
	k.Vote(host2, 8)
	k.Vote(host3, 8)
	for _, page := range []graph.Node{7, 8} {
		if evict, full := k.Fetched(page); full {
			fmt.Printf("page %d was fetched: give up page %d\n", page, evict)
		} else {
			fmt.Printf("page %d was fetched: there is room\n", page)
		}
	}
	// Output:
	// page 7 was fetched: there is room
	// page 8 was fetched: give up page 7
}
