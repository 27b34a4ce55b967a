package http1

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
)

// A body reads the body of one answer from its connection.
type body struct {
	br      *bufio.Reader
	chunked bool
	left    int64 // of the body, or of the present chunk; 0: at the end; -1: until the connection ends, or a chunk size is next
	first   bool  // no chunk was read yet
	extra   int64 // bytes of chunk lines beyond what their chunks excuse
	err     error // that the body ended with, if it was not whole
}

// frame sets the body to its start, as h announces it [RFC 9112, 6.3].
func (cn *conn) frame(h head) {
	cn.alive = h.alive
	b := &cn.body
	*b = body{br: cn.br}
	switch {
	case h.status == 204 || h.status == 304:
		if h.chunked || h.status == 204 && h.length > 0 {
			cn.alive = false // a body may come that must not be there
		}
	case h.chunked:
		b.chunked, b.first, b.left = true, true, -1
	case h.length >= 0:
		b.left = h.length
	default:
		b.left, cn.alive = -1, false
	}
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

func (b *body) read(p []byte) (int, error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case b.left == 0:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	if b.chunked && b.left < 0 {
		if err := b.chunk(); err != nil {
			return 0, err
		}
		if b.left == 0 {
			return 0, io.EOF
		}
	}
	if b.left > 0 && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.br.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
		if b.left == 0 {
			err = nil
			if b.chunked {
				b.left = -1 // the next chunk
			}
		} else {
			err = unexpected(err)
		}
	} else if err == io.EOF {
		b.left = 0
	}
	return n, err
}

// Bounds of what comes with chunks and is no data: extensions are no way around the limit of a body.
const (
	maxChunkLine = 4 << 10  // bytes of a chunk's size line
	maxExtra     = 16 << 10 // of all of them, beyond 16 bytes a chunk and the size of the data
	maxTrailer   = 64 << 10 // of the fields after the last chunk
)

// chunk reads the line before a chunk into left; after the last chunk, the trailers too
// [RFC 9112, 7.1].
func (b *body) chunk() error {
	if !b.first {
		end, err := b.line()
		if err != nil {
			return err
		}
		if len(end) > 0 {
			return malformed("no line end after a chunk")
		}
	}
	b.first = false
	line, err := b.line()
	if err != nil {
		return err
	}
	if b.extra += int64(len(line)) - 14; len(line) > maxChunkLine || b.extra > maxExtra {
		return malformed("chunk extensions without end")
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	size = bytes.TrimRight(size, " \t")
	n, err := strconv.ParseUint(string(size), 16, 62)
	if err != nil || len(size) > 16 {
		return malformed("chunk size %q", start(size, 20))
	}
	b.extra = max(0, b.extra-int64(n))
	if n > 0 {
		b.left = int64(n)
		return nil
	}
	for total := 0; ; {
		line, err := b.line()
		if err != nil {
			return err
		}
		if total += len(line); total > maxTrailer {
			return malformed("trailers over %d bytes", maxTrailer)
		}
		if len(line) == 0 {
			b.left = 0
			return nil
		}
		if _, ok := fieldName(line); !ok {
			return malformed("trailer %q", start(line, 40))
		}
	}
}

// line returns a line without its end, which must be CRLF. It is good until the next read.
func (b *body) line() ([]byte, error) {
	line, err := b.br.ReadSlice('\n')
	if err != nil {
		if err == bufio.ErrBufferFull {
			err = malformed("a line of %d bytes between chunks", len(line))
		}
		return nil, unexpected(err)
	}
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || bytes.IndexByte(text, '\r') >= 0 {
		return nil, malformed("a line between chunks does not end with CRLF: %q", start(line, 20))
	}
	return text, nil
}
