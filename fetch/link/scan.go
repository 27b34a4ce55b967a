package link

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// A token is what scanner.next stops at.
type token uint8

const (
	endOfInput token = iota
	textToken        // text, still with character references
	rawToken         // the content of an element that has no children; textarea and title have character references
	startToken
	endToken
)

// A name is a tag or attribute name in lower case: up to eight ASCII letters as they stand,
// the first in the lowest byte; others as a hash with the highest bit set.
type name uint64

const (
	tagA         name = 'a'
	tagArea      name = 'a' | 'r'<<8 | 'e'<<16 | 'a'<<24
	tagAudio     name = 'a' | 'u'<<8 | 'd'<<16 | 'i'<<24 | 'o'<<32
	tagBody      name = 'b' | 'o'<<8 | 'd'<<16 | 'y'<<24
	tagBase      name = 'b' | 'a'<<8 | 's'<<16 | 'e'<<24
	tagEmbed     name = 'e' | 'm'<<8 | 'b'<<16 | 'e'<<24 | 'd'<<32
	tagFeImage   name = 'f' | 'e'<<8 | 'i'<<16 | 'm'<<24 | 'a'<<32 | 'g'<<40 | 'e'<<48
	tagFrame     name = 'f' | 'r'<<8 | 'a'<<16 | 'm'<<24 | 'e'<<32
	tagIframe    name = 'i' | 'f'<<8 | 'r'<<16 | 'a'<<24 | 'm'<<32 | 'e'<<40
	tagImage     name = 'i' | 'm'<<8 | 'a'<<16 | 'g'<<24 | 'e'<<32
	tagImg       name = 'i' | 'm'<<8 | 'g'<<16
	tagInput     name = 'i' | 'n'<<8 | 'p'<<16 | 'u'<<24 | 't'<<32
	tagLink      name = 'l' | 'i'<<8 | 'n'<<16 | 'k'<<24
	tagMeta      name = 'm' | 'e'<<8 | 't'<<16 | 'a'<<24
	tagNoembed   name = 'n' | 'o'<<8 | 'e'<<16 | 'm'<<24 | 'b'<<32 | 'e'<<40 | 'd'<<48
	tagNoframes  name = 'n' | 'o'<<8 | 'f'<<16 | 'r'<<24 | 'a'<<32 | 'm'<<40 | 'e'<<48 | 's'<<56
	tagNoscript  name = 'n' | 'o'<<8 | 's'<<16 | 'c'<<24 | 'r'<<32 | 'i'<<40 | 'p'<<48 | 't'<<56
	tagObject    name = 'o' | 'b'<<8 | 'j'<<16 | 'e'<<24 | 'c'<<32 | 't'<<40
	tagScript    name = 's' | 'c'<<8 | 'r'<<16 | 'i'<<24 | 'p'<<32 | 't'<<40
	tagSource    name = 's' | 'o'<<8 | 'u'<<16 | 'r'<<24 | 'c'<<32 | 'e'<<40
	tagStyle     name = 's' | 't'<<8 | 'y'<<16 | 'l'<<24 | 'e'<<32
	tagSVG       name = 's' | 'v'<<8 | 'g'<<16
	tagUse       name = 'u' | 's'<<8 | 'e'<<16
	tagTable     name = 't' | 'a'<<8 | 'b'<<16 | 'l'<<24 | 'e'<<32
	tagTbody     name = 't' | 'b'<<8 | 'o'<<16 | 'd'<<24 | 'y'<<32
	tagTfoot     name = 't' | 'f'<<8 | 'o'<<16 | 'o'<<24 | 't'<<32
	tagThead     name = 't' | 'h'<<8 | 'e'<<16 | 'a'<<24 | 'd'<<32
	tagTemplate  name = 't' | 'e'<<8 | 'm'<<16 | 'p'<<24 | 'l'<<32 | 'a'<<40 | 't'<<48 | 'e'<<56
	tagTextarea  name = 't' | 'e'<<8 | 'x'<<16 | 't'<<24 | 'a'<<32 | 'r'<<40 | 'e'<<48 | 'a'<<56
	tagTitle     name = 't' | 'i'<<8 | 't'<<16 | 'l'<<24 | 'e'<<32
	tagTrack     name = 't' | 'r'<<8 | 'a'<<16 | 'c'<<24 | 'k'<<32
	tagVideo     name = 'v' | 'i'<<8 | 'd'<<16 | 'e'<<24 | 'o'<<32
	tagXmp       name = 'x' | 'm'<<8 | 'p'<<16
	hashedName   name = 1 << 63
	keyHref      name = 'h' | 'r'<<8 | 'e'<<16 | 'f'<<24
	keySrc       name = 's' | 'r'<<8 | 'c'<<16
	keyRel       name = 'r' | 'e'<<8 | 'l'<<16
	keyClass     name = 'c' | 'l'<<8 | 'a'<<16 | 's'<<24 | 's'<<32
	keyID        name = 'i' | 'd'<<8
	keyName      name = 'n' | 'a'<<8 | 'm'<<16 | 'e'<<24
	keyContent   name = 'c' | 'o'<<8 | 'n'<<16 | 't'<<24 | 'e'<<32 | 'n'<<40 | 't'<<48
	keyProperty  name = 'p' | 'r'<<8 | 'o'<<16 | 'p'<<24 | 'e'<<32 | 'r'<<40 | 't'<<48 | 'y'<<56
	keyItemprop  name = 'i' | 't'<<8 | 'e'<<16 | 'm'<<24 | 'p'<<32 | 'r'<<40 | 'o'<<48 | 'p'<<56
	keyType      name = 't' | 'y'<<8 | 'p'<<16 | 'e'<<24
	keySrcset    name = 's' | 'r'<<8 | 'c'<<16 | 's'<<24 | 'e'<<32 | 't'<<40
	keyPoster    name = 'p' | 'o'<<8 | 's'<<16 | 't'<<24 | 'e'<<32 | 'r'<<40
	keyData      name = 'd' | 'a'<<8 | 't'<<16 | 'a'<<24
	keyAlt       name = 'a' | 'l'<<8 | 't'<<16
	keyTitle     name = tagTitle
	keyAs        name = 'a' | 's'<<8
	keyStyle     name = tagStyle
	keyOnclick   name = 'o' | 'n'<<8 | 'c'<<16 | 'l'<<24 | 'i'<<32 | 'c'<<40 | 'k'<<48
	keyCharset   name = 'c' | 'h'<<8 | 'a'<<16 | 'r'<<24 | 's'<<32 | 'e'<<40 | 't'<<48
	longestShort      = 8
)

