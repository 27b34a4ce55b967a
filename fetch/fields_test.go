package fetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forage/fetch/link"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestCookies(t *testing.T) {
	const file = "# Netscape HTTP Cookie File\r\n" +
		".example.org\tTRUE\t/\tFALSE\t0\tall\t1\n" +
		"www.example.org\tFALSE\t/docs\tFALSE\t1893456000\tdocs\t2\n" +
		"#HttpOnly_example.org\tFALSE\t/\tTRUE\t0\tsafe\t3\n" +
		"example.org\tFALSE\t/\tFALSE\t1000000000\told\t4\n" +
		".com\tTRUE\t/\tFALSE\t0\tsuper\t5\n" +
		".co.uk\tTRUE\t/\tFALSE\t0\tsuper\t6\n\n"
	c, err := ReadCookies(strings.NewReader(file), now)
	if err != nil {
		t.Fatal(err)
	}
	for u, want := range map[string]string{
		"http://example.org/":           "all=1",
		"https://example.org":           "all=1; safe=3",
		"http://www.example.org/docs/x": "all=1; docs=2",
		"http://www.example.org/docs":   "all=1; docs=2",
		"http://www.example.org/docsx":  "all=1",
		"http://notexample.org/":        "",
		"http://example.org.evil.test/": "",
		"http://shop.com/":              "",
		"http://shop.co.uk/":            "",
	} {
		p, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.header(p); got != want {
			t.Errorf("cookies for %s: %q, want %q", u, got, want)
		}
	}
	for bad, want := range map[string]string{
		"a b c":                                                     "line 1: want 7 fields",
		"x\nexample.org\tTRUE\t/":                                   "line 1: want 7 fields",
		"e.org\tTRUE\t/\tFALSE\tsoon\ta\tb":                         `line 1: want an expiry`,
		"e.org\tTRUE\tx\tFALSE\t0\ta\tb":                            "line 1: want a path",
		"\tTRUE\t/\tFALSE\t0\ta\tb":                                 "line 1: want a host",
		"e.org\tTRUE\t/\tFALSE\t0\ta\tsecret\x01":                   "line 1: cookie \"a\" has a byte",
		"e.org\tTRUE\t/\tFALSE\t0\ta\t" + strings.Repeat("x", 5000): "line 1: cookie \"a\" is over",
	} {
		_, err := ReadCookies(strings.NewReader(bad), now)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("ReadCookies(%.40q): %v, want %q", bad, err, want)
		}
	}
}

// Secrets go to the host they are for, and to no other that it redirects to.
func TestSecretsStay(t *testing.T) {
	var leaked atomic.Bool
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Token") != "" || r.Header.Get("Cookie") != "" {
			leaked.Store(true)
		}
	})
	var got atomic.Value
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("X-Token") + " " + r.Header.Get("Cookie"))
		http.Redirect(w, r, other, http.StatusFound)
	})
	host := strings.TrimPrefix(base, "http://")
	cookies, err := ReadCookies(strings.NewReader("localhost\tTRUE\t/\tFALSE\t0\tsid\tx\n"), now)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Config{Fields: []SiteField{{host, "x-token", "s3cret"}}, Cookies: cookies})
	if o, _ := follow(t, c, base); o.Status != 200 {
		t.Errorf("%v", o.Class)
	}
	if got.Load() != "s3cret " || leaked.Load() {
		t.Errorf("its host got %q; leaked: %v", got.Load(), leaked.Load())
	}
	for _, f := range []SiteField{{host, "X-A", "a\r\nHost: evil.test"}, {host, "X A", "b"}, {host, "", "b"}, {host, "Content-Length", "5"}, {host, "host", "x"}} {
		if _, err := New(Config{Fields: []SiteField{f}}); err == nil || strings.Contains(err.Error(), "evil") {
			t.Errorf("field %q: %v", f.Name, err)
		}
	}
}

