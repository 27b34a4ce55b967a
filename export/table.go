package export

import (
	"bufio"
	"fmt"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"forage/internal/atomicfile"
)

const (
	// A row group has at most rowGroup rows, and so many bytes unless one row has more: readers take one at a time, and the writer holds one.
	rowGroup      = 1 << 17
	rowGroupBytes = 64 << 20
	// partBytes is how large a file grows, up to what ends it: 3 MB for 1,600 row groups of links.
	partBytes = 1<<30 - 16<<20
)

// A table is written as Parquet: NAME.parquet, and what is beyond partBytes as NAME-0002.parquet and so on, compressed with zstd. The same rows
// make the same bytes. Memory: a row group, compressed, and for each column 256 KiB, and as much for its different
// values where it has few. The caller closes it, and discards it after an error.
type table[T any] struct {
	folder, name string
	limit        int64 // bytes of a file
	most         int64 // bytes of a row group

	file  *atomicfile.File // of this part
	out   *bufio.Writer
	w     *parquet.GenericWriter[T]
	batch []T
	group int   // rows of this row group, without batch
	whole int64 // bytes of the row groups before it
	parts []string
	rows  uint64
}

// batchRows is how many rows parquet-go takes at once. Rows one by one take twice the time.
const batchRows = 64

// newTable begins a table in a folder. T is a struct whose fields have the tag parquet.
func newTable[T any](folder, name string) (*table[T], error) {
	t := &table[T]{folder: folder, name: name, limit: partBytes, most: rowGroupBytes, batch: make([]T, 0, batchRows)}
	t.out = bufio.NewWriterSize(nil, 1<<16)
	t.w = parquet.NewGenericWriter[T](t.out, parquet.Compression(&parquet.Zstd), parquet.DictionaryMaxBytes(1<<18), parquet.WriteBufferSize(0), parquet.CreatedBy("forage", "1", "0"))
	return t, t.begin()
}

// begin begins a part.
func (t *table[T]) begin() (err error) {
	name := t.name + ".parquet"
	if n := len(t.parts); n > 0 {
		name = fmt.Sprintf("%s-%04d.parquet", t.name, n+1)
	}
	path := filepath.Join(t.folder, name)
	if t.file, err = atomicfile.New(path); err != nil {
		return err
	}
	t.parts = append(t.parts, path)
	t.out.Reset(t.file)
	t.w.Reset(t.out)
	t.group, t.whole = 0, 0
	return nil
}

// add adds a row. What it points to must stay until the table is closed.
func (t *table[T]) add(row T) error {
	t.batch = append(t.batch, row)
	t.rows++
	if len(t.batch) < cap(t.batch) {
		return nil
	}
	return t.settle()
}

// settle passes the rows on that were added, and ends row group and part where they are full.
func (t *table[T]) settle() error {
	if err := t.flush(); err != nil {
		return err
	}
	size := t.w.Size()
	if size >= t.limit {
		if err := t.end(); err != nil {
			return err
		}
		return t.begin()
	}
	if t.group >= rowGroup || size-t.whole >= t.most {
		if err := t.w.Flush(); err != nil {
			return err
		}
		t.group, t.whole = 0, t.w.Size()
	}
	return nil
}

// flush passes the batch on.
func (t *table[T]) flush() error {
	n, err := t.w.Write(t.batch)
	t.group += n
	clear(t.batch)
	t.batch = t.batch[:0]
	return err
}

// end makes the part a file.
func (t *table[T]) end() error {
	if err := t.w.Close(); err != nil {
		return err
	}
	if err := t.out.Flush(); err != nil {
		return err
	}
	return t.file.Commit()
}

// close ends the table and adds it to w.
func (t *table[T]) close(w *Written) error {
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.end(); err != nil {
		return err
	}
	w.Records += t.rows
	return w.add(t.parts...)
}

// discard ends a table that is not closed.
func (t *table[T]) discard() { t.file.Discard() }
