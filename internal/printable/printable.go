// Package printable makes text that strangers wrote safe to be shown: on a terminal, which obeys
// control characters; to a reader, whom marks of direction make see another text than there is; in
// a spreadsheet, which calculates what begins like a formula.
//
// What is hidden is written as an escape, \u001b, so that it can be seen. The joiners U+200C and
// U+200D, which are part of words and emoji, stay.
package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden reports whether a character does something else than to be seen. U+FFFD stands for bytes
// that are no text.
func hidden(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' '
	case r == 0x200c || r == 0x200d:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == utf8.RuneError
}

// plain reports whether s is ASCII that is seen, which most text is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Text is s with all that is hidden escaped, ends of lines and tabs included.
func Text(s string) string { return escape(s, "") }

// Lines is s with all that is hidden escaped but ends of lines and tabs.
func Lines(s string) string { return escape(s, "\n\t") }

func escape(s, keep string) string {
	if plain(s) {
		return s
	}
	bad := func(r rune) bool { return hidden(r) && !strings.ContainsRune(keep, r) }
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !bad(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Writer returns a writer to w of Lines. Each Write must end with a whole character.
func Writer(w io.Writer) io.Writer { return lines{w} }

type lines struct{ w io.Writer }

func (l lines) Write(p []byte) (int, error) {
	if _, err := io.WriteString(l.w, Lines(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Cell is s as a cell of a table that a spreadsheet may open: ends of lines and tabs are spaces, what
// else is hidden is escaped, and what would be calculated begins with an apostrophe, which
// spreadsheets take for the mark of a text.
func Cell(s string) string {
	if s == "" || plain(s) && strings.IndexByte("=+-@ ", s[0]) < 0 {
		return s
	}
	s = Text(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, s))
	if first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " ")); strings.ContainsRune("=+-@\uff1d\uff0b\uff0d\uff20", first) && s != "" {
		return "'" + s
	}
	return s
}

// AppendString appends s as a JSON string, with all that is hidden escaped, as JSON(json.Marshal(s)) has it
// but for the escapes of HTML, which are not made.
func AppendString(b []byte, s string) []byte {
	if plain(s) && strings.IndexByte(s, '"') < 0 && strings.IndexByte(s, '\\') < 0 {
		return append(append(append(b, '"'), s...), '"')
	}
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string can always be encoded
	}
	return append(b, JSON(bytes.TrimSuffix(quoted.Bytes(), []byte("\n")))...)
}

// JSON is one or more JSON values with all that is hidden in their strings as JSON's own escapes: the
// values stay the same. It returns b itself where nothing is.
func JSON(b []byte) []byte {
	var out []byte
	for i, from := 0, 0; ; {
		for i < len(b) && b[i] < 0x7f {
			i++
		}
		if i == len(b) {
			if out == nil {
				return b
			}
			return append(out, b[from:]...)
		}
		r, n := utf8.DecodeRune(b[i:])
		if b[i] == 0x7f || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			out = append(out, b[from:i]...)
			if r > 0xffff {
				out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			from = i + n
		}
		i += n
	}
}
