package store

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"forage/graph"
	"forage/internal/race"
)

// powerCuts collects file systems as they may be after a power cut just before an operation.
type powerCuts struct {
	fsys  *vfs.MemFS
	acked atomic.Uint64 // the last commit that Sync was waited for
	share float64       // of the operations

	mu  sync.Mutex
	r   *rand.Rand
	got []powerCut
}

type powerCut struct {
	fsys  *vfs.MemFS
	acked uint64
	what  string
}

func (p *powerCuts) String() string { return "powerCuts" }
func (p *powerCuts) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.r.Float64() >= p.share {
		return nil
	}
	acked := p.acked.Load()
	unsynced := 25 * p.r.IntN(5)
	p.got = append(p.got, powerCut{
		p.fsys.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rand.New(rand.NewPCG(p.r.Uint64(), 1))}),
		acked, fmt.Sprintf("before operation %d on %s, %d%% of what was not synced", op.Kind, op.Path, unsynced),
	})
	return nil
}

// digest is a short form of content.
func digest(m map[string]string) uint64 {
	h := fnv.New64a()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(h, "%q%q", k, m[k])
	}
	return h.Sum64()
}

// TestPowerCuts cuts the power at random operations of stores that are written to, closed and
// opened. Whatever of the unsynced blocks was on the disk, the store opens, is as it was after a
// commit, none that was synced is gone, and nobody takes it for damaged.
func TestPowerCuts(t *testing.T) {
	want := race.Fewer(100)
	if crash {
		want = 10_000
	}
	s := *seed
	if s == 0 {
		s = uint64(os.Getpid())
	}
	cuts, ahead := 0, 0
	for n := uint64(0); cuts < want; n++ {
		c, a := cutPower(t, s*1000+n)
		cuts, ahead = cuts+c, ahead+a
	}
	t.Logf("seed %d: %d power cuts, %d of them with more than was synced; nothing lost, no false alarm", s, cuts, ahead)
}

// cutPower writes one store and returns the number of power cuts that it was looked at after, and
// how many of these kept more than was synced.
func cutPower(t *testing.T, seed uint64) (cuts, ahead int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 13))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	p := &powerCuts{fsys: vfs.NewCrashableMem(), share: 0.15, r: rand.New(rand.NewPCG(seed, 14))}
	opt := Options{FS: errorfs.Wrap(p.fsys, p), MemTable: 64 << 10}
	states := []uint64{digest(nil)}
	var db *DB
	record := func() {
		if n := uint64(len(states)); db.commit >= n {
			if db.commit > n {
				t.Fatalf("seed %d: commit %d follows %d", seed, db.commit, n-1)
			}
			states = append(states, digest(content(t, &db.View)))
		}
	}
	open := func() {
		var err error
		db, err = Open("crawl", opt)
		must(err)
		record()
	}
	open()
	must(db.AddSite(&Site{Name: "a.test", Rules: Rules{Scope: "host", Within: "a.test"}}))
	docs := 0
	for range 4 + race.Fewer(36) {
		for range 1 + r.IntN(25) {
			d := &Doc{URL: fmt.Sprintf("http://a.test/%d", docs), Title: strings.Repeat("x", r.IntN(300)), Site: 1, FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
			if r.IntN(60) == 0 {
				d.Title = strings.Repeat("y", 60<<10) // a batch of its own
			}
			_, err := db.Add(d)
			must(err)
			docs++
		}
		must(db.Commit())
		record()
		switch r.IntN(8) {
		case 0, 1:
			must(db.Sync())
			p.acked.Store(db.commit)
		case 2:
			must(db.Close())
			p.acked.Store(db.commit)
			open()
		}
	}
	must(db.Close())
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cut := range p.got {
		look := func(fsys *vfs.MemFS, what string, opt Options) {
			t.Helper()
			st, err := verify(newDisk(fsys), "crawl/documents")
			if err != nil || st.err() != nil || st.counter != nil {
				names, _ := fsys.List("crawl/documents")
				t.Fatalf("seed %d, %s: the files %q are said to be damaged: %v, %v, %v", seed, what, names, st.err(), st.counter, err)
			}
			db, err := Open("crawl", opt)
			if err != nil {
				t.Fatalf("seed %d, %s: Open: %v", seed, what, err)
			}
			if db.commit < cut.acked || digest(content(t, &db.View)) != states[db.commit] {
				t.Fatalf("seed %d, %s: the store holds something else than after commit %d; %d was synced", seed, what, db.commit, cut.acked)
			}
			if got := problems(t, &db.View); len(got) > 0 {
				t.Fatalf("seed %d, %s: %q", seed, what, got)
			}
			if db.commit > cut.acked {
				ahead++
			}
			cuts++
			if err := db.Close(); err != nil {
				t.Fatalf("seed %d, %s: Close: %v", seed, what, err)
			}
		}
		again := &powerCuts{fsys: cut.fsys, share: 0.03, r: r} // while it is opened after the first cut
		look(cut.fsys, "power cut "+cut.what, Options{FS: errorfs.Wrap(cut.fsys, again), MemTable: 64 << 10})
		again.mu.Lock()
		for _, next := range again.got {
			look(next.fsys, "power cut "+cut.what+", and again "+next.what, Options{FS: next.fsys})
		}
		again.mu.Unlock()
	}
	return cuts, ahead
}
