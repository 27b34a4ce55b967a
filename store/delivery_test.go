package store

import (
	"fmt"
	"slices"
	"testing"
)

// TestDelivery: records are there once they are committed, by target and event, also when the store is opened again,
// and the store is sound.
func TestDelivery(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := func(v *View) (got []string) {
		t.Helper()
		if err := v.Deliveries(func(target string, seq uint64, b []byte) bool {
			got = append(got, fmt.Sprintf("%s %d %s", target, seq, b))
			return target != "stop"
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
	must(db.PutDelivery("b", 256, []byte("late"))) // in the key there is a 0 byte
	must(db.PutDelivery("b", 7, []byte("early")))
	must(db.PutDelivery("b", 8, []byte("dropped")))
	must(db.PutDelivery("b", 0, []byte("itself")))
	must(db.PutDelivery("a.b", 0, []byte("old")))
	if got := all(&db.View); got != nil {
		t.Errorf("before the commit: %q", got)
	}
	must(db.Sync())
	must(db.PutDelivery("a.b", 0, []byte("new")))
	must(db.DropDelivery("b", 8))
	must(db.DropDelivery("b", 9))
	must(db.Sync())
	must(db.Close())
	if db, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got, want := all(&db.View), []string{"a.b 0 new", "b 0 itself", "b 7 early", "b 256 late"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	must(db.PutDelivery("stop", 0, nil))
	must(db.PutDelivery("z", 0, nil))
	must(db.Commit())
	if got := all(&db.View); len(got) != 5 {
		t.Errorf("%q, want 5", got)
	}
	must(db.Check(func(p Problem) { t.Errorf("problem: %s", p.Text) }))
}
