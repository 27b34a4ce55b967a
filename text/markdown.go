package text

import (
	"bytes"
	"strconv"
)

// markdown writes text as CommonMark with the tables of GitHub while it is told of it, in the order of the page, and keeps only what is open. Marks that Markdown cannot
// have where they stand are left out, text never is. What is within blocks is in marks.go, tables are in tables.go.
type markdown struct {
	links
	out []byte

	// Of the structures of scan.open those below known have been begun.
	known  int
	inner  int    // which one of these is the innermost list, item or quote; -1: none
	prefix []byte // of each line in them
	spent  int    // bytes of all prefixes
	flat   bool   // lists and quotes are told no more
	after  byte   // mark of the list that ended before the next block; 0: there is none
	gapAt  int    // in out: what stands before the latest block

	mid   bool   // in a block
	lead  lead   // what a line has
	gap   byte   // ' ' or '\n': is to be written before what comes next
	held  []byte // preformatted text; memory of tables
	marks []mark // that are open, outermost first
	live  int    // how many of them go on
	want  []mark // memory of settle

	grids []grid     // tables that are open
	cells []gridCell // of these
}

// What a writer has made of an open element.
type made struct {
	begun  bool
	used   bool // an anchor has been a link, or cannot be one
	mark   byte // of a list: what its items have
	outer  int  // markdown.inner before it
	prefix int  // bytes of markdown.prefix before it
	items  int  // of a list: how many there were
	width  int  // bytes of the mark of the latest one
}

// maxPrefix is how many bytes all prefixes of lines may have, before lists and quotes become plain blocks: in a deep one each line may take more than it has.
const maxPrefix = 4 << 20

func (m *markdown) begin(page string) {
	*m = markdown{links: links{page: page}, inner: -1, out: m.out[:0], prefix: m.prefix[:0], held: m.held[:0],
		marks: m.marks[:0], want: m.want[:0], grids: m.grids[:0], cells: m.cells[:0]}
}

func (m *markdown) finish() string { return string(bytes.TrimSpace(m.out)) }

func (m *markdown) text(s *scan, b []byte) {
	if s.pre > 0 {
		m.held = append(m.held, b...)
		return
	}
	m.open(s)
	m.settle(s, b, false)
	if n := len(m.marks); n > 0 && m.marks[n-1].id == code {
		m.out = append(m.out, b...)
	} else {
		m.out, m.lead = escape(m.out, b, m.lead)
	}
}

func (m *markdown) space(*scan) {
	if m.mid {
		m.gap = ' '
	}
}

func (m *markdown) line(*scan) {
	if !m.mid {
		return
	}
	if n := len(m.grids); m.spent > maxPrefix || n > 0 && m.grids[n-1].inCell && !m.grids[n-1].layout { // a cell of a table of data is one line
		m.gap = ' '
	} else {
		m.gap = '\n'
	}
}

func (m *markdown) picture(s *scan, alt, src string) {
	to := m.resolve(s, src)
	if to == "" {
		m.text(s, []byte(alt))
		return
	}
	m.open(s)
	m.settle(s, []byte("!"), true)
	m.out = append(m.out, "!["...)
	m.out, _ = escape(m.out, []byte(alt), within)
	m.out = append(append(append(m.out, "]("...), to...), ')')
	m.lead = within
}

func (m *markdown) rule(s *scan) {
	if s.scope(cell) > 0 {
		return
	}
	m.block(s, false, 0)
	if m.inner < 0 {
		m.out = append(m.out, "---"...)
	} else {
		m.out = append(m.out, "___"...) // after the mark of an item dashes were part of the line
	}
}

func (m *markdown) end(s *scan) {
	switch {
	case m.mid:
		m.gap = 0
		m.close(0, ' ')
		m.mid = false
	case len(m.held) > 0:
		m.code(s)
	}
	if n := len(m.grids); n > 0 && m.grids[n-1].inCell {
		m.cells[len(m.cells)-1].end = len(m.out)
	}
}

func (m *markdown) closed(s *scan, e *open) {
	at := len(s.open) - 1
	if e.id.inline() {
		for i := range m.marks[:m.live] {
			if m.marks[i].at == at {
				m.live = i
				break
			}
		}
		return
	}
	if e.id == cell && !e.begun && !s.silent() && s.lists+s.quotes+s.headings+s.pre == 0 { // an empty one is a cell of a table, too
		m.gapAt = len(m.out)
		m.enter(s, len(s.open))
	}
	m.known = min(m.known, at)
	if !e.begun {
		return
	}
	switch e.id {
	case list, item, quote:
		m.inner, m.prefix = e.outer, m.prefix[:e.prefix]
		if e.id == list {
			m.after = e.mark
		}
	case cell:
		m.grids[len(m.grids)-1].inCell = false
	case row:
		m.endRow()
	case table:
		m.endTable()
	}
}