func TestProxy(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.String()+" "+r.Header.Get("Proxy-Authorization"))
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<p>by proxy")
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // not ours to use
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	p, _ := url.Parse(proxy.URL)
	p.User = url.UserPassword("me", "pa55word")
	c := newClient(t, Config{Proxy: p, AllowPrivate: []netip.Prefix{}})
	if o := get(t, c, "http://1.1.1.1/x"); o.Class != OK || string(o.Body) != "<p>by proxy" {
		t.Errorf("%v (%s)", o.Class, o.Reason)
	}
	for _, u := range []string{"http://127.0.0.1/", "http://localhost/", "http://[::1]:8080/", "http://169.254.169.254/"} {
		if o := get(t, c, u); o.Class != PrivateAddress {
			t.Errorf("%s by proxy: %v (%s)", u, o.Class, o.Reason)
		}
	}
	if len(asked) != 1 || asked[0] != "http://1.1.1.1/x Basic bWU6cGE1NXdvcmQ=" {
		t.Errorf("the proxy was asked %q", asked)
	}
	proxy.Close()
	if o := get(t, c, "http://1.1.1.1/x"); o.Class != Refused || strings.Contains(o.Reason, "pa55word") {
		t.Errorf("no proxy there: %v (%s)", o.Class, o.Reason)
	}
	if _, err := New(Config{Proxy: &url.URL{Scheme: "ftp", Host: "x", User: url.UserPassword("a", "pa55word")}}); err == nil || strings.Contains(err.Error(), "pa55word") {
		t.Errorf("ftp proxy: %v", err)
	}
}

// A hundred requests, 64 at a time, need 64 connections and keep them.
func TestConnectionsAreKept(t *testing.T) {
	here, hold := make(chan struct{}), make(chan struct{})
	s := serveTCP(t, func(nc net.Conn) {
		for r := bufio.NewReader(nc); readRequest(r) != nil; {
			here <- struct{}{}
			<-hold
			io.WriteString(nc, answer("<p>x"))
		}
	})
	c := newClient(t, Config{})
	for range 3 {
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() { get(t, c, s.url) })
		}
		for range 64 {
			<-here
		}
		for range 64 {
			hold <- struct{}{}
		}
		wg.Wait()
	}
	if n := s.conns.Load(); n != 64 {
		t.Errorf("%d connections, want 64", n)
	}
}

// The end of the caller's context ends a request at once, whatever the server does.
func TestCancel(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	asked := make(chan struct{})
	s := serveTCP(t, func(nc net.Conn) {
		readRequest(bufio.NewReader(nc))
		asked <- struct{}{}
		<-stop
	})
	for _, scheme := range []string{"plain", "net/http"} {
		c := newClient(t, Config{})
		if scheme == "net/http" {
			c.cfg.Proxy, _ = url.Parse(s.url)
			c.shared = c.transport(true)
		}
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-asked; cancel() }()
		if _, err := c.Fetch(ctx, &Request{URL: s.url}); err != context.Canceled {
			t.Errorf("%s: %v, want %v", scheme, err, context.Canceled)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"120", "-5", "abc", "Sat, 01 Jan 2000 00:00:30 GMT", "999999999999999999999", ""} {
		f.Add(s, "Sat, 01 Jan 2000 00:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, v, date string) {
		if d := retryAfter(Header("Date: "+date+"\r\nRetry-After: "+v+"\r\n"), now); d < 0 || d > MaxRetryAfter {
			t.Errorf("Retry-After %q at %q: %v", v, date, d)
		}
	})
}

