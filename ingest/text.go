package ingest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Stdin is the name of a file that stands for the standard input.
const Stdin = "-"

// maxLine is how long a line may be, in bytes. What is longer is broken: URLs end at 64 KiB at the latest, and an index has little beside them.
const maxLine = 1 << 20

// headSize is how much of a file is looked at to see whether it is of a kind.
const headSize = 64 << 10

// A textFile is a file of lines that is read, plain or compressed.
type textFile struct {
	path  string
	lines *bufio.Reader
	close func()
}

// openText opens a file, by way of r: what it has to do with its bytes. gzip or zstandard is taken off it, which its first bytes tell.
func openText(path string, r func(io.Reader) io.Reader) (*textFile, error) {
	f, end := os.Stdin, func() {}
	if path != Stdin {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, err
		}
		end = func() { f.Close() }
	}
	b := bufio.NewReaderSize(r(f), 256<<10)
	t := &textFile{path: path, close: end}
	magic, err := b.Peek(4)
	text := io.Reader(b)
	switch {
	case err != nil && err != io.EOF:
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		err = nil
		var z *gzip.Reader
		if z, err = gzip.NewReader(b); err == nil {
			text = z
		}
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		var z *zstd.Decoder
		if z, err = zstd.NewReader(b, zstd.WithDecoderConcurrency(1)); err == nil {
			text, t.close = z, func() { z.Close(); end() }
		}
	default:
		err = nil
	}
	if err != nil {
		end()
		return nil, &FileError{path, err}
	}
	t.lines = bufio.NewReaderSize(text, headSize)
	return t, nil
}

// check reports a file that is none of a kind: it is empty, or not one of its first lines, a few hundred of them, can be read.
func (t *textFile) check(want string, readable func(line string) bool) error {
	head, err := t.lines.Peek(headSize)
	if len(head) == 0 {
		if err == io.EOF {
			return &FileError{t.path, errors.New("the file is empty")}
		}
		return &FileError{t.path, err}
	}
	if !bytes.ContainsRune(head, 0) {
		for line := range bytes.Lines(head) {
			if readable(string(trimLine(line))) {
				return nil
			}
		}
	}
	first, _, _ := bytes.Cut(head, []byte{'\n'})
	return &FileError{t.path, fmt.Errorf("want %s, plain or compressed by gzip or zstandard, got %.60q", want, first)}
}

func trimLine(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }

// errLong says that a line is broken.
var errLong = fmt.Errorf("the line is longer than %d bytes", maxLine)

// each calls do with each line, without its end, and its number, from 1. Those that are too long come with an error. It ends with the first error of do. Errors
// of the file itself are a *FileError.
func (t *textFile) each(do func(number int64, line []byte, err error) error) error {
	var long []byte // a line that does not fit in the reader
	for number := int64(1); ; number++ {
		line, err := t.lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			long = append(long[:0], line...)
			for err == bufio.ErrBufferFull {
				line, err = t.lines.ReadSlice('\n')
				if len(long) <= maxLine {
					long = append(long, line...)
				}
			}
			line = long
		}
		if err == nil || err == io.EOF && len(line) > 0 {
			var broken error
			if len(line) > maxLine {
				broken = errLong
			}
			if e := do(number, trimLine(line), broken); e != nil {
				return e
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return &lineError{number, err}
		}
	}
}

// A lineError says up to which line a file can be read.
type lineError struct {
	line int64
	err  error
}

func (e *lineError) Error() string {
	return fmt.Sprintf("the file cannot be read from line %d on: %v", e.line, e.err)
}

func (e *lineError) Unwrap() error { return e.err }

// checkTexts reports the first file that is not there or none of a kind. The standard input is looked at when it is read.
func checkTexts(paths []string, check func(*textFile) error) error {
	stdin := 0
	for _, path := range paths {
		if path == Stdin {
			if stdin++; stdin > 1 {
				return &FileError{path, errors.New("the standard input can be read once only")}
			}
			continue
		}
		if info, err := os.Stat(path); err != nil {
			return err
		} else if info.IsDir() {
			return &FileError{path, errors.New("want a file, not a folder")}
		}
		t, err := openText(path, func(r io.Reader) io.Reader { return r })
		if err != nil {
			return err
		}
		err = check(t)
		if t.close(); err != nil {
			return err
		}
	}
	return nil
}

// openCounted opens a file whose bytes are counted, and that ends with ctx.
func (t *tally) openCounted(ctx context.Context, path string) (*textFile, error) {
	return openText(path, func(r io.Reader) io.Reader { return &counted{ctx, r, t} })
}
