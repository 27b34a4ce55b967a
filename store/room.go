package store

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A full file system is fatal to the database where it writes its log, and where it writes a table
// it tries again without end. So a store that is opened with WaitForRoom holds a reserve: files
// without a name, of as many bytes as two memtables, that only take room. A write that finds none
// has one of them given up, and succeeds. That is room for what is under way: the memtable that is
// being flushed, in a table, and what the crawl has in hand, in the log. Room tells the crawl to
// stop there, before the engine must, and takes the reserve again when there is room. Where no
// file can be reserved, as on some network file systems, Room says so in advance, as soon as no more
// than these bytes are free.
//
// The reserve is given up in pieces as somebody else may be writing who takes what is free.
//
// A compaction does not touch the reserve, of which it could use any amount: it waits. So does a
// flush that finds the reserve used up: what it writes is in the log.

// A FullError tells that the file system of a store has too little room.
type FullError struct {
	Dir  string
	Free uint64 // bytes that can be written
	Want uint64 // bytes that must be free for a crawl to go on
}

func (e *FullError) Error() string {
	const mib = 1 << 20
	return fmt.Sprintf("no space left on %s: %.1f MiB are free, a crawl takes %.1f MiB", e.Dir, float64(e.Free)/mib, float64(e.Want)/mib)
}

func (*FullError) Unwrap() error { return syscall.ENOSPC }

// noRoom reports whether a write failed for want of room.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// memTable is how large memtables are on the file system of a folder: on small ones less than
// otherwise, as each of up to four logs takes the room of a memtable from the beginning.
func memTable(files vfs.FS, dir string) uint64 {
	const most = 16 << 20
	usage, err := files.GetDiskUsage(dir)
	if err != nil || usage.TotalBytes == 0 {
		return most
	}
	return min(max(usage.TotalBytes/32, 2<<20), most)
}

// room looks after the room on the file system of a store.
type room struct {
	files vfs.FS
	dir   string
	keep  uint64 // bytes of the reserve

	mu      sync.Mutex
	patient bool       // there is somebody who asks look for room; else a write that finds none fails
	held    []vfs.File // the reserve: up to reservePieces
	full    bool
	stalled part          // the database takes no more writes until a table of this kind is written; logPart: it does
	waiting [3]int        // tables that wait, by part
	again   chan struct{} // closed when there is room again, or the store is closed
	closing bool
}

// resume is how many bytes must be free for a crawl to begin, or go on: the reserve, and once more
// as much for a log and the table that it becomes.
func (r *room) resume() uint64 { return 2 * r.keep }

// free returns how many bytes can be written, those of the reserve included.
func (r *room) free() uint64 {
	usage, err := r.files.GetDiskUsage(r.dir)
	if err != nil || usage.TotalBytes == 0 {
		return math.MaxInt64 // not known: as long as nothing says otherwise there is room
	}
	return usage.AvailBytes + r.piece()*uint64(len(r.held))
}

const reservePieces = 4

func (r *room) piece() uint64 { return r.keep / reservePieces }

// hold takes what is missing of the reserve. It does without where the file system cannot reserve;
// false: there is no room for it.
func (r *room) hold() bool {
	for len(r.held) < reservePieces {
		path := filepath.Join(r.dir, "reserve")
		f, err := r.files.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return !noRoom(err)
		}
		if err := errors.Join(f.Preallocate(0, int64(r.piece())), r.files.Remove(path)); err != nil {
			f.Close()
			r.files.Remove(path)
			return !noRoom(err)
		}
		r.held = append(r.held, f)
	}
	return true
}

// release gives a piece of the reserve up. It reports whether there was one.
func (r *room) release() bool {
	n := len(r.held)
	if n == 0 {
		return false
	}
	r.held[n-1].Close()
	r.held = r.held[:n-1]
	return true
}

// error tells how much room there is.
func (r *room) error() error { return &FullError{r.dir, r.free(), r.resume()} }

// enough returns a *FullError where there is too little room for a crawl to begin.
func (r *room) enough() error {
	if r.free() < r.resume() {
		return r.error()
	}
	return nil
}

// begin makes writes wait for room from now on.
func (r *room) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.hold() {
		return r.error()
	}
	r.patient, r.again = true, make(chan struct{})
	return nil
}

// look returns a *FullError while there is too little room. When there is enough again, writes
// that wait for it go on.
func (r *room) look() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.patient {
		return nil
	}
	free := r.free()
	if !r.full && free > r.keep || r.full && free >= r.resume() && r.hold() {
		if r.full {
			r.full = false
			close(r.again)
			r.again = make(chan struct{})
		}
		return nil
	}
	r.full = true
	return r.error()
}

// A part is which part of the database a file is, by what a write does that finds no room.
type part int

const (
	logPart     part = iota // it must succeed: the log, what names the tables
	flushPart               // it may use the reserve, and wait
	compactPart             // it may wait
)

func partOf(category vfs.DiskWriteCategory) part {
	switch category {
	case "pebble-memtable-flush":
		return flushPart
	case "pebble-compaction", "pebble-blob-file-rewrite":
		return compactPart
	}
	return logPart
}

// retry is called by a write that found no room. It reports whether to try it once more, at once or
// after having waited. Else fatal tells whether the database could bear the error.
func (r *room) retry(p part) (again, fatal bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.patient {
		return false, true
	}
	r.full = true
	if p != compactPart && r.release() {
		return true, false
	}
	if r.closing && p != logPart {
		return false, false
	}
	r.waiting[p]++
	defer func() { r.waiting[p]-- }()
	if p == logPart || r.stuck() {
		return false, true
	}
	ch := r.again
	r.mu.Unlock()
	<-ch
	r.mu.Lock()
	return !r.closing, false
}

// stall notes what the database waits for before it takes more writes; logPart: nothing. It returns
// a *FullError if that waits for room, so that whoever writes would not hear of it.
func (r *room) stall(p part) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stalled = p; r.stuck() {
		return r.error()
	}
	return nil
}

// stuck reports whether the database waits for a table that waits for room.
func (r *room) stuck() bool {
	return r.stalled != logPart && r.waiting[flushPart] > 0 || r.stalled == compactPart && r.waiting[compactPart] > 0
}

// end has nothing wait any more: what the tables would hold is in the log.
func (r *room) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.patient && !r.closing {
		r.closing = true
		close(r.again)
	}
}

// close gives the reserve up for good.
func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.release() {
	}
}

// Room returns a *FullError while there is too little room on the file system to go on. Whoever
// opened the store with WaitForRoom asks it now and then: what is written while it is an error uses
// a reserve, and writes in the background that wait go on when it is nil again.
func (db *DB) Room() error { return db.disk.room.look() }

// RoomIn returns a *FullError where too little is free on the file system of a folder that a crawl writes to beside its store: for what is under
// way, and, where it was full, twice as much.
func RoomIn(dir string, was bool) error {
	usage, err := vfs.Default.GetDiskUsage(dir)
	if err != nil || usage.TotalBytes == 0 {
		return nil // not known: as long as nothing says otherwise there is room
	}
	want := min(max(usage.TotalBytes/8, 2<<20), 64<<20)
	if was {
		want *= 2
	}
	if usage.AvailBytes < want {
		return &FullError{dir, usage.AvailBytes, want}
	}
	return nil
}
