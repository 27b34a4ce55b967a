package text

import (
	"bytes"
	"iter"
	"slices"
	"strings"
)

// Limits of what is written as a table of Markdown, where each row has as many cells as the longest.
const (
	maxColumns = 64
	maxCells   = 10_000
	maxCell    = 300 // bytes of text in a cell, as a mean
)

// A grid is a table that is open. What is in its cells is written as blocks. At its end these become a table of Markdown if it is one of data; else those of a row one
// line if each cell has one at most: most tables of old pages put things in their places.
type grid struct {
	at     int  // in markdown.out, where it begins
	cells  int  // in markdown.cells: its first one
	row    int  // in markdown.cells: the first one of the latest row
	rows   int  // how many were begun
	inner  int  // markdown.inner in it
	inCell bool // the latest cell is open
	layout bool // it is no table of data
}

// A gridCell is a cell of a table that is open. Nothing is kept of those of rows that were laid out.
type gridCell struct {
	row          int // number of it
	across, down int // columns and rows
	head         bool

	// Its first block, in markdown.out, with what stands before it. No text: it has none.
	gap, text, end int
	more           bool // blocks, or the first is no paragraph
}

// enterTable begins a table, a row, a cell. It reports false where the last two are in none.
func (m *markdown) enterTable(o *open) bool {
	n := len(m.grids)
	if o.id == table {
		m.grids = append(m.grids, grid{at: m.gapAt, cells: len(m.cells), row: len(m.cells), inner: m.inner, layout: n > 0 || m.inner >= 0}) // in others Markdown has none
		return true
	}
	if n == 0 {
		return false
	}
	g := &m.grids[n-1]
	if o.id == row {
		g.rows++
		g.row = len(m.cells)
		return true
	}
	if len(m.cells)-g.row == maxColumns { // nor are its cells put together
		g.layout, m.cells[g.row].more = true, true
		return true
	}
	m.cells = append(m.cells, gridCell{row: g.rows, across: o.spans[0], down: o.spans[1], head: o.variant == head})
	g.inCell = true
	g.layout = g.layout || len(m.cells)-g.cells > maxCells
	return true
}

// inCell notes that a block begins, in a cell if one is open. words: it is a paragraph.
func (m *markdown) inCell(words bool) {
	if len(m.grids) == 0 {
		return
	}
	g := &m.grids[len(m.grids)-1]
	if !g.inCell { // a caption; behind rows it would come out of its place
		g.layout = g.layout || len(m.cells) > g.cells
		return
	}
	c := &m.cells[len(m.cells)-1]
	if c.text == 0 && words && m.inner == g.inner {
		c.gap, c.text = m.gapAt, len(m.out)
	} else {
		c.more, g.layout = true, true
	}
}

// endRow ends a row of the innermost table.
func (m *markdown) endRow() {
	if g := &m.grids[len(m.grids)-1]; g.layout {
		m.lay(g)
	}
}

// endTable ends the innermost table.
func (m *markdown) endTable() {
	n := len(m.grids) - 1
	g := &m.grids[n]
	width := 0
	if !g.layout {
		width = columnsOf(m.cells[g.cells:])
	}
	if width > 0 {
		m.tabulate(g, width)
	} else {
		m.lay(g)
	}
	m.cells, m.grids = m.cells[:g.cells], m.grids[:n]
	if n > 0 {
		outer := &m.grids[n-1]
		if outer.layout = true; outer.inCell {
			m.cells[len(m.cells)-1].more = true
		}
	}
}

