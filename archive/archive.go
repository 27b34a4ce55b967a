// Package archive keeps what a crawl fetches in a folder of WARC files, as bytes, with an index beside each file.
//
// Open takes over a folder. Record, which may be called by many goroutines at once, makes the records of one answer; Append adds them
// to the files, by one goroutine, the one that also commits what the answer means to a store: Flush returns the state of the archive that is
// to be part of that commit, and Committed tells that it is on the disk. Whatever happens between two commits, the archive that is opened
// with the state of the last one is as it was then: what lies behind is cut off.
//
// Files are named forage-DATE-ARCHIVE-NUMBER.warc.gz, with .open behind it until they are whole; no number is given twice. A
// sorted index, NAME.cdxj, is written when a file is closed. A folder of texts has records of type conversion, made by Convert instead of Record, in
// files named .warc.wet.gz as Common Crawl calls them, and no index.
package archive

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"forage/internal/atomicfile"
	"forage/internal/filelock"
	"forage/warc"
)

// A Dedupe says where the body of an answer may already be, so that it is not stored once more.
type Dedupe string

// The values of a Dedupe.
const (
	All  Dedupe = "all"  // anywhere in the folder
	File Dedupe = "file" // in the same file, for tools that read single files
	Off  Dedupe = "off"  // every answer is stored whole
)

// ParseDedupe reads a Dedupe.
func ParseDedupe(s string) (Dedupe, error) {
	switch d := Dedupe(s); d {
	case All, File, Off:
		return d, nil
	}
	return "", fmt.Errorf("want all, file or off, got %q", s)
}

// DefaultLimit is how many bytes a file has at most, unless a single answer has more.
const DefaultLimit = 1 << 30

// Config says how an archive is written. Folder is needed; the zero value of another field means the default.
type Config struct {
	Folder string
	Dedupe Dedupe                           // "": All
	Texts  bool                             // what is kept are texts, see Convert, and no answers
	Limit  int64                            // bytes of a file; 0: DefaultLimit
	Info   warc.Fields                      // what each file begins with tells of the crawl
	Random io.Reader                        // for numbers of records; nil: crypto/rand's
	Now    func() time.Time                 // for names and what files begin with; nil: time.Now
	Log    *slog.Logger                     // nil: none
	Known  func(warc.Digest) (Place, error) // where an answer with such a body is; its error: nowhere. It is called by Record; nil: nowhere
}

// A Place is where a record begins.
type Place struct {
	File   uint32 // number
	Offset int64
}

// An InUseError tells that another process, or another store of this one, writes to the folder.
type InUseError struct{ Folder string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("the archive %s is being written to by another process; one at a time may", e.Folder)
}

// A FolderError tells that a folder cannot be made, or written to.
type FolderError struct {
	Folder string
	Err    error
}

func (e *FolderError) Error() string {
	return fmt.Sprintf("the archive %s cannot be written: %v", e.Folder, e.Err)
}
func (e *FolderError) Unwrap() error { return e.Err }

// An Archive is a folder that is being written to.
type Archive struct {
	cfg     Config
	lock    *os.File
	writers chan *writer      // for those who record: as many as there are processors, as each takes a megabyte
	own     *warc.Writer      // for Append
	finish  func(*file) error // closes a file; tests have others
	closing sync.WaitGroup    // files that are being closed

	mu        sync.Mutex
	state     state
	open      []*file // without their names yet: the current one last; those before it are full
	dirty     bool    // something was added since Flush
	flushed   uint64  // states that Flush has returned
	committed uint64  // of them, those that are on the disk
	failed    error   // of what is done in the background
}

// state is what a store keeps of its archive.
type state struct {
	Folder string     `json:"folder"` // absolute
	Name   string     `json:"name"`   // in the names of its files: DATE-ARCHIVE
	Texts  bool       `json:"texts,omitempty"`
	First  uint32     `json:"first"` // number of the first file in the folder, which need not have been the first one; 0: 1
	Next   uint32     `json:"next"`  // number that the next file gets
	Open   []openFile `json:"open,omitempty"`
}

// An openFile is how far a file goes, and its index.
type openFile struct {
	File   uint32 `json:"file"`
	Length int64  `json:"length"`
	Index  int64  `json:"index"` // -1: there was no room for all of it
}

func parseState(encoded []byte) (s state, err error) {
	if err := json.Unmarshal(encoded, &s); err != nil || s.Folder == "" || s.Name == "" || s.Next == 0 {
		return s, fmt.Errorf("what the store knows of its archive cannot be read: %.100q", encoded)
	}
	return s, nil
}

