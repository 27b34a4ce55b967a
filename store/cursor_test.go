package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
)

// mixed makes a store of three sites whose documents take turns, some with several versions of
// links and visits, some with none, part of them in tables and part in the log.
func mixed(t *testing.T) *DB {
	t.Helper()
	db, err := Open("crawl", Options{FS: vfs.NewMem()})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	t.Cleanup(func() { must(db.Close()) })
	r := rand.New(rand.NewPCG(7, 14))
	for s := range 3 {
		name := fmt.Sprintf("%c.test", 'a'+s)
		must(db.AddSite(&Site{Name: name, Rules: Rules{Scope: "host", Within: name}, Seeds: []string{"http://" + name + "/"}}))
		must(db.OpenCycle(&CycleRecord{Site: SiteID(s + 1), Kind: FirstVisit}))
	}
	for i := range 120 {
		s := r.IntN(3)
		d := NewDoc(fmt.Sprintf("http://%c.test/%d", 'a'+s, i), SiteID(s+1))
		if i > 0 {
			d.FoundOn = graph.Node(r.IntN(i))
		}
		d.Reason = []string{"", "robots", "timeout"}[r.IntN(3)]
		_, err := db.Add(d)
		must(err)
		switch r.IntN(4) {
		case 0: // it waits
		case 1:
			d.State = Failed
			must(db.Put(d))
		default:
			d.State, d.Kind = Fetched, Page
			for c := range Cycle(1 + r.IntN(3)) {
				if c > 0 {
					must(db.Commit())
				}
				_, err := db.PutLinks(d, c+1, []Link{{To: graph.Node(r.IntN(i + 1)), Place: r.Uint32()}, {To: graph.Node(i)}})
				must(err)
				visit := Visit{Cycle: c + 1, Status: 200, Digest: r.Uint64()}
				if d.Visits = int(c) + 1; i%3 > 0 { // then d tells of it
					d.FetchedIn, d.Status, d.Digest = c+1, 200, visit.Digest
				}
				must(db.PutVisit(d, visit))
			}
		}
		if i%20 == 19 {
			must(db.Commit())
		}
		if i == 79 {
			must(db.db.Flush())
		}
	}
	must(db.Commit())
	return db
}

