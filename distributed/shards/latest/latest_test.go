package latest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	p.save(0, "http://a.test/1", time.Now())
	p.save(0, "http://a.test/2", time.Now())
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
	// The later manifest is cut: the earlier one is taken, and that is told.
	name := filepath.Join(string(p.bucket), "crawl/partition-00000/epoch-000001/checkpoint-000002.json")
	if err := os.Truncate(name, 10); err != nil {
		t.Fatal(err)
	}
	told := 0
	c, err := Open(t.Context(), p.bucket, "crawl", func(error) { told++ })
	if err != nil || told != 1 {
		t.Fatalf("%v, %d told", err, told)
	}
	var got []string
	if err := c.Partitions[0].Read(t.Context(), nil, func(v *store.View) (err error) {
		got, err = urls(v)
		return err
	}); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	// A table is gone: there is no later checkpoint to take.
	file := c.Partitions[0].latest.Files[0].At
	if err := p.bucket.Delete(t.Context(), "crawl/partition-00000/"+file); err != nil {
		t.Fatal(err)
	}
	var damaged *checkpoint.DamagedError
	if err := c.Partitions[0].Read(t.Context(), func(error) {}, nil); !errors.As(err, &damaged) || damaged.File != file {
		t.Errorf("without a table: %v", err)
	}
	p.empty()
}
