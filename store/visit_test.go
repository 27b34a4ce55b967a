package store

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
	"forage/internal/race"
)

// The visits of a document are those that were put, the last one of each cycle, whether a row or the
// document tells of them.
func TestVisits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	files := vfs.NewMem()
	db := must(Open("s", Options{FS: files}))(t)
	check(t, db.AddSite(&Site{Name: "a.test"}))
	want := map[string]map[Cycle]Visit{}
	for _, u := range []string{"http://a.test/a", "http://a.test/b", "http://a.test/c"} {
		d := NewDoc(u, 1)
		d.Discovered = 1
		must(db.Add(d))(t)
		want[u] = map[Cycle]Visit{}
	}
	agree := func(d *Doc) {
		t.Helper()
		var have, all []Visit
		check(t, db.Visits(d, func(v Visit) bool { have = append(have, v); return true }))
		for _, c := range slices.Sorted(maps.Keys(want[d.URL])) {
			all = append(all, want[d.URL][c])
		}
		if !slices.Equal(have, all) {
			t.Fatalf("visits of %s:\n%v, want\n%v", d.URL, have, all)
		}
		n := 0
		check(t, db.Visits(d, func(Visit) bool { n++; return false }))
		if n != min(1, len(all)) {
			t.Fatalf("%d visits of %s were told to one who wanted the first", n, d.URL)
		}
		most := len(all)
		if most > 1 {
			most--
		}
		var back []Visit
		check(t, db.VisitsBack(d, func(v Visit) bool { back = append(back, v); return len(back) < most }))
		slices.Reverse(all)
		if !slices.Equal(back, all[:most]) {
			t.Fatalf("the latest %d visits of %s:\n%v, want\n%v", most, d.URL, back, all[:most])
		}
	}
	cycle := Cycle(1)
	for now := Time(1); now < Time(race.Fewer(3000)); now++ {
		if r.IntN(4) == 0 {
			cycle = max(1, cycle+Cycle(r.IntN(4))-1) // also an earlier one, that is continued
		}
		d := must(db.Doc(graph.Node(r.IntN(3))))(t)
		d.LastFetched = now
		if r.IntN(5) == 0 { // nothing came
			d.Attempts++
			check(t, db.Put(d))
		} else {
			d.FetchedIn, d.State = cycle, Fetched
			d.Visits++
			v := Visit{Cycle: cycle, At: now, Status: 200}
			switch r.IntN(3) {
			case 0:
				v.Status = 304
				d.Status = 200
			case 1:
				d.Status, d.Digest, d.Bytes = 200, r.Uint64(), r.Int64N(1000)
				v.Digest = d.Digest
				must(db.PutLinks(d, cycle, []Link{{To: 1}}))(t) // which puts d
			case 2:
				v.Status, d.Status = 404, 404
			}
			v.Bytes = d.Bytes
			check(t, db.PutVisit(d, v))
			want[d.URL][cycle] = v
		}
		if r.IntN(3) == 0 {
			d.Title += "x"
			check(t, db.Put(d))
		}
		check(t, db.Commit())
		agree(d)
		agree(must(db.Doc(d.ID))(t))
		if r.IntN(100) == 0 {
			check(t, db.Close())
			db = must(Open("s", Options{FS: files}))(t)
			check(t, db.View.Check(func(p Problem) { t.Error(p) }))
		}
	}
	check(t, db.Close())
}

// A document that was fetched once has no row for that: it says all that the row would.
func TestFirstVisitHasNoRow(t *testing.T) {
	db := must(Open("s", Options{FS: vfs.NewMem()}))(t)
	check(t, db.AddSite(&Site{Name: "a.test"}))
	d := NewDoc("http://a.test/", 1)
	d.Discovered = 1
	must(db.Add(d))(t)
	d.State, d.Status, d.Visits, d.FetchedIn, d.LastFetched, d.Digest, d.Bytes = Fetched, 200, 1, 1, 7, 8, 9
	v := Visit{Cycle: 1, At: 7, Status: 200, Digest: 8, Bytes: 9}
	check(t, db.PutVisit(d, v))
	check(t, db.Commit())
	rows := func() (n int) {
		check(t, db.scan([]byte{tableVisit}, nil, func(_, _ []byte) error { n++; return nil }))
		return n
	}
	if n := rows(); n != 0 {
		t.Errorf("%d rows of visits, want none", n)
	}
	d.Visits, d.FetchedIn, d.LastFetched = 2, 2, 17
	check(t, db.PutVisit(d, Visit{Cycle: 2, At: 17, Status: 304, Bytes: 9}))
	check(t, db.Commit())
	if n := rows(); n != 2 {
		t.Errorf("%d rows of visits, want 2", n)
	}
	check(t, db.Close())
}

