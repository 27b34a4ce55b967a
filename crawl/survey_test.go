package crawl

import (
	"testing"

	"forage/crawl/novelty"
	"forage/graph"
	"forage/store"
)

// TestSurveyBest: of lists the one is read that names most of what was not seen for longest, and none
// where so little can be expected to be gone that a fetch is not worth it.
func TestSurveyBest(t *testing.T) {
	const week = 7 * 24 * 3600
	list := func(id graph.Node, names ...graph.Node) *listed {
		return &listed{doc: &store.Doc{ID: id}, names: names}
	}
	s := &survey{now: 4 * week, rate: .1 / week, seen: map[graph.Node]store.Time{1: 3 * week, 2: 3 * week, 3: week, 4: 4 * week},
		lists: []*listed{list(10, 1, 2), list(11, 3, 4), list(12, 4, 5)}}
	var sights novelty.Sights
	if l, _ := s.best(&sights); l == nil || l.doc.ID != 11 {
		t.Fatalf("%+v is read first", l)
	}
	s.lists[1].read = true
	if l, _ := s.best(&sights); l != nil {
		t.Errorf("%d is read for .2 pages", l.doc.ID)
	}
	s.rate *= 2
	if l, _ := s.best(&sights); l == nil || l.doc.ID != 10 {
		t.Errorf("%+v is read next", l)
	}
	sights.Read(nil, []store.Link{{To: 1}}, func(id graph.Node) graph.Node { return id })
	if l, _ := s.best(&sights); l != nil {
		t.Errorf("%d is read, of which another list names a page", l.doc.ID)
	}
}
