package text

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A mark is what an inline element is in Markdown. Stars are marks only where the characters around them let them [CommonMark 0.31.2, 6.2]: they are left out where
// these do not, as in <b>(a)</b>b, where they would stand right behind others, and where they could end one of two that began together.
type mark struct {
	id    id
	at    int    // in scan.open
	to    string // of an anchor
	begin int    // in markdown.out; -1: it is left out
	three bool   // its stars began with those of another
}

func (k *mark) stars() string {
	switch k.id {
	case strong:
		return "**"
	case emphasis:
		return "*"
	}
	return ""
}

// starred reports whether it has stars.
func (k mark) starred() bool { return k.begin >= 0 && (k.id == strong || k.id == emphasis) }

// settle ends the marks that do not go on in what comes next, a text or picture, writes the space before that, and begins marks that are new.
func (m *markdown) settle(s *scan, next []byte, picture bool) {
	if len(s.inline) == 0 && len(m.marks) == 0 {
		m.writeGap()
		return
	}
	want := m.wanted(s, picture)
	same := 0
	for same < min(len(want), len(m.marks)) {
		has, k := &m.marks[same], &want[same]
		goesOn := same < m.live && has.at == k.at && !(k.id == code && m.gap == '\n') // which were a space in it
		if has.id != k.id || !goesOn && (m.gap != 0 || k.id == anchor) {              // others that touch become one
			break
		}
		has.at = k.at
		same++
	}
	char, _ := utf8.DecodeRune(next)
	before := ahead(want[same:], char)
	if m.gap != 0 {
		before = ' '
	}
	behind := m.close(same, before)
	if m.gap != 0 {
		behind = none
	}
	m.writeGap()
	after := m.last()
	for i := same; i < len(want); i++ {
		k := want[i]
		k.begin = len(m.out)
		switch k.id {
		case anchor:
			if n := len(m.out) - 1; m.out[n] == '!' { // it is no picture
				m.out = append(m.out[:n], `\!`...)
			}
			m.out = append(m.out, '[')
			s.open[k.at].used = true
			m.lead, after, behind = within, '[', none
		case code: // its marks are written when it is known what is in it
			if behind == code {
				continue
			}
			m.lead = within
		default:
			inner := ahead(want[i:], char)
			if i > same && m.marks[i-1].starred() {
				m.marks[i-1].three, k.three = true, true
				m.out = append(m.out, k.stars()...)
			} else if behind == strong || behind == code && inner == '`' || !flanks(after, inner) ||
				mayFlank(inner, after) && slices.ContainsFunc(m.marks, func(k mark) bool { return k.three && k.starred() }) {
				k.begin = -1
			} else {
				m.out = append(m.out, k.stars()...)
				behind = none
			}
		}
		m.marks = append(m.marks, k)
	}
	m.live = len(m.marks)
}

// wanted are the marks of the elements that are open, code last: there is literal text in it only.
func (m *markdown) wanted(s *scan, picture bool) []mark {
	m.want = m.want[:0]
	linked, inCode := false, -1
	for _, at := range s.inline {
		o := &s.open[at]
		switch o.id {
		case anchor: // the first block in it is a link
			k := mark{id: anchor, at: at}
			if i := slices.IndexFunc(m.marks[:m.live], func(k mark) bool { return k.id == anchor && k.at == at }); i >= 0 {
				k = m.marks[i]
			} else if !o.used && !linked {
				k.to = m.resolve(s, o.href)
				o.used = k.to == ""
			}
			if k.to != "" {
				m.want, linked = append(m.want, k), true
			}
		case strong, emphasis:
			if inCode < 0 && (s.headings == 0 || o.id == emphasis) {
				m.want = append(m.want, mark{id: o.id, at: at})
			}
		case code:
			inCode = at
		}
	}
	if inCode >= 0 && !picture {
		m.want = append(m.want, mark{id: code, at: inCode})
	}
	return m.want
}

// ahead is the character behind stars that begin with marks.
func ahead(marks []mark, next rune) rune {
	for i := range marks {
		switch marks[i].id {
		case anchor:
			return '['
		case code:
			return '`'
		}
	}
	return next
}

