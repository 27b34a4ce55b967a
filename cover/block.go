package cover

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
)

// Blocks are how sets lie on disk, in the binary set-system format and in the level files of
// External. All integers of a block's head are little-endian:
//
//	u32  bytes of the body
//	u32  sets in the body, at least 1
//	u32  CRC-32C of the two numbers above and the body
//	body for each set, ascending: the number of the set, the number of its elements, its
//	     elements ascending, all as unsigned varints. A set's number is written less the one
//	     before it in the block less 1, the first as it is; so are the elements of a set.
//
// So {3: 5 6 9} {4: 0} alone in a block have the body 03 03 05 00 02 | 00 01 00. Gaps make
// order and distinctness part of the format, and every block can be read without the others.
const (
	blockHead  = 12
	blockBytes = 64 << 10 // a block is closed once its body has as many
	maxBlock   = 1 << 31  // a body of a single huge set may be up to that long
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A BlockWriter writes sets in blocks. Its errors are those of the underlying writer, and
// stick.
type BlockWriter struct {
	w     io.Writer
	buf   []byte // head and body of the open block
	sets  uint32
	first uint64 // number of the block's first set
	last  uint64 // of its last
	at    int64  // bytes written
	err   error

	index bool // keep places
	place []blockPlace
}

// blockPlace is where a block lies.
type blockPlace struct {
	first uint64 // number of its first set
	at    int64
	size  int // with its head
}

// NewBlockWriter returns a writer of blocks to w.
func NewBlockWriter(w io.Writer) *BlockWriter { return &BlockWriter{w: w} }

// Put writes a set; its number must be above those put before. Elements ascend.
func (b *BlockWriter) Put(set uint64, elements []uint64) error {
	b.open(set)
	b.buf = appendElements(b.buf, elements)
	return b.close(set)
}

// putEncoded is Put of what appendElements made.
func (b *BlockWriter) putEncoded(set uint64, elements []byte) error {
	b.open(set)
	b.buf = append(b.buf, elements...)
	return b.close(set)
}

func (b *BlockWriter) open(set uint64) {
	if b.sets == 0 {
		if b.buf == nil {
			b.buf = make([]byte, 0, blockHead+blockBytes+blockBytes/8)
		}
		b.buf = b.buf[:blockHead]
		b.first = set
		b.buf = binary.AppendUvarint(b.buf, set)
	} else {
		b.buf = binary.AppendUvarint(b.buf, set-b.last-1)
	}
	b.last = set
	b.sets++
}

func (b *BlockWriter) close(set uint64) error {
	if len(b.buf)-blockHead >= blockBytes {
		return b.Flush()
	}
	return b.err
}

// Flush closes the open block and writes it.
func (b *BlockWriter) Flush() error {
	if b.sets == 0 || b.err != nil {
		return b.err
	}
	body := b.buf[blockHead:]
	if len(body) > maxBlock {
		b.err = fmt.Errorf("set %d: a block of %d bytes, at most %d are possible", b.last, len(body), maxBlock)
		return b.err
	}
	binary.LittleEndian.PutUint32(b.buf, uint32(len(body)))
	binary.LittleEndian.PutUint32(b.buf[4:], b.sets)
	binary.LittleEndian.PutUint32(b.buf[8:], blockSum(b.buf[:8], body))
	if b.index {
		b.place = append(b.place, blockPlace{b.first, b.at, len(b.buf)})
	}
	n, err := b.w.Write(b.buf)
	b.at += int64(n)
	b.sets, b.err = 0, err
	if cap(b.buf) > 4*blockBytes {
		b.buf = nil // after a huge set
	}
	return err
}

// blockSum is the checksum of a block.
func blockSum(head, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, body)
}

