package shard

import (
	"bufio"
	"context"
	"fmt"
	"hash/crc32"
	"io"

	"forage/cover"
	"forage/distributed/beam/files"
)

// A File is what is known of a file of sets, or of a part of one: blocks as cover.BlockWriter writes
// them, the sets in ascending order, none of them empty.
type File struct {
	Name     string `json:"name"`         // below the folder that it belongs to, slash-separated
	At       uint64 `json:"at,omitempty"` // the byte at which it begins
	Sets     uint64 `json:"sets"`
	Elements uint64 `json:"elements"` // of all sets
	Largest  uint64 `json:"largest"`  // elements of the largest set
	Bytes    uint64 `json:"bytes"`
	Sum      uint32 `json:"crc32c"`
}

// An Error says that a file is not what is known of it: it was cut short, or damaged.
type Error struct{ File, What string }

func (e *Error) Error() string { return e.File + ": " + e.What }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum returns the checksum of all of a file, or of a record: CRC-32C.
func Sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// tally counts and sums what goes through it.
type tally struct {
	w     io.Writer // nil while reading
	r     io.Reader
	err   error // of r, but for its end
	bytes uint64
	sum   uint32
}

func (t *tally) note(b []byte) {
	t.bytes += uint64(len(b))
	t.sum = crc32.Update(t.sum, castagnoli, b)
}

func (t *tally) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	t.note(b[:n])
	return n, err
}

func (t *tally) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	t.note(b[:n])
	if err != io.EOF {
		t.err = err
	}
	return n, err
}

// A Writer writes a file of sets.
type Writer struct {
	tally  tally
	blocks *cover.BlockWriter
	known  File
}

// NewWriter returns a writer of sets to w.
func NewWriter(w io.Writer) *Writer {
	s := &Writer{tally: tally{w: w}}
	s.blocks = cover.NewBlockWriter(&s.tally)
	return s
}

// Put writes a set that is not empty; its number must be above those put before. Elements ascend.
func (w *Writer) Put(set uint64, elements []uint64) error {
	w.known.Sets++
	w.known.Elements += uint64(len(elements))
	w.known.Largest = max(w.known.Largest, uint64(len(elements)))
	return w.blocks.Put(set, elements)
}

// End writes what is left to write and returns what is known of the file, but for its name and place.
func (w *Writer) End() (File, error) {
	err := w.blocks.Flush()
	w.known.Bytes, w.known.Sum = w.tally.bytes, w.tally.sum
	return w.known, err
}

// A Reader hands out the sets of a file one after another.
type Reader struct {
	known  File
	path   string
	file   io.ReadCloser
	tally  tally
	blocks *cover.BlockReader
	seen   File

	sets     []uint64 // of the block that is handed out
	end      []int    // in elements, by set
	elements []uint64
	at       int
	done     bool
}

// OpenFile opens the file of a folder. A file that is too short is an *Error at once; damage inside it
// is one from Next.
func OpenFile(ctx context.Context, dir string, known File) (*Reader, error) {
	path := files.Join(dir, known.Name)
	f, size, err := files.Open(ctx, path, int64(known.At), int64(known.Bytes))
	if err != nil {
		return nil, err
	}
	if err := checkLength(path, size, known); err != nil {
		f.Close()
		return nil, err
	}
	r := &Reader{known: known, path: path, file: f}
	r.tally = tally{r: bufio.NewReaderSize(f, 1<<16)}
	r.blocks = cover.NewBlockReader(&r.tally, int64(known.At))
	return r, nil
}

func checkLength(path string, size int64, known File) error {
	if want := known.At + known.Bytes; uint64(size) < want {
		return &Error{path, fmt.Sprintf("the file was cut short: %d bytes, and %d were written", size, want)}
	}
	return nil
}

// Next returns the next set, with elements that are valid until the next call. ok=false: there is
// none left, and the file was whole.
func (r *Reader) Next() (set uint64, elements []uint64, ok bool, err error) {
	for r.at == len(r.sets) {
		if r.done {
			return 0, nil, false, nil
		}
		if err := r.fill(); err != nil {
			return 0, nil, false, err
		}
	}
	from := 0
	if r.at > 0 {
		from = r.end[r.at-1]
	}
	set, elements = r.sets[r.at], r.elements[from:r.end[r.at]]
	r.at++
	return set, elements, true, nil
}

// fill reads a block, or finds that there is none left.
func (r *Reader) fill() error {
	r.sets, r.end, r.elements, r.at = r.sets[:0], r.end[:0], r.elements[:0], 0
	err := r.blocks.Next(func(set uint64, elements []uint64) error {
		r.sets = append(r.sets, set)
		r.elements = append(r.elements, elements...)
		r.end = append(r.end, len(r.elements))
		return nil
	})
	r.seen.Sets += uint64(len(r.sets))
	r.seen.Elements += uint64(len(r.elements))
	switch {
	case err == nil:
		return nil
	case r.tally.err != nil:
		return r.tally.err // it could not be read, which says nothing of the file
	case err != io.EOF:
		return &Error{r.path, err.Error()}
	case r.tally.sum != r.known.Sum || r.tally.bytes != r.known.Bytes:
		return &Error{r.path, fmt.Sprintf("it is not the file that was written: its checksum is %08x, want %08x", r.tally.sum, r.known.Sum)}
	case r.seen.Sets != r.known.Sets || r.seen.Elements != r.known.Elements:
		return &Error{r.path, fmt.Sprintf("it holds %d sets of %d elements, and %d of %d were written", r.seen.Sets, r.seen.Elements, r.known.Sets, r.known.Elements)}
	}
	r.done = true
	return nil
}

// Close ends the use of the file.
func (r *Reader) Close() error { return r.file.Close() }
