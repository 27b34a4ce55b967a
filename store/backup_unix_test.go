//go:build unix

package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"forage/internal/disktest"
)

// TestBackupFullDisk: where the disk of the store is full a backup goes to another all the same; where it finds too little room
// it fails alone.
func TestBackupFullDisk(t *testing.T) {
	for _, free := range []int64{0, 40 << 10} {
		t.Run(fmt.Sprint(free), func(t *testing.T) {
			disk := disktest.New(t, 64<<20)
			dir := filepath.Join(disk.Dir, "store")
			withPages(t, dir)
			db, err := Open(dir, Options{WaitForRoom: true, MemTable: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for i := range 1000 {
				err = errors.Join(err, addPage(db, fmt.Sprint("http://a/", i)))
			}
			if err := errors.Join(err, db.Commit()); err != nil {
				t.Fatal(err)
			}
			n, err := db.NumURLs()
			if err != nil {
				t.Fatal(err)
			}
			disk.Fill(t, free)
			if _, err := db.Backup(t.Context(), filepath.Join(disk.Dir, "copy")); !noRoom(err) {
				t.Errorf("to the full disk: %v", err)
			}
			to := filepath.Join(t.TempDir(), "copy")
			if _, err := db.Backup(t.Context(), to); err != nil {
				t.Fatalf("to another disk: %v", err)
			}
			if got := soundURLs(t, to); got != int(n) {
				t.Errorf("the backup has %d URLs of %d", got, n)
			}
			if left := readerCopies(t, dir); len(left) > 0 {
				t.Errorf("backups left %q", left)
			}
			if err := errors.Join(addPage(db, "http://a/more"), db.Commit()); err != nil {
				t.Errorf("the store does not go on: %v", err)
			}
		})
	}
}

// TestDiskOutside: what fails outside the folder of the database is told to whoever wrote it, and the database goes on.
func TestDiskOutside(t *testing.T) {
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll("store/documents", 0o755), mem.MkdirAll("store/copy", 0o755), mem.MkdirAll("far", 0o755)); err != nil {
		t.Fatal(err)
	}
	full := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	})
	for _, name := range []string{"store/copy/1", "far/1"} {
		d := newDisk(errorfs.Wrap(mem, full))
		d.home = "store/documents"
		if _, err := d.Create(name, vfs.WriteCategoryUnspecified); !noRoom(err) {
			t.Errorf("%s is made: %v", name, err)
		}
		if err := d.Rename("store/copy/0", name); !noRoom(err) {
			t.Errorf("%s gets its name: %v", name, err)
		}
		d.FS = mem
		f, err := d.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := f.(diskFile); ok {
			t.Errorf("a write to %s may wait for room", name)
		}
		if err := errors.Join(f.Close(), d.failed()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := newDisk(mem)
	d.home = "store/documents"
	if err := d.Link("store/copy/1", "store/copy/2"); err != nil {
		t.Errorf("beside the database: %v", err)
	}
	if err := d.Link("store/copy/1", "far/2"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a backup shares a file with the store: %v", err)
	}
}