// appendElements appends count and gaps.
func appendElements(buf []byte, elements []uint64) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(elements)))
	next := uint64(0) // the least that can follow
	for len(elements) > 0 {
		some := elements[:min(len(elements), 128)]
		elements = elements[len(some):]
		buf = slices.Grow(buf, len(some)*binary.MaxVarintLen64)
		out, at := buf[len(buf):cap(buf)], 0
		for _, e := range some {
			gap := e - next
			next = e + 1
			switch {
			case gap < 1<<7:
				out[at] = byte(gap)
				at++
			case gap < 1<<14:
				out[at], out[at+1] = byte(gap)|0x80, byte(gap>>7)
				at += 2
			case gap < 1<<21:
				out[at], out[at+1], out[at+2] = byte(gap)|0x80, byte(gap>>7)|0x80, byte(gap>>14)
				at += 3
			default:
				at += binary.PutUvarint(out[at:], gap)
			}
		}
		buf = buf[:len(buf)+at]
	}
	return buf
}

// A BlockReader reads what a BlockWriter wrote.
type BlockReader struct {
	r    io.Reader
	at   int64 // of the next block
	head [blockHead]byte
	body []byte
	elem []uint64

	ended bool
}

// Ended reports whether the end was a block without sets, and not that of the file.
func (b *BlockReader) Ended() bool { return b.ended }

// NewBlockReader returns a reader of blocks from r; at is where r stands in its file, for
// messages.
func NewBlockReader(r io.Reader, at int64) *BlockReader { return &BlockReader{r: r, at: at} }

// errBlock is what is wrong with a block.
var errBlock = errors.New("corrupt block")

// Next reads a block and calls visit for its sets, in order, and returns visit's first error.
// The elements are valid during the call only. It returns io.EOF at the end, and at a block
// without sets, which ends a stream that something else follows.
func (b *BlockReader) Next(visit func(set uint64, elements []uint64) error) error {
	return b.next(func(d *blockDecoder) (ok bool, err error) {
		var set uint64
		if set, b.elem, ok = d.next(b.elem[:0]); !ok {
			return false, nil
		}
		return true, visit(set, b.elem)
	})
}

// NextEncoded is Next for who wants the sets as they lie in the block: the number of elements,
// the last of them, and count and gaps as varints, valid during the call only. It costs less
// than half.
func (b *BlockReader) NextEncoded(visit func(set uint64, count int, last uint64, encoded []byte) error) error {
	return b.next(func(d *blockDecoder) (ok bool, err error) {
		set, count, last, encoded, ok := d.encoded()
		if !ok {
			return false, nil
		}
		return true, visit(set, count, last, encoded)
	})
}

// next reads a block and calls do for each of its sets, which takes it from the decoder;
// ok=false: there is none.
func (b *BlockReader) next(do func(d *blockDecoder) (ok bool, err error)) error {
	if n, err := io.ReadFull(b.r, b.head[:]); err != nil {
		if err == io.EOF {
			return err
		}
		return fmt.Errorf("byte %d: block cut short after %d bytes: %w", b.at, n, err)
	}
	size := int(binary.LittleEndian.Uint32(b.head[:]))
	sets := binary.LittleEndian.Uint32(b.head[4:])
	if size > maxBlock {
		return fmt.Errorf("byte %d: %w: a length of %d bytes", b.at, errBlock, size)
	}
	// The length is not yet trusted: grow as bytes arrive.
	b.body = b.body[:0]
	for len(b.body) < size {
		step := min(size-len(b.body), 1<<20)
		b.body = slices.Grow(b.body, step)
		n, err := io.ReadFull(b.r, b.body[len(b.body):len(b.body)+step])
		b.body = b.body[:len(b.body)+n]
		if err != nil {
			return fmt.Errorf("byte %d: block of %d bytes cut short after %d: %w", b.at, size, len(b.body), noEOF(err))
		}
	}
	if err := checkBlock(b.head[:], b.body); err != nil {
		return fmt.Errorf("byte %d: %w", b.at, err)
	}
	if sets == 0 {
		b.ended = true
		return io.EOF
	}
	d := blockDecoder{body: b.body, left: sets}
	for d.left > 0 {
		ok, err := do(&d)
		if !ok {
			return fmt.Errorf("byte %d: %w: its sets do not fill it", b.at, errBlock)
		}
		if err != nil {
			return err
		}
	}
	if len(d.body) != 0 {
		return fmt.Errorf("byte %d: %w: %d bytes too many", b.at, errBlock, len(d.body))
	}
	b.at += blockHead + int64(size)
	return nil
}

