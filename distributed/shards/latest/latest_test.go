package latest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forage/distributed/shards/checkpoint"
	"forage/store"
)

// A place is a folder of checkpoints, and the stores of which they are.
type place struct {
	*testing.T
	bucket  checkpoint.Folder
	stores  map[int32]*store.DB
	writers map[int32]*checkpoint.Writer
}

func newPlace(t *testing.T) *place {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	p := &place{t, checkpoint.Folder(t.TempDir()), map[int32]*store.DB{}, map[int32]*checkpoint.Writer{}}
	if err := p.bucket.Create(t.Context(), "crawl/name", []byte("x\n")); err != nil {
		t.Fatal(err)
	}
	return p
}

// save adds a page to a partition, and writes a checkpoint, of which two stay.
func (p *place) save(n int32, url string, at time.Time) {
	p.Helper()
	db := p.stores[n]
	if db == nil {
		var err error
		if db, err = store.Open(filepath.Join(p.TempDir(), "store"), store.Options{}); err != nil {
			p.Fatal(err)
		}
		p.Cleanup(func() { db.Close() })
		if err := db.AddSite(&store.Site{Name: "a.test"}); err != nil {
			p.Fatal(err)
		}
		bucket := checkpoint.In(p.bucket, Place("crawl", n))
		if err := checkpoint.Claim(p.Context(), bucket, 1, nil); err != nil {
			p.Fatal(err)
		}
		p.stores[n], p.writers[n] = db, checkpoint.NewWriter(bucket, 1, nil)
	}
	_, err := db.Add(store.NewDoc(url, 1))
	if err = errors.Join(err, db.Commit(), db.Sync()); err != nil {
		p.Fatal(err)
	}
	if _, _, err := p.writers[n].Write(p.Context(), db, State{at, 4}); err != nil {
		p.Fatal(err)
	}
	if _, err := p.writers[n].Prune(p.Context(), 2); err != nil {
		p.Fatal(err)
	}
}

// urls are those of a store.
func urls(v *store.View) (all []string, err error) {
	c := v.Cursor()
	defer c.Close()
	err = c.Docs(func(d *store.Doc) bool {
		all = append(all, d.URL)
		return true
	})
	return all, err
}

// empty checks that no temporary folder is left.
func (p *place) empty() {
	p.Helper()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		p.Errorf("%v is left, %v", left, err)
	}
}

// TestRead reads stores of which there is one checkpoint, none, and a later one by the time the first is read.
func TestRead(t *testing.T) {
	p := newPlace(t)
	note := func(err error) { t.Error(err) }
	if c, err := Open(t.Context(), p.bucket, "crawl", note); err != nil || len(c.Partitions) != 0 {
		t.Errorf("before the first checkpoint: %+v, %v", c, err)
	}
	day := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	p.save(1, "http://a.test/1", day)
	p.save(2, "http://b.test/1", day)
	c, err := Open(t.Context(), p.bucket, "crawl", note)
	if err != nil || len(c.Partitions) != 4 {
		t.Fatalf("%+v, %v; want four partitions", c, err)
	}
	for i := range 3 { // what c has found is removed
		p.save(2, fmt.Sprintf("http://b.test/%d", 2+i), day.Add(time.Hour))
	}
	for n, want := range [][]string{nil, {"http://a.test/1"}, {"http://b.test/1", "http://b.test/2", "http://b.test/3", "http://b.test/4"}, nil} {
		one := &c.Partitions[n]
		var got []string
		err := one.Read(t.Context(), note, func(v *store.View) (err error) {
			got, err = urls(v)
			return err
		})
		if one.Number != int32(n) || one.None() != (want == nil) || errors.Is(err, checkpoint.ErrNone) != (want == nil) || err != nil && want != nil || !slices.Equal(got, want) {
			t.Errorf("partition %d: %+v, %q, %v; want %q", n, one, got, err, want)
		}
	}
	if at := c.Partitions[2].At; !at.Equal(day.Add(time.Hour)) {
		t.Errorf("the checkpoint that was read is of %v", at)
	}
	p.empty()
}

// passing is a Bucket in which something else happens before a file is read for the first time.
type passing struct {
	checkpoint.Bucket
	once sync.Once
	then func()
}

func (b *passing) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if !strings.HasSuffix(name, ".json") {
		b.once.Do(b.then)
	}
	return b.Bucket.Get(ctx, name)
}

