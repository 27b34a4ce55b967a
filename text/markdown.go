package text

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	tables "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdown writes text as Markdown, by html-to-markdown. It gives that trees which are small and not deep, group by group of blocks, so that neither nesting nor length
// makes it slow; and escapes by itself, as the way of the module looks for the end of a line from each bracket.
type markdown struct {
	page string   // its URL
	base *url.URL // of its links; nil: not known yet, or none
	urls int      // bytes of all that were made
	out  bytes.Buffer

	root    *html.Node // of the group
	group   int        // number of it
	size    int        // bytes of its text
	nodes   int        // of its tree
	spent   int        // nodes of all groups before it
	block   *html.Node // nil: none has begun
	number  int        // of the block
	cur     *html.Node // that text goes to; nil: none yet
	inline  int        // how many inline elements were open then; -1: others are open now
	literal bool       // it is code
	held    []byte     // for cur
	atStart bool       // of a line
}

// What a writer has made of an open element.
type made struct {
	node  *html.Node
	group int  // in which it was made
	block int  // of an inline element: the same
	used  bool // an anchor has been a link
	items int  // of a list: how many were made
}

// Limits of a group, and of what is made into trees at all: what comes after that many nodes has no marks. A page of 15 MiB then takes half a
// second at most for its trees.
const (
	groupBytes = 128 << 10
	groupNodes = 4 << 10
	allNodes   = 200_000
	maxInline  = 8       // inline elements in each other that are told
	maxURLs    = 4 << 20 // bytes of the URLs of links, after which text is no link any more: each may be longer than what stands in the page
)

func (m *markdown) begin(page string) {
	out := m.out
	out.Reset()
	*m = markdown{page: page, out: out, held: m.held[:0], root: &html.Node{Type: html.DocumentNode}}
}

func (m *markdown) finish() string {
	m.flushGroup(nil)
	text := bytes.TrimSpace(m.out.Bytes())
	return string(text)
}

// bare reports whether nothing is marked any more.
func (m *markdown) bare() bool { return m.spent >= allNodes }

func (m *markdown) text(s *scan, b []byte) {
	if m.bare() {
		if m.block == nil {
			m.block = m.root
			m.out.WriteString("\n\n")
		}
		m.held = escape(m.held[:0], b, false, false)
		m.out.Write(restore(m.held))
		return
	}
	if m.size >= groupBytes && m.block != nil && s.scope(cell) == 0 {
		m.end(s) // a block without end
	}
	m.target(s)
	m.size += len(b)
	if m.literal {
		m.held = append(m.held, b...)
	} else {
		m.held = escape(m.held, b, m.atStart, s.scope(cell) > 0)
	}
	m.atStart = false
}

func (m *markdown) space(s *scan) {
	switch {
	case m.block == nil:
	case m.bare():
		m.out.WriteByte(' ')
	default:
		m.target(s)
		m.held = append(m.held, ' ')
	}
}

func (m *markdown) line(s *scan) {
	if m.bare() || s.scope(cell) > 0 {
		m.space(s)
		return
	}
	if m.nodes >= 2*groupNodes { // a block of lines without end
		m.end(s)
		return
	}
	m.flush()
	if m.block != nil {
		m.add(m.block, "br", atom.Br)
		m.atStart, m.cur, m.number = true, nil, m.number+1 // so that what is open is marked again: it ends with the line
	}
}

func (m *markdown) rule(s *scan) {
	if m.bare() || s.scope(cell) > 0 {
		return
	}
	parent, _ := m.container(s)
	m.add(parent, "hr", atom.Hr)
	m.end(s)
}

func (m *markdown) picture(s *scan, alt, src string) {
	to := m.resolve(s, src)
	if m.bare() || to == "" {
		m.text(s, []byte(alt))
		return
	}
	if m.target(s); m.literal {
		return
	}
	m.flush()
	n := m.add(m.cur, "img", atom.Img)
	n.Attr = []html.Attribute{{Key: "alt", Val: string(restore(escape(nil, []byte(alt), false, s.scope(cell) > 0)))}, {Key: "src", Val: to}}
	m.atStart = false
}

func (m *markdown) end(s *scan) {
	m.flush()
	m.block, m.cur = nil, nil
	m.number++
	if !m.bare() && (m.size >= groupBytes || m.nodes >= groupNodes) {
		m.flushGroup(s)
	}
}

func (m *markdown) closed(s *scan, e *open) {
	if m.bare() {
		return
	}
	switch {
	case e.id.inline():
		m.inline = -1
	case e.id == cell && !s.silent():
		m.container(s) // an empty cell is one, too
	case e.id == table && m.has(e):
		m.finishTable(e.node)
	}
}

// has reports whether an element has a node in this group.
func (m *markdown) has(e *open) bool { return e.node != nil && e.group == m.group }

