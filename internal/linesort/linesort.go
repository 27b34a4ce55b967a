// Package linesort sorts lines that may not fit in memory.
package linesort

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"

	"forage/internal/atomicfile"
	"forage/internal/heap"
)

// Lines are lines to be written in the order of their bytes, as sort does in the C locale. What does not fit in memory goes, sorted, to
// a temporary file, of which a process that is killed leaves nothing where the system lets a file be removed that is open.
type Lines struct {
	path string // the file that they are for
	held int    // bytes in memory at most

	text []byte
	all  []span // of text
	runs []part // of the file: each is sorted
	file *atomicfile.File
	end  int64 // of the file
}

type span struct{ from, to uint32 }

type part struct{ at, length int64 }

// New makes lines for the file that path will be, of which so many bytes are held in memory. The caller closes them.
func New(path string, held int) *Lines { return &Lines{path: path, held: held} }

// Split calls add with each line of r, with its end, which is made a line feed. The line is good until add returns.
func Split(r io.Reader, add func(line []byte) error) error {
	for r := bufio.NewReaderSize(r, 64<<10); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 && (err == nil || err == io.EOF) {
			if err := add(append(bytes.TrimRight(line, "\r\n"), '\n')); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Add adds a line, with its end. Errors are those of the temporary file.
func (l *Lines) Add(line []byte) error {
	if len(l.text)+len(line) > l.held && len(l.all) > 0 {
		if err := l.spill(); err != nil {
			return err
		}
	}
	from := uint32(len(l.text))
	l.text = append(l.text, line...)
	l.all = append(l.all, span{from, uint32(len(l.text))})
	return nil
}

func (l *Lines) sort() {
	slices.SortFunc(l.all, func(a, b span) int { return bytes.Compare(l.text[a.from:a.to], l.text[b.from:b.to]) })
}

func (l *Lines) spill() error {
	if l.file == nil {
		var err error
		if l.file, err = atomicfile.New(atomicfile.Beside(l.path)); err != nil {
			return err
		}
		os.Remove(l.file.Name()) // it stays until it is closed, where the system permits that, and not for longer
	}
	l.sort()
	w := bufio.NewWriterSize(io.NewOffsetWriter(l.file, l.end), 1<<20)
	for _, s := range l.all {
		w.Write(l.text[s.from:s.to])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	n := int64(len(l.text))
	l.runs = append(l.runs, part{l.end, n})
	l.end += n
	l.text, l.all = l.text[:0], l.all[:0]
	return nil
}

// Write writes all lines. Memory: 64 KiB for each time that they did not fit.
func (l *Lines) Write(to io.Writer) error {
	w := bufio.NewWriter(to)
	err := l.Each(func(line []byte) error {
		_, err := w.Write(line)
		return err
	})
	return errors.Join(err, w.Flush())
}

// Each calls do with all lines, each good until it returns, and ends with its first error. Memory: as Write.
func (l *Lines) Each(do func(line []byte) error) error {
	if l.file == nil {
		l.sort()
		for _, s := range l.all {
			if err := do(l.text[s.from:s.to]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := l.spill(); err != nil {
		return err
	}
	l.text, l.all = nil, nil
	type run struct {
		r    *bufio.Reader
		line []byte
	}
	h := heap.Heap[*run]{Before: func(a, b *run) bool { return bytes.Compare(a.line, b.line) < 0 }}
	for _, p := range l.runs {
		r := &run{r: bufio.NewReaderSize(io.NewSectionReader(l.file, p.at, p.length), 64<<10)}
		var err error
		if r.line, err = r.r.ReadBytes('\n'); err != nil {
			return err
		}
		h.Push(r)
	}
	for h.Len() > 0 {
		r := h.Items[0]
		if err := do(r.line); err != nil {
			return err
		}
		var err error
		if r.line, err = r.r.ReadBytes('\n'); err == io.EOF {
			h.Pop()
		} else if err != nil {
			return err
		} else {
			h.Fix(0)
		}
	}
	return nil
}

// Close removes the temporary file.
func (l *Lines) Close() {
	if l.file != nil {
		l.file.Discard()
	}
}
