package revisit

import (
	"slices"

	"forage/graph"
)

// A Hub is an old document that leads to many new pages.
type Hub struct {
	Page    graph.Node
	Led     int // pages of these cycles that it led to
	Adds    int // of them, to which no hub before it led
	Found   int // of them, found first by its fetches
	Fetches int
}

// Hubs returns the documents that led to most pages found in these cycles: a greedy cover, so
// that two documents which show the same do not both count, ties to the lower number, at most
// n and none that adds nothing. O(n × pages that the refetches led to).
func Hubs(cycles [][]PastRefetch, n int) []Hub {
	type document struct {
		Hub
		led []graph.Node // distinct: a page is found in one cycle
	}
	var all []document
	at := map[graph.Node]int{}
	for _, refetches := range cycles {
		for i := range refetches {
			r := &refetches[i]
			j, ok := at[r.Page]
			if !ok {
				j = len(all)
				at[r.Page] = j
				all = append(all, document{Hub: Hub{Page: r.Page}})
			}
			d := &all[j]
			d.Fetches++
			d.Found += len(r.Found)
			d.Led += len(r.Led)
			d.led = append(d.led, r.Led...)
		}
	}
	// In the order of their numbers, so that the strict comparison below gives ties to the lower.
	slices.SortFunc(all, func(a, b document) int { return int(a.Page) - int(b.Page) })
	// Gains are counted anew for each hub: there are few hubs, and few documents lead anywhere.
	var hubs []Hub
	covered := map[graph.Node]bool{}
	for len(hubs) < n {
		best, most := -1, 0
		for j := range all {
			adds := 0
			for _, y := range all[j].led {
				if !covered[y] {
					adds++
				}
			}
			if adds > most {
				best, most = j, adds
			}
		}
		if best < 0 {
			break
		}
		for _, y := range all[best].led {
			covered[y] = true
		}
		all[best].Adds = most
		hubs = append(hubs, all[best].Hub)
	}
	return hubs
}
