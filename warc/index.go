package warc

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An Entry is what an index knows of a capture: one line of a CDXJ file.
type Entry struct {
	Key      string // of URL, see Key
	Time     string // YYYYMMDDhhmmss, UTC
	URL      string
	MIME     string // media type that the server told; unk: none; warc/revisit
	Status   string // of a response; "" else
	Digest   string // of the payload: SHA-1 in base32, or as the file has it; "": not known
	Length   int64  // bytes that the record takes in the file
	Offset   int64  // where they begin
	Filename string
}

// Append appends the line, as pywb's cdx-indexer writes it, with its end.
func (e *Entry) Append(b []byte) []byte {
	b = append(append(append(b, e.Key...), ' '), e.Time...)
	sep := " {"
	for _, f := range []Field{
		{"url", e.URL}, {"mime", e.MIME}, {"status", e.Status}, {"digest", e.Digest}, {"length", strconv.FormatInt(e.Length, 10)},
		{"offset", strconv.FormatInt(e.Offset, 10)}, {"filename", e.Filename},
	} {
		if f.Value == "" && f.Name != "filename" {
			continue
		}
		b = append(append(append(b, sep...), '"'), f.Name...)
		b = appendString(append(b, `": `...), f.Value)
		sep = ", "
	}
	return append(b, "}\n"...)
}

// appendString appends a string of JSON in ASCII.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r < utf8.RuneSelf:
			b = append(b, byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}

// Index calls each for what a file has that can be found again by URL and time, in the order of the file: responses, revisits and
// resources. filename is what the lines call it. What cannot be read, or has no key, is told to bad, and left out; bad may
// return an error, which ends Index, as one of each does. Errors: these; of r; ErrARC. O(bytes), in little memory.
func Index(r io.Reader, filename string, each func(*Entry) error, bad func(error) error) error {
	rd := NewReader(r)
	for {
		rec, err := rd.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			var e *Entry
			if e, err = rec.Entry(); e != nil && err == nil {
				e.Filename = filename
				err = each(e)
				if err != nil {
					return err
				}
				continue
			}
		}
		var format *FormatError
		switch {
		case err == nil:
		case !errors.As(err, &format):
			return err
		default:
			if err := bad(err); err != nil {
				return err
			}
		}
	}
}

// Entry returns what Index says of the first record of a capture, Length, Offset and Filename apart. The error says that it has no place
// in an index.
func (c *Capture) Entry() (*Entry, error) {
	key, err := Key(c.URI)
	if err != nil {
		return nil, err
	}
	e := &Entry{Key: key, Time: c.Date.UTC().Format(entryTime), URL: c.URI, MIME: "warc/revisit", Digest: c.Digest.String()[len("sha1:"):]}
	if c.Original != nil {
		e.Digest = c.Original.Digest.String()[len("sha1:"):]
		return e, nil
	}
	head, err := ReadHead(bufio.NewReaderSize(bytes.NewReader(c.Head), max(16, min(len(c.Head), 4096))))
	if err != nil {
		return nil, err
	}
	e.Status, e.MIME = head.Status, mediaType(head.Fields.Get("Content-Type"))
	return e, nil
}

const entryTime = "20060102150405"

// mediaType is what an index says of a Content-Type.
func mediaType(contentType string) string {
	if contentType == "" {
		return "unk"
	}
	if i := strings.IndexAny(contentType, "; "); i >= 0 {
		return contentType[:i]
	}
	return contentType
}

