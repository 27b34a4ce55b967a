package store

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"forage/internal/race"
)

const errDisk = syscall.EIO

// failAfter is a fault of a disk: what is the nth operation to write, or a later one, fails.
type failAfter struct{ left atomic.Int64 }

func (f *failAfter) String() string { return "failAfter" }
func (f *failAfter) MaybeError(op errorfs.Op) error {
	switch op.Kind.ReadOrWrite() {
	case errorfs.OpIsWrite:
		if f.left.Add(-1) < 0 {
			return fmt.Errorf("%s: %w", op.Path, errDisk)
		}
	}
	return nil
}

// TestDiskFails has each write, sync and new file of a small crawl fail in turn, with all after
// it. Each call ends, with the error where it had to write, and what was synced is there when the
// disk works again.
func TestDiskFails(t *testing.T) {
	failed := map[string]int{}
	step := int64(1)
	if race.Enabled {
		step = 7
	}
	for n := int64(0); ; n += step {
		fsys := vfs.NewCrashableMem()
		fault := &failAfter{}
		fault.left.Store(n)
		opt := Options{FS: errorfs.Wrap(fsys, fault), MemTable: 64 << 10}
		synced := 0
		call, err := "Open", error(nil)
		var db *DB
		if db, err = Open("crawl", opt); err == nil {
			call, err = "AddSite", db.AddSite(&Site{Name: "a"})
			for i := range 8 {
				if err != nil {
					break
				}
				for j := range 40 { // some memtables altogether
					err = errors.Join(err, addPage(db, fmt.Sprintf("http://a/%d/%d/%s", i, j, strings.Repeat("x", 400))))
				}
				if call = "Sync"; err == nil {
					if err = db.Sync(); err == nil {
						synced = 40 * (i + 1)
					}
				}
			}
			if e := db.Close(); err == nil {
				call, err = "Close", e
			}
		}
		if err != nil {
			failed[call]++
			if !errors.Is(err, errDisk) {
				t.Fatalf("operation %d fails: %s returns %v", n, call, err)
			}
		}
		after, e := Open("crawl", Options{FS: fsys.CrashClone(vfs.CrashCloneCfg{})})
		if e != nil {
			t.Fatalf("operation %d failed, then the power: Open returns %v", n, e)
		}
		if have, e := after.NumURLs(); e != nil || have < synced {
			t.Fatalf("operation %d failed, then the power: %d pages are left, %v, of %d synced", n, have, e, synced)
		}
		if p := problems(t, &after.View); len(p) != 0 {
			t.Fatalf("operation %d failed, then the power: %q", n, p)
		}
		if e := after.Close(); e != nil {
			t.Fatal(e)
		}
		if err == nil && fault.left.Load() > 0 {
			t.Logf("%d operations failed in turn: %v", n, failed)
			if failed["Open"] == 0 || failed["Sync"] == 0 { // Close: as far as the engine had not written all by then
				t.Error("a step never failed")
			}
			return
		}
	}
}
