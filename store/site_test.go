package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestAddSite gives sites numbers in the order in which they come, each name once, also in a
// store that is opened again.
func TestAddSite(t *testing.T) {
	dir := t.TempDir()
	for run := range SiteID(2) {
		db, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"a", "b"} {
			s := &Site{Name: name + string('0'+rune(run))}
			if err := db.AddSite(s); err != nil || s.ID != 2*run+SiteID(i)+1 {
				t.Errorf("AddSite(%s) in run %d gives number %d, %v", s.Name, run, s.ID, err)
			}
		}
		if err := db.AddSite(&Site{Name: "a0"}); err == nil {
			t.Errorf("a0 was added twice, in run %d", run)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The counters of very many sites are right, and do not stay in memory, however many windows
// change them.
func TestCountersOfManySites(t *testing.T) {
	db, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const sites, windows, each = 3 * keptCounters, 40, 1000
	want := map[SiteID]Counters{}
	for n := range SiteID(windows * each) {
		site := 1 + n*n%sites // some often, some never
		c := want[site]
		c.Fetches, c.Bytes = c.Fetches+1, c.Bytes+int64(n)
		want[site] = c
		if err := db.Count(site, 1, int64(n), 0); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Counters(site); err != nil || *got != c {
			t.Fatalf("Counters(%d) = %+v, %v in the window, want %+v", site, got, err, c)
		}
		if n%each == each-1 {
			if err := db.Commit(); err != nil {
				t.Fatal(err)
			}
			if len(db.counters) > keptCounters {
				t.Fatalf("after window %d the counters of %d sites are held", n/each, len(db.counters))
			}
		}
	}
	for site := range SiteID(sites) {
		if got, err := db.Counters(site + 1); err != nil || *got != want[site+1] {
			t.Fatalf("Counters(%d) = %+v, %v, want %+v", site+1, got, err, want[site+1])
		}
	}
}

// A state takes the place of the one before, also of a longer one that was put in the same window.
func TestPutState(t *testing.T) {
	db := must(Open("s", Options{FS: vfs.NewMem()}))(t)
	check(t, db.AddSite(&Site{Name: "a.test"}))
	check(t, db.Commit())
	for _, sizes := range [][]int{{3*statePiece + 1, 100}, {5 * statePiece}, {2 * statePiece}, {4 * statePiece, 0}} {
		for _, n := range sizes {
			check(t, db.PutState(1, Cycle(n+1), make([]byte, n)))
		}
		check(t, db.Commit())
		want := sizes[len(sizes)-1]
		c, pieces, err := db.State(1)
		check(t, err)
		n := 0
		for b := range pieces {
			n += len(b)
		}
		if n != want || c != Cycle(want+1) {
			t.Errorf("%d bytes after cycle %d, want %d after %d", n, c, want, want+1)
		}
	}
	check(t, db.Close())
}
