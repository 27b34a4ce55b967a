package crawl

import (
	"cmp"
	"strings"

	"forage/explore/yield"
	"forage/internal/heap"
)

// A past is what the store knows that a worth was told, brought into the order in which it was told:
// which groups a URL belongs to, and how much of a failure each is charged with, depends on what was
// known by then. So each document has the number of what was told of it when it was fetched or left
// out (store.Doc.Learned), among all that was told of its site, documents that became known
// included. These are known by their own numbers. O(log n) for each of n documents whose turn has not
// come: no more than were ever in line at once. Each takes 12 bytes and its URL, in pieces of pieceSize that
// are given back one after another: of a site of a million pages very many have to wait.
type past struct {
	waits  heap.Heap[waiting]
	pieces []piece // that hold URLs
	first  uint32  // the number of pieces[0]
}

// An event is what package yield is told of a document that it was told of before.
type event struct {
	at   uint32 // see store.Doc.Learned
	url  string
	left bool          // it was left out; else it brought
	o    yield.Outcome // this
}

// A waiting is an event whose turn has not come.
type waiting struct {
	at    uint32
	piece uint32
	from  uint16 // in its piece: the length of the URL, and the URL
	left  bool
	o     yield.Outcome
}

const (
	pieceSize = 1 << 15
	maxURL    = pieceSize - 2 // longer ones have a piece by themselves
)

type piece struct {
	b    []byte
	uses int // events that are not told yet
}

func (p *past) add(e event) {
	if p.waits.Before == nil {
		p.waits.Before = func(a, b waiting) bool {
			if a.at != b.at {
				return a.at < b.at
			}
			return cmp.Or(strings.Compare(p.url(a), p.url(b)), cmp.Compare(a.o, b.o)) < 0
		}
	}
	last := len(p.pieces) - 1
	if last < 0 || cap(p.pieces[last].b)-len(p.pieces[last].b) < 2+len(e.url) {
		p.pieces = append(p.pieces, piece{b: make([]byte, 0, max(pieceSize, 2+len(e.url)))})
		last++
	}
	in := &p.pieces[last]
	w := waiting{e.at, p.first + uint32(last), uint16(len(in.b)), e.left, e.o}
	if len(e.url) > maxURL {
		in.b = append(append(in.b, 0xff, 0xff), e.url...)
	} else {
		in.b = append(append(in.b, byte(len(e.url)), byte(len(e.url)>>8)), e.url...)
	}
	in.uses++
	p.waits.Push(w)
}

func (p *past) url(w waiting) string {
	b := p.pieces[w.piece-p.first].b[w.from:]
	if b[0] == 0xff && b[1] == 0xff {
		return string(b[2:])
	}
	return string(b[2 : 2+int(b[0])+int(b[1])<<8])
}

// next returns the first event, if it is one of the first n things told.
func (p *past) next(n uint32) (e event, ok bool) {
	if p.waits.Len() == 0 || p.waits.Items[0].at > n {
		return e, false
	}
	w := p.waits.Pop()
	e = event{w.at, p.url(w), w.left, w.o}
	if in := &p.pieces[w.piece-p.first]; in.uses == 1 && w.piece-p.first < uint32(len(p.pieces)-1) {
		in.uses, in.b = 0, nil
	} else {
		in.uses--
	}
	gone := 0
	for gone < len(p.pieces)-1 && p.pieces[gone].uses == 0 {
		gone++
	}
	p.pieces, p.first = p.pieces[gone:], p.first+uint32(gone)
	return e, true
}
