package link

import (
	"bytes"
	"slices"
)

// A Layout is how much of a page is text of its own, and how much of it is there to lead to other
// documents. It is read from the tree of elements alone: no word and no URL is looked at.
//
// The page's text is cut into blocks, at every tag but those of inline elements. Text in nav and
// aside, and in header and footer outside of any article, section or main, counts as the site's
// and not as the page's.
type Layout struct {
	Text     int       // bytes of text that is no link
	Linked   int       // bytes of text that is
	Longest  int       // of them, in the block with most
	Fields   int       // form fields to be filled in, passwords and areas of text counted twice
	Passages [2]uint32 // hashes of the longest two blocks of at least minPassage bytes, the longest first; 0: there is none
	Rows     []Row     // at most maxRows, those that take most of the text first
}

// A Row is a row of blocks that each begin with a link at the same place, and that are items by
// their element or little more than the link: a list, the titles of articles one below another, the
// cells of one column. Links with rel=nofollow, such as those to answer to comments, make none.
type Row struct {
	Place   uint32 // that the links have in common
	Links   int    // items that lead to another document than the page itself
	Text    int    // bytes of their links
	Between int    // bytes of text that stands between them and, as is to be expected, behind the last one
	Before  int    // bytes of text, links apart, in front of the first one
	Titles  bool   // the items are headings
	Digest  uint64 // of the URLs and the place, whatever their order
}

const (
	minPassage = 40 // bytes: shorter ones are dates, names, labels, which many pages share
	maxRows    = 8
	allRows    = 64 // places of which rows are counted
)

// A block is a run of text between tags that are not inline.
type block struct {
	tag         name // of the element that its text begins in
	start, stop int  // in the page's text
	text, link  int  // bytes outside and inside of links
	links       int
	ref         int  // the first link, where it comes before all other text; else -1
	own         bool // it does not belong to the site's navigation
}

// An accumulating row.
type rowSoFar struct {
	Row
	items int
	last  int // Layout.Text in front of the latest item
}

// zone says what an element stands in.
type zone uint8

const (
	zoneSite    zone = 1 << iota // navigation and what else is the site's
	zoneArticle                  // article, section, main
)

const (
	tagNav     name = 'n' | 'a'<<8 | 'v'<<16
	tagAside   name = 'a' | 's'<<8 | 'i'<<16 | 'd'<<24 | 'e'<<32
	tagHeader  name = 'h' | 'e'<<8 | 'a'<<16 | 'd'<<24 | 'e'<<32 | 'r'<<40
	tagFooter  name = 'f' | 'o'<<8 | 'o'<<16 | 't'<<24 | 'e'<<32 | 'r'<<40
	tagArticle name = 'a' | 'r'<<8 | 't'<<16 | 'i'<<24 | 'c'<<32 | 'l'<<40 | 'e'<<48
	tagSection name = 's' | 'e'<<8 | 'c'<<16 | 't'<<24 | 'i'<<32 | 'o'<<40 | 'n'<<48
	tagMain    name = 'm' | 'a'<<8 | 'i'<<16 | 'n'<<24
	tagSelect  name = 's' | 'e'<<8 | 'l'<<16 | 'e'<<24 | 'c'<<32 | 't'<<40
)

// in returns the zone inside of an element that stands in z.
func (z zone) in(tag name) zone {
	switch tag {
	case tagNav, tagAside:
		return z | zoneSite
	case tagHeader, tagFooter:
		if z&zoneArticle == 0 {
			return z | zoneSite
		}
	case tagArticle, tagSection, tagMain:
		return z | zoneArticle
	}
	return z
}

// isHeading reports whether tag is h1 … h6.
func isHeading(tag name) bool {
	return tag&0xff == 'h' && tag>>16 == 0 && '1' <= tag>>8 && tag>>8 <= '6'
}

// isItem reports whether an element of this name holds one thing of several.
func isItem(tag name) bool {
	switch tag {
	case tagLi, tagDt, tagDd, tagTd, tagTh:
		return true
	}
	return isHeading(tag)
}

// inline reports whether text goes on over a tag of this name.
func inline(tag name) bool {
	switch tag {
	case tagA, tagImg, tagBr, tagWbr, 'b', 'i', 'u', 's', 'q', 'e' | 'm'<<8, 't' | 't'<<8,
		's' | 'u'<<8 | 'b'<<16, 's' | 'u'<<8 | 'p'<<16, 'k' | 'b'<<8 | 'd'<<16, 'v' | 'a'<<8 | 'r'<<16, 'b' | 'i'<<8 | 'g'<<16,
		's' | 'p'<<8 | 'a'<<16 | 'n'<<24, 'c' | 'o'<<8 | 'd'<<16 | 'e'<<24, 'c' | 'i'<<8 | 't'<<16 | 'e'<<24, 'a' | 'b'<<8 | 'b'<<16 | 'r'<<24,
		'f' | 'o'<<8 | 'n'<<16 | 't'<<24, 's' | 'a'<<8 | 'm'<<16 | 'p'<<24, 't' | 'i'<<8 | 'm'<<16 | 'e'<<24, 'm' | 'a'<<8 | 'r'<<16 | 'k'<<24,
		's' | 'm'<<8 | 'a'<<16 | 'l'<<24 | 'l'<<32, 's' | 't'<<8 | 'r'<<16 | 'o'<<24 | 'n'<<32 | 'g'<<40:
		return true
	}
	return false
}

