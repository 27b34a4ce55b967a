package revisit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"forage/graph"
)

// A record is what Site was told in Start or in one cycle, in uvarints and strings (a uvarint
// length, then bytes):
//
//	start      1 documents
//	cycle      2 full(0|1) now(zigzag) budget fetches… 0 documents
//	fetch      1+node flags cost(float64, 8 bytes) links keys documents [same]
//	same       n, then each key ascending, as the difference to the one before; only with flagSame
//	documents  n, then each: key flags path links [seen(zigzag)] [published(zigzag)] keys
//	keys       n, then each; with flagLinks ascending, as the difference to the one before
//
// Each time of a document is there with its flag only, and the difference to the one before it in
// the list; to the time of the cycle for the first one, to 0 in Start.
//
// The documents of a full recrawl stand at its end, else with the fetch that found them. Keys
// of links are kept only where Replay needs them; all to known documents, and so flagged, where the
// policy is a LinkObserver.
//
// It holds what the caller said, not what Site made of it, so that a later version may work out
// in another way what fetches led to; and nothing of the policy but what it chose, so that any
// policy can take over. But fetches name their documents by node: the order in which learn gives
// numbers is part of the format. appendFetch must run before the fetch changes last and gone,
// from which it tells what Replay needs.
const (
	recordStart = 1
	recordCycle = 2
)

const (
	flagNotModified = 1 << iota
	flagGone
	flagFailed
	flagChanged
	flagSame     // not in records of versions that knew no signals
	flagModified // of those that knew of changed links only, which imply it
)

const (
	flagKind      = 3 // mask
	flagHome      = 4
	flagWellKnown = 8
	flagSeen      = 16 // this and the next not in records of versions that knew no times
	flagPublished = 32
	flagLinks     = 64 // all links to known documents, of which LinkObservers are told
)

// Record returns what happened since the last call of Record, at Start or in the last cycle.
// It belongs to the caller.
func (s *Site) Record() []byte {
	r := append([]byte(nil), s.record...)
	s.record = s.record[:0]
	return r
}

func appendKeys(b []byte, keys []Key) []byte {
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, k := range keys {
		b = binary.AppendUvarint(b, uint64(k))
	}
	return b
}

// appendAscending writes keys in ascending order as differences.
func appendAscending(b []byte, keys []Key) []byte {
	b = binary.AppendUvarint(b, uint64(len(keys)))
	last := Key(0)
	for _, k := range keys {
		b = binary.AppendUvarint(b, uint64(k-last))
		last = k
	}
	return b
}

// needed reports whether Replay needs the link of d to u.
func (s *Site) needed(d *Document, u graph.Node) bool {
	return s.cycle > 0 && int(s.docs.born(u)) == s.cycle || s.docs.kind(u) != HTML && (d.Kind == Sitemap || d.Home)
}

func (s *Site) appendDocuments(b []byte, docs []Document) []byte {
	b = binary.AppendUvarint(b, uint64(len(docs)))
	last, all := s.now, s.WantsLinks()
	for i := range docs {
		d := &docs[i]
		flags := uint64(d.Kind)
		if d.Home {
			flags |= flagHome
		}
		if d.WellKnown {
			flags |= flagWellKnown
		}
		if d.Seen != 0 {
			flags |= flagSeen
		}
		if d.Published != 0 {
			flags |= flagPublished
		}
		if all {
			flags |= flagLinks
		}
		b = binary.AppendUvarint(b, uint64(d.Key))
		b = binary.AppendUvarint(b, flags)
		b = binary.AppendUvarint(b, uint64(len(d.Path)))
		b = append(b, d.Path...)
		b = binary.AppendUvarint(b, uint64(max(d.NumLinks, len(d.Links))))
		for _, t := range []Time{d.Seen, d.Published} {
			if t != 0 {
				b = binary.AppendVarint(b, int64(t-last))
				last = t
			}
		}
		var links []Key
		for _, k := range d.Links {
			if u, ok := s.node.find(s.key, k); ok && (all || s.needed(d, u)) {
				links = append(links, k)
			}
		}
		if all {
			b = appendAscending(b, links)
		} else {
			b = appendKeys(b, links)
		}
	}
	return b
}

func (s *Site) appendFetch(b []byte, v graph.Node, a *Answer) []byte {
	var flags uint64
	for i, on := range []bool{a.NotModified, a.Gone, a.Failed, a.Changed, len(a.Same) > 0, a.Modified} {
		if on {
			flags |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, 1+uint64(v))
	b = binary.AppendUvarint(b, flags)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(a.Cost))
	b = binary.AppendUvarint(b, uint64(a.Links))
	var gained []Key
	all := s.WantsLinks()
	for _, k := range a.Gained {
		if u, ok := s.node.find(s.key, k); ok && (all || s.docs.born(u) > s.last[v] || s.docs.kind(u) != HTML || s.gone[u]) {
			gained = append(gained, k)
		}
	}
	b = appendKeys(b, gained)
	b = s.appendDocuments(b, a.Found)
	if len(a.Same) > 0 {
		same := slices.Clone(a.Same)
		slices.Sort(same)
		b = appendAscending(b, same)
	}
	return b
}

