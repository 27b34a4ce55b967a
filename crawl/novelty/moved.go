package novelty

import (
	"forage/graph"
	"forage/store"
)

// A Pair is a page that is gone, or may be, and one with the same content at another URL.
type Pair struct{ Gone, Now *store.Doc }

// Match pairs pages that are gone, or may be, with pages that answered first lately and have
// their content: the same body, one of the longest two texts, or, where a page has no long
// text, the title, that one page of each side has and none of the others. others are pages of the
// site that neither moved nor came, which show what all of its pages say. Each page is in one pair
// at most; pairs are in the order of gone. O(documents).
//
// A page that names another one canonical is not that one at another URL, unless it is the same to the byte.
//
// Where two pages share a text it is no sign, so that what a template says on each page never is.
func Match(gone, fresh, others []*store.Doc) []Pair {
	const body, passage, title = 0, 1, 2
	type sign struct {
		of   int
		hash uint64
		text string
	}
	signs := func(d *store.Doc) []sign {
		all := make([]sign, 0, 3)
		if d.Digest != 0 {
			all = append(all, sign{of: body, hash: d.Digest})
		}
		for _, p := range d.Passages {
			if p != 0 {
				all = append(all, sign{of: passage, hash: uint64(p)})
			}
		}
		if d.Passages[0] == 0 && d.Title != "" {
			all = append(all, sign{of: title, text: d.Title})
		}
		return all
	}
	type owners struct {
		gone, fresh *store.Doc
		shared      bool
	}
	by := map[sign]*owners{}
	for _, d := range gone {
		for _, s := range signs(d) {
			if o := by[s]; o != nil {
				o.shared = o.shared || !same(o.gone, d)
			} else {
				by[s] = &owners{gone: d}
			}
		}
	}
	for _, d := range fresh {
		for _, s := range signs(d) {
			switch o := by[s]; {
			case o == nil || o.fresh == d:
			case o.fresh == nil:
				o.fresh = d
			case same(o.fresh, d): // a copy of it
				if !d.Repeats() {
					o.fresh = d
				}
			case s.of != body: // of several copies the first is it
				o.shared = true
			}
		}
	}
	for _, d := range others {
		for _, s := range signs(d) {
			if o := by[s]; o != nil {
				o.shared = true
			}
		}
	}
	var pairs []Pair
	taken := map[graph.Node]bool{}
	for _, d := range gone {
		for _, s := range signs(d) {
			if o := by[s]; o.fresh != nil && !o.shared && !taken[o.fresh.ID] && (!same(o.fresh, d) || o.fresh.Digest == d.Digest && o.fresh.ID != d.ID) {
				taken[o.fresh.ID] = true
				pairs = append(pairs, Pair{d, o.fresh})
				break
			}
		}
	}
	return pairs
}

// same reports whether two documents are one page, or copies of one.
func same(a, b *store.Doc) bool {
	of := func(d *store.Doc) graph.Node {
		if d.DuplicateOf != graph.None {
			return d.DuplicateOf
		}
		return d.ID
	}
	return of(a) == of(b)
}

// Moved notes in cycle c that page to is what the page from was, under another URL: it is not new
// then.
func Moved(to *store.Doc, from graph.Node, c store.Cycle, now store.Time) {
	to.MovedFrom, to.Moved, to.MovedIn, to.New, to.Stub = from, now, c, store.NotNew, false
	if to.DuplicateOf == from {
		to.DuplicateOf, to.Stands = graph.None, false
	}
}

// Suppose notes that to may be what from was, which is not known to be gone: nobody can tell then
// whether it is new.
func Suppose(to *store.Doc, from graph.Node) { to.MovedFrom, to.New = from, store.MaybeNew }

// Supposed reports whether d may be the page d.MovedFrom at another URL.
func Supposed(d *store.Doc) bool { return d.MovedFrom != graph.None && d.Moved == 0 }

// Stayed notes in cycle c that the page of which d might be another URL is there still, as far as
// anybody knows: d is new after all, and is told so now.
func Stayed(d *store.Doc, c store.Cycle, now store.Time) {
	d.New, d.FirstSeen, d.Cycle = store.IsNew, now, c
}
