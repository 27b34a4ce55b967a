package fetch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// An Exchange is what went over the wire for one request, for whoever keeps an archive of it. A Request that has one
// has Fetch fill it, also where the answer is a redirect, an error, or of a type that is not read; and then the body is read to
// its end, or to Config.MaxBody bytes of it, whatever its type. The caller may use it again after Close.
//
// The head is byte for byte as it came, but of HTTP/2, and through a proxy, where it is rebuilt; chunks are taken from the body, and nothing
// is decoded. Answers with status 1xx are left out. A request that was sent on several connections is that of the last.
type Exchange struct {
	// Spill makes a file for a body of more than SpillFrom bytes; nil: it is kept in memory. Whoever makes the file removes it.
	Spill func() (io.ReadWriteSeeker, error)
	HTTP2 bool // may be used for the request; false: it is made by HTTP/1.1, so that the head is as it came

	Sent     []byte // the request as it was sent, but for the fields of Config.Fields and Config.Cookies, which may be secrets
	Head     []byte // status line and header block of the answer, with the empty line; nil: there was no answer
	Chunked  bool   // the head announces chunks
	Protocol string // h2; "": HTTP/1
	Cut      Cut    // why the body is not whole
	Err      error  // of the file: the body is not whole, and the answer was read all the same

	text []byte
	file io.ReadWriteSeeker
	size int64
}

// SpillFrom is how many bytes of a body an Exchange holds in memory.
const SpillFrom = 256 << 10

// Body returns the body as it came, from its beginning, and how many bytes that are; a file may have more. It is good until Close.
func (x *Exchange) Body() (io.ReadSeeker, int64) {
	if x.file != nil {
		if _, err := x.file.Seek(0, io.SeekStart); err != nil {
			x.Err = err
		}
		return x.file, x.size
	}
	return bytes.NewReader(x.text), x.size
}

// Close forgets the exchange, but for Spill and HTTP2.
func (x *Exchange) Close() {
	*x = Exchange{Spill: x.Spill, HTTP2: x.HTTP2, text: x.text[:0], Sent: x.Sent[:0]}
	if cap(x.text) > SpillFrom {
		x.text = nil
	}
}

// Write adds to the body. It does not fail: Err tells.
func (x *Exchange) Write(p []byte) (int, error) {
	if x.Err != nil {
		return len(p), nil
	}
	x.size += int64(len(p))
	if x.file == nil && (x.Spill == nil || len(x.text)+len(p) <= SpillFrom) {
		x.text = append(x.text, p...)
		return len(p), nil
	}
	if x.file == nil {
		if x.file, x.Err = x.Spill(); x.Err == nil {
			_, x.Err = x.file.Write(x.text)
		}
		x.text = x.text[:0]
	}
	if x.Err == nil {
		_, x.Err = x.file.Write(p)
	}
	return len(p), nil
}

// http1 reports whether a request is to be made by HTTP/1.1 alone.
func (x *Exchange) http1() bool { return x != nil && !x.HTTP2 }

// answered notes an answer by HTTP/1, and returns its body, of which all that is read is kept.
func (x *Exchange) answered(c *Client, u *url.URL, sent []byte, head string, fields Header, body io.Reader) io.Reader {
	if x == nil {
		return body
	}
	x.Sent = append(x.Sent[:0], sent...)
	for name, value := range c.secrets(u) {
		line := "\r\n" + name + ": " + value + "\r\n"
		if i := bytes.Index(x.Sent, []byte(line)); i >= 0 {
			x.Sent = append(x.Sent[:i], x.Sent[i+len(line)-2:]...)
		}
	}
	x.Head = []byte(head)
	x.Chunked = fields.Get("Transfer-Encoding") != ""
	return io.TeeReader(body, x)
}

// rebuilt notes an answer of which net/http tells what it understood.
func (x *Exchange) rebuilt(c *Client, u *url.URL, r *Request, resp *http.Response, fields Header) io.Reader {
	if x == nil {
		return resp.Body
	}
	host := u.Host
	if to, err := asciiHost(u); err == nil {
		host = to.Host
	}
	x.Sent = fmt.Appendf(x.Sent[:0], "GET %s HTTP/1.1\r\nHost: %s\r\n", u.RequestURI(), host)
	for name, value := range c.public(r) {
		x.Sent = fmt.Appendf(x.Sent, "%s: %s\r\n", name, value)
	}
	x.Sent = append(x.Sent, "\r\n"...)
	if resp.ProtoMajor == 2 {
		x.Protocol = "h2"
	}
	x.Head = fmt.Appendf(nil, "HTTP/1.1 %s\r\n%s\r\n", strings.TrimSpace(resp.Status), fields)
	return io.TeeReader(resp.Body, x)
}

// rest reads what is left of the body, as the Outcome needs less than an archive, and notes how it ended.
func (x *Exchange) rest(o *Outcome, body io.Reader, limit int64) {
	if x == nil {
		return
	}
	if o.Status == 0 { // it came too late to count
		x.Head = nil
		return
	}
	if o.streamed {
		limit = max(limit, x.size)
	}
	n, err := io.CopyN(io.Discard, body, max(0, limit-x.size)+1)
	o.Wire += n
	switch {
	case x.size > limit:
		x.Cut = CutLong
		x.trim(limit)
	case err != nil && err != io.EOF:
		x.Cut = CutShort
		if timedOut(err) {
			x.Cut = CutTime
		}
	}
}

// whole reports whether nothing of the body was lost on its way. x may be nil.
func (x *Exchange) whole() bool { return x == nil || x.Cut == Whole || x.Cut == CutLong }

// trim takes from the body what is beyond a size.
func (x *Exchange) trim(size int64) {
	x.size = size
	if x.file == nil {
		x.text = x.text[:min(int64(len(x.text)), size)]
	}
}
