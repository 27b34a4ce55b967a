package arcs

import (
	"bytes"
	"io"
	"os"
	"strings"

	"forage/graph"
)

// An Estimate is what is known of a graph before it is read.
type Estimate struct {
	Nodes, Arcs uint64
	Text        int64 // bytes of text, without compression
	Exact       bool  // counted, not estimated
}

// Guess estimates the size of the graph in the files from the first MiB of text of up to 16 of
// them, and the last 64 KiB where they are not compressed: the arcs by their share of the text,
// the nodes by the largest number seen, and by how far the sources of sorted arcs have come. Files
// that are shorter are counted.
func Guess(files []string, o Options) (Estimate, error) {
	const sampled = 16
	step := max(1, len(files)/sampled)
	e := Estimate{Exact: step == 1}
	looked := 0
	for i := 0; i < len(files); i += step {
		looked++
		if err := e.sample(files[i], o); err != nil {
			return e, err
		}
	}
	if looked > 0 {
		e.Arcs = e.Arcs * uint64(len(files)) / uint64(looked)
		e.Text = e.Text * int64(len(files)) / int64(looked)
	}
	if o.Direction == Both {
		e.Arcs *= 2
	}
	return e, nil
}

// sample adds what the head and the tail of a file tell.
func (e *Estimate) sample(file string, o Options) error {
	in, err := Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	r := in.(*reader)
	text := make([]byte, 1<<20)
	n, err := io.ReadFull(in, text)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	whole := err != nil
	text = text[:n]
	if whole {
		if n > 0 && text[n-1] != '\n' {
			text = append(text, '\n')
		}
	} else {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	total := int64(len(text))
	if !whole {
		e.Exact = false
		total = info.Size()
		if r.packed != "" {
			at, err := r.consumed()
			if err != nil {
				return err
			}
			total = int64(float64(info.Size()) / float64(max(1, at)) * float64(n))
		}
	}
	if len(text) == 0 {
		return nil
	}
	b := block{file: file, line: 1, text: text, format: o.Format}
	s := splitter{format: o.Format}
	if err := s.begin(&b); err != nil {
		return err
	}
	e.Text += total
	if b.header != nil { // the header tells
		e.Nodes = max(e.Nodes, b.header.rows, b.header.cols)
		arcs := b.header.entries
		if b.header.symmetric {
			arcs *= 2
		}
		e.Arcs += arcs
		e.Exact = e.Exact && !b.header.symmetric
		return nil
	}
	p, err := b.parse(nil)
	if err != nil {
		return err
	}
	e.Nodes = max(e.Nodes, uint64(p.nodes))
	if whole {
		e.Arcs += uint64(len(p.arcs))
		return nil
	}
	perByte := float64(len(p.arcs)) / float64(len(text))
	if r.packed == "" {
		// Numbers are longer towards the end.
		if arcs, bytes := e.tail(r.file, info, o.Format); arcs > 0 {
			perByte = (perByte + float64(arcs)/float64(bytes)) / 2
		}
	} else {
		ascending := len(p.arcs) > 0
		for i := 1; i < len(p.arcs) && ascending; i++ {
			ascending = p.arcs[i-1].From <= p.arcs[i].From
		}
		if ascending {
			first, last := p.arcs[0].From, p.arcs[len(p.arcs)-1].From
			e.Nodes = max(e.Nodes, uint64(float64(first)+float64(total)/float64(len(text))*float64(last-first+1)))
		}
	}
	e.Arcs += uint64(float64(total) * perByte)
	e.Nodes = min(e.Nodes, graph.MaxNodes)
	return nil
}

// tail looks for larger node numbers in the end of a file, and returns how many arcs it has in
// how many bytes. What cannot be read there is told when the file is read.
func (e *Estimate) tail(f *os.File, info os.FileInfo, format Format) (arcs, size int) {
	text := make([]byte, min(info.Size(), 1<<16))
	n, _ := f.ReadAt(text, info.Size()-int64(len(text)))
	text = text[:n]
	text = append(text[bytes.IndexByte(text, '\n')+1:], '\n')
	b := block{line: 1, text: text, format: format}
	p, err := b.parse(nil)
	if err != nil {
		return 0, 1
	}
	e.Nodes = max(e.Nodes, uint64(p.nodes))
	return len(p.arcs), len(text)
}

// Ending returns the ending of a file's name in lower case, with .gz or .zst taken off first.
func Ending(path string) string {
	path = strings.ToLower(path)
	path = strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	if i := strings.LastIndexByte(path, '.'); i > strings.LastIndexByte(path, '/') {
		return path[i:]
	}
	return ""
}
