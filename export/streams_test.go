package export

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestStreams writes to streams by turns and compares with buffers: of streams that fit in memory, of
// some that do not, and for a device, beside which nothing can be made.
func TestStreams(t *testing.T) {
	for _, device := range []bool{false, true} {
		for _, held := range []int{0, 100, 1 << 20} {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			path := filepath.Join(dir, "x")
			if device {
				path = os.DevNull
			}
			r := rand.New(rand.NewPCG(1, uint64(held)))
			s := newStreams(9, path)
			s.held = held
			var want [9]strings.Builder
			for i := range 500 {
				n := r.IntN(8) // the last one stays empty
				line := fmt.Sprintln(strings.Repeat("x", r.IntN(40)), i)
				want[n].WriteString(line)
				if err := s.add(n, []byte(line)); err != nil {
					t.Fatal(err)
				}
			}
			if spilled := s.file != nil; spilled != (held < 1<<20) {
				t.Errorf("%d bytes in memory: in a file %v", held, spilled)
			}
			if runtime.GOOS != "windows" {
				nothingIn(t, dir) // a process that is killed now leaves no file
			}
			for i := range want {
				var got bytes.Buffer
				if err := s.writeTo(&got, i); err != nil || got.String() != want[i].String() {
					t.Errorf("%d bytes in memory: stream %d is %q, %v, want %q", held, i, got.String(), err, want[i].String())
				}
			}
			s.close()
			nothingIn(t, dir)
		}
	}
}

// TestSnapFails: what cannot be written is told, and leaves nothing.
func TestSnapFails(t *testing.T) {
	db := small(t)
	site, err := db.Site(1)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := Snap(&db.View, site, File(filepath.Join(dir, "no", "folder")), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a folder that is missing: %v", err)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if _, err := Snap(&db.View, site, File("/dev/full"), nil); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("on a full device: %v", err)
		}
	}
	if err := db.EndReads(); err != nil {
		t.Fatal(err)
	}
	v := db.Snapshot()
	if _, err := Snap(v, site, File(filepath.Join(dir, "x.snap.gz")), nil); err == nil {
		t.Error("of a store that is closed: no error")
	}
	nothingIn(t, dir)
}

func nothingIn(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("%s holds %v, %v", dir, entries, err)
	}
}
