package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
	"forage/internal/race"
)

// TestSummary has documents of two sites written at random, and reopens the store between: what a summary is
// told of as changed, and what comes after it, is what a naive copy of all records as they were says.
func TestSummary(t *testing.T) {
	race.Skip(t)
	files := vfs.NewMem()
	r := rand.New(rand.NewPCG(1, 2))
	open := func() *DB {
		db, err := Open("store", Options{FS: files})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db := open()
	for i := range 2 {
		check(db.AddSite(&Site{Name: fmt.Sprint("s", i+1), FirstCycle: 1, LastCycle: 1}))
	}
	was := map[SiteID]map[graph.Node]string{} // of sites with a summary: each document as it was
	now := func(id graph.Node) string {
		d, err := db.Doc(id)
		check(err)
		return string(d.encode())
	}
	for step := range 2000 {
		site := SiteID(1 + r.IntN(2))
		n, err := db.NumURLs()
		check(err)
		switch x := r.IntN(100); {
		case x < 30 || n == 0:
			_, err := db.Add(NewDoc(fmt.Sprintf("http://s%d/%d", site, step), site))
			check(err)
		case x < 80:
			d, err := db.Doc(graph.Node(r.IntN(n)))
			check(err)
			d.State, d.Kind, d.Title = State(r.IntN(3)), Page, fmt.Sprint(step)
			check(db.Put(d))
		case x < 90:
			check(db.Commit())
		case x < 92:
			check(db.Close())
			db = open()
		case x < 94:
			check(db.OpenCycle(&CycleRecord{Site: site, Kind: Revisit, At: 1}))
		case x < 95:
			check(db.DropSummary(site))
			delete(was, site)
		default:
			check(db.Commit())
			check(db.PutSummary(site, fmt.Append(nil, step)))
			all := map[graph.Node]string{}
			check(db.SiteDocs(site, func(d *Doc) bool { all[d.ID] = now(d.ID); return true }))
			was[site] = all
		}
		if step%10 > 0 {
			continue
		}
		check(db.Commit())
		for site := range SiteID(2) {
			site++
			from, b, err := db.Summary(site)
			check(err)
			if all, ok := was[site]; ok != (from > 0) || ok && len(b) == 0 {
				t.Fatalf("step %d: site %d: summary from %d, %q, want one: %t", step, site, from, b, ok)
			} else if !ok {
				continue
			} else {
				changed, later := map[graph.Node]bool{}, map[graph.Node]bool{}
				check(db.Changed(site, func(d *Doc) bool {
					changed[d.ID] = true
					if string(d.encode()) != all[d.ID] {
						t.Errorf("step %d: document %d is not told of as it was", step, d.ID)
					}
					return true
				}))
				check(db.SiteDocsFrom(site, from, func(d *Doc) bool { later[d.ID] = true; return true }))
				check(db.SiteDocs(site, func(d *Doc) bool {
					before, known := all[d.ID]
					if later[d.ID] == known || known && before != now(d.ID) && !changed[d.ID] {
						t.Errorf("step %d: document %d: known %t, later %t, changed %t", step, d.ID, known, later[d.ID], changed[d.ID])
					}
					return true
				}))
			}
		}
		if t.Failed() {
			return
		}
	}
	check(db.View.Check(func(p Problem) { t.Error(p) }))

	// What the store knows of the documents may change without a summary.
	check(db.PutSummary(1, []byte("x")))
	check(db.Commit())
	b := db.db.NewBatch()
	check(b.Set(cycleKey(1, 1000), cycleFields.Encode(&CycleRecord{Kind: Revisit, At: 1}), nil))
	check(db.write(b))
	if from, _, err := db.Summary(1); from != 0 || err != nil {
		t.Errorf("a cycle of a program that knows no summaries went by: from %d, %v", from, err)
	}
	check(db.PutSummary(2, []byte("x")))
	d, err := db.Doc(0)
	check(err)
	d.Site = 3 - d.Site
	check(db.PutSummary(1, []byte("x")))
	d, err = db.Doc(0)
	check(err)
	check(db.Move(d, 3-d.Site))
	check(db.Commit())
	for site := range SiteID(2) {
		if from, _, err := db.Summary(site + 1); from != 0 || err != nil {
			t.Errorf("site %d has a summary after a document has moved: from %d, %v", site+1, from, err)
		}
	}
	check(db.PutSummary(2, []byte("x")))
	_, err = db.Repair(func(Problem) {})
	check(err)
	if from, _, err := db.Summary(2); from != 0 || err != nil {
		t.Errorf("site 2 has a summary after a repair: from %d, %v", from, err)
	}
	check(db.Close())
}
