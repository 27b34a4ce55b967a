package link

import "unicode/utf8"

// StyleRefs calls yield for each reference in a style sheet, or in the value of a style attribute, in their order, until it
// returns false: what url() names, the strings of image-set(), and what @import names, for which sheet is true. They stand as they
// are after escapes, still to be resolved, and are good until the next one. Those within the sheet itself, which begin with "#", and
// namespaces are left out.
//
// It cuts the text into tokens as CSS Syntax does, so that comments, strings and hashes that look like url() are none, and reads on
// behind whatever is wrong. O(bytes), one buffer.
func StyleRefs(css []byte, yield func(ref []byte, sheet bool) bool) {
	s := styleScanner{b: css}
	for s.i < len(css) {
		if ref, sheet, ok := s.next(); ok && len(ref) > 0 && ref[0] != '#' && !yield(ref, sheet) {
			return
		}
	}
}

// A styleScanner is how far a style sheet has been read.
type styleScanner struct {
	b    []byte
	i    int
	text []byte // the latest string, name or URL

	at     string // the at-rule whose prelude comes next, import or namespace; "": none that matters
	parens int    // open ones
	set    int    // of them, when image-set( was opened; 0: it is not open
}

// next reads a token. ok=false: it is no reference.
func (s *styleScanner) next() (ref []byte, sheet, ok bool) {
	switch c := s.b[s.i]; {
	case c == '/' && s.peek(1) == '*':
		s.comment()
		return nil, false, false
	case isSpace(c):
		s.i++
		return nil, false, false
	case c == '"' || c == '\'':
		text, whole := s.quoted()
		at := s.at
		s.at = ""
		return text, at == "import", whole && (at == "import" || at == "" && s.set > 0 && s.parens == s.set)
	case c == '#':
		s.i++
		s.name()
	case c == '@':
		s.i++
		switch name := s.name(); {
		case equalFold(name, "import"):
			s.at = "import"
			return nil, false, false
		case equalFold(name, "namespace"):
			s.at = "namespace"
			return nil, false, false
		}
	case '0' <= c && c <= '9':
		for s.i < len(s.b) && ('0' <= s.b[s.i] && s.b[s.i] <= '9' || s.b[s.i] == '.') {
			s.i++
		}
		s.name() // its unit
	case s.inName():
		name := s.name()
		if s.peek(0) != '(' {
			if s.at == "namespace" { // its prefix
				return nil, false, false
			}
			break
		}
		s.i++
		if equalFold(name, "url") {
			text, whole := s.url()
			at := s.at
			s.at = ""
			return text, at == "import", whole && at != "namespace"
		}
		s.parens++
		if s.set == 0 && (equalFold(name, "image-set") || equalFold(name, "-webkit-image-set")) {
			s.set = s.parens
		}
	case c == '(':
		s.i++
		s.parens++
	case c == ')':
		s.i++
		if s.parens == s.set {
			s.set = 0
		}
		s.parens = max(s.parens-1, 0)
	case c == '{' || c == '}' || c == ';': // what was not closed ends with the declaration or rule, as far as it matters here
		s.i++
		s.parens, s.set = 0, 0
	default:
		s.i++
	}
	s.at = ""
	return nil, false, false
}

// peek returns the byte n ahead, 0 where there is none.
func (s *styleScanner) peek(n int) byte {
	if s.i+n < len(s.b) {
		return s.b[s.i+n]
	}
	return 0
}

// comment reads to the end of a comment.
func (s *styleScanner) comment() {
	for s.i += 2; s.i < len(s.b); s.i++ {
		if s.b[s.i] == '*' && s.peek(1) == '/' {
			s.i += 2
			return
		}
	}
}

func newline(c byte) bool { return c == '\n' || c == '\r' || c == '\f' }

// inName reports whether the next byte is part of a name.
func (s *styleScanner) inName() bool {
	c := s.b[s.i]
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c >= utf8.RuneSelf || c == '\\' && s.escapes()
}

