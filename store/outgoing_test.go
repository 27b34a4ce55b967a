package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
)

// outgoing is what waits in an outbox, as text.
func outgoing(t *testing.T, v *View, after uint64) (all []string) {
	t.Helper()
	if err := v.Outgoing(after, func(o *Outgoing) bool {
		all = append(all, fmt.Sprint(o.Seq, " ", o.URL, " from ", o.From, " ", o.Via, " ", o.At, " ", o.NoFollow, " ", o.Depth, " ", o.MaybeOld))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestOutgoing(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(o Outgoing) {
		t.Helper()
		if err := db.PutOutgoing(&o); err != nil {
			t.Fatal(err)
		}
	}
	more := db.MoreOutgoing()
	put(Outgoing{URL: "http://b.example/1", From: "http://a.example/", Via: ViaAnchor, At: 5, NoFollow: true, Depth: 3})
	put(Outgoing{URL: "http://b.example/2", From: "http://a.example/", Via: ViaFeed, MaybeOld: true})
	if got := outgoing(t, &db.View, 0); len(got) > 0 {
		t.Errorf("before the commit there is %q", got)
	}
	select {
	case <-more:
		t.Error("there are more before the commit")
	default:
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	<-more
	want := []string{"1 http://b.example/1 from http://a.example/ a 5 true 3 false", "2 http://b.example/2 from http://a.example/ feed 0 false 0 true"}
	if got := outgoing(t, &db.View, 0); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := outgoing(t, &db.View, 1); !slices.Equal(got, want[1:]) {
		t.Errorf("after the first %q, want %q", got, want[1:])
	}
	if err := db.PutOutgoing(&Outgoing{URL: "no URL"}); err == nil {
		t.Error("what is no URL was taken")
	}
	snapshot := db.Snapshot()
	for _, err := range []error{db.DropOutgoing(0), db.DropOutgoing(1), db.Sync()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := outgoing(t, &db.View, 0); !slices.Equal(got, want[1:]) {
		t.Errorf("after the drop %q, want %q", got, want[1:])
	}
	if got := outgoing(t, snapshot, 0); !slices.Equal(got, want) {
		t.Errorf("in the snapshot %q, want %q", got, want)
	}
	for _, err := range []error{snapshot.Close(), db.DropOutgoing(99), db.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if db, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put(Outgoing{URL: "http://b.example/3"}) // numbers go on
	if err := db.Sync(); err != nil || db.LastOutgoing() != 3 {
		t.Errorf("the last one is %d, %v", db.LastOutgoing(), err)
	}
	if got := outgoing(t, &db.View, 0); len(got) != 1 || !strings.HasPrefix(got[0], "3 ") {
		t.Errorf("%q", got)
	}
	if err := db.Check(func(p Problem) { t.Error(p) }); err != nil {
		t.Error(err)
	}
}

// What is wrong in the outbox is found. Where some of it is missing, a repair writes down all documents that may have been in it, under numbers that
// nobody has read up to.
func TestOutgoingIsChecked(t *testing.T) {
	for name, damage := range map[string]func(w *pebble.Batch) error{
		"one is missing":        func(w *pebble.Batch) error { return w.Delete(outgoingKey(3), nil) },
		"the last is missing":   func(w *pebble.Batch) error { return w.Delete(outgoingKey(4), nil) },
		"one cannot be read":    func(w *pebble.Batch) error { return w.Set(outgoingKey(2), []byte{0xff}, nil) },
		"the only one":          func(w *pebble.Batch) error { return w.DeleteRange(outgoingKey(1), outgoingKey(4), nil) },
		"a key that is none":    func(w *pebble.Batch) error { return w.Set([]byte{tableOutgoing, 1}, nil, nil) },
		"the count is missing":  func(w *pebble.Batch) error { return w.Delete(metaKey("outgoing"), nil) },
		"the count is no count": func(w *pebble.Batch) error { return w.Set(metaKey("outgoing"), []byte{1}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(t.TempDir(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			s := &Site{Name: "a.example"}
			if err := db.AddSite(s); err != nil {
				t.Fatal(err)
			}
			home := NewDoc("http://a.example/", s.ID)
			if _, err := db.Add(home); err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				d := NewDoc(fmt.Sprintf("http://b.example/%d", i+1), s.ID)
				d.State, d.Reason, d.Via, d.FoundOn = Skipped, ReasonElsewhere, ViaAnchor, home.ID
				if _, err := db.Add(d); err != nil {
					t.Fatal(err)
				}
				if err := db.PutOutgoing(&Outgoing{URL: d.URL, From: home.URL, Via: d.Via}); err != nil {
					t.Fatal(err)
				}
			}
			for _, d := range []*Doc{{URL: "http://b.example/action", Action: true, Via: ViaAnchor}, {URL: "http://b.example/named", FoundOn: graph.None}} {
				d.Site, d.State, d.Reason, d.DuplicateOf, d.StandIn, d.MovedFrom = s.ID, Skipped, ReasonElsewhere, graph.None, graph.None, graph.None
				if _, err := db.Add(d); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Sync(); err != nil {
				t.Fatal(err)
			}
			if name == "the only one" {
				if err := db.DropOutgoing(3); err != nil {
					t.Fatal(err)
				}
				if err := db.Sync(); err != nil {
					t.Fatal(err)
				}
				damage = func(w *pebble.Batch) error { return w.Set(outgoingKey(4), nil, nil) }
			}
			b := db.db.NewBatch()
			for _, err := range []error{damage(b), db.write(b)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			problems := 0
			if err := db.Check(func(Problem) { problems++ }); err != nil || problems == 0 {
				t.Errorf("%d problems, %v", problems, err)
			}
			if _, err := db.Repair(func(Problem) {}); err != nil {
				t.Fatal(err)
			}
			if err := db.Check(func(p Problem) { t.Errorf("after the repair: %s", p.Text) }); err != nil {
				t.Error(err)
			}
			got, first := outgoing(t, &db.View, 0), 5
			if strings.HasPrefix(name, "the count") {
				first = 1 // nothing is missing
			}
			if len(got) != 4 {
				t.Fatalf("after the repair there is %q", got)
			}
			for i, text := range got {
				if want := fmt.Sprintf("%d http://b.example/%d from http://a.example/ a ", first+i, i+1); !strings.HasPrefix(text, want) {
					t.Errorf("after the repair there is %q, want %q", text, want)
				}
			}
			if err := db.PutOutgoing(&Outgoing{URL: "http://b.example/next"}); err != nil {
				t.Fatal(err)
			}
			if err := db.Sync(); err != nil || db.LastOutgoing() != uint64(first+4) {
				t.Errorf("the next number is %d, %v", db.LastOutgoing(), err)
			}
		})
	}
}

// TestOutgoingSurvives cuts the power at random moments, and goes on with what is left: what was told is never taken back, so that a number
// means one URL for ever.
func TestOutgoingSurvives(t *testing.T) {
	files := vfs.NewCrashableMem()
	db, err := Open("s", Options{FS: files, MemTable: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { db.Close() }()
	r := rand.New(rand.NewPCG(7, 7))
	told := map[uint64]string{}
	dropped := uint64(0)
	read := func(v *View) {
		if err := v.Outgoing(0, func(o *Outgoing) bool {
			if was := told[o.Seq]; was != "" && was != o.URL {
				t.Errorf("number %d was %s, and is %s", o.Seq, was, o.URL)
			}
			told[o.Seq] = o.URL
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	for step := range 150 {
		for range r.IntN(20) {
			if err := db.PutOutgoing(&Outgoing{URL: fmt.Sprintf("http://b.example/%d/%d", step, r.Uint32())}); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(10) == 0 {
			dropped = min(db.LastOutgoing(), dropped+uint64(r.IntN(100)))
			if err := db.DropOutgoing(dropped); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Commit(); err != nil {
			t.Fatal(err)
		}
		if r.IntN(2) == 0 { // else only as fast as the disk is, which may be busy, is anything told
			if err := db.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		read(&db.View)
		if step%5 != 0 {
			continue
		}
		known := db.LastOutgoing()
		cut := files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 25 * r.IntN(5), RNG: rand.New(rand.NewPCG(r.Uint64(), 1))})
		after, err := Open("s", Options{FS: cut})
		if err != nil {
			t.Fatal(err)
		}
		if after.LastOutgoing() < known {
			t.Errorf("step %d: number %d was told, and %d is the last", step, known, after.LastOutgoing())
		}
		if err := after.Check(func(p Problem) { t.Error(p) }); err != nil {
			t.Error(err)
		}
		read(&after.View)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db, files, dropped = after, cut, min(dropped, after.LastOutgoing())
	}
	if len(told) < 500 {
		t.Errorf("%d were told", len(told))
	}
}