// lay makes lines of the rows of a table whose cells have a paragraph each at most.
func (m *markdown) lay(g *grid) {
	read, write := 0, 0 // where in out the rest is, and is to be; 0: it stays
	for r := range rows(m.cells[g.cells:]) {
		if slices.ContainsFunc(r, func(c gridCell) bool { return c.more }) {
			continue
		}
		end := -1
		for _, c := range r {
			if c.text == 0 {
				continue
			}
			if c.gap == end { // no other text of the row is between them
				if read == 0 {
					write = c.gap
				} else {
					write += copy(m.out[write:], m.out[read:c.gap])
				}
				m.out[write] = ' '
				read, write = c.text, write+1
			}
			end = c.end
		}
	}
	if read > 0 {
		m.out = m.out[:write+copy(m.out[write:], m.out[read:])]
	}
	m.cells = m.cells[:g.cells]
}

// rows are the cells of a row each.
func rows(cells []gridCell) iter.Seq[[]gridCell] {
	return func(yield func([]gridCell) bool) {
		for from, i := 0, 1; i <= len(cells); i++ {
			if i == len(cells) || cells[i].row != cells[from].row {
				if !yield(cells[from:i]) {
					return
				}
				from = i
			}
		}
	}
}

// spans say for how many rows to come each column is taken by a cell that spans them.
type spans [maxColumns]int

// place returns the column of a cell of a row whose cells so far are before a column, and the one behind it.
func (s *spans) place(c *gridCell, col int) (at, next int) {
	for ; col < maxColumns && s[col] > 0; col++ {
		s[col]--
	}
	next = col + c.across
	for i := col; i < min(next, maxColumns); i++ {
		s[i] = c.down - 1
	}
	return col, next
}

// end ends a row whose cells are before a column, and returns the column behind all that it has.
func (s *spans) end(col int) (width int) {
	width = col
	for i := col; i < maxColumns; i++ {
		if s[i] > 0 {
			s[i]--
			width = i + 1
		}
	}
	return width
}

// columnsOf returns how many columns a table of data has: one of several rows and columns, of cells with a short text each, that is headed or has as many in each
// row. 0: it is none.
func columnsOf(cells []gridCell) (width int) {
	var taken spans
	n, area, bytes := 0, 0, 0
	headed, even := false, true
	for r := range rows(cells) {
		col := 0
		for i := range r {
			c := &r[i]
			_, col = taken.place(c, col)
			if area += c.across * c.down; col > maxColumns || area > maxCells {
				return 0
			}
			bytes += c.end - c.text
			headed = headed || c.head
			even = even && c.across == 1 && c.down == 1
		}
		col = taken.end(col)
		n++
		even = even && (n == 1 || col == width)
		width = max(width, col)
	}
	if n < 2 || width < 2 || !headed && !even || n*width > maxCells || bytes == 0 || bytes > area*maxCell {
		return 0
	}
	return width
}

// tabulate makes a table of Markdown of one of data. Its caption comes before it. The first row that has text is the head.
func (m *markdown) tabulate(g *grid, width int) {
	cells := m.cells[g.cells:]
	first := slices.IndexFunc(cells, func(c gridCell) bool { return c.text > 0 })
	b := append(append(m.held[:0], m.out[g.at:cells[first].gap]...), '\n')
	var taken spans
	headed := false
	for r := range rows(cells) {
		before, col, filled := len(b), 0, false
		b = append(b, '\n')
		for i := range r {
			at, next := taken.place(&r[i], col)
			b = append(b, strings.Repeat("|  ", at-col)...)
			b = append(b, "| "...)
			b = append(b, bytes.ReplaceAll(m.out[r[i].text:r[i].end], []byte("|"), []byte(`\|`))...) // also in code
			b = append(b, ' ')
			b = append(b, strings.Repeat("|  ", next-at-1)...)
			filled = filled || r[i].text > 0
			col = next
		}
		taken.end(col)
		b = append(b, strings.Repeat("|  ", width-col)...)
		b = append(b, '|')
		if !filled {
			b = b[:before]
		} else if !headed {
			headed = true
			b = append(append(b, '\n'), strings.Repeat("|---", width)+"|"...)
		}
	}
	m.out = append(m.out[:g.at], b...)
	m.held = b[:0]
}
