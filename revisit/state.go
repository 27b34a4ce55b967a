package revisit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"iter"
	"math"

	"forage/graph"
)

// A Saver is a Policy whose state can be kept between cycles, so that the next process need not
// tell it of all that was before.
type Saver interface {
	Policy
	// AppendState appends what the policy knows after End, or before the first Begin.
	AppendState(b []byte) []byte
	// SetState reads, into a policy that was told nothing, what AppendState of this version
	// appended, all of it. docs are the profiles that Learn told last, by document, with no gaps;
	// cycle is how often Begin was called. What cannot be it calls r.Fail. The policy then goes on
	// as the one that appended it would, and keeps neither docs nor anything of r.
	SetState(r *StateReader, docs *Profiles, cycle int)
}

// stateVersion changes when the layout of a state does, of a Site or of any Saver, and when they
// make something else of what they are told: an old state is then as none.
const stateVersion = 2

// A state is, in uvarints where nothing else is said:
//
//	version  1 byte
//	checksum 8 bytes, CRC-64 (ECMA) of owner, a zero byte and all that follows
//	cycle, n, home+1, then for each of n documents:
//	  key as the zigzag difference to the one before, flags, template, list, number, depth,
//	  links, born, cycle−last, seen and published each as the zigzag difference to the time
//	  before it, kids, and, of a sitemap, the sitemaps and feeds that it links to
//	names of templates by number, names of lists by number from 1
//	n, then for each document up to which lists told anything: same, fetches, changed
//	fetches and changed of all, expected, missed
//	what the policy appended
//
// Lists of nodes are n, then each as the zigzag difference to the one before; names are n, then
// each a length and bytes; floating-point numbers take 8 bytes.

// ErrState says that a state is not one of this owner and version.
var ErrState = errors.New("revisit: not a state of this policy")

var stateTable = crc64.MakeTable(crc64.ECMA)

func stateSum(owner string, body []byte) uint64 {
	sum := crc64.Update(0, stateTable, []byte(owner))
	sum = crc64.Update(sum, stateTable, []byte{0})
	return crc64.Update(sum, stateTable, body)
}

// validState returns the size of a state, and whether it is one of this version and owner.
func validState(pieces iter.Seq[[]byte], owner string) (size int, valid bool) {
	var head [9]byte
	sum := crc64.Update(crc64.Update(0, stateTable, []byte(owner)), stateTable, []byte{0})
	for b := range pieces {
		if size < len(head) {
			n := copy(head[size:], b)
			size, b = size+n, b[n:]
		}
		size += len(b)
		sum = crc64.Update(sum, stateTable, b)
	}
	return size, size >= len(head) && head[0] == stateVersion && binary.LittleEndian.Uint64(head[1:]) == sum
}

// Owner names a policy with all of its configuration: a state of one owner is none of another.
func Owner(name string, c Config) string {
	p := shipped.Prior
	if c.Prior != nil {
		p = *c.Prior
	}
	return fmt.Sprintf("%s %g %d %g %+v", name, c.Alpha, c.Seed, c.Stop, p)
}

const (
	stateHome  = 4 // above flagKind
	stateMain  = 8
	stateIndex = 16
	stateGone  = 32
)

