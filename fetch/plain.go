package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// plain fills o over HTTP/1.1 without TLS, by a client of our own. Requests are GETs without
// body, one after another on a connection, so that one goroutine reads and writes; net/http
// needs two more a connection. On loopback with pages of 10 kB, BenchmarkFetch has the number.
//
// It is strict where answers could be confused [RFC 9112, 6.3]: Transfer-Encoding may be
// "chunked" and nothing else, wins over Content-Length and then ends the connection; several
// Content-Lengths must agree; names have no blanks around them. A connection is used again
// only if the last answer was read to its end and nothing came after it.
func (c *Client) plain(ctx context.Context, u *url.URL, r *Request, o *Outcome, start time.Time) {
	key := u.Host
	if u.Port() == "" {
		key = net.JoinHostPort(u.Hostname(), "80")
	}
	end := start.Add(c.cfg.Timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	for {
		cn, reused := c.idle.get(key, time.Now()), true
		if cn == nil {
			reused = false
			dctx, cancel := context.WithDeadline(ctx, end)
			nc, err := c.dial(dctx, "tcp", key)
			cancel()
			if err != nil {
				o.Took = time.Since(start)
				c.fail(o, err)
				return
			}
			cn = newConn(key, nc)
		}
		o.Addr = addrOf(cn.RemoteAddr())
		stop := func() bool { return true }
		if ctx.Done() != nil {
			stop = context.AfterFunc(ctx, func() { cn.Close() })
		}
		err := c.exchange(ctx, cn, u, r, o, start, end)
		undisturbed := stop()
		if err == nil {
			if undisturbed && cn.reusable() {
				c.idle.put(cn, time.Now())
			} else {
				cn.Close()
			}
			return
		}
		cn.Close()
		if reused && !cn.answered && !timedOut(err) && ctx.Err() == nil {
			continue // the server had closed it meanwhile, or left something on it
		}
		o.Took = time.Since(start)
		c.fail(o, err)
		return
	}
}

// exchange sends the request and reads the answer. An error means that there was none.
func (c *Client) exchange(ctx context.Context, cn *conn, u *url.URL, r *Request, o *Outcome, start, end time.Time) error {
	wait := time.Now().Add(c.cfg.HeaderWait)
	if wait.After(end) {
		wait = end
	}
	if err := cn.SetDeadline(wait); err != nil {
		return err
	}
	cn.head = c.request(cn.head[:0], u, r)
	if _, err := cn.Write(cn.head); err != nil {
		return err
	}
	h, err := cn.header(c.cfg.MaxHeader)
	if err != nil {
		return err
	}
	o.Took = time.Since(start)
	o.Status, o.Header = h.status, Header(cn.head)
	o.Wire = h.wire
	cn.body.frame(h)
	if wait != end {
		if err := cn.SetReadDeadline(end); err != nil {
			return err
		}
	}
	c.classify(ctx, r, o, &cn.body, end)
	return nil
}

// request appends the request's bytes to b.
func (c *Client) request(b []byte, u *url.URL, r *Request) []byte {
	b = append(b, "GET "...)
	for target, i := u.RequestURI(), 0; i < len(target); i++ {
		if ch := target[i]; ch <= ' ' || ch >= 0x7f {
			b = fmt.Appendf(b, "%%%02X", ch)
		} else {
			b = append(b, ch)
		}
	}
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, strings.TrimSuffix(u.Host, ":")...)
	c.eachField(u, r, func(name, value string) {
		b = append(b, "\r\n"...)
		b = append(b, name...)
		b = append(b, ": "...)
		b = append(b, value...)
	})
	return append(b, "\r\n\r\n"...)
}

// A conn is a connection to one host and what it needs for an answer.
type conn struct {
	net.Conn
	key      string
	br       *bufio.Reader
	head     []byte // the request, then the header block
	body     body
	alive    bool // the answer lets the connection live on
	answered bool // there was a valid status line to the present request
	since    time.Time
}

func newConn(key string, nc net.Conn) *conn {
	cn := &conn{Conn: nc, key: key, br: bufio.NewReaderSize(nc, 16<<10)}
	cn.body.cn = cn
	return cn
}

