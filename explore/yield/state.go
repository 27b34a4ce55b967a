package yield

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
)

// AppendState and SetState keep what a Site, Params, Canonicals, Names or Segments knows from one process
// to the next. What was kept goes on as what was not would: the order of groups is kept, too, since
// later ones take the places of those forgotten. Texts that were read and fetches under way are left out,
// as where a Site is made anew from URLs and outcomes.
//
// In uvarints where nothing else is said; floating-point numbers and hashes take 8 bytes; texts are a
// length and bytes; sets and maps are n, then each, in ascending order:
//
//	Site        n, then each group: key; if that is not 0: name, good, bad, dry, seen, left, fetched, chances,
//	            trials, by; free places; hashes seen once
//	Params      n, then each name: name, seen, same, other, flags; n, then each page: key, hash; the
//	            oldest; sessions; pages of earlier cycles: key, hash
//	Canonicals  n, then each route: template, pages, n, then each form: form, count
//	Names       hashes; paths: hash, count
//	Segments    pages: hash, value, text, same; places: hash, same, differ, pages

// ErrState says that bytes are not what AppendState appended.
var ErrState = errors.New("yield: not a state")

// A state is what is left to be read. Once bad, it gives zeros.
type state struct {
	b   []byte
	bad bool
}

func (r *state) uint(most uint64) uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 || x > most {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *state) int() int { return int(r.uint(math.MaxInt32)) }

// count reads a number of things of at least size bytes each, at most that many.
func (r *state) count(size, most int) int {
	return int(r.uint(uint64(min(most, len(r.b)/size))))
}

func (r *state) take(n int) []byte {
	if n > len(r.b) {
		r.b, r.bad = nil, true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *state) hash() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *state) float() float64 { return math.Float64frombits(r.hash()) }
func (r *state) text() string   { return string(r.take(int(r.uint(uint64(len(r.b)))))) }
func (r *state) bool() bool     { return r.uint(1) == 1 }

// end returns what is left behind a state.
func (r *state) end() (rest []byte, err error) {
	if r.bad {
		return nil, ErrState
	}
	return r.b, nil
}

func appendUints[T ~int | ~int32 | ~uint8 | ~uint32](b []byte, all ...T) []byte {
	for _, x := range all {
		b = binary.AppendUvarint(b, uint64(x))
	}
	return b
}

func appendHash(b []byte, h uint64) []byte { return binary.LittleEndian.AppendUint64(b, h) }
func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBool(b []byte, on bool) []byte {
	if on {
		return append(b, 1)
	}
	return append(b, 0)
}

// appendMap appends a map, each key and value by itself.
func appendMap[K cmp.Ordered, V any](b []byte, m map[K]V, each func(b []byte, k K, v V) []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = each(b, k, m[k])
	}
	return b
}

// readMap reads what appendMap appended: at most `most` of at least size bytes; nil for none.
func readMap[K comparable, V any](r *state, size, most int, each func() (K, V)) map[K]V {
	n := r.count(size, most)
	if n == 0 {
		return nil
	}
	m := make(map[K]V, n)
	for range n {
		k, v := each()
		m[k] = v
	}
	if len(m) != n {
		r.bad = true
	}
	return m
}

// AppendState appends what s knows.
func (s *Site) AppendState(b []byte) []byte {
	b = appendUints(b, len(s.groups))
	for i := range s.groups {
		g := &s.groups[i]
		if b = appendHash(b, g.key); g.key == 0 {
			continue
		}
		b = appendText(b, g.name)
		for _, x := range []float64{g.good, g.bad, g.dry} {
			b = appendHash(b, math.Float64bits(x))
		}
		b = appendUints(b, g.seen, g.left, g.fetched, uint32(g.chances), uint32(g.trials))
		b = appendUints(b, g.by[:]...)
	}
	b = appendUints(b, len(s.free))
	b = appendUints(b, s.free...)
	return appendMap(b, s.once, func(b []byte, k uint64, _ struct{}) []byte { return appendHash(b, k) })
}

// SetState makes s, which knows nothing, what AppendState appended, and returns what follows it.
func (s *Site) SetState(b []byte) (rest []byte, err error) {
	r := &state{b: b}
	s.groups = make([]group, r.count(8, 2*maxGroups))
	s.number = make(map[uint64]int32, len(s.groups))
	for i := range s.groups {
		g := &s.groups[i]
		if g.key = r.hash(); g.key == 0 {
			continue
		}
		s.number[g.key] = int32(i)
		g.name, g.good, g.bad, g.dry = r.text(), r.float(), r.float(), r.float()
		g.seen, g.left, g.fetched = uint32(r.uint(math.MaxUint32)), uint32(r.uint(math.MaxUint32)), uint32(r.uint(math.MaxUint32))
		g.chances, g.trials = uint8(r.uint(math.MaxUint8)), uint8(r.uint(math.MaxUint8))
		for o := range g.by {
			g.by[o] = uint32(r.uint(math.MaxUint32))
		}
	}
	for range r.count(1, len(s.groups)) {
		id := r.int()
		if id >= len(s.groups) || s.groups[id].key != 0 {
			return nil, ErrState
		}
		s.free = append(s.free, int32(id))
	}
	if s.once = readMap(r, 8, maxOnce, func() (uint64, struct{}) { return r.hash(), struct{}{} }); s.once == nil {
		s.once = map[uint64]struct{}{}
	}
	if len(s.number)+len(s.free) != len(s.groups) {
		return nil, ErrState
	}
	return r.end()
}