// The attributes that the package reads, as indexes of scanner.value.
const (
	attrHref = iota
	attrSrc
	attrRel
	attrClass
	attrID
	attrName
	attrContent
	attrProperty
	attrItemprop
	attrType
	attrSrcset
	attrPoster
	attrData
	attrAlt
	attrTitle
	attrCharset
	attrHTTPEquiv
	attrXlinkHref
	attrImageSrcset
	attrShadow
	attrOnclick
	attrLabel
	attrMethod
	attrConfirm
	attrTurboMethod
	attrTurboConfirm
	attrStyle
	attrAs
	attrBackground
	numAttrs
)

// A scanner cuts HTML into tags and text, as the tokenizer of golang.org/x/net/html does with
// noscript elements read as if scripts were off. Nothing is copied. Each byte is looked at a
// bounded number of times.
type scanner struct {
	b   []byte
	pos int
	raw name // the element whose content comes next is text only

	// The current token.
	text  span           // of text
	at    int            // where the tag starts
	label span           // the tag's name as it stands
	tag   name           // the tag's name
	seen  uint32         // attributes that the tag has
	value [numAttrs]span // their values as they stand, where seen
}

// A span is a piece of the text that is scanned; the zero span is none. It is no slice, since the
// garbage collector would have to be told of each, which took a tenth of the time of a large page.
type span struct{ from, to uint32 }

func spanOf(from, to int) span { return span{uint32(from), uint32(to)} }

// in returns the piece of b, nil for none.
func (p span) in(b []byte) []byte {
	if p.to == 0 {
		return nil
	}
	return b[p.from:p.to]
}

// attr returns the current tag's attribute a as it stands, nil if it has none.
func (s *scanner) attr(a int) []byte { return s.attrAt(a).in(s.b) }

// attrAt returns where the value of attribute a stands.
func (s *scanner) attrAt(a int) span {
	if s.seen>>a&1 == 0 {
		return span{}
	}
	return s.value[a]
}

// words returns the text of the current token.
func (s *scanner) words() []byte { return s.text.in(s.b) }

func (s *scanner) has(a int) bool { return s.seen>>a&1 != 0 }