// flush makes the text that has come a node.
func (m *markdown) flush() {
	if len(m.held) > 0 && m.cur != nil {
		m.nodes++
		m.cur.AppendChild(&html.Node{Type: html.TextNode, Data: strings.ReplaceAll(string(m.held), "\uf002", "\ufffd")}) // which the module has for itself
	}
	m.held = m.held[:0]
}

// add adds an element.
func (m *markdown) add(to *html.Node, tag string, a atom.Atom) *html.Node {
	m.nodes++
	n := &html.Node{Type: html.ElementNode, Data: tag, DataAtom: a}
	to.AppendChild(n)
	return n
}

// container returns the innermost structure that is open, and which one it is, made if need be.
func (m *markdown) container(s *scan) (*html.Node, id) {
	last := len(s.open) // of a table only cells and captions hold text: what stands elsewhere in it comes before it
	for i := len(s.open) - 1; i >= 0; i-- {
		if id := s.open[i].id; id == cell || id == caption {
			break
		} else if id == row || id == table {
			last = i
		}
	}
	parent, is := m.root, none
	for i := range s.open[:last] {
		o := &s.open[i]
		if !o.id.structure() {
			continue
		}
		if !m.has(o) {
			o.made = made{node: m.make(parent, is, o), group: m.group, items: o.items}
			if o.id == item && i > 0 {
				if l := s.scope(list) - 1; l >= 0 {
					s.open[l].items++
				}
			}
		}
		parent, is = o.node, o.id
	}
	return parent, is
}

// make makes the node of a structure.
func (m *markdown) make(parent *html.Node, in id, o *open) *html.Node {
	tag, a := o.atom.String(), o.atom
	switch o.id {
	case list:
		if o.atom != atom.Ol {
			tag, a = "ul", atom.Ul
		}
	case row:
		tag, a = "tr", atom.Tr
	}
	n := m.add(parent, tag, a)
	switch {
	case o.id == list && o.items > 0: // it goes on
		n.Attr = []html.Attribute{{Key: "start", Val: strconv.Itoa(o.items + 1)}}
	case o.id == preformatted && o.lang != "":
		n.Attr = []html.Attribute{{Key: "class", Val: "language-" + o.lang}}
	case o.id == cell:
		for i, key := range []string{"colspan", "rowspan"} {
			if o.spans[i] > 1 {
				n.Attr = append(n.Attr, html.Attribute{Key: key, Val: strconv.Itoa(o.spans[i])})
			}
		}
	}
	return n
}

// target finds where text goes. Text is held until it is to go elsewhere, so that no two nodes of text stand beside each other: joining many takes the
// module much time.
func (m *markdown) target(s *scan) {
	if m.cur != nil && (m.inline == len(s.inline) || s.pre > 0) {
		return
	}
	if m.block == nil {
		parent, is := m.container(s)
		m.atStart = is != heading
		if m.block = parent; is != heading && is != preformatted && is != caption {
			m.block = m.add(parent, "p", atom.P)
		}
	}
	cur := m.block
	m.inline, m.literal = len(s.inline), s.pre > 0
	if s.pre == 0 && m.nodes < 2*groupNodes { // else the block is one without end
		for _, at := range s.inline[:min(len(s.inline), maxInline)] {
			o := &s.open[at]
			if o.node == nil || o.block != m.number || o.group != m.group {
				tag, a, attr := m.mark(s, o)
				if tag == "" {
					continue
				}
				m.flush()
				n := m.add(cur, tag, a)
				n.Attr = attr
				o.made = made{node: n, group: m.group, block: m.number, used: true}
			}
			if cur = o.node; o.id == code {
				m.literal = true
				break
			}
		}
	}
	if cur != m.cur {
		m.flush()
		m.cur = cur
	}
}

// mark says what an inline element becomes; "": nothing.
func (m *markdown) mark(s *scan, o *open) (tag string, a atom.Atom, attr []html.Attribute) {
	switch o.id {
	case anchor: // the first block in it is a link
		if to := m.resolve(s, o.href); to != "" && !o.used {
			return "a", atom.A, []html.Attribute{{Key: "href", Val: to}}
		}
	case strong:
		if s.headings == 0 {
			return "strong", atom.Strong, nil
		}
	case emphasis:
		return "em", atom.Em, nil
	case code:
		return "code", atom.Code, nil
	}
	return "", 0, nil
}

// resolve returns where a link leads, as it can stand in Markdown; "": nowhere.
func (m *markdown) resolve(s *scan, href string) string {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' || m.urls > maxURLs {
		return ""
	}
	if lower := strings.ToLower(href[:min(len(href), 8)]); !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") && !strings.HasPrefix(lower, "mailto:") {
		if m.base == nil {
			m.base = new(url.URL)
			if b, err := url.Parse(m.page); err == nil && b.IsAbs() {
				m.base = b
				if own, err := b.Parse(s.base); err == nil {
					m.base = own
				}
			}
		}
		u, err := m.base.Parse(href)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return ""
		}
		href = u.String()
	}
	var out []byte
	for i := range len(href) {
		switch c := href[i]; {
		case c <= ' ' || c == 0x7f || c == '(' || c == ')' || c == '<' || c == '>' || c == '[' || c == ']' || c == '|' || c == '\\':
			out = append(out, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		default:
			out = append(out, c)
		}
	}
	m.urls += len(out)
	return strings.ToValidUTF8(string(out), "%EF%BF%BD")
}

