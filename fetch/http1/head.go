package http1

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
)

// A head is what a header block says of status, connection and body.
type head struct {
	block, fields string // see Answer
	wire          int64  // bytes of all header blocks
	status        int
	minor         int   // of HTTP/1.x, 0 or 1
	chunked       bool  // counts
	length        int64 // -1: none told, or chunked
	alive         bool  // the connection may be used again
}

// readHead reads header blocks up to that of the final answer. Those of status 1xx come before it
// and count for the limit.
func (cn *conn) readHead(limit int64) (h head, err error) {
	left := limit
	for {
		cn.head = cn.head[:0]
		if err := cn.line(&left, limit); err != nil {
			if err == io.EOF && len(cn.head) > 0 && !bytes.HasPrefix(cn.head, []byte("HTTP/")) {
				err = malformed("it starts with %q", start(cn.head, 40))
			}
			return h, unexpected(err)
		}
		if h.status, h.minor, err = parseStatus(cn.head); err != nil {
			return h, err
		}
		cn.answered = true
		for from := len(cn.head); ; from = len(cn.head) {
			if err := cn.line(&left, limit); err != nil {
				return h, unexpected(err)
			}
			if len(trimEOL(cn.head[from:])) == 0 {
				break
			}
		}
		if h.status == 101 {
			return h, malformed("status 101, nobody asked for")
		}
		if err := h.parse(cn.head); err != nil {
			return h, err
		}
		if h.status >= 200 {
			h.wire = limit - left
			return h, nil
		}
	}
}

// line appends one line to cn.head, with its end, and refuses what no header may hold.
func (cn *conn) line(left *int64, limit int64) error {
	from := len(cn.head)
	for {
		part, err := cn.br.ReadSlice('\n')
		if *left -= int64(len(part)); *left < 0 {
			return HeaderSizeError(limit)
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
	line := trimEOL(cn.head[from:])
	if bytes.IndexByte(line, 0) >= 0 || bytes.IndexByte(line, '\r') >= 0 {
		return malformed("a control character in the header block")
	}
	return nil
}

// trimEOL returns a line without its end, LF or CRLF.
func trimEOL(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

func start(b []byte, n int) []byte { return b[:min(len(b), n)] }

// parseStatus reads the status line [RFC 9112, 4].
func parseStatus(line []byte) (status, minor int, err error) {
	l := trimEOL(line)
	if len(l) < 12 || string(l[:7]) != "HTTP/1." || l[7] < '0' || l[7] > '9' || l[8] != ' ' || len(l) > 12 && l[12] != ' ' {
		return 0, 0, malformed("status line %q", start(l, 40))
	}
	n, err := strconv.ParseUint(string(l[9:12]), 10, 16)
	if err != nil || n < 100 {
		return 0, 0, malformed("status %q", l[9:12])
	}
	return int(n), min(int(l[7]-'0'), 1), nil
}

// parse reads the block that begins with a status line [RFC 9112, 5 and 6].
func (h *head) parse(block []byte) error {
	first := bytes.IndexByte(block, '\n') + 1
	raw, changed, err := unfold(block[first:])
	if err != nil {
		return err
	}
	h.block = string(block)
	if changed {
		h.fields = string(raw)
	} else {
		h.fields = h.block[first : first+len(raw)]
	}
	h.length, h.chunked, h.alive = -1, false, h.minor == 1
	encoded := false
	for rest := raw; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		line := rest[:i-1]
		rest = rest[i+1:]
		name, ok := fieldName(line)
		if !ok {
			return malformed("field %q", start(line, 40))
		}
		value := bytes.Trim(line[len(name)+1:], " \t")
		switch len(name) {
		case len("Connection"):
			if bytes.EqualFold(name, []byte("Connection")) {
				if hasToken(value, "close") {
					h.alive = false
				} else if h.minor == 0 && hasToken(value, "keep-alive") {
					h.alive = true
				}
			}
		case len("Content-Length"):
			if bytes.EqualFold(name, []byte("Content-Length")) {
				for v := range bytes.SplitSeq(value, []byte(",")) {
					n, err := strconv.ParseUint(string(bytes.Trim(v, " \t")), 10, 63)
					if err != nil || h.length >= 0 && h.length != int64(n) {
						return malformed("Content-Length %q", start(value, 40))
					}
					h.length = int64(n)
				}
			}
		case len("Transfer-Encoding"):
			if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
				if h.minor == 1 && (encoded || !bytes.EqualFold(value, []byte("chunked"))) {
					return malformed("Transfer-Encoding %q", start(value, 40))
				}
				encoded = true
			}
		}
	}
	if encoded {
		// With a Content-Length, or in HTTP/1.0, somebody on the way may see another end.
		h.alive = h.alive && h.length < 0 && h.minor == 1
		if h.minor == 1 {
			h.chunked, h.length = true, -1
		}
	}
	return nil
}

// unfold returns the fields of a block, without the empty line. Those that are continued on the next
// line have blanks for the line ends inside, and all end with CRLF: that is in a changed copy, where it
// was not so.
func unfold(block []byte) (fields []byte, changed bool, err error) {
	n := 0
	for rest := block; len(rest) > 0; n++ {
		i := bytes.IndexByte(rest, '\n')
		if i == 0 || rest[i-1] != '\r' {
			changed = true
		}
		if rest[0] == ' ' || rest[0] == '\t' {
			if n == 0 {
				return nil, false, malformed("the first field starts with a blank")
			}
			changed = true
		}
		rest = rest[i+1:]
	}
	if !changed {
		return block[:len(block)-len("\r\n")], false, nil
	}
	for rest := block; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		line := trimEOL(rest[:i+1])
		rest = rest[i+1:]
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			fields[len(fields)-2], fields[len(fields)-1] = ' ', ' '
		}
		fields = append(append(fields, line...), "\r\n"...)
	}
	return fields, true, nil
}

// fieldName returns the name of a field, unless that has blanks or control characters in it.
func fieldName(line []byte) (name []byte, ok bool) {
	for i, ch := range line {
		if ch == ':' {
			return line[:i], i > 0
		}
		if ch <= ' ' || ch == 0x7f {
			break
		}
	}
	return nil, false
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
