package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A fault is what happens to the nth operation of some kind on a file system, and to those after it.
type fault struct {
	name  string
	err   error
	hits  func(errorfs.OpKind) bool
	once  bool // later ones succeed
	waits bool // there is room again when somebody makes it: nothing may fail

	left   atomic.Int64 // operations before it happens
	struck atomic.Bool
	healed atomic.Bool
	spare  atomic.Int64 // operations that have room in what was reserved
}

func (f *fault) String() string { return f.name }

func (f *fault) MaybeError(op errorfs.Op) error {
	if !f.hits(op.Kind) || f.healed.Load() || f.left.Add(-1) >= 0 || f.once && f.struck.Load() || f.spare.Add(-1) >= 0 {
		return nil
	}
	f.struck.Store(true)
	return &os.PathError{Op: "fault", Path: op.Path, Err: f.err}
}

// takesRoom are the operations that a full file system refuses.
func takesRoom(k errorfs.OpKind) bool {
	switch k {
	case errorfs.OpCreate, errorfs.OpLink, errorfs.OpRename, errorfs.OpReuseForWrite, errorfs.OpFileWrite, errorfs.OpFileWriteAt:
		return true
	}
	return false
}

func syncs(k errorfs.OpKind) bool {
	return k == errorfs.OpFileSync || k == errorfs.OpFileSyncData || k == errorfs.OpFileSyncTo
}

// A faulty is a folder of the disk on which a fault happens, with the room that goes with it.
type faulty struct {
	vfs.FS
	f *fault
}

func (d faulty) GetDiskUsage(string) (vfs.DiskUsage, error) {
	u := vfs.DiskUsage{AvailBytes: 1 << 30, TotalBytes: 1 << 30}
	if noRoom(d.f.err) && d.f.struck.Load() && !d.f.healed.Load() {
		u.AvailBytes = 0
	}
	return u, nil
}

// Create makes a file. Where it is for the reserve, its end is room for some operations.
func (d faulty) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, category)
	if err == nil && d.f.waits && filepath.Base(name) == "reserve" {
		f = reserved{f, d.f}
	}
	return f, err
}

type reserved struct {
	vfs.File
	f *fault
}

func (r reserved) Close() error {
	r.f.spare.Store(12)
	return r.File.Close()
}

// TestFaults has each write and each sync fail in turn, once and for good, on a real folder, for
// want of room and by a broken disk. Each call ends; its error names the file or, where there is
// no room, the folder; what was synced is there in the end. Where room is made again nothing fails.
// Of all points it takes a sample; with FORAGE_CRASH set, all.
func TestFaults(t *testing.T) {
	t.Parallel()
	any := func(k errorfs.OpKind) bool { return takesRoom(k) || syncs(k) }
	for _, kind := range []*fault{
		{name: "EIO once", err: syscall.EIO, hits: any, once: true},
		{name: "EIO for good", err: syscall.EIO, hits: any},
		{name: "ENOSPC of a sync", err: syscall.ENOSPC, hits: syncs, once: true},
		{name: "ENOSPC for good", err: syscall.ENOSPC, hits: any},
		{name: "EDQUOT for good", err: syscall.EDQUOT, hits: takesRoom},
		{name: "ENOSPC until there is room", err: syscall.ENOSPC, hits: takesRoom, waits: true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			stride := int64(29)
			if os.Getenv("FORAGE_CRASH") != "" {
				stride = 1
			}
			points, failed := 0, 0
			for n := int64(0); ; n += stride {
				f := &fault{name: kind.name, err: kind.err, hits: kind.hits, once: kind.once, waits: kind.waits}
				f.left.Store(n)
				err := suffer(t, f, fmt.Sprintf("%s, operation %d", f.name, n))
				if !f.struck.Load() {
					break
				}
				if points++; err != nil {
					failed++
				}
			}
			t.Logf("%d points, %d ended by an error", points, failed)
			if failed == 0 || kind.waits && failed == points { // where there is no room to begin with it is an error
				t.Errorf("%d of %d points ended by an error", failed, points)
			}
		})
	}
}

// suffer writes a store on which f happens, and returns the error that this came to.
func suffer(t *testing.T, f *fault, what string) error {
	const rounds, pages = 16, 40 // some memtables, which are compacted
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	synced := 0
	db, err := Open(dir, Options{FS: unlocked{errorfs.Wrap(faulty{vfs.Default, f}, f)}, MemTable: 64 << 10, WaitForRoom: true})
	if err == nil {
		err = db.AddSite(&Site{Name: "a"})
		for i := range rounds {
			if err != nil {
				break
			}
			if full := db.Room(); full != nil {
				if !noRoom(f.err) || !noRoom(full) {
					t.Fatalf("%s: %v", what, full)
				}
				if !f.waits {
					err = full
					break
				}
				f.healed.Store(true)
				if full = db.Room(); full != nil {
					t.Fatalf("%s: there is room again, but %v", what, full)
				}
			}
			for j := range pages {
				err = errors.Join(err, addPage(db, fmt.Sprintf("http://a/%d/%d/%s", i, j, strings.Repeat("x", 400))))
			}
			if err == nil {
				if err = db.Sync(); err == nil {
					synced = pages * (i + 1)
				}
			}
		}
		if e := db.Close(); err == nil {
			err = e
		}
	}
	switch {
	case err == nil:
	case !errors.Is(err, f.err) && !(noRoom(f.err) && noRoom(err)):
		t.Fatalf("%s: %v", what, err)
	case noRoom(f.err) && !strings.Contains(err.Error(), "no space left on "+dir):
		t.Errorf("%s: the error does not name the folder: %v", what, err)
	case !strings.Contains(err.Error(), dir):
		t.Errorf("%s: the error does not name the file: %v", what, err)
	}
	if f.waits && err != nil && synced > 0 {
		t.Errorf("%s: there was room again: %v", what, err)
	}
	after, e := Open(dir, Options{FS: unlocked{vfs.Default}})
	if e != nil {
		t.Fatalf("%s: then Open returns %v", what, e)
	}
	defer after.Close()
	if have, e := after.NumURLs(); e != nil || have < synced {
		t.Fatalf("%s: %d pages are left, %v, of %d synced", what, have, e, synced)
	}
	if p := problems(t, &after.View); len(p) != 0 {
		t.Fatalf("%s: %q", what, p)
	}
	return err
}
