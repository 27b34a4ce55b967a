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
	raw   bool             // the bytes were not what Content-Encoding said: they pass as they are
	after []func()         // gives the decoders back
	hold  func(int64) bool // has room made for so many bytes in all; false: there is none
	holds int64            // what that was called with, but for what is read
}

// Codings that want a window: br of up to 16 MiB, by its first byte; zstd of up to 8 MiB, which RFC
// 9659 allows to a content coding, where each frame may want another one.
const (
	zstdWindow = 8 << 20
	keptWindow = 2 << 20   // of a decoder of zstd that is kept; servers that compress as they go want so much
	freeWindow = 256 << 10 // of br: what any answer may take to decode
)

// brWindow returns the size of the window of a br stream that starts with b, at least 1 KiB
// [RFC 7932, 9.1].
func brWindow(b byte) int64 {
	switch n := b >> 1 & 7; {
	case b&1 == 0:
		return 1 << 16
	case n != 0:
		return 1 << (17 + n)
	}
	switch n := b >> 4 & 7; n {
	case 0:
		return 1 << 17
	case 1:
		return 1 << 24 // of no stream of RFC 7932; the decoder says so
	default:
		return 1 << (8 + n)
	}
}

// all has what is left to be read read before a decoder that wants a window takes it. So the window is
// there for as long as it takes to decode what is here, not to be sent it by a slow server: few are at
// a time, however many requests there are.
func (d *decoded) all(window int64) error {
	b := make([]byte, 0, 4<<10)
	var err error
	for err == nil {
		if len(b) == cap(b) {
			n := int64(cap(b)) * 4
			if !d.hold(d.holds + n) {
				return ErrNoRoom
			}
			b = append(make([]byte, 0, n), b...)
		}
		var n int
		n, err = d.Reader.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
	}
	d.holds += int64(cap(b)) + window
	if !d.hold(d.holds) {
		return ErrNoRoom
	}
	d.Reader = io.MultiReader(bytes.NewReader(b), failing{err})
	return nil
}

// failing is a reader that gives an error alone.
type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

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
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			panic(err) // constant options
		}
		return d
	}}
)

// decode returns a reader of body without its codings, values of Content-Encoding. No coding
// gives more than limit+1 bytes to the next, so that nested bombs stay small in time too; those that
// want a window are given no more than kept. The error may be ErrNoRoom.
func decode(body io.Reader, values []string, limit, kept int64, hold func(int64) bool) (*decoded, error) {
	d := &decoded{Reader: body, hold: hold}
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
		if err := d.through(codings[i], kept); err != nil {
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
func (d *decoded) through(coding string, kept int64) error {
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
		window := int64(0)
		if len(head) > 0 {
			window = brWindow(head[0])
		}
		if window > freeWindow {
			d.Reader = io.LimitReader(br, kept+1)
			if err := d.all(window); err != nil {
				return err
			}
		}
		z := brotlis.Get().(*brotli.Reader)
		if err := z.Reset(d.Reader); err != nil {
			return fmt.Errorf("br: %w", err)
		}
		d.Reader = &whole{Reader: z, keep: func() { brotlis.Put(z) }}
	case "zstd":
		skippable := len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.HasPrefix(head[1:], []byte{0x2a, 0x4d, 0x18})
		if !skippable && !bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
			return pass()
		}
		first, _ := br.Peek(zstd.HeaderMaxSize)
		first = bytes.Clone(first)
		d.Reader = io.LimitReader(br, kept+1)
		if err := d.all(zstdWindow); err != nil {
			return err
		}
		z := zstds.Get().(*zstd.Decoder)
		if err := z.Reset(d.Reader); err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		var frame zstd.Header
		if frame.Decode(first) != nil || frame.WindowSize > keptWindow {
			d.after = append(d.after, z.Close)
			d.Reader = z
			break
		}
		d.Reader = &whole{Reader: z, keep: func() { _ = z.Reset(nil); zstds.Put(z) }}
	default:
		return fmt.Errorf("unknown content coding %q", coding)
	}
	return nil
}

// A whole gives its decoder back for the next answer when it has read all of a body of ordinary size:
// then the decoder has not taken more memory than such a body warrants.
type whole struct {
	io.Reader
	n    int64
	keep func()
}

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if w.n += int64(n); err == io.EOF && w.n <= mostLittle && w.keep != nil {
		w.keep()
		w.Reader, w.keep = failing{io.EOF}, nil
	}
	return n, err
}

// looksText reports whether b can be the start of a text, and not of a deflate stream that
// a server would send: those start with bits that text does not.
func looksText(b []byte) bool {
	return len(b) > 0 && (b[0] == '<' || b[0] == '\n' || b[0] == ' ')
}
