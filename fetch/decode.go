package fetch

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// maxCodings bounds how often a body may be encoded.
const maxCodings = 5

// A decoded reads a body through its content codings [RFC 9110, 8.4].
type decoded struct {
	io.Reader
	raw   bool     // the bytes were not what Content-Encoding said: they pass as they are
	after []func() // gives the decoders back
}

func (d *decoded) close() {
	for _, f := range d.after {
		f()
	}
}

var (
	buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}
	gzips   = sync.Pool{New: func() any { return new(gzip.Reader) }}
	brotlis = sync.Pool{New: func() any { return brotli.NewReader(nil) }}
	zstds   = sync.Pool{New: func() any {
		// RFC 9659 bounds the window of zstd as a content coding by 8 MiB.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			panic(err) // constant options
		}
		return d
	}}
)

// decode returns a reader of body without its codings, values of Content-Encoding. No coding
// gives more than limit+1 bytes to the next, so that nested bombs stay small in time too.
func decode(body io.Reader, values []string, limit int64) (*decoded, error) {
	d := &decoded{Reader: body}
	if len(values) == 0 {
		return d, nil
	}
	var codings []string
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
				codings = append(codings, name)
			}
		}
	}
	if len(codings) > maxCodings {
		return nil, fmt.Errorf("%d content codings, one upon the other", len(codings))
	}
	for i := len(codings) - 1; i >= 0; i-- {
		if err := d.through(codings[i]); err != nil {
			d.close()
			return nil, err
		}
		if d.raw {
			break
		}
		d.Reader = io.LimitReader(d.Reader, limit+1)
	}
	return d, nil
}

// through puts one decoder on top. Where the first bytes contradict the coding, as they do
// when a server compresses nothing but says so, they are passed on as they are.
func (d *decoded) through(coding string) error {
	br := buffers.Get().(*bufio.Reader)
	br.Reset(d.Reader)
	d.after = append(d.after, func() { br.Reset(nil); buffers.Put(br) })
	d.Reader = br
	head, _ := br.Peek(4)
	pass := func() error { d.raw = len(head) > 0; return nil }
	switch coding {
	case "gzip", "x-gzip":
		if !bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
			return pass()
		}
		z := gzips.Get().(*gzip.Reader)
		if err := z.Reset(br); err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
		d.after = append(d.after, func() { gzips.Put(z) })
		d.Reader = z
	case "deflate":
		// RFC 9110 means zlib; some servers send bare deflate.
		if len(head) >= 2 && head[0]&0xf == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
			z, err := zlib.NewReader(br)
			if err != nil {
				return fmt.Errorf("deflate: %w", err)
			}
			d.Reader = z
			break
		}
		if looksText(head) {
			return pass()
		}
		d.Reader = flate.NewReader(br)
	case "br":
		if bytes.HasPrefix(head, []byte("<!")) || bytes.HasPrefix(head, []byte("<htm")) {
			return pass()
		}
		z := brotlis.Get().(*brotli.Reader)
		if err := z.Reset(br); err != nil {
			return fmt.Errorf("br: %w", err)
		}
		d.after = append(d.after, func() { brotlis.Put(z) })
		d.Reader = z
	case "zstd":
		skippable := len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.HasPrefix(head[1:], []byte{0x2a, 0x4d, 0x18})
		if !skippable && !bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
			return pass()
		}
		z := zstds.Get().(*zstd.Decoder)
		if err := z.Reset(br); err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		d.after = append(d.after, func() { _ = z.Reset(nil); zstds.Put(z) })
		d.Reader = z
	default:
		return fmt.Errorf("unknown content coding %q", coding)
	}
	return nil
}

// looksText reports whether b can be the start of a text, and not of a deflate stream that
// a server would send: those start with bits that text does not.
func looksText(b []byte) bool {
	return len(b) > 0 && (b[0] == '<' || b[0] == '\n' || b[0] == ' ')
}
