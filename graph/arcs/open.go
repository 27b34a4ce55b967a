package arcs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Open opens a file for reading and takes gzip or zstandard off it, which it sees from the
// first bytes. Errors of decompression name the file and how far it could be read.
func Open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReaderSize(f, 1<<18)
	head, err := b.Peek(4)
	if err != nil && err != io.EOF {
		f.Close()
		return nil, err
	}
	r := &reader{path: path, file: f, ahead: b, text: b}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(b)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: gzip: %w", path, err)
		}
		r.text, r.done, r.packed = z, func() { z.Close() }, "gzip"
	case bytes.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(b)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: zstandard: %w", path, err)
		}
		r.text, r.done, r.packed = z, z.Close, "zstandard"
	}
	return r, nil
}

type reader struct {
	path   string
	file   *os.File
	ahead  *bufio.Reader // of the file as it is
	text   io.Reader
	done   func()
	packed string // how the file is compressed; "" if it is not
	read   int64  // bytes of text so far
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.text.Read(p)
	r.read += int64(n)
	if err != nil && err != io.EOF {
		what := err.Error()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			what = "the file ends too early"
		}
		if r.packed != "" {
			what = r.packed + ": " + what
		}
		err = fmt.Errorf("%s: after %d bytes of text: %s", r.path, r.read, what)
	}
	return n, err
}

// consumed returns how many bytes of the file have been taken. Nothing can be read after it:
// a decompressor reads ahead in the background and has to be stopped first.
func (r *reader) consumed() (int64, error) {
	if r.done != nil {
		r.done()
		r.done = nil
	}
	at, err := r.file.Seek(0, io.SeekCurrent)
	return at - int64(r.ahead.Buffered()), err
}

func (r *reader) Close() error {
	if r.done != nil {
		r.done()
	}
	return r.file.Close()
}

// eachLine calls do for every line of r, numbered from 1, without its end.
func eachLine(r io.Reader, do func(line int, text string) error) error {
	b := bufio.NewReaderSize(r, 1<<16)
	for line := 1; ; line++ {
		text, err := b.ReadString('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if text != "" {
			if err := do(line, text); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}
