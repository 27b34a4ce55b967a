package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A disk is the file system as the database sees it: one on which no write fails. The database
// answers a write that fails by ending the process, by a panic with its locks held, or by trying
// again without end. So the goroutine whose write or sync has failed is parked for good, with all
// that write after it, and whoever waits for the database in await is told why. Nothing
// reaches the files from then on: they are as a power cut would leave them.
//
// Reads fail as they do. A file of the database that is missing is damage, not fs.ErrNotExist,
// for which the database ends the process, too.
//
// Of a backup, which is written outside the folder of the database, a write fails as anywhere else:
// the database goes on without it, and it takes nothing of the reserve.
type disk struct {
	vfs.FS
	home   string        // folder of the database; "": all is in it
	broken chan struct{} // closed by the first failure
	once   sync.Once
	err    atomic.Pointer[error]
	room   room
}

func newDisk(files vfs.FS) *disk {
	return &disk{FS: files, broken: make(chan struct{})}
}

func (d *disk) Unwrap() vfs.FS { return d.FS }

// outside reports whether a file is not the database's: it is neither in its folder, nor that folder's own.
func (d *disk) outside(name string) bool {
	return d.home != "" && name != d.home && d.PathDir(name) != d.home && name != d.PathDir(d.home)
}

// failed returns the error of the first write that failed, nil while there is none.
func (d *disk) failed() error {
	if err := d.err.Load(); err != nil {
		return *err
	}
	return nil
}

// giveUp records why the database cannot go on.
func (d *disk) giveUp(err error) {
	var full *FullError
	if noRoom(err) && !errors.As(err, &full) {
		err = fmt.Errorf("no space left on %s: %w", d.room.dir, err)
	}
	d.once.Do(func() {
		d.err.Store(&err)
		close(d.broken)
	})
}

// fail records why the database cannot go on, and does not return.
func (d *disk) fail(err error) {
	d.giveUp(err)
	select {}
}

// write does what changes files. It does not return where that fails, or has failed before.
func (d *disk) write(f func() error) error {
	if d.failed() != nil {
		select {}
	}
	if err := f(); err != nil {
		d.fail(err)
	}
	return nil
}

// extend does what takes room, for a part of the database, and does it again while there is none.
// It returns an error only of a table that is not written as the store is being closed.
func (d *disk) extend(p part, f func() error) error {
	for {
		if d.failed() != nil {
			select {}
		}
		err := f()
		if err == nil {
			return nil
		}
		again, fatal := false, true
		if noRoom(err) {
			again, fatal = d.room.retry(p)
		}
		switch {
		case fatal:
			d.fail(err)
		case !again:
			return err
		}
	}
}

// await runs f, which uses the database, and returns its error, or the one that keeps f from
// ending: then the goroutine of f stays where it is, and f must not touch what others use.
func (d *disk) await(f func() error) error {
	if err := d.failed(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-d.broken:
		return d.failed()
	}
}

// withRoom does what takes a little room beside the database, in the reserve where there is no other.
func (d *disk) withRoom(f func() error) error {
	for {
		err := f()
		if err == nil || !noRoom(err) {
			return err
		}
		if again, _ := d.room.retry(logPart); !again {
			return fmt.Errorf("no space left on %s: %w", d.room.dir, err)
		}
	}
}

func (d *disk) create(name string, category vfs.DiskWriteCategory, f func() (vfs.File, error)) (file vfs.File, err error) {
	if d.outside(name) {
		return f()
	}
	p := partOf(category)
	if err := d.extend(p, func() (err error) { file, err = f(); return err }); err != nil {
		return nil, err
	}
	return diskFile{file, d, name, p}, nil
}

// Create syncs the folder before it makes a marker: the database syncs it afterwards, so that a
// power cut could leave the marker there, and not the file that it leads to.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(d.PathBase(name), "marker.") {
		if err := syncFolder(d, d.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return d.create(name, category, func() (vfs.File, error) { return d.FS.Create(name, category) })
}

func (d *disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return d.create(name, category, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, category, opts...) })
}

func (d *disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.create(newname, category, func() (vfs.File, error) { return d.FS.ReuseForWrite(oldname, newname, category) })
}

func (d *disk) Rename(oldname, newname string) error {
	if d.outside(newname) {
		return d.FS.Rename(oldname, newname)
	}
	return d.extend(logPart, func() error { return d.FS.Rename(oldname, newname) })
}

// Link makes no second name outside the folder of the store, for a backup that shares no file with it.
func (d *disk) Link(oldname, newname string) error {
	if d.outside(newname) && d.PathDir(d.PathDir(newname)) != d.PathDir(d.home) {
		return &fs.PathError{Op: "link", Path: newname, Err: errors.ErrUnsupported}
	}
	return d.FS.Link(oldname, newname)
}

// Remove may fail: a file too many harms nothing, and the database removes it another time.
func (d *disk) Remove(name string) error {
	if d.failed() != nil {
		select {}
	}
	return d.FS.Remove(name)
}

func (d *disk) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.Open(name, opts...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(name, "it is missing")
	}
	return f, err
}

// OpenDir opens a folder to be synced.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil || d.outside(name) {
		return f, err
	}
	return diskFile{f, d, name, logPart}, nil
}

// A diskFile is a file that is written to.
type diskFile struct {
	vfs.File
	d    *disk
	name string
	part part
}

func (f diskFile) Write(p []byte) (n int, err error) {
	err = f.d.extend(f.part, func() error {
		m, err := f.File.Write(p[n:]) // the rest of it, where some had room
		n += m
		return err
	})
	return n, err
}

func (f diskFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.d.extend(f.part, func() error {
		m, err := f.File.WriteAt(p[n:], off+int64(n))
		n += m
		return err
	})
	return n, err
}

// A sync is never tried again: what it did not bring to the disk may be gone from memory.

func (f diskFile) Sync() error     { return f.sync(f.File.Sync) }
func (f diskFile) SyncData() error { return f.sync(f.File.SyncData) }
func (f diskFile) Close() error    { return f.d.write(f.File.Close) }

func (f diskFile) SyncTo(length int64) (full bool, err error) {
	err = f.sync(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, err
}

func (f diskFile) sync(do func() error) error {
	return f.d.write(func() error {
		err := do()
		if err != nil {
			err = fmt.Errorf("sync %s: %w", f.name, err) // the system tells no name
		}
		return err
	})
}

// engineLog drops what the database logs of its own housekeeping. Fatal is for a database that cannot
// go on without losing what was promised.
type engineLog struct{ d *disk }

func (engineLog) Infof(string, ...any)  {}
func (engineLog) Errorf(string, ...any) {}
func (q engineLog) Fatalf(format string, args ...any) {
	for i, a := range args {
		if err, ok := a.(error); ok {
			args[i] = err.Error() // without the stack that %+v adds
		}
	}
	q.d.fail(fmt.Errorf(format, args...))
}
