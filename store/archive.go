package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"forage/graph"
	"forage/store/record"
)

// The archive of a store is a folder of files that package archive writes, and so are the texts of its pages. The store holds how far these go as of each
// commit, in a format of that package, and where in them bodies and texts are that were seen before: at most 40 bytes each, none of them in memory.

// An Archive is one of the folders that a store goes with.
type Archive string

// The folders.
const (
	Answers Archive = "archive" // each answer as it came
	Texts   Archive = "texts"   // what pages say
)

// A Capture is where in one of them an answer, or a text, is.
type Capture struct {
	File   uint32
	Offset int64
}

func payloadKey(digest [20]byte) []byte { return append([]byte{tablePayload}, digest[:]...) }

func captureKey(id graph.Node) []byte { return key(tableCapture, uint32(id)) }

func textKey(id graph.Node) []byte { return key(tableText, uint32(id)) }

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

// kept is an archive that is written.
type kept struct {
	of        Archive
	flush     func() ([]byte, error)
	committed func()
}

// KeepArchive has each Commit ask flush for the state of an archive, and make that part of what it commits, unless it is nil; committed is
// called for each of them once it is on the disk, by any goroutine. It is to be called before anything is written.
func (db *DB) KeepArchive(of Archive, flush func() (state []byte, err error), committed func()) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.archives = append(db.archives, kept{of, flush, committed})
}

// commitArchives adds the states of archives to the window, and returns what is to be called when they are on the disk. db.mu is held.
func (db *DB) commitArchives() (committed []func(), err error) {
	for _, k := range db.archives {
		state, err := k.flush()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.of, err)
		}
		if state == nil {
			continue
		}
		if err := db.window().Set(metaKey(string(k.of)), state, nil); err != nil {
			return nil, err
		}
		committed = append(committed, k.committed)
	}
	return committed, nil
}

// Archive returns the state of an archive as of the last commit, ErrNotFound where there is none.
func (v *View) Archive(of Archive) ([]byte, error) { return v.get(metaKey(string(of))) }

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

// PutText stores where the text is that was made of the body which a document was last seen with.
func (db *DB) PutText(id graph.Node, at Capture) error { return db.set(textKey(id), at.encode()) }

// DropText notes that there is no such text.
func (db *DB) DropText(id graph.Node) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.window().Delete(textKey(id), nil)
}

// Text returns what PutText stored, or ErrNotFound. O(log n).
func (v *View) Text(id graph.Node) (Capture, error) { return v.capture(textKey(id)) }

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
	ofDoc := func(k, val []byte) error {
		bad(k, val, len(k) == 5 && c.hasDoc(graph.Node(binary.BigEndian.Uint32(k[1:]))))
		return nil
	}
	return errors.Join(
		c.v.scan([]byte{tablePayload}, nil, func(k, val []byte) error { bad(k, val, len(k) == 21); return nil }),
		c.v.scan([]byte{tableCapture}, nil, ofDoc), c.v.scan([]byte{tableText}, nil, ofDoc),
	)
}
