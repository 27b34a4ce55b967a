// Package record encodes structs as the records of the store.
//
// A record is a sequence of fields in ascending order of their tag; a field that is zero is
// left out. A field is uvarint(tag<<1 | kind) and then, for kind 0, a uvarint, for kind 1, a
// uvarint length and as many bytes. A reader skips tags that it does not know, so that a
// later version may add some; a tag is never given to another field.
//
// Start with New, which makes a Codec from fields such as Text(1, func(d *Doc) *string { return
// &d.URL }).
package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"forage/graph"
)

// ErrCorrupt is wrapped by every error about bytes that are not a record.
var ErrCorrupt = errors.New("corrupt record")

// A Codec is the one description of how a T is recorded, from which it is both encoded and
// decoded: a field is listed once, so that the two cannot disagree.
type Codec[T any] struct {
	fields []place
	index  []uint8 // by tag: place in fields + 1; 0: no such field
	some   bool    // a codec of Only: decoding ends behind the last field of index
}

// A Field is one field of T: its tag, how its value is written, and where it is in a T.
type Field[T any] struct {
	tag  int
	form form
	at   func(*T) unsafe.Pointer
}

// A form tells how a field lies in memory and how it is written.
type form uint8

const (
	unsigned8  form = iota // also a bool, which is 0 or 1
	unsigned32             // as a uvarint
	unsigned64
	signed32 // zigzag, as a uvarint
	signed64
	oneNode  // the number + 1, so that graph.None costs nothing
	aString  // kind 1
	someData // a []byte, kind 1
	nodeList // kind 1: each as a varint, the difference to the one before
	aBool    // decoded as 1 whatever it is, so that memory never holds a bool other than 0 and 1
)

func (f form) isBytes() bool { return f == aString || f == someData || f == nodeList }

// A place is a field as the codec uses it. The offset is taken once, from the accessor: to
// call the accessor for each field of each record makes encoding a Doc a quarter slower.
type place struct {
	offset uint32
	head   uint16 // tag<<1 | kind
	first  uint8  // of the two bytes that head is written as; 0: it is one
	last   uint8
	form   form
}

// maxTag is the highest tag: with it, head is two bytes.
const maxTag = 1<<13 - 1

type integer interface {
	~int | ~int64 | ~uint8 | ~uint32 | ~uint64
}

// Uint is a field written as it is; it should not be negative, which takes ten bytes.
func Uint[T any, N integer](tag int, at func(*T) *N) Field[T] {
	var n N
	f := unsigned64
	switch unsafe.Sizeof(n) {
	case 1:
		f = unsigned8
	case 4:
		f = unsigned32
	}
	return Field[T]{tag, f, func(t *T) unsafe.Pointer { return unsafe.Pointer(at(t)) }}
}

// Int is a field that may be negative.
func Int[T any, N ~int | ~int64](tag int, at func(*T) *N) Field[T] {
	var n N
	f := signed64
	if unsafe.Sizeof(n) == 4 {
		f = signed32
	}
	return Field[T]{tag, f, func(t *T) unsafe.Pointer { return unsafe.Pointer(at(t)) }}
}

// Bool is a field of one bit.
func Bool[T any](tag int, at func(*T) *bool) Field[T] {
	return Field[T]{tag, aBool, func(t *T) unsafe.Pointer { return unsafe.Pointer(at(t)) }}
}

// Node is a field whose absence stands for graph.None; who decodes sets it to that before.
func Node[T any](tag int, at func(*T) *graph.Node) Field[T] {
	return Field[T]{tag, oneNode, func(t *T) unsafe.Pointer { return unsafe.Pointer(at(t)) }}
}

// Text is a string.
func Text[T any, S ~string](tag int, at func(*T) *S) Field[T] {
	return Field[T]{tag, aString, func(t *T) unsafe.Pointer { return unsafe.Pointer(at(t)) }}
}

