package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// The database reads its log up to where that ends, and takes what is missing at the end, or a
// whole log, for what was never written. So every commit has a number, which it writes under
// metaKey("commits"), and the file COMMITS beside the log holds the number of the last commit
// that is known to be on the disk. A store whose tables and logs do not reach that number, or
// lack one before it, has lost something.
//
// COMMITS is written after the log was synced, once for all commits that one sync has
// brought to the disk, and is synced itself only when the store is closed: what it holds after a
// power cut may be too low, never too high. It is 12 bytes: the number, and the CRC-32C of that,
// both big-endian.
const commitsName = "COMMITS"

func encodeCommits(n uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, n)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readCommits returns what COMMITS in folder says; fs.ErrNotExist where it is missing.
func readCommits(files vfs.FS, folder string) (uint64, error) {
	path := files.PathJoin(folder, commitsName)
	b, err := readFile(files, path)
	if err != nil {
		return 0, err
	}
	if len(b) != 12 || binary.BigEndian.Uint32(b[8:]) != crc32.Checksum(b[:8], castagnoli) {
		return 0, damaged(path, "its checksum differs")
	}
	return binary.BigEndian.Uint64(b), nil
}

func readFile(files vfs.FS, path string) ([]byte, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// A commitFile is COMMITS, open for writing. A nil one writes nothing.
type commitFile struct {
	f      vfs.File
	synced atomic.Uint64 // the last commit that is on the disk

	mu      sync.Mutex
	written uint64 // what the file holds
}

// openCommits opens COMMITS, and makes it say n, whatever it said.
func openCommits(files vfs.FS, folder string, n uint64) (*commitFile, error) {
	have, err := readCommits(files, folder)
	f, e := files.OpenReadWrite(files.PathJoin(folder, commitsName), vfs.WriteCategoryUnspecified)
	if e != nil {
		return nil, e
	}
	c := &commitFile{f: f, written: n}
	c.synced.Store(n)
	if err == nil && have == n {
		return c, nil
	}
	if _, err := f.WriteAt(encodeCommits(n), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), syncFolder(files, folder)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return c, nil
}

func syncFolder(files vfs.FS, folder string) error {
	d, err := files.OpenDir(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// advance records that the commits up to n are on the disk. Of several callers one writes for all.
func (c *commitFile) advance(n uint64) error {
	for have := c.synced.Load(); have < n && !c.synced.CompareAndSwap(have, n); have = c.synced.Load() {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.synced.Load()
	if last <= c.written {
		return nil
	}
	if _, err := c.f.WriteAt(encodeCommits(last), 0); err != nil {
		return err
	}
	c.written = last
	return nil
}

func (c *commitFile) close() error {
	if c == nil {
		return nil
	}
	return errors.Join(c.f.Sync(), c.f.Close())
}

// number gives a batch the next number, which it returns.
func (db *DB) number(b *pebble.Batch) (uint64, error) {
	db.commit++
	return db.commit, b.Set(metaKey("commits"), binary.BigEndian.AppendUint64(nil, db.commit), nil)
}

// numberIn returns the number of the commit that a batch is, 0 where it has none.
func numberIn(repr []byte) (uint64, error) {
	if _, ok := batchrepr.ReadHeader(repr); !ok {
		return 0, errors.New("a batch without its header")
	}
	n := uint64(0)
	for r := batchrepr.Read(repr); ; {
		kind, k, val, ok, err := r.Next()
		if err != nil || !ok {
			return n, err
		}
		if kind == pebble.InternalKeyKindSet && len(val) == 8 && string(k) == string(metaKey("commits")) {
			n = binary.BigEndian.Uint64(val)
		}
	}
}

// A logEnd tells how far the logs of a database can be read.
type logEnd struct {
	last   uint64        // the last commit that is in the tables, or in the logs with all before it
	cut    *DamagedError // where the log with the last commit ends otherwise than by its end; nil: nowhere
	behind uint64        // the first commit behind a gap; 0: there is no gap
}

// readLogs calls yield, if it is not nil, for each batch in the logs of folder that is not in the
// tables, in order, up to the first gap, or past all gaps if that is asked for. flushed is the
// last commit that the tables hold. Errors are those of yield, and reads that fail; damage is none.
func readLogs(files vfs.FS, folder string, flushed uint64, gaps bool, yield func(repr []byte) error) (logEnd, error) {
	end := logEnd{last: flushed}
	logs, err := wal.Scan(wal.Dir{FS: files, Dirname: folder})
	if err != nil {
		return end, err
	}
	var buf bytes.Buffer
	for _, log := range logs {
		_, path := log.SegmentLocation(0)
		r := log.OpenForRead()
		for {
			rec, at, err := r.NextRecord()
			buf.Reset()
			if err == nil {
				_, err = io.Copy(&buf, rec)
			}
			n := uint64(0)
			if err == nil {
				n, err = numberIn(buf.Bytes())
				if err != nil {
					err = fmt.Errorf("%w: %w", record.ErrInvalidChunk, err)
				}
			}
			switch {
			case err == io.EOF:
			case err != nil && !isDamage(err):
				return end, errors.Join(fmt.Errorf("%s: %w", path, err), r.Close())
			case err != nil:
				if end.cut == nil {
					end.cut = recordError(path, at.Physical, err)
				}
			case n == 0 && flushed > 0 || n != 0 && n <= flushed:
				continue
			case n > end.last+1 && !gaps:
				end.behind = n
				return end, r.Close()
			default:
				if n > 0 { // what was cut before was not needed
					end.last, end.cut = n, nil
				}
				if yield != nil {
					if err := yield(buf.Bytes()); err != nil {
						return end, errors.Join(err, r.Close())
					}
				}
				continue
			}
			break
		}
		if err := r.Close(); err != nil {
			return end, err
		}
	}
	return end, nil
}

// isDamage tells errors of what was read from errors of reading.
func isDamage(err error) bool {
	var d *DamagedError
	return errors.As(err, &d) || errors.Is(err, record.ErrUnexpectedEOF) || errors.Is(err, record.ErrInvalidChunk) ||
		errors.Is(err, record.ErrZeroedChunk) || errors.Is(err, pebble.ErrCorruption) || errors.Is(err, fs.ErrNotExist)
}
