package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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
	from, done, err := db.freeze()
	if noRoom(err) {
		if err := db.checkpoint(folder); err != nil {
			return 0, err
		}
		return size(folder)
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, done()) }()
	files, err := os.ReadDir(from)
	if err != nil {
		return 0, err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return 0, err
	}
	for _, f := range files {
		if f.IsDir() || f.Name() == "LOCK" || f.Name() == "owner" {
			continue
		}
		n, err := db.copySynced(ctx, filepath.Join(from, f.Name()), filepath.Join(folder, f.Name()))
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

// freeze returns a folder that holds the database as it is committed, and does not change until done is called.
func (db *DB) freeze() (folder string, done func() error, err error) {
	if db.commits == nil { // a reader: its own copy, or the store's folder, which it has locked
		if db.copy != nil {
			return db.copy.dir, func() error { return nil }, nil
		}
		return filepath.Join(db.disk.room.dir, "documents"), func() error { return nil }, nil
	}
	// What is called as the copy of a reader is removed by the next writer, if this one is killed.
	folder = newCopy(db.disk.room.dir)
	return folder, func() error { return os.RemoveAll(folder) }, db.checkpoint(folder)
}

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
