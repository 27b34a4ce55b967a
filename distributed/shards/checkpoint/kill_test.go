package checkpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"forage/store"
)

// TestMain: the test's program is also the owner that gets killed.
func TestMain(m *testing.M) {
	if bucket := os.Getenv("FORAGE_TEST_BUCKET"); bucket != "" {
		if err := own(Folder(bucket), os.Getenv("FORAGE_TEST_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// own takes over the store of a bucket and writes checkpoints, with one more document each, until it is killed. It prints how many documents each
// has, when it is written.
func own(b Folder, dir string) error {
	ctx := context.Background()
	last, err := Claimed(ctx, b)
	if err != nil {
		return err
	}
	if err := Claim(ctx, b, last+1, nil); err != nil {
		return err
	}
	base, _, err := Latest(ctx, b)
	if err == nil {
		err = Restore(ctx, b, base, dir)
	}
	if err != nil && !errors.Is(err, ErrNone) {
		return err
	}
	db, err := store.Open(dir, store.Options{MemTable: 128 << 10})
	if err != nil {
		return err
	}
	if base == nil {
		if err := db.AddSite(&store.Site{Name: "a.test"}); err != nil {
			return err
		}
	}
	w := NewWriter(b, last+1, base)
	for {
		n, err := db.NumURLs()
		if err != nil {
			return err
		}
		if _, err := db.Add(store.NewDoc(fmt.Sprintf("http://a.test/%d", n), 1)); err != nil {
			return err
		}
		if err := db.Commit(); err != nil {
			return err
		}
		if n%3 == 0 {
			if err := db.Flush(); err != nil {
				return err
			}
		}
		if _, _, err := w.Write(ctx, db, n+1); err != nil {
			return err
		}
		fmt.Println(n + 1)
		if _, err := w.Prune(ctx, 2); err != nil {
			return err
		}
	}
}

// TestKilledOwner kills owners with SIGKILL at any moment. Each one finds what the one before has said to be written, whole.
func TestKilledOwner(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	b := scratch(t)
	r := rand.New(rand.NewPCG(4, 4))
	acked := 0
	for range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FORAGE_TEST_BUCKET="+b, "FORAGE_TEST_DIR="+filepath.Join(scratch(t), "store"))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		before := acked
		lines := bufio.NewReader(out)
		for range 1 + r.IntN(12) {
			if _, err := fmt.Fscanln(lines, &acked); err != nil {
				t.Fatal(err)
			}
		}
		for range r.IntN(1 << 20) { // it goes on for up to a millisecond
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for { // what it said meanwhile
			if _, err := fmt.Fscanln(lines, &acked); err != nil {
				break
			}
		}
		io.Copy(io.Discard, lines)
		cmd.Wait()
		if acked <= before {
			t.Fatalf("%d documents, and there were %d", acked, before)
		}
		m, broken, err := Latest(t.Context(), Folder(b))
		if err != nil || len(broken) > 0 {
			t.Fatalf("%v, %v", broken, err)
		}
		dir := filepath.Join(scratch(t), "store")
		if err := Restore(t.Context(), Folder(b), m, dir); err != nil {
			t.Fatal(err)
		}
		db := sound(t, dir)
		n, err := db.NumURLs()
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if n < acked || n > acked+1 || string(m.State) != fmt.Sprint(n) {
			t.Errorf("%d documents, %s by its manifest, and %d were said to be written", n, m.State, acked)
		}
	}
}
