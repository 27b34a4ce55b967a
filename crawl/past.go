package crawl

import (
	"cmp"

	"forage/explore/yield"
	"forage/internal/heap"
)

// A past is what the store knows that a worth was told, brought into the order in which it was told:
// which groups a URL belongs to, and how much of a failure each is charged with, depends on what was
// known by then. So each document has the number of what was told of it when it was fetched or left
// out (store.Doc.Learned), among all that was told of its site, documents that became known
// included. These are known by their own numbers. O(log n) for each of n documents whose turn has not
// come, of which it holds the URLs: no more than were ever in line at once.
type past struct {
	waits heap.Heap[event]
}

// An event is what package yield is told of a document that it was told of before.
type event struct {
	at   uint32 // see store.Doc.Learned
	url  string
	left bool          // it was left out; else it brought
	o    yield.Outcome // this
}

func (p *past) add(e event) {
	if p.waits.Before == nil {
		p.waits.Before = func(a, b event) bool { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.url, b.url)) < 0 }
	}
	p.waits.Push(e)
}

// next returns the first event, if it is one of the first n things told.
func (p *past) next(n uint32) (e event, ok bool) {
	if p.waits.Len() == 0 || p.waits.Items[0].at > n {
		return e, false
	}
	return p.waits.Pop(), true
}
