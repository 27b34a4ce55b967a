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
// A store is a folder: owner, a lock with the process number of the writer in it, documents, a
// Pebble database, and while one writes asked, which tells when hosts were last asked (asked.go);
// beside it are the copies of readers, see reader.go, and what a repair has put aside, see
// salvage.go. The package fetches nothing and decides nothing: what is new or gone or a duplicate
// is told by package crawl.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
	"forage/internal/atomicfile"
)

const noDuplicate = graph.None

// ErrNotFound is returned for a document, site or cycle that the store does not hold.
var ErrNotFound = errors.New("not in the store")

// ErrUnfinished is wrapped by the error for a store of which only a part had been made when the power,
// or the process that made it, went. Opened for writing it is made anew.
var ErrUnfinished = errors.New("its making was cut off, and nothing is in it")

// ErrNotStore is wrapped by the error for a folder that holds something else.
var ErrNotStore = errors.New("not a forage store")

// Options say how a store is opened. The zero value works.
type Options struct {
	FS        vfs.FS // nil: the disk, with a lock; tests give a file system in memory
	MemTable  uint64 // bytes written before a flush; 0: 16 MiB, 4 MiB with Small, less on a small file system
	Small     bool   // little will be read and written: a quarter of the memory for what is cached, and for what waits to be flushed
	Cache     *Cache // memory shared with other stores, of which each is as with Small; nil: its own. MemTable is then that of the cache
	MustExist bool   // fs.ErrNotExist instead of a new store
	ReadOnly  bool   // see the store as it is now, whatever a writer does later; implies MustExist

	// Repair, if set, has damaged files put right before the store is opened, as far as they can
	// be, and is told of each. What was there is kept in a folder beside the database.
	Repair func(Problem)

	// WaitForRoom has the store bear a full file system, once it is open: see Room. Without it, or
	// before, a write that finds no room fails, and with it the store.
	WaitForRoom bool

	step func() error // called before each write of a migration; tests interrupt it
}

// A DB is an open store. One goroutine writes; any number may read through a View.
type DB struct {
	View
	db    *pebble.DB
	owner *owner      // nil: a reader with a copy of its own, or no lock on this file system
	copy  *readerCopy // nil: none
	disk  *disk
	cache *Cache // nil: its own

	reads     gate     // of snapshots
	snapshots sync.Map // open ones: *View → *pebble.Snapshot

	// The window: what has been written since the last Commit.
	mu        sync.RWMutex
	batch     *pebble.Batch
	docs      map[graph.Node][]byte
	recent    []recentDoc            // by number modulo how many there are
	visits    map[graph.Node][]Visit // made before this window, and given rows in it
	puts      uint64                 // documents written
	commit    uint64                 // the number of the last one
	urls      map[string]graph.Node  // those for which the index has no room
	counters  map[SiteID]*Counters
	dirty     map[SiteID]bool
	next      graph.Node             // the next number for a URL
	fresh     bool                   // numbers were given in this window
	digests   map[string]graph.Node  // the same
	names     map[string]SiteID      // of sites added
	sites     map[SiteID][]byte      // as stored
	past      map[SiteID]*PastCycles // condensed in this window
	summaries map[SiteID]*summarised // of sites that were written to
	wanted    map[RequisiteHash]bool // those of this window, and some of earlier ones

	events

	lastOutgoing uint64 // the highest number given

	lastSite  SiteID         // the highest number given
	lastCycle Cycle          // the same
	ended     map[SiteID]int // cycles that Condense may find, an upper bound; of the sites that it has counted
	running   map[Cycle]bool // cycles that were put and have not ended

	numbers  *index         // of URLs
	bodies   *index         // of the first pages with them
	indexing gate           // those who read a table into an index
	archives []kept         // that are written
	asked    *asked         // nil: a reader
	syncs    sync.WaitGroup // in the background
	commits  *commitFile    // nil: read only
}

