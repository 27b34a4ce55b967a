// Package store is the crawl's memory on disk: sites, documents and their links, fetches,
// cycles, and what waits to be fetched.
//
// Open gives a DB to the one process that writes; a View reads. A document is a Doc with a
// dense number, a graph.Node, for its URL: Add numbers a URL once and for all, Put changes
// what is known of it. The queue follows from the documents: whatever is in state Queued is
// in it, by site and host. Everything written between two calls of Commit reaches the disk
// together or not at all, so that after a kill at any moment no document is lost, none has
// links without being fetched, and every count is right; Check verifies all this.
//
// A store is a folder: owner, a lock with the process number of the writer in it, and
// documents, a Pebble database. The package fetches nothing and decides nothing: what is new
// or gone or a duplicate is told by package crawl.
package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
)

const noDuplicate = graph.None

// ErrNotFound is returned for a document, site or cycle that the store does not hold.
var ErrNotFound = errors.New("not in the store")

// ErrNotStore is wrapped by the error for a folder that holds something else.
var ErrNotStore = errors.New("not a forage store")

// Options say how a store is opened. The zero value works.
type Options struct {
	FS        vfs.FS // nil: the disk, with a lock; tests give a file system in memory
	Cache     int64  // bytes for blocks of the database; 0: 32 MiB
	MemTable  uint64 // bytes written before a flush; 0: 16 MiB
	MustExist bool   // fs.ErrNotExist instead of a new store
	ReadOnly  bool   // open beside other readers; implies MustExist
}

// A DB is an open store. One goroutine writes; any number may read through a View.
type DB struct {
	View
	db    *pebble.DB
	owner *owner
	fs    vfs.FS

	// The window: what has been written since the last Commit.
	mu       sync.RWMutex
	batch    *pebble.Batch
	docs     map[graph.Node][]byte
	recent   []recentDoc // by number modulo recentDocs
	puts     uint64      // documents written
	urls     map[string]graph.Node
	counters map[SiteID]*Counters
	dirty    map[SiteID]bool
	next     graph.Node // the next number for a URL
	fresh    bool       // numbers were given in this window
	digests  map[string]graph.Node

	sites    map[string]bool // names; nil until AddSite has read them
	lastSite SiteID          // the highest number, from then on

	seen  *seen
	syncs sync.WaitGroup
	err   atomic.Pointer[error] // of a sync in the background
}

// Open opens the store in the folder dir and makes it where there is none. It returns an
// *InUseError when another process has it, an error that wraps ErrNotStore when dir holds
// other things, fs.ErrNotExist when dir is absent and opt says that it must exist.
func Open(dir string, opt Options) (_ *DB, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("store %s: %w", dir, err)
		}
	}()
	opt.MustExist = opt.MustExist || opt.ReadOnly
	var own *owner
	files := opt.FS
	if files == nil {
		files = unlocked{vfs.Default}
		if err := checkFolder(dir, opt.MustExist); err != nil {
			return nil, err
		}
		if own, err = acquire(dir, opt.ReadOnly); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				own.release()
			}
		}()
	}
	p, err := pebble.Open(filepath.Join(dir, "documents"), options(files, opt))
	if err != nil {
		return nil, err
	}
	db := &DB{
		View: View{r: p}, db: p, owner: own, fs: files,
		docs: map[graph.Node][]byte{}, urls: map[string]graph.Node{}, digests: map[string]graph.Node{}, recent: make([]recentDoc, recentDocs),
		counters: map[SiteID]*Counters{}, dirty: map[SiteID]bool{}, seen: newSeen(1 << 20),
	}
	if err := db.migrate(opt.ReadOnly); err != nil {
		p.Close()
		return nil, err
	}
	next, err := db.get(metaKey("next"))
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
	case len(next) != 4:
		err = fmt.Errorf("%w: next number", errCorrupt)
	default:
		db.next = graph.Node(binary.BigEndian.Uint32(next))
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		p.Close()
		return nil, err
	}
	return db, nil
}

func options(files vfs.FS, opt Options) *pebble.Options {
	if opt.Cache == 0 {
		opt.Cache = 32 << 20
	}
	if opt.MemTable == 0 {
		opt.MemTable = 16 << 20
	}
	o := &pebble.Options{
		FS:                 files,
		CacheSize:          opt.Cache,
		MemTableSize:       opt.MemTable,
		MaxOpenFiles:       256,
		FormatMajorVersion: pebble.FormatNewest,
		ReadOnly:           opt.ReadOnly,
		ErrorIfNotExists:   opt.MustExist,
		Logger:             quiet{},
		// One compaction at a time: fetching needs the cores more.
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

// quiet drops what the database logs of its own housekeeping. Fatal is for a database that
// cannot write its log any more; going on would lose what was promised.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("store: "+format, args...))
}

// checkFolder tells whether dir is a store or may become one.
func checkFolder(dir string, mustExist bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) && !mustExist {
		return os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "documents" }) {
		return nil
	}
	for _, e := range entries {
		if name := e.Name(); name != "owner" && name != "forage.sock" {
			return fmt.Errorf("%w: it holds %s; --dir wants a new or empty folder, or one that forage made", ErrNotStore, name)
		}
	}
	if mustExist {
		return fmt.Errorf("%w: nothing has been crawled into it", fs.ErrNotExist)
	}
	return nil
}

// Close commits what is left, syncs, and gives the store free.
func (db *DB) Close() error {
	err := db.Sync()
	db.mu.Lock()
	if db.batch != nil {
		err = errors.Join(err, db.batch.Close())
		db.batch = nil
	}
	db.mu.Unlock()
	err = errors.Join(err, db.db.Close())
	if db.owner != nil {
		db.owner.release()
	}
	return err
}

// window returns the batch of the running window. db.mu is held.
func (db *DB) window() *pebble.Batch {
	if db.batch == nil {
		db.batch = db.db.NewBatch()
	}
	return db.batch
}

// Commit ends the window: everything written since the last Commit becomes visible to views
// at once, and is on its way to the disk when Commit returns; it gets there whole or not at
// all. Sync waits for it.
func (db *DB) Commit() error {
	if err := db.failed(); err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.batch == nil {
		return nil
	}
	b := db.batch
	for site := range db.dirty {
		if err := b.Set(key(tableCounters, uint32(site)), db.counters[site].encode(), nil); err != nil {
			return err
		}
	}
	clear(db.dirty)
	if db.fresh {
		if err := b.Set(metaKey("next"), binary.BigEndian.AppendUint32(nil, uint32(db.next)), nil); err != nil {
			return err
		}
		db.fresh = false
	}
	if err := db.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	db.batch = nil
	clear(db.docs)
	clear(db.urls)
	clear(db.digests)
	db.syncs.Add(1)
	go func() {
		defer db.syncs.Done()
		if err := errors.Join(b.SyncWait(), b.Close()); err != nil {
			err = fmt.Errorf("sync: %w", err)
			db.err.CompareAndSwap(nil, &err)
		}
	}()
	return nil
}

// Sync commits and returns when everything is on the disk.
func (db *DB) Sync() error {
	err := db.Commit()
	db.syncs.Wait()
	return errors.Join(err, db.failed())
}

func (db *DB) failed() error {
	if err := db.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Snapshot returns a view of what is committed now, which later commits do not change. The
// caller closes it.
func (db *DB) Snapshot() *View {
	s := db.db.NewSnapshot()
	return &View{r: s, close: s.Close}
}

// urlSeed differs in every process, so that nobody can choose URLs that collide.
var urlSeed = maphash.MakeSeed()
