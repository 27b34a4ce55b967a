package fetch

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exchange fetches u, and returns what went over the wire beside what came of it.
func exchange(t testing.TB, c *Client, r *Request) (*Outcome, *Exchange, string) {
	t.Helper()
	if r.Exchange == nil {
		r.Exchange = &Exchange{HTTP2: true}
	}
	o, err := c.Fetch(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	body, n := r.Exchange.Body()
	text, err := io.ReadAll(io.LimitReader(body, n))
	if err != nil || int64(len(text)) != n {
		t.Fatalf("a body of %d bytes: %d, %v", n, len(text), err)
	}
	return o, r.Exchange, string(text)
}

// answers serves a text, as it stands, to each request, and ends the connection after it.
func answers(t testing.TB, text string) string {
	return serveTCP(t, func(nc net.Conn) {
		readRequest(bufio.NewReader(nc))
		io.WriteString(nc, text)
	}).url
}

// TestExchange: what an archive gets is what the server sent.
func TestExchange(t *testing.T) {
	page := "<title>p</title>" + strings.Repeat("<p>text</p>", 3000)
	zipped := string(encode(t, "gzip", []byte(page)))
	brotli := string(encode(t, "br", []byte(page)))
	long := strings.Repeat("x", 200_000)
	head := func(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }
	length := func(s string) string { return fmt.Sprint("Content-Length: ", len(s)) }
	const html = "Content-Type: text/html"
	for _, c := range []struct {
		name, head, sent string // what the server sends after the head
		body             string // without chunks
		class            Class
		chunked          bool
		cut              Cut
	}{
		{"length", head("HTTP/1.1 200 OK", html, length(page)), page, page, OK, false, Whole},
		{"order, case, blanks, doubles", head("HTTP/1.1 200 Fine", "x-b:1", "X-A:  2 ", "x-b: 3", html, length(page)), page, page, OK, false, Whole},
		{"no length", head("HTTP/1.1 200 OK", html), page, page, OK, false, Whole},
		{"HTTP/1.0", head("HTTP/1.0 200 OK", html), page, page, OK, false, Whole},
		{"bare line feeds", "HTTP/1.1 200 OK\n" + html + "\n\n", page, page, OK, false, Whole},
		{"chunks", head("HTTP/1.1 200 OK", html, "transfer-encoding: chunked"), "3;a=b\r\n<p>\r\n2\r\nhi\r\n0\r\nX: trailer\r\n\r\n", "<p>hi", OK, true, Whole},
		{"gzip", head("HTTP/1.1 200 OK", html, "Content-Encoding: gzip", length(zipped)), zipped, zipped, OK, false, Whole},
		{"gzip with a rest", head("HTTP/1.1 200 OK", html, "Content-Encoding: gzip", length(zipped+"rest")), zipped + "rest", zipped + "rest", OK, false, Whole},
		{"brotli in chunks", head("HTTP/1.1 200 OK", html, "Content-Encoding: br", "Transfer-Encoding: chunked"), fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(brotli), brotli), brotli, OK, true, Whole},
		{"not found", head("HTTP/1.1 404 Not Found", html, length(long)), long, long, NotFound, false, Whole},
		{"redirect", head("HTTP/1.1 301 Moved", "Location: /b", length(long)), long, long, Redirect, false, Whole},
		{"another type", head("HTTP/1.1 200 OK", "Content-Type: application/pdf", length(long)), long, long, NotHTML, false, Whole},
		{"another type by its bytes", head("HTTP/1.1 200 OK", length("\x89PNG\r\n\x1a\n"+long)), "\x89PNG\r\n\x1a\n" + long, "\x89PNG\r\n\x1a\n" + long, NotHTML, false, Whole},
		{"no content", head("HTTP/1.1 204 No Content"), "", "", NoContent, false, Whole},
		{"cut", head("HTTP/1.1 200 OK", html, length(page+"more")), page, page, OK, false, CutShort},
		{"cut in a chunk", head("HTTP/1.1 200 OK", html, "Transfer-Encoding: chunked"), "9\r\n<p>hi", "<p>hi", OK, true, CutShort},
		{"an error, cut", head("HTTP/1.1 500 Oh", html, "Content-Length: 9"), "<p>hi", "<p>hi", ServerError, false, CutShort},
		{"too long", head("HTTP/1.1 200 OK", html, length(long+long)), long + long, (long + long)[:300_000], OK, false, CutLong},
		{"a byte too long", head("HTTP/1.1 200 OK", html), strings.Repeat("x", 300_001), strings.Repeat("x", 300_000), OK, false, CutLong},
		{"as long as may be", head("HTTP/1.1 200 OK", html), strings.Repeat("x", 300_000), strings.Repeat("x", 300_000), OK, false, Whole},
		{"after 1xx", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + head("HTTP/1.1 200 OK", html, length(page)), page, page, OK, false, Whole},
		{"malformed status", head("HTTP/1.1 304 Not Modified"), "", "", Malformed, false, Whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, x, body := exchange(t, newClient(t, Config{MaxBody: 300_000}), &Request{URL: answers(t, c.head+c.sent) + "/"})
			want := c.head[max(0, strings.LastIndex(c.head, "HTTP/1")):]
			if string(x.Head) != want || x.Chunked != c.chunked || x.Cut != c.cut || x.Protocol != "" || x.Err != nil {
				t.Errorf("head %q, chunked %t, %v, %q, %v; want %q, %t, %v", x.Head, x.Chunked, x.Cut, x.Protocol, x.Err, want, c.chunked, c.cut)
			}
			if body != c.body {
				t.Errorf("a body of %d bytes, want %d", len(body), len(c.body))
			}
			if o.Class != c.class {
				t.Errorf("%v (%s), want %v", o.Class, o.Reason, c.class)
			}
			if o.Class == OK && o.Cut == Whole && o.Wire < int64(len(c.body)) {
				t.Errorf("%d bytes came, it says %d", len(c.body), o.Wire)
			}
		})
	}
	for name, text := range map[string]string{"no answer": "", "nonsense": "hello\r\n\r\n", "two lengths": head("HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2") + "ab"} {
		if o, x, _ := exchange(t, newClient(t, Config{}), &Request{URL: answers(t, text) + "/"}); x.Head != nil {
			t.Errorf("%s: %v, and the head is %q", name, o.Class, x.Head)
		}
	}
}