// Open opens the store in the folder dir and makes it where there is none. It returns an
// *InUseError when another process has it, an error that wraps ErrNotStore when dir holds
// other things, fs.ErrNotExist when dir is absent, or ErrUnfinished when it is not whole, and opt says
// that it must exist, a *DamagedError when a file is not what was written or something that was synced is missing.
func Open(dir string, opt Options) (_ *DB, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("store %s: %w", dir, err)
		}
	}()
	opt.MustExist = opt.MustExist || opt.ReadOnly
	if opt.Cache != nil {
		opt.Small, opt.MemTable = true, opt.Cache.memTable
	}
	recent := recentDocs
	if opt.Small {
		recent /= 4
	}
	db := &DB{
		recent: make([]recentDoc, recent),
		docs:   map[graph.Node][]byte{}, visits: map[graph.Node][]Visit{}, urls: map[string]graph.Node{}, digests: map[string]graph.Node{},
		counters: map[SiteID]*Counters{}, dirty: map[SiteID]bool{},
		names: map[string]SiteID{}, sites: map[SiteID][]byte{}, past: map[SiteID]*PastCycles{}, ended: map[SiteID]int{}, running: map[Cycle]bool{}, summaries: map[SiteID]*summarised{},
		events: events{moved: map[graph.Node]movement{}},
	}
	folder := filepath.Join(dir, "documents")
	db.disk = newDisk(opt.FS)
	if opt.FS == nil {
		db.disk.FS = unlocked{vfs.Default}
		if err := checkFolder(dir, opt.MustExist, opt.Repair != nil); err != nil {
			return nil, err
		}
		if db.owner, err = acquire(dir, opt.ReadOnly, patience); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				db.leave()
			}
		}()
		if !opt.ReadOnly {
			removeCopies(dir)
		} else if c, err := copyForReader(dir); err == nil { // otherwise the lock is held until Close
			folder, db.copy = c.dir, c
			db.owner.release()
			db.owner = nil
		}
	}
	db.disk.home, db.disk.room.files, db.disk.room.dir = folder, db.disk.FS, dir
	if opt.MemTable == 0 {
		opt.MemTable = memTable(db.disk.FS, dir)
		if opt.Small {
			opt.MemTable = min(opt.MemTable, 4<<20)
		}
	}
	db.disk.room.keep = 2 * opt.MemTable
	if opt.WaitForRoom {
		if err := db.disk.room.enough(); err != nil {
			return nil, err
		}
	}
	if err := db.open(folder, opt); err != nil {
		return nil, err
	}
	db.View = View{r: db.db, decoded: new(atomic.Int64), files: func(g *gate, report func(Problem)) error {
		if opt.ReadOnly {
			return checkFiles(db.disk, folder, report)
		}
		return db.checkTables(folder, g, report)
	}}
	if !opt.ReadOnly {
		db.known, db.outgoing = new(told), new(told)
	}
	if err := errors.Join(db.migrate(opt), db.readNumbers()); err != nil {
		return nil, errors.Join(err, db.shut())
	}
	if opt.WaitForRoom {
		if err := db.disk.room.begin(); err != nil {
			return nil, errors.Join(err, db.shut())
		}
	}
	if !opt.ReadOnly {
		if db.asked, err = openAsked(db.disk.FS, filepath.Join(dir, "asked")); err != nil {
			return nil, errors.Join(err, db.shut())
		}
	}
	return db, nil
}

// open opens the database in folder, unless something of it is missing.
func (db *DB) open(folder string, opt Options) error {
	if opt.Repair != nil {
		if err := db.disk.await(func() error { return repairFiles(db.disk, folder, opt.Repair) }); err != nil {
			return err
		}
	}
	have, err := inspect(db.disk, folder)
	switch {
	case err != nil:
		return err
	case have.new && opt.MustExist:
		return ErrUnfinished
	case have.err() != nil:
		return have.err()
	}
	if opt.Cache != nil {
		opt.Cache.enter()
		db.cache = opt.Cache
	}
	if db.db, err = openEngine(folder, db.disk, opt, nil); err != nil {
		db.leaveCache()
		if db.disk.failed() == nil {
			err = have.openError(folder, err)
		}
		return err
	}
	db.commit = have.logs.last
	if opt.ReadOnly {
		return nil
	}
	return db.disk.await(func() (err error) {
		db.commits, err = openCommits(db.disk, folder, db.commit)
		return err
	})
}

// openEngine opens the database in folder, whatever it holds.
func openEngine(folder string, d *disk, opt Options, tune func(*pebble.Options)) (*pebble.DB, error) {
	opened := make(chan *pebble.DB, 1)
	if err := d.await(func() error {
		o := options(d, opt)
		if tune != nil {
			tune(o)
		}
		return trusting(func() error {
			db, err := pebble.Open(folder, o)
			opened <- db
			return err
		})
	}); err != nil {
		return nil, err
	}
	return <-opened, nil
}