// AppendState appends the state of the site and of its policy between two cycles. ok=false: the
// policy is no Saver. O(documents), 20 to 30 bytes for each and what the policy takes.
func (s *Site) AppendState(b []byte, owner string) (state []byte, ok bool) {
	p, ok := s.policy.(Saver)
	if !ok {
		return b, false
	}
	if s.open || !s.begun {
		panic("revisit: AppendState before Start or End")
	}
	start := len(b)
	b = append(b, stateVersion, 0, 0, 0, 0, 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(s.cycle))
	b = binary.AppendUvarint(b, uint64(s.docs.Len()))
	b = binary.AppendUvarint(b, uint64(s.home+1))
	last, at := Key(0), Time(0)
	for v := range s.docs.Len() {
		d := s.docs.At(graph.Node(v))
		b = binary.AppendVarint(b, int64(s.key[v])-int64(last))
		last = s.key[v]
		flags := uint64(d.stateFlags())
		if s.gone[v] {
			flags |= stateGone
		}
		for _, x := range []uint64{flags, uint64(d.Template), uint64(d.List), uint64(d.Number), uint64(d.Depth), uint64(d.Links), uint64(d.Born), uint64(s.cycle - int(s.last[v]))} {
			b = binary.AppendUvarint(b, x)
		}
		for _, t := range []Time{d.Seen, d.Published} {
			b = binary.AppendVarint(b, int64(t-at))
			at = t
		}
		b = AppendNodes(b, s.kids[graph.Node(v)])
		if d.Kind == Sitemap {
			b = AppendNodes(b, s.sitemaps[graph.Node(v)])
		}
	}
	b = appendNames(b, s.templates.number, 0)
	b = appendNames(b, s.lists.number, 1)
	g := &s.signals
	b = binary.AppendUvarint(b, uint64(len(g.docs)))
	for i := range g.docs {
		b = g.docs[i].append(b)
	}
	b = g.all.append(b)
	b = AppendFloat(AppendFloat(b, g.expected), g.missed)
	b = p.AppendState(b)
	binary.LittleEndian.PutUint64(b[start+1:], stateSum(owner, b[start+9:]))
	return b, true
}

// Restore brings a new Site to the point of AppendState: what comes later has then the same effect.
// After an error, which is ErrState, neither the Site nor its policy is of use.
func (s *Site) Restore(state []byte, owner string) error {
	_, err := s.RestorePieces(func(yield func([]byte) bool) { yield(state) }, owner)
	return err
}

// RestorePieces is Restore of a state in pieces, each of which is valid until the next one. It returns how
// many bytes they are. They are gone through twice: what a state says is believed when its checksum is known
// to be right.
func (s *Site) RestorePieces(pieces iter.Seq[[]byte], owner string) (size int, err error) {
	p, ok := s.policy.(Saver)
	size, valid := validState(pieces, owner)
	if !ok || s.begun || !valid {
		return size, ErrState
	}
	s.begun = true
	next, stop := iter.Pull(pieces)
	defer stop()
	r := &StateReader{reader{more: next, rest: size}}
	r.take(9)
	s.cycle = int(r.Uint(1 << 30))
	n := r.count(12)
	s.home = graph.Node(r.Uint(uint64(n))) - 1 // graph.None is 0−1
	s.key, s.gone, s.last = make([]Key, n), make([]bool, n), make([]int32, n)
	s.docs.docs = make([]packed, n)
	s.node.grow(nil, n)
	last, at := Key(0), Time(0)
	for v := range graph.Node(n) {
		last += Key(r.Int())
		s.key[v] = last
		if _, twice := s.node.find(s.key, last); twice {
			r.Fail()
		} else {
			s.node.add(s.key, v)
		}
		flags := r.Uint(2*stateGone - 1)
		var d Profile
		d.setStateFlags(uint8(flags))
		s.gone[v] = flags&stateGone != 0
		d.Template, d.List = int32(r.Uint(math.MaxInt32)), int32(r.Uint(math.MaxInt32))
		d.Number, d.Depth, d.Links = int(r.Uint(math.MaxInt)), int(r.Uint(math.MaxInt)), int(r.Uint(math.MaxInt))
		d.Born = int(r.Uint(uint64(s.cycle)))
		s.last[v] = int32(s.cycle) - int32(r.Uint(uint64(s.cycle)))
		for _, t := range []*Time{&d.Seen, &d.Published} {
			at += Time(r.Int())
			*t = at
		}
		if to := r.Nodes(n); len(to) > 0 {
			s.kids[v] = to
		}
		if d.Kind == Sitemap {
			if to := r.Nodes(n); len(to) > 0 {
				s.sitemaps[v] = to
			}
		}
		if d.Kind > Sitemap {
			r.Fail()
		}
		if r.bad {
			return size, ErrState
		}
		s.docs.set(v, &d)
	}
	s.templates.number, s.lists.number = r.names(0), r.names(1)
	for i := range s.docs.docs {
		if d := &s.docs.docs[i]; int(d.template) >= len(s.templates.number) || int(d.list) > len(s.lists.number) {
			r.Fail()
		}
	}
	g := &s.signals
	told := r.count(17)
	for i := range told + 1 {
		d := signalled{same: int32(r.Uint(math.MaxInt32)), fetches: float32(r.Float()), changed: float32(r.Float())}
		if i == told {
			g.all = d
		} else {
			g.docs = append(g.docs, d)
		}
	}
	g.expected, g.missed = r.Float(), r.Float()
	if r.bad || told > n {
		return size, ErrState
	}
	p.SetState(r, &s.docs, s.cycle)
	if r.bad || len(r.b) > 0 || r.rest > 0 {
		return size, ErrState
	}
	return size, nil
}