// Bytes is a []byte, of which nothing is shared with the record.
func Bytes[T any](tag int, at func(*T) *[]byte) Field[T] {
	return Field[T]{tag, someData, func(t *T) unsafe.Pointer { return unsafe.Pointer(at(t)) }}
}

// Nodes is a list, kept in its order.
func Nodes[T any](tag int, at func(*T) *[]graph.Node) Field[T] {
	return Field[T]{tag, nodeList, func(t *T) unsafe.Pointer { return unsafe.Pointer(at(t)) }}
}

// New makes a codec of fields in ascending order of their tags. It panics if they are
// not, or if an accessor points out of its T: a bug of this package.
func New[T any](fields ...Field[T]) *Codec[T] {
	c := &Codec[T]{index: []uint8{0}}
	t := new(T)
	for _, f := range fields {
		at := uintptr(f.at(t)) - uintptr(unsafe.Pointer(t))
		if f.tag < len(c.index) || at >= unsafe.Sizeof(*t) || f.tag > maxTag {
			panic(fmt.Sprintf("record: field %d of %T is out of order or of place", f.tag, t))
		}
		p := place{offset: uint32(at), head: uint16(f.tag) << 1, form: f.form}
		if f.form.isBytes() {
			p.head |= 1
		}
		if p.last = uint8(p.head); p.head >= 0x80 {
			p.first, p.last = uint8(p.head)|0x80, uint8(p.head>>7)
		}
		c.fields = append(c.fields, p)
		for len(c.index) < f.tag {
			c.index = append(c.index, 0)
		}
		c.index = append(c.index, uint8(len(c.fields)))
	}
	return c
}

// Only returns a codec that decodes the fields of these tags alone, and reads no record further than
// the last of them: the lower the tags, the quicker. What lies behind is not looked at, so that a
// damaged record may pass. It panics where there is no such field.
func (c *Codec[T]) Only(tags ...int) *Codec[T] {
	o := &Codec[T]{fields: c.fields, some: true}
	for _, tag := range tags {
		if tag >= len(c.index) || c.index[tag] == 0 {
			panic(fmt.Sprintf("record: %T has no field %d", new(T), tag))
		}
		if tag >= len(o.index) {
			o.index = append(o.index, make([]uint8, tag+1-len(o.index))...)
		}
		o.index[tag] = c.index[tag]
	}
	return o
}

// Append appends the record of t to b.
func (c *Codec[T]) Append(b []byte, t *T) []byte {
	for _, f := range c.fields {
		p := unsafe.Add(unsafe.Pointer(t), uintptr(f.offset))
		var v uint64
		switch f.form {
		case unsigned64:
			v = *(*uint64)(p)
		case unsigned32:
			v = uint64(*(*uint32)(p))
		case unsigned8, aBool:
			v = uint64(*(*uint8)(p))
		case signed64:
			v = zigzag(*(*int64)(p))
		case oneNode:
			v = uint64(*(*uint32)(p) + 1)
		case aString, someData: // a []byte begins as a string does: with its bytes and their number
			s := *(*string)(p)
			if s == "" {
				continue
			}
			if f.first != 0 {
				b = append(b, f.first)
			}
			if len(s) < 0x80 {
				b = append(b, f.last, byte(len(s)))
			} else {
				b = binary.AppendUvarint(append(b, f.last), uint64(len(s)))
			}
			b = append(b, s...)
			continue
		case signed32:
			v = zigzag(int64(*(*int32)(p)))
		case nodeList:
			if list := *(*[]graph.Node)(p); len(list) != 0 {
				if f.first != 0 {
					b = append(b, f.first)
				}
				b = appendNodes(append(b, f.last), list)
			}
			continue
		}
		if v == 0 {
			continue
		}
		if f.first != 0 {
			b = append(b, f.first)
		}
		switch {
		case v < 0x80:
			b = append(b, f.last, byte(v))
		case v < 1<<14:
			b = append(b, f.last, byte(v)|0x80, byte(v>>7))
		default:
			b = append(b, f.last)
			for ; v >= 0x80; v >>= 7 {
				b = append(b, byte(v)|0x80)
			}
			b = append(b, byte(v))
		}
	}
	return b
}