// TestExchangeSent: the request is told as it was sent, without what may be secret.
func TestExchangeSent(t *testing.T) {
	got := make(chan []string, 1)
	base := serveTCP(t, func(nc net.Conn) {
		got <- readRequest(bufio.NewReader(nc))
		io.WriteString(nc, "HTTP/1.1 304 Not Modified\r\n\r\n")
	}).url
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Config{Fields: []SiteField{{u.Host, "Authorization", "Bearer s3cret"}, {u.Host, "X-Key", "s3cret"}}})
	o, x, _ := exchange(t, c, &Request{URL: base + "/a b?c", ETag: `"e"`})
	lines := <-got
	want := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.Contains(l, "s3cret") })
	if len(want) != len(lines)-2 || string(x.Sent) != strings.Join(want, "\r\n")+"\r\n\r\n" || o.Class != NotModified || !strings.Contains(string(x.Sent), `If-None-Match: "e"`) {
		t.Errorf("%v, the server got %q, and the exchange says %q", o.Class, lines, x.Sent)
	}
}

// TestExchangeRebuilt: over HTTP/2, and through a proxy, the head is told as HTTP/1.1 has it.
func TestExchangeRebuilt(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Path", r.URL.Path)
		io.WriteString(w, "<p>hello")
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(answer))
	c := newClient(t, Config{})
	secure(t, c, s)
	for range 2 { // the second request knows that the host speaks HTTP/2
		_, x, body := exchange(t, c, &Request{URL: s.URL + "/p"})
		if !strings.HasPrefix(string(x.Head), "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Type: text/html\r\n") || !strings.HasSuffix(string(x.Head), "X-Path: /p\r\n\r\n") || x.Protocol != "h2" || body != "<p>hello" {
			t.Errorf("%q, %q, %q", x.Head, x.Protocol, body)
		}
		if !strings.HasPrefix(string(x.Sent), "GET /p HTTP/1.1\r\nHost: "+strings.TrimPrefix(s.URL, "https://")+"\r\nUser-Agent: forage") || !strings.HasSuffix(string(x.Sent), "\r\n\r\n") {
			t.Errorf("%q", x.Sent)
		}
	}
	if _, x, body := exchange(t, c, &Request{URL: s.URL + "/p", Exchange: new(Exchange)}); x.Protocol != "" || body != "<p>hello" || !strings.Contains(string(x.Head), "\r\nContent-Length: 8\r\n") {
		t.Errorf("without HTTP/2: %q, %q, %q", x.Head, x.Protocol, body)
	}
	proxy := serve(t, answer)
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	// A field may be given several times.
	behind := newClient(t, Config{Proxy: u, Fields: []SiteField{{"127.0.0.1", "X-Key", "s3cret1"}, {"127.0.0.1", "X-Key", "s3cret2"}, {"127.0.0.1", "User-Agent", "s3cret3"}}})
	o, x, body := exchange(t, behind, &Request{URL: "http://127.0.0.1/far", ETag: `"e"`})
	if !strings.HasSuffix(string(x.Head), "X-Path: /far\r\n\r\n") || body != "<p>hello" || o.Addr.IsValid() {
		t.Errorf("by a proxy: %v (%s), %q, %q", o.Class, o.Reason, x.Head, body)
	}
	if sent := string(x.Sent); strings.Contains(sent, "s3cret") || !strings.Contains(sent, "\r\nUser-Agent: forage") || !strings.HasSuffix(sent, "\r\nIf-None-Match: \"e\"\r\n\r\n") {
		t.Errorf("by a proxy it is told to have been sent %q", sent)
	}
}

