package yield

import (
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Names bounds how many names of parameters a path has: software has some, what makes up names makes
// them without end, and no two URLs of a trap have a group in common that could be learned. The zero
// Names is ready.
type Names struct {
	names map[uint64]struct{} // by path and name
	paths map[uint64]uint8    // how many of them
}

// mostNames is how many names of parameters are believed of one path, numbers and hashes in them taken
// alike. Of the forms and facets of shops and wikis that we test with none has more than some twenty.
const mostNames = 64

// maxPaths bounds the paths that are counted.
const maxPaths = 1 << 12

// See takes in the names of a URL that became known: its path and query.
func (n *Names) See(url string) {
	path, query, ok := strings.Cut(url, "?")
	if !ok {
		return
	}
	at := xxhash.Sum64String(path)
	for k := 0; query != "" && k < maxParams; k++ {
		var name string
		name, _, query = param(query)
		if n.paths[at] >= mostNames || n.paths[at] == 0 && len(n.paths) >= maxPaths {
			return
		}
		key := nameAt(at, name)
		if _, known := n.names[key]; known {
			continue
		}
		if n.names == nil {
			n.names, n.paths = map[uint64]struct{}{}, map[uint64]uint8{}
		}
		n.names[key] = struct{}{}
		n.paths[at]++
	}
}

// Beyond reports whether a URL has a name of a parameter that came after the last one that is
// believed of its path.
func (n *Names) Beyond(url string) bool {
	path, query, ok := strings.Cut(url, "?")
	if !ok || len(n.paths) == 0 {
		return false
	}
	at := xxhash.Sum64String(path)
	if n.paths[at] < mostNames {
		return false
	}
	for k := 0; query != "" && k < maxParams; k++ {
		var name string
		name, _, query = param(query)
		if _, known := n.names[nameAt(at, name)]; !known {
			return true
		}
	}
	return false
}

func nameAt(path uint64, name string) uint64 {
	var buf [64]byte
	return path*31 + xxhash.Sum64(appendMasked(buf[:0], name))
}

// Segments learns which segments of paths do not change the page, as session numbers do not: from
// pages whose paths differ in that segment alone. The zero Segments is ready.
type Segments struct {
	pages  map[uint64]variant // by path without the segment
	places map[uint64]*place  // by what stands before the segment
}

// A variant is the first page of those whose paths differ in one segment alone.
type variant struct {
	value, text uint64
	same        bool // another one was the same page
}

// A place is where a segment stands: after a path that is the same for all.
type place struct {
	same, differ int
	pages        int // paths without the segment of which two or more were the same
}

// A segment is learned not to count from so many pages that are the same without it, at so many
// paths, with one in so many that is not: a shop of which all pages say the same but for the number
// of the product has no three pages under each.
const (
	sameSegments = 8
	samePaths    = 3
	differShare  = 16
	maxVariants  = 1 << 14
	maxDeep      = 5 // segments that are looked at
)

// Fetched takes in a page: its path and query, and a hash of its title and text, 0 where that says
// nothing.
func (s *Segments) Fetched(url string, text uint64) {
	if text == 0 {
		return
	}
	each(url, func(before, segment, after string) bool {
		key, at, value := without(before, after), xxhash.Sum64String(before), xxhash.Sum64String(segment)
		v, known := s.pages[key]
		switch {
		case !known && len(s.pages) >= maxVariants:
		case !known:
			if s.pages == nil {
				s.pages, s.places = map[uint64]variant{}, map[uint64]*place{}
			}
			s.pages[key] = variant{value: value, text: text}
		case v.value != value:
			p := s.places[at]
			if p == nil {
				p = new(place)
				s.places[at] = p
			}
			if v.text != text {
				p.differ++
				break
			}
			if p.same++; !v.same {
				p.pages++
				v.same = true
				s.pages[key] = v
			}
		}
		return true
	})
}

// Repeats reports whether a URL differs from that of a page which was fetched in a segment alone
// that was found not to count, and what stands before that segment.
func (s *Segments) Repeats(url string) (before string, ok bool) {
	if len(s.places) == 0 {
		return "", false
	}
	each(url, func(b, segment, after string) bool {
		if p := s.places[xxhash.Sum64String(b)]; p != nil && p.same >= sameSegments && p.pages >= samePaths && p.differ*differShare <= p.same {
			if v, known := s.pages[without(b, after)]; known && v.value != xxhash.Sum64String(segment) {
				before, ok = b, true
			}
		}
		return !ok
	})
	return before, ok
}

// each calls yield for each segment of the path that may be the number of a session: long enough,
// and with a digit.
func each(url string, yield func(before, segment, after string) bool) {
	path, _, _ := strings.Cut(url, "?")
	for n, from := 0, strings.IndexByte(path, '/')+1; n < maxDeep && from < len(path); n++ {
		to := strings.IndexByte(path[from:], '/')
		if to < 0 {
			to = len(path) - from
		}
		if segment := path[from : from+to]; len(segment) >= 6 && strings.ContainsAny(segment, "0123456789") {
			if !yield(path[:from], segment, url[from+to:]) {
				return
			}
		}
		from += to + 1
	}
}

func without(before, after string) uint64 {
	return xxhash.Sum64String(before)*0x9e3779b97f4a7c15 + xxhash.Sum64String(after)
}