// open begins a block of words, if none is open: a paragraph or a heading.
func (m *markdown) open(s *scan) {
	if m.mid {
		return
	}
	m.block(s, s.headings == 0, 0)
	m.mid, m.lead = true, start
	if s.headings > 0 {
		level := s.open[s.leaf()].variant
		m.out = append(append(m.out, "######"[:level]...), ' ')
		m.lead = within
	}
}

// leaf returns the index of the heading or preformatted text that is open, of which there is one at most. What is in it is part of it.
func (s *scan) leaf() int { return max(s.scope(heading), s.scope(preformatted)) - 1 }

// block writes what stands before a block that has that many lines after its first one, and begins what it is in.
func (m *markdown) block(s *scan, words bool, lines int) {
	limit := len(s.open)
	if s.headings+s.pre > 0 {
		limit = s.leaf()
	}
	if !m.flat && m.spent+(lines+2)*len(m.prefix) > maxPrefix {
		m.flat, m.inner, m.prefix = true, -1, m.prefix[:0]
		for i := range s.open {
			if o := &s.open[i]; o.id == list || o.id == item || o.id == quote {
				o.begun = false
			}
		}
	}

	// Only what comes next in a list does so without an empty line. What is in a list and in no item goes on with the item before it.
	var next [2]id
	n := 0
	for i := m.known; i < limit && n < len(next) && !m.flat; i++ {
		if id := s.open[i].id; id == list || id == item || id == quote {
			next[n] = id
			n++
		}
	}
	tight := false
	if m.inner >= 0 {
		switch in := &s.open[m.inner]; in.id {
		case list:
			tight = in.items > 0 && next[0] == item
			if m.prefix = m.prefix[:in.prefix]; next[0] != item {
				m.indent(in.width)
			}
		case item:
			tight = next[0] == list && next[1] == item
		}
	}

	m.gapAt = len(m.out)
	m.out = append(m.out, '\n')
	if !tight {
		m.out = append(append(m.out, bytes.TrimRight(m.prefix, " ")...), '\n')
	}
	m.out = append(m.out, m.prefix...)
	before := len(m.out)
	m.enter(s, limit)
	m.spent += len(m.out) - before + (lines+2)*len(m.prefix)
	m.after = 0
	m.inCell(words)
}

// enter begins the structures that are open below an index.
func (m *markdown) enter(s *scan, limit int) {
	first := true
	for ; m.known < limit; m.known++ {
		o := &s.open[m.known]
		switch o.id {
		case list, item, quote:
			l := max(m.inner, 0) // the list of an item
			if m.flat || o.id == item && (m.inner < 0 || s.open[l].id != list) {
				continue
			}
			o.made = made{begun: true, outer: m.inner, prefix: len(m.prefix)}
			m.inner = m.known
			switch o.id {
			case item:
				m.item(&s.open[l], first)
				first = false
			case quote:
				m.out, m.prefix = append(m.out, "> "...), append(m.prefix, "> "...)
				first = false
			}
		case table, row, cell:
			o.begun = m.enterTable(o)
		}
	}
}

// item writes the mark of an item. first: of what is written of the block.
func (m *markdown) item(l *open, first bool) {
	if l.items == 0 {
		marks := "-*"
		if l.variant == ordered {
			marks = ".)"
		}
		l.mark = marks[0]
		if first && m.after == l.mark { // else it went on with the list before it
			l.mark = marks[1]
		}
	}
	l.items++
	at := len(m.out)
	if l.variant == ordered {
		m.out = strconv.AppendInt(m.out, int64(l.items), 10)
	}
	m.out = append(m.out, l.mark, ' ')
	l.width = len(m.out) - at
	m.indent(l.width)
}

func (m *markdown) indent(n int) {
	for range n {
		m.prefix = append(m.prefix, ' ')
	}
}

// code writes the preformatted text that is held.
func (m *markdown) code(s *scan) {
	text := bytes.TrimRight(m.held, " \t\n")
	m.block(s, false, bytes.Count(text, []byte("\n"))+2)
	fence := max(3, longestRun(text, '`')+1)
	m.ticks(fence)
	m.out = append(m.out, s.open[s.leaf()].lang...)
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		m.out = append(m.out, '\n')
		if len(bytes.TrimSpace(line)) == 0 {
			m.out = append(m.out, bytes.TrimRight(m.prefix, " ")...)
		} else {
			m.out = append(append(m.out, m.prefix...), line...)
		}
	}
	m.out = append(append(m.out, '\n'), m.prefix...)
	m.ticks(fence)
	m.held = m.held[:0]
}

func (m *markdown) ticks(n int) {
	for range n {
		m.out = append(m.out, '`')
	}
}

// longestRun returns how often a byte stands in a row.
func longestRun(b []byte, c byte) (longest int) {
	for i := bytes.IndexByte(b, c); i >= 0 && i < len(b); {
		n := i
		for i < len(b) && b[i] == c {
			i++
		}
		longest = max(longest, i-n)
		next := bytes.IndexByte(b[i:], c)
		if next < 0 {
			break
		}
		i += next
	}
	return longest
}