func FuzzCookies(f *testing.F) {
	f.Add(".example.org\tTRUE\t/\tFALSE\t0\tall\t1\n#HttpOnly_a.b\tFALSE\t/x\tTRUE\t5\ta\n", "http://www.example.org/x/y")
	f.Fuzz(func(t *testing.T, file, u string) {
		c, err := ReadCookies(strings.NewReader(file), now)
		p, perr := url.Parse(u)
		if err != nil || perr != nil {
			return
		}
		if v := c.header(p); !validField("Cookie", v) {
			t.Errorf("header %q", v)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, coding := range []string{"gzip", "br", "zstd", "deflate", "bare"} {
		f.Add(strings.Replace(coding, "bare", "deflate", 1), encode(f, coding, []byte("<p>some text to pack, some text to pack")))
	}
	f.Add("gzip, br", []byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, coding string, b []byte) {
		d, err := decode(bytes.NewReader(b), []string{coding}, 1<<16, 1<<16, func(int64) bool { return true })
		if err != nil {
			return
		}
		defer d.close()
		if n, _ := io.Copy(io.Discard, d); n > 1<<16+1 && d.Reader != nil && !d.raw && coding != "" && coding != "identity" {
			t.Errorf("%q: %d bytes through a limit of %d", coding, n, 1<<16)
		}
	})
}

func FuzzLocation(f *testing.F) {
	for _, s := range []string{"/b", "//h/x", "../c?x", "http://h.test:80/é%zz", "javascript:x", "\\\\evil.test\\", "?", "#", "", strings.Repeat("é", 2000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, loc string) {
		o := &Outcome{URL: "http://h.test/a/b", Status: 302, Header: Header("Location: " + strings.NewReplacer("\r", "", "\n", "").Replace(loc) + "\r\n")}
		o.redirect()
		if o.Class != Redirect {
			return
		}
		if _, err := link.Parse(o.Location); err != nil || strings.ContainsAny(o.Location, "# \t\r\n") {
			t.Errorf("Location %q: %q, %v", loc, o.Location, err)
		}
	})
}

// TestIdentifies compares what Identifies says with what is sent.
func TestIdentifies(t *testing.T) {
	cookies, err := ReadCookies(strings.NewReader(".a.test\tTRUE\t/in/\tTRUE\t0\tsid\tx\n"), now)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Config{Cookies: cookies, Fields: []SiteField{{"b.test:8080", "x-token", "y"}, {"c.test", "accept-language", "de"}}})
	for _, test := range []struct {
		url  string
		want bool
	}{
		{"https://a.test/in/1", true}, {"https://www.a.test/in/", true}, {"http://a.test/in/1", false}, {"https://a.test/out", false},
		{"http://b.test:8080/", true}, {"http://b.test/", false}, {"http://www.b.test:8080/", false}, {"http://c.test/", false}, {"nonsense", false},
	} {
		if got := c.Identifies(test.url); got != test.want {
			t.Errorf("Identifies(%q) = %t", test.url, got)
		}
		if u, err := parseURL(test.url); err == nil {
			sent := false
			for name := range c.fields(u, &Request{}) {
				sent = sent || name == "Cookie" || name == "x-token"
			}
			if sent != test.want {
				t.Errorf("%q: sent %t", test.url, sent)
			}
		}
	}
}

// A handshake that the network ends is tried again later, as any request; one that the server's
// certificate ends is not. Both where HTTP/2 is known to be spoken and where it is not.
func TestHandshakeClass(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	for name, test := range map[string]struct {
		handle    func(net.Conn)
		class     Class
		transient bool
	}{
		"silence": {func(net.Conn) { <-stop }, Timeout, true},
		"end":     {func(nc net.Conn) { nc.Read(make([]byte, 4<<10)) }, Broken, true},
		"reset": {func(nc net.Conn) {
			nc.Read(make([]byte, 100))
			nc.(*net.TCPConn).SetLinger(0)
		}, Broken, true},
		"plain http":     {func(nc net.Conn) { io.WriteString(nc, answer("x")); io.Copy(io.Discard, nc) }, TLS, false},
		"a certificate":  {func(nc net.Conn) { tls.Server(nc, &tls.Config{Certificates: known.TLS.Certificates}).Handshake() }, TLS, false},
		"no certificate": {func(nc net.Conn) { tls.Server(nc, &tls.Config{GetCertificate: noCertificate}).Handshake() }, TLS, false},
	} {
		s := serveTCP(t, test.handle)
		for _, h2 := range []bool{false, true} {
			wait := time.Minute
			if name == "silence" {
				wait = 100 * time.Millisecond
			}
			c := newClient(t, Config{ConnectWait: wait, HeaderWait: time.Hour, Timeout: time.Hour})
			if h2 {
				c.speakH2.add(s.host)
			}
			o := get(t, c, "https://"+s.host+"/")
			if o.Class != test.class || o.Transient() != test.transient {
				t.Errorf("%s, HTTP/2 %t: %v (%s), transient %t; want %v, %t", name, h2, o.Class, o.Reason, o.Transient(), test.class, test.transient)
			}
		}
	}
}

func noCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return nil, errors.New("none")
}

