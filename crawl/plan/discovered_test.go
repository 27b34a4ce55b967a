package plan

import (
	"fmt"
	"math"
	"testing"

	"forage/graph"
	"forage/store"
)

// history writes cycles of k fetches at a new site of 1000 documents: the first document leads
// to two new pages each time, and to one that has moved.
func history(t testing.TB, db *store.DB, cycles, k int) *store.Site {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	sites, err := db.Sites()
	must(err)
	s := &store.Site{Name: fmt.Sprintf("site%d.test", len(sites)), State: store.SiteDone, FirstCycle: 1}
	must(db.AddSite(s))
	must(db.PutCycle(&store.CycleRecord{Site: s.ID, Cycle: 1, Kind: store.FirstVisit, Done: true}))
	page := func(path string, n store.Novelty) *store.Doc {
		d := store.NewDoc("http://"+s.Name+path, s.ID)
		d.State, d.Kind, d.New = store.Fetched, store.Page, n
		_, err := db.Add(d)
		must(err)
		return d
	}
	home := page("/", store.NotNew)
	for c := store.Cycle(2); int(c) < 2+cycles; c++ {
		var fresh []*store.Doc
		for i, n := range []store.Novelty{store.IsNew, store.IsNew, store.NotNew} {
			fresh = append(fresh, page(fmt.Sprintf("/%d/%d", c, i), n))
		}
		for i := range k {
			r := &store.Refetch{Order: i, Page: home.ID + graph.Node((i*(1+i/5*int(c)))%1000), At: store.Time(c), Status: 200, Gap: 1 + i}
			if i == 0 {
				r.Found = []graph.Node{fresh[0].ID, fresh[1].ID, fresh[2].ID}
				r.Led = r.Found
			}
			must(db.PutRefetch(s.ID, c, r))
		}
		for _, d := range fresh {
			must(db.PutNewcomer(d, c))
		}
		must(db.PutCycle(&store.CycleRecord{Site: s.ID, Cycle: c, Kind: store.Revisit, Refetched: int64(k), Pages: 2, Done: true}))
	}
	must(db.Commit())
	return s
}

// TestDiscovered checks which cycles are looked back at.
func TestDiscovered(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := history(t, db, 40, 10)
	look := func(cycles, fetches, found, since int) {
		t.Helper()
		if err := db.Commit(); err != nil {
			t.Fatal(err)
		}
		d, err := Discovered(&db.View, s.ID, 5)
		if err != nil || d.Cycles != cycles || d.Fetches != fetches || d.Found != found || d.Coverage.Found != since || (found > 0) != (len(d.Hubs) > 0) {
			t.Fatalf("Discovered = %+v, %v, want %d cycles, %d fetches, %d pages found, %d of them since a full recrawl", d, err, cycles, fetches, found, since)
		}
	}
	put := func(sc *store.CycleRecord) {
		t.Helper()
		sc.Site = s.ID
		if err := db.PutCycle(sc); err != nil {
			t.Fatal(err)
		}
	}
	look(30, 300, 60, 60)
	put(&store.CycleRecord{Cycle: 42, Kind: store.Revisit}) // interrupted
	look(30, 300, 60, 60)
	put(&store.CycleRecord{Cycle: 30, Kind: store.Revisit, Refetched: discoveryFetches - 50, Done: true}) // too much to read
	look(11, 110, 22, 22)
	put(&store.CycleRecord{Cycle: 35, Kind: store.FullRecrawl, Refetched: 10, Done: true}) // all was seen
	look(11, 110, 22, 12)
	put(&store.CycleRecord{Cycle: 43, Kind: store.FullRecrawl, Refetched: 1000}) // interrupted
	look(11, 110, 22, 12)
	put(&store.CycleRecord{Cycle: 44, Kind: store.FullRecrawl, Refetched: 10, Done: true})
	look(12, 110, 22, 0)
	put(&store.CycleRecord{Cycle: 45, Kind: store.FullRecrawl, Refetched: discoveryFetches + 1, Done: true})
	look(0, 0, 0, 0)
}

// BenchmarkDiscovered reads what status tells of 1,000 sites that were visited 100 times.
func BenchmarkDiscovered(b *testing.B) {
	const sites = 1000
	db, err := store.Open(b.TempDir(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var all []*store.Site
	for range sites {
		all = append(all, history(b, db, 100, 10))
	}
	b.Run("sites=1000/cycles=100/k=10", func(b *testing.B) {
		for b.Loop() {
			for _, s := range all {
				d, err := Discovered(&db.View, s.ID, 5)
				if err != nil || d.Cycles != 30 || math.IsNaN(d.Coverage.Share) {
					b.Fatalf("%+v, %v", d, err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/sites, "µs/site")
	})
}
