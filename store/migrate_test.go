package store

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
)

// oldStore unpacks the store of format 1 that testdata/old/make.sh made into a file system
// that forgets what was not synced. It is the folder "store" there.
func oldStore(t *testing.T) *vfs.MemFS {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open("testdata/old/store.tar.gz")
	must(err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(err)
	files := vfs.NewCrashableMem()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		must(err)
		if h.Typeflag == tar.TypeDir {
			must(files.MkdirAll(filepath.Clean(h.Name), 0o755))
			continue
		}
		w, err := files.Create(h.Name, vfs.WriteCategoryUnspecified)
		must(err)
		_, err = io.Copy(w, r)
		must(errors.Join(err, w.Sync(), w.Close()))
		for dir := filepath.Dir(h.Name); ; dir = filepath.Dir(dir) {
			d, err := files.OpenDir(dir)
			must(err)
			must(errors.Join(d.Sync(), d.Close()))
			if dir == "." {
				break
			}
		}
	}
}

func golden[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/old", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var v T
		if err := d.Decode(&v); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
}

func stamp(at Time) string {
	if at == 0 {
		return ""
	}
	return time.Unix(at, 0).UTC().Format(time.RFC3339)
}

// TestOldStore migrates the store of the last release of format 1 and compares with what that
// release told of it.
func TestOldStore(t *testing.T) {
	files := oldStore(t)
	if _, err := Open("store", Options{FS: files, ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "its format is version 1, older than 3") {
		t.Errorf("to read it only: %v", err)
	}
	db, err := Open("store", Options{FS: files})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if p := problems(t, &db.View); len(p) != 0 {
		t.Errorf("after the migration: %q", p)
	}

	type page struct {
		URL, Site, New, Title, Digest, Kind string
		FirstSeen                           string `json:"first_seen"`
		Cycle                               Cycle
		FoundOn                             string `json:"found_on"`
		Status, Depth, Visits, Changes      int
		Bytes                               int64
		LastFetched                         string `json:"last_fetched"`
		Changed, Gone                       string
		DuplicateOf                         string `json:"duplicate_of"`
	}
	url := func(id graph.Node) string {
		if id == graph.None {
			return ""
		}
		d, err := db.Doc(id)
		if err != nil {
			t.Fatal(err)
		}
		return d.URL
	}
	var got []page
	if err := db.SitesFrom(0, func(s *Site) bool {
		if named, err := db.SiteNamed(s.Name); err != nil || named.ID != s.ID {
			t.Errorf("SiteNamed(%s) = %+v, %v, want site %d", s.Name, named, err, s.ID)
		}
		return db.SiteDocs(s.ID, func(d *Doc) bool {
			if d.IsPage() || d.IsList() {
				got = append(got, page{
					URL: d.URL, Site: s.Name, New: d.New.String(), Title: d.Title, Digest: fmt.Sprintf("%016x", d.Digest), Kind: d.Kind.String(),
					FirstSeen: stamp(d.FirstSeen), Cycle: d.Cycle, FoundOn: url(d.FoundOn), Status: d.Status, Depth: d.Depth, Visits: d.Visits,
					Changes: d.Changes, Bytes: d.Bytes, LastFetched: stamp(d.LastFetched), Changed: stamp(d.Changed), Gone: stamp(d.Gone), DuplicateOf: url(d.DuplicateOf),
				})
			}
			return true
		}) == nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := golden[page](t, "pages.jsonl"); len(want) < 50 || !slices.Equal(got, want) {
		t.Errorf("%d pages, want %d", len(got), len(want))
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("page %d: %+v, want %+v", i, got[i], want[i])
			}
		}
	}

	type status struct {
		BySite []struct {
			Site                                      string
			Pages, New, Known, Queued, Fetches, Bytes int64
		} `json:"by_site"`
		ByCycle []struct {
			Cycle              Cycle
			Kind, At, Ended    string
			Policy             string
			Fetched, Refetched int64
			NewPages           int64 `json:"new_pages"`
		} `json:"by_cycle"`
	}
	st := golden[status](t, "status.json")[0]
	for i, want := range st.BySite {
		c, err := db.Counters(SiteID(i + 1))
		if err != nil || c.Pages() != want.Pages || c.New != want.New || c.Known() != want.Known || c.Queued() != want.Queued || c.Fetches != want.Fetches || c.Bytes != want.Bytes {
			t.Errorf("counters of %s: %+v, %v, want %+v", want.Site, c, err, want)
		}
	}
	rounds := map[Cycle][]*CycleRecord{}
	if err := db.Cycles(0, func(c *CycleRecord) bool { rounds[c.Cycle] = append(rounds[c.Cycle], c); return true }); err != nil {
		t.Fatal(err)
	}
	if len(rounds) != len(st.ByCycle) {
		t.Errorf("%d cycles, want %d", len(rounds), len(st.ByCycle))
	}
	for _, want := range st.ByCycle {
		var fetched, old, fresh, newPages int64
		sites := rounds[want.Cycle]
		if n := map[Cycle]int{5: 2}[want.Cycle]; len(sites) != n && n != 0 || n == 0 && len(sites) != 3 {
			t.Fatalf("cycle %d has %d sites", want.Cycle, len(sites))
		}
		for _, c := range sites {
			fetched, old, newPages = fetched+c.Fetched, old+c.Refetched, newPages+c.New
			if want.Ended != "" || !c.Done {
				if stamp(c.Ended) != want.Ended {
					t.Errorf("cycle %d of site %d ended %q, want %q", c.Cycle, c.Site, stamp(c.Ended), want.Ended)
				}
			} else if c.Ended < c.At {
				t.Errorf("cycle %d of site %d, which is done, began at %d and ended at %d", c.Cycle, c.Site, c.At, c.Ended)
			}
			if string(c.Kind) != want.Kind || c.Policy != want.Policy || stamp(c.At) != want.At {
				t.Errorf("cycle %d of site %d: %+v, want %+v", c.Cycle, c.Site, c, want)
			}
			found := int64(0)
			if err := db.Newcomers(c.Site, c.Cycle, func(id graph.Node, _ Kind) bool {
				if d, err := db.Doc(id); err == nil && d.New == IsNew && d.DuplicateOf == graph.None {
					found++
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
			fresh += found
		}
		if fetched != want.Fetched || old != want.Refetched || newPages != want.NewPages || fresh != want.NewPages {
			t.Errorf("cycle %d: %d fetched, %d old, %d new (%d by their documents), want %+v", want.Cycle, fetched, old, newPages, fresh, want)
		}
	}
	if last, err := db.LastCycle(); err != nil || last != 6 {
		t.Errorf("LastCycle = %d, %v, want 6", last, err)
	}
	// The last round was killed: the first two sites were through, the third was not.
	for i, done := range []bool{true, true, false} {
		if c, err := db.Cycle(SiteID(i+1), 6); err != nil || c.Done != done || (c.Ended != 0) != done || c.Limit != 4 || c.Budget != "4" {
			t.Errorf("cycle 6 of site %d: %+v, %v", i+1, c, err)
		}
	}

	type explained struct {
		URL    string
		Visits []struct {
			Cycle   Cycle
			At      string
			Status  int
			Bytes   int64
			Refetch *struct {
				Changed             bool
				Gained, Lost, Found int
			}
		}
	}
	for _, want := range golden[explained](t, "explain.jsonl") {
		id, err := db.Find(want.URL)
		if err != nil {
			t.Fatal(err)
		}
		d, err := db.Doc(id)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		if err := db.Visits(d, func(v Visit) bool {
			w := want.Visits[n]
			if n++; v.Cycle != w.Cycle || stamp(v.At) != w.At || v.Status != w.Status || v.Bytes != w.Bytes {
				t.Errorf("visit of %s: %+v, want %+v", want.URL, v, w)
			}
			r, err := db.Refetch(d, v.Cycle)
			if (err == nil) != (w.Refetch != nil) || err == nil && (r.Changed != w.Refetch.Changed || len(r.Gained) != w.Refetch.Gained || r.Lost != w.Refetch.Lost) {
				t.Errorf("refetch of %s in cycle %d: %+v, %v, want %+v", want.URL, v.Cycle, r, err, w.Refetch)
			}
			return true
		}); err != nil || n != len(want.Visits) {
			t.Errorf("%d visits of %s, %v, want %d", n, want.URL, err, len(want.Visits))
		}
	}

	var arcs strings.Builder
	if err := db.Docs(func(d *Doc) bool {
		links, err := db.Links(d)
		if err != nil {
			t.Fatal(err)
		}
		to := map[graph.Node]bool{}
		for _, l := range links {
			to[l.To] = true
		}
		for _, v := range slices.Sorted(maps.Keys(to)) {
			fmt.Fprintf(&arcs, "%d\t%d\n", d.ID, v)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile("testdata/old/graph.tsv"); err != nil || arcs.String() != string(want) {
		t.Errorf("links:\n%s%v, want\n%s", arcs.String(), err, want)
	}
	names, err := os.Open("testdata/old/graph.tsv.urls")
	if err != nil {
		t.Fatal(err)
	}
	defer names.Close()
	n := 0
	for lines := bufio.NewScanner(names); lines.Scan(); n++ {
		_, u, _ := strings.Cut(lines.Text(), "\t")
		if id, err := db.Find(u); err != nil || int(id) != n {
			t.Errorf("Find(%s) = %d, %v, want %d", u, id, err, n)
		}
	}
	if have, err := db.NumURLs(); err != nil || have != n {
		t.Errorf("NumURLs = %d, %v, want %d", have, err, n)
	}
}

// TestMigrationInterrupted kills the migration before each of its writes, once and then again
// in what is resumed, and compares every key with those of one that was left in peace.
func TestMigrationInterrupted(t *testing.T) {
	defer func(n int) { migrationRows = n }(migrationRows)
	migrationRows = 3
	dump := func(files vfs.FS) string {
		db, err := Open("store", Options{FS: files})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var b strings.Builder
		if err := db.scan([]byte{}, []byte{0}, func(k, val []byte) error {
			if string(k) != string(metaKey("commits")) { // one more for each interruption
				fmt.Fprintf(&b, "%q %q\n", k, val)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if p := problems(t, &db.View); len(p) != 0 {
			t.Errorf("%q", p)
		}
		return b.String()
	}
	want := dump(oldStore(t))
	killed := errors.New("killed")
	r := rand.New(rand.NewPCG(1, 6))
	steps := 0
	for ; ; steps++ {
		files := oldStore(t)
		interrupted := true
		for _, n := range []int{steps, r.IntN(steps + 1)} {
			left := n
			db, err := Open("store", Options{FS: files, step: func() error {
				if left--; left < 0 {
					return killed
				}
				return nil
			}})
			if err == nil { // it took fewer steps
				interrupted = n != steps
				db.Close()
			} else if !errors.Is(err, killed) {
				t.Fatal(err)
			}
			files = files.CrashClone(vfs.CrashCloneCfg{})
			if n > 0 && err != nil {
				db, err := Open("store", Options{FS: files, ReadOnly: true})
				if err == nil { // what is left to be done changes nothing for readers
					if from, err := db.version("migrating"); err != nil || from < firstReadable {
						t.Errorf("killed before write %d, opened to be read: a store of version %d, %v", n, from, err)
					}
					db.Close()
				} else if !strings.Contains(err.Error(), "its format is version 1") {
					t.Errorf("killed before write %d, opened to be read: %v", n, err)
				}
			}
		}
		if got := dump(files); got != want {
			t.Fatalf("killed before write %d, the store is\n%s\nwant\n%s", steps, got, want)
		}
		if !interrupted {
			break
		}
	}
	if steps < 10 {
		t.Errorf("only %d writes", steps)
	}
	t.Logf("%d writes", steps)
}
