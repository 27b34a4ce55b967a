package link

import "net/url"

// inText are the elements that do not end a block of text.
var inText = func() map[name]bool {
	m := map[name]bool{}
	for _, n := range []string{
		"a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "label", "mark", "q", "s",
		"samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
	} {
		m[nameOf([]byte(n))] = true
	}
	return m
}()

// maxBlocks is how many blocks of text of a page are told apart: more than are ever remembered of a site.
const maxBlocks = 1 << 16

// Blocks appends, for each of the first 65,536 blocks of text of the page (a paragraph, a cell, a heading;
// the title too), a hash of its words to into; the lowest byte of it is how many words they are, up to 255.
// shape is a hash of all words without a digit in their order, so that pages that differ in
// numbers alone have the same. Case and what stands between words do not count, scripts and
// styles are left out. O(length of the page).
func (p *Page) Blocks(into []uint64) (blocks []uint64, shape uint64) {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	shape = offset
	block, words := uint64(offset), uint64(0)
	end := func() {
		if words > 0 {
			if len(into) < maxBlocks {
				block ^= block >> 29 // so that the bits that are kept depend on all
				into = append(into, block*prime&^0xff|min(words, 0xff))
			}
			block, words = offset, 0
		}
	}
	text := func(b []byte) {
		eachWord(b, func(word uint64, number bool) {
			block = (block ^ word) * prime
			words++
			if !number {
				shape = (shape ^ word) * prime
			}
		})
	}
	p.eachText(text, end)
	end()
	return into, shape
}

// eachText calls text for each run of text of the page, that of its title too, and end wherever a
// block of text ends.
func (p *Page) eachText(text func([]byte), end func()) {
	s, title := scanner{b: p.text}, false
	for {
		switch s.next() {
		case endOfInput:
			return
		case textToken:
			text(s.words())
		case rawToken:
			if title {
				end()
				text(s.words())
				end()
			}
			title = false
		case startToken:
			title = s.tag == tagTitle
			if !inText[s.tag] {
				end()
			}
		case endToken:
			if !inText[s.tag] {
				end()
			}
		}
	}
}

// Says returns a hash of what the page says whatever its address is: of all its words in their order,
// but for those with a digit and those of the addresses. So two answers for what is not there that
// repeat what was asked for have the same hash, where both get the addresses of both. It is never 0.
// O(length of the page).
func (p *Page) Says(addresses ...string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	echo := map[uint64]bool{}
	for _, a := range addresses {
		if plain, err := url.PathUnescape(a); err == nil {
			a = plain
		}
		eachWord([]byte(a), func(word uint64, _ bool) { echo[word] = true })
	}
	hash := uint64(offset)
	p.eachText(func(b []byte) {
		eachWord(b, func(word uint64, number bool) {
			if !number && !echo[word] {
				hash = (hash ^ word) * prime
			}
		})
	}, func() {})
	return max(hash, 1)
}

// eachWord calls yield with a hash of each word of a text, its case aside, and whether it has a digit.
func eachWord(b []byte, yield func(word uint64, number bool)) {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	for i := 0; i < len(b); {
		if !inWord(b[i]) {
			i++
			continue
		}
		word, number := uint64(offset), false
		for ; i < len(b) && inWord(b[i]); i++ {
			c := b[i]
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			number = number || '0' <= c && c <= '9'
			word = (word ^ uint64(c)) * prime
		}
		yield(word, number)
	}
}

func inWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80
}
