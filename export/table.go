package export

import (
	"bufio"
	"fmt"
	"io"
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
	parts
	w     *parquet.GenericWriter[T]
	batch []T
}

// The parts of a table are its files. Their code does not depend on T, so that it is in the program once.
type parts struct {
	folder, name string
	limit        int64 // bytes of a file
	most         int64 // bytes of a row group

	file  *atomicfile.File // of this part
	out   *bufio.Writer    // to file
	to    rowWriter        // to out
	group int              // rows of this row group
	whole int64            // bytes of the row groups before it
	paths []string
	rows  uint64 // that were passed on
}

// A rowWriter is a parquet.GenericWriter, whatever its rows are.
type rowWriter interface {
	Reset(io.Writer)
	Size() int64
	Flush() error
	Close() error
}

// batchRows is how many rows parquet-go takes at once. Rows one by one take twice the time.
const batchRows = 64

// newTable begins a table in a folder. T is a struct whose fields have the tag parquet.
func newTable[T any](folder, name string) (*table[T], error) {
	out := bufio.NewWriterSize(nil, 1<<16)
	w := parquet.NewGenericWriter[T](out, parquet.Compression(&parquet.Zstd), parquet.DictionaryMaxBytes(1<<18), parquet.WriteBufferSize(0), parquet.CreatedBy("forage", "1", "0"))
	t := &table[T]{parts: parts{folder: folder, name: name, limit: partBytes, most: rowGroupBytes, out: out, to: w}, w: w, batch: make([]T, 0, batchRows)}
	return t, t.begin()
}

// add adds a row. What it points to must stay until the table is closed.
func (t *table[T]) add(row T) error {
	t.batch = append(t.batch, row)
	if len(t.batch) < cap(t.batch) {
		return nil
	}
	if err := t.flush(); err != nil {
		return err
	}
	return t.settle()
}

// flush passes the batch on.
func (t *table[T]) flush() error {
	n, err := t.w.Write(t.batch)
	t.group += n
	t.rows += uint64(n)
	clear(t.batch)
	t.batch = t.batch[:0]
	return err
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
	return w.add(t.paths...)
}

// begin begins a part.
func (p *parts) begin() (err error) {
	name := p.name + ".parquet"
	if n := len(p.paths); n > 0 {
		name = fmt.Sprintf("%s-%04d.parquet", p.name, n+1)
	}
	path := filepath.Join(p.folder, name)
	if p.file, err = atomicfile.New(path); err != nil {
		return err
	}
	p.paths = append(p.paths, path)
	p.out.Reset(p.file)
	p.to.Reset(p.out)
	p.group, p.whole = 0, 0
	return nil
}

// settle ends row group and part where they are full.
func (p *parts) settle() error {
	size := p.to.Size()
	if size >= p.limit {
		if err := p.end(); err != nil {
			return err
		}
		return p.begin()
	}
	if p.group >= rowGroup || size-p.whole >= p.most {
		if err := p.to.Flush(); err != nil {
			return err
		}
		p.group, p.whole = 0, p.to.Size()
	}
	return nil
}

// end makes the part a file.
func (p *parts) end() error {
	if err := p.to.Close(); err != nil {
		return err
	}
	if err := p.out.Flush(); err != nil {
		return err
	}
	return p.file.Commit()
}

// discard ends a table that is not closed.
func (p *parts) discard() { p.file.Discard() }
