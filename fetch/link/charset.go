package link

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Charset returns the name of the encoding of an HTML body, in lower case, as the standards
// find it: by byte order mark, Content-Type, meta elements, in this order. A body without any is
// utf-8 if it is valid and not all ASCII, windows-1252 otherwise.
func Charset(body []byte, contentType string) string {
	name, _ := detect(body, contentType)
	return name
}

// detect returns the encoding's name and the length of the byte order mark.
func detect(body []byte, contentType string) (name string, bom int) {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return "utf-8", 3
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return "utf-16be", 2
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return "utf-16le", 2
	}
	if name := headerCharset(contentType); name != "" {
		return name, 0
	}
	if name := prescan(body[:min(len(body), 1024)]); name != "" {
		return name, 0
	}
	if name := lateMeta(body); name != "" {
		return name, 0
	}
	if !ascii(body) && utf8.Valid(body) {
		return "utf-8", 0
	}
	return "windows-1252", 0
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// headerCharset returns the encoding that a Content-Type names, empty if it names none that
// is known.
func headerCharset(contentType string) string {
	i := strings.IndexByte(contentType, ';')
	if i < 0 {
		return ""
	}
	if p := strings.TrimSpace(contentType[i+1:]); strings.EqualFold(p, "charset=utf-8") {
		return "utf-8"
	}
	_, params, err := mime.ParseMediaType(contentType)
	label := params["charset"]
	if err != nil {
		_, label, _ = strings.Cut(strings.ToLower(contentType), "charset=")
		label, _, _ = strings.Cut(label, ";")
		label = strings.Trim(label, `"' `)
	}
	return labelled(label)
}

// labelled returns the name of the encoding with that label.
func labelled(label string) string {
	_, name := charset.Lookup(strings.TrimSpace(label))
	return name
}

// declared returns the name of the encoding that a meta element declares: what is said in
// ASCII is not UTF-16.
func declared(label string) string {
	name := labelled(label)
	switch {
	case strings.HasPrefix(name, "utf-16"):
		return "utf-8"
	case name == "x-user-defined":
		return "windows-1252"
	}
	return name
}

