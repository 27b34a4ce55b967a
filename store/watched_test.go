package store

import (
	"fmt"
	"slices"
	"testing"
)

// TestWatched: records are there once they are committed, also when the store is opened again, and the store is sound.
func TestWatched(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := func(v *View) (got []string) {
		t.Helper()
		if err := v.Watched(func(name string, b []byte) bool {
			got = append(got, fmt.Sprintf("%s=%s", name, b))
			return name != "stop"
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(db.PutWatched("b.example", []byte("1")))
	must(db.PutWatched("", []byte("all")))
	must(db.PutWatched("https://a.example/x", []byte("2")))
	must(db.PutWatched("b.example", []byte("3")))
	must(db.Sync())
	must(db.DropWatched("https://a.example/x"))
	must(db.DropWatched("none"))
	must(db.Sync())
	must(db.Close())
	if db, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got, want := all(&db.View), []string{"=all", "b.example=3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	must(db.PutWatched("stop", nil))
	must(db.PutWatched("z", nil))
	must(db.Commit())
	if got, want := all(&db.View), []string{"=all", "b.example=3", "stop="}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	must(db.Check(func(p Problem) { t.Errorf("problem: %s", p.Text) }))
}