// TestCursor: a cursor tells what the methods of View do, which look everything up, in whatever order
// it is asked.
func TestCursor(t *testing.T) {
	db := mixed(t)
	v := &db.View
	n, err := v.NumURLs()
	if err != nil || n != 120 {
		t.Fatalf("%d URLs, %v", n, err)
	}
	r := rand.New(rand.NewPCG(3, 1))
	var ascending, some, random []graph.Node
	for id := range graph.Node(n + 3) { // the last ones are not there
		ascending = append(ascending, id)
		if r.IntN(5) == 0 {
			some = append(some, id)
		}
		random = append(random, graph.Node(r.IntN(n)))
	}
	type visits []Visit
	type version struct {
		Cycle Cycle
		Links []Link
	}
	for name, ids := range map[string][]graph.Node{"ascending": ascending, "some": some, "random": random} {
		c := v.Cursor()
		for _, id := range ids {
			d, wantErr := v.Doc(id)
			url, err := c.URL(id)
			if wantErr != nil {
				if !errors.Is(wantErr, ErrNotFound) || !errors.Is(err, ErrNotFound) {
					t.Fatalf("%s: document %d: %v, URL: %v", name, id, wantErr, err)
				}
			} else {
				if url != d.URL || err != nil {
					t.Fatalf("%s: URL(%d) = %s, %v, want %s", name, id, url, err, d.URL)
				}
				want, err := v.Links(d)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := c.Links(d); !slices.Equal(got, want) || err != nil {
					t.Fatalf("%s: Links(%d) = %v, %v, want %v", name, id, got, err, want)
				}
			}
			if d != nil {
				var a, b visits
				if err := errors.Join(v.Visits(d, func(x Visit) bool { a = append(a, x); return len(a) < 2 }),
					c.Visits(d, func(x Visit) bool { b = append(b, x); return len(b) < 2 })); err != nil || !reflect.DeepEqual(a, b) {
					t.Fatalf("%s: Visits(%d) = %v, want %v; %v", name, id, b, a, err)
				}
			}
			var e, f []version
			if err := errors.Join(v.LinkHistory(id, func(c Cycle, l []Link) bool { e = append(e, version{c, l}); return true }),
				c.LinkHistory(id, func(c Cycle, l []Link) bool { f = append(f, version{c, slices.Clone(l)}); return true })); err != nil || !reflect.DeepEqual(e, f) {
				t.Fatalf("%s: LinkHistory(%d) = %v, want %v; %v", name, id, f, e, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for site := range SiteID(4) { // 0: all
		var want, got []Doc
		waiting := map[string]int{}
		for id := range graph.Node(n) {
			d, err := v.Doc(id)
			if err != nil {
				t.Fatal(err)
			}
			if site != 0 && d.Site != site {
				continue
			}
			want = append(want, *d)
			if (d.State == Queued || d.State == Failed) && d.Reason != "" {
				waiting[d.Reason]++
			}
		}
		c := v.Cursor()
		if err := errors.Join(c.SiteDocs(site, func(d *Doc) bool { got = append(got, *d); return true }), c.Close()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("site %d: %v, %d documents, want %d", site, err, len(got), len(want))
		}
		if counts, err := v.Waiting(site); err != nil || !reflect.DeepEqual(counts, waiting) || len(counts) != 2 {
			t.Errorf("Waiting(%d) = %v, %v, want %v", site, counts, err, waiting)
		}
	}
}

// TestCursorEnds: a cursor of a snapshot keeps the store open until it is closed, and reads nothing
// afterwards.
func TestCursorEnds(t *testing.T) {
	db := mixed(t)
	s := db.Snapshot()
	c := s.Cursor()
	if _, err := c.URL(1); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.URL(2); err == nil {
		t.Error("a closed cursor reads")
	}
	if err := db.EndReads(); err != nil {
		t.Fatal(err)
	}
	c = s.Cursor()
	if _, err := c.URL(1); !errors.Is(err, ErrClosed) {
		t.Errorf("after EndReads: %v", err)
	}
	if err := c.Docs(func(*Doc) bool { return true }); !errors.Is(err, ErrClosed) {
		t.Errorf("after EndReads: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestOnly: a codec of some fields decodes these and no others.
func TestOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := new(Doc)
	fill(reflect.ValueOf(d).Elem(), r)
	b := d.encode()
	got := blank
	if err := reasonFields.Decode(b, &got); err != nil {
		t.Fatal(err)
	}
	want := blank
	want.State, want.Reason = d.State, d.Reason
	if !reflect.DeepEqual(got, want) {
		t.Errorf("state and reason alone are %+v, want %+v", got, want)
	}
	got = blank
	if err := urlField.Decode(b[:2+len(d.URL)], &got); err != nil || got.URL != d.URL {
		t.Errorf("the URL alone is %q, %v, want %q", got.URL, err, d.URL)
	}
	defer func() {
		if recover() == nil {
			t.Error("Only(999), which no field has, does not panic")
		}
	}()
	docFields.Only(999)
}

// TestSiteDocsAhead compares documents read ahead with those of SiteDocs: of a site that has most
// of the store's, of one that has few and of one for which no goroutine is begun; whole, and ended
// after some.
func TestSiteDocsAhead(t *testing.T) {
	db, err := Open("crawl", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for s := range 3 {
		name := fmt.Sprintf("%c.test", 'a'+s)
		if err := db.AddSite(&Site{Name: name, Rules: Rules{Scope: "host", Within: name}, Seeds: []string{"http://" + name + "/"}}); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(3, 1))
	for i := range 2 * batches * batch {
		s := []int{0, 0, 0, 0, 0, 1, 1, 2}[r.IntN(8)]
		if s == 2 && i > batch {
			s = 0
		}
		d := NewDoc(fmt.Sprintf("http://%c.test/%d", 'a'+s, i), SiteID(s+1))
		d.Depth = r.IntN(9)
		if _, err := db.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	for site := SiteID(1); site <= 3; site++ {
		var want []Doc
		if err := db.SiteDocs(site, func(d *Doc) bool { want = append(want, *d); return true }); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, batch, batch + 1, len(want) - 1, len(want)} {
			n = min(n, len(want))
			var got []Doc
			if err := db.SiteDocsAhead(site, func(d *Doc) bool { got = append(got, *d); return len(got) < n }); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want[:n]) {
				t.Errorf("site %d, %d of %d documents: got %d, or others", site, n, len(want), len(got))
			}
		}
	}
}
