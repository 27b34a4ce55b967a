package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"forage/internal/atomicfile"
)

// Backup copies the store, as it is committed now, to the folder to, which must not exist or be empty, and
// returns how many bytes that are. Where to is a link to an empty folder, that folder is replaced and the link
// stays. It may be called beside the goroutine that writes, and while others read; nobody waits for it. The copy
// is a store, whose files share nothing with this one, and it is there whole, on the disk, or not at all. The
// time of the last request to each host is not in it.
//
// Tables are never changed once they are written, and get a second name in the store's folder while they are
// copied: what is merged meanwhile takes up its room until the end. Where there is no room for the names either,
// the tables are copied at once, and ctx is looked at afterwards. Errors: what the file system says; of ctx;
// ErrClosed once EndReads has been called. O(bytes).
func (db *DB) Backup(ctx context.Context, to string) (bytes int64, err error) {
	if err := db.reads.enter(); err != nil {
		return 0, err
	}
	defer db.reads.leave()
	err = atomicfile.CreateFolder(to, func(part string) (err error) {
		folder := filepath.Join(part, "documents")
		if bytes, err = db.copyTo(ctx, folder); err != nil {
			return err
		}
		return errors.Join(ctx.Err(), atomicfile.SyncFolder(folder))
	})
	if err != nil {
		return 0, err
	}
	return bytes, nil
}

// copyTo copies the database to a new folder.
func (db *DB) copyTo(ctx context.Context, folder string) (bytes int64, err error) {
	frozen, err := db.Freeze(ctx)
	if noRoom(err) {
		if err := db.checkpoint(folder); err != nil {
			return 0, err
		}
		return size(folder)
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, frozen.Close()) }()
	if err := os.Mkdir(folder, 0o755); err != nil {
		return 0, err
	}
	for _, f := range frozen.Files {
		n, err := db.copySynced(ctx, filepath.Join(frozen.Folder, f.Name), filepath.Join(folder, f.Name))
		if err != nil {
			return 0, err
		}
		bytes += n
	}
	return bytes, nil
}

// size returns how many bytes the files in a folder have.
func size(folder string) (bytes int64, err error) {
	files, err := os.ReadDir(folder)
	for _, f := range files {
		info, e := f.Info()
		if e != nil {
			return 0, e
		}
		bytes += info.Size()
	}
	return bytes, err
}

// A Frozen is a store as it was committed at one moment. A folder with its files as documents is that store.
type Frozen struct {
	Folder string       // of the files, which do not change until Close
	Files  []FrozenFile // by name

	close func() error
}

// A FrozenFile is a file of a Frozen.
type FrozenFile struct {
	Name string // in the folder
	Size int64

	// Immutable: it is a table, which keeps name and content for the life of the database, so that who has copied it once need not do so again. Of
	// two copies of a database that both go on, each gives the next names by itself.
	Immutable bool
}

// Close removes the folder, unless it is the store's own.
func (f *Frozen) Close() error { return f.close() }

// Freeze returns the store as it is committed now, beside the goroutine that writes, and while others read; nobody waits for it. Tables get a
// second name in a folder of the store until Close: what is merged meanwhile takes up its room until then. What is committed is in the log of the frozen
// store or in its tables; what was to be synced is on the disk. A process that is killed leaves a folder that the next one
// which opens the store removes. Errors: what the file system says, as where there is no room for the names; of ctx; ErrClosed once EndReads has been called.
// O(files), and a sync of the log.
func (db *DB) Freeze(ctx context.Context) (_ *Frozen, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := db.reads.enter(); err != nil {
		return nil, err
	}
	defer db.reads.leave()
	f := &Frozen{Folder: filepath.Join(db.disk.room.dir, "documents"), close: func() error { return nil }}
	switch {
	case db.commits != nil:
		// What is called as the copy of a reader is removed by the next writer, if this one is killed.
		f.Folder = newCopy(db.disk.room.dir)
		if err := db.checkpoint(f.Folder); err != nil {
			return nil, err
		}
		f.close = func() error { return os.RemoveAll(f.Folder) }
	case db.copy != nil: // a reader has a copy of its own, or the store's folder, which it has locked
		f.Folder = db.copy.dir
	}
	entries, err := os.ReadDir(f.Folder)
	for i := 0; i < len(entries) && err == nil; i++ {
		var info fs.FileInfo
		name := entries[i].Name()
		if entries[i].IsDir() || name == "LOCK" || name == "owner" {
			continue
		}
		if info, err = entries[i].Info(); err == nil {
			ext := filepath.Ext(name)
			f.Files = append(f.Files, FrozenFile{Name: name, Size: info.Size(), Immutable: slices.Contains(tableSuffixes, ext)})
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Unflushed is how many bytes of the log are in no table yet, which a Frozen has as they are: up to twice Options.MemTable.
func (db *DB) Unflushed() int64 { return int64(db.db.Metrics().WAL.Size) }

// Flush writes what is committed to tables, beside the goroutine that writes, so that a Frozen has a log of what comes later alone. It costs a table, however small:
// call it where more than some hundred KB are Unflushed.
func (db *DB) Flush() error {
	return db.disk.await(func() error { return db.db.Flush() })
}

// tableSuffixes end the names of files that never change once they are written.
var tableSuffixes = []string{".sst", ".blob"}

// checkpoint has the database write itself, as it is committed now, to a new folder, which is not there where that fails.
func (db *DB) checkpoint(folder string) error {
	reached := db.commits.synced.Load() // the log may have more, and never less
	if err := db.disk.await(func() error { return db.db.Checkpoint(folder, pebble.WithFlushedWAL()) }); err != nil {
		if errors.Is(err, fs.ErrExist) { // made meanwhile by somebody else, whose it is
			return err
		}
		return errors.Join(err, os.RemoveAll(folder))
	}
	if err := atomicfile.Write(filepath.Join(folder, commitsName), encodeCommits(reached)); err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	return nil
}

// copySynced copies a file to a new one, and returns when that is on the disk.
func (db *DB) copySynced(ctx context.Context, src, dst string) (n int64, err error) {
	in, err := os.Open(src)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.Create(dst)
	if err != nil {
		return 0, err
	}
	for err == nil {
		if err = errors.Join(ctx.Err(), db.reads.step()); err == nil {
			var k int64
			k, err = io.CopyN(out, in, 4<<20)
			n += k
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		return n, errors.Join(err, out.Close())
	}
	return n, errors.Join(out.Sync(), out.Close())
}
