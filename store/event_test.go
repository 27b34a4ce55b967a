package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
	"forage/internal/race"
	"forage/store/record"
)

// openEvents is a store in memory with a site, whose first visit was cycle 1.
func openEvents(t *testing.T) *DB {
	t.Helper()
	db, err := Open("crawl", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p := problems(t, &db.View); len(p) != 0 {
			t.Errorf("%q", p)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(db.AddSite(&Site{Name: "a.test", FirstCycle: 1}), db.Sync()); err != nil {
		t.Fatal(err)
	}
	return db
}

func allEvents(t *testing.T, v *View, after uint64) (all []*Event) {
	t.Helper()
	if err := v.Events(after, func(e *Event) bool { all = append(all, e); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEvents has a few documents become all that they can be, in windows of any size, and compares what is told
// with what the model tells: each document as it was at one commit and at the next.
func TestEvents(t *testing.T) {
	kinds := map[EventType]int{}
	for seed := range uint64(race.Fewer(20)) {
		r := rand.New(rand.NewPCG(seed, 2))
		db := openEvents(t)
		m := &model{docs: map[graph.Node]Doc{}, news: map[graph.Node]bool{}, quiet: 1, history: newHistory("a.test")}
		for range 5 {
			d := NewDoc(fmt.Sprint("http://a.test/", len(m.docs)), 1)
			if _, err := db.Add(d); err != nil {
				t.Fatal(err)
			}
			m.docs[d.ID] = *d
		}
		for step := range 300 {
			d, err := db.Doc(graph.Node(r.IntN(5)))
			if err != nil {
				t.Fatal(err)
			}
			switch r.IntN(8) {
			case 0:
				d.State = State(r.IntN(int(numStates)))
			case 1:
				d.Kind = []Kind{Page, Page, Feed, Soft404}[r.IntN(4)]
			case 2:
				d.New = Novelty(r.IntN(3))
			case 3:
				d.DuplicateOf = []graph.Node{graph.None, graph.None, 0}[r.IntN(3)]
			case 4:
				d.Gone = Time(r.IntN(2))
			case 5:
				d.Moved = Time(r.IntN(3))
			default:
				d.Changed, d.FetchedIn = Time(step), 2
			}
			if err := db.Put(d); err != nil {
				t.Fatal(err)
			}
			m.docs[d.ID] = *d
			if r.IntN(3) == 0 {
				if err := db.Commit(); err != nil {
					t.Fatal(err)
				}
				m.commit()
			}
		}
		if err := db.Sync(); err != nil {
			t.Fatal(err)
		}
		m.commit()
		got := eventsText(t, &db.View)
		slices.Sort(got)
		slices.Sort(m.told)
		if !slices.Equal(got, m.told) {
			t.Fatalf("seed %d: told\n%q\nwant\n%q", seed, got, m.told)
		}
		for _, e := range allEvents(t, &db.View, 0) {
			kinds[e.Type]++
		}
	}
	for _, k := range []EventType{PageNew, PageChanged, PageGone, PageMoved} {
		if kinds[k] == 0 {
			t.Errorf("no event of type %s was tried", k)
		}
	}
}

// TestEventOfPage has a chain of new pages be found from a page that was read before.
func TestEventOfPage(t *testing.T) {
	db := openEvents(t)
	home, news, page := NewDoc("http://a.test/", 1), NewDoc("http://a.test/news", 1), NewDoc("http://a.test/page", 1)
	put := func(d *Doc, add bool) {
		t.Helper()
		if add {
			if _, err := db.Add(d); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Put(d); err != nil {
			t.Fatal(err)
		}
	}
	visit := func(d *Doc, c Cycle, at Time, status int) {
		t.Helper()
		d.State, d.Kind, d.FetchedIn, d.LastFetched = Fetched, Page, c, at
		if d.Visits++; status == 200 {
			d.Status = 200 // so that d tells of it
		}
		if err := db.PutVisit(d, Visit{Cycle: c, At: at, Status: status}); err != nil {
			t.Fatal(err)
		}
	}
	put(home, true)
	visit(home, 1, 1000, 200)
	visit(home, 2, 2000, 304)
	visit(home, 3, 2500, 503) // it did not see what was there
	put(home, false)
	if err := db.Commit(); err != nil {
		t.Fatal(err)
	}
	visit(home, 4, 3000, 200)
	put(home, false)
	news.FoundOn, news.Via, news.Discovered, news.New = home.ID, ViaAnchor, 3000, IsNew
	put(news, true)
	visit(news, 4, 3010, 200)
	put(news, false)
	page.FoundOn, page.Via, page.Discovered, page.New = news.ID, ViaFeed, 3010, IsNew
	put(page, true)
	visit(page, 4, 3020, 200)
	page.Title, page.Class, page.FirstSeen, page.Cycle, page.Published, page.LastMod, page.ContentType, page.Digest, page.Depth = "T", ContentPage, 3020, 4, 2900, 2950, "text/html", 7, 2
	put(page, false)
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	all := allEvents(t, &db.View, 1)
	want := &Event{
		Seq: 2, Type: PageNew, At: 3020, Site: "a.test", Cycle: 4, Doc: page.ID, URL: page.URL, Title: "T", Kind: "content", FoundOn: news.URL, Via: "feed",
		PreviousLook: 2000, Published: 2900, LastMod: 2950, ContentType: "text/html", Digest: 7, Depth: 2,
	}
	if len(all) != 1 || !reflect.DeepEqual(all[0], want) {
		t.Fatalf("told %+v, want %+v", all, want)
	}
	id := all[0].ID()
	page.Title, page.Changed, page.FetchedIn = "another", 4000, 5
	put(page, false)
	page.Changed, page.Gone, page.GoneIn = 4000, 4001, 5
	put(page, false)
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	all = allEvents(t, &db.View, 1)
	if len(all) != 2 || all[0].ID() != id || all[0].Title != "T" || all[1].Type != PageGone || all[1].At != 4001 || all[1].ID() == id {
		t.Fatalf("told %+v", all)
	}
}

// TestEventsInFirstVisit has nothing be told of what a first visit sees change.
func TestEventsInFirstVisit(t *testing.T) {
	db := openEvents(t)
	d := NewDoc("http://a.test/", 1)
	if _, err := db.Add(d); err != nil {
		t.Fatal(err)
	}
	d.State, d.Kind, d.FetchedIn = Fetched, Page, 1
	for n := range Time(3) {
		d.Changed = n
		if err := errors.Join(db.Put(d), db.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	d.Gone = 9
	if err := errors.Join(db.Put(d), db.Sync()); err != nil {
		t.Fatal(err)
	}
	if all := allEvents(t, &db.View, 0); len(all) != 0 {
		t.Errorf("told %+v", all)
	}
}

// TestMoreEvents has whoever waits hear of an event when it is on the disk, and see it then.
func TestMoreEvents(t *testing.T) {
	db := openEvents(t)
	for n := range 10 {
		more := db.MoreEvents()
		select {
		case <-more:
			t.Fatal("there were no more")
		default:
		}
		db.PutEvent(&Event{Type: SiteReady, Site: "a.test", At: Time(n), Reason: "r"})
		if err := db.Commit(); err != nil {
			t.Fatal(err)
		}
		<-more
		if all := allEvents(t, &db.View, uint64(n)); len(all) != 1 || all[0].At != Time(n) || all[0].Doc != graph.None {
			t.Fatalf("after event %d: %+v", n, all)
		}
	}
}

// TestDropEvents has old events leave, and the numbers go on.
func TestDropEvents(t *testing.T) {
	db := openEvents(t)
	for n := range 10 {
		db.PutEvent(&Event{Type: SiteReady, Site: "a.test", At: Time(n)})
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		before     Time
		most, want int
		first      uint64
	}{{0, 9, 0, 1}, {5, 3, 3, 4}, {5, 9, 2, 6}, {50, 99, 5, 11}, {50, 99, 0, 11}} {
		n, err := db.DropEvents(c.before, c.most)
		if err := errors.Join(err, db.Sync()); err != nil {
			t.Fatal(err)
		}
		first, last, err := db.EventsKept()
		if n != c.want || first != c.first || last != 10 || err != nil {
			t.Errorf("before %d, at most %d: %d dropped, %d to %d are kept, %v", c.before, c.most, n, first, last, err)
		}
	}
	db.PutEvent(&Event{Type: SiteFine, Site: "a.test", At: 11})
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	if all := allEvents(t, &db.View, 0); len(all) != 1 || all[0].Seq != 11 {
		t.Errorf("%+v", all)
	}
}

// TestEventsLost has a repair put a word in the place of each event that is damaged or gone, so that none is
// passed over in silence.
func TestEventsLost(t *testing.T) {
	db := openEvents(t)
	for n := range 10 {
		db.PutEvent(&Event{Type: SiteReady, Site: "a.test", At: Time(n)})
	}
	if err := errors.Join(db.Sync(), db.db.Delete(eventKey(3), nil), db.db.Delete(eventKey(4), nil), db.db.Delete(eventKey(10), nil), db.db.Set(eventKey(7), []byte("no event"), nil)); err != nil {
		t.Fatal(err)
	}
	if p := problems(t, &db.View); len(p) != 3 {
		t.Errorf("%q", p)
	}
	if _, err := db.Repair(func(Problem) {}); err != nil {
		t.Fatal(err)
	}
	var lost []uint64
	for i, e := range allEvents(t, &db.View, 0) {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d is number %d", i+1, e.Seq)
		}
		if e.Type == EventLost {
			lost = append(lost, e.Seq)
		}
	}
	if !slices.Equal(lost, []uint64{3, 4, 7, 10}) {
		t.Errorf("lost are %d", lost)
	}
}

// TestEventNumbers has the latest events be gone together with their count: no number that was told is given
// again. Where numbers make no sense, the repair ends, and keeps what comes after them.
func TestEventNumbers(t *testing.T) {
	tell := func(t *testing.T) *DB {
		db := openEvents(t)
		for i := range 5 {
			d := NewDoc(fmt.Sprint("http://a.test/", i), 1)
			d.State, d.Kind, d.New, d.Cycle, d.FetchedIn = Fetched, Page, IsNew, 2, 2
			if _, err := db.Add(d); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Sync(); err != nil {
			t.Fatal(err)
		}
		if all := allEvents(t, &db.View, 0); len(all) != 5 {
			t.Fatalf("told %+v", all)
		}
		return db
	}
	event := eventFields.Encode(&Event{Type: SiteReady, Doc: graph.None})
	number := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	for _, c := range []struct {
		name  string
		do    func(b *pebble.Batch) error
		lost  []uint64 // numbers
		first uint64
		last  uint64
	}{
		{"count and events gone", func(b *pebble.Batch) error {
			return errors.Join(b.Delete(metaKey("events"), nil), b.Delete(eventKey(4), nil), b.Delete(eventKey(5), nil))
		}, []uint64{4, 5}, 1, 5},
		{"count of another length", func(b *pebble.Batch) error { return b.Set(metaKey("events"), []byte{1}, nil) }, nil, 1, 5},
		{"a wild event", func(b *pebble.Batch) error { return b.Set(eventKey(1<<60), event, nil) }, nil, 1 << 60, 1 << 60},
		{"the highest number there is", func(b *pebble.Batch) error { return b.Set(eventKey(math.MaxUint64), event, nil) }, nil, 1, 5},
		{"a wild count", func(b *pebble.Batch) error { return b.Set(metaKey("events"), number(1<<60), nil) }, nil, 1<<60 + 1, 1 << 60},
		{"a wild page", func(b *pebble.Batch) error { return b.Set(key(tableTold, 2), number(1<<60), nil) }, nil, 1<<60 + 1, 1 << 60},
		{"two wild events", func(b *pebble.Batch) error {
			return errors.Join(b.Set(eventKey(1<<40), event, nil), b.Set(eventKey(1<<40+2), event, nil))
		}, []uint64{1<<40 + 1}, 1 << 40, 1<<40 + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := tell(t)
			b := db.db.NewBatch()
			if err := errors.Join(c.do(b), db.write(b)); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Repair(func(Problem) {}); err != nil {
				t.Fatal(err)
			}
			if p := problems(t, &db.View); len(p) > 0 {
				t.Errorf("after the repair: %q", p)
			}
			var lost []uint64
			for _, e := range allEvents(t, &db.View, 0) {
				if e.Type == EventLost {
					lost = append(lost, e.Seq)
				}
			}
			if !slices.Equal(lost, c.lost) {
				t.Errorf("lost are %d, want %d", lost, c.lost)
			}
			if last, err := db.lastEventNumber(); last != c.last || err != nil {
				t.Errorf("the last number is %d, %v; want %d", last, err, c.last)
			}
			first := c.last + 1
			if all := allEvents(t, &db.View, 0); len(all) > 0 {
				first = all[0].Seq
			}
			if first != c.first {
				t.Errorf("the first number is %d, want %d", first, c.first)
			}
		})
	}
}

// TestEventThatCannotBeTold has the page that led to a new one be unreadable: the window is kept until it can be
// read, and nothing of it is in the store without having been told of.
func TestEventThatCannotBeTold(t *testing.T) {
	db := openEvents(t)
	home := NewDoc("http://a.test/", 1)
	home.State, home.Kind, home.Cycle, home.FetchedIn = Fetched, Page, 1, 1
	if _, err := db.Add(home); err != nil {
		t.Fatal(err)
	}
	if err := db.Commit(); err != nil {
		t.Fatal(err)
	}
	k := key(tableDoc, uint32(home.ID))
	b, err := db.get(k)
	if err != nil {
		t.Fatal(err)
	}
	write := func(val []byte) {
		t.Helper()
		if err := db.db.Set(k, val, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte{1})
	for i := range 2 {
		d := NewDoc(fmt.Sprint("http://a.test/", i), 1)
		d.State, d.Kind, d.New, d.Cycle, d.FetchedIn = Fetched, Page, IsNew, 2, 2
		if i == 1 {
			d.FoundOn = home.ID
		}
		if _, err := db.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := db.Commit(); !errors.Is(err, record.ErrCorrupt) {
			t.Fatalf("commit: %v", err)
		}
	}
	if n, err := db.NumURLs(); n != 1 || err != nil {
		t.Fatalf("%d URLs, %v: want that of the window before", n, err)
	}
	write(b)
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	if all := allEvents(t, &db.View, 0); len(all) != 2 || all[0].Seq != 1 || all[1].Seq != 2 || all[1].FoundOn != home.URL {
		t.Errorf("told %+v", all)
	}
}