// close ends marks from an index on, before a character. It tells what stands before that now: an anchor, code, or for all stars strong.
func (m *markdown) close(from int, next rune) (last id) {
	before := m.last()
	for i := len(m.marks) - 1; i >= from; i-- {
		k := &m.marks[i]
		switch {
		case k.id == anchor:
			m.out = append(append(append(m.out, "]("...), k.to...), ')')
			before, last = ')', anchor
		case k.id == code:
			m.endCode(k.begin)
			before, last = '`', code
		case k.begin >= 0:
			after := next
			if slices.ContainsFunc(m.marks[from:i], func(k mark) bool { return k.id == anchor }) {
				after = ']'
			}
			end := k.begin + len(k.stars())
			if flanks(after, before) {
				m.out = append(m.out, k.stars()...)
				last = strong
			} else if m.out[k.begin-1] == '!' && m.out[end] == '[' {
				m.out = slices.Replace(m.out, k.begin-1, end, '\\', '!')
			} else {
				m.out = slices.Delete(m.out, k.begin, end)
			}
		}
	}
	m.marks = m.marks[:from]
	m.live = min(m.live, from)
	return last
}

// endCode puts marks around code that begins at an index.
func (m *markdown) endCode(begin int) {
	text := m.out[begin:]
	ticks := strings.Repeat("`", longestRun(text, '`')+1)
	if text[0] == '`' || text[len(text)-1] == '`' { // the spaces are no part of it
		m.out = append(append(slices.Insert(m.out, begin, []byte(ticks+" ")...), ' '), ticks...)
	} else {
		m.out = append(slices.Insert(m.out, begin, []byte(ticks)...), ticks...)
	}
}

// writeGap writes the space that is to come, or the end of the line.
func (m *markdown) writeGap() {
	switch m.gap {
	case ' ':
		m.out = append(m.out, ' ')
	case '\n':
		m.out = append(append(m.out, "  \n"...), m.prefix...)
		m.spent += len(m.prefix)
		m.lead = later
	}
	m.gap = 0
}

// last is the character that was written last. A block has some before it.
func (m *markdown) last() rune {
	r, _ := utf8.DecodeLastRune(m.out)
	return r
}

// flanks reports whether stars between two characters are marks of what is on the side of the second one. Releases of CommonMark differ in which
// symbols they take for punctuation: it holds for all. mayFlank reports whether it holds for some.
func flanks(outer, inner rune) bool {
	return !unicode.IsSpace(inner) && (!symbol(inner) || unicode.IsSpace(outer) || punctuation(outer))
}

func mayFlank(outer, inner rune) bool {
	return !unicode.IsSpace(inner) && (!punctuation(inner) || unicode.IsSpace(outer) || symbol(outer))
}

func symbol(r rune) bool { return unicode.In(r, unicode.P, unicode.S) }

func punctuation(r rune) bool { return unicode.IsPunct(r) || r < utf8.RuneSelf && unicode.IsSymbol(r) }

// links finds where links of a page lead.
type links struct {
	page string   // its URL
	base *url.URL // of its links; nil: not known yet
	urls int      // bytes of all that were made
}

// maxURLs is how many bytes the URLs of links of a page may have, after which text is no link any more: each may be longer than what stands in the page.
const maxURLs = 4 << 20

// resolve returns where a link leads, as it can stand in Markdown; "": nowhere.
func (l *links) resolve(s *scan, href string) string {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' || l.urls > maxURLs {
		return ""
	}
	if lower := strings.ToLower(href[:min(len(href), 8)]); !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") && !strings.HasPrefix(lower, "mailto:") {
		if l.base == nil {
			l.base = new(url.URL)
			if b, err := url.Parse(l.page); err == nil && b.IsAbs() {
				l.base = b
				if own, err := b.Parse(s.base); err == nil {
					l.base = own
				}
			}
		}
		u, err := l.base.Parse(href)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return ""
		}
		href = u.String()
	}
	var out []byte
	for i := range len(href) {
		switch c := href[i]; {
		case c <= ' ' || c == 0x7f || strings.IndexByte("()<>[]|\\`", c) >= 0:
			out = append(out, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		case c == '&' && entity(href[i:], false):
			out = append(out, "&amp;"...)
		default:
			out = append(out, c)
		}
	}
	l.urls += len(out)
	return strings.ToValidUTF8(string(out), "%EF%BF%BD")
}
