package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// soundURLs returns a store's number of URLs, after a check that finds nothing.
func soundURLs(t *testing.T, dir string) int {
	t.Helper()
	db, err := Open(dir, Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View.Check(func(p Problem) { t.Errorf("%s: %s", dir, p) }); err != nil {
		t.Fatal(err)
	}
	n, err := db.NumURLs()
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// TestBackup: beside a writer whose tables are flushed and merged all the time each backup is a sound store that has what was
// committed before it, and no part of a later commit.
func TestBackup(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	withPages(t, dir)
	db, err := Open(dir, Options{MemTable: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	stop, written := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				written <- nil
				return
			default:
			}
			a, b := addPage(db, fmt.Sprintf("http://a/x%d", i)), addPage(db, fmt.Sprintf("http://a/y%d", i)) // two a commit
			err := errors.Join(a, b, db.Commit())
			if i%50 == 0 {
				err = errors.Join(err, db.db.Flush())
			}
			if i%200 == 0 {
				err = errors.Join(err, db.db.Compact(context.Background(), []byte{0}, []byte{255}, false))
			}
			if err != nil {
				written <- err
				return
			}
		}
	}()
	for i := range 10 {
		v := db.Snapshot()
		before, err := v.NumURLs()
		if err := errors.Join(err, v.Close()); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(to, fmt.Sprint("made", i), "copy")
		if n, err := db.Backup(t.Context(), at); err != nil || n == 0 {
			t.Fatalf("%d bytes, %v", n, err)
		}
		if n := soundURLs(t, at); n < int(before) || n%2 != 0 {
			t.Errorf("backup %d has %d URLs, there were %d before", i, n, before)
		}
	}
	close(stop)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if err := db.EndReads(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Backup(t.Context(), filepath.Join(to, "late")); !errors.Is(err, ErrClosed) {
		t.Errorf("of a store that is being closed: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if left := readerCopies(t, dir); len(left) > 0 {
		t.Errorf("backups left %q", left)
	}
}

// TestFreeze: what is frozen is the store as it was committed, whatever is written, merged and deleted meanwhile. What is told to be immutable is
// the same, byte for byte, in all of them that have it.
func TestFreeze(t *testing.T) {
	dir := t.TempDir()
	withPages(t, dir)
	db, err := Open(dir, Options{MemTable: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{}
	var all []*Frozen
	urls := map[*Frozen]int{}
	for round := range 8 {
		for i := range 40 {
			if err := errors.Join(addPage(db, fmt.Sprintf("http://a/x%d-%d", round, i)), db.Commit()); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Flush(); err != nil || db.Unflushed() > 1000 {
			t.Fatalf("%d bytes of the log are in no table: %v", db.Unflushed(), err)
		}
		f, err := db.Freeze(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, err := db.NumURLs()
		if err != nil {
			t.Fatal(err)
		}
		all, urls[f] = append(all, f), int(n)
		if round%3 == 2 {
			if err := db.db.Compact(context.Background(), []byte{0}, []byte{255}, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, f := range all {
		copied := filepath.Join(t.TempDir(), "documents")
		if err := os.Mkdir(copied, 0o755); err != nil {
			t.Fatal(err)
		}
		immutable := 0
		for _, file := range f.Files {
			b, err := os.ReadFile(filepath.Join(f.Folder, file.Name))
			if err != nil || int64(len(b)) != file.Size {
				t.Fatalf("%s has %d bytes, want %d: %v", file.Name, len(b), file.Size, err)
			}
			if file.Immutable {
				immutable++
				if was, ok := tables[file.Name]; ok && was != string(b) {
					t.Errorf("%s has changed", file.Name)
				}
				tables[file.Name] = string(b)
			}
			if err := os.WriteFile(filepath.Join(copied, file.Name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if immutable == 0 {
			t.Errorf("of %+v none is immutable", f.Files)
		}
		if n := soundURLs(t, filepath.Dir(copied)); n != urls[f] {
			t.Errorf("%d URLs, want %d", n, urls[f])
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left := readerCopies(t, dir); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if err := db.EndReads(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Freeze(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("of a store that is being closed: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBackupOfReader: a process that only reads makes a backup of what it sees.
func TestBackupOfReader(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	withPages(t, dir)
	db, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := os.Mkdir(to, 0o755); err != nil { // empty: it is taken
		t.Fatal(err)
	}
	if _, err := db.Backup(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	if n := soundURLs(t, to); n != 2 {
		t.Errorf("%d URLs, want 2", n)
	}
}

// TestBackupNot: what is there stays as it is, and what fails leaves nothing.
func TestBackupNot(t *testing.T) {
	dir, parent := t.TempDir(), t.TempDir()
	withPages(t, dir)
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	taken := filepath.Join(parent, "taken")
	if err := errors.Join(os.Mkdir(taken, 0o755), os.WriteFile(filepath.Join(taken, "letters"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Backup(t.Context(), taken); !errors.Is(err, fs.ErrExist) {
		t.Errorf("where something is: %v", err)
	}
	if _, err := db.Backup(t.Context(), filepath.Join(taken, "letters")); err == nil {
		t.Error("no error where a file is")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Backup(ctx, filepath.Join(parent, "new")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	killed := filepath.Join(parent, ".new.123.part")
	if err := os.MkdirAll(filepath.Join(killed, "documents"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Backup(t.Context(), filepath.Join(parent, "new")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) != 2 { // new and taken
		t.Errorf("left: %v, %v", entries, err)
	}
	if left := readerCopies(t, dir); len(left) > 0 {
		t.Errorf("left beside the database: %q", left)
	}
}

// TestCopyNames: a folder that has the name of a reader's copy, made by a process of the same number in another
// container, is in nobody's way and stays as it is.
func TestCopyNames(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	withPages(t, dir)
	taken := func() string {
		t.Helper()
		path := filepath.Join(dir, fmt.Sprint(copyPrefix, os.Getpid(), "-", copies.Load()+1))
		if err := os.MkdirAll(filepath.Join(path, "kept"), 0o755); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(path, "kept")
	}
	kept := taken()
	v, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil || v.copy == nil {
		t.Errorf("the reader has a copy: %v; %v", v.copy != nil, err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	kept = taken()
	if _, err := db.Backup(t.Context(), filepath.Join(to, "copy")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

// TestBackupBehindLink: a link to an empty folder stays, and leads to the backup.
func TestBackupBehindLink(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	withPages(t, dir)
	db, err := Open(dir, Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	real, link := filepath.Join(to, "disk", "empty"), filepath.Join(to, "link")
	if err := errors.Join(os.MkdirAll(real, 0o755), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Backup(t.Context(), link); err != nil {
		t.Fatal(err)
	}
	if at, err := os.Readlink(link); err != nil || at != real {
		t.Errorf("the link leads to %q, %v, want %q", at, err, real)
	}
	if n := soundURLs(t, real); n == 0 {
		t.Errorf("nothing is in %s", real)
	}
}