// appendCycle puts the head of the cycle before its fetches and its end behind them.
func (s *Site) appendCycle(fetches []byte) []byte {
	b := []byte{recordCycle, 0}
	if s.full {
		b[1] = 1
	}
	b = binary.AppendVarint(b, int64(s.now))
	b = binary.AppendUvarint(b, uint64(max(0, s.budget)))
	b = append(append(b, fetches...), 0)
	return s.appendDocuments(b, s.fresh)
}

// ErrRecord says that a record is not one that Record returned, or does not follow on those
// before it.
var ErrRecord = errors.New("revisit: corrupt record")

// Replay does what a record tells. Call it with all records of a site in their order, before
// anything else. After an error, which wraps ErrRecord, the Site is of no use.
func (s *Site) Replay(record []byte) error {
	r := &reader{b: record}
	switch kind := r.byte(); kind {
	case recordStart:
		docs := r.documents()
		if r.bad || s.begun {
			return fmt.Errorf("%w: first crawl", ErrRecord)
		}
		s.Start(docs)
	case recordCycle:
		full := r.byte() == 1
		now, budget := Time(r.varint()), int(r.uvarint())
		r.now = now
		if r.bad || !s.begun {
			return fmt.Errorf("%w: a cycle before the first crawl", ErrRecord)
		}
		if p, ok := s.policy.(Replayer); ok {
			p.Replaying(true)
			defer p.Replaying(false)
		}
		s.begin(now, budget, full)
		for {
			v, a, ok := r.fetch()
			if !ok {
				break
			}
			if r.bad || int(v) >= s.docs.Len() {
				return fmt.Errorf("%w: cycle %d: document %d of %d", ErrRecord, s.cycle, v, s.docs.Len())
			}
			s.Observe(v, a)
		}
		s.fresh = r.documents()
		if r.bad || !full && len(s.fresh) > 0 {
			return fmt.Errorf("%w: cycle %d", ErrRecord, s.cycle)
		}
		s.End()
	default:
		return fmt.Errorf("%w: kind %d", ErrRecord, kind)
	}
	if len(r.b) > 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrRecord, len(r.b))
	}
	s.record = s.record[:0]
	return nil
}

// A reader takes values off the front of a record. Once bad, it returns zeros.
type reader struct {
	b   []byte
	now Time // of the cycle
	bad bool

	more func() ([]byte, bool) // pieces that follow b; nil: none do
	rest int                   // their bytes
	buf  []byte                // has b, where pieces follow
}

func (r *reader) fail() { r.bad, r.b, r.more, r.rest = true, nil, nil, 0 }

// fill has b hold n bytes, if there are as many left. What take returned is not valid any more.
func (r *reader) fill(n uint64) {
	for uint64(len(r.b)) < n && r.more != nil {
		piece, ok := r.more()
		if !ok || len(piece) > r.rest {
			r.more, r.rest = nil, 0
			return
		}
		r.buf = append(append(r.buf[:0], r.b...), piece...)
		r.b = r.buf
		r.rest -= len(piece)
	}
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fill(n)
	}
	if r.bad || n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	if len(r.b) < binary.MaxVarintLen64 {
		r.fill(binary.MaxVarintLen64)
	}
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) varint() int64 {
	if len(r.b) < binary.MaxVarintLen64 {
		r.fill(binary.MaxVarintLen64)
	}
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

// count reads a number of things of at least size bytes each.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n > uint64((len(r.b)+r.rest)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) keys() []Key {
	var out []Key
	for range r.count(1) {
		out = append(out, Key(r.uvarint()))
	}
	return out
}

func (r *reader) ascending() []Key {
	var out []Key
	last := Key(0)
	for range r.count(1) {
		last += Key(r.uvarint())
		out = append(out, last)
	}
	return out
}

func (r *reader) documents() []Document {
	var out []Document
	last := r.now
	for range r.count(5) {
		d := Document{Key: Key(r.uvarint())}
		flags := r.uvarint()
		d.Kind, d.Home, d.WellKnown = Kind(flags&flagKind), flags&flagHome != 0, flags&flagWellKnown != 0
		d.Path = string(r.take(r.uvarint()))
		d.NumLinks = int(r.uvarint())
		if flags&flagSeen != 0 {
			last += Time(r.varint())
			d.Seen = last
		}
		if flags&flagPublished != 0 {
			last += Time(r.varint())
			d.Published = last
		}
		if flags&flagLinks != 0 {
			d.Links = r.ascending()
		} else {
			d.Links = r.keys()
		}
		r.bad = r.bad || d.Kind > Sitemap
		out = append(out, d)
	}
	return out
}

// fetch returns ok=false at the end of a cycle's fetches.
func (r *reader) fetch() (v graph.Node, a Answer, ok bool) {
	n := r.uvarint()
	if n == 0 {
		return 0, a, false
	}
	flags := r.uvarint()
	a.NotModified, a.Gone = flags&flagNotModified != 0, flags&flagGone != 0
	a.Failed, a.Changed, a.Modified = flags&flagFailed != 0, flags&flagChanged != 0, flags&flagModified != 0
	if b := r.take(8); b != nil {
		a.Cost = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	a.Links = int(r.uvarint())
	a.Gained, a.Found = r.keys(), r.documents()
	if flags&flagSame != 0 {
		a.Same = r.ascending()
	}
	return graph.Node(n - 1), a, true
}
