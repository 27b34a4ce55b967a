// Package files reads and writes the files that machines share: on a local or a network file system
// that all of them have under the same path, in S3 (s3://BUCKET/…), in Google Cloud Storage
// (gs://BUCKET/…) or in HDFS (hdfs://HOST:PORT/…).
//
// It asks little of them, for object stores have neither rename nor folders: a file is written once,
// under a name that no other has, and read by ranges; Commit alone makes one file where two might try.
// Beam's own file systems read files from their beginning only, and cannot tell a file that is
// missing from a store that cannot be reached; so the clients beneath them are used here.
//
// Names below a folder are those of a slash-separated path. What is not there is an error that wraps
// fs.ErrNotExist. Requests that take longer than requestTime are given up.
package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// An Info is a file of a folder.
type Info struct {
	Name string // below the folder
	Size int64  // bytes
}

// A Writer writes a new file, which is there for others when Close has returned, and may be before
// that on file systems that are no stores of objects.
type Writer interface {
	io.WriteCloser
	Sync() error // what was written is on the disk, where the file is one on a disk here
	Discard()    // ends without a file; after Close it does nothing
}

// A system keeps files. Its methods get whole paths, and do what the functions of the package of that name say.
type system interface {
	open(ctx context.Context, path string, at, n int64) (r io.ReadCloser, size int64, err error)
	create(ctx context.Context, path string) (Writer, error)
	commit(ctx context.Context, path string, b []byte) error
	list(ctx context.Context, dir, prefix string) ([]Info, error)
	remove(ctx context.Context, path string) error
	mkdir(ctx context.Context, dir string) error
}

// requestTime is how long one request to a store may take.
const requestTime = 2 * time.Minute

// split takes the scheme off a path; "": it is a local one.
func split(path string) (scheme, rest string) {
	if scheme, rest, ok := strings.Cut(path, "://"); ok {
		return scheme, rest
	}
	return "", path
}

// Local tells whether a path is one of this machine's file systems.
func Local(path string) bool {
	scheme, _ := split(path)
	return scheme == ""
}

// Abs returns the path of a folder as every process finds it. Errors: it names no file system that
// is known here, or no folder on it.
func Abs(dir string) (string, error) {
	scheme, rest := split(dir)
	host, below, _ := strings.Cut(rest, "/")
	switch scheme {
	case "":
		return filepath.Abs(dir)
	case "s3", "gs":
		if host == "" {
			return "", fmt.Errorf("%s: want %s://BUCKET/FOLDER", dir, scheme)
		}
	case "hdfs":
		if below == "" {
			return "", fmt.Errorf("%s: want hdfs://HOST:PORT/FOLDER, or hdfs:///FOLDER where HADOOP_CONF_DIR names the host", dir)
		}
	default:
		return "", fmt.Errorf("%s: want a folder of this machine, or s3://, gs:// or hdfs://", dir)
	}
	return strings.TrimSuffix(scheme+"://"+host+path.Clean("/"+below), "/"), nil
}

// Join returns the path of a file below a folder.
func Join(dir, name string) string {
	if Local(dir) {
		return filepath.Join(dir, filepath.FromSlash(name))
	}
	return dir + "/" + name
}

// reached are the systems that this process has asked, each by what begins its paths.
var reached struct {
	sync.Mutex
	systems map[string]system
}

// of returns the system of a path.
func of(path string) (system, error) {
	scheme, rest := split(path)
	if scheme == "" {
		return local{}, nil
	}
	host, _, _ := strings.Cut(rest, "/")
	key := scheme
	if scheme == "hdfs" {
		key += "://" + host
	}
	reached.Lock()
	defer reached.Unlock()
	if s := reached.systems[key]; s != nil {
		return s, nil
	}
	var s system
	var err error
	switch scheme {
	case "s3":
		s, err = newS3()
	case "gs":
		s, err = newGCS()
	case "hdfs":
		s, err = newHDFS(host)
	default:
		err = fmt.Errorf("%s: want a path of this machine, or s3://, gs:// or hdfs://", path)
	}
	if err != nil {
		return nil, err
	}
	if reached.systems == nil {
		reached.systems = map[string]system{}
	}
	reached.systems[key] = s
	return s, nil
}

