package store

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestMakingCutOff cuts the power at each moment in which a store is made: who reads it is told so,
// and who writes to it makes it.
func TestMakingCutOff(t *testing.T) {
	t.Parallel()
	told := map[error]int{}
	for n, made := int64(0), false; !made; n++ {
		kept := int(n%3) * 50 // percent of what was not synced
		files := vfs.NewCrashableMem()
		fault := &failAfter{}
		fault.left.Store(n)
		db, err := Open("crawl", Options{FS: errorfs.Wrap(files, fault), MemTable: 64 << 10})
		after := files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rand.New(rand.NewPCG(uint64(n), uint64(kept)))})
		if err == nil {
			made = true
			db.Close()
		}
		db, err = Open("crawl", Options{FS: after, ReadOnly: true, MemTable: 64 << 10})
		switch {
		case err == nil:
			told[nil]++
			err = db.Close()
		case errors.Is(err, ErrUnfinished):
			told[ErrUnfinished]++
			err = nil
		}
		if err != nil {
			t.Errorf("cut off at operation %d: who reads is told %v", n, err)
		}
		db, err = Open("crawl", Options{FS: after, MemTable: 64 << 10})
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Errorf("cut off at operation %d: who writes is told %v", n, err)
		}
	}
	if told[nil] == 0 || told[ErrUnfinished] < 10 {
		t.Errorf("readers were told %v", told)
	}
}

// TestForeignDatabase: a database that holds something else is none whose making was cut off.
func TestForeignDatabase(t *testing.T) {
	files := vfs.NewMem()
	db, err := pebble.Open("crawl/documents", &pebble.Options{FS: files})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set([]byte("letter"), []byte("Dear all"), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("crawl", Options{FS: files, ReadOnly: true}); !errors.Is(err, ErrNotStore) {
		t.Errorf("a database of letters: %v", err)
	}
}
