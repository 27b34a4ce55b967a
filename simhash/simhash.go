// Package simhash tells which texts say nearly the same, by a fingerprint of 64 bits of each: those of two texts that
// have most runs of words in common differ in few bits [Char02].
//
// A Sketch takes in a text and sums it up. First finds, among very many fingerprints, those that differ in at most
// Distance bits from an earlier one [MJS07]. The package knows texts and numbers alone, no page and no store.
package simhash

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	// Shingle is how many words in a row are one feature of a text. It is a definition.
	Shingle = 3
	// MinWords is how many words a text has at least that has a fingerprint: as many as a fingerprint has bits. It is a
	// definition. A shorter text is a label, a form or a remark, and says what very many others say.
	MinWords = 64
)

// A Sketch sums up the shingles of a text. Each is hashed to 64 bits; the fingerprint has those bits that more than
// half of the shingles have [Char02], as [MJS07] uses it, with shingles for features and their number for a weight.
// The zero Sketch is that of the empty text.
//
// A word is a run of letters and digits. The case of ASCII letters does not count. A character of a script that is
// written without spaces, such as Chinese or Thai, is a word of its own.
type Sketch struct {
	last  [Shingle - 1]uint64 // hashes of the words before, the latest first
	words int

	// Bit i of plane k is bit k of the counter of bit i of the hashes. Hashes are added by eights, through a tree of
	// carry-save adders: of so many one carry goes on to the fourth plane.
	planes  [24]uint64
	pending [8]uint64 // hashes that are yet to be added
	waiting int       // of these
}

// Reset makes s the sketch of the empty text.
func (s *Sketch) Reset() { *s = Sketch{} }

// Add takes in more of the text, in UTF-8; what was read before ends with a word. O(bytes): about 1 ns for each of English.
func (s *Sketch) Add(text []byte) {
	from, before := -1, uint64(0)
	for at := 0; at < len(text); at += 64 {
		in := wordBytes(text[at:])
		edges := in ^ (in<<1 | before) // where a word begins, or has just ended
		before = in >> 63
		for ; edges != 0; edges &= edges - 1 {
			i := at + bits.TrailingZeros64(edges)
			if from < 0 {
				from = i
				continue
			}
			if n := i - from; n <= 8 && from+8 <= len(text) {
				behind := uint(64-8*n) & 63
				if x := binary.LittleEndian.Uint64(text[from:]) << behind; x&highs == 0 { // most words of most texts
					s.word(mix(x>>behind | spaces))
					from = -1
					continue
				}
			}
			s.run(text, from, i)
			from = -1
		}
	}
	if from >= 0 {
		s.run(text, from, len(text))
	}
}

const (
	lows   = 0x0101010101010101
	highs  = 0x80 * lows
	spaces = 0x20 * lows // set in ASCII letters, they are in lower case; digits have it
)

// wordBytes has a bit for each of the first 64 bytes of b, the lowest for the first: whether it may belong to a word. That
// are ASCII letters and digits, with ten control characters that texts do not have, and all that is not ASCII.
func wordBytes(b []byte) (in uint64) {
	for i := 0; i < min(len(b), 64); i += 8 {
		x := uint64(0)
		switch rest := len(b) - i; {
		case rest >= 8:
			x = binary.LittleEndian.Uint64(b[i:])
		case i > 0:
			x = binary.LittleEndian.Uint64(b[len(b)-8:]) >> (8 * (8 - rest))
		default:
			x = eight(b, 0, rest)
		}
		y := x&^highs | spaces
		digits := (y + (0x80-'0')*lows) &^ (y + (0x7f-'9')*lows)
		letters := (y + (0x80-'a')*lows) &^ (y + (0x7f-'z')*lows)
		in |= ((digits | letters | x) & highs >> 7) * 0x0102040810204080 >> 56 << i // the high bits, side by side
	}
	return in
}

// run takes in text[from:to], which wordBytes has found to be one run: a word, where it is ASCII.
func (s *Sketch) run(text []byte, from, to int) {
	hash := uint64(0)
	for i := from; ; i += 8 {
		x := eight(text, i, to)
		if x&highs != 0 {
			s.letters(text[from:to])
			return
		}
		if hash = mix(hash ^ (x | spaces)); to-i <= 8 {
			s.word(hash)
			return
		}
	}
}

// eight is up to eight bytes of text[i:to], the first one the lowest.
func eight(text []byte, i, to int) (x uint64) {
	n := to - i
	if i+8 <= len(text) {
		x = binary.LittleEndian.Uint64(text[i:])
		if n < 8 {
			x &= 1<<(8*n) - 1
		}
		return x
	}
	for k := range min(n, 8) {
		x |= uint64(text[i+k]) << (8 * k)
	}
	return x
}

