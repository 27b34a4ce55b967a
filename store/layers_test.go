package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestFirstLevel: the first level of tables is merged when it is 32 layers deep, see options.
func TestFirstLevel(t *testing.T) {
	db, err := Open("crawl", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := &Site{Name: "a.test", Rules: Rules{Scope: "host", Within: "a.test"}, Seeds: []string{"http://a.test/"}}
	if err := db.AddSite(s); err != nil {
		t.Fatal(err)
	}
	layer := func() {
		t.Helper()
		d := NewDoc(fmt.Sprint("http://a.test/", db.next), s.ID)
		if _, err := db.Add(d); err != nil {
			t.Fatal(err)
		}
		if err := db.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := db.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for db.db.Metrics().Levels[0].Sublevels < 31 { // making the store has made some
		layer()
	}
	if m := db.db.Metrics(); m.Compact.Count > 0 || m.Compact.NumInProgress > 0 {
		t.Fatalf("%d compactions, and %d that run, with %d layers", m.Compact.Count, m.Compact.NumInProgress, m.Levels[0].Sublevels)
	}
	layer()
	for end := time.Now().Add(time.Minute); db.db.Metrics().Compact.Count == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no compaction with %d layers", db.db.Metrics().Levels[0].Sublevels)
		}
	}
}
