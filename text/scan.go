package text

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// A writer is told of the text of a page, block by block. What is open when it is says where in the page that is.
type writer interface {
	text(s *scan, b []byte)           // a piece of a block, valid UTF-8: white space is collapsed, but in preformatted text
	space(s *scan)                    // white space between two pieces of a block
	line(s *scan)                     // the same, where a line is to end
	end(s *scan)                      // the block is over
	rule(s *scan)                     // a line between two blocks
	picture(s *scan, alt, src string) // as a piece of a block; alt is not empty
	closed(s *scan, e *open)          // an element ends, and with it the block if it is a structure
}

// An open element. What it is in has lower indexes in scan.open.
type open struct {
	id      id
	variant variant
	within  int32  // divs that it is in
	before  region // of what it is in
	drop    int    // the same: how many that have no text for readers
	href    string // of an anchor
	lang    string // of code and preformatted text: which programming language
	spans   [2]int // of a cell: columns and rows
	made           // what a writer makes of it
}

// maxOpen is how many elements are remembered at once. What is opened beyond that has no meaning; its text does.
const maxOpen = 256

// A scan turns tags and text into blocks. Broken markup is met as browsers do, as far as it matters to text.
type scan struct {
	out  writer
	skip region // is left out

	open   []open
	ids    []byte // of open
	inline []int  // indexes in open: those that are inline, outermost first
	divs   int32

	region     region
	drop       int // open elements that have no text for readers
	landmarks  int
	lists      int // open
	quotes     int
	pre        int
	headings   int
	raw        bool // what comes next is raw text
	rawTitle   bool // of a title
	titleKnown bool

	filled  bool // the block has text
	gap     bool // white space came since
	spaced  bool // which the writer was told of
	wrap    bool // a br did
	newline bool // it is preformatted, and ends a line

	title, lang, base string
	langKnown         bool
	buf               []byte
}

// begin has the next read tell out of what is not in skip.
func (s *scan) begin(skip region, out writer) {
	*s = scan{out: out, skip: skip, open: s.open[:0], ids: s.ids[:0], inline: s.inline[:0], buf: s.buf[:0]}
}

// silent reports whether text is left out here.
func (s *scan) silent() bool { return s.drop > 0 || s.region&s.skip != 0 }

// text takes in a piece of text.
func (s *scan) text(z *html.Tokenizer) {
	if s.raw {
		if s.rawTitle && !s.titleKnown {
			s.title, s.titleKnown = clean(string(cutBytes(z.Text(), 16*maxTitle))), true
		}
		return
	}
	if s.silent() {
		return
	}
	b := z.Text()
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\ufffd"))
	}
	if s.pre > 0 {
		s.verbatim(b)
	} else {
		s.words(b)
	}
}

func cutBytes(b []byte, n int) []byte { return b[:min(len(b), n)] }

// words adds text to the block, white space collapsed, without what nobody sees.
func (s *scan) words(b []byte) {
	s.buf = s.buf[:0]
	blank := false
	for i := 0; i < len(b); {
		start, size := i, 0
		for i < len(b) && b[i] > ' ' && b[i] < 0x7f && i-start < pieceBytes {
			i++
		}
		if i == start {
			var r rune
			switch r, size = utf8.DecodeRune(b[i:]); {
			case unicode.IsSpace(r):
				blank = true
			case !unseen(r):
				i += size
			}
		}
		if i == start {
			i += size
			continue
		}
		if blank {
			if blank = false; len(s.buf) > 0 {
				s.buf = append(s.buf, ' ')
			} else {
				s.gap = true
			}
		}
		if s.buf = append(s.buf, b[start:i]...); len(s.buf) >= pieceBytes {
			s.piece()
		}
	}
	s.piece()
	s.gap = s.gap || blank
}

// pieceBytes is how long pieces of a block are at most, or little more.
const pieceBytes = 32 << 10

// piece passes on what is in buf.
func (s *scan) piece() {
	if len(s.buf) > 0 {
		s.settle()
		s.out.text(s, s.buf)
		s.buf = s.buf[:0]
	}
}