// letters takes in a run that is not all ASCII: words of any script.
func (s *Sketch) letters(run []byte) {
	hash, some := uint64(0), false
	end := func() {
		if some {
			s.word(hash)
		}
		hash, some = 0, false
	}
	for i := 0; i < len(run); {
		if run[i] < utf8.RuneSelf {
			from := i
			for i < len(run) && i < from+8 && run[i] < utf8.RuneSelf {
				i++
			}
			hash, some = mix(hash^(eight(run, from, i)|spaces)), true
			continue
		}
		r, n := utf8.DecodeRune(run[i:])
		i += n
		switch classOf(r) {
		case letter:
			hash, some = mix(hash^uint64(r)), true
		case alone:
			end()
			s.word(mix(uint64(r)))
		default:
			end()
		}
	}
	end()
}

// A class says what a character that is not ASCII is to a word.
type class uint8

const (
	letter    class = iota // belongs to one
	alone                  // is one
	separator              // ends one
)

// classOf goes by blocks of Unicode, which is enough to tell texts apart.
func classOf(r rune) class {
	switch {
	case r < 0xc0: // Latin-1 signs and spaces, but for three letters
		if r != 0xaa && r != 0xb5 && r != 0xba {
			return separator
		}
	case 0x0e00 <= r && r <= 0x0eff, 0x1000 <= r && r <= 0x109f, 0x1780 <= r && r <= 0x17ff: // Thai, Lao, Burmese, Khmer
		return alone
	case 0x2000 <= r && r <= 0x2bff, 0x3000 <= r && r <= 0x303f, 0xfe10 <= r && r <= 0xfe6f, 0xff00 <= r && r <= 0xff0f, 0xe000 <= r && r <= 0xf8ff, 0x1f000 <= r && r <= 0x1faff:
		return separator // punctuation, signs, spaces, private use, emoji
	case 0x3040 <= r && r <= 0x30ff, 0x3400 <= r && r <= 0x9fff, 0xf900 <= r && r <= 0xfaff, 0x20000 <= r && r <= 0x3ffff: // kana, Chinese characters
		return alone
	}
	return letter
}

// mix is a hash of 64 bits: both halves of a product.
func mix(x uint64) uint64 {
	high, low := bits.Mul64(x, 0x9e3779b97f4a7c15)
	return high ^ low
}

// word takes in a word by its hash.
func (s *Sketch) word(hash uint64) {
	shingle := mix(hash ^ bits.RotateLeft64(s.last[0], 21) ^ bits.RotateLeft64(s.last[1], 42))
	s.last[1], s.last[0] = s.last[0], hash
	if s.words++; s.words < Shingle {
		return
	}
	s.pending[s.waiting&7] = shingle
	if s.waiting++; s.waiting == len(s.pending) {
		s.waiting = 0
		s.count()
	}
}

// count adds the eight hashes that wait.
func (s *Sketch) count() {
	w, p := &s.pending, &s.planes
	one, twoA := add(p[0], w[0], w[1])
	one, twoB := add(one, w[2], w[3])
	two, fourA := add(p[1], twoA, twoB)
	one, twoA = add(one, w[4], w[5])
	one, twoB = add(one, w[6], w[7])
	two, fourB := add(two, twoA, twoB)
	four, carry := add(p[2], fourA, fourB)
	p[0], p[1], p[2] = one, two, four
	s.carry(3, carry)
}

// add adds three bits, 64 times.
func add(a, b, c uint64) (sum, carry uint64) {
	x := a ^ b
	return x ^ c, a&b | x&c
}

// carry adds bits to the counters from plane k on.
func (s *Sketch) carry(k int, bits uint64) {
	for ; bits != 0 && k < len(s.planes); k++ {
		s.planes[k], bits = s.planes[k]^bits, s.planes[k]&bits
	}
}

// Sum is the fingerprint of the text so far, 0 where it has fewer than MinWords words. It is never 0 elsewhere.
func (s *Sketch) Sum() uint64 {
	if s.words < MinWords {
		return 0
	}
	for _, hash := range s.pending[:s.waiting] {
		s.carry(0, hash)
	}
	s.waiting = 0
	most := uint64(s.words-Shingle+1) / 2
	more, same := uint64(0), ^uint64(0) // counters that are larger than most by their upper bits, and those that are not yet told apart
	for k := len(s.planes) - 1; k >= 0; k-- {
		if most>>k&1 == 0 {
			more |= same & s.planes[k]
			same &^= s.planes[k]
		} else {
			same &= s.planes[k]
		}
	}
	return max(more, 1)
}
