package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"forage/graph"
	"forage/store/record"
)

// The archive of a store is a folder of files that package archive writes. The store holds how far they go as of each commit,
// in a format of that package, and where in them bodies are that were seen before: at most 40 bytes each, none of them in memory.

// A Capture is where in an archive an answer is.
type Capture struct {
	File   uint32
	Offset int64
}

func payloadKey(digest [20]byte) []byte { return append([]byte{tablePayload}, digest[:]...) }

func captureKey(id graph.Node) []byte { return key(tableCapture, uint32(id)) }

func (c Capture) encode() []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(c.File)), uint64(c.Offset))
}

func decodeCapture(b []byte) (Capture, error) {
	file, n := binary.Uvarint(b)
	if n > 0 && file < 1<<32 {
		if at, m := binary.Uvarint(b[n:]); m > 0 && n+m == len(b) && at < 1<<63 {
			return Capture{uint32(file), int64(at)}, nil
		}
	}
	return Capture{}, fmt.Errorf("%w: %x is no place in an archive", record.ErrCorrupt, b)
}

// KeepArchive has each Commit ask flush for the state of the archive, and make that part of what it commits, unless it is nil; committed is
// called for each of them once it is on the disk, by any goroutine. It is to be called before anything is written.
func (db *DB) KeepArchive(flush func() (state []byte, err error), committed func()) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.archive.flush, db.archive.committed = flush, committed
}

// commitArchive adds the state of the archive to the window, and returns what is to be called when that is on the disk. db.mu is held.
func (db *DB) commitArchive() (committed func(), err error) {
	nothing := func() {}
	if db.archive.flush == nil {
		return nothing, nil
	}
	state, err := db.archive.flush()
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if state == nil {
		return nothing, nil
	}
	return db.archive.committed, db.window().Set(metaKey("archive"), state, nil)
}

// Archive returns the state of the archive as of the last commit, ErrNotFound where there is none.
func (v *View) Archive() ([]byte, error) { return v.get(metaKey("archive")) }

// PutPayload stores where an answer with a body of this SHA-1 is.
func (db *DB) PutPayload(digest [20]byte, at Capture) error {
	return db.set(payloadKey(digest), at.encode())
}

// Payload returns what PutPayload stored, or ErrNotFound. O(log n).
func (v *View) Payload(digest [20]byte) (Capture, error) { return v.capture(payloadKey(digest)) }

// PutCapture stores where the answer is that has the body which a document was last seen with, and whose validators it has.
func (db *DB) PutCapture(id graph.Node, at Capture) error { return db.set(captureKey(id), at.encode()) }

// DropCapture notes that there is no such answer: the body that a document was last seen with is not in the archive.
func (db *DB) DropCapture(id graph.Node) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.window().Delete(captureKey(id), nil)
}

// Capture returns what PutCapture stored, or ErrNotFound. O(log n).
func (v *View) Capture(id graph.Node) (Capture, error) { return v.capture(captureKey(id)) }

func (v *View) capture(k []byte) (Capture, error) {
	b, err := v.get(k)
	if err != nil {
		return Capture{}, err
	}
	return decodeCapture(b)
}

// captures checks the tables of what is in the archive.
func (c *checker) captures() error {
	bad := func(k, val []byte, right bool) {
		if _, err := decodeCapture(val); err != nil || !right {
			c.problem(drop(k), "what is in the archive, %x: %x", k, val)
		}
	}
	return errors.Join(
		c.v.scan([]byte{tablePayload}, nil, func(k, val []byte) error { bad(k, val, len(k) == 21); return nil }),
		c.v.scan([]byte{tableCapture}, nil, func(k, val []byte) error {
			bad(k, val, len(k) == 5 && c.hasDoc(graph.Node(binary.BigEndian.Uint32(k[1:]))))
			return nil
		}),
	)
}