// next reads up to the end of the next token. Comments and doctypes are passed over.
func (s *scanner) next() token {
	if s.raw != 0 {
		start := s.pos
		s.pos = s.rawEnd()
		s.raw = 0
		if s.pos > start {
			s.text = spanOf(start, s.pos)
			return rawToken
		}
	}
	b := s.b
	start := s.pos
	for i := s.pos; ; {
		j := bytes.IndexByte(b[i:], '<')
		if j < 0 || i+j+1 >= len(b) {
			return s.rest(start)
		}
		i += j
		c := b[i+1]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', c == '/', c == '!', c == '?':
		default:
			i++
			continue
		}
		if i > start {
			s.text, s.pos = spanOf(start, i), i
			return textToken
		}
		switch c {
		case '/':
			if i+2 >= len(b) {
				return s.rest(start)
			}
			switch d := b[i+2]; {
			case d == '>':
				i += 3
			case 'a' <= d|0x20 && d|0x20 <= 'z':
				if !s.readTag(i+2, false) {
					return s.end()
				}
				s.at--
				return endToken
			default:
				i = skip(b, i+2)
			}
		case '!':
			if i+4 <= len(b) && b[i+2] == '-' && b[i+3] == '-' {
				i = skipComment(b, i+4)
			} else {
				i = skip(b, i+2)
			}
		case '?':
			i = skip(b, i+1)
		default:
			if !s.readTag(i+1, true) {
				return s.end()
			}
			switch s.tag {
			case tagIframe, tagNoembed, tagNoframes, tagScript, tagStyle, tagTextarea, tagTitle, tagXmp:
				s.raw = s.tag
			default:
				if s.tag&hashedName != 0 && equalFold(s.label.in(s.b), "plaintext") {
					s.raw = s.tag
				}
			}
			return startToken
		}
		start = i
		s.pos = i
	}
}

func (s *scanner) end() token {
	s.pos = len(s.b)
	return endOfInput
}

// rest makes all that is left text.
func (s *scanner) rest(start int) token {
	if start >= len(s.b) {
		return s.end()
	}
	s.text, s.pos = spanOf(start, len(s.b)), len(s.b)
	return textToken
}

// skip returns the index after the next ">" from i on.
func skip(b []byte, i int) int {
	if j := bytes.IndexByte(b[i:], '>'); j >= 0 {
		return i + j + 1
	}
	return len(b)
}

// skipComment returns the index after the comment whose content starts at i: it ends at a ">"
// that follows "--" or "--!", or nothing but hyphens.
func skipComment(b []byte, start int) int {
	for i := start; ; {
		j := bytes.IndexByte(b[i:], '>')
		if j < 0 {
			return len(b)
		}
		i += j
		in := b[start:i]
		if len(in) == 0 || string(in) == "-" || hasSuffix(in, "--") || hasSuffix(in, "--!") {
			return i + 1
		}
		i++
	}
}

func hasSuffix(b []byte, s string) bool { return len(b) >= len(s) && string(b[len(b)-len(s):]) == s }

// What ends the name of a tag, and that of an attribute, as bits of inTag.
const (
	endsName = 1 << iota
	endsKey
)

var inTag = func() (t [256]uint8) {
	for c := range 256 {
		if b := byte(c); b == '>' || b == '/' || isSpace(b) {
			t[c] = endsName | endsKey
		}
	}
	t['='] |= endsKey
	return t
}()

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// readTag reads the tag whose name starts at i. It returns false where the input ends before
// the tag does.
func (s *scanner) readTag(i int, attrs bool) bool {
	b := s.b
	start := i
	s.at = i - 1
	for i < len(b) && inTag[b[i]]&endsName == 0 {
		i++
	}
	s.label = spanOf(start, i)
	s.tag = nameOf(b[start:i])
	s.seen = 0
	for {
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if i >= len(b) {
			return false
		}
		if b[i] == '>' {
			s.pos = i + 1
			return true
		}
		// The name.
		start := i
		for i++; i < len(b) && inTag[b[i]]&endsKey == 0; i++ {
		}
		if c := b[start]; c == '/' || c == '>' {
			i = start
		}
		key := b[start:i]
		// The value.
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if i >= len(b) {
			return false
		}
		var value span
		if b[i] == '/' {
			i++
		} else if b[i] == '=' {
			for i++; i < len(b) && isSpace(b[i]); i++ {
			}
			if i >= len(b) {
				return false
			}
			switch q := b[i]; q {
			case '>':
			case '"', '\'':
				i++
				j := bytes.IndexByte(b[i:], q)
				if j < 0 {
					return false
				}
				value = spanOf(i, i+j)
				i += j + 1
			default:
				start := i
				for i < len(b) && b[i] != '>' && !isSpace(b[i]) {
					i++
				}
				value = spanOf(start, i)
			}
		}
		if attrs && len(key) > 0 {
			if a := attrOf(key); a >= 0 && s.seen>>a&1 == 0 {
				s.seen |= 1 << a
				s.value[a] = value
			}
		}
	}
}

