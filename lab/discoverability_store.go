package lab

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"forage/graph"
	"forage/revisit"
	"forage/store"
)

// A crawledWeb is the web that a store crawled. Its sites are hosts. A snapshot is a round of
// discovery with the first visits after it, which crawl the sites that it found; all that
// came before the first such round is the first snapshot. A round ends before the first cycle
// of a site that has had one in it. What condensed cycles found belongs to the round before
// them that is still told, or to the first snapshot.
type crawledWeb struct {
	v        *store.View
	snapshot []int // by cycle, those that were condensed included
	names    []string
	host     []int32 // by document
	kind     []uint8 // by document
	at       []int32 // by document: the snapshot in which it answered first; -1: never
	known    []int   // by host: the snapshot of the first link from elsewhere; never
	first    []int   // by host: that of its first page; never
	crossing int     // links from one host to another
	partial  int     // later snapshots in which not all old pages were fetched
	past     int64   // cycles that were condensed
}

const never32 = int(^uint32(0) >> 1)

const (
	isPage    = 1 // counts
	isThrough = 2 // leads to others: duplicates, redirects
)

// crawledGrowths returns what each later snapshot of a store added.
func crawledGrowths(v *store.View) (all []growth, about string, err error) {
	w := &crawledWeb{v: v}
	if err := w.read(); err != nil {
		return nil, "", err
	}
	last := slices.Max(w.snapshot)
	visited, unvisited, late := 0, 0, 0
	for h := range w.names {
		switch {
		case w.first[h] == never32:
			unvisited++
		case w.first[h] > w.known[h]:
			late++
			visited++
		default:
			visited++
		}
	}
	switch {
	case visited < 2:
		return nil, "", &DataError{fmt.Sprintf("the store has pages of %d host: new sites show only in a crawl of several; 'forage crawl URL…' adds some", visited)}
	case w.crossing == 0:
		return nil, "", &DataError{fmt.Sprintf("the pages of %d hosts in the store have no link from one to another, by which new sites could be found", visited)}
	case last == 0:
		return nil, "", &DataError{"the store has no cycle of discovery, which would show what is new; 'forage revisit --full' does one"}
	}
	for t := 1; t <= last; t++ {
		g, err := w.growth(t)
		if err != nil {
			return nil, "", err
		}
		all = append(all, g)
	}
	pages := 0
	for _, k := range w.kind {
		if k == isPage {
			pages++
		}
	}
	about = fmt.Sprintf("The store: %d hosts and %d pages in %d snapshots; a site is a host, and new when no page linked to it in an earlier snapshot. "+
		"%d hosts were linked to before they were visited: the pages of their first visit are left out. %d hosts are only linked to, and were never visited.", visited, pages, last+1, late, unvisited)
	if w.partial > 0 {
		about += fmt.Sprintf(" In %d of %d later snapshots only some of the old pages were fetched, so that what is new on the others is missing.", w.partial, last)
	}
	if w.past > 0 {
		about += fmt.Sprintf(" %d older cycles were condensed: what they found counts as part of the snapshot before.", w.past)
	}
	return all, about, nil
}