// reusable reports whether the next answer would start at the next byte.
func (cn *conn) reusable() bool {
	// What is here already may be the rest: a small body that nobody wanted, or the last
	// chunk, before which a decoder stopped.
	for cn.alive && cn.body.left != 0 && cn.br.Buffered() > 0 {
		if _, err := cn.body.Read(cn.head[:cap(cn.head)]); err != nil {
			break
		}
	}
	return cn.alive && cn.body.left == 0 && cn.br.Buffered() == 0
}

// A framing is what the header block says of status, connection and body.
type framing struct {
	status  int
	minor   int   // of HTTP/1.x
	wire    int64 // bytes of all header blocks
	chunked bool
	length  int64 // -1: none told
}

func malformed(format string, args ...any) error {
	return &failure{Malformed, "malformed answer: " + fmt.Sprintf(format, args...)}
}

// header reads the status line and the header block, into cn.head. Blocks of status 1xx come
// before it and count for the limit.
func (cn *conn) header(limit int64) (framing, error) {
	var h framing
	cn.answered = false
	for {
		// status line
		cn.head = cn.head[:0]
		if err := cn.line(&h, limit); err != nil {
			if err == io.EOF && len(cn.head) > 0 && !bytes.HasPrefix(cn.head, []byte("HTTP/")) {
				err = malformed("it starts with %q", cn.head[:min(len(cn.head), 40)])
			}
			return h, unexpected(err)
		}
		l := cn.head
		if len(l) < 12 || string(l[:7]) != "HTTP/1." || l[7] < '0' || l[7] > '9' || l[8] != ' ' || len(l) > 12 && l[12] != ' ' {
			return h, malformed("status line %q", l[:min(len(l), 40)])
		}
		status, err := strconv.ParseUint(string(l[9:12]), 10, 16)
		if err != nil || status < 100 {
			return h, malformed("status %q", l[9:12])
		}
		cn.answered = true
		h.status, h.minor = int(status), min(int(l[7]-'0'), 1)
		// fields
		cn.head = cn.head[:0]
		h.length, h.chunked, cn.alive = -1, false, h.minor == 1
		for {
			from := len(cn.head)
			if err := cn.line(&h, limit); err != nil {
				return h, unexpected(err)
			}
			line := cn.head[from:]
			if len(line) == 0 {
				break
			}
			if line[0] == ' ' || line[0] == '\t' {
				if from == 0 {
					return h, malformed("the first field starts with a blank")
				}
				// A folded line continues the one before: blanks for the line end.
				cn.head[from-2], cn.head[from-1] = ' ', ' '
				cn.head = append(cn.head, "\r\n"...)
				continue
			}
			cn.head = append(cn.head, "\r\n"...)
		}
		for rest := cn.head; len(rest) > 0; {
			i := bytes.IndexByte(rest, '\n')
			line := rest[:i-1]
			rest = rest[i+1:]
			name, value, ok := bytes.Cut(line, []byte(":"))
			if !ok || len(name) == 0 || bytes.ContainsAny(name, " \t") {
				return h, malformed("field %q", line[:min(len(line), 40)])
			}
			value = bytes.Trim(value, " \t")
			switch len(name) {
			case len("Connection"):
				if bytes.EqualFold(name, []byte("Connection")) {
					if hasToken(value, "close") {
						cn.alive = false
					} else if h.minor == 0 && hasToken(value, "keep-alive") {
						cn.alive = true
					}
				}
			case len("Content-Length"):
				if bytes.EqualFold(name, []byte("Content-Length")) {
					for v := range bytes.SplitSeq(value, []byte(",")) {
						n, err := strconv.ParseUint(string(bytes.Trim(v, " \t")), 10, 63)
						if err != nil || h.length >= 0 && h.length != int64(n) {
							return h, malformed("Content-Length %q", value[:min(len(value), 40)])
						}
						h.length = int64(n)
					}
				}
			case len("Transfer-Encoding"):
				if bytes.EqualFold(name, []byte("Transfer-Encoding")) && h.minor == 1 {
					if h.chunked || !bytes.EqualFold(value, []byte("chunked")) {
						return h, malformed("Transfer-Encoding %q", value[:min(len(value), 40)])
					}
					h.chunked = true
				}
			}
		}
		if h.chunked && h.length >= 0 {
			h.length, cn.alive = -1, false
		}
		switch {
		case h.status == 101:
			return h, malformed("status 101, nobody asked for")
		case h.status < 200:
			continue
		}
		return h, nil
	}
}