// Open takes over the archive in cfg.Folder, which it makes if need be. encoded is the last state that was committed; nil: there is none, and
// the one that Flush returns now is to be committed before anything is appended, so that its files are known by their names.
// Files that were open then are cut to what was committed, and closed; what was begun later is removed. Where the state is of another
// folder, that is done there, too: this one is the same that was moved, if it has its files, or is begun. Errors: *InUseError; *FolderError; of the files.
func Open(cfg Config, encoded []byte) (_ *Archive, err error) {
	cfg.Dedupe, cfg.Limit = cmp.Or(cfg.Dedupe, All), cmp.Or(cfg.Limit, DefaultLimit)
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Folder, err = filepath.Abs(cfg.Folder); err != nil {
		return nil, err
	}
	a := &Archive{cfg: cfg, finish: (*file).finish, writers: make(chan *writer, runtime.GOMAXPROCS(0))}
	if encoded != nil {
		if a.state, err = parseState(encoded); err != nil {
			return nil, err
		}
	} else {
		var id [4]byte
		if _, err := io.ReadFull(cfg.Random, id[:]); err != nil {
			return nil, err
		}
		a.dirty = true
		a.state = state{Name: fmt.Sprintf("%s-%x", cfg.Now().UTC().Format("20060102"), id), Texts: cfg.Texts, Next: 1}
	}
	if a.lock, err = take(cfg.Folder); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.lock.Close()
		}
	}()
	known, err := a.recover(cfg.Folder)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if from := a.state.Folder; from != cfg.Folder {
		if err := a.leave(from); err != nil && !(known && errors.Is(err, fs.ErrNotExist)) {
			cfg.Log.Warn("the archive that was written before is left as it is", "folder", from, "err", err)
		}
		if !known {
			a.state.First = a.state.Next
		}
		a.dirty = true
	}
	a.state.Folder, a.state.Open = cfg.Folder, nil
	a.own = warc.NewWriter(nil, cfg.Random)
	for range cap(a.writers) {
		a.writers <- &writer{warc.NewWriter(nil, cfg.Random), warc.NewReader(nil)}
	}
	return a, nil
}

// Writable returns the error that Open would have of a folder that nobody has written to yet: *InUseError or *FolderError. It makes the folder.
func Writable(folder string) error {
	l, err := take(folder)
	if err != nil {
		return err
	}
	return l.Close()
}

// take locks a folder, which it makes if need be.
func take(folder string) (*os.File, error) {
	if err := atomicfile.Folder(folder); err != nil {
		return nil, &FolderError{folder, err}
	}
	return lock(folder)
}

// lock locks a folder.
func lock(folder string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(folder, ".forage.lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, &FolderError{folder, err}
	}
	if err := filelock.Try(f, true); err != nil {
		f.Close()
		if err == filelock.ErrLocked {
			err = &InUseError{folder}
		}
		return nil, err
	}
	return f, nil
}

// leave closes the files of a folder that is not written to any more.
func (a *Archive) leave(folder string) error {
	if folder == "" {
		return nil
	}
	if _, err := os.Stat(folder); err != nil {
		return err
	}
	l, err := lock(folder)
	if err != nil {
		return err
	}
	_, err = a.recover(folder)
	return errors.Join(err, l.Close())
}