// nameOf returns the name that b is, in any case.
func nameOf(b []byte) name {
	if len(b) <= longestShort {
		var n name
		for i, c := range b {
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			if c >= 0x80 || c == 0 {
				return hashName(b)
			}
			n |= name(c) << (8 * i)
		}
		return n
	}
	return hashName(b)
}

func hashName(b []byte) name {
	h := uint64(14695981039346656037)
	for _, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return name(h) | hashedName
}

// attrOf returns the index of the attribute named key, -1 if the package does not read it.
func attrOf(key []byte) int {
	if len(key) > longestShort {
		switch {
		case len(key) == 10 && equalFold(key, "http-equiv"):
			return attrHTTPEquiv
		case len(key) == 10 && equalFold(key, "xlink:href"):
			return attrXlinkHref
		case len(key) == 10 && equalFold(key, "background"):
			return attrBackground
		case len(key) == 11 && equalFold(key, "imagesrcset"):
			return attrImageSrcset
		case len(key) == 14 && equalFold(key, "shadowrootmode"):
			return attrShadow
		case len(key) == 10 && equalFold(key, "aria-label"):
			return attrLabel
		case len(key) == 11 && equalFold(key, "data-method"):
			return attrMethod
		case len(key) == 12 && equalFold(key, "data-confirm"):
			return attrConfirm
		case len(key) == 17 && equalFold(key, "data-turbo-method"):
			return attrTurboMethod
		case len(key) == 18 && equalFold(key, "data-turbo-confirm"):
			return attrTurboConfirm
		}
		return -1
	}
	switch nameOf(key) {
	case keyHref:
		return attrHref
	case keyClass:
		return attrClass
	case keyID:
		return attrID
	case keySrc:
		return attrSrc
	case keyRel:
		return attrRel
	case keyName:
		return attrName
	case keyContent:
		return attrContent
	case keyProperty:
		return attrProperty
	case keyItemprop:
		return attrItemprop
	case keyType:
		return attrType
	case keySrcset:
		return attrSrcset
	case keyPoster:
		return attrPoster
	case keyData:
		return attrData
	case keyAlt:
		return attrAlt
	case keyTitle:
		return attrTitle
	case keyCharset:
		return attrCharset
	case keyOnclick:
		return attrOnclick
	case keyStyle:
		return attrStyle
	case keyAs:
		return attrAs
	}
	return -1
}

// equalFold reports whether b is s, which is in lower case, but for the case of ASCII letters.
func equalFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != s[i] {
			return false
		}
	}
	return true
}

// rawEnd returns where the content of the element s.raw, which starts at s.pos, ends.
func (s *scanner) rawEnd() int {
	if s.raw&hashedName != 0 { // plaintext has no end
		return len(s.b)
	}
	end := endTag(s.b, s.pos, s.raw)
	if s.raw == tagScript && bytes.Contains(s.b[s.pos:end], []byte("<!--")) {
		return scriptEnd(s.b, s.pos)
	}
	return end
}

// endTag returns the index of the next end tag n from i on, len(b) if there is none.
func endTag(b []byte, i int, n name) int {
	for {
		j := bytes.IndexByte(b[i:], '<')
		if j < 0 {
			return len(b)
		}
		i += j
		if isEndTag(b[i:], n) {
			return i
		}
		i++
	}
}

// isEndTag reports whether b starts with "</", the name n and a byte that may follow it.
func isEndTag(b []byte, n name) bool {
	if len(b) < 2 || b[0] != '<' || b[1] != '/' {
		return false
	}
	i := 2
	for ; n != 0; n >>= 8 {
		if i >= len(b) {
			return false
		}
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != byte(n) {
			return false
		}
		i++
	}
	return i < len(b) && (b[i] == '>' || b[i] == '/' || isSpace(b[i]))
}

