package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	check := func(want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("the file holds %q, %v; want %q", got, err, want)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("the folder holds %v, %v", entries, err)
		}
	}
	left := filepath.Join(dir, ".file.123.tmp") // by a run that was killed
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	check("one")
	broken := errors.New("broken")
	if err := Create(path, func(w io.Writer) error { io.WriteString(w, "two"); return broken }); !errors.Is(err, broken) {
		t.Errorf("Create = %v, want the error of write", err)
	}
	check("one")
	f, err := New(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "three"); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	check("three")
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestCommitNew: of several who make one file one does, and the file is his, whole; where there are hard links and where there are none.
func TestCommitNew(t *testing.T) {
	for name, commit := range map[string]func(*File) error{"by a link": (*File).CommitNew, "by a copy": (*File).copyNew} {
		path := filepath.Join(t.TempDir(), "file")
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				f, err := New(path)
				if err == nil {
					if _, err = io.WriteString(f, strings.Repeat(strconv.Itoa(i), 10_000)); err == nil {
						err = commit(f)
					}
					f.Discard()
				}
				errs[i] = err
			})
		}
		all.Wait()
		won := -1
		for i, err := range errs {
			if err == nil && won < 0 {
				won = i
			} else if !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s: number %d: %v, and number %d has made it", name, i, err, won)
			}
		}
		b, err := os.ReadFile(path)
		if won < 0 || err != nil || string(b) != strings.Repeat(strconv.Itoa(won), 10_000) {
			t.Errorf("%s: number %d has made %d bytes, %v", name, won, len(b), err)
		}
		if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
			t.Errorf("%s: left %v, %v", name, entries, err)
		}
	}
}

// TestDevice: what is no file is written to as it is, and stays.
func TestDevice(t *testing.T) {
	if err := Write(os.DevNull, []byte("gone")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
	if err := Write(filepath.Join(t.TempDir(), "missing", "file"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a folder that is missing: %v", err)
	}
}

// TestCreateFolder: a folder appears whole, or there is none; what is there stays as it is.
func TestCreateFolder(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "a", "dir")
	fill := func(part string) error { return Write(filepath.Join(part, "file"), []byte("one")) }
	names := func() (all []string) {
		entries, err := os.ReadDir(filepath.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	broken := errors.New("broken")
	if err := CreateFolder(dir, func(part string) error { return errors.Join(fill(part), broken) }); !errors.Is(err, broken) {
		t.Errorf("CreateFolder = %v, want the error of fill", err)
	}
	if got := names(); got != nil {
		t.Errorf("left: %q", got)
	}
	for _, left := range []string{".dir.123.part", ".dir.x.part", ".dirt.123.part"} {
		if err := os.MkdirAll(filepath.Join(parent, "a", left, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil { // empty: it is taken
		t.Fatal(err)
	}
	if err := CreateFolder(dir, fill); err != nil {
		t.Fatal(err)
	}
	if got := names(); !slices.Equal(got, []string{".dir.x.part", ".dirt.123.part", "dir"}) {
		t.Errorf("the folder holds %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(b) != "one" {
		t.Errorf("%q, %v", b, err)
	}
	for _, taken := range []string{dir, filepath.Join(dir, "file")} {
		if err := CreateFolder(taken, func(string) error { t.Error("it is filled"); return nil }); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", taken, err)
		}
	}
}

// TestFolder: each folder that is made has its name synced, those above dir as well.
func TestFolder(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	if got := missingFolders("a/b/../b/c/"); !slices.Equal(got, []string{"a/b/c", "a/b", "a"}) {
		t.Errorf("%q are said to be missing", got)
	}
	for _, dir := range []string{"a/b/c", filepath.Join(home, "a", "b"), "a/b/d"} {
		if err := Folder(dir); err != nil {
			t.Fatal(err)
		}
		if got := missingFolders(dir); got != nil {
			t.Errorf("%q are missing after Folder(%q)", got, dir)
		}
	}
	if err := Write("file", nil); err != nil {
		t.Fatal(err)
	}
	if err := Folder("file/a"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a folder in a file: %v", err)
	}
}
