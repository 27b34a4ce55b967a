package sets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"forage/cover"
	"forage/graph/arcs"
)

// magic is how a binary set system begins; its last byte is the version.
const magic = "FORSETS\x01"

const headBytes = len(magic) + 3*8 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write writes a family in the binary format, little-endian:
//
//	8 bytes   "FORSETS" and the version, 1
//	3 × u64   number of sets m, of elements n (one more than the largest), total size M
//	u32       CRC-32C of the 32 bytes above
//	blocks    of the sets that are not empty, ascending, as cover.BlockWriter documents them:
//	          up to about 64 KiB each, gaps as varints, with a CRC-32C
//	12 bytes  a block without body and sets, the end
//
// Numbers of sets and elements go up to 2^64−2. A file is read in one stream, in memory of one
// block; a web graph in the order of its URLs takes 1.5 to 2 bytes an element.
func Write(w io.Writer, f cover.Family) error {
	size := uint64(0)
	if s, ok := f.(cover.Sized); ok {
		size = s.Size()
	} else if err := f.Scan(func(_ uint64, elements []uint64) error {
		size += uint64(len(elements))
		return nil
	}); err != nil {
		return err
	}
	head := append([]byte(nil), magic...)
	for _, v := range []uint64{f.NumSets(), f.NumElements(), size} {
		head = binary.LittleEndian.AppendUint64(head, v)
	}
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
	if _, err := w.Write(head); err != nil {
		return err
	}
	b := cover.NewBlockWriter(w)
	err := f.Scan(func(set uint64, elements []uint64) error {
		if len(elements) == 0 {
			return nil
		}
		return b.Put(set, elements)
	})
	if err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	var end [12]byte
	binary.LittleEndian.PutUint32(end[8:], crc32.Checksum(end[:8], castagnoli))
	_, err = w.Write(end[:])
	return err
}

// scanBinary calls visit for each set of a binary file, the empty ones too. With a nil visit
// it reads the head only.
func scanBinary(path string, info *Info, visit func(set uint64, elements []uint64) error) error {
	if visit == nil {
		return readBinary(path, info, nil, nil)
	}
	empty := func(set uint64) error { return visit(set, nil) }
	return readBinary(path, info, empty, func(b *cover.BlockReader, begin func(set uint64, count int, last uint64) error) error {
		return b.Next(func(set uint64, elements []uint64) error {
			last := uint64(0)
			if len(elements) > 0 {
				last = elements[len(elements)-1]
			}
			if err := begin(set, len(elements), last); err != nil {
				return err
			}
			return visited(visit(set, elements))
		})
	})
}

// scanEncoded is scanBinary as cover.Encoded wants it.
func scanEncoded(path string, info *Info, visit func(set uint64, count int, encoded []byte) error) error {
	return readBinary(path, info, nil, func(b *cover.BlockReader, begin func(set uint64, count int, last uint64) error) error {
		return b.NextEncoded(func(set uint64, count int, last uint64, encoded []byte) error {
			if err := begin(set, count, last); err != nil || count == 0 {
				return err
			}
			return visited(visit(set, count, encoded))
		})
	})
}

// visitError is an error that is not about the file.
type visitError struct{ error }

func visited(err error) error {
	if err != nil {
		return visitError{err}
	}
	return nil
}

// readBinary reads a binary file and counts in info. block reads a block and calls begin for
// each of its sets, which calls empty for those before it that are left out as empty. With a
// nil block the head is read only; with a nil empty, sets left out are counted alone, however many.
func readBinary(path string, info *Info, empty func(set uint64) error, block func(b *cover.BlockReader, begin func(set uint64, count int, last uint64) error) error) (err error) {
	r, err := arcs.Open(path)
	if err != nil {
		return openError(path, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var head [headBytes]byte
	got, short := io.ReadFull(r, head[:])
	if !bytes.HasPrefix(head[:], []byte(magic)) {
		return &Error{File: path, Byte: 0, What: fmt.Sprintf("want a binary set system, which begins with %q, got %q", magic, head[:min(got, len(magic))])}
	}
	if short != nil {
		return &Error{File: path, Byte: int64(got), What: "the file ends within its head"}
	}
	if crc32.Checksum(head[:headBytes-4], castagnoli) != binary.LittleEndian.Uint32(head[headBytes-4:]) {
		return &Error{File: path, Byte: 0, What: "corrupt head: wrong checksum"}
	}
	m := binary.LittleEndian.Uint64(head[8:])
	n := binary.LittleEndian.Uint64(head[16:])
	size := binary.LittleEndian.Uint64(head[24:])
	if block == nil {
		info.Sets, info.Elements, info.Size = m, n, size
		return nil
	}
	*info = Info{Format: info.Format, Elements: n}
	empties := func(to uint64) error {
		if empty == nil && to > info.Sets {
			info.Empty += to - info.Sets
			info.Sets = to
		}
		for info.Sets < to {
			info.add(0)
			if err := empty(info.Sets - 1); err != nil {
				return visitError{err}
			}
		}
		return nil
	}
	begin := func(set uint64, count int, last uint64) error {
		switch {
		case set < info.Sets:
			return fmt.Errorf("set %d after set %d", set, info.Sets-1)
		case set >= m:
			return fmt.Errorf("set %d of %d", set, m)
		case count > 0 && last >= n:
			return fmt.Errorf("set %d holds element %d of %d", set, last, n)
		}
		if err := empties(set); err != nil {
			return err
		}
		info.add(count)
		return nil
	}
	b := cover.NewBlockReader(r, int64(headBytes))
	for err == nil {
		err = block(b, begin)
	}
	if err == io.EOF {
		switch {
		case !b.Ended():
			return &Error{File: path, Byte: -1, What: "the file ends too early: its last block is missing"}
		case info.Size != size:
			return &Error{File: path, Byte: -1, What: fmt.Sprintf("its sets hold %d elements, its head says %d", info.Size, size)}
		}
		err = empties(m)
	}
	switch e := err.(type) {
	case nil:
		return nil
	case visitError:
		return e.error
	}
	return &Error{File: path, Byte: -1, What: err.Error()}
}