// scriptEnd is endTag for a script with "<!--" in it: between that and "-->" an inner
// <script> hides the end tag that follows.
func scriptEnd(b []byte, i int) int {
	const (
		data = iota
		escaped
		doubly
	)
	state, dashes := data, 0
	for i < len(b) {
		c := b[i]
		switch state {
		case data:
			j := bytes.IndexByte(b[i:], '<')
			if j < 0 {
				return len(b)
			}
			i += j
			if isEndTag(b[i:], tagScript) {
				return i
			}
			if bytes.HasPrefix(b[i:], []byte("<!--")) {
				state, dashes = escaped, 2
				i += 4
				continue
			}
			i++
		case escaped, doubly:
			i++
			switch {
			case c == '-':
				dashes++
				continue
			case c == '>' && dashes >= 2:
				state = data
			case c == '<' && state == escaped:
				switch {
				case isEndTag(b[i-1:], tagScript):
					return i - 1
				case i < len(b) && b[i] == '/':
					i++
				case i < len(b) && 'a' <= b[i]|0x20 && b[i]|0x20 <= 'z':
					if len(b)-i > 6 && equalFold(b[i:i+6], "script") && (b[i+6] == '>' || b[i+6] == '/' || isSpace(b[i+6])) {
						state = doubly
						i += 7
					}
				default:
					state = data // as the model does
				}
			case c == '<' && state == doubly:
				if isEndTag(b[i-1:], tagScript) {
					state = escaped
					i += len("/script>")
				} else if i < len(b) && b[i] == '/' {
					i++
				}
			}
			dashes = 0
		}
	}
	return len(b)
}

// attrText returns the text of an attribute's value: character references resolved, line ends
// made "\n", NUL replaced.
func attrText(v []byte) string {
	_, text := unescapeAttr(nil, v)
	return string(text)
}

// unescapeAttr returns the text of an attribute's value: v itself where it is its text as it
// stands, or the end of dst, to which it is appended.
func unescapeAttr(dst, v []byte) (grown, text []byte) {
	if bytes.IndexByte(v, '&') < 0 && bytes.IndexByte(v, '\r') < 0 && bytes.IndexByte(v, 0) < 0 {
		return dst, v
	}
	start := len(dst)
	for i := 0; i < len(v); {
		switch c := v[i]; c {
		case '\r':
			dst = append(dst, '\n')
			if i++; i < len(v) && v[i] == '\n' {
				i++
			}
			continue
		case 0:
			dst = append(dst, "\ufffd"...)
		case '&':
			if r, n := numeric(v[i:]); n > 0 {
				dst = utf8.AppendRune(dst, r)
				i += n
				continue
			}
			j := i + 1
			for j < len(v) && (isLetter(v[j]) || '0' <= v[j] && v[j] <= '9') {
				j++
			}
			switch {
			case string(v[i+1:j]) == "amp" && j < len(v) && v[j] == ';':
				dst = append(dst, '&')
				i = j + 1
				continue
			case j == i+1 && (j == len(v) || v[j] != '#'), j > i+1 && j < len(v) && v[j] == '=':
				dst = append(dst, v[i:j]...)
				i = j
				continue
			}
			dst = append(dst[:start], unescapeSlowly(v)...)
			return dst, dst[start:]
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst, dst[start:]
}

// numeric reads the decimal character reference that b starts with, such as &#64; in addresses, and returns
// how long it is; 0: there is none, or one that stands for another character than its number says.
func numeric(b []byte) (r rune, n int) {
	if len(b) < 4 || b[1] != '#' {
		return 0, 0
	}
	for n = 2; n < len(b) && '0' <= b[n] && b[n] <= '9' && n < 9; n++ {
		r = 10*r + rune(b[n]-'0')
	}
	if n == len(b) || b[n] != ';' || r < ' ' || 0x7f <= r && r < 0xa0 || !utf8.ValidRune(r) {
		return 0, 0
	}
	return r, n + 1
}

// unescapeSlowly has the model's tokenizer resolve the character references of v.
func unescapeSlowly(v []byte) []byte {
	tag := append([]byte(`<a b="`), bytes.ReplaceAll(v, []byte{'"'}, []byte("&#34;"))...)
	z := html.NewTokenizer(bytes.NewReader(append(tag, '"', '>')))
	z.Next()
	z.TagName()
	_, text, _ := z.TagAttr()
	return text
}
