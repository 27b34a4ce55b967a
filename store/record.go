package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"forage/graph"
)

// errCorrupt is wrapped by every error about bytes that are no record.
var errCorrupt = errors.New("corrupt record")

// A writer builds a record: fields in ascending order of their tag, fields that are zero left
// out. A field is uvarint(tag<<1 | kind) and then, for kind 0, a uvarint, for kind 1, a
// uvarint length and as many bytes. A reader skips tags that it does not know, so that a
// later version may add some.
type writer struct{ b []byte }

func (w *writer) uint(tag int, v uint64) {
	if v != 0 {
		w.b = binary.AppendUvarint(w.b, uint64(tag)<<1)
		w.b = binary.AppendUvarint(w.b, v)
	}
}

func (w *writer) int(tag int, v int64) { w.uint(tag, uint64(v)<<1^uint64(v>>63)) }

func (w *writer) bool(tag int, v bool) {
	if v {
		w.uint(tag, 1)
	}
}

// node writes v so that graph.None costs nothing.
func (w *writer) node(tag int, v graph.Node) { w.uint(tag, uint64(uint32(v+1))) }

func (w *writer) string(tag int, s string) {
	if s != "" {
		w.b = binary.AppendUvarint(w.b, uint64(tag)<<1|1)
		w.b = binary.AppendUvarint(w.b, uint64(len(s)))
		w.b = append(w.b, s...)
	}
}

// nodes writes a list in its order, each as the difference to the one before.
func (w *writer) nodes(tag int, list []graph.Node) {
	if len(list) == 0 {
		return
	}
	var b []byte
	last := int64(0)
	for _, v := range list {
		b = binary.AppendVarint(b, int64(v)-last)
		last = int64(v)
	}
	w.string(tag, string(b))
}

// A field is one field of a record, as it was read.
type field struct {
	tag   int
	v     uint64
	bytes []byte
}

func (f field) int() int64 { return int64(f.v>>1) ^ -int64(f.v&1) }

func (f field) node() graph.Node { return graph.Node(uint32(f.v) - 1) }

func (f field) nodes() ([]graph.Node, error) {
	var list []graph.Node
	last := int64(0)
	for b := f.bytes; len(b) > 0; {
		d, n := binary.Varint(b)
		if n <= 0 {
			return nil, fmt.Errorf("%w: broken list", errCorrupt)
		}
		last += d
		if last < 0 || last >= graph.MaxNodes {
			return nil, fmt.Errorf("%w: node %d", errCorrupt, last)
		}
		list = append(list, graph.Node(last))
		b = b[n:]
	}
	return list, nil
}

// fields calls yield for each field of b.
func fields(b []byte, yield func(field) error) error {
	for len(b) > 0 {
		head, n := binary.Uvarint(b)
		if n <= 0 || head>>1 > math.MaxInt32 {
			return fmt.Errorf("%w: broken tag", errCorrupt)
		}
		b = b[n:]
		f := field{tag: int(head >> 1)}
		f.v, n = binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("%w: broken number", errCorrupt)
		}
		b = b[n:]
		if head&1 != 0 {
			if f.v > uint64(len(b)) {
				return fmt.Errorf("%w: %d bytes wanted, %d there", errCorrupt, f.v, len(b))
			}
			f.bytes, b = b[:f.v], b[f.v:]
		}
		if err := yield(f); err != nil {
			return err
		}
	}
	return nil
}