// Entry returns what Index says of a record, which is read to its end, Filename apart; nil: it has no place in an index. A *FormatError says that it
// has one, but not by itself, or that it is broken.
func (r *Record) Entry() (*Entry, error) {
	switch r.Type {
	case Response, Revisit, Resource:
	default:
		return nil, nil
	}
	no := func(err error) (*Entry, error) { return nil, &FormatError{r.Offset, err.Error()} }
	e := &Entry{URL: r.URI(), Offset: r.Offset, MIME: "warc/revisit"}
	if e.URL == "" {
		return no(errors.New("a record without WARC-Target-URI"))
	}
	var err error
	if e.Key, err = Key(e.URL); err != nil {
		return no(fmt.Errorf("%s: %w", e.URL, err))
	}
	at, err := r.Date()
	if err != nil {
		return no(err)
	}
	e.Time = at.Format(entryTime)
	e.Digest = strings.TrimPrefix(r.Fields.Get("WARC-Payload-Digest"), "sha1:")
	body := io.Reader(r)
	if r.Type != Revisit {
		contentType := r.Fields.Get("Content-Type")
		if r.Type == Response && isHTTP(e.URL) {
			block := bufio.NewReader(r)
			head, err := ReadHead(block)
			if err != nil {
				return no(err)
			}
			contentType, body = head.Fields.Get("Content-Type"), block
			e.Status = head.Status
		} else if r.Type == Response {
			e.Status = "200" // what another protocol answered
		}
		e.MIME = mediaType(contentType)
		if e.Digest == "" {
			h := sha1.New()
			if _, err := io.Copy(h, body); err != nil {
				return nil, err
			}
			var d Digest
			h.Sum(d[:0])
			e.Digest = d.String()[len("sha1:"):]
		}
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	if r.Index > 0 || r.rd.within {
		return no(errors.New("its member has several records: none of them can be read by itself"))
	}
	e.Length = r.Stored()
	return e, nil
}

func isHTTP(url string) bool {
	scheme, _, _ := strings.Cut(url, ":")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// A Head is what an answer by HTTP begins with.
type Head struct {
	Status string // three digits as a rule
	Fields Fields // lines that are continued are joined
}

// ReadHead reads the head of an answer from the block of a response or revisit, of which at most 1 MiB. What follows is the body.
// The error is of the block, or says that it begins with no head.
func ReadHead(block *bufio.Reader) (*Head, error) {
	left := maxHeader
	line, err := readLine(block, &left)
	if err != nil && err != io.EOF {
		return nil, err
	}
	protocol, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(protocol, "HTTP/") {
		return nil, fmt.Errorf("want an answer by HTTP, have %q", line[:min(len(line), 40)])
	}
	h := &Head{}
	h.Status, _, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	for {
		line, err := readLine(block, &left)
		if err == io.EOF || err == nil && line == "" {
			return h, nil
		}
		if err != nil {
			return nil, err
		}
		if n := len(h.Fields); (line[0] == ' ' || line[0] == '\t') && n > 0 {
			h.Fields[n-1].Value += " " + strings.Trim(line, " \t")
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		h.Fields = append(h.Fields, Field{strings.TrimRight(name, " \t"), strings.Trim(value, " \t")})
	}
}

// Body returns the body that follows the head in a block. Where the head announces chunks, and the body has some, as writers
// leave them that keep what goes over the wire, it is without them.
func (h *Head) Body(block *bufio.Reader) io.Reader {
	if !strings.Contains(strings.ToLower(h.Fields.Get("Transfer-Encoding")), "chunked") {
		return block
	}
	line, _ := block.Peek(maxChunkLine)
	i := bytes.IndexByte(line, '\n')
	if i < 0 {
		return block
	}
	if _, ok := chunkSize(line[:i]); !ok {
		return block
	}
	return &chunks{block: block}
}

// maxChunkLine is how much is looked at for the line that a chunk begins with.
const maxChunkLine = 256

// chunkSize reads the line that a chunk begins with, of which what follows a semicolon means nothing to us.
func chunkSize(line []byte) (int64, bool) {
	digits, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(";"))
	n, err := strconv.ParseUint(string(bytes.TrimRight(digits, " \t")), 16, 63)
	return int64(n), err == nil
}

// chunks reads a body out of its chunks, with line ends of either kind. Trailers are left.
type chunks struct {
	block *bufio.Reader
	left  int64 // of the present chunk
	begun bool
	err   error
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.err == nil && c.left == 0 {
		c.next()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.block.Read(p[:min(int64(len(p)), c.left)])
	if c.left -= int64(n); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	c.err = err
	return n, err
}

// next goes on to the next chunk.
func (c *chunks) next() {
	line, err := c.block.ReadSlice('\n')
	if err == nil && c.begun && len(bytes.TrimRight(line, "\r\n")) == 0 { // what a chunk ends with
		line, err = c.block.ReadSlice('\n')
	}
	c.begun = true
	n, ok := chunkSize(line)
	switch {
	case err == io.EOF:
		c.err = io.ErrUnexpectedEOF
	case err != nil:
		c.err = err
	case !ok:
		c.err = fmt.Errorf("want the size of a chunk, have %q", line[:min(len(line), 40)])
	case n == 0:
		c.err = io.EOF
	}
	c.left = n
}
