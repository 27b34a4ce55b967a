package text

import (
	"unicode"
	"unicode/utf8"
)

// A lead is what a line has before text that is to be escaped.
type lead uint8

const (
	within lead = iota // something
	start              // nothing, or stars
	later              // the same, in a block that has lines before
	digits             // digits alone, which may become the number of an item
)

// special are the characters that may mean something within a line.
var special = func() (is [256]bool) {
	for _, c := range "\\`*[]<_~&#" {
		is[c] = true
	}
	return is
}()

// escape appends a piece of a line so that Markdown takes it for text. It begins with no space, and returns what comes before the next one.
func escape(dst, b []byte, at lead) ([]byte, lead) {
	if at != within {
		i := 0
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		if i == len(b) {
			return append(dst, b...), digits
		}
		follows := byte(' ')
		if i+1 < len(b) {
			follows = b[i+1]
		}
		mark := false
		switch c := b[i]; {
		case i > 0 || at == digits:
			mark = (c == '.' || c == ')') && follows == ' '
		case c == '#' || c == '=' || c == '>' || c == '|' && at == later: // a heading, the line below one, a quote, what is below the head of a table
			mark = true
		case c == '-' || c == '+' || c == ':' && at == later: // an item, a line, what is below the head of a table
			mark = !wordly(follows)
		}
		if mark {
			dst = append(append(dst, b[:i]...), '\\', b[i])
			b = b[i+1:]
		}
	}
	for i := 0; i < len(b); {
		from := i
		for i < len(b) && !special[b[i]] {
			i++
		}
		if dst = append(dst, b[from:i]...); i == len(b) {
			break
		}
		c := b[i]
		means := true
		switch c {
		case '_': // within a word it is nothing
			before, _ := utf8.DecodeLastRune(b[:i])
			after, _ := utf8.DecodeRune(b[i+1:]) // neither is a letter at the ends
			means = !letter(before) || !letter(after)
		case '~': // one alone strikes nothing out
			means = i > 0 && b[i-1] == c || i+1 < len(b) && b[i+1] == c
		case '&':
			means = entity(b[i:], true)
		case '#': // a heading that ends with some would lose them
			means = i+1 == len(b)
		}
		if means {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
		i++
	}
	return dst, within
}

// maxEntity is how many bytes the longest entity of HTML has, &CounterClockwiseContourIntegral;.
const maxEntity = 33

// entity reports whether text begins with one, or may do so with more that comes behind it.
func entity[T string | []byte](s T, more bool) bool {
	for i := 1; i < min(len(s), maxEntity); i++ {
		switch c := s[i]; {
		case c == ';':
			return i > 1
		case c == '#' && i == 1, '0' <= c && c <= '9', 'a' <= c|0x20 && c|0x20 <= 'z':
		default:
			return false
		}
	}
	return more && len(s) < maxEntity
}

func letter(r rune) bool {
	return r < utf8.RuneSelf && wordly(byte(r)) || r >= utf8.RuneSelf && !symbol(r) && !unicode.IsSpace(r)
}

func wordly(c byte) bool {
	return c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
