package store

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// ErrClosed is returned by a snapshot whose store has been closed, or is about to be.
var ErrClosed = errors.New("the store is closed")

// A gate keeps a store open for as long as its snapshots are read: inside counts those who read.
// close lets nobody in any more, and returns when all have left, which readers do at their next
// step. A nil gate, that of a view which is no snapshot, is always open.
type gate struct {
	mu     sync.Mutex
	empty  sync.Cond // inside is 0; its L is set by close
	inside int
	closed atomic.Bool // written under mu
}

// enter lets a reader in, until it calls leave. Readers may enter again while they are inside.
func (g *gate) enter() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed.Load() {
		return ErrClosed
	}
	g.inside++
	return nil
}

func (g *gate) leave() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.empty.L != nil {
		g.empty.Broadcast()
	}
}

// step returns ErrClosed where a reader inside has to leave.
func (g *gate) step() error {
	if g != nil && g.closed.Load() {
		return ErrClosed
	}
	return nil
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed.Store(true)
	g.empty.L = &g.mu
	for g.inside > 0 {
		g.empty.Wait()
	}
}

// iterate calls f with an iterator over the keys from lower on and below upper.
func (v *View) iterate(lower, upper []byte, f func(*pebble.Iterator) error) (err error) {
	if err := v.gate.enter(); err != nil {
		return err
	}
	defer v.gate.leave()
	it, err := v.r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return readError(err)
	}
	defer func() { err = cmp.Or(err, readError(it.Close())) }() // which tells the same once more
	return f(it)
}

// Snapshot returns a view of what is committed now, which later commits do not change. The
// caller closes it. Its methods return ErrClosed once EndReads has been called.
func (db *DB) Snapshot() *View {
	v := &View{decoded: db.decoded, gate: &db.reads, files: db.files, known: db.known, outgoing: db.outgoing}
	if db.reads.enter() != nil {
		return v // it reads nothing
	}
	defer db.reads.leave()
	s := db.db.NewSnapshot()
	v.r = s
	db.snapshots.Store(v, s)
	v.close = func() error {
		if _, open := db.snapshots.LoadAndDelete(v); !open {
			return nil // EndReads has closed it
		}
		return s.Close()
	}
	return v
}

// EndReads ends the reading of all snapshots: what is under way returns ErrClosed at its next
// step. It returns when all has ended. Close may be called then, whoever still holds snapshots.
func (db *DB) EndReads() error {
	db.reads.close()
	var err error
	db.snapshots.Range(func(v, s any) bool {
		if _, open := db.snapshots.LoadAndDelete(v); open {
			err = errors.Join(err, s.(*pebble.Snapshot).Close())
		}
		return true
	})
	return err
}

// Size returns how many bytes the database takes on the disk, what it is about to delete included. 0: it is not known.
func (db *DB) Size() int64 {
	if db.reads.enter() != nil {
		return 0
	}
	defer db.reads.leave()
	return int64(db.db.Metrics().DiskSpaceUsage())
}