func checkBlock(head, body []byte) error {
	if blockSum(head[:8], body) != binary.LittleEndian.Uint32(head[8:]) {
		return fmt.Errorf("%w: wrong checksum", errBlock)
	}
	return nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// blockDecoder takes the sets out of a body.
type blockDecoder struct {
	body  []byte
	left  uint32 // sets
	least uint64 // least number that can follow
}

// number takes the number of the next set, count how many elements it has; the gaps follow.
func (d *blockDecoder) number() (set uint64, ok bool) {
	gap, n := binary.Uvarint(d.body)
	if n <= 0 || gap >= math.MaxUint64-d.least {
		return 0, false
	}
	d.body = d.body[n:]
	set = d.least + gap
	d.least = set + 1
	d.left--
	return set, true
}

func (d *blockDecoder) count() (count int, ok bool) {
	size, n := binary.Uvarint(d.body)
	if n <= 0 || size > uint64(len(d.body)-n) {
		return 0, false
	}
	d.body = d.body[n:]
	return int(size), true
}

// next appends the elements of the next set to buf.
func (d *blockDecoder) next(buf []uint64) (set uint64, elements []uint64, ok bool) {
	set, ok = d.number()
	count, ok2 := d.count()
	if !ok || !ok2 {
		return 0, buf, false
	}
	from := len(buf)
	buf = slices.Grow(buf, count)[:from+count]
	out := buf[from:]
	body, at, next := d.body, 0, uint64(0)
	for i := range out {
		gap, n := uint64(0), 1
		if at < len(body) && body[at] < 0x80 {
			gap = uint64(body[at])
		} else if gap, n = longGap(body[at:]); n == 0 {
			return 0, buf, false
		}
		e := next + gap
		if e < next || e == math.MaxUint64 {
			return 0, buf, false
		}
		out[i] = e
		at += n
		next = e + 1
	}
	d.body = body[at:]
	return set, buf, true
}

// encoded takes the next set without keeping its elements: how many there are, the last of
// them (0 if there is none), and count and gaps as varints.
func (d *blockDecoder) encoded() (set uint64, count int, last uint64, encoded []byte, ok bool) {
	if set, ok = d.number(); !ok {
		return 0, 0, 0, nil, false
	}
	whole := d.body
	if count, ok = d.count(); !ok {
		return 0, 0, 0, nil, false
	}
	body, at, next := d.body, 0, uint64(0)
	for range count {
		gap, n := uint64(0), 1
		if at < len(body) && body[at] < 0x80 {
			gap = uint64(body[at])
		} else if gap, n = longGap(body[at:]); n == 0 {
			return 0, 0, 0, nil, false
		}
		last = next + gap
		if last < next || last == math.MaxUint64 {
			return 0, 0, 0, nil, false
		}
		at += n
		next = last + 1
	}
	d.body = body[at:]
	return set, count, last, whole[:len(whole)-len(d.body)], true
}

// longGap returns the varint that begins body and how many bytes it has; 0: there is none.
func longGap(body []byte) (gap uint64, n int) {
	if len(body) > 2 {
		b, c := body[1], body[2]
		if b < 0x80 {
			return uint64(body[0]&0x7f) | uint64(b)<<7, 2
		}
		if c < 0x80 {
			return uint64(body[0]&0x7f) | uint64(b&0x7f)<<7 | uint64(c)<<14, 3
		}
	}
	gap, n = binary.Uvarint(body)
	return gap, max(0, n)
}
