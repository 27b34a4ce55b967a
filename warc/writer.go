package warc

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/netip"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
)

// level of compression: on pages of 10 kB level 6 takes a third more CPU than 3 and saves 3% [measured: BenchmarkCapture].
const level = 3

// A Writer writes records, each a gzip member of its own. It is used by one goroutine.
type Writer struct {
	w      counted
	random *bufio.Reader
	z      *gzip.Writer
	sum    hash.Hash
	head   []byte
	small  []byte // the member of a small record
	copied []byte
}

// NewWriter returns a writer to w. random gives the bytes of record numbers, of which it takes several at once: crypto/rand's outside tests.
func NewWriter(w io.Writer, random io.Reader) *Writer {
	z, err := gzip.NewWriterLevel(io.Discard, level)
	if err != nil {
		panic(err) // the level is one
	}
	return &Writer{w: counted{w: w}, random: bufio.NewReaderSize(random, 512), z: z, sum: sha1.New(), copied: make([]byte, 32<<10)}
}

type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Reset has the writer write to w from now on.
func (w *Writer) Reset(to io.Writer) { w.w = counted{w: to} }

// Written returns how many bytes were written since NewWriter or Reset.
func (w *Writer) Written() int64 { return w.w.n }

// A Block is what a record holds: the bytes of Head, and then Size bytes of Body, which is read twice.
type Block struct {
	Head []byte
	Body io.ReadSeeker // nil: none
	Size int64
}

// newID returns another record's number.
func (w *Writer) newID() (string, error) {
	var u [16]byte
	if _, err := io.ReadFull(w.random, u[:]); err != nil {
		return "", err
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80 // random, as RFC 9562 has it
	id := append(make([]byte, 0, 47), "<urn:uuid:"...)
	for i, part := range [][]byte{u[:4], u[4:6], u[6:8], u[8:10], u[10:]} {
		if i > 0 {
			id = append(id, '-')
		}
		id = hex.AppendEncode(id, part)
	}
	return string(append(id, '>')), nil
}

// write writes a record, and adds the digest and length of its block to the header. O(bytes), at 32 KiB of memory.
func (w *Writer) write(fields Fields, b Block) error {
	w.sum.Reset()
	w.sum.Write(b.Head)
	if b.Body != nil {
		if err := w.copyBody(w.sum, b); err != nil {
			return err
		}
	}
	var d Digest
	w.sum.Sum(d[:0])
	w.head = fields.append(append(w.head[:0], "WARC/1.1\r\n"...))
	w.head = Fields{{"WARC-Block-Digest", d.String()}, {"Content-Length", strconv.FormatInt(int64(len(b.Head))+b.Size, 10)}}.append(w.head)
	w.head = append(w.head, "\r\n"...)
	if b.Body == nil && len(w.head)+len(b.Head)+len(recordEnd) <= mostSmall {
		w.head = append(append(w.head, b.Head...), recordEnd...)
		w.small = theHeadCode().appendMember(w.small[:0], w.head)
		_, err := w.w.Write(w.small)
		return err
	}
	w.z.Reset(&w.w)
	if _, err := w.z.Write(w.head); err != nil {
		return err
	}
	if _, err := w.z.Write(b.Head); err != nil {
		return err
	}
	if b.Body != nil {
		if err := w.copyBody(w.z, b); err != nil {
			return err
		}
	}
	if _, err := w.z.Write([]byte(recordEnd)); err != nil {
		return err
	}
	return w.z.Close()
}

const recordEnd = "\r\n\r\n"

// copyBody copies the body of a block, from its beginning.
func (w *Writer) copyBody(to io.Writer, b Block) error {
	if _, err := b.Body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{io.LimitReader(b.Body, b.Size)}, w.copied)
	if err == nil && n != b.Size {
		err = fmt.Errorf("a body of %d bytes ends after %d", b.Size, n)
	}
	return err
}

// Sum returns the digest of a body, which is read from its beginning.
func (w *Writer) Sum(body io.ReadSeeker, size int64) (d Digest, err error) {
	w.sum.Reset()
	if size > 0 {
		err = w.copyBody(w.sum, Block{Body: body, Size: size})
	}
	w.sum.Sum(d[:0])
	return d, err
}

// Info writes the warcinfo record that a file begins with: its name, and what fields tell of the crawl, such as software, operator,
// robots [6.2].
func (w *Writer) Info(filename string, now time.Time, fields Fields) error {
	id, err := w.newID()
	if err != nil {
		return err
	}
	text := append(Fields{{"format", "WARC File Format 1.1"}, {"conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"}}, fields...)
	return w.write(Fields{
		{"WARC-Type", Warcinfo}, {"WARC-Record-ID", id}, {"WARC-Date", date(now)}, {"WARC-Filename", filename},
		{"Content-Type", "application/warc-fields"},
	}, Block{Head: []byte(text.String())})
}

// A Converted is a text that was made of an answer.
type Converted struct {
	URI    string
	Date   time.Time // of the answer
	Fields Fields    // of the record's header, beside its own; Content-Type tells the format
	Text   []byte
}