// flushGroup writes the group, and begins the next.
func (m *markdown) flushGroup(s *scan) {
	m.flush()
	if s != nil {
		for i := range s.open {
			if o := &s.open[i]; o.id == table && m.has(o) {
				m.finishTable(o.node)
			}
		}
	}
	if m.root.FirstChild != nil {
		text, err := convert().ConvertNode(m.root)
		if err != nil { // of how the converter was made
			panic(err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			m.out.WriteString("\n\n")
			m.out.Write(restore(text))
		}
	}
	m.spent += m.nodes
	m.root, m.block, m.cur = &html.Node{Type: html.DocumentNode}, nil, nil
	m.group, m.size, m.nodes = m.group+1, 0, 0
}

// convert returns the converter, which may be used by several goroutines.
var convert = sync.OnceValue(func() *converter.Converter {
	c := converter.NewConverter(
		converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false), commonmark.WithHorizontalRule("---")),
			tables.NewTablePlugin(tables.WithCellPaddingBehavior(tables.CellPaddingBehaviorMinimal), tables.WithHeaderPromotion(true), tables.WithSkipEmptyRows(true))),
	)
	attr := func(n *html.Node, key string) string {
		for _, a := range n.Attr {
			if a.Key == key {
				return a.Val
			}
		}
		return ""
	}
	c.Register.RendererFor("a", converter.TagTypeInline, func(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
		var b bytes.Buffer
		ctx.RenderChildNodes(ctx, &b, n)
		text := bytes.TrimSpace(b.Bytes())
		if len(text) == 0 {
			return converter.RenderSuccess
		}
		before, after := b.Bytes()[:bytes.Index(b.Bytes(), text)], b.Bytes()[bytes.Index(b.Bytes(), text)+len(text):]
		w.Write(before)
		w.WriteByte('[')
		w.Write(bytes.ReplaceAll(text, []byte("\n"), []byte(" ")))
		w.WriteString("](" + attr(n, "href") + ")")
		w.Write(after)
		return converter.RenderSuccess
	}, converter.PriorityEarly)
	c.Register.RendererFor("img", converter.TagTypeInline, func(_ converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
		w.WriteString("![" + attr(n, "alt") + "](" + attr(n, "src") + ")")
		return converter.RenderSuccess
	}, converter.PriorityEarly)
	return c
})

// What stands for < and > until a group is written, as the module would make entities of them. No text has these.
const (
	less    = '\x01'
	greater = '\x02'
)

// restore puts < and > in their places.
func restore(text []byte) []byte {
	if bytes.IndexByte(text, less) < 0 && bytes.IndexByte(text, greater) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for _, c := range text {
		switch c {
		case less:
			out = append(out, '\\', '<')
		case greater:
			out = append(out, '>')
		default:
			out = append(out, c)
		}
	}
	return out
}

// escape appends text so that Markdown takes it for text. atStart: of a line; in a cell of a table bars are escaped, too.
func escape(dst, b []byte, atStart, inCell bool) []byte {
	if atStart && len(b) > 0 {
		i := 0
		for i < len(b) && i < 10 && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		switch c := b[min(i, len(b)-1)]; {
		case i > 0 && i < len(b) && (c == '.' || c == ')') && (i+1 == len(b) || b[i+1] == ' '): // as the number of an item
			dst = append(append(dst, b[:i]...), '\\', c)
			b = b[i+1:]
		case i == 0 && (c == '#' || c == '=' || c == '~' || (c == '-' || c == '+') && (len(b) == 1 || b[1] == ' ' || b[1] == c)):
			dst = append(dst, '\\', c)
			b = b[1:]
		case c == '>' && i == 0:
			dst = append(dst, '\\', greater)
			b = b[1:]
		}
	}
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch c {
		case '\\', '`', '*', '[', ']':
			dst = append(dst, '\\', c)
		case '<':
			dst = append(dst, less)
		case '>':
			dst = append(dst, greater)
		case '|':
			if inCell {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		case '_': // within a word it is nothing
			if i == 0 || i+1 == len(b) || !wordly(b[i-1]) || !wordly(b[i+1]) {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		case '~':
			if i+1 < len(b) && b[i+1] == '~' {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		case '&': // what looks like an entity is none
			if end := bytes.IndexByte(b[i:min(len(b), i+12)], ';'); end > 1 && (b[i+1] == '#' || wordly(b[i+1])) {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		case '#': // a heading that ends with some would lose them
			if i+1 == len(b) {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func wordly(c byte) bool {
	return c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