// appendNames appends the names of numbers that begin with first.
func appendNames(b []byte, number map[string]int32, first int32) []byte {
	names := make([]string, len(number))
	for s, n := range number {
		names[n-first] = s
	}
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, s := range names {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

func (d *signalled) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(d.same))
	return AppendFloat(AppendFloat(b, float64(d.fetches)), float64(d.changed))
}

// AppendFloat appends a number to a state.
func AppendFloat(b []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
}

// AppendNodes appends a list of documents to a state, small where neighbours are near each other.
func AppendNodes(b []byte, list []graph.Node) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	last := graph.Node(0)
	for _, v := range list {
		b = binary.AppendVarint(b, int64(v)-int64(last))
		last = v
	}
	return b
}

// A StateReader takes values off the front of a state. Once one cannot be, it returns zeros.
type StateReader struct{ reader }

// Fail says that what was read cannot be.
func (r *StateReader) Fail() { r.fail() }

// Uint reads a uvarint of at most most.
func (r *StateReader) Uint(most uint64) uint64 {
	x := r.uvarint()
	if x > most {
		r.Fail()
		return 0
	}
	return x
}

// Int reads a varint.
func (r *StateReader) Int() int64 { return r.varint() }

// Float reads a number that AppendFloat appended.
func (r *StateReader) Float() float64 {
	if b := r.take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// Nodes reads a list that AppendNodes appended, of documents below n; nil if there are none.
func (r *StateReader) Nodes(n int) []graph.Node {
	var out []graph.Node
	if size := r.count(1); size > 0 {
		out = make([]graph.Node, size)
	}
	last := int64(0)
	for i := range out {
		last += r.Int()
		if last < 0 || last >= int64(n) {
			r.Fail()
			return nil
		}
		out[i] = graph.Node(last)
	}
	return out
}

// names reads what appendNames appended.
func (r *StateReader) names(first int32) map[string]int32 {
	n := r.count(1)
	number := make(map[string]int32, n)
	for i := range n {
		number[string(r.take(r.uvarint()))] = first + int32(i)
	}
	if len(number) != n {
		r.Fail()
	}
	return number
}

// appendState appends what a roster knows, but for what is in the profiles.
func (r *roster) appendState(b []byte) []byte {
	for v := range r.profiles {
		gone := 0
		if r.gone[v] {
			gone = 1
		}
		b = binary.AppendUvarint(b, uint64((r.cycle-int(r.last[v]))<<1|gone))
	}
	var queue []graph.Node // what oldest would leave out is left out
	for _, t := range r.queue {
		if t.last == r.last[t.v] && !r.gone[t.v] {
			queue = append(queue, t.v)
		}
	}
	return AppendNodes(b, queue)
}

// setState reads what appendState appended.
func (r *roster) setState(from *StateReader, all *Profiles, cycle int) {
	docs := all.All()
	n := len(docs)
	r.profiles = docs
	r.known, r.gone, r.born, r.last = make([]bool, n), make([]bool, n), make([]int32, n), make([]int32, n)
	r.count, r.cycle, r.queue = n, cycle, nil
	for v := range docs {
		x := from.Uint(uint64(cycle)<<1 | 1)
		r.known[v], r.gone[v], r.born[v], r.last[v] = true, x&1 != 0, int32(docs[v].Born), int32(cycle)-int32(x>>1)
	}
	for _, v := range from.Nodes(n) {
		r.queue = append(r.queue, turn{v, r.last[v]})
	}
}
