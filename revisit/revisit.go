// Package revisit decides which known pages to fetch again, so that links to new pages are
// found at the least cost, from the history of earlier fetches only.
//
// Start with Policy. The package never fetches: the caller does, and reports every outcome
// with Observe and every cycle with End.
package revisit

import "forage/graph"

// Time is whole seconds since the epoch.
type Time int64

// A Policy chooses, one after another, which old pages of one site to fetch again in one
// cycle. The caller calls Begin, then alternates Next, fetch, Observe, then calls End. A
// Policy is not safe for concurrent use.
type Policy interface {
	// Begin starts a cycle in which at most budget old pages may be fetched.
	Begin(now Time, budget int)
	// Next returns the next old page; ok=false: nothing left that is worth a fetch.
	Next() (v graph.Node, ok bool)
	// Observe reports what the fetch showed at once.
	Observe(v Visit)
	// End closes the cycle.
	End(c Cycle)
}

// A Visit is one fetch of an old page, with everything that it led to.
type Visit struct {
	Page    graph.Node
	Changed bool         // its content differs from the previous fetch
	Gone    bool         // 404 or 410
	Gained  []graph.Node // pages that it links to and did not link to before
	Found   []graph.Node // pages first found through this fetch, chains included
}

// A Cycle is the outcome of a whole cycle.
type Cycle struct {
	Full bool         // whether every known page was fetched
	New  []graph.Node // Y_t, the new pages of the cycle
	Led  []Led        // N(x) of the old pages fetched that led to new pages
}

// Led tells which new pages an old page leads to through paths of new pages (N(x) of
// [DGKOPT07, §2]), not only those that it showed first.
type Led struct {
	Page graph.Node
	New  []graph.Node
}