// write applies a batch that is no window, and closes it.
func (db *DB) write(b *pebble.Batch) error {
	n, err := db.number(b)
	if err != nil {
		return err
	}
	return db.disk.await(func() error {
		return errors.Join(b.Commit(pebble.Sync), b.Close(), db.commits.advance(n))
	})
}

// shut closes the database.
func (db *DB) shut() error {
	defer db.leaveCache()
	return db.disk.await(func() error { return errors.Join(db.db.Close(), db.commits.close()) })
}

// leaveCache has other stores have the memory for what waits in this one.
func (db *DB) leaveCache() {
	if db.cache != nil {
		db.cache.exit()
		db.cache = nil
	}
}

// leave gives the store free.
func (db *DB) leave() error {
	db.owner.release()
	if db.copy != nil {
		return db.copy.remove()
	}
	return nil
}

// readNumbers reads which numbers were given out.
func (db *DB) readNumbers() error {
	next, err1 := db.metaNumber("next")
	site, err2 := db.metaNumber("sites")
	cycle, err3 := db.metaNumber("cycle")
	event, err4 := db.lastEventNumber()
	out, err7 := db.metaNumber64("outgoing")
	db.next, db.lastSite, db.lastCycle, db.lastEvent, db.lastOutgoing = graph.Node(next), SiteID(site), Cycle(cycle), event, out
	if db.known != nil {
		db.known.last.Store(event)
		db.outgoing.last.Store(out)
	}
	var err5, err6 error
	db.numbers, err5 = db.newIndex(tableURL)
	db.bodies, err6 = db.newIndex(tableDigest)
	return errors.Join(err1, err2, err3, err4, err5, err6, err7)
}

// blockCache is how many bytes of tables are held in memory at most. The database takes what memtables need,
// up to two of them, from the same room, and with less than that for both it kept nothing at all: a third of the CPU of a
// crawl of 200,000 pages went into reading the same indexes and filters of tables again.
const blockCache = 16 << 20

func options(files *disk, opt Options) *pebble.Options {
	cache := int64(blockCache)
	if opt.Small {
		cache /= 4
	}
	o := &pebble.Options{
		FS:           files,
		CacheSize:    int64(2*opt.MemTable) + cache,
		MemTableSize: opt.MemTable,
		MaxOpenFiles: 256,
		// The first level is merged into the next one when it is 32 layers deep, not two: the database counts each twice
		// against the threshold, and once for L0StopWritesThreshold. There is one level below it up to 512 MiB, not 64,
		// and what is deleted goes with that, not by itself: the queue is read from where it was left. In a crawl of
		// a million pages compactions wrote 127 bytes a page with a threshold of 32, 305 with 16 and 64 MiB; at ten
		// million URLs 64 takes seven eighths of the CPU of 32. A key is looked up in more tables, most of which
		// their filters exclude.
		L0CompactionThreshold: 64,
		L0StopWritesThreshold: 128,
		LBaseMaxBytes:         512 << 20,
		FormatMajorVersion:    pebble.FormatNewest,
		ReadOnly:              opt.ReadOnly,
		ErrorIfNotExists:      opt.MustExist,
		Logger:                engineLog{files},
		// Without this the database ends the process. Whoever reads is told, see readError.
		EventListener: &pebble.EventListener{
			DataCorruption: func(pebble.DataCorruptionInfo) {},
			WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
				waits := flushPart
				if strings.Contains(info.Reason, "L0") { // for the first level to be compacted
					waits = compactPart
				}
				if err := files.room.stall(waits); err != nil {
					files.giveUp(err)
				}
			},
			WriteStallEnd: func() { files.room.stall(logPart) },
		},
		// One compaction at a time: fetching needs the cores more.
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
	}
	if opt.Cache != nil {
		o.Cache = opt.Cache.blocks
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		// Blocks of 16 KiB, not 4, have a fourth of the index, so that most of it stays in the cache (hits of 96%, 70%
		// before). They are mostly read one after another.
		o.Levels[i].BlockSize = 16 << 10
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return block.FastestCompression }
	}
	o.Experimental.TombstoneDenseCompactionThreshold = -1
	// By default the database looks ten times a second whether more compactions may run than before. Here it is always one, which is
	// granted when it is wanted, or when the one before has ended: a store of which nothing is wanted wakes nobody.
	o.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	return o
}

