package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"forage/internal/machine"
	"forage/store"
)

// A silent logger keeps the database from telling what it does.
type silent struct{}

func (silent) Infof(string, ...any)              {}
func (silent) Errorf(string, ...any)             {}
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// scratch returns a folder, in memory where the system has one there: a crawl's disk syncs some hundred times a second.
func scratch(t *testing.T) string {
	t.Helper()
	const memory = "/dev/shm"
	if machine.FreeDisk(memory) < 1<<30 { // all tests here take some tens of MB
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "forage-checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// records returns all that the database of a store holds, by key.
func records(t *testing.T, documents string) map[string]string {
	t.Helper()
	copied := filepath.Join(scratch(t), "copy") // it may lock what it reads
	if err := os.CopyFS(copied, os.DirFS(documents)); err != nil {
		t.Fatal(err)
	}
	db, err := pebble.Open(copied, &pebble.Options{ReadOnly: true, Logger: silent{}, ErrorIfNotExists: true})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	it, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		all[string(it.Key())] = string(it.Value())
	}
	if err := errors.Join(it.Close(), db.Close(), os.RemoveAll(copied)); err != nil {
		t.Fatal(err)
	}
	return all
}

// frozen returns what a store holds that is open.
func frozen(t *testing.T, db *store.DB) map[string]string {
	t.Helper()
	f, err := db.Freeze(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return records(t, f.Folder)
}

// sound opens a store and checks it.
func sound(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(dir, store.Options{MemTable: 128 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Check(func(p store.Problem) { t.Errorf("%s: %s", dir, p) }); err != nil {
		t.Fatal(err)
	}
	return db
}

// fresh makes a store with a site.
func fresh(t *testing.T) *store.DB {
	t.Helper()
	db := sound(t, filepath.Join(scratch(t), "store"))
	if err := errors.Join(db.AddSite(&store.Site{Name: "a.test"}), db.Commit()); err != nil {
		t.Fatal(err)
	}
	return db
}

// grow adds n documents, some tens to a commit.
func grow(t *testing.T, db *store.DB, r *rand.Rand, n int) {
	t.Helper()
	for i := range n {
		d := store.NewDoc(fmt.Sprintf("http://a.test/%x/%x/%x", r.Uint64(), r.Uint64(), r.Uint64()), 1)
		d.Title = fmt.Sprintf("%x %x %x", r.Uint64(), r.Uint64(), r.Uint64())
		if _, err := db.Add(d); err != nil {
			t.Fatal(err)
		}
		if i%50 == 49 || i == n-1 {
			if err := db.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
}

var errKilled = errors.New("killed")

// A mortal bucket dies at an operation: nothing of it is done, or all, and nothing after it.
type mortal struct {
	Folder
	left  int  // operations until then; below 0: it does not die
	after bool // the last one is done

	ops  int
	dead bool
}

// do does an operation, unless the bucket is dead.
func (m *mortal) do(name string, f func() error) error {
	if m.dead {
		return errKilled
	}
	m.ops++
	if m.left--; m.left != -1 || m.ops == 0 {
		return f()
	}
	if m.dead = true; m.after {
		if err := f(); err != nil {
			return err
		}
	} else if name != "" { // half a file, as a process that is killed leaves it
		half := filepath.Join(string(m.Folder), filepath.Dir(name), "."+filepath.Base(name)+".123.tmp")
		if err := errors.Join(os.MkdirAll(filepath.Dir(half), 0o755), os.WriteFile(half, []byte("{"), 0o644)); err != nil {
			return err
		}
	}
	return errKilled
}

func (m *mortal) Create(ctx context.Context, name string, b []byte) error {
	return m.do(name, func() error { return m.Folder.Create(ctx, name, b) })
}

func (m *mortal) Put(ctx context.Context, name string, size int64, r io.Reader) error {
	return m.do(name, func() error { return m.Folder.Put(ctx, name, size, r) })
}

func (m *mortal) Get(ctx context.Context, name string) (r io.ReadCloser, err error) {
	err = m.do("", func() (err error) { r, err = m.Folder.Get(ctx, name); return err })
	return r, err
}

func (m *mortal) List(ctx context.Context, prefix string, yield func(string) bool) error {
	return m.do("", func() error { return m.Folder.List(ctx, prefix, yield) })
}

func (m *mortal) Delete(ctx context.Context, name string) error {
	return m.do("", func() error { return m.Folder.Delete(ctx, name) })
}

// An owner is a process that has a store.
type owner struct {
	t      *testing.T
	bucket *mortal
	epoch  uint64
	db     *store.DB
	w      *Writer
}

// A lineage is all that was written to a bucket.
type lineage struct {
	folder Folder
	want   map[string]map[string]string // what checkpoints hold, by the names of their manifests
	acked  string                       // the latest of which Write returned
}

// takeOver claims the next epoch and makes the store of the latest checkpoint, or a new one.
func (l *lineage) takeOver(t *testing.T, left int, after bool) (*owner, error) {
	t.Helper()
	o := &owner{t: t, bucket: &mortal{Folder: l.folder, left: left, after: after}}
	last, err := Claimed(t.Context(), o.bucket)
	if err != nil {
		return o, err
	}
	o.epoch = last + 1
	if err := Claim(t.Context(), o.bucket, o.epoch, []byte("me")); err != nil {
		return o, err
	}
	base, broken, err := Latest(t.Context(), o.bucket)
	if len(broken) > 0 {
		t.Errorf("broken: %v", broken)
	}
	switch {
	case errors.Is(err, ErrNone):
		if l.acked != "" {
			t.Errorf("there is no checkpoint, and %s was written", l.acked)
		}
		o.db = fresh(t)
	case err != nil:
		return o, err
	default:
		name := manifestName(base.Epoch, base.Number)
		if name < l.acked {
			t.Errorf("the latest is %s, and %s was written", name, l.acked)
		}
		dir := filepath.Join(scratch(t), "store")
		if err := Restore(t.Context(), o.bucket, base, dir); err != nil {
			if _, there := os.Stat(dir); !errors.Is(there, fs.ErrNotExist) {
				t.Errorf("a part of a store was restored: %v", there)
			}
			return o, err
		}
		if got := records(t, filepath.Join(dir, "documents")); !maps.Equal(got, l.want[name]) {
			t.Errorf("%s has %d records, want %d", name, len(got), len(l.want[name]))
		}
		o.db = sound(t, dir)
	}
	o.w = NewWriter(o.bucket, o.epoch, base)
	return o, nil
}

// write writes a checkpoint, and notes what it holds.
func (l *lineage) write(o *owner) error {
	o.t.Helper()
	holds := frozen(o.t, o.db)
	m, _, err := o.w.Write(o.t.Context(), o.db, map[string]int{"records": len(holds)})
	if o.w.number > 0 {
		if name := manifestName(o.epoch, o.w.number); l.want[name] == nil {
			l.want[name] = holds
		}
	}
	if err == nil {
		l.acked = manifestName(m.Epoch, m.Number)
	}
	return err
}

func (o *owner) close() {
	o.t.Helper()
	if o.db != nil {
		if err := o.db.Close(); err != nil {
			o.t.Fatal(err)
		}
	}
}

func newLineage(t *testing.T) *lineage {
	return &lineage{folder: Folder(scratch(t)), want: map[string]map[string]string{}}
}

// whole restores each checkpoint that is there.
func (l *lineage) whole(t *testing.T) {
	t.Helper()
	all, err := listManifests(t.Context(), l.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		m, err := n.read(t.Context(), l.folder)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(scratch(t), "store")
		if err := Restore(t.Context(), l.folder, m, dir); err != nil {
			t.Errorf("%s: %v", n.name, err)
		} else if got := records(t, filepath.Join(dir, "documents")); !maps.Equal(got, l.want[n.name]) {
			t.Errorf("%s has %d records, want %d", n.name, len(got), len(l.want[n.name]))
		}
	}
}

// clean reports files that no checkpoint names, and folders that have none.
func (l *lineage) clean(t *testing.T, keep int) {
	t.Helper()
	all, err := listManifests(t.Context(), l.folder)
	if err != nil || len(all) > keep {
		t.Errorf("%d checkpoints are left, want %d: %v", len(all), keep, err)
	}
	named := map[string]bool{}
	for _, n := range all {
		m, err := n.read(t.Context(), l.folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Files {
			named[f.At] = true
		}
	}
	if err := l.folder.List(t.Context(), "", func(name string) bool {
		if !named[name] && !manifests.MatchString(name) && !claims.MatchString(name) {
			t.Errorf("%s is left, and no checkpoint names it", name)
		}
		delete(named, name)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if len(named) > 0 {
		t.Errorf("missing: %v", slices.Sorted(maps.Keys(named)))
	}
	if err := filepath.WalkDir(string(l.folder), func(at string, d fs.DirEntry, err error) error {
		if entries, _ := os.ReadDir(at); err == nil && d.IsDir() && len(entries) == 0 {
			t.Errorf("%s is left, and has nothing", at)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestKills has an owner die at each operation on the bucket in turn, before or after it is done. Whoever takes over finds the
// latest checkpoint that was written, whole, and goes on; and nothing is left that no checkpoint needs.
func TestKills(t *testing.T) {
	history := func(t *testing.T, l *lineage, left int, after bool) (ops int, err error) {
		r := rand.New(rand.NewPCG(1, 2))
		first, err := l.takeOver(t, -1, false)
		if err != nil {
			t.Fatal(err)
		}
		grow(t, first.db, r, 400)
		if err := l.write(first); err != nil {
			t.Fatal(err)
		}
		first.close()
		o, err := l.takeOver(t, left, after)
		defer o.close()
		for _, step := range []func() error{
			func() error { grow(t, o.db, r, 60); return l.write(o) },
			func() error { grow(t, o.db, r, 400); return l.write(o) },
			func() error { _, err := o.w.Prune(t.Context(), 2); return err },
			func() error { return l.write(o) },
		} {
			if err == nil {
				err = step()
			}
		}
		return o.bucket.ops, err
	}
	// How many operations there are differs by a few, as the store compacts when it likes: the last is the one that no history reaches.
	ended := false
	for at := 0; !ended; at++ {
		for _, after := range []bool{false, true} {
			if os.Getenv("FORAGE_LONG") == "" && (at%2 == 0) != after {
				continue
			}
			l := newLineage(t)
			ops, err := history(t, l, at, after)
			if ended = err == nil && ops <= at; ended {
				if ops < 30 {
					t.Fatalf("%d operations", ops)
				}
				break
			}
			if !errors.Is(err, errKilled) {
				t.Fatalf("killed at operation %d of %d: %v", at, ops, err)
			}
			l.whole(t)
			next, err := l.takeOver(t, -1, false)
			if err != nil {
				t.Fatalf("after a kill at operation %d: %v", at, err)
			}
			grow(t, next.db, rand.New(rand.NewPCG(3, 4)), 20)
			if err := l.write(next); err != nil {
				t.Fatal(err)
			}
			if _, err := next.w.Prune(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			l.clean(t, 1)
			next.close()
		}
	}
}

// TestPast has an owner prune what the one before has left: half-written files, what it said of its epoch, and the folders of all that.
func TestPast(t *testing.T) {
	l := newLineage(t)
	for range 2 {
		o, err := l.takeOver(t, -1, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ended.json", "checkpoint-000009/.MANIFEST-000001.123.tmp", "tables/.000009.sst.123.tmp", ".claim.json.123.tmp"} {
			if err := o.bucket.Create(t.Context(), fmt.Sprintf("epoch-%06d/%s", o.epoch, name), nil); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			grow(t, o.db, rand.New(rand.NewPCG(5, o.epoch)), 20)
			if err := l.write(o); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := o.w.Prune(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if got := listed(t.Context(), t, l.folder, fmt.Sprintf("epoch-%06d/e", o.epoch)); len(got) != 1 {
			t.Errorf("the latest owner has said that it has ended, and there is %q", got)
		}
		o.close()
	}
	if err := l.folder.Delete(t.Context(), "epoch-000002/ended.json"); err != nil {
		t.Fatal(err)
	}
	l.clean(t, 1)
}

// TestHistory lets owners follow each other at random, with failures of the bucket, and with old owners that do not know that they are none any more.
func TestHistory(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	l := newLineage(t)
	o, err := l.takeOver(t, -1, false)
	if err != nil {
		t.Fatal(err)
	}
	var stale []*owner
	refused, shared := 0, int64(0)
	for range 150 {
		switch k := r.IntN(10); {
		case k < 3:
			grow(t, o.db, r, 1+r.IntN(300))
		case k < 6:
			o.bucket.left, o.bucket.dead = r.IntN(40)-20, false // it fails, and goes on
			o.bucket.after = r.IntN(2) == 0
			if err := l.write(o); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			o.bucket.left, o.bucket.dead = -1, false
		case k < 7:
			if _, err := o.w.Prune(t.Context(), 1+r.IntN(3)); err != nil {
				t.Fatal(err)
			}
		case k < 8 && len(stale) > 0:
			old := stale[r.IntN(len(stale))]
			before, _, err := Latest(t.Context(), l.folder)
			if err != nil && err != ErrNone {
				t.Fatal(err)
			}
			grow(t, old.db, r, 50)
			var claimed *ClaimedError
			if _, _, err := old.w.Write(t.Context(), old.db, nil); !errors.As(err, &claimed) || claimed.Epoch != o.epoch || string(claimed.By) != "me" {
				t.Errorf("an old owner writes: %v", err)
			}
			if n, err := old.w.Prune(t.Context(), 1); n > 0 || err != nil && !errors.As(err, &claimed) {
				t.Errorf("an old owner removes %d: %v", n, err)
			}
			if err := Claim(t.Context(), l.folder, old.epoch, nil); !errors.As(err, &claimed) {
				t.Errorf("an old owner claims its epoch: %v", err)
			}
			if after, _, err := Latest(t.Context(), l.folder); err != nil && err != ErrNone || (before == nil) != (after == nil) || before != nil && before.before(after) {
				t.Errorf("the latest was %+v, and is %+v, %v", before, after, err)
			}
			refused++
		case k == 9:
			if len(stale) < 3 {
				stale = append(stale, o)
			} else {
				o.close()
			}
			if o, err = l.takeOver(t, -1, false); err != nil {
				t.Fatal(err)
			}
			if m, did, err := o.w.Write(t.Context(), o.db, nil); err != nil {
				t.Fatal(err)
			} else {
				l.acked = manifestName(m.Epoch, m.Number)
				l.want[l.acked] = frozen(t, o.db)
				shared += did.Shared
			}
		}
	}
	for _, o := range append(stale, o) {
		o.close()
	}
	if refused == 0 || shared == 0 {
		t.Errorf("%d times an old owner was refused, %d bytes were shared across epochs", refused, shared)
	}
}

// TestDamage: what is missing or damaged is told by name, and leaves no store. A manifest that is not whole is passed over.
func TestDamage(t *testing.T) {
	l := newLineage(t)
	o, err := l.takeOver(t, -1, false)
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	if m, _, err := Latest(t.Context(), l.folder); m != nil || err != ErrNone {
		t.Errorf("%+v, %v", m, err)
	}
	for range 2 {
		grow(t, o.db, rand.New(rand.NewPCG(5, 6)), 1000)
		if err := l.write(o); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := Latest(t.Context(), l.folder)
	if err != nil || m.Number != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, f := range m.Files {
		path := filepath.Join(string(l.folder), f.At)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damages := map[string]func() error{
			"missing": func() error { return os.Remove(path) },
			"longer":  func() error { return os.WriteFile(path, append(slices.Clone(whole), 0), 0o644) },
		}
		if len(whole) > 0 {
			damages["cut"] = func() error { return os.WriteFile(path, whole[:len(whole)-1], 0o644) }
			damages["changed"] = func() error {
				b := slices.Clone(whole)
				b[len(b)/2] ^= 1
				return os.WriteFile(path, b, 0o644)
			}
		}
		for what, damage := range damages {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(scratch(t), "store")
			var d *DamagedError
			if err := Restore(t.Context(), l.folder, m, dir); !errors.As(err, &d) || d.File != f.At {
				t.Errorf("%s is %s: %v", f.At, what, err)
			}
			if left, err := os.ReadDir(filepath.Dir(dir)); len(left) > 0 || err != nil {
				t.Errorf("%s is %s: left %v, %v", f.At, what, left, err)
			}
			if err := os.WriteFile(path, whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := Restore(t.Context(), l.folder, m, filepath.Join(scratch(t), "store")); err != nil {
		t.Error(err)
	}
	if err := Restore(t.Context(), l.folder, m, scratch(t)+"/.."); !errors.Is(err, fs.ErrExist) {
		t.Errorf("where something is: %v", err)
	}
	name := manifestName(1, 2)
	text, err := Load(t.Context(), l.folder, name)
	if err != nil {
		t.Fatal(err)
	}
	other, err := (&Manifest{Epoch: 1, Number: 7}).encode()
	if err != nil {
		t.Fatal(err)
	}
	away, err := (&Manifest{Epoch: 1, Number: 2, Files: []File{{Name: "../away"}}}).encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{nil, text[:len(text)/2], bytes.Replace(text, []byte(`"number":2`), []byte(`"number":3`), 1), other, away, []byte("[]")} {
		if err := os.WriteFile(filepath.Join(string(l.folder), name), bad, 0o644); err != nil {
			t.Fatal(err)
		}
		m, broken, err := Latest(t.Context(), l.folder)
		if err != nil || m.Number != 1 || len(broken) != 1 || broken[0].File != name {
			t.Errorf("%.40q: %+v, %v, %v", bad, m, broken, err)
		}
	}
	// It is in nobody's way.
	grow(t, o.db, rand.New(rand.NewPCG(7, 8)), 10)
	if err := l.write(o); err != nil || l.acked != manifestName(1, 3) {
		t.Errorf("the next one is %s, %v", l.acked, err)
	}
	if _, err := o.w.Prune(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	l.clean(t, 1)
}

// TestShared: a checkpoint after a few changes copies what these have made, and no table that an earlier one has, also where that is of
// another epoch. Two databases that went on from one checkpoint have tables of one name that differ: none is taken for the other.
func TestShared(t *testing.T) {
	l := newLineage(t)
	o, err := l.takeOver(t, -1, false)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	grow(t, o.db, r, 5000) // so few tables are not merged
	first, did, err := o.w.Write(t.Context(), o.db, nil)
	if err != nil {
		t.Fatal(err)
	}
	if did.Shared != 0 || did.Copied != first.Bytes() || did.Files != len(first.Files) {
		t.Errorf("the first one: %+v, of %d bytes", did, first.Bytes())
	}
	grow(t, o.db, r, 100)
	m, did, err := o.w.Write(t.Context(), o.db, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The log, of which each document takes some 400 bytes, up to a table and a half of it.
	if did.Copied > 100*600+3*128<<10/2 || did.Shared+did.Copied != m.Bytes() {
		t.Errorf("the second: %+v, of %d bytes", did, m.Bytes())
	}
	flush := func(db *store.DB) {
		t.Helper()
		for range 6 {
			grow(t, db, r, 20)
			if err := db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	flush(o.db)
	if m, _, err = o.w.Write(t.Context(), o.db, nil); err != nil {
		t.Fatal(err)
	}
	same := 0
	for reopened := range 2 { // with something in its log: tables have every second number, and that takes an odd number of them
		dir := filepath.Join(scratch(t), "store")
		if err := Restore(t.Context(), l.folder, first, dir); err != nil {
			t.Fatal(err)
		}
		other := sound(t, dir)
		if reopened > 0 {
			grow(t, other, r, 5)
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			other = sound(t, dir)
		}
		flush(other)
		if err := Claim(t.Context(), l.folder, uint64(2+reopened), nil); err != nil {
			t.Fatal(err)
		}
		var claimed *ClaimedError
		if n, err := o.w.Prune(t.Context(), 1); n != 0 || reopened == 0 && !errors.As(err, &claimed) {
			t.Errorf("after another claim the owner before removed %d, %v", n, err)
		}
		w := NewWriter(l.folder, uint64(2+reopened), m) // it did not come from m
		underway := "epoch-000001/tables/999999.sst"    // as the owner before may be writing it
		if err := l.folder.Put(t.Context(), underway, 1, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		if n, err := w.Prune(t.Context(), 1); n != 0 || err != nil {
			t.Errorf("before the first checkpoint of its epoch it removed %d, %v", n, err)
		}
		base, holds := maps.Clone(w.have), frozen(t, other)
		mine, did, err := w.Write(t.Context(), other, map[string]string{"a": "b"})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range mine.Files {
			if had, ok := base[f.Name]; ok && f.Tail != 0 && f.At != had.At {
				same++
			}
		}
		if did.Shared < first.Bytes()/2 || string(mine.State) != `{"a":"b"}` {
			t.Errorf("of the other: %+v, %s", did, mine.State)
		}
		to := filepath.Join(scratch(t), "store")
		if err := Restore(t.Context(), l.folder, mine, to); err != nil {
			t.Fatal(err)
		}
		if got := records(t, filepath.Join(to, "documents")); !maps.Equal(got, holds) {
			t.Errorf("restored %d records, want %d", len(got), len(holds))
		}
		if _, err := w.Prune(t.Context(), 4); err != nil { // the first one stays
			t.Fatal(err)
		}
		l.clean(t, 4)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if same == 0 {
		t.Error("no two tables have one name")
	}
	o.close()
}

// TestClaim: of several who claim an epoch one has it.
func TestClaim(t *testing.T) {
	b := Folder(scratch(t))
	if err := Claim(t.Context(), b, 0, nil); err == nil {
		t.Error("epoch 0 was claimed")
	}
	for epoch := uint64(1); epoch <= 3; epoch++ {
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = Claim(t.Context(), b, epoch, fmt.Append(nil, "number ", i)) })
		}
		all.Wait()
		won := -1
		for i, err := range errs {
			var c *ClaimedError
			if err == nil && won < 0 {
				won = i
			} else if !errors.As(err, &c) || c.Epoch != epoch {
				t.Errorf("number %d: %v", i, err)
			}
		}
		var c *ClaimedError
		if err := Claim(t.Context(), b, epoch, nil); !errors.As(err, &c) || string(c.By) != fmt.Sprint("number ", won) {
			t.Errorf("number %d has won: %v", won, err)
		}
	}
	var c *ClaimedError
	if err := Claim(t.Context(), b, 2, nil); !errors.As(err, &c) || c.Epoch != 3 {
		t.Errorf("%v", err)
	}
	if n, err := Claimed(t.Context(), b); n != 3 || err != nil {
		t.Errorf("epoch %d, %v", n, err)
	}
	if _, err := Claimed(t.Context(), Folder(filepath.Join(scratch(t), "missing"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a folder that is not there: %v", err)
	}
	if err := Claim(t.Context(), Folder(filepath.Join(scratch(t), "missing")), 1, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
	if err := b.Put(t.Context(), "../out", 0, strings.NewReader("")); err == nil {
		t.Error("a file was made outside of the folder")
	}
	if err := b.Put(t.Context(), "short", 3, strings.NewReader("ab")); err == nil {
		t.Error("a file was made that is not whole")
	}
	if _, err := b.Get(t.Context(), "short"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// BenchmarkWrite writes checkpoints of a store of 100,000 documents, each after so many more have become known.
func BenchmarkWrite(b *testing.B) {
	for _, more := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprintf("more=%d", more), func(b *testing.B) {
			dir, err := os.MkdirTemp("", "forage-checkpoint")
			if err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(dir)
			db, err := store.Open(filepath.Join(dir, "store"), store.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			r := rand.New(rand.NewPCG(1, 1))
			add := func(n int) {
				for i := range n {
					d := store.NewDoc(fmt.Sprintf("http://a.test/%x/%x/%x", r.Uint64(), r.Uint64(), r.Uint64()), 1)
					_, err := db.Add(d)
					if i%500 == 499 || i == n-1 {
						err = errors.Join(err, db.Commit())
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := db.AddSite(&store.Site{Name: "a.test"}); err != nil {
				b.Fatal(err)
			}
			add(100_000)
			bucket := Folder(filepath.Join(dir, "bucket"))
			if err := os.Mkdir(string(bucket), 0o755); err != nil {
				b.Fatal(err)
			}
			w := NewWriter(bucket, 1, nil)
			_, first, err := w.Write(b.Context(), db, nil)
			if err != nil {
				b.Fatal(err)
			}
			copied, n := int64(0), 0
			for b.Loop() {
				b.StopTimer()
				add(more)
				b.StartTimer()
				_, did, err := w.Write(b.Context(), db, nil)
				if err != nil {
					b.Fatal(err)
				}
				copied += did.Copied
				n++
			}
			b.ReportMetric(float64(first.Copied), "first-bytes")
			b.ReportMetric(float64(copied)/float64(n), "bytes/op")
		})
	}
}

// TestFallBack: where a file of the latest checkpoint is missing or damaged, the one before is restored, and whoever goes on from it shares nothing
// that is damaged, and does not take the damaged one for one that is kept. Where none is whole that is told.
func TestFallBack(t *testing.T) {
	l := newLineage(t)
	dir := filepath.Join(scratch(t), "store")
	if _, _, err := RestoreLatest(t.Context(), l.folder, dir); err != ErrNone {
		t.Fatal(err)
	}
	o, err := l.takeOver(t, -1, false)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 3 {
		grow(t, o.db, r, 1000)
		if err := l.write(o); err != nil {
			t.Fatal(err)
		}
	}
	all, err := listManifests(t.Context(), l.folder)
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	own := func(m *Manifest) string { // a file that no other checkpoint has
		t.Helper()
		for _, f := range m.Files {
			if f.Tail == 0 && f.Size > 0 {
				return f.At
			}
		}
		t.Fatalf("%+v has no file of its own", m)
		return ""
	}
	var files []string
	for i := range all {
		m, err := all[i].read(t.Context(), l.folder)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, own(m))
	}
	if err := os.Remove(filepath.Join(string(l.folder), files[2])); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(l.folder), all[1].name), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	m, damaged, err := RestoreLatest(t.Context(), l.folder, dir)
	if err != nil || m.Number != 1 || len(damaged) != 2 || damaged[0].File != files[2] || damaged[0].Of != all[2].name || damaged[1].File != all[1].name {
		t.Fatalf("%+v, %v, %v", m, damaged, err)
	}
	if got := records(t, filepath.Join(dir, "documents")); !maps.Equal(got, l.want[all[0].name]) {
		t.Errorf("%d records, want %d", len(got), len(l.want[all[0].name]))
	}
	if err := Claim(t.Context(), l.folder, 2, []byte("next")); err != nil {
		t.Fatal(err)
	}
	next := &owner{t: t, bucket: &mortal{Folder: l.folder, left: -1}, epoch: 2, db: sound(t, dir), w: NewWriter(l.folder, 2, m)}
	defer next.close()
	grow(t, next.db, r, 10)
	if err := l.write(next); err != nil {
		t.Fatal(err)
	}
	if _, err := next.w.Prune(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	l.clean(t, 2) // the new one, and the one that it came from
	l.whole(t)
	if left, err := listManifests(t.Context(), l.folder); err != nil || len(left) != 2 || left[0].name != all[0].name {
		t.Errorf("%v, %v", left, err)
	}

	// A table that is gone is copied again.
	last, _, err := Latest(t.Context(), l.folder)
	if err != nil {
		t.Fatal(err)
	}
	table := last.Files[slices.IndexFunc(last.Files, func(f File) bool { return f.Tail != 0 })]
	if err := l.folder.Delete(t.Context(), table.At); err != nil {
		t.Fatal(err)
	}
	var lost *LostError
	if _, _, err := RestoreLatest(t.Context(), l.folder, filepath.Join(scratch(t), "store")); !errors.As(err, &lost) || len(lost.Damaged) != 2 || lost.Damaged[0].File != table.At {
		t.Errorf("all checkpoints need %s: %v", table.At, err)
	}
	if _, err := next.w.Prune(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if err := l.write(next); err != nil {
		t.Fatal(err)
	}
	if m, damaged, err := RestoreLatest(t.Context(), l.folder, filepath.Join(scratch(t), "store")); err != nil || m.Number != 2 || len(damaged) > 0 {
		t.Errorf("%+v, %v, %v", m, damaged, err)
	}
	o.close()
}
