package sitemap

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"html"
	"io"
	"strings"
)

// maxToken is how many bytes of a tag, a text or a declaration are kept; the rest is passed over.
const maxToken = 64 << 10

// A lexer cuts XML into tokens and never gives up: a "<" that begins no tag is text, a tag
// that holds another "<" ends before it, end tags may be missing or wrong. Of entities it knows
// the five of XML, HTML's names and numbers, so that nothing can grow. Memory O(maxToken).
type lexer struct {
	r   *bufio.Reader
	buf []byte
	end string // the element that the last tag, <x/>, began and ends; "" for none
	err error
}

func newLexer(r io.Reader) *lexer { return &lexer{r: bufio.NewReaderSize(r, 32<<10)} }

// next returns an xml.StartElement, xml.EndElement, xml.CharData (good until the next call) or
// xml.Directive, names without their prefix, or the error of the reader. The prefix of an attribute
// is the Space of its name, as of xml.Decoder.RawToken.
func (l *lexer) next() (xml.Token, error) {
	if l.end != "" {
		t := xml.EndElement{Name: xml.Name{Local: l.end}}
		l.end = ""
		return t, nil
	}
	if l.err != nil {
		return nil, l.err
	}
	l.buf = l.buf[:0]
	for {
		head, err := l.r.Peek(len("<![CDATA["))
		if len(head) == 0 {
			l.err = err
			break
		}
		if head[0] != '<' {
			l.run('<')
			continue
		}
		head = head[1:]
		cdata := bytes.HasPrefix(head, []byte("![CDATA["))
		if !cdata && (len(head) == 0 || head[0] != '!' && head[0] != '?' && head[0] != '/' && !nameStart(head[0])) {
			l.keep('<')
			l.r.Discard(1)
			continue
		}
		if len(l.buf) > 0 {
			return l.charData(), nil // what precedes is a token of its own
		}
		if cdata {
			l.r.Discard(len("<![CDATA["))
			l.until(']')
			return xml.CharData(l.buf), nil
		}
		if t := l.markup(head); t != nil {
			return t, nil
		}
		l.buf = l.buf[:0]
	}
	if len(l.buf) > 0 {
		return l.charData(), nil
	}
	return nil, l.err
}

func nameStart(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == ':' || c >= 0x80
}

func (l *lexer) keep(c byte) {
	if len(l.buf) < maxToken {
		l.buf = append(l.buf, c)
	}
}

// run keeps bytes up to the next c, which stays.
func (l *lexer) run(c byte) {
	for {
		b, err := l.r.ReadSlice(c)
		if err == nil {
			b = b[:len(b)-1]
			l.r.UnreadByte()
		}
		l.buf = append(l.buf, b[:min(len(b), maxToken-len(l.buf))]...)
		if err != bufio.ErrBufferFull {
			return // at c, or at the end, which the next read tells
		}
	}
}

// until keeps bytes up to the next ">" that follows two of c, which are passed over.
func (l *lexer) until(c byte) {
	var before [2]byte
	for {
		b, err := l.r.ReadByte()
		if err != nil {
			l.err = err
			return
		}
		if b == '>' && before == [2]byte{c, c} {
			l.buf = bytes.TrimSuffix(l.buf, []byte{c, c})
			return
		}
		before[0], before[1] = before[1], b
		l.keep(b)
	}
}

// charData returns the text kept, entities resolved.
func (l *lexer) charData() xml.CharData { return xml.CharData(unescape(l.buf)) }