// read takes in cycles, documents and the hosts that they link to.
func (w *crawledWeb) read() error {
	w.snapshot = []int{0}
	now, partial := 0, false // the round, and whether it is counted as partial
	had := map[store.SiteID]store.Cycle{}
	if err := w.v.Cycles(0, func(c *store.CycleRecord) bool {
		if c.Kind != store.FirstVisit && c.Kind != store.Import {
			if in, ok := had[c.Site]; now == 0 || ok && in != c.Cycle {
				now++
				partial = false
				maps.DeleteFunc(had, func(_ store.SiteID, in store.Cycle) bool { return in != c.Cycle })
			}
			had[c.Site] = c.Cycle
			if c.Kind == store.Revisit && !partial {
				w.partial++
				partial = true
			}
		}
		for len(w.snapshot) < int(c.Cycle) {
			w.snapshot = append(w.snapshot, w.snapshot[len(w.snapshot)-1])
		}
		w.snapshot = append(w.snapshot[:c.Cycle], now)
		return true
	}); err != nil {
		return err
	}
	var failed error
	if err := w.v.SitesFrom(0, func(s *store.Site) bool {
		var past *store.PastCycles
		if past, failed = w.v.PastCycles(s.ID); failed == nil {
			w.past += past.Cycles
		}
		return failed == nil
	}); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	n, err := w.v.NumURLs()
	if err != nil {
		return err
	}
	w.host, w.kind, w.at = make([]int32, n), make([]uint8, n), make([]int32, n)
	number := map[string]int32{}
	if err := w.v.Docs(func(d *store.Doc) bool {
		name := store.HostOf(d.URL)
		h, ok := number[name]
		if !ok {
			h = int32(len(w.names))
			number[name] = h
			w.names, w.known, w.first = append(w.names, name), append(w.known, never32), append(w.first, never32)
		}
		w.host[d.ID], w.at[d.ID] = h, -1
		switch {
		case d.IsPage() && d.DuplicateOf == graph.None:
			w.kind[d.ID] = isPage
			w.first[h] = min(w.first[h], w.snapshotOf(d.Cycle))
		case d.IsPage() || d.Kind == store.Redirect:
			w.kind[d.ID] = isThrough
		default:
			return true
		}
		w.at[d.ID] = int32(w.snapshotOf(d.Cycle))
		return true
	}); err != nil {
		return err
	}
	for id, at := range w.at {
		if at < 0 {
			continue
		}
		if err := w.v.LinkHistory(graph.Node(id), func(c store.Cycle, links []store.Link) bool {
			for _, l := range links {
				if h := w.host[l.To]; h != w.host[id] {
					w.crossing++
					w.known[h] = min(w.known[h], w.snapshotOf(c))
				}
			}
			return true
		}); err != nil {
			return err
		}
	}
	return nil
}

func (w *crawledWeb) snapshotOf(c store.Cycle) int {
	return w.snapshot[min(int(c), len(w.snapshot)-1)]
}

// isNew reports whether a host appeared in snapshot t.
func (w *crawledWeb) isNew(h int32, t int) bool { return w.first[h] == t && w.known[h] >= t }

// growth returns what snapshot t added.
func (w *crawledWeb) growth(t int) (growth, error) {
	var g growth
	site := make([]int32, len(w.names)) // its number among the new ones; -1
	var fresh []graph.Node
	for h := range w.names {
		site[h] = -1
		if w.isNew(int32(h), t) {
			site[h] = int32(len(fresh))
			fresh = append(fresh, graph.Node(site[h]))
		}
	}
	n := graph.Node(len(fresh)) // documents are numbered behind the sites
	g.sizes = make([]int, n)
	pages := make([][]graph.Node, n) // by new site
	var through, old []graph.Node
	for id, at := range w.at {
		h, v := w.host[id], graph.Node(id)
		switch {
		case at < 0 || int(at) > t:
		case int(at) < t:
			if w.kind[id] == isPage {
				old = append(old, n+v)
			}
		case site[h] >= 0:
			pages[site[h]] = append(pages[site[h]], v)
			if w.kind[id] == isPage {
				g.onNew++
				g.sizes[site[h]]++
			}
		case w.first[h] < t:
			through = append(through, n+v)
			if w.kind[id] == isPage {
				g.onOld++
			}
		}
	}
	var failed error
	g.h = revisit.NewCoverGraph(fresh, through, old, func(v graph.Node) (out []graph.Node) {
		from := []graph.Node{v - n}
		if v < n {
			from = pages[v]
		}
		for _, id := range from {
			if err := w.v.LinkHistory(id, func(c store.Cycle, links []store.Link) bool {
				for _, l := range links {
					switch at := site[w.host[l.To]]; {
					case w.snapshotOf(c) != t:
					case at >= 0:
						out = append(out, graph.Node(at))
					case w.at[l.To] == int32(t):
						out = append(out, n+l.To)
					}
				}
				return w.snapshotOf(c) >= t
			}); err != nil && failed == nil {
				failed = err
			}
		}
		return out
	})
	return g, failed
}
