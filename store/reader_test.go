package store

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
)

// withPages makes a store of one site in dir, its documents in tables as well as in the log.
func withPages(t *testing.T, dir string) {
	t.Helper()
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.AddSite(&Site{Name: "a"}), addPage(db, "http://a/1"), db.Commit(), db.db.Flush(), addPage(db, "http://a/2"), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func addPage(db *DB, url string) error {
	_, err := db.Add(&Doc{URL: url, Site: 1, FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None})
	return err
}

func readerCopies(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, copyPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestReaderBesideWriter: who writes does not wait for who reads, who sees what was there when
// it opened the store, also when the writer has moved all of it.
func TestReaderBesideWriter(t *testing.T) {
	dir := t.TempDir()
	withPages(t, dir)
	var readers []*DB
	for range 2 {
		v, err := Open(dir, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, v)
	}
	began := time.Now()
	db, err := Open(dir, Options{})
	if err != nil || time.Since(began) > patience/2 {
		t.Fatalf("the writer opens after %s: %v", time.Since(began), err)
	}
	var inUse *InUseError
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Errorf("a reader of a store that is written to: %v", err)
	}
	if err := errors.Join(addPage(db, "http://a/3"), db.Commit(), db.db.Flush(), db.db.Compact(t.Context(), []byte{0}, []byte{255}, false)); err != nil {
		t.Fatal(err)
	}
	for _, v := range readers {
		if n, err := v.NumURLs(); n != 2 || err != nil {
			t.Errorf("the reader sees %d URLs, %v, want 2", n, err)
		}
		for _, u := range []string{"http://a/1", "http://a/2"} {
			if _, err := v.Find(u); err != nil {
				t.Errorf("the reader's Find(%s): %v", u, err)
			}
		}
		if _, err := v.Find("http://a/3"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the reader's Find of what was added later: %v", err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
	if left := readerCopies(t, dir); len(left) != 0 {
		t.Errorf("readers that closed left %q", left)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	v, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if n, err := v.NumURLs(); n != 3 || err != nil {
		t.Errorf("a later reader sees %d URLs, %v, want 3", n, err)
	}
}

// TestReaderProcess is not a test but the other process of TestReaderKilled: it reads a store
// until it is killed.
func TestReaderProcess(t *testing.T) {
	dir := os.Getenv("FORAGE_TEST_READ")
	if dir == "" {
		t.Skip("it is run by TestReaderKilled")
	}
	v, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	os.Stdout.WriteString("reading\n")
	for { // what was there remains, whatever the writer does
		if _, err := v.Find("http://a/1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestReaderKilled: the copy of a reader in another process stays as long as that lives, and
// is removed by the next writer when it was killed.
func TestReaderKilled(t *testing.T) {
	dir := t.TempDir()
	withPages(t, dir)
	cmd := exec.Command(os.Args[0], "-test.run=^TestReaderProcess$")
	cmd.Env = append(os.Environ(), "FORAGE_TEST_READ="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			cmd.Process.Kill()
			cmd.Wait()
		}
	}()
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "reading"); {
	}
	for n := range 3 {
		db, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.db.Compact(t.Context(), []byte{0}, []byte{255}, false), db.Close()); err != nil {
			t.Fatal(err)
		}
		want := 1
		if n == 2 {
			want = 0
		}
		if left := readerCopies(t, dir); len(left) != want {
			t.Errorf("after writer %d: %q", n, left)
		}
		if n == 1 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Errorf("the reader ended with %v", err)
			}
			ended = true
		}
	}
}

// TestReaderWithoutCopy: a reader that cannot copy the store holds its lock. What makes the
// copy fail here is a file of which nothing but the name is there.
func TestReaderWithoutCopy(t *testing.T) {
	dir := t.TempDir()
	withPages(t, dir)
	if err := os.Symlink("nowhere", filepath.Join(dir, "documents", "odd")); err != nil {
		t.Fatal(err)
	}
	v, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if left := readerCopies(t, dir); len(left) != 0 {
		t.Errorf("there is a copy: %q", left)
	}
	if n, err := v.NumURLs(); n != 2 || err != nil {
		t.Errorf("the reader sees %d URLs, %v, want 2", n, err)
	}
	var inUse *InUseError
	if _, err := acquire(dir, false, 20*time.Millisecond); !errors.As(err, &inUse) || inUse.PID != 0 || !strings.Contains(err.Error(), "reads it") {
		t.Errorf("the lock for a writer: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
}

// closing ends the reading of snapshots where a table is opened.
type closing struct {
	vfs.FS
	db *DB
}

func (c *closing) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if c.db != nil && strings.HasSuffix(name, ".sst") {
		go c.db.EndReads()
		for !c.db.reads.closed.Load() {
			runtime.Gosched()
		}
	}
	return c.FS.Open(name, opts...)
}

// TestCheckEnds: who closes the store does not wait for a check to read all tables, and a check
// that comes later is told so.
func TestCheckEnds(t *testing.T) {
	fsys := &closing{FS: vfs.NewMem()}
	db, err := Open("crawl", Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.AddSite(&Site{Name: "a"}), db.Sync(), db.db.Flush()); err != nil {
		t.Fatal(err)
	}
	during, later := db.Snapshot(), db.Snapshot()
	fsys.db = db
	report := func(p Problem) { t.Error(p) }
	if err := during.files(during.gate, report); !errors.Is(err, ErrClosed) {
		t.Errorf("the store is closed while tables are read: %v", err)
	}
	if err := errors.Join(db.EndReads(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := later.Check(report); !errors.Is(err, ErrClosed) {
		t.Errorf("the store has been closed: %v", err)
	}
}
