package text

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of what is written as a table of Markdown, where each row has as many cells as the longest.
const (
	maxColumns = 64
	maxCells   = 10_000
	maxCell    = 300 // bytes of text in a cell, as a mean
)

// finishTable makes a table one of Markdown if it is one of data; else its cells become blocks: most tables of old pages put things in their places.
func (m *markdown) finishTable(t *html.Node) {
	if isData(t, m.root) {
		head := true // the first row is the head, whatever the table says
		for r := t.FirstChild; r != nil; r = r.NextSibling {
			first := head && r.DataAtom == atom.Tr
			head = head && !first
			for c := r.FirstChild; c != nil; c = c.NextSibling {
				if c.DataAtom == atom.Th && !first {
					c.Data, c.DataAtom = "td", atom.Td
				}
				if p := c.FirstChild; p != nil && p.DataAtom == atom.P {
					unwrap(p)
				}
			}
		}
		return
	}
	for r := t.FirstChild; r != nil; r = r.NextSibling {
		if r.DataAtom != atom.Tr {
			m.lift(r, t)
			continue
		}
		if p := oneLine(r); p != nil {
			m.nodes++
			t.Parent.InsertBefore(p, t)
			continue
		}
		for c := r.FirstChild; c != nil; c = c.NextSibling {
			m.lift(c, t)
		}
	}
	t.Parent.RemoveChild(t)
}

// lift puts what is in a cell before the table.
func (m *markdown) lift(cell, t *html.Node) {
	for n := cell.FirstChild; n != nil; n = cell.FirstChild {
		cell.RemoveChild(n)
		if n.Type == html.TextNode || n.DataAtom != atom.P && !isBlock(n) { // of a caption
			p := &html.Node{Type: html.ElementNode, Data: "p", DataAtom: atom.P}
			m.nodes++
			p.AppendChild(n)
			n = p
		}
		t.Parent.InsertBefore(n, t)
	}
}

func isBlock(n *html.Node) bool {
	switch n.DataAtom {
	case atom.P, atom.Ul, atom.Ol, atom.Blockquote, atom.Pre, atom.Hr, atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// unwrap puts what is in a node in its place.
func unwrap(n *html.Node) {
	for c := n.FirstChild; c != nil; c = n.FirstChild {
		n.RemoveChild(c)
		n.Parent.InsertBefore(c, n)
	}
	n.Parent.RemoveChild(n)
}

// oneLine makes a block of the cells of a row that have a block each at most; nil: one has more.
func oneLine(r *html.Node) *html.Node {
	for c := r.FirstChild; c != nil; c = c.NextSibling {
		if b := c.FirstChild; b != nil && (b.DataAtom != atom.P || b.NextSibling != nil) {
			return nil
		}
	}
	p := &html.Node{Type: html.ElementNode, Data: "p", DataAtom: atom.P}
	var text []byte // that stands together, see markdown.target
	flush := func() {
		if len(text) > 0 {
			p.AppendChild(&html.Node{Type: html.TextNode, Data: string(text)})
			text = text[:0]
		}
	}
	for c := r.FirstChild; c != nil; c = c.NextSibling {
		b := c.FirstChild
		if b == nil {
			continue
		}
		if p.FirstChild != nil || len(text) > 0 {
			text = append(text, ' ')
		}
		for n := b.FirstChild; n != nil; n = b.FirstChild {
			if b.RemoveChild(n); n.Type == html.TextNode {
				text = append(text, n.Data...)
				continue
			}
			flush()
			p.AppendChild(n)
		}
	}
	flush()
	return p
}

// isData reports whether a table holds data: several rows and columns of cells with a short text each, that are headed, or as many in each row.
func isData(t, root *html.Node) bool {
	if t.Parent != root { // in a list or a quote Markdown has none
		return false
	}
	rows, width, cells, bytes := 0, 0, 0, 0
	headed, even := false, true
	for r := t.FirstChild; r != nil; r = r.NextSibling {
		if r.DataAtom != atom.Tr {
			continue
		}
		n := 0
		for c := r.FirstChild; c != nil; c = c.NextSibling {
			if b := c.FirstChild; b != nil {
				if b.DataAtom != atom.P || b.NextSibling != nil {
					return false
				}
				bytes += textIn(b)
			}
			headed = headed || c.DataAtom == atom.Th
			across, down := span(c, "colspan"), span(c, "rowspan")
			n += across
			if cells += across * down; n > maxColumns || cells > maxCells {
				return false
			}
			even = even && across == 1 && down == 1
		}
		if rows++; rows > 1 && n != width {
			even = false
		}
		width = max(width, n)
	}
	return rows > 1 && width > 1 && (headed || even) && rows*width <= maxCells && bytes > 0 && bytes <= cells*maxCell
}

func textIn(n *html.Node) (bytes int) {
	if n.Type == html.TextNode {
		return len(n.Data)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		bytes += textIn(c)
	}
	return bytes
}

func span(n *html.Node, key string) int {
	for _, a := range n.Attr {
		if a.Key == key {
			if v, err := strconv.Atoi(a.Val); err == nil {
				return v
			}
		}
	}
	return 1
}
