package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strings"
	"testing"
)

const ok = "HTTP/1.1 200 OK\r\n"

// TestFraming goes through RFC 9112: what an answer is, where it ends, and whether another one may
// come behind it. again says that the connection is used again.
func TestFraming(t *testing.T) {
	for _, test := range []struct {
		name, said string
		how        string // whole, cut, malformed, too large
		status     int
		body       string
		again      bool
	}{
		// 4: status line
		{"plain", ok + "Content-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"empty reason", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"obs-text reason", "HTTP/1.1 200 D\xe9j\xe0\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"status 599", "HTTP/1.1 599 X\r\nContent-Length: 0\r\n\r\n", "whole", 599, "", true},
		{"status 999", "HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n", "whole", 999, "", true},
		{"later minor", "HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "whole", 200, "hi", true},
		{"status 099", "HTTP/1.1 099 X\r\n\r\n", "malformed", 0, "", false},
		{"status of two digits", "HTTP/1.1 20 OK\r\n\r\n", "malformed", 0, "", false},
		{"status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", "malformed", 0, "", false},
		{"status +20", "HTTP/1.1 +20 OK\r\n\r\n", "malformed", 0, "", false},
		{"two blanks", "HTTP/1.1  200 OK\r\n\r\n", "malformed", 0, "", false},
		{"blank before", " HTTP/1.1 200 OK\r\n\r\n", "malformed", 0, "", false},
		{"empty line before", "\r\nHTTP/1.1 200 OK\r\n\r\n", "malformed", 0, "", false},
		{"lower case", "http/1.1 200 OK\r\n\r\n", "malformed", 0, "", false},
		{"HTTP/2", "HTTP/2 200\r\n\r\n", "malformed", 0, "", false},
		{"HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", "malformed", 0, "", false},
		{"HTTP/1.10", "HTTP/1.10 200 OK\r\n\r\n", "malformed", 0, "", false},
		{"HTTP/0.9", "<html>no header at all</html>", "malformed", 0, "", false},
		{"HTTP/0.9 with lines", "<html>\n<p>no header at all</html>\n", "malformed", 0, "", false},
		{"another protocol", "SSH-2.0-OpenSSH_9.2\r\n", "malformed", 0, "", false},
		{"nothing", "", "cut", 0, "", false},
		{"half a status line", "HTTP/1.1 2", "cut", 0, "", false},
		{"half a header block", ok + "Content-Le", "cut", 0, "", false},
		{"NUL in the status line", "HTTP/1.1 200 O\x00K\r\n\r\n", "malformed", 0, "", false},
		{"CR in the status line", "HTTP/1.1 200 OK\rX: y\r\n\r\n", "malformed", 0, "", false},
		// 5: fields
		{"no blank after the colon", ok + "Content-Length:2\r\n\r\nhi", "whole", 200, "hi", true},
		{"blanks around a value", ok + "Content-Length: \t2 \t\r\n\r\nhi", "whole", 200, "hi", true},
		{"empty value", ok + "X:\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"any case", ok + "cONTENT-lENGTH: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"blank before the colon", ok + "Content-Length : 2\r\n\r\nhi", "malformed", 0, "", false},
		{"tab before the colon", ok + "Content-Length\t: 2\r\n\r\nhi", "malformed", 0, "", false},
		{"vertical tab before the colon", ok + "Content-Length\v: 2\r\n\r\nhi", "malformed", 0, "", false},
		{"blank in a name", ok + "Content Length: 2\r\n\r\nhi", "malformed", 0, "", false},
		{"no name", ok + ": 2\r\n\r\nhi", "malformed", 0, "", false},
		{"no colon", ok + "Nonsense\r\n\r\nhi", "malformed", 0, "", false},
		{"blank before the first field", ok + " Content-Length: 2\r\n\r\nhi", "malformed", 0, "", false},
		{"NUL in a name", ok + "Content-\x00Length: 2\r\n\r\nhi", "malformed", 0, "", false},
		{"NUL in a value", ok + "X: a\x00\r\nContent-Length: 2\r\n\r\nhi", "malformed", 0, "", false},
		{"CR in a value", ok + "X: a\rContent-Length: 5\r\nContent-Length: 2\r\n\r\nhi", "malformed", 0, "", false},
		{"CR CR LF", ok + "Content-Length: 2\r\r\n\r\nhi", "malformed", 0, "", false},
		{"CR CR LF at the end", ok + "Content-Length: 2\r\n\r\r\nhi", "malformed", 0, "", false},
		// 5.2: continued lines
		{"continued", ok + "X: a\r\n b\r\n\tc\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"continued length", ok + "Content-Length:\r\n 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"continued into another length", ok + "Content-Length: 1\r\n 2\r\n\r\nhi", "malformed", 0, "", false},
		{"hidden by a continued line", ok + "X: a\r\n Content-Length: 5\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"continued by blanks alone", ok + "Content-Length: 2\r\n  \r\n\r\nhi", "whole", 200, "hi", true},
		// 6.1: Transfer-Encoding
		{"chunked", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "whole", 200, "hi", true},
		{"Chunked", ok + "Transfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "whole", 200, "hi", true},
		{"gzip, chunked", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "malformed", 0, "", false},
		{"chunked, chunked", ok + "Transfer-Encoding: chunked, chunked\r\n\r\n", "malformed", 0, "", false},
		{"chunked twice", ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "malformed", 0, "", false},
		{"chunked, then identity", ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", "malformed", 0, "", false},
		{"identity", ok + "Transfer-Encoding: identity\r\n\r\nhi", "malformed", 0, "", false},
		{"xchunked", ok + "Transfer-Encoding: xchunked\r\n\r\n", "malformed", 0, "", false},
		{"chunked with a parameter", ok + "Transfer-Encoding: chunked;q=1\r\n\r\n", "malformed", 0, "", false},
		{"chunked in quotes", ok + "Transfer-Encoding: \"chunked\"\r\n\r\n", "malformed", 0, "", false},
		{"chunked with a vertical tab", ok + "Transfer-Encoding: \vchunked\r\n\r\n", "malformed", 0, "", false},
		{"empty Transfer-Encoding", ok + "Transfer-Encoding:\r\nContent-Length: 2\r\n\r\nhi", "malformed", 0, "", false},
		{"chunked of HTTP/1.0", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi", "whole", 200, "hi", false},
		{"chunked and a length", ok + "Content-Length: 30\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "whole", 200, "hi", false},
		{"a length and chunked", ok + "Transfer-Encoding: chunked\r\nContent-Length: 30\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "whole", 200, "hi", false},
		// 6.2: Content-Length
		{"length 0", ok + "Content-Length: 0\r\n\r\n", "whole", 200, "", true},
		{"length 00002", ok + "Content-Length: 00002\r\n\r\nhi", "whole", 200, "hi", true},
		{"the same twice", ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"the same in a list", ok + "Content-Length: 2, 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"two lengths", ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi", "malformed", 0, "", false},
		{"two lengths in a list", ok + "Content-Length: 2, 3\r\n\r\nhi", "malformed", 0, "", false},
		{"an empty one in a list", ok + "Content-Length: 2,\r\n\r\nhi", "malformed", 0, "", false},
		{"empty", ok + "Content-Length:\r\n\r\nhi", "malformed", 0, "", false},
		{"-2", ok + "Content-Length: -2\r\n\r\nhi", "malformed", 0, "", false},
		{"+2", ok + "Content-Length: +2\r\n\r\nhi", "malformed", 0, "", false},
		{"0x2", ok + "Content-Length: 0x2\r\n\r\nhi", "malformed", 0, "", false},
		{"2.0", ok + "Content-Length: 2.0\r\n\r\nhi", "malformed", 0, "", false},
		{"1_0", ok + "Content-Length: 1_0\r\n\r\nhi", "malformed", 0, "", false},
		{"2 2", ok + "Content-Length: 2 2\r\n\r\nhi", "malformed", 0, "", false},
		{"Arabic digits", ok + "Content-Length: \u0662\r\n\r\nhi", "malformed", 0, "", false},
		{"2^63", ok + "Content-Length: 9223372036854775808\r\n\r\nhi", "malformed", 0, "", false},
		{"2^64+2", ok + "Content-Length: 18446744073709551618\r\n\r\nhi", "malformed", 0, "", false},
		{"2^63-1", ok + "Content-Length: 9223372036854775807\r\n\r\nhi", "cut", 200, "hi", false},
		{"too few", ok + "Content-Length: 3\r\n\r\nhi", "cut", 200, "hi", false},
		{"too many", ok + "Content-Length: 1\r\n\r\nhi", "whole", 200, "h", false},
		// 6.3: length of the body
		{"204", "HTTP/1.1 204 No\r\n\r\n", "whole", 204, "", true},
		{"204 with a length", "HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\n", "whole", 204, "", false},
		{"204 with a body", "HTTP/1.1 204 No\r\n\r\nhi", "whole", 204, "", false},
		{"204 chunked", "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "whole", 204, "", false},
		{"304 with a length", "HTTP/1.1 304 No\r\nContent-Length: 2\r\n\r\n", "whole", 304, "", true},
		{"304 with a body", "HTTP/1.1 304 No\r\nContent-Length: 2\r\n\r\nhi", "whole", 304, "", false},
		{"304 chunked", "HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n", "whole", 304, "", false},
		{"until the end", ok + "\r\nhi", "whole", 200, "hi", false},
		{"nothing until the end", ok + "\r\n", "whole", 200, "", false},
		{"a second answer behind", ok + "Content-Length: 2\r\n\r\nhi" + ok + "Content-Length: 6\r\n\r\nforged", "whole", 200, "hi", false},
		{"a line end behind", ok + "Content-Length: 2\r\n\r\nhi\r\n", "whole", 200, "hi", false},
		{"a second answer behind chunks", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + ok + "\r\n", "whole", 200, "hi", false},
		// 9.3: persistence
		{"close", ok + "Connection: close\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", false},
		{"close in a list", ok + "Connection: x, Close\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", false},
		{"close in another field", ok + "Connection: keep-alive\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", false},
		{"closet", ok + "Connection: closet\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", false},
		{"HTTP/1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"HTTP/1.0 without a length", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhi", "whole", 200, "hi", false},
		// 15.2 of RFC 9110: interim answers
		{"100", "HTTP/1.1 100 Go\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"103 twice", strings.Repeat("HTTP/1.1 103 Hint\r\nLink: <x>\r\n\r\n", 2) + ok + "Content-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"a length of a 1xx", "HTTP/1.1 103 Hint\r\nContent-Length: 5\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"close of a 1xx", "HTTP/1.1 103 Hint\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi", "whole", 200, "hi", true},
		{"101", "HTTP/1.1 101 Switch\r\nUpgrade: h2c\r\n\r\n", "malformed", 0, "", false},
		{"1xx alone", "HTTP/1.1 103 Hint\r\n\r\n", "cut", 0, "", false},
		{"1xx flood", strings.Repeat("HTTP/1.1 103 Hint\r\n\r\n", 4000), "too large", 0, "", false},
		{"malformed 1xx", "HTTP/1.1 103 Hint\r\nX\r\n\r\n" + ok + "\r\n", "malformed", 0, "", false},
		// bounds
		{"header block just small enough", ok + "Content-Length: 2\r\nX: " + strings.Repeat("x", 1<<16-len(ok)-19-7) + "\r\n\r\nhi", "whole", 200, "hi", true},
		{"header block one byte too large", ok + "Content-Length: 2\r\nX: " + strings.Repeat("x", 1<<16-len(ok)-19-6) + "\r\n\r\nhi", "too large", 0, "", false},
		{"status line without end", "HTTP/1.1 200 " + strings.Repeat("x", 1<<17), "too large", 0, "", false},
	} {
		for _, cuts := range [][]byte{nil, {0}, {1, 6, 2}} {
			got := play([]byte(test.said), cuts, 1<<20)
			if got.how() != test.how || got.status != test.status || got.body != test.body || got.again != test.again {
				t.Errorf("%s, in pieces of %v: %s (%v), status %d, body %q, again %t; want %s, status %d, body %q, again %t", test.name, cuts,
					got.how(), cmpErr(got.err, got.bodyErr), got.status, got.body, got.again, test.how, test.status, test.body, test.again)
			}
		}
	}
}

// TestChunked goes through section 7.1 of RFC 9112.
func TestChunked(t *testing.T) {
	for _, test := range []struct {
		name, said string
		how, body  string
		again      bool
	}{
		{"two chunks", "2\r\nhi\r\n3\r\n you\r\n0\r\n\r\n", "malformed", "hi yo", false},
		{"chunks", "2\r\nhi\r\n4\r\n you\r\n0\r\n\r\n", "whole", "hi you", true},
		{"hexadecimal", "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "whole", "01234567890123456789", true},
		{"leading zeros", "0002\r\nhi\r\n000\r\n\r\n", "whole", "hi", true},
		{"extension", "2;a=b\r\nhi\r\n0;c\r\n\r\n", "whole", "hi", true},
		{"extension in quotes", "2;a=\"b;c\"\r\nhi\r\n0\r\n\r\n", "whole", "hi", true},
		{"blanks before an extension", "2 \t;a\r\nhi\r\n0\r\n\r\n", "whole", "hi", true},
		{"blanks behind", "2  \r\nhi\r\n0\r\n\r\n", "whole", "hi", true},
		{"trailers", "2\r\nhi\r\n0\r\nX: y\r\nContent-Length: 9\r\n\r\n", "whole", "hi", true},
		{"empty", "0\r\n\r\n", "whole", "", true},
		{"trailer without a colon", "2\r\nhi\r\n0\r\nX\r\n\r\n", "malformed", "hi", false},
		{"trailer with a blank before", "2\r\nhi\r\n0\r\n X: y\r\n\r\n", "malformed", "hi", false},
		{"trailer with a blank in its name", "2\r\nhi\r\n0\r\nX : y\r\n\r\n", "malformed", "hi", false},
		{"LF after a size", "2\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"LF in an extension", "2;a\nb\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"CR in an extension", "2;a\rb\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"LF after a chunk", "2\r\nhi\n0\r\n\r\n", "malformed", "hi", false},
		{"nothing after a chunk", "2\r\nhi0\r\n\r\n", "malformed", "hi", false},
		{"LF after trailers", "2\r\nhi\r\n0\r\n\n", "malformed", "hi", false},
		{"LF after a trailer", "2\r\nhi\r\n0\r\nX: y\n\r\n", "malformed", "hi", false},
		{"CR CR LF after a size", "2\r\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"no size", "\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"blank before a size", " 2\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"0x2", "0x2\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"+2", "+2\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"-2", "-2\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"1_0", "1_0\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"g", "g\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"2^64+2", "10000000000000002\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"2^62", "4000000000000000\r\nhi", "malformed", "", false},
		{"2^62-1", "3fffffffffffffff\r\nhi", "cut", "hi", false},
		{"cut in a size", "2", "cut", "", false},
		{"cut before a size", "", "cut", "", false},
		{"cut in a chunk", "3\r\nhi", "cut", "hi", false},
		{"cut after a chunk", "2\r\nhi", "cut", "hi", false},
		{"cut before the last chunk", "2\r\nhi\r\n", "cut", "hi", false},
		{"cut in the trailers", "2\r\nhi\r\n0\r\nX: y\r\n", "cut", "hi", false},
		{"cut before the end of trailers", "2\r\nhi\r\n0\r\n", "cut", "hi", false},
		{"long line", "2;" + strings.Repeat("x", 5000) + "\r\nhi\r\n0\r\n\r\n", "malformed", "", false},
		{"line without end", "2;" + strings.Repeat("x", 1<<20), "malformed", "", false},
		{"long lines", strings.Repeat("2;"+strings.Repeat("x", 3000)+"\r\nhi\r\n", 10), "malformed", strings.Repeat("hi", 5), false},
		{"lines in proportion", "1000;" + strings.Repeat("x", 3000) + "\r\n" + strings.Repeat("y", 4096) + "\r\n0\r\n\r\n", "whole", strings.Repeat("y", 4096), true},
		{"trailers without end", "2\r\nhi\r\n0\r\n" + strings.Repeat("X: y\r\n", 20000), "malformed", "hi", false},
	} {
		for _, cuts := range [][]byte{nil, {0}, {1, 6, 2}} {
			got := play([]byte(ok+"Transfer-Encoding: chunked\r\n\r\n"+test.said), cuts, 1<<20)
			if got.how() != test.how || got.body != test.body || got.again != test.again {
				t.Errorf("%s, in pieces of %v: %s (%v), %q, again %t; want %s, %q, again %t", test.name, cuts,
					got.how(), cmpErr(got.err, got.bodyErr), got.body, got.again, test.how, test.body, test.again)
			}
		}
	}
}

// TestAsReceived checks what an archive needs: the header block and the body as they came, and the
// fields in one form.
func TestAsReceived(t *testing.T) {
	for _, test := range []struct{ interim, head, fields, raw, body string }{
		{"", ok + "A: b\r\nContent-Length: 2\r\n\r\n", "A: b\r\nContent-Length: 2\r\n", "hi", "hi"},
		{"", "HTTP/1.1 200 OK\nA:b\n c \r\nContent-Length: 2\n\n", "A:b   c \r\nContent-Length: 2\r\n", "hi", "hi"},
		{"HTTP/1.1 103 Hint\r\nLink: <x>\r\n\r\n", ok + "\r\n", "", "hi", "hi"},
		{"", ok + "Transfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked\r\n", "2;x=y\r\nhi\r\n0\r\nX: y\r\n\r\n", "hi"},
	} {
		got := play([]byte(test.interim+test.head+test.raw), []byte{0}, 1<<20)
		if got.how() != "whole" || got.head != test.head || got.fields != test.fields || got.body != test.body {
			t.Errorf("%q: %s, %+v", test.head, got.how(), got)
		}
	}
}

// naiveFields brings the lines of a header block to one form, line after line.
func naiveFields(head string) string {
	var fields []string
	for i, line := range strings.Split(head, "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case i == 0 || line == "":
		case line[0] == ' ' || line[0] == '\t':
			fields[len(fields)-1] += "  " + line
		default:
			fields = append(fields, line)
		}
	}
	return strings.Join(append(fields, ""), "\r\n")
}

var seeds = []string{
	ok + "Content-Length: 3\r\n\r\n<p>", "HTTP/1.0 200 OK\r\n\r\n<p>", "HTTP/1.1 200\nContent-Length: 3\n\nabc",
	ok + "Transfer-Encoding: chunked\r\n\r\n3;x\r\n<p>\r\n0\r\nT: v\r\n\r\n",
	"HTTP/1.1 103 Early\r\nLink: <x>\r\n\r\nHTTP/1.1 301 Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
	ok + "X: a\r\n b\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
	"HTTP/1.1 429 No\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n",
	ok + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
	ok + "Connection: close\r\nContent-Length: 2\r\n\r\nhi" + ok + "\r\n",
}

// FuzzAnswer compares what is accepted with net/http, where that accepts it too.
func FuzzAnswer(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Add([]byte("HTTP/1.0 100\n\n"))
	f.Add([]byte(ok + "Transfer-Encoding: chunked\r\n\r\n3\r\n<p>\r\n0\r\nT: a\fb\r\n\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		const most = 1 << 16
		got := play(slices.Clone(said), nil, most)
		if got.err != nil {
			return
		}
		if !strings.HasSuffix(string(said[:min(len(said), strings.Index(string(said), got.head)+len(got.head))]), got.head) {
			t.Errorf("Head %q is not in what came", got.head)
		}
		if want := naiveFields(got.head); got.fields != want {
			t.Errorf("Fields %q, want %q", got.fields, want)
		}
		r := bufio.NewReader(bytes.NewReader(said))
		var resp *http.Response
		for {
			var err error
			if resp, err = http.ReadResponse(r, nil); err != nil {
				return // more is accepted than by net/http, framing apart
			}
			if resp.StatusCode >= 200 {
				break
			}
		}
		want, err := io.ReadAll(io.LimitReader(resp.Body, most))
		if refused := (textproto.ProtocolError)(""); errors.As(err, &refused) && got.body == string(want) {
			return // by net/http, for the value of a trailer; here trailers are only passed over
		}
		if resp.StatusCode != got.status || got.bodyErr == nil && (err != nil || got.body != string(want)) {
			t.Errorf("status %d, body %q, %v; net/http: %d, %q, %v", got.status, got.body, got.bodyErr, resp.StatusCode, want, err)
		}
		if got.again && resp.Close {
			t.Error("the connection is used again; not by net/http")
		}
		for name, values := range resp.Header {
			if name == "Content-Length" || name == "Transfer-Encoding" || name == "Connection" || name == "Trailer" {
				continue // net/http keeps these to itself at times
			}
			var ours []string
			for line := range strings.SplitSeq(got.fields, "\r\n") {
				if n, v, ok := strings.Cut(line, ":"); ok && strings.EqualFold(n, name) {
					ours = append(ours, strings.Join(strings.Fields(v), " "))
				}
			}
			for i := range values {
				values[i] = strings.Join(strings.Fields(values[i]), " ")
			}
			if !slices.Equal(ours, values) {
				t.Errorf("%s: %q; net/http: %q", name, ours, values)
			}
		}
	})
}

// FuzzSplits has answers come in pieces of any sizes: what is made of them must not depend on that.
func FuzzSplits(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), []byte{0})
		f.Add([]byte(s), []byte{3, 0, 200})
	}
	f.Fuzz(func(t *testing.T, said, cuts []byte) {
		one, many := play(slices.Clone(said), nil, 1<<16), play(slices.Clone(said), cuts, 1<<16)
		if len(one.body) == 1<<16 {
			one.again, many.again = false, false // a body that was not read is drained as far as it is here
		}
		if a, b := one.String(), many.String(); a != b {
			t.Errorf("at once: %s\nin pieces of %v: %s", a, cuts, b)
		}
	})
}

// FuzzHeader checks the parser of a header block on its own: it must not panic, its fields must be
// in one form, and parsing these must give the same again.
func FuzzHeader(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s[strings.IndexByte(s, '\n')+1:]))
	}
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, fields []byte) {
		if i := bytes.Index(fields, []byte("\r\n\r\n")); i >= 0 {
			fields = fields[:i]
		}
		said := append([]byte(ok), fields...)
		first := play(append(said, "\r\n\r\n"...), nil, 0)
		if first.err != nil {
			return
		}
		second := play([]byte(ok+first.fields+"\r\n"), nil, 0)
		if second.err != nil || second.fields != first.fields || second.head != ok+first.fields+"\r\n" {
			t.Errorf("%q, parsed again: %+v", first.fields, second)
		}
	})
}

// FuzzChunked compares bodies in chunks with net/http's.
func FuzzChunked(f *testing.F) {
	for _, s := range []string{"2\r\nhi\r\n0\r\n\r\n", "2;a=b\r\nhi\r\n4 \r\n you\r\n0;c\r\nX: y\r\n\r\n", "0\r\n\r\n", "2\nhi\r\n0\r\n\r\n", "3\r\nhi"} {
		f.Add([]byte(s), []byte{1})
	}
	f.Fuzz(func(t *testing.T, said, cuts []byte) {
		got := play(append([]byte(ok+"Transfer-Encoding: chunked\r\n\r\n"), said...), cuts, 1<<16)
		if got.err != nil {
			t.Fatal(got.err)
		}
		want, err := io.ReadAll(io.LimitReader(httputil.NewChunkedReader(bytes.NewReader(said)), 1<<16))
		if got.bodyErr == nil && (err != nil || got.body != string(want)) {
			t.Errorf("%q; net/http: %q, %v", got.body, want, err)
		}
		if !strings.HasPrefix(got.body, string(want)) && !strings.HasPrefix(string(want), got.body) {
			t.Errorf("%q; net/http: %q", got.body, want)
		}
	})
}
