package novelty

import (
	"cmp"
	"math"
	"slices"

	"forage/graph"
	"forage/store"
)

// Suspect notes that n lists, by among them, or several that were compared (graph.None), name d no more. Of
// those that do not, the one that is right most often answers for it.
func Suspect(d *store.Doc, n int, by graph.Node, s *store.Site) {
	if d.Dropped == 0 || chance(s, by) > chance(s, d.DroppedBy) {
		d.DroppedBy = by
	}
	d.Dropped += n
}

// Clear notes that d is not suspected any more.
func Clear(d *store.Doc) { d.Dropped, d.DroppedBy = 0, graph.None }

// mostLists bounds the lists whose verdicts are kept.
const mostLists = 64

// Verdict notes whether a page was gone that a list, or several that were compared, named no more.
func Verdict(s *store.Suspicions, by graph.Node, departed bool) {
	v := s.Compared
	if by != graph.None {
		v = s.ByList[by]
	}
	v.Looked++
	if departed {
		v.Departed++
	}
	if by == graph.None {
		s.Compared = v
		return
	}
	if s.ByList == nil {
		s.ByList = map[graph.Node]store.Verdicts{}
	}
	s.ByList[by] = v
	if len(s.ByList) > mostLists {
		lists := make([]graph.Node, 0, len(s.ByList))
		for id := range s.ByList {
			if id != by {
				lists = append(lists, id)
			}
		}
		delete(s.ByList, slices.MinFunc(lists, func(a, b graph.Node) int {
			return cmp.Or(s.ByList[a].Looked-s.ByList[b].Looked, cmp.Compare(a, b))
		}))
	}
}

// A list is taken to be right as often as all of the site together, until it has its own record, which
// then counts as so many looks.
const priorLooks = 2

// chance is how likely a page is to be gone that a list, or several that were compared, name no more, by
// the rule of succession.
func chance(s *store.Site, by graph.Node) float64 {
	all := float64(s.Departed+1) / float64(s.Looked+2)
	v := s.Suspicions.Compared
	if by != graph.None {
		v = s.Suspicions.ByList[by]
	}
	return (float64(v.Departed) + priorLooks*all) / float64(v.Looked+priorLooks)
}

// ChanceCompared is that of a page that several lists, taken together, name no more.
func ChanceCompared(s *store.Site) float64 { return chance(s, graph.None) }

// Chance is how likely a suspected page is to be gone, 0 to 1, by how often what suspects it was right at
// this site, and how many lists do.
func Chance(s *store.Site, d *store.Doc) float64 {
	return 1 - math.Pow(1-chance(s, d.DroppedBy), float64(d.Dropped))
}

// BySuspicion sorts pages that lists have dropped: first what is there to be read, as lists drop
// lists with every change, and of these what is most likely gone, and what was not looked at for longest.
func BySuspicion(s *store.Site) func(a, b *store.Doc) int {
	other := func(d *store.Doc) int {
		if d.Class > store.ContentPage {
			return 1
		}
		return 0
	}
	return func(a, b *store.Doc) int {
		return cmp.Or(other(a)-other(b), cmp.Compare(Chance(s, b), Chance(s, a)), cmp.Compare(a.LastFetched, b.LastFetched), cmp.Compare(a.ID, b.ID))
	}
}
