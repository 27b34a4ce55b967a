// Package sets reads and writes set systems: families of sets in files.
//
// Load reads a file into memory, Open makes of it a family that is read anew at each scan, for
// what is larger than memory. Formats: text, one set a line, elements as numbers (FIMI); the
// OR-Library's scp and rail files, a set for each column; and a binary format of our own,
// documented at Write. gzip and zstandard are seen from the first bytes. NewScratch makes the
// temporary files of cover.External.
//
// Elements may come in any order and more than once: they are sorted, taken once, and counted
// in Info. Whatever else is wrong is an *Error that names the file and the place.
package sets

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forage/cover"
	"forage/graph"
	"forage/graph/arcs"
)

// A Format is how a file holds sets.
type Format string

// The formats.
const (
	Text   Format = "sets" // a line a set: element numbers from 0, split by blanks
	SCP    Format = "scp"  // rows, columns, costs of the columns, then for each row how many columns cover it, and which, from 1
	Rail   Format = "rail" // rows, columns, then for each column its cost, how many rows it covers, and which, from 1
	Binary Format = "binary"
)

// An Error tells where a file is not what it should be.
type Error struct {
	File string
	Line int   // from 1; 0 if Byte tells
	Byte int64 // of the uncompressed text, where Line is 0; -1: the file as a whole
	What string
	Wide bool // all that is wrong are numbers of sets or elements beyond 32 bits, which only memory has no room for
}

func (e *Error) Error() string {
	switch {
	case e.Line > 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What)
	case e.Byte >= 0:
		return fmt.Sprintf("%s: byte %d: %s", e.File, e.Byte, e.What)
	}
	return fmt.Sprintf("%s: %s", e.File, e.What)
}

// Info is what reading a file found.
type Info struct {
	Format   Format
	Sets     uint64
	Elements uint64 // one more than the largest; the rows of scp and rail files
	Size     uint64 // M, repeated elements counted once
	Largest  uint64 // Δ
	Empty    uint64 // sets without elements
	Unsorted uint64 // sets whose elements did not ascend
	Repeated uint64 // elements that were dropped as repeated
	// Weights are the costs of scp and rail files, nil where there are none or all are 1.
	Weights []float64

	skipped uint64 // lines of comment
}

// Detect returns the format of a file: binary by its first bytes, scp and rail by the
// extensions .scp and .rail, text otherwise.
func Detect(path string) (Format, error) {
	name := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	switch filepath.Ext(name) {
	case ".scp":
		return SCP, nil
	case ".rail":
		return Rail, nil
	}
	r, err := arcs.Open(path)
	if err != nil {
		return "", openError(path, err)
	}
	defer r.Close()
	var head [len(magic)]byte
	if _, err := io.ReadFull(r, head[:]); err == nil && string(head[:]) == magic {
		return Binary, nil
	}
	return Text, nil
}

// openError makes an *Error of what keeps a file from being read, but for its absence.
func openError(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return err
	}
	return readError(path, err)
}

func readError(path string, err error) error {
	return &Error{File: path, Byte: -1, What: strings.TrimPrefix(err.Error(), path+": ")}
}

// File is a set system that is read anew at each Scan; scp and rail files are kept in memory,
// since their rows are not sets.
type File struct {
	Info
	path   string
	memory *cover.Lists
}

var (
	_ cover.Family  = (*File)(nil)
	_ cover.Sized   = (*File)(nil)
	_ cover.Encoded = (*File)(nil)
)

