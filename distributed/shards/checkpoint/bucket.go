package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
	// List calls yield for each file, in any order, until it returns false.
	List(ctx context.Context, yield func(name string) bool) error
	// Delete removes a file, if there is one.
	Delete(ctx context.Context, name string) error
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

// List implements Bucket. What a process that was killed left half written has no name.
func (f Folder) List(ctx context.Context, yield func(name string) bool) error {
	return filepath.WalkDir(string(f), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != string(f) { // it was removed meanwhile
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		name, err := filepath.Rel(string(f), path)
		if err == nil && !yield(filepath.ToSlash(name)) {
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

// load reads a small file.
func load(ctx context.Context, b Bucket, name string) ([]byte, error) {
	r, err := b.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	_, err = io.Copy(&all, &reader{ctx, r})
	return all.Bytes(), errors.Join(err, r.Close())
}