// TestExchangeInterrupted: an answer of which an interruption cut off what only an archive wants is none.
func TestExchangeInterrupted(t *testing.T) {
	for _, status := range []int{200, 404} {
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/pdf")
			w.WriteHeader(status)
			w.Write(make([]byte, 2*SpillFrom))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		x := &Exchange{Spill: func() (io.ReadWriteSeeker, error) {
			cancel()
			f, err := os.Create(filepath.Join(t.TempDir(), "body"))
			if err == nil {
				t.Cleanup(func() { f.Close() })
			}
			return f, err
		}}
		if o, err := newClient(t, Config{}).Fetch(ctx, &Request{URL: base + "/a.pdf", Exchange: x}); err != context.Canceled || x.Head == nil {
			t.Errorf("status %d: Fetch() = %v, %v, want %v", status, o.Class, err, context.Canceled)
		}
	}
}

// TestExchangeChunks: however a body is cut into chunks, and wherever it breaks off, what was sent of it is kept.
func TestExchangeChunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	c := newClient(t, Config{})
	for range 100 {
		body := make([]byte, rng.IntN(5000))
		for i := range body {
			body[i] = byte('a' + rng.IntN(26))
		}
		var wire bytes.Buffer
		var at []int // after each byte on the wire: how much of the body it has brought
		note := func(n int, s string) {
			wire.WriteString(s)
			for range len(s) {
				at = append(at, n)
			}
		}
		for n := 0; n < len(body); {
			k := min(len(body)-n, 1+rng.IntN(1000))
			note(n, fmt.Sprintf("%x\r\n", k))
			for range k {
				wire.WriteByte(body[n])
				n++
				at = append(at, n)
			}
			note(n, "\r\n")
		}
		note(len(body), "0\r\n\r\n")
		sent := wire.Len()
		if rng.IntN(2) == 0 {
			sent = 1 + rng.IntN(wire.Len())
		}
		_, x, got := exchange(t, c, &Request{URL: answers(t, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"+wire.String()[:sent]) + "/"})
		if want := body[:at[sent-1]]; got != string(want) || (x.Cut == Whole) != (sent == wire.Len()) {
			t.Fatalf("%d of %d bytes were sent: %d of %d of the body, %v", sent, wire.Len(), len(got), len(want), x.Cut)
		}
	}
}

// TestExchangeSpill: a large body lies in a file; what that cannot take is told, and the page is read all the same.
func TestExchangeSpill(t *testing.T) {
	page := "<title>p</title>" + strings.Repeat("<p>text</p>", 100_000)
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := len(page)
		if r.URL.Path == "/small" {
			n = 1000
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, page[:n])
	})
	c, dir := newClient(t, Config{MaxBody: 1 << 20}), t.TempDir()
	x := &Exchange{Spill: func() (io.ReadWriteSeeker, error) {
		f, err := os.Create(filepath.Join(dir, "body"))
		if err == nil {
			t.Cleanup(func() { f.Close() })
		}
		return f, err
	}}
	for path, want := range map[string]string{"/": page[:1<<20], "/small": page[:1000]} {
		x.Close()
		_, _, body := exchange(t, c, &Request{URL: base + path, Exchange: x})
		if body != want {
			t.Errorf("%s: %d bytes, want %d", path, len(body), len(want))
		}
		_, err := os.Stat(filepath.Join(dir, "body"))
		if cap(x.text) > 2*SpillFrom || (err == nil) != (path == "/") {
			t.Errorf("%s: %d bytes in memory, the file: %v", path, cap(x.text), err)
		}
		os.Remove(filepath.Join(dir, "body"))
	}
	x.Close()
	x.Spill = func() (io.ReadWriteSeeker, error) { return nil, os.ErrPermission }
	o, err := c.Fetch(context.Background(), &Request{URL: base + "/", Exchange: x})
	if err != nil || o.Class != OK || len(o.Body) != 1<<20 || x.Err != os.ErrPermission {
		t.Errorf("%v, %d bytes, %v, %v", o.Class, len(o.Body), err, x.Err)
	}
}

// BenchmarkExchange fetches a page of 10 kB, with and without.
func BenchmarkExchange(b *testing.B) {
	page := "<title>p</title>" + strings.Repeat("<p>text</p>", 900)
	base := serveTCP(b, func(nc net.Conn) {
		for r := bufio.NewReader(nc); readRequest(r) != nil; {
			io.WriteString(nc, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(page), page))
		}
	}).url
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprint(with), func(b *testing.B) {
			c, r := newClient(b, Config{}), &Request{URL: base + "/"}
			if with {
				r.Exchange = new(Exchange)
			}
			b.ReportAllocs()
			for b.Loop() {
				o, err := c.Fetch(context.Background(), r)
				if err != nil || o.Class != OK {
					b.Fatal(o, err)
				}
				r.Buffer = o.Body[:0]
				o.Release()
				if with {
					r.Exchange.Close()
				}
			}
		})
	}
}