// Open reads n bytes of a file from byte at on, and tells how long the file is. A store is asked for
// a mebibyte at a time. A file that ends earlier ends the reader earlier.
func Open(ctx context.Context, path string, at, n int64) (r io.ReadCloser, size int64, err error) {
	s, err := of(path)
	if err != nil {
		return nil, 0, err
	}
	return s.open(ctx, path, at, n)
}

// Read returns a whole file.
func Read(ctx context.Context, path string) (b []byte, err error) {
	const first = 1 << 16
	r, size, err := Open(ctx, path, 0, first)
	if err != nil {
		return nil, err
	}
	b = make([]byte, size)
	_, err = io.ReadFull(r, b[:min(first, size)])
	if err = errors.Join(err, r.Close()); err != nil || size <= first {
		return b, err
	}
	if r, _, err = Open(ctx, path, first, size-first); err != nil {
		return nil, err
	}
	_, err = io.ReadFull(r, b[first:])
	return b, errors.Join(err, r.Close())
}

// Create begins a new file; its folder must be there. Memory: what the store wants to have at once,
// up to 8 MiB. The caller closes or discards it.
func Create(ctx context.Context, path string) (Writer, error) {
	s, err := of(path)
	if err != nil {
		return nil, err
	}
	return s.create(ctx, path)
}

// Write makes a new file of parts, one after another. It is not synced.
func Write(ctx context.Context, path string, parts ...[]byte) error {
	w, err := Create(ctx, path)
	if err != nil {
		return err
	}
	defer w.Discard()
	for _, b := range parts {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return w.Close()
}

// Commit makes a file of b that appears whole, and lasts. Of several that try at once one does; the
// others are told so by an error that wraps fs.ErrExist. On local file systems and HDFS that holds
// for who comes later, not for who comes in the same moment.
func Commit(ctx context.Context, path string, b []byte) error {
	s, err := of(path)
	if err != nil {
		return err
	}
	err = s.commit(ctx, path, b)
	if errors.Is(err, fs.ErrExist) {
		// A request whose answer was lost is made again, and then finds the file of its first try.
		if there, rerr := Read(ctx, path); rerr == nil && bytes.Equal(there, b) {
			return nil
		}
	}
	return err
}

// List returns the files below a folder whose names begin with prefix, in ascending order of names.
// Of a store a folder without files is one that is not there, and no error.
func List(ctx context.Context, dir, prefix string) ([]Info, error) {
	s, err := of(dir)
	if err != nil {
		return nil, err
	}
	return s.list(ctx, dir, prefix)
}

// Remove removes a file. One that is not there is no error of a store.
func Remove(ctx context.Context, path string) error {
	s, err := of(path)
	if err != nil {
		return err
	}
	return s.remove(ctx, path)
}

// Mkdir makes a folder with all above it, where there are folders.
func Mkdir(ctx context.Context, dir string) error {
	s, err := of(dir)
	if err != nil {
		return err
	}
	return s.mkdir(ctx, dir)
}

// Unique returns a name that no other process has.
func Unique() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// missing is the error of a file that is not there.
func missing(path string) error { return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist} }

// noBucket is the error of a store that has no such bucket.
type noBucket struct{}

func (noBucket) Error() string        { return "there is no such bucket" }
func (noBucket) Is(target error) bool { return target == fs.ErrNotExist }

// asked is the error of a request to a store, like those of the system about files.
func asked(path string, err error) error { return &fs.PathError{Op: "open", Path: path, Err: err} }

// exists is the error of a file that another made first.
func exists(path string) error { return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist} }
