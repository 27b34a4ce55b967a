package files_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"forage/distributed/beam/files"
	"forage/distributed/beam/files/filestest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	filestest.Stop()
	os.Exit(code)
}

// each runs a test on each store, with a new folder.
func each(t *testing.T, test func(t *testing.T, dir string)) {
	for _, s := range filestest.Stores() {
		t.Run(s.Name, func(t *testing.T) {
			dir := s.Folder(t)
			if err := files.Mkdir(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			test(t, dir)
		})
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

// TestReadBack: what was written comes back, whole and in any part, whatever its size: below and above
// what is asked for at once, and what is sent as one part.
func TestReadBack(t *testing.T) {
	each(t, func(t *testing.T, dir string) {
		for _, size := range []int{0, 1, 1 << 16, 1<<20 + 3, 11<<20 + 7} {
			want := noise(size)
			path := files.Join(dir, "a file")
			w, err := files.Create(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			for part := range slices.Chunk(want, 1<<19+1) {
				if _, err := w.Write(part); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(w.Sync(), w.Close()); err != nil {
				t.Fatal(err)
			}
			w.Discard() // does nothing now
			got, err := files.Read(t.Context(), path)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes: %d came back, %v", size, len(got), err)
			}
			for _, part := range []struct{ at, n int }{{0, size}, {size / 3, size / 2}, {size, 1}, {size + 10, 5}, {size / 2, size}} {
				r, total, err := files.Open(t.Context(), path, int64(part.at), int64(part.n))
				if err != nil {
					t.Fatalf("%d bytes from %d of %d: %v", part.n, part.at, size, err)
				}
				got, err := io.ReadAll(r)
				if err = errors.Join(err, r.Close()); err != nil || total != int64(size) || !bytes.Equal(got, want[min(part.at, size):min(part.at+part.n, size)]) {
					t.Errorf("%d bytes from %d of %d: %d came, of %d: %v", part.n, part.at, size, len(got), total, err)
				}
			}
			if err := files.Remove(t.Context(), path); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestDiscard: what is given up in the middle leaves no file.
func TestDiscard(t *testing.T) {
	each(t, func(t *testing.T, dir string) {
		for _, size := range []int{10, 11 << 20} {
			w, err := files.Create(t.Context(), files.Join(dir, "f"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(noise(size)); err != nil {
				t.Fatal(err)
			}
			w.Discard()
			if left, err := files.List(t.Context(), dir, ""); err != nil || len(left) > 0 {
				t.Errorf("%v is left: %v", left, err)
			}
		}
	})
}

// TestList: the files whose names begin so, those of folders below too, in order.
func TestList(t *testing.T) {
	each(t, func(t *testing.T, dir string) {
		if err := files.Mkdir(t.Context(), files.Join(dir, "ab")); err != nil {
			t.Fatal(err)
		}
		if err := files.Mkdir(t.Context(), dir+"beside"); err != nil {
			t.Fatal(err)
		}
		for i, path := range []string{files.Join(dir, "ac"), files.Join(dir, "ab/x"), files.Join(dir, "b"), files.Join(dir, "a"), files.Join(dir+"beside", "a")} {
			if err := files.Write(t.Context(), path, make([]byte, i)); err != nil {
				t.Fatal(err)
			}
		}
		for prefix, want := range map[string][]files.Info{
			"":   {{Name: "a", Size: 3}, {Name: "ab/x", Size: 1}, {Name: "ac", Size: 0}, {Name: "b", Size: 2}},
			"a":  {{Name: "a", Size: 3}, {Name: "ab/x", Size: 1}, {Name: "ac", Size: 0}},
			"ac": {{Name: "ac", Size: 0}},
			"x":  nil,
		} {
			if got, err := files.List(t.Context(), dir, prefix); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q: %v, want %v: %v", prefix, got, want, err)
			}
		}
	})
}

// TestCommit: one of many who try at once makes the file, and who comes later does not.
func TestCommit(t *testing.T) {
	each(t, func(t *testing.T, dir string) {
		path := files.Join(dir, "f")
		if err := files.Commit(t.Context(), path, []byte("one")); err != nil {
			t.Fatal(err)
		}
		if err := files.Commit(t.Context(), path, []byte("two")); !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
		if err := files.Commit(t.Context(), path, []byte("one")); err != nil {
			t.Errorf("the same again: %v", err)
		}
		if b, err := files.Read(t.Context(), path); err != nil || string(b) != "one" {
			t.Errorf("%q, %v", b, err)
		}
		if !strings.HasPrefix(dir, "s3:") && !strings.HasPrefix(dir, "gs:") {
			return
		}
		var won sync.Map
		var tries sync.WaitGroup
		for i := range byte(8) {
			tries.Go(func() {
				if err := files.Commit(t.Context(), files.Join(dir, "race"), []byte{i}); err == nil {
					won.Store(i, true)
				} else if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			})
		}
		tries.Wait()
		winners := 0
		won.Range(func(any, any) bool { winners++; return true })
		if winners != 1 {
			t.Errorf("%d of 8 made the file", winners)
		}
	})
}

// TestMissing: what is not there is said so, and not what else may be wrong.
func TestMissing(t *testing.T) {
	each(t, func(t *testing.T, dir string) {
		path := files.Join(dir, "none")
		if _, _, err := files.Open(t.Context(), path, 0, 10); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Error(err)
		}
		if _, err := files.Read(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err := files.Remove(t.Context(), path); files.Local(dir) != errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

// TestMissingBucket: a store that has no such bucket says so.
func TestMissingBucket(t *testing.T) {
	for _, s := range filestest.Stores() {
		if s.Name != "s3" && s.Name != "gs" {
			continue
		}
		s.Folder(t) // starts the store
		_, err := files.List(t.Context(), s.Name+"://none", "")
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no such bucket") {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// TestCreateFolder: there is no folder without its manifest; what failed and what was killed before it
// leaves nothing, and who comes second is told.
func TestCreateFolder(t *testing.T) {
	for _, s := range filestest.Stores() {
		t.Run(s.Name, func(t *testing.T) {
			dir := s.Folder(t)
			create := func(fail error) error {
				return files.CreateFolder(t.Context(), dir, "manifest", "part-", func(into, attempt string) ([]byte, error) {
					if err := files.Write(t.Context(), files.Join(into, "part-1"+attempt), []byte("x")); err != nil {
						return nil, err
					}
					return []byte("m"), fail
				})
			}
			if err := create(io.ErrNoProgress); !errors.Is(err, io.ErrNoProgress) {
				t.Fatal(err)
			}
			if left, err := files.List(t.Context(), dir, ""); len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v is left: %v", left, err)
			}
			if !files.Local(dir) {
				if err := files.Write(t.Context(), files.Join(dir, "part-1-killed"), []byte("x")); err != nil {
					t.Fatal(err)
				}
			}
			if err := create(nil); err != nil {
				t.Fatal(err)
			}
			made, err := files.List(t.Context(), dir, "")
			if err != nil || len(made) != 2 || made[0].Name != "manifest" {
				t.Errorf("%v, %v", made, err)
			}
			if err := create(nil); !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
}

func TestAbs(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"x":                 filepath.Join(here, "x"),
		"s3://b":            "s3://b",
		"s3://b/":           "s3://b",
		"s3://b//x/./y/":    "s3://b/x/y",
		"gs://b/x":          "gs://b/x",
		"hdfs://h:1/x/../y": "hdfs://h:1/y",
		"hdfs:///x":         "hdfs:///x",
	} {
		if got, err := files.Abs(path); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", path, got, err, want)
		}
	}
	for path, want := range map[string]string{
		"s3://": "want s3://BUCKET", "gs:///x": "want gs://BUCKET", "hdfs://h:1": "want hdfs://HOST:PORT", "ftp://h/x": "want a folder of this machine",
	} {
		if _, err := files.Abs(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// TestUnreachable: a store that does not answer is told, in one line.
func TestUnreachable(t *testing.T) {
	_, err := files.List(context.Background(), "hdfs://127.0.0.1:1/x", "")
	if err == nil || !strings.Contains(err.Error(), "hdfs://127.0.0.1:1") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}