// Convert writes the record of a text [6.8]. O(bytes).
func (w *Writer) Convert(c *Converted) error {
	id, err := w.newID()
	if err != nil {
		return err
	}
	return w.write(append(Fields{{"WARC-Type", Conversion}, {"WARC-Record-ID", id}, {"WARC-Target-URI", c.URI}, {"WARC-Date", date(c.Date)}}, c.Fields...), Block{Head: c.Text})
}

// A Capture is one answer of a server, and what is known of it.
type Capture struct {
	URI       string
	Date      time.Time  // when the request began
	IP        netip.Addr // that answered; invalid: not known, or a proxy did
	Protocol  string     // h2; "": HTTP/1
	Request   []byte     // as it was sent, without its secrets; nil: no record of it
	Head      []byte     // status line and header block of the answer, as they came, with the empty line
	Chunked   bool       // Head announces chunks, from which Body was taken
	Body      io.ReadSeeker
	Size      int64  // bytes of Body: as it was sent, encoded by what Content-Encoding says
	Digest    Digest // of Body
	Truncated string // length, time, disconnect: why the body is not whole; "": it is
	Metadata  Fields // nil: no record of it
	Original  *Original
}

// An Original is an earlier response in the archive that a capture refers to instead of holding its body.
type Original struct {
	URI     string
	Date    time.Time
	Digest  Digest // of its payload
	Profile string // SamePayload or NotModified
}

// Capture writes the records of a capture: response or revisit, of which it returns how many bytes it takes, request, metadata. O(bytes).
//
// A revisit of profile NotModified has no block [6.7.3]: with the head of a 304 in it pywb would replay the page as that, without a body. The head is in
// the metadata, a field "head" for each of its lines.
func (w *Writer) Capture(c *Capture) (first int64, err error) {
	id, err := w.newID()
	if err != nil {
		return 0, err
	}
	begins := w.Written()
	common := func(kind, id string) Fields {
		return Fields{{"WARC-Type", kind}, {"WARC-Record-ID", id}, {"WARC-Target-URI", c.URI}, {"WARC-Date", date(c.Date)}}
	}
	f := common(Response, id)
	if c.Original != nil {
		f[0].Value = Revisit
	}
	f = append(f, Field{"Content-Type", "application/http;msgtype=response"})
	if c.IP.IsValid() {
		f = append(f, Field{"WARC-IP-Address", c.IP.Unmap().String()})
	}
	if c.Protocol != "" {
		f = append(f, Field{"WARC-Protocol", c.Protocol})
	}
	if c.Truncated != "" {
		f = append(f, Field{"WARC-Truncated", c.Truncated})
	}
	b := Block{c.Head, c.Body, c.Size}
	if c.Chunked || c.Original == nil && announced(c.Head, c.Size) != c.Size {
		b.Head = framed(c.Head, c.Size)
	}
	digest := c.Digest
	metadata := c.Metadata
	if o := c.Original; o != nil {
		b.Body, b.Size, digest = nil, 0, o.Digest
		if o.Profile == NotModified {
			b.Head = nil
			metadata = append(headFields(c.Head), metadata...)
		}
		f = append(f, Field{"WARC-Profile", o.Profile}, Field{"WARC-Refers-To-Target-URI", o.URI}, Field{"WARC-Refers-To-Date", date(o.Date)})
	}
	f = append(f, Field{"WARC-Payload-Digest", digest.String()})
	if err := w.write(f, b); err != nil {
		return 0, err
	}
	first = w.Written() - begins
	for _, r := range []struct {
		kind, content string
		block         []byte
	}{{Request, "application/http;msgtype=request", c.Request}, {Metadata, "application/warc-fields", []byte(metadata.String())}} {
		if len(r.block) == 0 {
			continue
		}
		own, err := w.newID()
		if err != nil {
			return 0, err
		}
		if err := w.write(append(common(r.kind, own), Field{"WARC-Concurrent-To", id}, Field{"Content-Type", r.content}), Block{Head: r.block}); err != nil {
			return 0, err
		}
	}
	return first, nil
}

// headFields are the lines of a head as fields of metadata.
func headFields(head []byte) (f Fields) {
	for line := range bytes.Lines(head) {
		if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 {
			f = append(f, Field{"head", string(text)})
		}
	}
	return f
}

// announced is how many bytes a head says that the body has; those of size where it says nothing of it.
func announced(head []byte, size int64) int64 {
	for line := range bytes.Lines(head) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(name, []byte("Content-Length")) {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil {
				return -1
			}
			if n != size {
				return n
			}
		}
	}
	return size
}

// framed returns the head of an answer for a body of size bytes from which the chunks were taken, or that is not whole: readers, who would
// look for chunks, or for the rest, find neither Transfer-Encoding nor another Content-Length, and learn what they were.
func framed(head []byte, size int64) []byte {
	out := make([]byte, 0, len(head)+64)
	for i, line := range bytes.SplitAfter(head, []byte("\n")) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		switch text := bytes.TrimRight(line, "\r\n"); {
		case i > 0 && len(text) == 0:
			if len(line) == 0 { // after the last line
				continue
			}
			out = append(strconv.AppendInt(append(out, "Content-Length: "...), size, 10), "\r\n"...)
		case i > 0 && (bytes.EqualFold(name, []byte("Transfer-Encoding")) || bytes.EqualFold(name, []byte("Content-Length"))):
			out = append(out, "X-Crawler-"...)
		}
		out = append(out, line...)
	}
	return out
}
