package novelty

import (
	"slices"

	"forage/graph"
	"forage/store"
)

// What a document gained and lost since it was read before says less than it seems to, as lists
// are windows: of 100 posts a front page shows ten, and with each new one the last of them falls
// off; when one is taken away, an older one comes into view again. Gained and Dropped compare
// lists row by row, a row being the links of one kind that stand at one place, in their order.

// A row is one row of links in two versions of a document.
type row struct {
	old, now   []store.Link
	kept       int  // of old, that are in now
	first, end int  // the first kept in now, and the one behind the last
	head, tail int  // the first kept in old, and the one behind the last
	whole      bool // a sitemap, which is no window and in no order
	steady     bool
}

type rowKey struct {
	kind  store.LinkKind
	place uint32
}

// rows pairs the rows of two versions, without links off the site. O(links · log links).
func rows(old, now []store.Link) map[rowKey]*row {
	all := map[rowKey]*row{}
	at := func(l store.Link) *row {
		k := rowKey{l.Kind, l.Place}
		if all[k] == nil {
			all[k] = new(row)
		}
		return all[k]
	}
	for _, l := range old {
		if !l.Off {
			r := at(l)
			r.old = append(r.old, l)
		}
	}
	for _, l := range now {
		if !l.Off {
			r := at(l)
			r.now = append(r.now, l)
		}
	}
	for k, r := range all {
		r.whole = k.kind == store.ViaSitemap
		r.align()
	}
	return all
}

// align finds what the two versions have in common. It is steady where at least half of that is in
// the same order still, and no more has gone than has stayed.
func (r *row) align() {
	was := map[graph.Node]int{}
	for i, l := range r.old {
		was[l.To] = i
	}
	r.first = len(r.now)
	var stayed []int // in old
	var tails []int  // the last of the longest ascending sequence of each length, see Fredman, "On computing the length of longest increasing subsequences", 1975
	for i, l := range r.now {
		j, ok := was[l.To]
		if !ok {
			continue
		}
		r.kept++
		r.first, r.end = min(r.first, i), i+1
		stayed = append(stayed, j)
		lo, hi := 0, len(tails)
		for lo < hi {
			if m := (lo + hi) / 2; tails[m] < j {
				lo = m + 1
			} else {
				hi = m
			}
		}
		if lo == len(tails) {
			tails = append(tails, j)
		} else {
			tails[lo] = j
		}
	}
	slices.Sort(stayed)
	if edge := r.edge(); r.kept > edge {
		r.head, r.tail = stayed[edge], stayed[r.kept-1-edge]+1
	}
	r.steady = r.kept > 0 && len(r.old)-r.kept <= r.kept && (r.whole || 2*len(tails) >= r.kept)
}

// edge is how many links at either end of the row may be none of what it lists, such as those to
// the pages of the list before and after.
func (r *row) edge() int {
	if r.whole {
		return 0
	}
	return min(2, r.kept/4)
}

// Gained returns those targets of a document that it links to now and did not when it was read
// before, so that they came to be since: where its other links stayed by and large. Those behind
// all that stayed of a row may only have come into view, where something has gone from it and it
// has not grown. old and now are its links, each target once. O(links · log links).
func Gained(old, now []store.Link) []graph.Node {
	var out []graph.Node
	had, has := targets(old), targets(now)
	stayed := 0
	for t := range had {
		if has[t] {
			stayed++
		}
	}
	for _, r := range rows(old, now) {
		shrunk := false
		for _, l := range r.old {
			shrunk = shrunk || !has[l.To]
		}
		for i, l := range r.now {
			switch {
			case had[l.To]:
			case len(r.old) == 0: // a row of its own
				if 2*stayed >= len(had) {
					out = append(out, l.To)
				}
			case r.steady && (r.whole || i < r.end || !shrunk || len(r.now) > len(r.old)):
				out = append(out, l.To)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Dropped returns those targets that a document links to no more, though the row in which they
// stood goes on. What falls off an end at the other one of which something new stands is no sign.
// known reports whether a target was known before the document was read now.
func Dropped(old, now []store.Link, known func(to graph.Node) bool) []graph.Node {
	var out []graph.Node
	has := targets(now)
	had := targets(old)
	for _, r := range rows(old, now) {
		if !r.steady {
			continue
		}
		pushed := false // something new stands in front
		for _, l := range r.now[:r.first] {
			pushed = pushed || !had[l.To]
		}
		pulled := false // something that was not known stands behind
		for _, l := range r.now[r.end:] {
			pulled = pulled || !had[l.To] && !known(l.To)
		}
		for i, l := range r.old {
			switch {
			case has[l.To]:
			case i >= r.tail && pushed, i < r.head && pulled:
			default:
				out = append(out, l.To)
			}
		}
	}
	slices.Sort(out)
	return out
}

func targets(links []store.Link) map[graph.Node]bool {
	all := make(map[graph.Node]bool, len(links))
	for _, l := range links {
		if !l.Off {
			all[l.To] = true
		}
	}
	return all
}