// escapes reports whether the next byte, a backslash, begins an escape outside of a string.
func (s *styleScanner) escapes() bool { return s.i+1 < len(s.b) && !newline(s.b[s.i+1]) }

// name reads a name, which may be empty.
func (s *styleScanner) name() []byte {
	s.text = s.text[:0]
	for s.i < len(s.b) && s.inName() {
		s.char()
	}
	return s.text
}

// char adds the next character to text, which may be an escape.
func (s *styleScanner) char() {
	if s.b[s.i] != '\\' {
		s.text = append(s.text, s.b[s.i])
		s.i++
		return
	}
	s.i++
	r, digits := rune(0), 0
	for digits < 6 && s.i < len(s.b) && class[s.b[s.i]]&isHex != 0 {
		r = r<<4 | rune(unhex(s.b[s.i]))
		s.i++
		digits++
	}
	switch {
	case digits > 0:
		if r == 0 || !utf8.ValidRune(r) {
			r = utf8.RuneError
		}
		s.text = utf8.AppendRune(s.text, r)
		if s.peek(0) == '\r' && s.peek(1) == '\n' {
			s.i += 2
		} else if s.i < len(s.b) && isSpace(s.b[s.i]) {
			s.i++
		}
	case s.i < len(s.b):
		s.text = append(s.text, s.b[s.i]) // the rest of a character beyond ASCII follows as it is
		s.i++
	default:
		s.text = utf8.AppendRune(s.text, utf8.RuneError)
	}
}

// quoted reads a string. whole=false: a line ends in it, where it is bad; at the end of the sheet it ends, too, and is good.
func (s *styleScanner) quoted() (text []byte, whole bool) {
	q := s.b[s.i]
	s.text = s.text[:0]
	for s.i++; s.i < len(s.b); {
		switch c := s.b[s.i]; {
		case c == q:
			s.i++
			return s.text, true
		case newline(c):
			return nil, false
		case c == '\\' && s.i+1 == len(s.b):
			s.i++
		case c == '\\' && newline(s.b[s.i+1]):
			if s.i += 2; s.b[s.i-1] == '\r' && s.peek(0) == '\n' {
				s.i++
			}
		default:
			s.char()
		}
	}
	return s.text, true
}

// url reads what follows "url(", with the parenthesis that closes it. whole=false: it is bad.
func (s *styleScanner) url() (text []byte, whole bool) {
	s.space()
	if c := s.peek(0); c == '"' || c == '\'' { // a function with a string, and perhaps modifiers
		if text, whole = s.quoted(); !s.close() {
			return nil, false
		}
		return text, whole
	}
	s.text = s.text[:0]
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == ')':
			s.i++
			return s.text, true
		case isSpace(c):
			s.space()
			if s.i == len(s.b) {
				return s.text, true
			}
			if s.b[s.i] != ')' {
				s.rest()
				return nil, false
			}
		case c == '"' || c == '\'' || c == '(' || c < ' ' || c == 0x7f || c == '\\' && !s.escapes():
			s.rest()
			return nil, false
		default:
			s.char()
		}
	}
	return s.text, true
}

// close reads to the parenthesis that closes a function whose string has been read. It reports false where another declaration or rule
// begins before.
func (s *styleScanner) close() bool {
	behind := styleScanner{b: s.b, i: s.i} // with a text of its own
	defer func() { s.i = behind.i }()
	for open := 1; open > 0 && behind.i < len(s.b); {
		switch c := s.b[behind.i]; {
		case c == '/' && behind.peek(1) == '*':
			behind.comment()
			continue
		case c == '"' || c == '\'':
			behind.quoted()
			continue
		case c == ';' || c == '{' || c == '}':
			return false
		case c == '(':
			open++
		case c == ')':
			open--
		}
		behind.i++
	}
	return true
}

// rest reads to the end of a bad URL.
func (s *styleScanner) rest() {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == ')':
			s.i++
			return
		case c == '\\' && s.escapes():
			s.i += 2
		default:
			s.i++
		}
	}
}

func (s *styleScanner) space() {
	for s.i < len(s.b) && isSpace(s.b[s.i]) {
		s.i++
	}
}