// unescape resolves the entities that end in ";". A lone "&", as in many URLs, stays.
func unescape(b []byte) []byte {
	if bytes.IndexByte(b, '&') < 0 {
		return b
	}
	var out []byte
	for {
		i := bytes.IndexByte(b, '&')
		if i < 0 {
			return append(out, b...)
		}
		out, b = append(out, b[:i]...), b[i:]
		end := 1
		for end < len(b) && end < 34 && (b[end] == '#' || '0' <= b[end] && b[end] <= '9' || 'a' <= b[end]|0x20 && b[end]|0x20 <= 'z') {
			end++
		}
		if end < len(b) && b[end] == ';' {
			ref := string(b[:end+1])
			if s := html.UnescapeString(ref); s != ref && (!strings.HasSuffix(s, ";") || ref == "&semi;" || ref[1] == '#') {
				out, b = append(out, s...), b[end+1:]
				continue
			}
		}
		out, b = append(out, '&'), b[1:]
	}
}

// markup reads what starts at a "<" that head follows: a tag, a declaration, a comment. It
// returns nil for what says nothing.
func (l *lexer) markup(head []byte) xml.Token {
	comment, kind := bytes.HasPrefix(head, []byte("!--")), head[0]
	l.r.Discard(1)
	switch {
	case comment:
		l.r.Discard(3)
		l.until('-')
		return nil
	case kind == '?':
		for last := byte(0); ; {
			c, err := l.r.ReadByte()
			if err != nil {
				l.err = err
				return nil
			}
			if c == '>' && last == '?' {
				return nil
			}
			last = c
		}
	case kind == '!':
		l.directive()
		return xml.Directive(l.buf)
	}
	l.tag()
	b := l.buf
	if b[0] == '/' {
		return xml.EndElement{Name: xml.Name{Local: local(bytes.TrimSpace(b[1:]))}}
	}
	end := 0
	for end < len(b) && !space(b[end]) && b[end] != '/' {
		end++
	}
	t := xml.StartElement{Name: xml.Name{Local: local(b[:end])}}
	if b[len(b)-1] == '/' {
		l.end = t.Name.Local
	}
	for b = b[end:]; ; {
		b = bytes.TrimLeft(b, " \t\r\n/")
		end := 0
		for end < len(b) && !space(b[end]) && b[end] != '=' && b[end] != '/' {
			end++
		}
		if end == 0 && len(b) == 0 {
			return t
		}
		key := b[:end]
		b = bytes.TrimLeft(b[end:], " \t\r\n")
		var value []byte
		if len(b) > 0 && b[0] == '=' {
			b = bytes.TrimLeft(b[1:], " \t\r\n")
			if len(b) > 0 && (b[0] == '"' || b[0] == '\'') {
				value, b, _ = bytes.Cut(b[1:], b[:1])
			} else {
				end := 0
				for end < len(b) && !space(b[end]) {
					end++
				}
				value, b = b[:end], b[end:]
			}
		}
		if len(key) > 0 {
			a := xml.Attr{Name: xml.Name{Local: local(key)}, Value: string(unescape(value))}
			if n := len(key) - len(a.Name.Local) - 1; n > 0 {
				a.Name.Space = string(key[:n])
			}
			t.Attr = append(t.Attr, a)
		}
	}
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// local returns a name without its prefix.
func local(b []byte) string {
	return string(b[bytes.IndexByte(b, ':')+1:])
}

// tag keeps a tag up to its ">", or up to a "<", which cannot stand in one.
func (l *lexer) tag() {
	quote := byte(0)
	value := false // after "=", where a quote begins a value
	for {
		c, err := l.r.ReadByte()
		if err != nil {
			l.err = err
			return
		}
		switch {
		case c == '<':
			l.r.UnreadByte()
			return
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>':
			return
		case (c == '"' || c == '\'') && value:
			quote = c
		}
		if !space(c) {
			value = c == '=' && quote == 0
		}
		l.keep(c)
	}
}

// directive keeps a declaration such as <!DOCTYPE x [ … ]>.
func (l *lexer) directive() {
	depth, quote := 0, byte(0)
	for {
		c, err := l.r.ReadByte()
		if err != nil {
			l.err = err
			return
		}
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '<' || c == '[':
			depth++
		case c == ']':
			depth = max(depth-1, 0)
		case c == '>':
			if depth == 0 {
				return
			}
			depth--
		}
		l.keep(c)
	}
}
