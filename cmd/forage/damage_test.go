package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forage/graph"
	"forage/internal/race"
	"forage/store"
)

// damageable makes a store of n pages in dir, most of them in tables, the last in the log, and
// returns its files, by their names in the folder of the database.
func damageable(t *testing.T, dir string, n int) map[string][]byte {
	t.Helper()
	for part := range 3 { // what a process has written the next one puts into a table
		db, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if part == 0 {
			if err := db.AddSite(&store.Site{Name: "a.test", Rules: store.Rules{Scope: "host", Within: "a.test"}, State: store.SiteDone}); err != nil {
				t.Fatal(err)
			}
		}
		for i := n * part / 3; i < n*(part+1)/3; i++ {
			d := store.NewDoc(fmt.Sprintf("http://a.test/%d", i), 1)
			_, err := db.Add(d)
			d.State, d.Kind, d.Status, d.FirstSeen, d.Title = store.Fetched, store.Page, 200, 1, strings.Repeat("title ", i%20)
			if _, e := db.PutLinks(d, 1, []store.Link{{To: graph.Node(i / 2), Kind: store.ViaAnchor}}); err != nil || e != nil {
				t.Fatal(err, e)
			}
			if i%10 == 9 {
				if err := db.Commit(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(dir, "documents", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestDamagedStore flips bits in every file of a store on the disk, and removes each: commands end
// with 0 or 1, without a trace of the stack, one that ends with 1 names a file, and after
// check --repair the store is sound.
func TestDamagedStore(t *testing.T) {
	race.Skip(t)
	const pages = 400
	home := t.TempDir()
	files := damageable(t, filepath.Join(home, "sound"), pages)
	tries := 3
	if os.Getenv("FORAGE_CRASH") != "" {
		tries = 60
	}
	r := rand.New(rand.NewPCG(3, 13))
	forage := func(what string, args ...string) (code int, stdout, stderr string) {
		t.Helper()
		var out, e bytes.Buffer
		code = run(t.Context(), &out, &e, args)
		if code != 0 && code != exitFailed || strings.Contains(e.String(), "goroutine ") {
			t.Fatalf("%s: %q ends with %d: %s", what, args, code, e.String())
		}
		return code, out.String(), e.String()
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		seen, lost := 0, 0
		for n := range tries + 1 {
			what, b := name+" is missing", []byte(nil)
			if n > 0 {
				if len(files[name]) == 0 {
					break
				}
				at, bit := r.IntN(len(files[name])), r.IntN(8)
				b = slices.Clone(files[name])
				b[at] ^= 1 << bit
				what = fmt.Sprintf("%s, bit %d of byte %d of %d", name, bit, at, len(b))
			}
			dir := filepath.Join(home, "damaged")
			if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(filepath.Join(home, "sound")))); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "documents", name)
			err := os.Remove(path)
			if b != nil {
				err = os.WriteFile(path, b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			code, _, stderr := forage(what, "check", "--dir", dir)
			if code != 0 {
				seen++
				if named := strings.Contains(stderr, filepath.Join(dir, "documents")); !named {
					t.Fatalf("%s: check names no file: %s", what, stderr)
				}
				if strings.HasSuffix(name, ".sst") && !strings.Contains(stderr, name) {
					t.Fatalf("%s: check does not name it: %s", what, stderr)
				}
			}
			for _, cmd := range []string{"pages", "status"} {
				c, _, stderr := forage(what, cmd, "--dir", dir)
				if c != 0 && code == 0 {
					t.Fatalf("%s: check finds nothing, %s says %s", what, cmd, stderr)
				}
				if c != 0 && (!strings.Contains(stderr, filepath.Join(dir, "documents")) || !strings.Contains(stderr, "check --repair")) {
					t.Fatalf("%s: %s does not say which file, or what to do: %s", what, cmd, stderr)
				}
			}
			if code == 0 {
				continue
			}
			_, _, told := forage(what, "check", "--repair", "--dir", dir)
			if code, _, stderr := forage(what, "check", "--dir", dir); code != 0 {
				t.Fatalf("%s: after check --repair (%s): %s", what, told, stderr)
			}
			code, stdout, stderr := forage(what, "pages", "--dir", dir, "--format", "txt")
			if code != 0 {
				t.Fatalf("%s: after check --repair (%s): %s", what, told, stderr)
			}
			left := strings.Count(stdout, "\n")
			lost += pages - left
			if left == 0 && n > 0 {
				t.Errorf("%s: after check --repair (%s) no page is left", what, told)
			}
		}
		t.Logf("%s: check noticed %d of %d, %d pages are to be fetched again altogether", name, seen, tries+1, lost)
	}
}

// TestNothingMadeOver: where the file that leads to the tables is missing, a crawl makes nothing
// new over them.
func TestNothingMadeOver(t *testing.T) {
	dir := t.TempDir()
	files := damageable(t, dir, 100)
	for name := range files {
		if !strings.HasPrefix(name, "marker.manifest") {
			continue
		}
		if err := os.Remove(filepath.Join(dir, "documents", name)); err != nil {
			t.Fatal(err)
		}
	}
	var out, stderr bytes.Buffer
	if code := run(t.Context(), &out, &stderr, []string{"crawl", "--dir", dir, "http://127.0.0.1:1/"}); code != exitFailed || !strings.Contains(stderr.String(), "marker.manifest") {
		t.Errorf("crawl ends with %d: %s", code, stderr.String())
	}
	for name := range files {
		if _, err := os.Stat(filepath.Join(dir, "documents", name)); err != nil && !strings.HasPrefix(name, "marker.manifest") {
			t.Errorf("it deleted %s", name)
		}
	}
	stderr.Reset()
	if code := run(t.Context(), &out, &stderr, []string{"check", "--repair", "--dir", dir}); code != 0 {
		t.Errorf("check --repair ends with %d: %s", code, stderr.String())
	}
	out.Reset()
	if code := run(t.Context(), &out, &stderr, []string{"pages", "--dir", dir, "--format", "txt"}); code != 0 || strings.Count(out.String(), "\n") != 100 {
		t.Errorf("pages ends with %d and lists %d pages of 100: %s", code, strings.Count(out.String(), "\n"), stderr.String())
	}
}
