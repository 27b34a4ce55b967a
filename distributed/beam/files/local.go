package files

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forage/internal/atomicfile"
)

// local is the file systems of this machine.
type local struct{}

func (local) open(_ context.Context, path string, at, n int64) (io.ReadCloser, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return &section{io.NewSectionReader(f, at, n), f}, info.Size(), nil
}

type section struct {
	*io.SectionReader
	file *os.File
}

func (s *section) Close() error { return s.file.Close() }

func (local) create(_ context.Context, path string) (Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &localWriter{f, false}, nil
}

type localWriter struct {
	*os.File
	closed bool
}

func (w *localWriter) Close() error {
	w.closed = true
	return w.File.Close()
}

func (w *localWriter) Discard() {
	if !w.closed {
		w.Close()
		os.Remove(w.Name())
	}
}

func (local) commit(_ context.Context, path string, b []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return exists(path)
	}
	return atomicfile.Write(path, b)
}

func (local) list(ctx context.Context, dir, prefix string) (found []Info, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case !strings.HasPrefix(name, prefix):
		case e.IsDir():
			below, err := local{}.list(ctx, filepath.Join(dir, name), "")
			if err != nil {
				return nil, err
			}
			for _, f := range below {
				found = append(found, Info{name + "/" + f.Name, f.Size})
			}
		default:
			info, err := os.Stat(filepath.Join(dir, name)) // of what a link leads to
			if os.IsNotExist(err) {
				continue // another has removed it meanwhile
			}
			if err != nil {
				return nil, err
			}
			found = append(found, Info{name, info.Size()})
		}
	}
	sortByName(found)
	return found, nil
}

func sortByName(found []Info) {
	slices.SortFunc(found, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
}

func (local) remove(_ context.Context, path string) error { return os.Remove(path) }

func (local) mkdir(_ context.Context, dir string) error { return atomicfile.Folder(dir) }

// syncFolders returns when the names of all files below a folder are on the disk.
func syncFolders(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = atomicfile.SyncFolder(path)
		}
		return err
	})
}