const (
	stateIgnored = 1 << iota
	stateDoubted
)

// AppendState appends what p knows, before Learned.
func (p *Params) AppendState(b []byte) []byte {
	b = appendMap(b, p.names, func(b []byte, name string, e *evidence) []byte {
		flags := 0
		if e.ignored {
			flags |= stateIgnored
		}
		if e.doubted {
			flags |= stateDoubted
		}
		return appendUints(appendText(b, name), e.seen, e.same, e.other, flags)
	})
	b = appendUints(b, len(p.held))
	for _, k := range p.held {
		b = appendHash(appendHash(b, k), p.pages[k])
	}
	b = appendBool(appendUints(b, p.oldest), p.sessions)
	return appendMap(b, p.earlier, func(b []byte, k, says uint64) []byte { return appendHash(appendHash(b, k), says) })
}

// SetState makes p, which knows nothing, what AppendState appended, and returns what follows it.
func (p *Params) SetState(b []byte) (rest []byte, err error) {
	r := &state{b: b}
	p.names = readMap(r, 5, maxNames, func() (string, *evidence) {
		name := r.text()
		e := &evidence{seen: r.int(), same: r.int(), other: r.int()}
		flags := r.uint(stateIgnored | stateDoubted)
		e.ignored, e.doubted = flags&stateIgnored != 0, flags&stateDoubted != 0
		return name, e
	})
	n := r.count(16, maxPairs)
	if p.names != nil {
		p.pages = make(map[uint64]uint64, n)
	}
	for range n {
		k := r.hash()
		p.held = append(p.held, k)
		if p.pages == nil {
			return nil, ErrState
		}
		p.pages[k] = r.hash()
	}
	p.oldest, p.sessions = int(r.uint(maxPairs-1)), r.bool()
	p.earlier = readMap(r, 16, maxPairs, func() (uint64, uint64) { return r.hash(), r.hash() })
	if len(p.pages) != len(p.held) {
		return nil, ErrState
	}
	return r.end()
}

// AppendState appends what c knows.
func (c *Canonicals) AppendState(b []byte) []byte {
	return appendMap(b, c.routes, func(b []byte, template string, r *route) []byte {
		b = appendUints(appendText(b, template), r.pages)
		return appendMap(b, r.forms, func(b []byte, form string, n int) []byte { return appendUints(appendText(b, form), n) })
	})
}

// SetState makes c, which knows nothing, what AppendState appended, and returns what follows it.
func (c *Canonicals) SetState(b []byte) (rest []byte, err error) {
	r := &state{b: b}
	c.routes = readMap(r, 3, maxRoutes, func() (string, *route) {
		return r.text(), &route{pages: r.int(), forms: readMap(r, 2, maxForms, func() (string, int) { return r.text(), r.int() })}
	})
	return r.end()
}

// AppendState appends what n knows.
func (n *Names) AppendState(b []byte) []byte {
	b = appendMap(b, n.names, func(b []byte, h uint64, _ struct{}) []byte { return appendHash(b, h) })
	return appendMap(b, n.paths, func(b []byte, h uint64, names uint8) []byte { return append(appendHash(b, h), names) })
}

// SetState makes n, which knows nothing, what AppendState appended, and returns what follows it.
func (n *Names) SetState(b []byte) (rest []byte, err error) {
	r := &state{b: b}
	n.names = readMap(r, 8, maxPaths*mostNames, func() (uint64, struct{}) { return r.hash(), struct{}{} })
	n.paths = readMap(r, 9, maxPaths, func() (uint64, uint8) {
		h := r.hash()
		if b := r.take(1); b != nil {
			return h, b[0]
		}
		return h, 0
	})
	if (n.names == nil) != (n.paths == nil) {
		return nil, ErrState
	}
	return r.end()
}

// AppendState appends what s knows.
func (s *Segments) AppendState(b []byte) []byte {
	b = appendMap(b, s.pages, func(b []byte, h uint64, v variant) []byte {
		return appendBool(appendHash(appendHash(appendHash(b, h), v.value), v.text), v.same)
	})
	return appendMap(b, s.places, func(b []byte, h uint64, p *place) []byte {
		return appendUints(appendHash(b, h), p.same, p.differ, p.pages)
	})
}

// SetState makes s, which knows nothing, what AppendState appended, and returns what follows it.
func (s *Segments) SetState(b []byte) (rest []byte, err error) {
	r := &state{b: b}
	s.pages = readMap(r, 25, maxVariants, func() (uint64, variant) {
		return r.hash(), variant{value: r.hash(), text: r.hash(), same: r.bool()}
	})
	s.places = readMap(r, 11, math.MaxInt32, func() (uint64, *place) {
		return r.hash(), &place{same: r.int(), differ: r.int(), pages: r.int()}
	})
	if s.places == nil && s.pages != nil {
		s.places = map[uint64]*place{}
	}
	return r.end()
}
