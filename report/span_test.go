package report

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/crawl/plan"
	"forage/graph"
	"forage/store"
)

// TestSpans has a first visit, cycles of a few looks and a full recrawl of small sites, on which old pages lead to new ones,
// by others that are new too, and compares the oracle with all choices of as many documents.
func TestSpans(t *testing.T) {
	greedy, best, spans := 0, 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		db, err := store.Open(t.TempDir(), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		site := &store.Site{Name: "a.test"}
		must(db.AddSite(site))
		olds, looks := 2+r.IntN(6), 1+r.IntN(3)
		var docs []*store.Doc
		add := func() *store.Doc {
			d := store.NewDoc(fmt.Sprint("http://a.test/", len(docs)), site.ID)
			d.State, d.Kind, d.New = store.Fetched, store.Page, store.IsNew
			_, err := db.Add(d)
			must(err)
			docs = append(docs, d)
			return d
		}
		open := func(kind store.CycleKind) store.Cycle {
			c := &store.CycleRecord{Site: site.ID, At: int64(len(docs) + 1), Kind: kind}
			must(db.OpenCycle(c))
			return c.Cycle
		}
		end := func(c store.Cycle, refetched int) {
			must(db.Commit())
			rec, err := db.Cycle(site.ID, c)
			must(err)
			rec.Done, rec.Ended, rec.Refetched = true, rec.At+1, int64(refetched)
			must(db.PutCycle(rec))
			must(db.Commit())
		}
		first := open(store.FirstVisit)
		for range olds {
			d := add()
			d.New = store.NotNew
			must(db.Put(d))
		}
		end(first, olds)
		found := 0
		appear := func(c store.Cycle, n int) (ids []graph.Node) {
			for range n {
				d := add()
				d.Cycle = c
				switch r.IntN(5) {
				case 0:
					d.Kind = store.Redirect // leads to others, and is none
				case 1:
					d.New = store.MaybeNew
				}
				must(db.Put(d))
				must(db.PutNewcomer(d, c))
				if ids = append(ids, d.ID); d.Kind == store.Page && d.New == store.IsNew {
					found++
				}
			}
			return ids
		}
		for range looks {
			c := open(store.Revisit)
			ids := appear(c, r.IntN(3))
			must(db.PutRefetch(site.ID, c, &store.Refetch{Page: graph.Node(r.IntN(olds)), Status: 200, Found: ids, Led: ids}))
			end(c, 1)
		}
		before := found
		full := open(store.FullRecrawl)
		rest := appear(full, r.IntN(8))
		links := make([][]graph.Node, len(docs))
		for id, d := range docs {
			most := 2
			if id < olds {
				most = 4
			}
			var to []store.Link
			for range r.IntN(most) {
				to = append(to, store.Link{To: graph.Node(r.IntN(len(docs))), Kind: store.ViaAnchor})
			}
			slices.SortFunc(to, func(a, b store.Link) int { return int(a.To) - int(b.To) })
			to = slices.CompactFunc(to, func(a, b store.Link) bool { return a.To == b.To })
			for _, l := range to {
				links[id] = append(links[id], l.To)
			}
			_, err := db.PutLinks(d, full, to)
			must(err)
			must(db.Put(d))
			if id < olds {
				f := &store.Refetch{Order: id, Page: d.ID, Status: 200}
				if id == 0 {
					f.Found, f.Led = rest, rest
				}
				must(db.PutRefetch(site.ID, full, f))
			}
		}
		end(full, olds)
		for _, d := range docs { // what comes later is no part of it
			_, err := db.PutLinks(d, full+1, nil)
			must(err)
		}
		must(db.Commit())
		past, err := plan.ReadPast(&db.View, site.ID, 100)
		must(err)
		all, err := newSpans(&db.View, site.ID, past)
		must(err)
		if found == 0 {
			if len(all) > 0 {
				t.Errorf("seed %d: nothing was new, and there is %+v", seed, all)
			}
			must(db.Close())
			continue
		}
		// The naive oracle: what each choice of documents reaches over new ones.
		most := 0
		for choice := range 1 << olds {
			if bits.OnesCount(uint(choice)) > looks {
				continue
			}
			reached := map[graph.Node]bool{}
			var visit func(id graph.Node)
			visit = func(id graph.Node) {
				for _, to := range links[id] {
					if int(to) >= olds && !reached[to] {
						reached[to] = true
						visit(to)
					}
				}
			}
			n := 0
			for id := range olds {
				if choice>>id&1 == 1 {
					visit(graph.Node(id))
				}
			}
			for id := range reached {
				if d := docs[id]; d.Kind == store.Page && d.New == store.IsNew {
					n++
				}
			}
			most = max(most, n)
		}
		if len(all) != 1 {
			t.Fatalf("seed %d: %d spans, want 1", seed, len(all))
		}
		s := all[0]
		if s.New != found || s.Found != before || s.Looks != looks {
			t.Errorf("seed %d: %+v, want %d new, %d found by %d looks", seed, s, found, before, looks)
		}
		if found > before {
			if least := max(before, int(math.Ceil(float64(most)*(1-1/math.E)))); s.Best < least || s.Best > max(before, most) {
				t.Errorf("seed %d: an oracle finds %d, want from %d to %d", seed, s.Best, least, max(before, most))
			}
			greedy, best, spans = greedy+s.Best, best+max(before, most), spans+1
		}
		must(db.Close())
	}
	if spans < 30 || float64(greedy) < .97*float64(best) {
		t.Errorf("in %d spans greedy found %d, all choices %d", spans, greedy, best)
	}
}
