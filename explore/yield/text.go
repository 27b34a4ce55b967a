package yield

import (
	"slices"
	"strings"
)

// A Text is what a page says, as far as it is compared with other pages.
type Text struct {
	Blocks []uint64 // of each block, such as a paragraph or a cell: a hash of its words, in the lowest byte how many they are
	Shape  uint64   // hash of all words that have no digit, in their order
}

// A page whose URL invites doubt has text of its own if an eighth of its words, or some twenty,
// stand in blocks that no page read before had: lists of what is known, in whatever order, and
// one text at several revisions have less. Measured on the generated sites in internal/software.
const (
	ownShare = 8
	ownWords = 20
	maxSeen  = 1 << 16 // hashes of texts that a site remembers
	rowLen   = 8       // of them that share a row of the table, a line of the cache
)

// A reader remembers the texts of pages, by hash, in a table that forgets: a hash has its place in one
// row of rowLen, the one met last in front, and in a full row the one that was met longest ago makes
// room. What is forgotten counts as new, so that pages are rather fetched. With a single place a hash,
// as few as a thousand known texts pushed each other out of a table of 65,536 often enough for every
// other filtered list of a shop to count as content.
type reader struct {
	texts []uint64 // rows of rowLen; 0: nothing
	held  int
}

// remember returns whether a hash was met before, and remembers it. O(rowLen).
func (r *reader) remember(h uint64) bool {
	if 2*r.held >= len(r.texts) && len(r.texts) < maxSeen {
		old := r.texts
		r.texts, r.held = make([]uint64, max(1<<8, 4*len(old))), 0
		for row := 0; row < len(old); row += rowLen {
			for i := rowLen - 1; i >= 0; i-- { // the one met last comes to stand in front again
				if h := old[row+i]; h != 0 {
					r.remember(h)
				}
			}
		}
	}
	at := int(h>>8) & (len(r.texts)/rowLen - 1) * rowLen
	row := r.texts[at : at+rowLen]
	i := slices.Index(row, h)
	met := i >= 0
	if !met {
		if i = rowLen - 1; row[i] == 0 {
			r.held++
		}
	}
	copy(row[1:i+1], row[:i])
	row[0] = h
	return met
}

// Doubts reports whether the text of a page should be given to Read: its URL has parameters, or a
// hash in its path, so that it is of the kind of which software makes many for one text.
func Doubts(url string) bool {
	path, _, query := strings.Cut(url, "?")
	if query || strings.IndexByte(path, ';') >= 0 {
		return true
	}
	for segment := range strings.SplitSeq(path, "/") {
		if classOf(segment) == '~' {
			return true
		}
	}
	return false
}

// Read compares the text of a page with those read before: Repeat where it has none of its own,
// Alike where another page had the same but for numbers, else Content.
func (s *Site) Read(t Text) Outcome {
	words, own := 0, 0
	for _, b := range t.Blocks {
		n := int(b & 0xff)
		words += n
		if !s.remember(b) {
			own += n
		}
	}
	alike := s.remember(t.Shape&^0xff | 0xff)
	switch {
	case own < ownWords && own*ownShare < words:
		return Repeat
	case alike:
		return Alike
	}
	return Content
}