// TestPassing reads a store whose checkpoints are all removed, as there are later ones, when it has begun to.
func TestPassing(t *testing.T) {
	p := newPlace(t)
	note := func(err error) { t.Error(err) }
	p.save(0, "http://a.test/1", time.Now())
	c, err := Open(t.Context(), &passing{Bucket: p.bucket, then: func() {
		for i := range 3 {
			p.save(0, fmt.Sprintf("http://a.test/%d", 2+i), time.Now())
		}
	}}, "crawl", note)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := c.Partitions[0].Read(t.Context(), note, func(v *store.View) (err error) {
		got, err = urls(v)
		return err
	}); err != nil || len(got) != 4 {
		t.Errorf("%q, %v; want four", got, err)
	}
	p.empty()
}

// TestEnd ends the reading of a store.
func TestEnd(t *testing.T) {
	p := newPlace(t)
	p.save(0, "http://a.test/1", time.Now())
	c, err := Open(t.Context(), p.bucket, "crawl", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = c.Partitions[0].Read(ctx, nil, func(v *store.View) error {
		cancel()
		for {
			if _, err := urls(v); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("reading ends with %v", err)
	}
	if err := c.Partitions[0].Read(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("reading when it has ended: %v", err)
	}
	p.empty()
}

// TestDamaged reads of buckets that lack what they should have.
func TestDamaged(t *testing.T) {
	p := newPlace(t)
	first := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	p.save(0, "http://a.test/1", first)
	p.save(0, "http://a.test/2", first.Add(time.Hour))
	var none *NoCrawlError
	if _, err := Open(t.Context(), p.bucket, "other", nil); !errors.As(err, &none) || !slices.Equal(none.Others, []string{"crawl"}) {
		t.Errorf("a crawl that is not there: %v", err)
	}
	if _, err := Open(t.Context(), checkpoint.Folder(t.TempDir()), "crawl", nil); !errors.As(err, &none) || len(none.Others) > 0 {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Open(t.Context(), checkpoint.Folder(filepath.Join(t.TempDir(), "none")), "crawl", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	// Of the later one a file is missing: the earlier one is read, and that is told.
	c, err := Open(t.Context(), p.bucket, "crawl", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	one := &c.Partitions[0]
	earlier, _, err := checkpoint.Latest(t.Context(), &hiding{one.place, "/checkpoint-000002.json"})
	if err != nil || earlier.Number != 1 || one.latest.Number != 2 {
		t.Fatalf("%+v, %+v, %v", earlier, one.latest, err)
	}
	gone := ofOne(one.latest, earlier)
	if err := one.place.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	var told []string
	note := func(err error) { told = append(told, err.Error()) }
	read := func(one *Partition) {
		t.Helper()
		var got []string
		if err := one.Read(t.Context(), note, func(v *store.View) (err error) {
			got, err = urls(v)
			return err
		}); err != nil || !slices.Equal(got, []string{"http://a.test/1"}) || !one.At.Equal(first) {
			t.Errorf("%q of %v, %v", got, one.At, err)
		}
	}
	read(one)
	from := "partition 0 is read from an earlier checkpoint, of " + first.Format(time.RFC3339)
	if want := []string{"partition 0: a checkpoint is left out: " + gone + ", of epoch-000001/checkpoint-000002.json: it is missing", from}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	// Its manifest is cut, too: that is seen before, and told once.
	if err := os.Truncate(filepath.Join(string(p.bucket), "crawl/partition-00000/epoch-000001/checkpoint-000002.json"), 10); err != nil {
		t.Fatal(err)
	}
	told = nil
	if c, err = Open(t.Context(), p.bucket, "crawl", note); err != nil || len(told) != 1 {
		t.Fatalf("%v, told %q", err, told)
	}
	one = &c.Partitions[0]
	read(one)
	if len(told) != 2 || !strings.Contains(told[0], "it is not whole") || told[1] != from {
		t.Errorf("told %q", told)
	}
	// The earlier one has lost a file as well: there is none left.
	gone = one.latest.Files[0].At
	if err := one.place.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	var lost *checkpoint.LostError
	if err := one.Read(t.Context(), note, nil); !errors.As(err, &lost) || len(lost.Damaged) != 2 || lost.Damaged[1].File != gone {
		t.Errorf("without any: %v", err)
	}
	p.empty()
}

// hiding is a Bucket which lists no file whose name ends so.
type hiding struct {
	checkpoint.Bucket
	end string
}

func (h *hiding) List(ctx context.Context, prefix string, yield func(name string) bool) error {
	return h.Bucket.List(ctx, prefix, func(name string) bool { return strings.HasSuffix(name, h.end) || yield(name) })
}

// ofOne returns a file of a checkpoint that the other one has not.
func ofOne(m, other *checkpoint.Manifest) string {
	for _, f := range m.Files {
		if !slices.ContainsFunc(other.Files, func(o checkpoint.File) bool { return o.At == f.At }) {
			return f.At
		}
	}
	return ""
}
