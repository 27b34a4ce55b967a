package link

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

// Blocks appends, for each block of text of the page (a paragraph, a cell, a heading; the title
// too), a hash of its words to into; the lowest byte of it is how many words they are, up to 255.
// shape is a hash of all words without a digit in their order, so that pages that differ in
// numbers alone have the same. Case and what stands between words do not count, scripts and
// styles are left out. O(length of the page).
func (p *Page) Blocks(into []uint64) (blocks []uint64, shape uint64) {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	shape = offset
	block, words := uint64(offset), uint64(0)
	end := func() {
		if words > 0 {
			block ^= block >> 29 // so that the bits that are kept depend on all
			into = append(into, block*prime&^0xff|min(words, 0xff))
			block, words = offset, 0
		}
	}
	text := func(b []byte) {
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
			block = (block ^ word) * prime
			words++
			if !number {
				shape = (shape ^ word) * prime
			}
		}
	}
	s, title := scanner{b: p.text}, false
	for {
		switch s.next() {
		case endOfInput:
			end()
			return into, shape
		case textToken:
			text(s.text)
		case rawToken:
			if title {
				end()
				text(s.text)
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

func inWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80
}
