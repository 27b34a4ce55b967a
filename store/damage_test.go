package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
	"forage/internal/race"
)

// crash tells whether everything is tried ('make crash'), not a part.
var crash = os.Getenv("FORAGE_CRASH") != ""

// A sample is a small store: its files, and what was in it after each commit.
type sample struct {
	files  map[string][]byte // in the folder of the database
	states []map[string]string
}

// makeSample writes a store with pages in tables and in the log, all of it synced.
func makeSample(t *testing.T) *sample {
	t.Helper()
	fsys := vfs.NewMem()
	db, err := Open("crawl", Options{FS: fsys})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	s := &sample{states: []map[string]string{nil}}
	commit := func() {
		t.Helper()
		must(db.Sync())
		for uint64(len(s.states)) <= db.commit {
			s.states = append(s.states, content(t, &db.View))
		}
	}
	commit() // the format
	must(errors.Join(db.AddSite(&Site{Name: "a.test", Rules: Rules{Scope: "host", Within: "a.test"}}), db.OpenCycle(&CycleRecord{Site: 1, Kind: FirstVisit})))
	commit()
	for i := range 120 {
		d := &Doc{URL: fmt.Sprintf("http://a.test/%d/%d", i%7, i), Title: strings.Repeat(fmt.Sprint(i, " "), 12), Site: 1, FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
		_, err := db.Add(d)
		must(err)
		if i%3 > 0 {
			d.State, d.Kind = Fetched, Page
			_, err := db.PutLinks(d, 1, []Link{{To: graph.Node(i / 2)}, {To: graph.Node(i / 3)}})
			must(err)
			must(db.PutVisit(d, Visit{Cycle: 1, Status: 200}))
		}
		if i%10 == 9 {
			commit()
		}
		if i == 49 || i == 79 {
			must(db.db.Flush())
		}
		if i == 79 {
			must(db.db.Compact(t.Context(), []byte{0}, []byte{255}, false))
		}
		if i == 99 {
			must(db.db.Flush())
		}
	}
	must(db.Close())
	s.files = map[string][]byte{}
	names, err := fsys.List("crawl/documents")
	must(err)
	for _, name := range names {
		s.files[name], err = readFile(fsys, "crawl/documents/"+name)
		must(err)
	}
	return s
}

// content is all that a view shows, without the counter of commits.
func content(t *testing.T, v *View) map[string]string {
	t.Helper()
	m := map[string]string{}
	if err := v.scan([]byte{}, []byte{0}, func(k, val []byte) error {
		if string(k) != string(metaKey("commits")) {
			m[string(k)] = string(val)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return m
}

// disk makes a file system of the sample's files, one of which is replaced. nil: it is missing.
func (s *sample) disk(t *testing.T, name string, b []byte) *vfs.MemFS {
	t.Helper()
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll("crawl/documents", 0o755); err != nil {
		t.Fatal(err)
	}
	for n, data := range s.files {
		if n == name {
			if data = b; b == nil {
				continue
			}
		}
		f, err := fsys.Create("crawl/documents/"+n, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(slices.Clone(data)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return fsys
}

// A verdict is what became of a damaged store.
type verdict struct {
	seen bool // the damage, before the repair
	lost int  // keys
}

// tryDamage opens, checks and repairs a store with one damaged file. mayLose are the keys that
// cannot be had any more; where it is nil the store must be as it was after some commit.
func (s *sample) tryDamage(t *testing.T, what, name string, b []byte, mayLose map[string]bool) (v verdict) {
	t.Helper()
	isDamaged := func(err error) bool {
		var d *DamagedError
		if err != nil && !errors.As(err, &d) {
			t.Fatalf("%s: %v, which is no DamagedError", what, err)
		}
		return err != nil
	}
	fsys := s.disk(t, name, b)
	for _, readOnly := range []bool{true, false} { // the second may delete what it does not know
		db, err := Open("crawl", Options{FS: fsys, ReadOnly: readOnly, MustExist: true})
		if isDamaged(err) {
			v.seen = true
			continue
		}
		if isDamaged(db.View.Check(func(Problem) { v.seen = true })) {
			v.seen = true
		}
		if err := db.Close(); err != nil {
			t.Fatalf("%s: Close: %v", what, err)
		}
	}
	var told []string
	db, err := Open("crawl", Options{FS: fsys, MustExist: true, Repair: func(p Problem) { told = append(told, p.Text) }})
	if err != nil {
		t.Fatalf("%s: Open with Repair: %v (%q)", what, err, told)
	}
	got, want := content(t, &db.View), s.states[len(s.states)-1]
	if mayLose == nil {
		if db.commit >= uint64(len(s.states)) || !maps.Equal(got, s.states[db.commit]) {
			t.Fatalf("%s: after the repair the store is not what it was after commit %d of %d (%q)", what, db.commit, len(s.states)-1, told)
		}
	} else {
		for k, val := range want {
			if have, ok := got[k]; (!ok || have != val) && !mayLose[k] {
				t.Fatalf("%s: after the repair %q is %q, want %q (%q)", what, k, have, val, told)
			}
		}
	}
	for k := range want {
		if _, ok := got[k]; !ok {
			v.lost++
		}
	}
	if v.lost > 0 && len(told) == 0 || (v.lost > 0 || mayLose != nil) && !v.seen {
		t.Fatalf("%s: %d keys are gone; noticed: %v, told: %q", what, v.lost, v.seen, told)
	}
	if _, err := db.Repair(func(Problem) {}); err != nil {
		t.Fatalf("%s: Repair: %v", what, err)
	}
	if p := problems(t, &db.View); len(p) > 0 {
		t.Fatalf("%s: after the repair: %q", what, p)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := verify(newDisk(fsys), "crawl/documents")
	if err != nil || st.err() != nil || st.counter != nil {
		t.Fatalf("%s: after the repair the files are %+v, %v", what, st, err)
	}
	return v
}

// blocks returns the records of a sound table by their blocks.
func (s *sample) blocks(t *testing.T, name string) (all []tableReader) {
	t.Helper()
	r, err := readTable(s.disk(t, "", nil), "crawl/documents/"+name)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.handles {
		one := *r
		one.handles = one.handles[:0:0]
		one.handles = append(one.handles, h)
		all = append(all, one)
	}
	return all
}

// TestBitFlips flips a bit in every file of a store: every call ends with an error that names
// damage or none, the repair keeps all that is not in the block that was hit, and afterwards the
// store is sound.
func TestBitFlips(t *testing.T) {
	s := makeSample(t)
	r := rand.New(rand.NewPCG(1, 13))
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		b := s.files[name]
		tries, seen, lossy, lost := 0, 0, 0, 0
		for at := range b {
			if !crash && r.IntN(len(b)) >= race.Fewer(15) {
				continue
			}
			bad := slices.Clone(b)
			bad[at] ^= 1 << r.IntN(8)
			var mayLose map[string]bool
			if strings.HasSuffix(name, ".sst") {
				mayLose = map[string]bool{}
				for _, block := range s.blocks(t, name) {
					h := block.handles[0]
					if uint64(at) < h.Offset || uint64(at) >= h.Offset+h.Length+5 {
						continue
					}
					for more, err := block.step(); more; more, err = block.step() {
						if err != nil {
							t.Fatal(err)
						}
						mayLose[string(block.rec.key)] = true
					}
				}
			}
			v := s.tryDamage(t, fmt.Sprintf("%s, a bit of byte %d of %d", name, at, len(b)), name, bad, mayLose)
			tries++
			if v.seen {
				seen++
			}
			if v.lost > 0 {
				lossy++
				lost += v.lost
			}
		}
		if tries > 0 {
			t.Logf("%s: %d flips in %d bytes, %d noticed, %d lost %d keys altogether", filepath.Base(name), tries, len(b), seen, lossy, lost)
		}
	}
}

// TestMissingFiles removes each file of a store in turn. What was there is not made anew over the
// rest, and what the others hold is there after a repair.
func TestMissingFiles(t *testing.T) {
	s := makeSample(t)
	for name := range s.files {
		fsys := s.disk(t, name, nil)
		tables := func() (names []string) {
			all, err := fsys.List("crawl/documents")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range all {
				if strings.HasSuffix(name, ".sst") {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			return names
		}
		before := tables()
		db, err := Open("crawl", Options{FS: fsys})
		if err == nil {
			err = db.Close()
		}
		var d *DamagedError
		refused := errors.As(err, &d)
		if after := tables(); refused && !slices.Equal(before, after) {
			t.Errorf("%s is missing, Open returns %v, and of the tables %q are left of %q", name, err, after, before)
		}
		want := strings.HasSuffix(name, ".sst") || strings.HasPrefix(name, "marker") || strings.HasPrefix(name, "MANIFEST") || name == "000009.log"
		pattern := filepath.Base(d.file())
		if ok, _ := filepath.Match(pattern, name); refused != want || want && !ok {
			t.Errorf("%s is missing: Open returns %v", name, err)
		}
		mayLose := map[string]bool{}
		if strings.HasSuffix(name, ".sst") {
			for _, block := range s.blocks(t, name) {
				for more, err := block.step(); more && err == nil; more, err = block.step() {
					mayLose[string(block.rec.key)] = true
				}
			}
		} else {
			mayLose = nil
		}
		v := s.tryDamage(t, name+" is missing", name, nil, mayLose)
		t.Logf("%s is missing: %d keys lost", name, v.lost)
		if v.lost > 0 && !strings.HasSuffix(name, ".sst") && name != "000009.log" {
			t.Errorf("%s is missing: %d keys lost", name, v.lost)
		}
	}
}

// TestGarbledOptions: what the database wrote of its options, and takes on trust, is not taken on
// trust.
func TestGarbledOptions(t *testing.T) {
	s := makeSample(t)
	for name, b := range s.files {
		if !strings.HasPrefix(name, "OPTIONS") {
			continue
		}
		for _, garbled := range []string{
			strings.Replace(string(b), "comparer=leveldb", "comparer=leveldc", 1),
			strings.Replace(string(b), "merger=", "nerger=", 1),
			strings.Replace(string(b), "[Options]", "[Qptions]", 1),
			"",
		} {
			if v := s.tryDamage(t, fmt.Sprintf("%s is\n%.300s", name, garbled), name, []byte(garbled), nil); v.lost > 0 {
				t.Errorf("%s is\n%.300s: %d keys lost", name, garbled, v.lost)
			}
		}
	}
}

func (e *DamagedError) file() string {
	if e == nil {
		return ""
	}
	return e.File
}

// TestTruncated cuts each file of a store somewhere.
func TestTruncated(t *testing.T) {
	s := makeSample(t)
	r := rand.New(rand.NewPCG(3, 13))
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		b := s.files[name]
		ends := map[int]bool{} // of the records of the list of tables, where a cut leaves one that is whole, and older
		if strings.HasPrefix(name, "MANIFEST") {
			ends = recordEnds(t, b)
		}
		tries, seen, lost := 0, 0, 0
		for at := range b {
			if !ends[at] && (!crash && at > 0 && r.IntN(len(b)) >= race.Fewer(10) || crash && r.IntN(20) > 0) {
				continue
			}
			var mayLose map[string]bool
			if strings.HasSuffix(name, ".sst") {
				mayLose = map[string]bool{}
				for _, block := range s.blocks(t, name) {
					h := block.handles[0]
					if uint64(at) >= h.Offset+h.Length+5 {
						continue
					}
					for more, err := block.step(); more && err == nil; more, err = block.step() {
						mayLose[string(block.rec.key)] = true
					}
				}
			}
			v := s.tryDamage(t, fmt.Sprintf("%s, cut to %d of %d bytes", name, at, len(b)), name, b[:at:at], mayLose)
			tries++
			lost += v.lost
			if v.seen {
				seen++
			}
		}
		t.Logf("%s: cut at %d of %d bytes, %d noticed, %d keys lost altogether", name, tries, len(b), seen, lost)
	}
}

// recordEnds are the places where records of a log, or of the list of tables, end.
func recordEnds(t *testing.T, b []byte) map[int]bool {
	t.Helper()
	ends := map[int]bool{}
	for r := record.NewReader(bytes.NewReader(b), 0); ; {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			_, err = io.Copy(io.Discard, rec)
		}
		if err != nil {
			t.Fatal(err)
		}
		ends[int(r.Offset())] = true
	}
	if len(ends) < 3 {
		t.Fatalf("the list of tables has %d records", len(ends))
	}
	return ends
}

// TestGap: a log between others is missing. What follows builds on it, so that a repair leaves it
// out, and says so.
func TestGap(t *testing.T) {
	const folder = "crawl/documents"
	fsys := vfs.NewMem()
	db, err := Open("crawl", Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	logs := func() []string {
		names, err := fsys.List(folder)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		return slices.DeleteFunc(names, func(s string) bool { return !strings.HasSuffix(s, ".log") })
	}
	for i := 0; len(logs()) < 3; i++ {
		if err := errors.Join(addPage(db, fmt.Sprintf("http://a/%d/%s", i, strings.Repeat("x", 2000))), db.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	written := db.commit
	if err := errors.Join(db.Close(), fsys.Remove(folder+"/"+logs()[1])); err != nil {
		t.Fatal(err)
	}
	var told []string
	db, err = Open("crawl", Options{FS: fsys, Repair: func(p Problem) { told = append(told, p.Text) }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	have, err := db.NumURLs()
	if err != nil || have == 0 || db.commit >= written {
		t.Errorf("%d URLs, %v, are left of %d commits", have, err, written)
	}
	if want := fmt.Sprintf("commits %d to ", db.commit+1); len(told) != 1 || !strings.Contains(told[0], want) ||
		!strings.Contains(told[0], fmt.Sprintf("up to commit %d, are left out", written)) {
		t.Errorf("told: %q, want that %s… are missing and those up to %d left out", told, want, written)
	}
}
