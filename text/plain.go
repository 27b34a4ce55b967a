package text

import "bytes"

// plain writes text without marks: blocks between empty lines, items and rows on a line each, cells with a tab between them.
type plain struct {
	out []byte
	mid bool // in a block

	// The latest block was in what is still open:
	cell, row, table, list bool
}

func (p *plain) begin() { *p = plain{out: p.out[:0]} }

func (p *plain) finish() string { return string(bytes.TrimSpace(p.out)) }

func (p *plain) text(s *scan, b []byte) {
	if !p.mid {
		p.between(s)
		p.mid = true
	}
	p.out = append(p.out, b...)
}

// between writes what stands before a block.
func (p *plain) between(s *scan) {
	in := s.scope(cell) > s.scope(table)
	sep := "\n\n"
	switch {
	case in && p.cell, in && p.table && !p.row, s.lists > 0 && p.list:
		sep = "\n"
	case in && p.row:
		sep = "\t"
	}
	if len(p.out) > 0 {
		p.out = append(p.out, sep...)
	}
	p.cell, p.row, p.table = in, in, in
	p.list = s.lists > 0
}

func (p *plain) space(*scan) { p.out = append(p.out, ' ') }

func (p *plain) line(s *scan) {
	if s.scope(cell) > s.scope(table) {
		p.out = append(p.out, ' ')
	} else {
		p.out = append(p.out, '\n')
	}
}

func (p *plain) end(*scan) {
	p.mid = false
	p.out = bytes.TrimRight(p.out, " \n")
}

func (p *plain) rule(*scan) {}

func (p *plain) picture(s *scan, alt, _ string) { p.text(s, []byte(alt)) }

func (p *plain) closed(s *scan, e *open) {
	switch e.id {
	case cell:
		p.cell = false
	case row:
		p.cell, p.row = false, false
	case table:
		p.cell, p.row = false, false
		p.table = p.table && bytes.Count(s.ids, []byte{byte(table)}) > 1
	case list:
		p.list = p.list && s.lists > 1
	}
}