// Encode returns the record of t.
func (c *Codec[T]) Encode(t *T) []byte { return c.Append(nil, t) }

// Decode sets the fields of t that b has, and leaves the others. Nothing of t refers to b. The
// first text of a record, which is what callers keep, is a string of its own; the others share
// one copy of what follows it, which saves a page three allocations of six.
func (c *Codec[T]) Decode(b []byte, t *T) error {
	texts := 0
	var shared string
	for len(b) > 0 {
		head, n := uint64(b[0]), 1
		if head >= 0x80 {
			head, n = binary.Uvarint(b)
		}
		if n <= 0 || n == len(b) {
			return fmt.Errorf("%w: broken tag", ErrCorrupt)
		}
		b = b[n:]
		v, n := uint64(b[0]), 1
		if v >= 0x80 {
			v, n = binary.Uvarint(b)
		}
		if n <= 0 {
			return fmt.Errorf("%w: broken number", ErrCorrupt)
		}
		b = b[n:]
		var bytes []byte
		if head&1 != 0 {
			if v > uint64(len(b)) {
				return fmt.Errorf("%w: %d bytes wanted, %d there", ErrCorrupt, v, len(b))
			}
			bytes, b = b[:v], b[v:]
		}
		if head>>1 >= uint64(len(c.index)) {
			if c.some {
				return nil
			}
			continue
		}
		if c.index[head>>1] == 0 {
			continue
		}
		f := c.fields[c.index[head>>1]-1]
		if uint64(f.head) != head {
			return fmt.Errorf("%w: field %d is of the wrong kind", ErrCorrupt, head>>1)
		}
		p := unsafe.Add(unsafe.Pointer(t), uintptr(f.offset))
		switch f.form {
		case unsigned8:
			*(*uint8)(p) = uint8(v)
		case aBool:
			*(*bool)(p) = v != 0
		case unsigned32:
			*(*uint32)(p) = uint32(v)
		case unsigned64:
			*(*uint64)(p) = v
		case signed32:
			*(*int32)(p) = int32(unzigzag(v))
		case signed64:
			*(*int64)(p) = unzigzag(v)
		case oneNode:
			*(*uint32)(p) = uint32(v) - 1
		case aString:
			switch texts++; texts {
			case 1:
				*(*string)(p) = string(bytes)
				continue
			case 2:
				shared = string(bytes[:len(bytes)+len(b)])
			}
			at := len(shared) - len(b) - len(bytes)
			*(*string)(p) = shared[at : at+len(bytes)]
		case someData:
			*(*[]byte)(p) = append([]byte(nil), bytes...)
		case nodeList:
			list, err := decodeNodes(bytes)
			if err != nil {
				return err
			}
			*(*[]graph.Node)(p) = list
		}
	}
	return nil
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// appendNodes appends the length in bytes of a list and the list.
func appendNodes(b []byte, list []graph.Node) []byte {
	var deltas []byte
	last := int64(0)
	for _, v := range list {
		deltas = binary.AppendVarint(deltas, int64(v)-last)
		last = int64(v)
	}
	b = binary.AppendUvarint(b, uint64(len(deltas)))
	return append(b, deltas...)
}

func decodeNodes(b []byte) ([]graph.Node, error) {
	var list []graph.Node
	for last := int64(0); len(b) > 0; {
		d, n := binary.Varint(b)
		if n <= 0 {
			return nil, fmt.Errorf("%w: broken list", ErrCorrupt)
		}
		last += d
		if last < 0 || last >= graph.MaxNodes {
			return nil, fmt.Errorf("%w: node %d", ErrCorrupt, last)
		}
		list = append(list, graph.Node(last))
		b = b[n:]
	}
	return list, nil
}