// Exists reports whether dir is a store: fs.ErrNotExist or ErrNotStore, wrapped, where it is not.
func Exists(dir string) error {
	if err := checkFolder(dir, true, true); err != nil {
		return fmt.Errorf("store %s: %w", dir, err)
	}
	return nil
}

// checkFolder tells whether dir is a store or may become one. One whose repair was interrupted is
// one only for those who repair it.
func checkFolder(dir string, mustExist, repair bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) && !mustExist {
		return atomicfile.Folder(dir)
	}
	if err != nil {
		return err
	}
	have := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	if have("documents") || repair && have("documents"+repairedSuffix) {
		return nil
	}
	if have("documents" + repairedSuffix) {
		return damaged(filepath.Join(dir, "documents"), "a repair was interrupted")
	}
	for _, e := range entries {
		if name := e.Name(); name != "owner" && name != "forage.sock" {
			return fmt.Errorf("%w: it holds %s; a store wants a new or empty folder, or one that it made", ErrNotStore, name)
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
	db.indexing.close()
	db.disk.room.end()
	defer db.disk.room.close()
	if db.disk.failed() != nil { // the database is not to be touched any more
		return errors.Join(err, db.leave())
	}
	db.mu.Lock()
	if db.batch != nil {
		err = errors.Join(err, db.batch.Close())
		db.batch = nil
	}
	db.mu.Unlock()
	err = errors.Join(err, db.shut())
	if db.asked != nil {
		done := err == nil
		err = errors.Join(err, db.disk.withRoom(func() error { return db.asked.close(done) }))
	}
	return errors.Join(err, db.leave())
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
	if err := db.disk.failed(); err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	committed, err := db.commitArchives()
	if err != nil {
		return err
	}
	if db.batch == nil {
		return nil
	}
	if err := db.tell(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	b, last, out := db.batch, db.lastEvent, db.lastOutgoing
	for _, id := range slices.Sorted(maps.Keys(db.docs)) { // once, however often it was put
		if err := b.Set(key(tableDoc, uint32(id)), db.docs[id], nil); err != nil {
			return err
		}
	}
	for site := range db.dirty {
		if err := b.Set(key(tableCounters, uint32(site)), counterFields.Encode(db.counters[site]), nil); err != nil {
			return err
		}
	}
	clear(db.dirty)
	if db.fresh {
		if err := b.Set(metaKey("next"), uint32Bytes(uint32(db.next)), nil); err != nil {
			return err
		}
		db.fresh = false
	}
	n, err := db.number(b)
	if err != nil {
		return err
	}
	db.batch = nil
	if err := db.disk.await(func() error { return db.db.ApplyNoSyncWait(b, pebble.Sync) }); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	clear(db.docs)
	clear(db.visits)
	clear(db.urls)
	clear(db.digests)
	clear(db.names)
	clear(db.sites)
	clear(db.past)
	if len(db.counters) > keptCounters { // none of them is newer than what is stored
		db.counters = map[SiteID]*Counters{}
	}
	if len(db.wanted) > mostWanted {
		db.wanted = nil
	}
	if len(db.summaries) > 1<<16 { // a bound for stores of very many sites; in a window they know what it has noted
		clear(db.summaries)
	}
	db.syncs.Add(1)
	go func() {
		defer db.syncs.Done()
		if err := errors.Join(b.SyncWait(), b.Close(), db.commits.advance(n)); err != nil {
			db.disk.fail(fmt.Errorf("sync: %w", err))
			return
		}
		db.known.advance(last)
		db.outgoing.advance(out)
		for _, f := range committed {
			f()
		}
	}()
	return nil
}

// Sync commits and returns when everything is on the disk.
func (db *DB) Sync() error {
	if err := db.Commit(); err != nil {
		return err
	}
	return db.disk.await(func() error { db.syncs.Wait(); return nil })
}

// Decoded returns how many records of documents have been decoded since Open, by the DB and
// its snapshots: a measure of what the crawl spends on reading what it knows.
func (db *DB) Decoded() int64 { return db.decoded.Load() }
