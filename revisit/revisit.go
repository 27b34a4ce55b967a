// Package revisit decides which known pages to fetch again, so that links to new pages are
// found at the least cost, from the history of earlier fetches only.
//
// Start with Policy, which New makes by name. A policy never fetches and sees no URL: it is
// told of documents by number, with what there is to know of each (Profile), chooses with Next,
// and learns from the outcome of each fetch of an old document (Refetch) and of each cycle
// (Cycle). Best is the policy to use. History and Index are there for sites with frequent full
// recrawls and for those of millions of documents, RoundRobin and Audit to compare with. The
// policies of the paper are in package revisit/paper.
//
// Site stands between a policy and whoever fetches. It numbers documents, follows which page
// led to which, and keeps a record of every cycle, from which any policy can be brought up to
// date. The live crawl and the lab's simulation drive policies through it, so that both find
// the same pages with the same fetches.
package revisit

import "forage/graph"

// Time is whole seconds since the epoch.
type Time int64

// Kind tells what a document is. Only HTML, a page, is worth discovering; feeds and sitemaps are
// fetched again for the pages that they list.
type Kind uint8

// The kinds of documents.
const (
	HTML Kind = iota
	Feed
	Sitemap
)

// A Profile is what is known of a document (a page, feed or sitemap) from its URL and its first
// fetch. Everything that later fetches show is in Refetch.
type Profile struct {
	Kind     Kind
	Home     bool  // the page that the site starts from
	Main     bool  // a feed or sitemap at a well-known place, linked from home, or part of a main sitemap
	Index    bool  // a page whose name is one that lists of pages go by, as /blog/ or /archive.html
	Template int32 // pages with the same directory, digits masked, and extension share a number, from 0
	List     int32 // pages of one list that goes on over numbered pages share a number, from 1; 0: none
	Number   int   // its number in List
	Depth    int   // directories in its path; 0 at the root
	Links    int   // documents of the site that it links to
	Born     int   // cycle in which it was found; 0: the first crawl

	// Seen is when it was fetched first. 0, not known, occurs only for documents of the first
	// crawl, which records of earlier versions did not date; a policy then knows no more than
	// that it was before the first cycle.
	Seen Time
	// Published is the date that the page itself, or a list that names it, stated by the end of
	// its first fetch; 0: none did. Sites write what they like: it may lie anywhere, even in the
	// future, and be that of the last change.
	Published Time
}

// A Policy chooses, one after another, which old documents of one site to fetch again in one
// cycle. The caller calls Learn for every document of the first crawl. Then in each cycle it
// calls Begin, alternates Next, fetch and Observe, and calls End. Learn is called again before
// Observe or End for each document that these mention for the first time.
//
// Observe may come without Next, for a fetch that the caller chose, and whole cycles may pass
// so: a policy fed with the record of another policy's cycles is as good as one that chose
// them. A Policy is not safe for concurrent use and keeps no slice that it is given.
type Policy interface {
	// Learn tells of a document that was just seen for the first time, or that Main or
	// Links of a known one are different now. Nodes are small numbers but may leave gaps.
	Learn(v graph.Node, p Profile)
	// Begin starts a cycle in which at most budget old documents may be fetched.
	Begin(now Time, budget int)
	// Next returns the next old document, each at most once a cycle; ok=false: nothing left
	// that is worth a fetch. It names no document that was found in this cycle.
	Next() (v graph.Node, ok bool)
	// Observe reports what the fetch showed at once.
	Observe(r Refetch)
	// End closes the cycle.
	End(c Cycle)
}

// A Forecaster is a Policy that says what it expects, so that its fetches can be weighed against others.
type Forecaster interface {
	Policy
	// Expected returns how many new pages the document that Next would name now is expected to show; 0:
	// it would name none. Within a cycle only.
	Expected() float64
}

// A Replayer is a Policy that takes less time for cycles of which it is told afterwards.
type Replayer interface {
	Policy
	// Replaying(true) says that the cycles to come are replayed from records, so that Next will
	// not be called, until Replaying(false).
	Replaying(on bool)
}

// A LinkObserver is a Policy that can use the links among documents: which templates the pages of
// one lead to, say. Records hold these links only where the policy that was told was one.
type LinkObserver interface {
	// ObserveLinks tells of links of v to other known documents, ascending: after Learn of the
	// first crawl or of what a fetch found, of each of these documents with all of its links,
	// to none too; before the Observe of a fetch of v, or in a full recrawl before End, of those that
	// it gained. What it says of gained links may repeat earlier ones. Lost links are not told.
	ObserveLinks(v graph.Node, to []graph.Node)
}

// A Refetch is one fetch of an old document, with everything that it led to, as a policy is told
// of it. It holds only what Site also knows when it replays a record, so that a policy learns the
// same from a record as from the fetch. PastRefetch has what can be said of the same fetch when its
// cycle is over.
type Refetch struct {
	Page        graph.Node
	Modified    bool    // its body differs from that of the previous fetch; true wherever Changed is
	Changed     bool    // its links to the site differ from those of the previous fetch
	NotModified bool    // the server said so (304); Modified and Changed are false
	Gone        bool    // 404 or 410; nothing else is known
	Failed      bool    // no answer worth the name (5xx, time-out); nothing is known
	Cost        float64 // in fetches: 1, less for a 304 where it is cheaper

	// Led is what its links that are new since its previous fetch lead to: pages found after
	// that fetch, by whatever fetch, and the pages that these led to in the cycle in which
	// they were found. Each once; pages only.
	Led []graph.Node
	// Found is the part of Led that this fetch found first.
	Found []graph.Node
	// Relinked are documents found gone when they were fetched last to which it links now and
	// did not before: they may well be there again.
	Relinked []graph.Node
}

// A Cycle is the outcome of a whole cycle.
type Cycle struct {
	Full bool // every known document was fetched; Observe told of those that Next chose, if any
	New  int  // |Y_t|: pages found in the cycle
	// H holds N(x) of every document fetched that leads to pages of this cycle.
	H *CoverGraph
	// Gone and Back are the documents that a full recrawl found gone, and there again, since
	// it was last known. Empty unless Full.
	Gone, Back []graph.Node
}
