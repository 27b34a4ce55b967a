package archive

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"forage/internal/atomicfile"
	"forage/internal/linesort"
	"forage/warc"
)

const (
	warcSuffix  = ".warc.gz"
	textSuffix  = ".warc.wet.gz"
	indexSuffix = ".cdxj"
	openSuffix  = ".open"
)

// indexOf is the path of the index of a WARC file.
func indexOf(path string) string { return strings.TrimSuffix(path, warcSuffix) + indexSuffix }

// A file is a WARC file that is open, and the lines of its index in the order of the file.
type file struct {
	number  uint32
	path    string // that it will have
	warc    *os.File
	begins  int64 // bytes of the record that it begins with
	size    int64
	index   *os.File // nil: it has none
	indexed int64
	lines   []byte // of the index, not written yet
	waiting int    // answers that refer to one of this file, and are to be added to it
	changed bool   // since flush
	state   uint64 // number of the state that told of its last change
	closing bool   // it is being given its name
	whole   bool   // it is only its name that it lacks
	named   bool   // nor that
}

func newFile(path string, number uint32, indexed bool) (*file, error) {
	w, err := os.OpenFile(path+openSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	f := &file{number: number, path: path, warc: w}
	if indexed {
		if f.index, err = os.OpenFile(indexOf(path)+openSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644); err != nil {
			return nil, errors.Join(err, w.Close(), os.Remove(path+openSuffix))
		}
	}
	if err := atomicfile.SyncFolder(filepath.Dir(path)); err != nil { // before anything is committed of it
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

// add adds a group, whole or not at all.
func (f *file) add(g *Group) error {
	if err := g.writeAt(f.warc, f.size); err != nil {
		return errors.Join(err, f.warc.Truncate(f.size))
	}
	if g.entry != nil {
		g.entry.Offset, g.entry.Filename = f.size, filepath.Base(f.path)
		f.lines = g.entry.Append(f.lines)
	}
	f.size += g.size
	f.changed = true
	return nil
}

// flush brings the file to the disk. The index can be made again.
func (f *file) flush() error {
	if f.index != nil {
		if _, err := f.index.WriteAt(f.lines, f.indexed); err == nil { // else there may be room the next time
			f.indexed += int64(len(f.lines))
			f.lines = f.lines[:0]
		}
	}
	if err := f.warc.Sync(); err != nil {
		return err
	}
	f.changed = false
	return nil
}

// reindex makes the lines of the index again.
func (f *file) reindex() error {
	if f.index == nil {
		return nil
	}
	var line []byte
	f.indexed, f.lines = 0, nil
	return warc.Index(io.NewSectionReader(f.warc, 0, f.size), filepath.Base(f.path), func(e *warc.Entry) error {
		line = e.Append(line[:0])
		_, err := f.index.WriteAt(line, f.indexed)
		f.indexed += int64(len(line))
		return err
	}, func(err error) error { return nil }) // what has no key has no line
}

// sortMemory is how many bytes of an index are sorted at once: it is done beside a crawl.
const sortMemory = 4 << 20

// finish cuts the file to its size, writes its index, sorted, gives it its name, and closes it. After an error it may be called again.
func (f *file) finish() error {
	if !f.whole {
		if err := errors.Join(f.warc.Truncate(f.size), f.warc.Sync()); err != nil {
			return err
		}
		if f.index != nil {
			if err := f.writeIndex(); err != nil {
				return err
			}
		}
		f.whole = true
		f.close() // before it is renamed, as some systems want it
	}
	if !f.named {
		if err := os.Rename(f.path+openSuffix, f.path); err != nil {
			return err
		}
		f.named = true
	}
	if err := atomicfile.SyncFolder(filepath.Dir(f.path)); err != nil || f.index == nil {
		return err
	}
	if err := os.Remove(indexOf(f.path) + openSuffix); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeIndex writes the lines of the index, sorted.
func (f *file) writeIndex() error {
	l := linesort.New(indexOf(f.path), sortMemory)
	defer l.Close()
	lines := io.MultiReader(io.NewSectionReader(f.index, 0, f.indexed), bytes.NewReader(f.lines))
	if err := linesort.Split(lines, l.Add); err != nil {
		return err
	}
	return atomicfile.Create(indexOf(f.path), l.Write)
}

func (f *file) close() {
	f.warc.Close()
	if f.index != nil {
		f.index.Close()
	}
}

// remove removes a file of which nothing was committed.
func (f *file) remove() error {
	f.close()
	err := os.Remove(f.path + openSuffix)
	if f.index != nil {
		err = errors.Join(err, os.Remove(indexOf(f.path)+openSuffix))
	}
	return err
}

// spoolPrefix begins the names of files that hold what does not fit in memory, where a file cannot be removed while it is open.
const spoolPrefix = ".forage-spool-"

// A Spool is a file that is removed when it is closed, or the process dies.
type Spool struct{ *os.File }

func newSpool(folder string) (*Spool, error) {
	f, err := os.CreateTemp(folder, spoolPrefix+"*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // it stays until it is closed, where the system permits that
	return &Spool{f}, nil
}

// Close removes the file.
func (s *Spool) Close() error {
	err := s.File.Close()
	os.Remove(s.Name())
	return err
}

// inMemory is how many bytes of a group are held in memory.
const inMemory = 256 << 10

// A buffer holds bytes in memory, and in a spool what is more.
type buffer struct {
	folder string
	text   bytes.Buffer
	spool  *Spool
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.spool == nil && b.text.Len()+len(p) > inMemory {
		var err error
		if b.spool, err = newSpool(b.folder); err != nil {
			return 0, err
		}
	}
	if b.spool != nil {
		return b.spool.Write(p)
	}
	return b.text.Write(p)
}

// writeAt writes all of it to a file.
func (b *buffer) writeAt(f *os.File, at int64) error {
	if _, err := f.WriteAt(b.text.Bytes(), at); err != nil {
		return err
	}
	if b.spool == nil {
		return nil
	}
	if _, err := b.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := f.Seek(at+int64(b.text.Len()), io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(f, b.spool.File)
	return err
}

func (b *buffer) close() {
	if b.spool != nil {
		b.spool.Close()
		b.spool = nil
	}
}
