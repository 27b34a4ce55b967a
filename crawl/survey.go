package crawl

import (
	"cmp"
	"slices"

	"forage/crawl/novelty"
	"forage/explore/yield"
	"forage/graph"
	"forage/store"
)

// A survey is what is known of when the content pages of a site were last known to be there, and so of
// what its lists would show if they were read now.
type survey struct {
	now      store.Time
	seen     map[graph.Node]store.Time // content pages: when they were fetched, or a list that names them
	lists    []*listed
	rate     float64      // at which pages depart, each, a second
	unlinked []graph.Node // pages to which nothing links any more since this cycle
}

// A listed is a list with the content pages that it named when it was read.
type listed struct {
	doc   *store.Doc
	names []graph.Node
	read  bool // in this cycle
}

// listing reports whether a document is there to name others.
func listing(d *store.Doc) bool { return d.IsList() || d.IsPage() && d.Class == store.ListPage }

// worthTelling reports whether somebody would want to know that a document is gone: a page that is
// there to be read, and to be listed.
func worthTelling(d *store.Doc) bool {
	return d.Class == store.ContentPage && d.IsListed() && (d.Yield == uint8(yield.None) || d.Yield == uint8(yield.Content))
}

const (
	// Before anything is known, pages depart as if of a hundred one had, a week each.
	priorGone  = 1
	priorWeeks = 100 * 7 * 24 * 3600

	// worthReading is how many pages a list is to be expected to have lost.
	worthReading = .2
)

// takeSurvey goes through the documents of a site and their links. Everything is committed. O(links). At
// a site of very many documents it knows nothing, and where documents wait from an earlier cycle it tells
// nothing: to read those serves better, and they may have the links that are missed.
func (v *budgetedCycle) takeSurvey() (*survey, error) {
	db := v.crawl().db
	s := &survey{now: v.crawl().now(), seen: map[graph.Node]store.Time{}}
	counts, err := db.Counters(v.site.ID)
	if err != nil || counts.Known() > maxCompared {
		return s, err
	}
	gone, alive := float64(priorGone), float64(priorWeeks)
	since := map[graph.Node]store.Time{}
	linked := map[graph.Node]bool{}
	page := map[graph.Node]graph.Node{} // of copies
	var failed error
	if err := db.SiteDocs(v.site.ID, func(d *store.Doc) bool {
		if worthTelling(d) {
			if !d.Alive() {
				gone++
			} else {
				s.seen[d.ID], since[d.ID] = max(s.seen[d.ID], d.LastFetched), d.FirstSeen
			}
		}
		if d.Repeats() {
			page[d.ID] = d.DuplicateOf
			return true
		}
		if !d.Alive() || d.LinksOf == 0 {
			return true
		}
		links, err := db.Links(d)
		if err != nil {
			failed = err
			return false
		}
		list := listing(d)
		l := &listed{doc: d, read: d.FetchedIn == v.rec.Cycle}
		for _, to := range links {
			if to.Off {
				continue
			}
			linked[to.To] = true
			if list {
				l.names = append(l.names, to.To)
			}
		}
		if list {
			s.lists = append(s.lists, l)
		}
		return true
	}); err != nil || failed != nil {
		return nil, cmp.Or(failed, err)
	}
	for from, to := range page {
		linked[to] = linked[to] || linked[from]
	}
	for _, l := range s.lists {
		for i, id := range l.names {
			if of, ok := page[id]; ok {
				id, l.names[i] = of, of
			}
			if seen, ok := s.seen[id]; ok {
				s.seen[id] = max(seen, l.doc.LastFetched)
			}
		}
		slices.Sort(l.names)
		l.names = slices.Compact(l.names)
	}
	for id, seen := range s.seen {
		alive += float64(max(0, seen-since[id]))
		if !linked[id] && v.sights.HasLost(id) {
			s.unlinked = append(s.unlinked, id)
		}
	}
	slices.Sort(s.unlinked)
	if len(v.waiting) > 0 {
		s.unlinked = nil
		if v.site.Partial {
			s.lists = nil
		}
	}
	s.rate = gone / alive
	return s, nil
}

// best returns the list that is expected to have lost most pages since they were last known to be
// there, and how many; nil where that is too few for a fetch. O(links of lists).
func (s *survey) best(sights *novelty.Sights) (best *listed, most float64) {
	most = worthReading
	for _, l := range s.lists {
		if l.read {
			continue
		}
		expected := 0.
		for _, id := range l.names {
			if at, ok := s.seen[id]; ok && !sights.Named(id) {
				expected += s.rate * float64(s.now-at)
			}
		}
		if expected > most {
			best, most = l, expected
		}
	}
	return best, most
}