// line appends one line to cn.head, without its end, and refuses what no header may hold.
func (cn *conn) line(h *framing, limit int64) error {
	from := len(cn.head)
	for {
		part, err := cn.br.ReadSlice('\n')
		h.wire += int64(len(part))
		if h.wire > limit {
			return &failure{TooLarge, fmt.Sprintf("the header block is over %d bytes", limit)}
		}
		cn.head = append(cn.head, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	line := bytes.TrimSuffix(cn.head[from:len(cn.head)-1], []byte("\r"))
	cn.head = cn.head[:from+len(line)]
	if bytes.IndexByte(line, 0) >= 0 || bytes.IndexByte(line, '\r') >= 0 {
		return malformed("a control character in the header block")
	}
	return nil
}

// hasToken reports whether a list of tokens holds want.
func hasToken(list []byte, want string) bool {
	for t := range bytes.SplitSeq(list, []byte(",")) {
		if bytes.EqualFold(bytes.Trim(t, " \t"), []byte(want)) {
			return true
		}
	}
	return false
}

// A body reads the body of one answer from its connection.
type body struct {
	cn      *conn
	chunked bool
	left    int64 // of the body, or of the present chunk; 0: at the end; -1: until the connection ends, or a chunk size is next
	first   bool  // no chunk was read yet
	extra   int64 // bytes of chunk lines beyond what their chunks excuse
}

// frame sets b to the start of the body that h announces [RFC 9112, 6.3].
func (b *body) frame(h framing) {
	*b = body{cn: b.cn}
	switch {
	case h.status == 204 || h.status == 304:
	case h.chunked:
		b.chunked, b.first, b.left = true, true, -1
	case h.length >= 0:
		b.left = h.length
	default:
		b.left, b.cn.alive = -1, false
	}
}

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	if len(p) == 0 {
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
	n, err := b.cn.br.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
		if b.left == 0 {
			err = nil
			if b.chunked {
				b.left = -1 // the next chunk
			}
		} else if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
	} else if err == io.EOF {
		b.left = 0
	}
	return n, err
}

// maxChunkLine bounds a chunk's size line, and what all of them may hold beyond 16 bytes a
// chunk and the size of the data: extensions are no way around the limit of a body.
const maxChunkLine = 4 << 10

// chunk reads the line before a chunk into left; after the last chunk, the trailers too.
func (b *body) chunk() error {
	br := b.cn.br
	if !b.first {
		end, err := br.ReadSlice('\n')
		if err != nil {
			return unexpected(err)
		}
		if len(bytes.TrimSuffix(end, []byte("\r\n"))) != 0 && string(end) != "\n" {
			return malformed("no line end after a chunk")
		}
	}
	b.first = false
	line, err := br.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, bufio.ErrBufferFull) {
			return malformed("chunk line over %d bytes", maxChunkLine)
		}
		return unexpected(err)
	}
	if b.extra += int64(len(line)) - 16; len(line) > maxChunkLine || b.extra > 16<<10 {
		return malformed("chunk extensions without end")
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	size = bytes.TrimRight(size, " \t\r\n")
	n, err := strconv.ParseUint(string(size), 16, 62)
	if err != nil || len(size) > 16 {
		return malformed("chunk size %q", size[:min(len(size), 20)])
	}
	b.extra = max(0, b.extra-int64(n))
	if n > 0 {
		b.left = int64(n)
		return nil
	}
	for total := 0; ; {
		line, err := br.ReadSlice('\n')
		if total += len(line); err != nil || total > 64<<10 {
			return unexpected(errors.Join(err, io.ErrUnexpectedEOF))
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			b.left = 0
			return nil
		}
	}
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