// unseen reports whether a character is for programs: control characters, hyphens that may be, marks of no width.
func unseen(r rune) bool {
	return unicode.IsControl(r) || r == '\u00ad' || r == '\u200b' || r == '\ufeff'
}

// settle tells what is pending before a piece of the block.
func (s *scan) settle() {
	if s.filled && s.wrap && s.headings == 0 {
		s.out.line(s)
	} else if s.filled && (s.gap || s.wrap) && !s.spaced {
		s.out.space(s)
	}
	s.filled, s.gap, s.wrap, s.spaced = true, false, false, false
}

// verbatim adds preformatted text, without what nobody sees in it.
func (s *scan) verbatim(b []byte) {
	if !s.filled {
		b = bytes.TrimPrefix(bytes.TrimPrefix(b, []byte("\r")), []byte("\n"))
	}
	s.buf = s.buf[:0]
	for i, c := range b {
		switch {
		case c == '\r' && i+1 < len(b) && b[i+1] == '\n':
		case c == '\r':
			s.buf = append(s.buf, '\n')
		case c < ' ' && c != '\n' && c != '\t' || c == 0x7f:
		default:
			s.buf = append(s.buf, c)
		}
	}
	if len(s.buf) > 0 && (s.filled || len(bytes.TrimSpace(s.buf)) > 0) {
		s.filled, s.gap, s.wrap = true, false, false
		s.newline = s.buf[len(s.buf)-1] == '\n'
		s.out.text(s, s.buf)
	}
}

// breakBlock ends the block.
func (s *scan) breakBlock() {
	switch { // the blocks of these end with them
	case s.pre > 0:
		if s.filled && !s.newline {
			s.verbatim([]byte("\n"))
		}
	case s.headings > 0:
		s.gap = true
	default:
		s.endBlock()
	}
}

func (s *scan) endBlock() {
	if s.filled {
		s.out.end(s)
	}
	s.filled, s.gap, s.wrap, s.spaced = false, false, false, false
}

func (s *scan) end() {
	s.pop(0)
	s.endBlock()
}

// start takes in a start tag.
func (s *scan) start(z *html.Tokenizer) {
	name, more := z.TagName()
	e, known := elements[string(name)]
	if !known {
		if custom(name) {
			s.breakBlock()
		}
		return
	}
	switch e.does {
	case breaks, contains:
		s.leaveHeading(name)
		s.breakBlock()
		if e.does == contains {
			s.divs++
		}
		if e.variant == root && more && !s.langKnown {
			s.langKnown = true
			s.attributes(z, func(key, value []byte) {
				if s.lang == "" && (string(key) == "lang" || string(key) == "xml:lang") && len(value) <= maxLang {
					s.lang = string(value)
				}
			})
		}
	case opens:
		s.openTag(z, e, name, more)
	case lineBreak:
		switch {
		case s.silent():
		case s.pre > 0:
			s.verbatim([]byte("\n"))
		case s.wrap:
			s.breakBlock()
		default:
			s.wrap = s.filled
		}
	case ruleLine:
		s.leaveHeading(name)
		if s.breakBlock(); !s.silent() && s.headings == 0 && s.pre == 0 {
			s.out.rule(s)
		}
	case picture:
		s.pictureTag(z, more)
	case rawText:
		s.raw, s.rawTitle = true, e.id == titleID && s.drop == 0
	case baseHref:
		if s.base == "" {
			s.attributes(z, func(key, value []byte) {
				if string(key) == "href" && len(value) <= maxHref {
					s.base = string(value)
				}
			})
		}
	}
}

// custom reports whether an element is one of the page's own: they mostly are boxes.
func custom(name []byte) bool { return bytes.IndexByte(name, '-') >= 0 }

// attributes calls do with the attributes of a tag that has some.
func (s *scan) attributes(z *html.Tokenizer, do func(key, value []byte)) {
	for {
		key, value, more := z.TagAttr()
		do(key, value)
		if !more {
			return
		}
	}
}