// Over TLS an outcome tells what it tells without, whichever protocol the server chooses; a connection
// on which it chose HTTP/2 is the one that is used.
func TestSecure(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		var conns, direct atomic.Int64
		c := newClient(t, Config{})
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 1 {
				direct.Add(1)
			}
			w.Header().Set("ETag", `"x"`)
			w.Header()["x-aS-iS"] = []string{"1"}
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<p>"+r.Host)
		}))
		s.EnableHTTP2 = h2
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				conns.Add(1)
			}
		}
		s.StartTLS()
		defer s.Close()
		trust(c, s.Certificate())
		for i := range 5 {
			o := get(t, c, s.URL+"/")
			if o.Class != OK || o.Kind != HTML || o.ETag != `"x"` || string(o.Body) != "<p>"+strings.TrimPrefix(s.URL, "https://") || o.Cut != Whole {
				t.Errorf("HTTP/2 %t, request %d: %+v", h2, i, o)
			}
			if o.Addr.String() != s.Listener.Addr().String() || o.Took <= 0 || o.Elapsed < o.Took || o.Wire < int64(len(o.Body)) {
				t.Errorf("HTTP/2 %t: Addr %v, Took %v, Elapsed %v, Wire %d", h2, o.Addr, o.Took, o.Elapsed, o.Wire)
			}
		}
		if n := conns.Load(); n != 1 || (direct.Load() == 0) != h2 {
			t.Errorf("HTTP/2 %t: %d connections, %d requests by HTTP/1.1", h2, n, direct.Load())
		}
		guarded := newClient(t, Config{AllowPrivate: []netip.Prefix{}})
		if h2 {
			guarded.speakH2.add(s.Listener.Addr().String())
		}
		if o := get(t, guarded, s.URL); o.Class != PrivateAddress || conns.Load() != 1 {
			t.Errorf("HTTP/2 %t, not allowed: %v (%s), %d connections", h2, o.Class, o.Reason, conns.Load())
		}
		// A server that speaks HTTP/2 no more is asked as any other: by the client of our own, which leaves
		// names of fields as they came.
		if !h2 {
			c.speakH2.add(s.Listener.Addr().String())
			if o := get(t, c, s.URL); o.Class != OK || c.speakH2.has(s.Listener.Addr().String()) || !strings.Contains(string(o.Header), "x-aS-iS: 1") {
				t.Errorf("HTTP/2 expected, HTTP/1.1 chosen: %v (%s), %q", o.Class, o.Reason, o.Header)
			}
		}
	}
}

// Where TLS does not tell the end of a body that lasts until the connection ends, it is not whole.
func TestTruncatedSecure(t *testing.T) {
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	for _, notify := range []bool{true, false} {
		s := serveTCP(t, func(nc net.Conn) {
			tc := tls.Server(nc, &tls.Config{Certificates: known.TLS.Certificates})
			readRequest(bufio.NewReader(tc))
			io.WriteString(tc, htmlHead+"\r\n<p>some")
			if notify {
				tc.CloseWrite()
			}
		})
		c := newClient(t, Config{})
		trust(c, known.Certificate())
		if o := get(t, c, "https://"+s.host+"/"); o.Class != OK || string(o.Body) != "<p>some" || (o.Cut == Whole) != notify {
			t.Errorf("end told %t: %v (%s), %q, %v", notify, o.Class, o.Reason, o.Body, o.Cut)
		}
	}
}

// The latest are known, twice as many at most.
func TestRecent(t *testing.T) {
	var r recent
	name := func(i int) string { return "h" + strconv.Itoa(i) }
	for i := range 5 * mostRecent {
		if r.has(name(i)) {
			t.Fatalf("%s is known", name(i))
		}
		r.add(name(i))
		if !r.has(name(0)) { // asked for all the time
			t.Fatalf("%s is forgotten", name(0))
		}
		if n := len(r.now) + len(r.old); n > 2*mostRecent {
			t.Fatalf("%d strings", n)
		}
	}
	for i := range mostRecent - 1 {
		if !r.has(name(4*mostRecent + 1 + i)) {
			t.Fatalf("%s is forgotten", name(4*mostRecent+1+i))
		}
	}
	if r.has(name(1)) {
		t.Errorf("%s is still known", name(1))
	}
	if r.remove(name(0)); r.has(name(0)) {
		t.Errorf("%s is known", name(0))
	}
}