// Open returns the family in a file. Text is read once to learn its extent; a binary file's
// head tells it.
func Open(path string, format Format) (*File, error) {
	f := &File{path: path, Info: Info{Format: format}}
	var err error
	switch format {
	case Text:
		err = scanText(path, &f.Info, func(uint64, []uint64) error { return nil })
	case Binary:
		err = scanBinary(path, &f.Info, nil)
	case SCP, Rail:
		f.memory, err = loadLibrary(path, &f.Info)
	default:
		err = fmt.Errorf("there is no format %q; known: sets scp rail binary", format)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// NumSets implements cover.Family.
func (f *File) NumSets() uint64 { return f.Sets }

// NumElements implements cover.Family.
func (f *File) NumElements() uint64 { return f.Elements }

// Size implements cover.Sized.
func (f *File) Size() uint64 { return f.Info.Size }

// Scan implements cover.Family. It fails if the file has grown since it was opened.
func (f *File) Scan(visit func(set uint64, elements []uint64) error) error {
	if f.memory != nil {
		return f.memory.Scan(visit)
	}
	if f.Format == Binary {
		return scanBinary(f.path, new(Info), visit)
	}
	return scanText(f.path, new(Info), func(set uint64, elements []uint64) error {
		if set >= f.Sets || len(elements) > 0 && elements[len(elements)-1] >= f.Elements {
			return &Error{File: f.path, Byte: -1, What: "the file changed while it was read"}
		}
		return visit(set, elements)
	})
}

// ScanEncoded implements cover.Encoded for binary files.
func (f *File) ScanEncoded(visit func(set uint64, count int, encoded []byte) error) error {
	if f.Format != Binary {
		return errors.ErrUnsupported
	}
	return scanEncoded(f.path, new(Info), visit)
}

// Load reads a file into memory, of each set the maxDegree lowest elements (0: all). reserve
// is how many elements to make room for at first; memory that is not needed is never touched,
// and too little room costs a copy. Memory 4 bytes an element and 8 a set.
func Load(path string, format Format, maxDegree int, reserve uint64) (*cover.Lists, *Info, error) {
	info := &Info{Format: format}
	l := &cover.Lists{Offset: []uint64{0}}
	var scan func(string, *Info, func(uint64, []uint64) error) error
	switch format {
	case Text:
		scan = scanText
	case Binary:
		scan = scanBinary
		if err := scanBinary(path, info, nil); err != nil {
			return nil, nil, err
		}
		if info.Sets > graph.MaxNodes || info.Elements > graph.MaxNodes {
			return nil, nil, &Error{File: path, Byte: -1, Wide: true, What: fmt.Sprintf("%d sets of elements below %d do not fit in memory as 32-bit numbers, only out of core", info.Sets, info.Elements)}
		}
		reserve = info.Size
		l.Offset = make([]uint64, 1, info.Sets+1)
	default:
		f, err := Open(path, format)
		if err != nil {
			return nil, nil, err
		}
		l, err = cover.Load(f.memory, maxDegree)
		return l, &f.Info, err
	}
	l.Elem = make([]graph.Node, 0, reserve)
	err := scan(path, info, func(set uint64, elements []uint64) error {
		if maxDegree > 0 && len(elements) > maxDegree {
			elements = elements[:maxDegree]
		}
		if n := len(elements); n > 0 && elements[n-1] >= graph.MaxNodes {
			return &Error{File: path, Line: int(set) + 1, Wide: true, What: fmt.Sprintf("element %d does not fit in memory as a 32-bit number, only out of core", elements[n-1])}
		}
		for _, e := range elements {
			l.Elem = append(l.Elem, graph.Node(e))
		}
		l.Offset = append(l.Offset, uint64(len(l.Elem)))
		return nil
	})
	l.N = info.Elements
	return l, info, err
}

// add counts a set.
func (i *Info) add(elements int) {
	i.Sets++
	i.Size += uint64(elements)
	i.Largest = max(i.Largest, uint64(elements))
	if elements == 0 {
		i.Empty++
	}
}

// normalise sorts elements, drops repeated ones, and counts both.
func (i *Info) normalise(elements []uint64) []uint64 {
	for j := 1; j < len(elements); j++ {
		if elements[j] > elements[j-1] {
			continue
		}
		if !slices.IsSorted(elements) {
			i.Unsorted++
			slices.Sort(elements)
		}
		n := len(elements)
		elements = slices.Compact(elements)
		i.Repeated += uint64(n - len(elements))
		break
	}
	return elements
}

// maxElement is the largest element that a file may hold, so that their number fits 64 bits.
const maxElement = 1<<64 - 2

// scanText calls visit for each line of a text file and counts in info.
func scanText(path string, info *Info, visit func(set uint64, elements []uint64) error) (err error) {
	r, err := arcs.Open(path)
	if err != nil {
		return openError(path, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var (
		set      uint64
		elements []uint64
		buf      = make([]byte, 1<<18)
		number   uint64
		digits   bool // in a number
		open     bool // the line has begun
		comment  bool
	)
	fault := func(what string) error { return &Error{File: path, Line: int(set) + 1 + int(info.skipped), What: what} }
	endLine := func() error {
		if comment {
			comment = false
			info.skipped++
			return nil
		}
		elements = info.normalise(elements)
		if n := len(elements); n > 0 {
			info.Elements = max(info.Elements, elements[n-1]+1)
		}
		info.add(len(elements))
		err := visit(set, elements)
		set++
		elements = elements[:0]
		return err
	}
	for {
		n, rerr := r.Read(buf)
		for _, c := range buf[:n] {
			if d := c - '0'; d <= 9 && !comment {
				if number > (maxElement-uint64(d))/10 {
					return fault(fmt.Sprintf("want element numbers up to %d, got a greater one", uint64(maxElement)))
				}
				number = number*10 + uint64(d)
				digits, open = true, true
				continue
			}
			if digits {
				elements = append(elements, number)
				number, digits = 0, false
			}
			switch {
			case c == '\n':
				if err := endLine(); err != nil {
					return err
				}
				open = false
			case comment || c == ' ' || c == '\t' || c == '\r' || c == ',':
				open = true
			case (c == '#' || c == '%') && !open:
				comment, open = true, true
			default:
				what := fmt.Sprintf("want element numbers split by blanks, got %q", c)
				if c == '-' {
					what = "want element numbers from 0, got a negative one"
				}
				return fault(what)
			}
		}
		if rerr == io.EOF {
			break
		}
		if rerr != nil {
			return readError(path, rerr)
		}
	}
	if digits {
		elements = append(elements, number)
	}
	if open {
		return endLine()
	}
	return nil
}

// words reads a file as numbers split by white space.
type words struct {
	path string
	r    *bufio.Reader
	line int
}

// next returns the next word; "" at the end.
func (w *words) next() (string, error) {
	var word []byte
	for {
		c, err := w.r.ReadByte()
		if err == io.EOF {
			return string(word), nil
		}
		if err != nil {
			return "", readError(w.path, err)
		}
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			if len(word) > 0 {
				if err := w.r.UnreadByte(); err != nil {
					return "", err
				}
				return string(word), nil
			}
			if c == '\n' {
				w.line++
			}
			continue
		}
		word = append(word, c)
	}
}

func (w *words) fault(format string, args ...any) error {
	return &Error{File: w.path, Line: w.line, What: fmt.Sprintf(format, args...)}
}
