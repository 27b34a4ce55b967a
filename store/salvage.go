package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/internal/heap"
)

// Files are put right in a new folder beside the database, which takes its place when it is
// complete, and nothing is destroyed: the folder with the damage is kept under another name.
//
// Where the tables can be read, the new folder has hard links to them, and the logs are applied
// again up to where they are damaged. Where they cannot, all records are read from the blocks of
// the tables that can be read, the newest of each key is kept, and the logs follow.

const (
	repairedSuffix = ".repaired" // of the new folder
	damagedPrefix  = "damaged-"  // of the folder that is kept; a number follows
)

// repairFiles puts the database in folder right, as far as that can be done, and reports what was
// damaged and what is gone. It leaves a sound one as it is.
func repairFiles(files *disk, folder string, report func(Problem)) error {
	made := folder + repairedSuffix
	if !exists(files, folder) && exists(files, made) {
		report(Problem{Text: "a repair was interrupted; it is brought to its end"})
		if err := rename(files, made, folder); err != nil {
			return err
		}
	}
	s, err := verify(files, folder)
	if err != nil || s.new {
		return err
	}
	if s.counter != nil {
		report(Problem{Text: s.counter.Error()}) // Open writes it anew
	}
	if s.err() == nil {
		return nil
	}
	if s.tail && len(s.broken)+len(s.lost) == 1 {
		// What is left can be opened as it is: only the end is missing.
		c, err := openCommits(files, folder, s.logs.last)
		report(Problem{Text: s.lost[0].Error()})
		return errors.Join(err, c.close())
	}
	kept, err := keepAs(files, filepath.Dir(folder))
	if err != nil {
		return err
	}
	told, err := s.rebuild(files, folder, made)
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	if err := rename(files, folder, kept); err != nil {
		return err
	}
	if err := rename(files, made, folder); err != nil {
		return err
	}
	told[0] += "; the damaged files are kept in " + kept
	for _, text := range told {
		report(Problem{Text: text})
	}
	return nil
}

func exists(files vfs.FS, path string) bool {
	_, err := files.Stat(path)
	return err == nil
}

func rename(files vfs.FS, from, to string) error {
	return errors.Join(files.Rename(from, to), syncFolder(files, filepath.Dir(to)))
}

