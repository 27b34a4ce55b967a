package crawl

import "forage/store"

// A visit is what a cycle does at its site: which documents it fetches, in which order, and when
// it is over. The loop calls it, and it calls the methods of its cycle to put documents in line.
// Four kinds do: firstVisit, ordered, budgetedCycle and fullRecrawl, a file each; three of them also take in
// what somebody else has fetched (import.go).
type visit interface {
	// begin puts the first documents in line.
	begin() error
	// manner tells how the visit treats documents and hosts. It does not change.
	manner() manner
	// discovered tells of a document that waits in the store's queue since just now. linked: a
	// document of the site led to it.
	discovered(d *store.Doc, linked bool)
	// holds reports whether a document that the store's queue comes to, or that was not there and is
	// to be asked for again, is not to be fetched now: the visit puts it in line by name later, or
	// leaves it for another cycle.
	holds(d *store.Doc) bool
	// room reports whether another document may be fetched under the limits of the site.
	room() bool
	// spent is called after each answer: it notes whether a limit is reached.
	spent()
	// answered tells what became of a document that was in line, once it is written: it was
	// answered, has failed, or was left out under the rules.
	answered(a *answer)
	// leftOut tells that a document is left out with its group, or is to wait for another cycle with it,
	// though it is certainly new.
	leftOut(d *store.Doc)
	// hostLost tells that a host will not be asked any more in this cycle.
	hostLost()
	// idle is called when nothing of the visit is in line or under way and everything is
	// committed. It puts more in line, or reports that the visit is over. It is called again when what pages need
	// has been fetched, for which the end of the visit waits.
	idle() (over bool, err error)
	// whole reports whether the visit fetched all that it was to fetch.
	whole(*store.Counters) bool
	// conclude writes into the site what the visit showed of it.
	conclude(counts *store.Counters, whole bool)
}

// A manner is how a kind of visit treats documents and hosts.
type manner struct {
	first      bool // all that it finds was there before: nothing is new, links gained are not told
	fromQueue  bool // what waits in the store's queue is handed out, in the order of its numbers
	patient    bool // it waits for hosts that are overloaded; others leave them alone until their next cycle
	tries      int  // requests for an old document until it counts as failed
	probes     bool // it asks for a path that should not exist
	doubts     bool // URLs of lists that name little that is there are put off
	admits     bool // hosts of a domain are made acquaintance with a few at a time
	leavesPoor bool // what yields next to nothing waits for another cycle
	backsOff   bool // it asks in ever fewer cycles for well-known documents that were never there
	given      bool // it asks for nothing: answers that were given before are told to it, see import.go
}

// fetches is how often a document is asked for in one run before it counts as failed.
const fetches = 3