// leaveHeading ends a heading that has text and was left open: blocks come after it, and not in it.
func (s *scan) leaveHeading(name []byte) {
	if s.headings > 0 && s.filled {
		switch string(name) {
		case "p", "hr", "table", "ul", "ol":
			s.endOf(heading, 0)
		}
	}
}

const (
	maxHref  = 2 << 10 // bytes of a URL that is worth keeping
	maxLists = 8       // lists, and quotes, in each other; deeper ones are blocks
)

// openTag takes in the start of an element that is remembered.
func (s *scan) openTag(z *html.Tokenizer, e element, name []byte, more bool) {
	o := open{id: e.id, variant: e.variant, within: s.divs, before: s.region, drop: s.drop}
	switch e.id {
	case anchor:
		s.endOf(anchor, s.scope(cell))
		if more && !s.silent() {
			s.attributes(z, func(key, value []byte) {
				if string(key) == "href" && o.href == "" && len(value) <= maxHref {
					o.href = string(value)
				}
			})
		}
	case strong, emphasis:
		if bytes.IndexByte(s.ids, byte(e.id)) >= 0 {
			return
		}
	case code:
		if s.pre > 0 {
			s.language(z, more)
			return
		}
		if bytes.IndexByte(s.ids, byte(code)) >= 0 {
			return
		}
	case item:
		s.endOf(item, s.scope(list))
	case row:
		s.endOf(row, s.scope(table))
	case cell:
		s.endOf(cell, s.scope(row))
		if t := s.scope(table); t > 0 && s.scope(row) < t { // its row is left out
			s.breakBlock()
			s.push(open{id: row, within: s.divs, before: s.region, drop: s.drop}, row)
		}
		o.spans = [2]int{1, 1}
		if more {
			s.attributes(z, func(key, value []byte) {
				n, err := strconv.Atoi(string(cutBytes(value, 4)))
				switch {
				case err != nil:
				case string(key) == "colspan":
					o.spans[0] = max(1, n)
				case string(key) == "rowspan":
					o.spans[1] = max(1, n)
				}
			})
		}
	case heading, preformatted:
		s.endOf(heading, 0)
		if s.pre > 0 {
			return
		}
	case list, table:
		s.leaveHeading(name)
	case dropped:
		s.gap = true // it keeps words apart
	}
	if !e.id.inline() && e.id != dropped {
		s.breakBlock()
	}
	switch e.id {
	case row, caption:
		if s.scope(table) == 0 {
			return
		}
	case cell:
		if s.scope(row) == 0 {
			return
		}
	}
	if s.push(o, e.id) && e.id == preformatted {
		s.language(z, more)
	}
}

// push notes that an element is open. It reports false where there are too many.
func (s *scan) push(o open, id id) bool {
	if len(s.open) == maxOpen {
		return false
	}
	switch id {
	case landmark:
		s.landmarks++
	case dropped:
		s.drop++
	case list:
		if s.lists++; s.lists > maxLists {
			o.id = none
		}
	case item:
		if s.lists == 0 || s.lists > maxLists {
			o.id = none
		}
	case quote:
		if s.quotes++; s.quotes > maxLists {
			o.id = none
		}
	case preformatted:
		s.pre++
		s.endBlock()
	case heading:
		s.headings++
		s.endBlock()
	}
	s.region |= regionOf(id, s.landmarks > 0)
	if id.inline() {
		if s.filled && s.gap && !s.wrap && s.pre == 0 && !s.silent() { // the space is before it, not in it
			if !s.spaced {
				s.out.space(s)
			}
			s.gap, s.spaced = false, true
		}
		s.inline = append(s.inline, len(s.open))
	}
	s.open, s.ids = append(s.open, o), append(s.ids, byte(id))
	return true
}

