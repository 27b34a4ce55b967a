package novelty

import (
	"math"
	"slices"
	"testing"

	"forage/graph"
	"forage/store"
)

// TestChance: a page that lists have dropped is as likely gone as these were right before.
func TestChance(t *testing.T) {
	s := &store.Site{Looked: 8, Departed: 4}
	s.Suspicions = store.Suspicions{
		ByList:   map[graph.Node]store.Verdicts{1: {Looked: 8, Departed: 8}, 2: {Looked: 8}},
		Compared: store.Verdicts{Looked: 2, Departed: 1},
	}
	for _, c := range []struct {
		name string
		by   []graph.Node
		want float64
	}{
		{"a list that was always right", []graph.Node{1}, .9},
		{"one that never was", []graph.Node{2}, .1},
		{"one without a record, as all together", []graph.Node{3}, .5},
		{"several that were compared", []graph.Node{graph.None}, .5},
		{"two without a record", []graph.Node{3, 4}, .75},
		{"the better one counts, last", []graph.Node{2, 1}, .99},
		{"the better one counts, first", []graph.Node{1, 2}, .99},
	} {
		d := store.NewDoc("http://a.test/", 1)
		for _, by := range c.by {
			Suspect(d, 1, by, s)
		}
		if got := Chance(s, d); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
		Clear(d)
		if got := Chance(s, d); got != 0 {
			t.Errorf("%s, cleared: %g", c.name, got)
		}
	}
}

// TestBySuspicion: what is most likely gone comes first, and lists last.
func TestBySuspicion(t *testing.T) {
	s := &store.Site{Looked: 8, Departed: 4}
	for range 4 {
		Verdict(&s.Suspicions, 1, true)
		Verdict(&s.Suspicions, 2, false)
	}
	made := func(id graph.Node, class store.Class, fetched store.Time, by graph.Node) *store.Doc {
		d := store.NewDoc("http://a.test/", 1)
		d.ID, d.Class, d.LastFetched = id, class, fetched
		Suspect(d, 1, by, s)
		return d
	}
	docs := []*store.Doc{
		made(10, store.ListPage, 1, 1), made(11, store.ContentPage, 1, 2), made(12, store.ContentPage, 3, 1),
		made(13, store.ContentPage, 2, 1), made(14, store.ContentPage, 1, graph.None), made(15, store.ContentPage, 1, graph.None),
	}
	slices.SortFunc(docs, BySuspicion(s))
	var got []graph.Node
	for _, d := range docs {
		got = append(got, d.ID)
	}
	if want := []graph.Node{13, 12, 14, 15, 11, 10}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

// TestVerdictsAreBounded: of many lists the records of those are kept that tell most.
func TestVerdictsAreBounded(t *testing.T) {
	var s store.Suspicions
	for id := range graph.Node(3 * mostLists) {
		for range 1 + id%3 {
			Verdict(&s, id, id%2 == 0)
		}
	}
	if len(s.ByList) != mostLists || s.Compared != (store.Verdicts{}) {
		t.Fatalf("%d lists have a record, want %d; compared %+v", len(s.ByList), mostLists, s.Compared)
	}
	for id, v := range s.ByList {
		if v.Looked != 3 && id != 3*mostLists-1 || v.Departed != 0 && id%2 != 0 || v.Departed != v.Looked && id%2 == 0 {
			t.Errorf("list %d has %+v", id, v)
		}
	}
}
