package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
	"forage/internal/race"
)

// An index is a map from hashes to numbers, up to its bound.
func TestIndex(t *testing.T) {
	for _, most := range []int{1 << 20, 3000} {
		r := rand.New(rand.NewPCG(1, uint64(most)))
		x := &index{most: most, whole: true}
		want := map[uint64]graph.Node{}
		var keys []uint64
		for i := range 20_000 {
			h := r.Uint64() | 1
			switch r.IntN(4) {
			case 0: // one that is there, or collides in its place
				if len(keys) > 0 {
					h = keys[r.IntN(len(keys))]
				}
			case 1:
				h = h&^(1<<60-1<<3) | 1<<40 // of a few slots
			}
			_, had := want[h]
			ok := x.put(h, graph.Node(i))
			if fits := had || len(want) < most; ok != fits {
				t.Fatalf("put %x as number %d of %d: %v, want %v", h, len(want), most, ok, fits)
			}
			if ok {
				want[h] = graph.Node(i)
				keys = append(keys, h)
			}
		}
		if x.n != len(want) || x.whole != (len(want) < most) {
			t.Errorf("%d entries, whole: %v; want %d of at most %d", x.n, x.whole, len(want), most)
		}
		for h, id := range want {
			if got, ok := x.get(h); !ok || got != id {
				t.Fatalf("get %x = %d, %v, want %d", h, got, ok, id)
			}
		}
		for range 20_000 {
			h := r.Uint64() | 1
			if got, ok := x.get(h); ok && want[h] != got {
				t.Fatalf("get %x = %d, which nobody put", h, got)
			}
		}
	}
}

// What a store of many pages answers is the same whether its index is empty, being read, whole, or
// too small, and what is added while it is read is not lost.
func TestIndexOfOldStore(t *testing.T) {
	race.Skip(t)
	const pages = 6000
	files := vfs.NewMem()
	url := func(i int) string { return fmt.Sprintf("https://example.org/%d", i) }
	db := must(Open("s", Options{FS: files}))(t)
	s := &Site{Name: "example.org"}
	check(t, db.AddSite(s))
	for i := range pages {
		d := NewDoc(url(i), s.ID)
		must(db.Add(d))(t)
		must(db.FirstBody(s.ID, uint64(i/2), d.ID))(t)
	}
	check(t, db.Close())
	for _, most := range []int{1 << 20, pages / 2, 0} {
		db := must(Open("s", Options{FS: files, MustExist: true}))(t)
		for _, x := range []*index{db.numbers, db.bodies} {
			if x.whole || x.n > 0 {
				t.Fatalf("an index of a store that was just opened has %d entries, whole: %v", x.n, x.whole)
			}
			x.most = most
		}
		next := graph.Node(must(db.NumURLs())(t))
		look := func(from int) {
			for i := from; i < pages; i++ {
				id, err := db.Find(url(i))
				if err != nil || id != graph.Node(i) {
					t.Fatalf("with %d: the number of URL %d is %d, %v", most, i, id, err)
				}
				first := must(db.FirstBody(s.ID, uint64(i/2), next))(t)
				if first != graph.Node(i/2*2) {
					t.Fatalf("with %d: the first page with body %d is %d", most, i/2, first)
				}
				if _, err := db.Find("https://example.org/none/" + url(i)); !errors.Is(err, ErrNotFound) {
					t.Fatalf("with %d: a URL that nobody added has a number, or %v", most, err)
				}
			}
		}
		look(pages - 1100) // enough for the tables to be read
		for i := range 100 {
			d := NewDoc(fmt.Sprintf("https://example.org/%d/%d", most, i), s.ID)
			if added := must(db.Add(d))(t); !added || d.ID != next+graph.Node(i) {
				t.Fatalf("with %d: a new URL got the number %d, want %d", most, d.ID, next+graph.Node(i))
			}
			if same := must(db.Add(NewDoc(d.URL, s.ID)))(t); same {
				t.Fatalf("with %d: %s was added twice", most, d.URL)
			}
			must(db.FirstBody(s.ID, 1<<40+uint64(d.ID), d.ID))(t)
			check(t, db.PutBody(s.ID, 1<<40+uint64(d.ID), d.ID-1))
			if first := must(db.FirstBody(s.ID, 1<<40+uint64(d.ID), 0))(t); first != d.ID-1 {
				t.Fatalf("with %d: a body that was put anew is that of %d", most, first)
			}
		}
		look(0)
		check(t, db.Commit())
		look(0)
		if most == 1<<20 {
			for whole := false; !whole; runtime.Gosched() {
				db.mu.Lock()
				whole = db.numbers.whole && db.bodies.whole
				db.mu.Unlock()
			}
			look(0)
		} else if db.numbers.n > most || db.numbers.whole {
			t.Errorf("an index with room for %d has %d, whole: %v", most, db.numbers.n, db.numbers.whole)
		}
		check(t, db.Close())
		db = must(Open("s", Options{FS: files, MustExist: true}))(t)
		check(t, db.Check(func(p Problem) { t.Errorf("with %d: %s", most, p) }))
		check(t, db.Close())
	}
}

// A document that is prefetched is the one that Doc reads.
func TestPrefetch(t *testing.T) {
	db := must(Open("s", Options{FS: vfs.NewMem()}))(t)
	s := &Site{Name: "example.org"}
	check(t, db.AddSite(s))
	for i := range 100 {
		must(db.Add(NewDoc(fmt.Sprintf("https://example.org/%d", i), s.ID)))(t)
	}
	check(t, db.Commit())
	clear(db.recent)
	changed := must(db.Doc(42))(t)
	clear(db.recent)
	changed.Title = "of this window"
	check(t, db.Put(changed))
	clear(db.recent)
	ids := []graph.Node{3, 4, 41, 42, 43, 99, 1000}
	check(t, db.Prefetch(ids))
	for _, id := range ids {
		have := db.recent[id%recentDocs]
		if lacks := id == 42 || id == 1000; lacks != (have.b == nil) {
			t.Errorf("document %d is at hand: %v", id, have.b != nil)
		}
		d, err := db.Doc(id)
		switch {
		case id == 1000:
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("document %d: %v", id, err)
			}
		case err != nil || d.URL != fmt.Sprintf("https://example.org/%d", id):
			t.Errorf("document %d is %v, %v", id, d, err)
		case id == 42 && d.Title != "of this window":
			t.Errorf("document %d is as it was before", id)
		}
	}
	check(t, db.Close())
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
