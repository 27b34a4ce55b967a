// Package text says what a page says to who reads it, as Markdown or as plain text, without what stands around it on each page of a site.
//
// Reader.Read does it: scripts, styles, menus, headers, footers, asides and forms are left out (see regions.go), and what is left is
// cut into blocks. Bodies come from strangers: a Reader takes time in proportion to their length, and memory to that of their text, however
// they are nested.
package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"forage/fetch/link"
)

// A Format says how text is written.
type Format string

// The formats.
const (
	Markdown Format = "markdown" // CommonMark, with the tables of GitHub
	Plain    Format = "text"     // blocks between empty lines, items and rows of a list or table on a line each
)

// ParseFormat reads a Format.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Markdown, Plain:
		return f, nil
	}
	return "", fmt.Errorf("want markdown or text, got %q", s)
}

// MediaType is how the format is called on the web.
func (f Format) MediaType() string {
	if f == Plain {
		return "text/plain"
	}
	return "text/markdown"
}

// A Page is what was read of a page. All of it is valid UTF-8.
type Page struct {
	Title string // white space collapsed; at most 512 bytes
	Lang  string // as a language tag: of the html element, or of Options.Language; "": not told
	Text  string
}

// Options say how a page is read.
type Options struct {
	URL         string // of the page, for its links; "": links that are not absolute are left out, their text is not
	ContentType string // as it came, for the encoding
	Language    string // Content-Language as it came
	Format      Format
}

// A Reader reads pages, one after another, in the same memory. It is used by one goroutine; the zero value is ready.
type Reader struct {
	scan     scan
	plain    plain
	markdown markdown
}

// Read reads a page. What it makes of a body depends on nothing but that and the options. O(bytes): the body is read twice, first to
// learn what is around the text, see regions.
func (r *Reader) Read(body []byte, o Options) Page {
	body = link.Decode(body, o.ContentType)
	s := &r.scan
	var c census
	s.begin(everything, &c)
	s.read(body)
	p := Page{Title: s.title, Lang: language(s.lang)}
	if p.Lang == "" {
		p.Lang = language(o.Language)
	}
	if o.Format == Plain {
		r.plain.begin()
		s.begin(c.keep(), &r.plain)
		s.read(body)
		p.Text = r.plain.finish()
	} else {
		r.markdown.begin(o.URL)
		s.begin(c.keep(), &r.markdown)
		s.read(body)
		p.Text = r.markdown.finish()
	}
	if len(body) > keepsMost {
		*r = Reader{}
	}
	return p
}

// keepsMost is how long a page may be for its Reader to keep the memory that it took.
const keepsMost = 1 << 20

// maxLang is how many bytes a language tag may have: the longest that RFC 5646 asks to be accepted [4.4.1].
const maxLang = 35

// language is the first language tag of a list, "" where it is none.
func language(list string) string {
	tag, _, _ := strings.Cut(list, ",")
	tag = strings.TrimSpace(tag)
	if len(tag) > maxLang || strings.Trim(strings.ToLower(tag), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return ""
	}
	return tag
}

// maxTitle is how many bytes a title may have, as package link has it.
const maxTitle = 512

// clean collapses white space, leaves out what nobody sees and cuts at a character.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unseen(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxTitle {
		return s
	}
	return Cut(s, maxTitle)
}

// Cut returns what of s has at most n bytes and ends with a character.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// read scans a body. s.begin was called before.
func (s *scan) read(body []byte) {
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if z.Err() == io.EOF {
				s.end()
				return
			}
			// The reader never fails, and no limit is set on tokens.
			panic(z.Err())
		case html.TextToken:
			s.text(z)
		case html.StartTagToken, html.SelfClosingTagToken:
			s.raw = false
			s.start(z)
		case html.EndTagToken:
			s.raw = false
			name, _ := z.TagName()
			s.endTag(name)
		}
	}
}
