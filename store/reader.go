package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"forage/internal/filelock"
)

// A process that only reads must not hold up the one that writes, which a crawl on schedule
// may be. So it takes the lock of the store only while it makes a copy of the database for
// itself, a folder beside it: the tables, nearly all of the bytes, are never changed once they
// are written and become hard links; the log and what names the tables is copied. The writer
// may then do as it likes. A file in the copy is locked as long as its reader lives, so that
// the next writer knows which copies were left behind by readers that were killed.

// copyPrefix begins the name of a reader's copy. The number of its process follows.
const copyPrefix = "documents.read-"

var copies atomic.Uint64

// newCopy returns the name of a folder in dir that is not there. In containers many processes have the same
// number, and one that was killed may have left a copy.
func newCopy(dir string) string {
	for {
		name := filepath.Join(dir, fmt.Sprint(copyPrefix, os.Getpid(), "-", copies.Add(1)))
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}

// A readerCopy is the folder that a reader has for itself.
type readerCopy struct {
	dir  string
	lock *os.File
}

// copyForReader copies the database of the store in dir, whose lock the caller holds. It
// fails where the folder of the store cannot be written to, or has no hard links.
func copyForReader(dir string) (_ *readerCopy, err error) {
	from := filepath.Join(dir, "documents")
	files, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	c := &readerCopy{}
	for c.dir == "" || errors.Is(err, fs.ErrExist) {
		c.dir = newCopy(dir)
		err = os.Mkdir(c.dir, 0o755)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.remove()
		}
	}()
	if c.lock, err = os.Create(filepath.Join(c.dir, "owner")); err != nil {
		return nil, err
	}
	if err := filelock.Try(c.lock, true); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	for _, f := range files {
		src, dst := filepath.Join(from, f.Name()), filepath.Join(c.dir, f.Name())
		switch ext := filepath.Ext(f.Name()); {
		case f.IsDir() || f.Name() == "LOCK":
		case slices.Contains(tableSuffixes, ext):
			err = os.Link(src, dst)
		default:
			err = copyFile(src, dst)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

func copyFile(src, dst string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(dst)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (c *readerCopy) remove() error {
	if c.lock != nil {
		c.lock.Close() // first: not every system lets a file be removed that is open
	}
	return os.RemoveAll(c.dir)
}

// removeCopies removes the copies of readers that are no more. The caller has the store for
// itself, so that none is being made. What cannot be removed costs space and harms nothing.
func removeCopies(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), copyPrefix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		lock, err := os.OpenFile(filepath.Join(path, "owner"), os.O_RDWR, 0)
		if err == nil {
			err = filelock.Try(lock, true)
			lock.Close()
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			os.RemoveAll(path)
		}
	}
}
