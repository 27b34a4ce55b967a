package store

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
)

// TestCache has three stores share a cache with room for two: what is read of all of them is held there, within its bounds, and the room
// for what waits in them is taken once for each that is not open, up to two.
func TestCache(t *testing.T) {
	const memTable, docs = 256 << 10, 3000
	c := NewCache(2, memTable)
	room := func(want int) {
		t.Helper()
		if len(c.room) != want {
			t.Errorf("room for %d stores that are not open, want %d", len(c.room), want)
		}
	}
	room(2)
	files := []vfs.FS{vfs.NewMem(), vfs.NewMem(), vfs.NewMem()}
	for round := range 2 {
		var all []*DB
		for i, fs := range files {
			db := must(Open("s", Options{FS: fs, Cache: c}))(t)
			all = append(all, db)
			room(max(0, 1-i))
			name := fmt.Sprintf("%d.example", i)
			if round == 0 {
				check(t, db.AddSite(&Site{Name: name, Rules: Rules{Scope: "host", Within: name}, Seeds: []string{"http://" + name + "/"}}))
			}
			for n := range docs {
				must(db.Add(NewDoc(fmt.Sprintf("http://%s/%d/%d", name, round, n), 1)))(t)
			}
			check(t, db.Commit())
			check(t, db.db.Flush())
		}
		for i, db := range all {
			for n := range docs {
				id := graph.Node(round*docs + n)
				if d, want := must(db.Doc(id))(t), fmt.Sprintf("http://%d.example/%d/%d", i, round, n); d.URL != want {
					t.Fatalf("document %d is %s, want %s", id, d.URL, want)
				}
			}
			if db.db.Metrics().BlockCache.Size != all[0].db.Metrics().BlockCache.Size {
				t.Error("the stores have caches of their own")
			}
		}
		if size := c.blocks.Size(); size == 0 || size > c.blocks.MaxSize() {
			t.Errorf("%d bytes in a cache of %d", size, c.blocks.MaxSize())
		}
		for i, db := range all {
			check(t, db.Close())
			room(i) // the third to close gives back what the first took
		}
		if size := c.blocks.Size(); size != 0 {
			t.Errorf("%d bytes of stores that are closed", size)
		}
	}
	c.Close()
	room(0)
}
