package checkpoint

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"forage/internal/atomicfile"
)

// A Bucket holds files by names with slashes. It is used by several processes at once. What was written is there for all of them, whole, when
// the call returns, and survives whatever they do; a call that fails may have done what it was to do, or nothing.
type Bucket interface {
	// Create makes a small file with a name that nothing has: else the error wraps fs.ErrExist. Of several callers one makes it.
	Create(ctx context.Context, name string, content []byte) error
	// Put makes a file of size bytes from r, in the place of what has the name.
	Put(ctx context.Context, name string, size int64, r io.Reader) error
	// Get reads a file. The error wraps fs.ErrNotExist where there is none.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List calls yield for each file whose name begins with prefix, in any order, until it returns false. O(files that begin so).
	List(ctx context.Context, prefix string, yield func(name string) bool) error
	// Delete removes a file, if there is one.
	Delete(ctx context.Context, name string) error
}

// An UnusableError tells that there is no Bucket at a place, or none that does what a Bucket has to.
type UnusableError struct {
	Where string // as Open was told
	What  string
}

func (e *UnusableError) Error() string { return fmt.Sprintf("checkpoints at %s: %s", e.Where, e.What) }

// Open opens the Bucket at a place: a folder's path, s3://BUCKET/PREFIX, or gs://BUCKET/PREFIX, with endpoint, region and credentials as Amazon's and Google's
// own programs find them. Errors: within seconds an *UnusableError, which says what is wrong with it; that of ctx.
func Open(ctx context.Context, where string) (Bucket, error) {
	if scheme, _, ok := strings.Cut(where, "://"); ok {
		switch scheme {
		case "s3":
			return openObjects(ctx, where, newS3)
		case "gs":
			return openObjects(ctx, where, newGCS)
		}
		return nil, &UnusableError{where, fmt.Sprintf("%s:// is not known: want a folder that all processes see, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX", scheme)}
	}
	switch at, err := os.Stat(where); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &UnusableError{where, "there is no such folder: it has to be there, for all processes to see"}
	case err != nil:
		return nil, &UnusableError{where, err.Error()}
	case !at.IsDir():
		return nil, &UnusableError{where, "that is no folder"}
	}
	return Folder(where), ctx.Err()
}

// Exclusive returns an *UnusableError unless b, at a place for people, makes a file with a name that nothing has, and none where something has it: a
// bucket may write over it instead. name is that of a small file, which is made where there is none, and has made-up content.
func Exclusive(ctx context.Context, b Bucket, where, name string) error {
	for range 2 {
		switch err := b.Create(ctx, name, []byte(rand.Text()+"\n")); {
		case errors.Is(err, fs.ErrExist):
			return nil
		case err != nil && errors.Is(ctx.Err(), context.Canceled):
			return ctx.Err()
		case err != nil:
			return &UnusableError{where, err.Error()}
		}
	}
	return &UnusableError{where, "it writes over a file that is there, where it is asked to make one only if there is none: of two processes both would have a partition"}
}

// In returns the Bucket of those files of b whose names begin with prefix and a slash, which it has without that.
func In(b Bucket, prefix string) Bucket { return &within{b, prefix + "/"} }

// within is a Bucket of files of another one.
type within struct {
	b      Bucket
	prefix string // ends in a slash
}

func (w *within) Create(ctx context.Context, name string, content []byte) error {
	return w.b.Create(ctx, w.prefix+name, content)
}

func (w *within) Put(ctx context.Context, name string, size int64, r io.Reader) error {
	return w.b.Put(ctx, w.prefix+name, size, r)
}

func (w *within) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return w.b.Get(ctx, w.prefix+name)
}

func (w *within) List(ctx context.Context, prefix string, yield func(name string) bool) error {
	return w.b.List(ctx, w.prefix+prefix, func(name string) bool { return yield(name[len(w.prefix):]) })
}

func (w *within) Delete(ctx context.Context, name string) error {
	return w.b.Delete(ctx, w.prefix+name)
}

// A Folder is a Bucket in a folder of that path, which all processes see. It must be there: a folder that one process does not see is
// none to be made.
type Folder string

var _ Bucket = Folder("")

// path returns that of a file, whose folder is made if it is not there.
func (f Folder) path(name string, create bool) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("%q is no name of a file in a bucket", name)
	}
	path := filepath.Join(string(f), filepath.FromSlash(name))
	if !create {
		return path, nil
	}
	if _, err := os.Stat(string(f)); err != nil {
		return "", fmt.Errorf("the folder of checkpoints: %w", err)
	}
	return path, atomicfile.Folder(filepath.Dir(path))
}

// Create implements Bucket.
func (f Folder) Create(_ context.Context, name string, content []byte) error {
	path, err := f.path(name, true)
	if err != nil {
		return err
	}
	file, err := atomicfile.New(path)
	if err != nil {
		return err
	}
	defer file.Discard()
	if _, err := file.Write(content); err != nil {
		return err
	}
	return file.CommitNew()
}

// Put implements Bucket.
func (f Folder) Put(ctx context.Context, name string, size int64, r io.Reader) error {
	path, err := f.path(name, true)
	if err != nil {
		return err
	}
	return atomicfile.Create(path, func(w io.Writer) error {
		n, err := io.Copy(w, &reader{ctx, r})
		if err == nil && n != size {
			err = fmt.Errorf("%s: %d bytes were read, want %d", name, n, size)
		}
		return err
	})
}

// Get implements Bucket.
func (f Folder) Get(_ context.Context, name string) (io.ReadCloser, error) {
	path, err := f.path(name, false)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// List implements Bucket. What a process that was killed left half written has a name that nobody looks for, by which Prune removes it.
func (f Folder) List(ctx context.Context, prefix string, yield func(name string) bool) error {
	if _, err := os.Stat(string(f)); err != nil {
		return err
	}
	in, err := f.path(path.Dir(prefix+"x"), false) // the folder that has all names which begin so
	if err != nil {
		return err
	}
	return filepath.WalkDir(in, func(at string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // nothing was made there, or it was removed meanwhile
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") && !strings.HasSuffix(d.Name(), ".tmp") {
			return err
		}
		name, err := filepath.Rel(string(f), at)
		if name = filepath.ToSlash(name); err == nil && strings.HasPrefix(name, prefix) && !yield(name) {
			return fs.SkipAll
		}
		return err
	})
}

// Delete implements Bucket.
func (f Folder) Delete(_ context.Context, name string) error {
	path, err := f.path(name, false)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Each checkpoint has a folder of its own, and List goes through all that there are.
	for dir := filepath.Dir(path); dir != filepath.Clean(string(f)) && os.Remove(dir) == nil; dir = filepath.Dir(dir) {
	}
	return nil
}

// A reader reads until a context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// Load reads a small file. The error wraps fs.ErrNotExist where there is none.
func Load(ctx context.Context, b Bucket, name string) ([]byte, error) {
	r, err := b.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	_, err = io.Copy(&all, &reader{ctx, r})
	return all.Bytes(), errors.Join(err, r.Close())
}
