package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The file asked, beside the database, tells when each host was last asked, so that politeness
// survives a kill: a request must not go out before that is certain to be known to the next
// process. What the database commits is on its way to the disk for some milliseconds; the writes
// of this file are in the system's hands when they return, which a kill does not undo, and cost
// some microseconds, as nothing waits for the disk. What a power cut takes of it does no harm: the
// machine takes longer to start than hosts are to be left alone.
//
// The file is a row of records of askedSize bytes, one a host, all numbers big-endian:
//
//	0   uint64  xxHash of the host's name
//	8   int64   when it was last asked, milliseconds since the epoch
//	16  uint32  CRC-32C of the 16 bytes before
//
// A record that does not fit its checksum says nothing. The file is removed when the store is closed,
// except for the hosts that an earlier process asked, was killed, and this one did not ask: all
// others have in the database until when they are to be left alone.
const askedSize = 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maxAskedAge is how much older than the latest a record may be that an earlier process left. It is
// longer than any delay between two requests.
const maxAskedAge = 24 * time.Hour

type asked struct {
	fs   vfs.FS
	path string
	file vfs.File // nil: not open yet
	size int      // records
	left map[uint64]int64
	slot map[uint64]int // of the hosts that this process asked and has not forgotten
	free []freeSlot     // in the order in which they were given up
}

// A freeSlot is the record of a host that is forgotten: until then it must stay as it is.
type freeSlot struct {
	slot  int
	until int64
}

// openAsked reads what an earlier process left at path.
func openAsked(files vfs.FS, path string) (*asked, error) {
	a := &asked{fs: files, path: path, left: map[uint64]int64{}, slot: map[uint64]int{}}
	f, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	latest := int64(0)
	for ; len(b) >= askedSize; b = b[askedSize:] {
		if crc32.Checksum(b[:16], castagnoli) == binary.BigEndian.Uint32(b[16:]) {
			host, at := binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint64(b[8:]))
			a.left[host] = max(a.left[host], at)
			latest = max(latest, at)
		}
	}
	for host, at := range a.left {
		if at < latest-maxAskedAge.Milliseconds() {
			delete(a.left, host)
		}
	}
	return a, a.rewrite()
}

// rewrite makes the file hold what is left of earlier processes alone, or removes it.
func (a *asked) rewrite() error {
	a.size = 0
	if len(a.left) == 0 {
		if err := a.fs.Remove(a.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	hosts := make([]uint64, 0, len(a.left))
	for host := range a.left {
		hosts = append(hosts, host)
	}
	slices.SortFunc(hosts, func(x, y uint64) int {
		return cmp.Or(cmp.Compare(a.left[x], a.left[y]), cmp.Compare(x, y))
	})
	var b []byte
	for _, host := range hosts {
		b = appendAsked(b, host, a.left[host])
	}
	// In a new file: the old one serves until the new one is whole.
	temp := a.path + ".new"
	f, err := a.fs.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err != nil {
		return errors.Join(err, f.Close())
	}
	a.size = len(hosts)
	return errors.Join(f.Close(), a.fs.Rename(temp, a.path))
}

func appendAsked(b []byte, host uint64, at int64) []byte {
	n := len(b)
	b = binary.BigEndian.AppendUint64(b, host)
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[n:], castagnoli))
}

// put notes that a host is asked at a time.
func (a *asked) put(name string, at int64) error {
	host := xxhash.Sum64String(name)
	slot, ok := a.slot[host]
	switch {
	case ok:
	case len(a.free) > 0 && a.free[0].until <= at:
		slot, a.free = a.free[0].slot, a.free[1:]
	default:
		slot = a.size
		a.size++
	}
	a.slot[host] = slot
	if a.file == nil {
		f, err := a.fs.OpenReadWrite(a.path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		a.file = f
	}
	var b [askedSize]byte
	if _, err := a.file.WriteAt(appendAsked(b[:0], host, at), int64(slot)*askedSize); err != nil {
		return err
	}
	delete(a.left, host)
	return nil
}

// forget lets the record of a host be used for another one from a time on.
func (a *asked) forget(name string, until int64) {
	host := xxhash.Sum64String(name)
	if slot, ok := a.slot[host]; ok {
		delete(a.slot, host)
		a.free = append(a.free, freeSlot{slot, until})
	}
}

// close gives the file up. done: the database is whole on the disk.
func (a *asked) close(done bool) error {
	var err error
	if a.file != nil {
		err = a.file.Close()
		a.file = nil
	}
	if done && err == nil {
		err = a.rewrite()
	}
	return err
}

// Asked tells when an earlier process, which did not come to its end, last asked a host: in
// milliseconds since the epoch, 0 where none is known to have.
func (db *DB) Asked(host string) int64 { return db.asked.left[xxhash.Sum64String(host)] }

// PutAsked notes that a host is being asked at a time, in milliseconds since the epoch. When it
// returns a kill of the process does not undo that. The caller leaves it out for hosts that may be
// asked again at once.
func (db *DB) PutAsked(host string, at int64) error {
	if err := db.disk.withRoom(func() error { return db.asked.put(host, at) }); err != nil {
		return fmt.Errorf("note that %s is asked: %w", host, err)
	}
	return nil
}

// ForgetAsked gives up the note of PutAsked, from a time on; what holds after that has been written
// with PutHost.
func (db *DB) ForgetAsked(host string, until int64) { db.asked.forget(host, until) }