// words takes in a run of text.
func (x *Extractor) words(text []byte) {
	n := len(bytes.TrimSpace(text))
	if n == 0 || x.inert > 0 {
		return
	}
	b := &x.block
	if b.text+b.link == 0 {
		*b = block{start: x.s.pos - len(text), ref: -1, own: true}
		if d := len(x.stack); d > 0 {
			at := &x.stack[d-1]
			b.own = at.zone&zoneSite == 0
			for d--; d > 0 && inline(at.tag); d-- {
				at = &x.stack[d-1]
			}
			b.tag = at.tag
		}
	}
	b.stop = x.s.pos
	if b.own && x.sketches {
		x.sketch.Add(text)
	}
	switch {
	case x.anchor < 0:
		b.text += n
		return
	case b.links == 0:
		b.links, x.latest = 1, x.anchor
		if b.text == 0 {
			b.ref = x.anchor
		}
	case x.latest != x.anchor:
		b.links, x.latest = b.links+1, x.anchor
	}
	b.link += n
}

// breakText ends the block of text, at a tag that is not inline.
func (x *Extractor) breakText() {
	b := &x.block
	if b.text+b.link == 0 {
		return
	}
	if b.own {
		l := &x.page.Layout
		if b.ref >= 0 && !x.refs[b.ref].nofollow && (isItem(b.tag) || b.links == 1 && b.text*2 <= b.link) {
			x.item(b)
		}
		l.Text += b.text
		l.Linked += b.link
		l.Longest = max(l.Longest, b.text)
		x.passage(b)
	}
	b.text, b.link = 0, 0
}

// item counts a block as one of the row of its link.
func (x *Extractor) item(b *block) {
	r := &x.refs[b.ref]
	i := slices.IndexFunc(x.rows, func(s rowSoFar) bool { return s.Place == r.place })
	if i < 0 {
		if len(x.rows) == allRows {
			return
		}
		i = len(x.rows)
		x.rows = append(x.rows, rowSoFar{Row: Row{Place: r.place, Before: x.page.Layout.Text, Titles: true}})
	}
	s := &x.rows[i]
	s.items++
	s.Titles = s.Titles && isHeading(b.tag)
	s.last, s.Text = x.page.Layout.Text, s.Text+b.link
	r.row = int32(i + 1)
}

// passage keeps a block that is among the longest two.
func (x *Extractor) passage(b *block) {
	switch {
	case b.text < minPassage:
	case b.text > x.longest[0].text:
		x.longest[0], x.longest[1] = *b, x.longest[0]
	case b.text > x.longest[1].text:
		x.longest[1] = *b
	}
}

// field counts the form field that the current tag is.
func (x *Extractor) field() {
	n := 1
	switch s := &x.s; s.tag {
	case tagTextarea:
		n = 2
	case tagInput:
		switch t := s.attr(attrType); {
		case equalFold(t, "hidden"), equalFold(t, "submit"), equalFold(t, "button"), equalFold(t, "image"), equalFold(t, "reset"), equalFold(t, "search"):
			n = 0
		case equalFold(t, "password"):
			n = 2
		}
	}
	if d := len(x.stack); d == 0 || x.stack[d-1].zone&zoneSite == 0 {
		x.page.Layout.Fields += n
	}
}

// layOut fills in the layout, when the links are resolved.
func (x *Extractor) layOut() {
	l := &x.page.Layout
	for i, b := range x.longest {
		if b.text > 0 {
			l.Passages[i] = textHash(x.page.text[b.start:b.stop])
		}
	}
	l.Rows = l.Rows[:0]
	for i := range x.rows {
		s := &x.rows[i]
		if s.items > 1 {
			s.Between = min((s.last-s.Before)*s.items/(s.items-1), l.Text-s.Before)
		}
		s.Digest += uint64(s.Place) * 0x9e3779b97f4a7c15
		l.Rows = append(l.Rows, s.Row)
	}
	slices.SortStableFunc(l.Rows, func(a, b Row) int { return b.Text + b.Between - a.Text - a.Between })
	l.Rows = l.Rows[:min(len(l.Rows), maxRows)]
}

// textHash is a hash of the text in a piece of HTML, without tags and white space: FNV-1a.
func textHash(b []byte) uint32 {
	h := uint32(2166136261)
	s := scanner{b: b}
	for {
		switch s.next() {
		case textToken:
			for _, c := range s.words() {
				if !isSpace(c) {
					h = (h ^ uint32(c)) * 16777619
				}
			}
		case endOfInput:
			return max(h, 1)
		}
	}
}
