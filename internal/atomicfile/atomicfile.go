// Package atomicfile writes files that appear whole or not at all, and that a power cut cannot
// take back.
//
// Create is for one file. New is for several that are written side by side. Both write to a
// temporary file in the same folder; before it takes its name it is synced, and after that the
// folder is: who returns from Create or Commit may say that the file is there. CreateFolder is
// for a folder of files that belong together.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Create makes a file with what write writes to it. After an error there is none, or the one
// that was there before; what a run that was killed left of it is removed. What is no file, as a
// device or a pipe, is written to as it is.
func Create(path string, write func(w io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	if err := RemoveLeft(path); err != nil {
		return err
	}
	f, err := New(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit()
}

// Write makes a file of b, as Create does.
func Write(path string, b []byte) error {
	return Create(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// A File is a file that has no name of its own yet.
type File struct {
	*os.File
	path string
}

// New begins the file that path will be. The caller commits or discards it.
func New(path string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, err
	}
	return &File{f, path}, nil
}

// Commit closes the file and gives it its name, in place of what had it before. It returns when
// both are on the disk; after an error the file is discarded.
func (f *File) Commit() error {
	defer f.Discard()
	if err := errors.Join(f.Chmod(0o644), f.Sync()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	f.File = nil
	return SyncFolder(filepath.Dir(f.path))
}

// CommitNew is Commit where nothing has the name: else it returns an error that wraps fs.ErrExist, and what is there stays. Of several
// processes that make one file one succeeds. Where the file system has no hard links, a kill may leave a file with the name and without all of its content.
func (f *File) CommitNew() error {
	defer f.Discard()
	if err := errors.Join(f.Chmod(0o644), f.Sync()); err != nil {
		return err
	}
	err := os.Link(f.Name(), f.path)
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		err = f.copyNew()
	}
	if err != nil {
		return err
	}
	f.Discard()
	return SyncFolder(filepath.Dir(f.path))
}

// copyNew copies the file to one that was not there.
func (f *File) copyNew() error {
	to, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(to, f.File)
	}
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		os.Remove(f.path)
	}
	return err
}

// Discard closes and removes the file; after Commit it does nothing.
func (f *File) Discard() {
	if f.File != nil {
		f.Close()
		os.Remove(f.Name())
		f.File = nil
	}
}

// Close closes a file that was written under its own name. It returns when the file and its name
// are on the disk; for what is no file, as a pipe, when it is closed.
func Close(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(f.Name()))
}

// Folder makes the folder dir with all above it, as os.MkdirAll does, and returns when the names
// of those that were not there are on the disk.
func Folder(dir string) error {
	missing := missingFolders(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, dir := range missing {
		if err := SyncFolder(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// missingFolders returns which of dir and the folders above it are not there, dir first.
func missingFolders(dir string) (missing []string) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = append(missing, dir)
	}
}

// partSuffix ends the names of folders that are not whole.
const partSuffix = ".part"

// CreateFolder makes the folder dir with what fill puts into the one that it is called with, which stands beside dir until fill has
// returned: dir appears whole or not at all. fill syncs the files that it makes, and folders in which it makes them. dir must
// not be there, or be empty; where it is a link to an empty folder, that one is replaced and the link stays. What a run that was killed
// left of it is removed. Errors: one that wraps fs.ErrExist where something is in the way; of fill; of the system.
func CreateFolder(dir string, fill func(part string) error) (err error) {
	if err := Vacant(dir); err != nil {
		return err
	}
	if behind, err := filepath.EvalSymlinks(dir); err == nil {
		dir = behind
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir = filepath.Clean(dir)
	parent, name := filepath.Dir(dir), filepath.Base(dir)
	if err := Folder(parent); err != nil {
		return err
	}
	if err := RemoveLeft(dir); err != nil {
		return err
	}
	part, err := os.MkdirTemp(parent, "."+name+".*"+partSuffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(part)
		}
	}()
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	if err := fill(part); err != nil {
		return err
	}
	if err := SyncFolder(part); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // not every system puts one folder in the place of another
		return err
	}
	return errors.Join(os.Rename(part, dir), SyncFolder(parent))
}

// Vacant returns an error that wraps fs.ErrExist where something is in the way of a new folder.
func Vacant(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s: %w, and is no folder; want a new or empty one", dir, fs.ErrExist)
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s: %w, and holds %s; want a new or empty folder", dir, fs.ErrExist, entries[0].Name())
	}
	return nil
}

// SyncFolder returns when the names in a folder are on the disk. It does nothing where the user
// may not read the folder, or the system cannot sync one.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" { // it keeps its names by itself
		return nil
	}
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// RemoveLeft removes the unfinished files and folders of path, .NAME.NUMBER.tmp and .NAME.NUMBER.part beside it, of runs that
// were killed. A run that still writes path loses to the one that calls this.
func RemoveLeft(path string) error {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) { // a folder may be writable and not readable
		return err
	}
	for _, e := range entries {
		number, begins := strings.CutPrefix(e.Name(), "."+name+".")
		suffix, remove := ".tmp", os.Remove
		if e.IsDir() {
			suffix, remove = partSuffix, os.RemoveAll
		}
		number, ends := strings.CutSuffix(number, suffix)
		if !begins || !ends || number == "" || strings.Trim(number, "0123456789") != "" || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		if err := remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Beside is the path beside which the temporary file for path is made: that of a device or a pipe has no place for one.
func Beside(path string) string {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return filepath.Join(os.TempDir(), "forage-export")
	}
	return path
}
