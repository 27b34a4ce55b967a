package archive

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forage/warc"
)

// A Reader reads a folder of WARC files, of whomever they are. Where one of them is being written to by the archive of a store, it reads
// that as far as it was committed, beside the one who writes. It is used by one goroutine; the caller closes it.
type Reader struct {
	Folder string // and what is below it

	state state               // of the store's archive; Name "": there is none
	held  map[uint32]*os.File // by number: files of the store's archive that Answer has opened

	records *warc.Reader // of Answer
}

// heldFiles is how many files a Reader keeps open.
const heldFiles = 16

// NewReader returns a reader of a folder, of what a store has written there as of a commit: encoded is the state that was part of it. nil: nothing is known
// of a store, and only whole files are read. folder "": the one that the state names. The error says that encoded is no state.
func NewReader(folder string, encoded []byte) (*Reader, error) {
	r := &Reader{Folder: folder, held: map[uint32]*os.File{}}
	if encoded == nil {
		return r, nil
	}
	var err error
	if r.state, err = parseState(encoded); err == nil && folder == "" {
		r.Folder = r.state.Folder
	}
	return r, err
}

// Close closes what Answer has opened.
func (r *Reader) Close() error {
	var all []error
	for _, f := range r.held {
		all = append(all, f.Close())
	}
	clear(r.held)
	return errors.Join(all...)
}

// A WARC is a file of a folder, as far as it is read.
type WARC struct {
	Name string // as an index calls it
	Size int64  // bytes

	path    string // that it has when it is whole
	open    bool   // it was not, when it was listed
	indexed int64  // bytes of its index that were committed with it; below 0: not all of it
}

// Files returns the WARC files in the folder and below it, by path. Errors are those of the folder.
func (r *Reader) Files() (files []WARC, err error) {
	begun := map[string]openFile{}
	for _, o := range r.state.Open {
		begun[r.state.file(o.File)] = o
	}
	seen := map[string]bool{}
	err = filepath.WalkDir(r.Folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		path, open := strings.CutSuffix(path, openSuffix)
		f := WARC{Name: filepath.Base(path), path: path, open: open}
		if isWARC := strings.HasSuffix(path, ".warc") || strings.HasSuffix(path, warcSuffix); r.state.Texts && !strings.HasSuffix(path, textSuffix) || !r.state.Texts && !isWARC || seen[path] {
			return nil
		}
		if open {
			o, ok := begun[f.Name]
			if !ok { // of somebody else, or of nothing that was committed
				return nil
			}
			f.Size, f.indexed = o.Length, o.Index
		} else {
			info, err := d.Info()
			if err != nil {
				return err
			}
			f.Size = info.Size()
		}
		seen[path] = true // it may be given its name while the folder is read
		files = append(files, f)
		return nil
	})
	for name, o := range begun { // which is then listed under both, or none
		f := WARC{Name: name, Size: o.Length, path: filepath.Join(r.Folder, name), open: true, indexed: o.Index}
		if seen[f.path] || err != nil {
			continue
		}
		if w, failed := f.Open(); failed == nil {
			w.Close()
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b WARC) int { return strings.Compare(a.path, b.path) })
	return files, err
}

// Own reports whether the store has written some of files.
func (r *Reader) Own(files []WARC) bool {
	return r.state.Name != "" && slices.ContainsFunc(files, func(f WARC) bool { return strings.HasPrefix(f.Name, "forage-"+r.state.Name+"-") })
}

// Missing returns the names of those that the store has written and that are not among files, which Files returned.
func (r *Reader) Missing(files []WARC) (names []string) {
	if r.state.Name == "" || r.Folder != r.state.Folder && !r.Own(files) {
		return nil
	}
	there := map[string]bool{}
	for _, f := range files {
		there[f.Name] = true
	}
	for n := max(r.state.First, 1); n < r.state.Next; n++ {
		if name := r.state.file(n); !there[name] {
			names = append(names, name)
		}
	}
	return names
}

// Open opens the file for reading from its beginning.
func (f *WARC) Open() (*os.File, error) {
	if f.open {
		if w, err := os.Open(f.path + openSuffix); !errors.Is(err, fs.ErrNotExist) {
			return w, err
		}
	}
	return os.Open(f.path) // it may have become whole
}

// Lines opens the index that lies beside the file, size bytes of lines in any order; nil: there is none that is as new as the file.
func (f *WARC) Lines() (lines *os.File, size int64, err error) {
	index := strings.TrimSuffix(strings.TrimSuffix(f.path, ".gz"), ".warc") + indexSuffix
	if f.open {
		lines, err := os.Open(index + openSuffix)
		if err != nil || f.indexed < 0 {
			if err == nil {
				lines.Close()
			}
			return nil, 0, nil
		}
		if info, err := lines.Stat(); err == nil && info.Size() >= f.indexed {
			return lines, f.indexed, nil
		}
		return nil, 0, lines.Close()
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, 0, err
	}
	if has, err := os.Stat(index); err != nil || has.ModTime().Before(info.ModTime()) {
		return nil, 0, nil
	}
	if lines, err = os.Open(index); err != nil {
		return nil, 0, err
	}
	if info, err = lines.Stat(); err != nil {
		return nil, 0, errors.Join(err, lines.Close())
	}
	return lines, info.Size(), nil
}

// Answer opens the record at a place in the store's archive. It is good until the next call. Errors: one that wraps fs.ErrNotExist where the file is not there;
// *warc.FormatError; of the file.
func (r *Reader) Answer(at Place) (*warc.Record, error) {
	f := r.held[at.File]
	if f == nil {
		w := WARC{path: filepath.Join(r.Folder, r.state.file(at.File)), open: true}
		var err error
		if f, err = w.Open(); err != nil {
			return nil, err
		}
		for n, old := range r.held {
			if len(r.held) < heldFiles {
				break
			}
			old.Close()
			delete(r.held, n)
		}
		r.held[at.File] = f
	}
	section := io.NewSectionReader(f, at.Offset, math.MaxInt64-at.Offset)
	if r.records == nil {
		r.records = warc.NewReader(section)
	} else {
		r.records.Reset(section)
	}
	return r.records.Next()
}