// keepAs returns a name in dir that nothing has.
func keepAs(files vfs.FS, dir string) (string, error) {
	for n := 1; ; n++ {
		path := files.PathJoin(dir, damagedPrefix+strconv.Itoa(n))
		_, err := files.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// rebuild makes a database in the folder made of what can be read in folder, and returns what was
// damaged, and how much of it is gone, in words.
func (s *state) rebuild(files *disk, folder, made string) ([]string, error) {
	if err := errors.Join(files.RemoveAll(made), files.MkdirAll(made, 0o755)); err != nil {
		return nil, err
	}
	if len(s.broken) == 0 {
		if err := s.linkTables(files, folder, made); err != nil {
			return nil, err
		}
	}
	db, err := openEngine(made, files, Options{}, func(o *pebble.Options) { o.DisableWAL = true })
	if err != nil {
		return nil, err
	}
	w := &bulk{db: db, batch: db.NewBatch()}
	lost := map[string]string{}
	flushed := s.flushed
	if len(s.broken) > 0 {
		flushed, err = s.mergeTables(files, folder, w, lost)
	}
	var end logEnd
	if err == nil {
		end, err = readLogs(files, folder, flushed, len(s.broken) > 0, w.apply)
	}
	if err == nil && end.behind > 0 { // s.lost tells of the gap
		var all logEnd
		all, err = readLogs(files, folder, flushed, true, nil)
		lost[s.lost[0].File] = fmt.Sprintf("; these, up to commit %d, are left out, as they build on what is missing", all.last)
	}
	err = errors.Join(err, w.flush())
	if err == nil {
		err = db.Flush()
	}
	if err = errors.Join(err, w.batch.Close(), db.Close()); err != nil {
		return nil, err
	}
	c, err := openCommits(files, made, end.last)
	if err := errors.Join(err, c.close(), syncFolder(files, made), syncFolder(files, filepath.Dir(made))); err != nil {
		return nil, err
	}
	var told []string
	for _, e := range append(s.broken, s.lost...) {
		told = append(told, e.Error()+lost[e.File])
		delete(lost, e.File)
	}
	return told, nil
}

// linkTables gives the folder made what names the tables in folder, and the tables.
func (s *state) linkTables(files vfs.FS, folder, made string) error {
	names, err := tablesOnly{FS: files}.List(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		from, to := files.PathJoin(folder, name), files.PathJoin(made, name)
		switch {
		case name == commitsName || name == "LOCK":
			continue
		case slices.Contains(s.tables, name):
			err = vfs.LinkOrCopy(files, from, to)
		default:
			err = vfs.Copy(files, from, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A bulk writes to a database that is synced at the end.
type bulk struct {
	db    *pebble.DB
	batch *pebble.Batch
}

func (w *bulk) set(k, val []byte) error {
	if err := w.batch.Set(k, val, nil); err != nil {
		return err
	}
	if w.batch.Len() < 1<<20 {
		return nil
	}
	return w.flush()
}

func (w *bulk) flush() error {
	if w.batch.Empty() {
		return nil
	}
	err := errors.Join(w.batch.Commit(pebble.NoSync), w.batch.Close())
	w.batch = w.db.NewBatch()
	return err
}

// apply writes a batch of a log.
func (w *bulk) apply(repr []byte) error {
	if err := w.flush(); err != nil {
		return err
	}
	repr = slices.Clone(repr)
	clear(repr[:8]) // the sequence number that it had: a long batch that has one already makes the database panic
	b := w.db.NewBatch()
	return errors.Join(b.SetRepr(repr), b.Commit(pebble.NoSync), b.Close())
}

// mergeTables writes the newest value of each key that the tables have, and returns the number
// of the last commit in them. It notes in lost, by path, what cannot be read of each.
func (s *state) mergeTables(files vfs.FS, folder string, w *bulk, lost map[string]string) (flushed uint64, err error) {
	h := heap.Heap[*tableReader]{Before: func(a, b *tableReader) bool { return a.rec.before(&b.rec, a.number, b.number) }}
	defer func() {
		for _, t := range h.Items {
			t.f.Close()
		}
	}()
	end := func(t *tableReader) error {
		switch {
		case t.total > t.read:
			lost[t.path] = fmt.Sprintf("; %d of its %d records are gone", t.total-t.read, t.total)
		case t.total < 0:
			lost[t.path] = fmt.Sprintf("; %d of its records are left", t.read)
		default:
			lost[t.path] = "; no record of it is gone"
		}
		return t.f.Close()
	}
	for _, name := range s.tables {
		t, err := readTable(files, files.PathJoin(folder, name))
		if errors.Is(err, fs.ErrNotExist) || isDamage(err) {
			continue // reported as missing
		}
		if err != nil {
			return 0, err
		}
		more, err := t.step()
		if err != nil {
			return 0, errors.Join(err, t.f.Close())
		}
		if more {
			h.Push(t)
		} else if err := end(t); err != nil {
			return 0, err
		}
	}
	var last []byte
	for first := true; h.Len() > 0; {
		t := h.Items[0]
		if r := &t.rec; first || !bytes.Equal(r.key, last) {
			first, last = false, append(last[:0], r.key...)
			if r.set() {
				if string(r.key) == string(metaKey("commits")) && len(r.val) == 8 {
					flushed = binary.BigEndian.Uint64(r.val)
				}
				if err := w.set(r.key, r.val); err != nil {
					return 0, err
				}
			}
		}
		more, err := t.step()
		if err != nil {
			return 0, err
		}
		if more {
			h.Fix(0)
			continue
		}
		h.Pop()
		if err := end(t); err != nil {
			return 0, err
		}
	}
	return flushed, nil
}

// A rec is one version of a key in a table.
type rec struct {
	key, val []byte
	trailer  pebble.InternalKeyTrailer // when it was written, and what it is
}

func (r *rec) set() bool {
	k := r.trailer.Kind()
	return k == pebble.InternalKeyKindSet || k == pebble.InternalKeyKindSetWithDelete
}

// before orders versions by key, the newest first. The database forgets when what is in its
// lowest level was written: of two such versions, in tables of which one was made from the
// other, that of the later table is the newer.
func (r *rec) before(o *rec, table, other uint64) bool {
	return cmp.Or(bytes.Compare(r.key, o.key), cmp.Compare(o.trailer.SeqNum(), r.trailer.SeqNum()), cmp.Compare(other, table)) < 0
}

// A tableReader reads the records of a table in order, past the blocks that are damaged.
type tableReader struct {
	f       vfs.File
	path    string
	number  uint64
	total   int64 // records that were written; -1: not known
	read    int64 // of these, read so far
	handles []block.Handle
	block   []rec
	rec     rec
}

// readTable opens a table. Where its index cannot be read, its blocks are found by their
// checksums, up to the first that is damaged.
func readTable(files vfs.FS, path string) (*tableReader, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	t := &tableReader{f: f, path: filepath.Clean(path), total: -1}
	t.number, _ = strconv.ParseUint(strings.TrimSuffix(filepath.Base(path), ".sst"), 10, 64)
	if r, err := openTable(files, path); err == nil {
		if p, err := r.ReadPropertiesBlock(context.Background(), nil); err == nil {
			t.total = int64(p.NumEntries)
		}
		l, err := r.Layout()
		if e := r.Close(); e != nil {
			return nil, errors.Join(e, f.Close())
		}
		if err == nil {
			for _, h := range l.Data {
				t.handles = append(t.handles, h.Handle)
			}
			return t, nil
		}
	}
	if t.handles, err = findBlocks(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return t, nil
}

// step reads the next record. The error is one of reading.
func (t *tableReader) step() (bool, error) {
	for len(t.block) == 0 {
		if len(t.handles) == 0 {
			return false, nil
		}
		h := t.handles[0]
		t.handles = t.handles[1:]
		b := make([]byte, h.Length+block.TrailerLen)
		if _, err := t.f.ReadAt(b, int64(h.Offset)); err == io.EOF || err == io.ErrUnexpectedEOF {
			continue // the table was cut
		} else if err != nil {
			return false, fmt.Errorf("%s: %w", t.path, err)
		}
		if block.ValidateChecksum(block.ChecksumTypeCRC32c, b, block.Handle{Length: h.Length}) != nil {
			continue
		}
		t.block, _ = decodeBlock(b[:h.Length], block.CompressionIndicator(b[h.Length]))
	}
	t.rec, t.block = t.block[0], t.block[1:]
	t.read++
	return true, nil
}

var (
	blockSchema = colblk.DefaultKeySchema(pebble.DefaultComparer, 16) // that of all tables
	errNoBlock  = errors.New("no block of records")
)

// decodeBlock returns the records of a block, errNoBlock if it is another kind of block.
func decodeBlock(b []byte, how block.CompressionIndicator) (recs []rec, err error) {
	if err := trusting(func() error {
		n := len(b)
		if how != block.NoCompressionIndicator {
			if n, err = block.DecompressedLen(how, b); err != nil || n > 1<<30 {
				return errNoBlock
			}
		}
		data := make([]byte, n, max(n, 8)) // aligned, as the decoder wants it
		if how == block.NoCompressionIndicator {
			copy(data, b)
		} else if err := block.DecompressInto(how, b, data); err != nil {
			return err
		}
		if !isBlock(data) {
			return errNoBlock
		}
		var (
			d  colblk.DataBlockDecoder
			it colblk.DataBlockIter
		)
		d.Init(&blockSchema, data)
		it.InitOnce(&blockSchema, pebble.DefaultComparer, nil)
		if err := it.Init(&d, block.NoTransforms); err != nil {
			return err
		}
		for kv := it.First(); kv != nil; kv = it.Next() {
			r := rec{key: slices.Clone(kv.K.UserKey), val: slices.Clone(kv.InPlaceValue()), trailer: kv.K.Trailer}
			if n := len(recs); n > 0 && !recs[n-1].before(&r, 0, 0) {
				return errNoBlock
			}
			recs = append(recs, r)
		}
		return nil
	}); err != nil {
		return nil, errNoBlock
	}
	return recs, nil
}

// isBlock tells a block of records by its columns: those of the key, then when it was written,
// whether the prefix changed, the value, whether that is elsewhere, whether it is obsolete.
func isBlock(data []byte) bool {
	want := append(slices.Clone(blockSchema.ColumnTypes),
		colblk.DataTypeUint, colblk.DataTypeBool, colblk.DataTypeBytes, colblk.DataTypeBool, colblk.DataTypeBool)
	head := int(blockSchema.HeaderSize) + 4 // the longest key
	if len(data) < head+7+5*len(want) || int(binary.LittleEndian.Uint16(data[head+1:])) != len(want) {
		return false
	}
	d := colblk.DecodeBlock(data, uint32(head))
	for i, t := range want {
		if d.DataType(i) != t {
			return false
		}
	}
	return true
}

// findBlocks finds the blocks of records of a table without its index. They follow each other
// from the beginning on, each with its checksum behind it. Time O(table), memory the table.
func findBlocks(f vfs.File) ([]block.Handle, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, info.Size())
	if n, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return nil, err
	} else {
		b = b[:n]
	}
	var found []block.Handle
	start, sum := 0, ^uint32(0)
	for i := 0; i+block.TrailerLen <= len(b); i++ {
		sum = castagnoli[byte(sum)^b[i]] ^ sum>>8 // of b[start:i+1], the last byte being that of the compression
		how := block.CompressionIndicator(b[i])
		if how > block.MinLZCompressionIndicator || maskedCRC(^sum) != binary.LittleEndian.Uint32(b[i+1:]) {
			continue
		}
		if _, err := decodeBlock(b[start:i], how); err != nil {
			if len(found) > 0 {
				break // the index follows
			}
			continue
		}
		found = append(found, block.Handle{Offset: uint64(start), Length: uint64(i - start)})
		start, sum = i+block.TrailerLen, ^uint32(0)
		i = start - 1
	}
	return found, nil
}

// maskedCRC is the form in which tables hold a CRC-32C.
func maskedCRC(c uint32) uint32 { return (c>>15 | c<<17) + 0xa282ead8 }