// language notes the programming language of the preformatted text that is open, where a class tells it.
func (s *scan) language(z *html.Tokenizer, more bool) {
	at := bytes.LastIndexByte(s.ids, byte(preformatted))
	if !more || at < 0 || s.open[at].lang != "" {
		return
	}
	s.attributes(z, func(key, value []byte) {
		if string(key) != "class" || len(value) > maxHref {
			return
		}
		for _, class := range bytes.Fields(value) {
			for _, prefix := range []string{"language-", "lang-"} {
				if lang, ok := bytes.CutPrefix(class, []byte(prefix)); ok && len(lang) <= maxLang && plainWord(lang) {
					s.open[at].lang = string(lang)
				}
			}
		}
	})
}

func plainWord(b []byte) bool {
	for _, c := range b {
		if c != '-' && c != '_' && c != '+' && c != '#' && !('0' <= c && c <= '9') && !('a' <= c|0x20 && c|0x20 <= 'z') {
			return false
		}
	}
	return len(b) > 0
}

// pictureTag takes in an image that has a text.
func (s *scan) pictureTag(z *html.Tokenizer, more bool) {
	if !more || s.silent() || s.pre > 0 {
		return
	}
	var alt, src string
	s.attributes(z, func(key, value []byte) {
		switch {
		case string(key) == "alt" && alt == "":
			alt = clean(string(cutBytes(value, 16*maxTitle)))
		case string(key) == "src" && src == "" && len(value) <= maxHref:
			src = string(value)
		}
	})
	if alt != "" {
		s.settle()
		s.out.picture(s, alt, src)
	}
}

// scope returns the index above the innermost element of a kind, 0 where none is open.
func (s *scan) scope(id id) int { return bytes.LastIndexByte(s.ids, byte(id)) + 1 }

// endOf ends the innermost element of a kind, and all that is in it, if it is open at or above an index.
func (s *scan) endOf(id id, from int) {
	if i := bytes.LastIndexByte(s.ids[from:], byte(id)); i >= 0 {
		s.pop(from + i)
	}
}

// endTag takes in an end tag.
func (s *scan) endTag(name []byte) {
	e, known := elements[string(name)]
	if !known && custom(name) {
		s.breakBlock()
	}
	switch e.does {
	case breaks:
		s.breakBlock()
	case contains:
		s.breakBlock()
		s.divs = max(s.divs-1, 0)
		for n := len(s.open); n > 0 && s.open[n-1].within > s.divs; n = len(s.open) {
			if s.open[n-1].id == cell { // nothing ends it but the table
				s.divs = s.open[n-1].within
				break
			}
			s.pop(n - 1)
		}
	case opens:
		switch e.id {
		case table:
			s.endOf(table, 0)
		case row, cell, caption:
			s.endOf(e.id, s.scope(table))
		case item:
			s.endOf(item, s.scope(list))
		case formID:
			s.endForm()
		default:
			s.endOf(e.id, s.scope(cell))
		}
		if !e.id.inline() && e.id != dropped {
			s.breakBlock()
		}
	case lineBreak: // </br> is one
		s.wrap = s.filled
	}
}

// endForm ends a form. What is still open in it goes on without it: forms often begin and end in different rows of a table.
func (s *scan) endForm() {
	at := bytes.LastIndexByte(s.ids, byte(formID))
	if at < 0 {
		return
	}
	s.open[at].id, s.ids[at] = none, byte(none)
	region := s.open[at].before
	for i := at + 1; i < len(s.open); i++ {
		s.open[i].before = region
		region |= regionOf(id(s.ids[i]), false)
	}
	s.region = region
}

// pop ends all that is open at and above an index.
func (s *scan) pop(to int) {
	for n := len(s.open) - 1; n >= to; n-- {
		o := &s.open[n]
		id := id(s.ids[n])
		if id.structure() {
			s.endBlock()
		}
		s.out.closed(s, o)
		switch id {
		case landmark:
			s.landmarks--
		case list:
			s.lists--
		case quote:
			s.quotes--
		case preformatted:
			s.pre--
		case heading:
			s.headings--
		}
		if id.inline() {
			s.inline = s.inline[:len(s.inline)-1]
		}
		s.region, s.drop = o.before, o.drop
		s.divs = min(s.divs, o.within)
		s.open, s.ids = s.open[:n], s.ids[:n]
	}
}