// prescan looks for a declaration as the HTML standard says in "prescan a byte stream to
// determine its encoding", which knows comments and tags but not scripts.
func prescan(b []byte) string {
	for i := 0; i < len(b); {
		j := bytes.IndexByte(b[i:], '<')
		if j < 0 {
			return ""
		}
		i += j
		switch rest := b[i:]; {
		case bytes.HasPrefix(rest, []byte("<!--")):
			j := bytes.Index(b[i+2:], []byte("-->"))
			if j < 0 {
				return ""
			}
			i += 2 + j + 3
		case len(rest) > 5 && equalFold(rest[1:5], "meta") && (isSpace(rest[5]) || rest[5] == '/'):
			var m declaration
			i = attributes(b, i+6, m.attr)
			if i < 0 {
				return "" // unfinished
			}
			if name := m.name(); name != "" {
				return name
			}
		case len(rest) > 1 && isLetter(rest[1]), len(rest) > 2 && rest[1] == '/' && isLetter(rest[2]):
			for i++; i < len(b) && !isSpace(b[i]) && b[i] != '>'; i++ {
			}
			if i = attributes(b, i, func(k, v string) {}); i < 0 {
				return ""
			}
		case len(rest) > 1 && (rest[1] == '!' || rest[1] == '/' || rest[1] == '?'):
			i = skip(b, i+2)
		default:
			i++
		}
	}
	return ""
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// A declaration gathers what a meta element says of the encoding.
type declaration struct {
	seen            map[string]bool
	pragma          bool
	charset, header string
	found           bool
}

func (m *declaration) attr(key, value string) {
	if m.seen[key] {
		return
	}
	if m.seen == nil {
		m.seen = map[string]bool{}
	}
	m.seen[key] = true
	switch key {
	case "http-equiv":
		m.pragma = value == "content-type"
	case "content":
		m.header = contentCharset(value)
	case "charset":
		m.charset, m.found = value, true
	}
}

func (m *declaration) name() string {
	switch {
	case m.found:
		return declared(m.charset)
	case m.header != "" && m.pragma:
		return declared(m.header)
	}
	return ""
}

// attributes calls f for each attribute of a tag from b[i] on, in lower case, and returns the
// index after the tag, -1 where the tag is unfinished.
func attributes(b []byte, i int, f func(key, value string)) int {
	for {
		for i < len(b) && (isSpace(b[i]) || b[i] == '/') {
			i++
		}
		if i >= len(b) {
			return -1
		}
		if b[i] == '>' {
			return i + 1
		}
		start := i
		for i < len(b) && !(b[i] == '=' && i > start) && !isSpace(b[i]) && b[i] != '/' && b[i] != '>' {
			i++
		}
		key := strings.ToLower(string(b[start:i]))
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if i >= len(b) {
			return -1
		}
		if b[i] != '=' {
			f(key, "")
			continue
		}
		for i++; i < len(b) && isSpace(b[i]); i++ {
		}
		if i >= len(b) {
			return -1
		}
		var value []byte
		if q := b[i]; q == '"' || q == '\'' {
			j := bytes.IndexByte(b[i+1:], q)
			if j < 0 {
				return -1
			}
			value = b[i+1 : i+1+j]
			i += j + 2
		} else {
			start := i
			for i < len(b) && !isSpace(b[i]) && b[i] != '>' {
				i++
			}
			if i >= len(b) {
				return -1
			}
			value = b[start:i]
		}
		f(key, strings.ToLower(string(value)))
	}
}

// contentCharset returns the label after "charset=" in the content of a meta element.
func contentCharset(s string) string {
	for {
		i := strings.Index(s, "charset")
		if i < 0 {
			return ""
		}
		s = strings.TrimLeft(s[i+len("charset"):], " \t\n\f\r")
		if !strings.HasPrefix(s, "=") {
			continue
		}
		s = strings.TrimLeft(s[1:], " \t\n\f\r")
		if s == "" {
			return ""
		}
		if q := s[:1]; q == `"` || q == "'" {
			label, _, ok := strings.Cut(s[1:], q)
			if !ok {
				return ""
			}
			return label
		}
		if end := strings.IndexAny(s, "; \t\n\f\r"); end >= 0 {
			return s[:end]
		}
		return s
	}
}

// lateMeta looks for a declaration beyond the bytes of the prescan, as a browser that then
// reads the page again.
func lateMeta(b []byte) string {
	s := scanner{b: b}
	for {
		switch s.next() {
		case endOfInput:
			return ""
		case startToken:
			if s.tag != tagMeta {
				continue
			}
			label := ""
			switch {
			case s.has(attrCharset):
				label = attrText(s.attr(attrCharset))
			case s.has(attrHTTPEquiv) && strings.EqualFold(attrText(s.attr(attrHTTPEquiv)), "content-type"):
				label = contentCharset(strings.ToLower(attrText(s.attr(attrContent))))
			}
			if name := declared(label); name != "" {
				return name
			}
		}
	}
}

// decode returns the name of the body's encoding, the body in UTF-8, and the encoding of
// queries, nil for UTF-8.
func (x *Extractor) decode(body []byte, contentType string) (name string, text []byte, query encoding.Encoding) {
	name, bom := detect(body, contentType)
	body = body[bom:]
	if name == "utf-8" {
		return name, body, nil
	}
	enc, _ := charset.Lookup(name)
	switch name {
	case "utf-16le": // its mark is gone
		enc = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		enc = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "replacement":
		return name, nil, nil
	default:
		query = enc
		if name != "iso-2022-jp" && ascii(body) {
			return name, body, query
		}
	}
	dec := enc.NewDecoder()
	x.text = x.text[:0]
	for len(body) > 0 && len(x.text) < MaxText {
		if cap(x.text)-len(x.text) < 64 {
			n := min(2*cap(x.text)+len(body)+len(body)/2, MaxText) + 64
			if n > fewBytes && !x.take(int64(n)) {
				break
			}
			x.text = append(make([]byte, 0, n), x.text...)
		}
		n, m, err := dec.Transform(x.text[len(x.text):cap(x.text)], body, true)
		x.text, body = x.text[:len(x.text)+n], body[m:]
		if err != transform.ErrShortDst || n == 0 && m == 0 {
			break
		}
	}
	x.page.Truncated = x.page.Truncated || len(body) > 0
	return name, x.text, query
}

// Decode returns an HTML body in UTF-8, as far as MaxText, without a byte order mark. What is in UTF-8 is returned as it is, valid or not. contentType is as it came.
func Decode(body []byte, contentType string) []byte {
	_, text, _ := new(Extractor).decode(body, contentType)
	return text
}
