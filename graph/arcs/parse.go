package arcs

import (
	"bytes"
	"fmt"

	"forage/graph"
)

// A block is a piece of one file that ends at the end of a line.
type block struct {
	seq    uint64 // its place among all blocks
	file   string
	line   int // number of its first line, from 1
	node   int // adjacency: the node of its first line
	text   []byte
	header *header // MatrixMarket
	format Format
}

// header is what the first lines of a MatrixMarket file say.
type header struct {
	rows, cols, entries uint64
	symmetric           bool
}

// parsed is what a block holds.
type parsed struct {
	arcs  []graph.Arc
	nodes int // largest number + 1
}

const tooMany = "a node number of at most 4294967294 (graphs here have fewer than 2^32 nodes; " +
	"'forage graph convert --relabel' gives sparse ids dense numbers, 'forage cover' takes set systems with 64-bit numbers as they are)"

// parse appends the arcs of b to arcs.
func (b *block) parse(arcs []graph.Arc) (parsed, error) {
	switch b.format {
	case Adjacency:
		return b.adjacency(arcs)
	case MatrixMarket:
		return b.matrix(arcs)
	}
	return b.list(arcs)
}

// A number is read by hand: this loop decides how fast graphs load. It returns the value, the
// index of the first byte after it, and whether there was a number that fits 64 bits at all.
// text ends with a byte that is no digit.
func number(text []byte, i int) (uint64, int, bool) {
	start := i
	v := uint64(text[i] - '0')
	if v > 9 {
		return 0, i, false
	}
	for i++; i < len(text); i++ {
		d := text[i] - '0'
		if d > 9 {
			break
		}
		v = v*10 + uint64(d)
	}
	if i-start > 19 { // may have wrapped round
		for ; start < i-19; start++ {
			if text[start] != '0' {
				return 1<<64 - 1, i, true
			}
		}
	}
	return v, i, true
}

func (b *block) list(arcs []graph.Arc) (parsed, error) {
	text := b.text
	most := uint64(0) // largest number + 1
	for i := 0; i < len(text); {
		start := i
		if c := text[i] - '0'; c > 9 {
			if i = skipBlank(text, i); text[i] == '\n' {
				i++
				continue
			}
			if text[i] == '#' || text[i] == '%' {
				i += bytes.IndexByte(text[i:], '\n') + 1
				continue
			}
		}
		u, j, ok := number(text, i)
		if !ok || text[j] != '\t' && text[j] != ' ' && text[j] != '\r' {
			return parsed{}, b.noArc(start)
		}
		if j++; text[j]-'0' > 9 {
			j = skipBlank(text, j)
		}
		v, j, ok := number(text, j)
		if !ok {
			return parsed{}, b.noArc(start)
		}
		if text[j] != '\n' {
			if j = skipBlank(text, j); text[j] != '\n' {
				return parsed{}, b.noArc(start)
			}
		}
		i = j + 1
		if u >= most || v >= most {
			if u >= graph.MaxNodes || v >= graph.MaxNodes {
				return parsed{}, b.wrong(start, tooMany)
			}
			most = max(u, v) + 1
		}
		arcs = append(arcs, graph.Arc{From: graph.Node(u), To: graph.Node(v)})
	}
	return parsed{arcs, int(most)}, nil
}

// noArc is the error of a line that is no arc.
func (b *block) noArc(i int) error {
	line, _, _ := bytes.Cut(b.text[i:], []byte{'\n'})
	want := "two node numbers, 'u v'"
	if len(bytes.Trim(line, "0123456789 \t\r")) == 0 {
		want += " (lists of successors are read with --format adjacency)"
	}
	err := b.wrong(i, want)
	err.NotArc = true
	return err
}

func (b *block) adjacency(arcs []graph.Arc) (parsed, error) {
	text := b.text
	most := uint64(0)
	node := b.node
	for i := 0; i < len(text); {
		start := i
		if text[i] == '#' || text[i] == '%' {
			i += bytes.IndexByte(text[i:], '\n') + 1
			continue
		}
		if node >= graph.MaxNodes {
			return parsed{}, b.wrong(start, "at most 4294967295 lines, one a node (graphs here have fewer than 2^32 nodes)")
		}
		for i = skipBlank(text, i); text[i] != '\n'; i = skipBlank(text, i) {
			v, j, ok := number(text, i)
			if !ok || text[j] > ' ' {
				return parsed{}, b.wrong(start, "node numbers, the successors of one node")
			}
			if v >= graph.MaxNodes {
				return parsed{}, b.wrong(start, tooMany)
			}
			most = max(most, v+1)
			arcs = append(arcs, graph.Arc{From: graph.Node(node), To: graph.Node(v)})
			i = j
		}
		i++
		node++
	}
	return parsed{arcs, max(int(most), node)}, nil
}

func (b *block) matrix(arcs []graph.Arc) (parsed, error) {
	text := b.text
	h := b.header
	for i := 0; i < len(text); {
		start := i
		if i = skipBlank(text, i); text[i] == '\n' {
			i++
			continue
		}
		if text[start] == '%' {
			i += bytes.IndexByte(text[i:], '\n') + 1
			continue
		}
		u, j, ok := number(text, i)
		if !ok {
			return parsed{}, b.wrong(start, "an entry, 'row column' and perhaps a value")
		}
		v, j, ok := number(text, skipBlank(text, j))
		if !ok || text[j] > ' ' {
			return parsed{}, b.wrong(start, "an entry, 'row column' and perhaps a value")
		}
		if u < 1 || u > h.rows || v < 1 || v > h.cols {
			return parsed{}, b.wrong(start, fmt.Sprintf("a row in [1, %d] and a column in [1, %d]", h.rows, h.cols))
		}
		i = j + bytes.IndexByte(text[j:], '\n') + 1
		arcs = append(arcs, graph.Arc{From: graph.Node(u - 1), To: graph.Node(v - 1)})
		if h.symmetric && u != v {
			arcs = append(arcs, graph.Arc{From: graph.Node(v - 1), To: graph.Node(u - 1)})
		}
	}
	return parsed{arcs, int(max(h.rows, h.cols))}, nil
}

// skipBlank returns the index of the first byte from i on that is neither blank nor tab nor
// carriage return.
func skipBlank(text []byte, i int) int {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\r' {
		i++
	}
	return i
}

// wrong is the error of the line at index i of the text.
func (b *block) wrong(i int, want string) *Error {
	end := i + bytes.IndexByte(b.text[i:], '\n')
	got := shortened(string(bytes.TrimSpace(b.text[i:end])))
	return &Error{File: b.file, Line: b.line + bytes.Count(b.text[:i], []byte{'\n'}), Want: want, Got: got}
}