// The visits of a document that was lost, and restored by Repair, are told with those that follow.
func TestVisitsOfRestored(t *testing.T) {
	db := must(Open("s", Options{FS: vfs.NewMem()}))(t)
	check(t, db.AddSite(&Site{Name: "a.test"}))
	d := NewDoc("http://a.test/", 1)
	d.Discovered = 1
	must(db.Add(d))(t)
	visit := func(c Cycle) {
		t.Helper()
		d.State, d.Kind, d.Status, d.Cycle, d.FetchedIn, d.LastFetched = Fetched, Page, 200, max(d.Cycle, 1), c, Time(c)
		d.Visits++
		check(t, db.PutVisit(d, Visit{Cycle: c, At: Time(c), Status: 200}))
		check(t, db.Commit())
	}
	visit(1)
	visit(2)
	check(t, db.set(key(tableDoc, uint32(d.ID)), []byte{1}))
	check(t, db.Commit())
	if n := must(db.Repair(func(Problem) {}))(t); n == 0 {
		t.Error("Repair found nothing")
	}
	d = must(db.Doc(d.ID))(t)
	visit(3)
	var have []Cycle
	check(t, db.Visits(d, func(v Visit) bool { have = append(have, v.Cycle); return true }))
	if want := []Cycle{1, 3}; !slices.Equal(have, want) { // the record that was lost told of the second
		t.Errorf("visits in cycles %d, want %d", have, want)
	}
	check(t, db.Close())
}

// The latest record of a document is lost, and the one before comes back: of the visit that it tells of there is a
// row by now, and it is told once, also when others follow.
func TestVisitsOfEarlierRecord(t *testing.T) {
	db := must(Open("s", Options{FS: vfs.NewMem()}))(t)
	check(t, db.AddSite(&Site{Name: "a.test"}))
	d := NewDoc("http://a.test/", 1)
	d.Discovered = 1
	must(db.Add(d))(t)
	visit := func(c Cycle) {
		t.Helper()
		d.State, d.Status, d.FetchedIn, d.LastFetched = Fetched, 200, c, Time(c)
		d.Visits++
		check(t, db.PutVisit(d, Visit{Cycle: c, At: Time(c), Status: 200}))
		check(t, db.Commit())
	}
	told := func(want ...Cycle) {
		t.Helper()
		var have, back []Cycle
		check(t, db.Visits(d, func(v Visit) bool { have = append(have, v.Cycle); return true }))
		check(t, db.VisitsBack(d, func(v Visit) bool { back = append(back, v.Cycle); return true }))
		if slices.Reverse(back); !slices.Equal(have, want) || !slices.Equal(back, want) {
			t.Errorf("visits in cycles %d, and back %d, want %d", have, back, want)
		}
	}
	visit(1)
	visit(2)
	before := d.encode()
	visit(3)
	check(t, db.set(key(tableDoc, uint32(d.ID)), before))
	check(t, db.Commit())
	clear(db.recent)
	d = must(db.Doc(d.ID))(t)
	told(1, 2)
	visit(4)
	told(1, 2, 4)
	check(t, db.Close())
}

// A store of format 2, where each visit has a row, is read as it is, and goes on as one of format 3.
func TestFormat2(t *testing.T) {
	files := vfs.NewMem()
	db := must(Open("s", Options{FS: files}))(t)
	check(t, db.AddSite(&Site{Name: "a.test"}))
	d := NewDoc("http://a.test/", 1)
	must(db.Add(d))(t)
	d.State, d.Status, d.Visits, d.FetchedIn, d.LastFetched, d.Digest = Fetched, 200, 1, 1, 7, 8
	check(t, db.Put(d))
	first := Visit{Cycle: 1, At: 7, Status: 200, Digest: 8}
	check(t, db.set(visitKey(d.ID, 1), visitFields.Encode(&first)))
	check(t, db.set(metaKey("format"), []byte("2")))
	check(t, db.Close())
	visits := func(want ...Visit) {
		t.Helper()
		var have []Visit
		check(t, db.Visits(must(db.Doc(0))(t), func(v Visit) bool { have = append(have, v); return true }))
		if !slices.Equal(have, want) {
			t.Errorf("visits %v, want %v", have, want)
		}
		check(t, db.View.Check(func(p Problem) { t.Error(p) }))
	}
	db = must(Open("s", Options{FS: files, ReadOnly: true}))(t)
	visits(first)
	check(t, db.Close())
	db = must(Open("s", Options{FS: files}))(t)
	if v := must(db.version("format"))(t); v != Format {
		t.Errorf("format %d after it was opened for writing", v)
	}
	visits(first)
	d = must(db.Doc(0))(t)
	d.Visits, d.FetchedIn, d.LastFetched, d.Digest = 2, 2, 17, 18
	second := Visit{Cycle: 2, At: 17, Status: 200, Digest: 18}
	check(t, db.PutVisit(d, second))
	check(t, db.Commit())
	visits(first, second)
	check(t, db.Close())
}