// recover brings a folder to what was committed: nothing of this archive is open then. It reports whether the folder has files of this archive.
func (a *Archive) recover(folder string) (has bool, err error) {
	for _, o := range a.state.Open { // those first, of which something is kept
		if err := a.cut(folder, o); err != nil && !errors.Is(err, fs.ErrNotExist) { // else it has its name, or was deleted
			return false, fmt.Errorf("%s: %w", a.name(o.File)+openSuffix, err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		name := e.Name()
		ours := strings.HasPrefix(name, "forage-"+a.state.Name+"-")
		switch {
		case strings.HasPrefix(name, spoolPrefix), ours && strings.HasSuffix(name, openSuffix):
			if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false, err
			}
		case ours:
			has = true
		}
	}
	return has, nil
}

// cut closes a file that was open at the last commit, at the length that it had then. The error wraps fs.ErrNotExist where it is not there.
func (a *Archive) cut(folder string, o openFile) error {
	path := filepath.Join(folder, a.name(o.File))
	w, err := os.OpenFile(path+openSuffix, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := w.Stat()
	if err != nil {
		w.Close()
		return err
	}
	f := &file{number: o.File, path: path, warc: w, size: o.Length, indexed: o.Index}
	if !a.state.Texts {
		if f.index, err = os.OpenFile(indexOf(path)+openSuffix, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
			w.Close()
			return err
		}
	}
	if info.Size() < o.Length {
		a.cfg.Log.Warn("the archive lacks what was written last: it ends with the last whole record", "file", path, "bytes", o.Length-info.Size())
		if f.size, err = whole(w); err != nil {
			f.close()
			return err
		}
		if f.size == 0 {
			return f.remove()
		}
	}
	if f.index != nil {
		if has, err := f.index.Stat(); err != nil || info.Size() < o.Length || o.Index < 0 || has.Size() < o.Index {
			if err := errors.Join(err, f.reindex()); err != nil {
				f.close()
				return err
			}
		}
	}
	err = f.finish()
	if err != nil {
		f.close()
	}
	return err
}

// whole returns how many bytes whole records take at the beginning of a file.
func whole(f *os.File) (n int64, err error) {
	for r := warc.NewReader(f); ; {
		rec, err := r.Next() // which tells whether the member before it was whole
		var format *warc.FormatError
		switch {
		case errors.As(err, &format):
			return n, nil
		case err == io.EOF:
			info, err := f.Stat()
			return info.Size(), err
		case err != nil:
			return 0, err
		}
		n = rec.Offset
	}
}

func (a *Archive) name(number uint32) string { return a.state.file(number) }

// file is the name of a file.
func (s *state) file(number uint32) string {
	suffix := warcSuffix
	if s.Texts {
		suffix = textSuffix
	}
	return fmt.Sprintf("forage-%s-%05d%s", s.Name, number, suffix)
}

// Append adds what Record made, and returns where it begins. The error is that of a write: nothing was added then, and g may be given
// once more. O(bytes).
func (a *Archive) Append(g *Group) (Place, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := g.in
	if f == nil {
		if n := len(a.open); n > 0 {
			f = a.open[n-1]
		}
		if f == nil || f.size > f.begins && f.size+g.size > a.cfg.Limit {
			var err error
			if f, err = a.begin(); err != nil {
				return Place{}, err
			}
		}
	}
	p := Place{f.number, f.size}
	if err := f.add(g); err != nil {
		return Place{}, err
	}
	g.drop()
	a.dirty = true
	return p, nil
}

// begin begins the next file.
func (a *Archive) begin() (*file, error) {
	for {
		name := a.name(a.state.Next)
		path := filepath.Join(a.cfg.Folder, name)
		if _, err := os.Lstat(path); err == nil { // a store that is a copy of an earlier one has not heard of it
			a.state.Next++
			continue
		}
		f, err := newFile(path, a.state.Next, !a.state.Texts)
		if errors.Is(err, fs.ErrExist) {
			a.state.Next++
			continue
		}
		if err != nil {
			return nil, err
		}
		a.own.Reset(f.warc)
		if err := a.own.Info(name, a.cfg.Now(), a.cfg.Info); err != nil {
			return nil, errors.Join(err, f.remove())
		}
		f.size = a.own.Written()
		f.begins, f.changed = f.size, true
		a.state.Next++
		a.open = append(a.open, f)
		return f, nil
	}
}

// Flush brings what was appended to the disk. It returns the state to commit; nil: that has not changed. The error is that of a
// write, or of a file that was closed in the background.
func (a *Archive) Flush() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed != nil || !a.dirty {
		return nil, a.failed
	}
	a.state.Open = a.state.Open[:0]
	for _, f := range a.open {
		if f.changed {
			if err := f.flush(); err != nil {
				return nil, err
			}
			f.state = a.flushed + 1
		}
		o := openFile{f.number, f.size, f.indexed}
		if len(f.lines) > 0 {
			o.Index = -1
		}
		a.state.Open = append(a.state.Open, o)
	}
	a.dirty = false
	a.flushed++
	return json.Marshal(a.state)
}

// Committed tells that one more of the states that Flush has returned is on the disk, in their order: files that are full, to which nobody
// wants to add, and of which the store knows all, are closed, in the background. Until they have their names each state tells of them. It may be
// called by any goroutine.
func (a *Archive) Committed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.committed++
	for i, f := range a.open {
		if i == len(a.open)-1 || f.waiting > 0 || f.changed || f.closing || f.state > a.committed {
			continue
		}
		f.closing = true
		a.closing.Go(func() {
			err := a.finish(f)
			a.mu.Lock()
			defer a.mu.Unlock()
			switch {
			case err == nil:
				a.open = slices.DeleteFunc(a.open, func(o *file) bool { return o == f })
			case NoRoom(err): // once more at the next commit
				f.closing = false
			default:
				a.failed = errors.Join(a.failed, err)
			}
		})
	}
}

// NoRoom reports whether an error of an archive is that of a full disk.
func NoRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Close closes all files, after the last commit, and gives the folder free. What was appended since is cut off. Where it is not known whether
// the last state is on the disk, and after an error, files stay open: who opens the archive next cuts them to what the store says then.
func (a *Archive) Close() error {
	a.closing.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	open, err := a.open, a.failed
	a.open, a.dirty = nil, false
	if a.failed != nil || a.committed < a.flushed {
		for _, f := range open {
			f.close()
		}
		return errors.Join(err, a.lock.Close())
	}
	for _, f := range open {
		at := slices.IndexFunc(a.state.Open, func(o openFile) bool { return o.File == f.number })
		if at < 0 {
			err = errors.Join(err, f.remove())
			continue
		}
		if o := a.state.Open[at]; o.Length != f.size {
			f.size = o.Length
			err = errors.Join(err, f.reindex())
		}
		if ferr := f.finish(); ferr != nil {
			err = errors.Join(err, ferr)
			f.close()
		}
	}
	return errors.Join(err, a.lock.Close())
}

// Spool makes a file in the folder for what does not fit in memory. Closing it removes it.
func (a *Archive) Spool() (*Spool, error) { return newSpool(a.cfg.Folder) }
