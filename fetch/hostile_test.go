package fetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"forage/internal/race"
)

// peakGrowth returns by how much the process's resident memory peaks above its start while f
// runs, or 0 where that cannot be told: the race detector takes several times what we do. What
// f needs for its server counts too.
func peakGrowth(t *testing.T, f func()) int64 {
	t.Helper()
	field := func(name string) int64 {
		b, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return -1
		}
		_, rest, _ := strings.Cut(string(b), name)
		var kb int64
		fmt.Sscan(rest, &kb)
		return kb << 10
	}
	if race.Enabled {
		f()
		return 0
	}
	runtime.GC()
	debug.FreeOSMemory()
	// 5 resets the peak to the present.
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Logf("the peak of memory cannot be told here: %v", err)
		f()
		return 0
	}
	before := field("VmRSS:")
	f()
	return field("VmHWM:") - before
}

// endless writes head and then chunk until the connection ends or total bytes are out, and
// counts what was written.
func endless(sent *atomic.Int64, head string, chunk []byte, total int64) func(net.Conn) {
	return func(nc net.Conn) {
		if readRequest(bufio.NewReader(nc)) == nil {
			return
		}
		io.WriteString(nc, head)
		for sent.Load() < total {
			n, err := nc.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}
}

const htmlHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

func TestHostile(t *testing.T) {
	cases(t, "hostile.jsonl", map[string]func(*testing.T){
		"ssrf-rfc1918":       testPrivate,
		"port-abuse":         testPorts,
		"userinfo-confusion": testUserinfo,
		"gzip-bomb":          testBombs,
		"infinite-body":      testInfiniteBody,
		"slowloris-headers":  testSlowHeader,
		"tarpit-accept":      testTarpit,
		"header-bomb":        testHeaderBomb,
		"cl-mismatch":        testContentLength,
		"h2-abuse":           testHTTP2Abuse,
		"tls":                testTLS,
		"cookie-jar":         testNoCookies,
		"ua-cloak":           testCloak,
		"wrong-type":         testWrongType,
		"clock":              testClock,
	}, map[string]string{
		"link-bomb":           "fetch/link, crawl: cap on links of a page",
		"wildcard-subdomains": "frontier: bound of an address; crawl: budgets",
		"session-id":          "crawl: traps",
		"soft-404-loop":       "crawl: soft404",
		"charset":             "fetch/link: encodings",
		"parser-stress":       "fetch/link: tokenizer",
		"terminal-injection":  "cmd/forage: output",
		"path-traversal":      "store: no name comes from a URL",
		"api-csrf-dnsrebind":  "serve",
		"robots-poison":       "fetch/robots: matcher; here: TestRobotsFetch",
		"sitemap-poison":      "crawl: budgets",
	})
}

func testPrivate(t *testing.T) {
	canary := serveTCP(t, func(net.Conn) {})
	port := canary.host[strings.LastIndexByte(canary.host, ':'):]
	c := newClient(t, Config{AllowPrivate: []netip.Prefix{}})
	for _, host := range []string{
		"0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.1.2.3", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
		"239.255.255.255", "240.0.0.1", "255.255.255.255", "192.88.99.1",
		"[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]",
		"[100::1]", "[2001:db8::1]", "[2001::1]", "[2002:7f00:1::]", "[3fff::1]", "[5f00::1]", "[fc00::1]", "[fd00:ec2::254]",
		"[fe80::1]", "[fec0::1]", "[ff02::1]", "localhost",
	} {
		o := get(t, c, "http://"+host+port+"/")
		if o.Class != PrivateAddress || !strings.Contains(o.Reason, "--allow-private") {
			t.Errorf("%s: %v (%s)", host, o.Class, o.Reason)
		}
	}
	for _, public := range []string{"1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.0.9", "2606:4700::1111", "2001:4860::8888", "2001:20::1"} {
		if err := c.guard.check(netip.MustParseAddr(public)); err != nil {
			t.Errorf("%s: %v", public, err)
		}
	}
	// Only the listed prefix is opened, for mapped addresses too.
	c = newClient(t, Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	for a, open := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false, "127.0.0.1": false} {
		if err := c.guard.check(netip.MustParseAddr(a)); (err == nil) != open {
			t.Errorf("with 10.1.0.0/16 allowed, %s: %v", a, err)
		}
	}
	if n := canary.conns.Load(); n != 0 {
		t.Errorf("%d connections to the canary", n)
	}
	// A redirect to a private address is one more request, guarded as any.
	s := serveTCP(t, says("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/\r\n\r\n"))
	if o, _ := follow(t, newClient(t, Config{}), s.url); o.Class != PrivateAddress {
		t.Errorf("redirect to a metadata address: %v", o.Class)
	}
}

// A name that was public when somebody looked and is private when we connect: the guard sees
// the address in use, so there is nothing to rebind.
func TestRebinding(t *testing.T) {
	canary := serveTCP(t, func(net.Conn) {})
	_, port, _ := net.SplitHostPort(canary.host)
	var asked atomic.Int64
	dns, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dns.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := dns.ReadFrom(buf)
			if err != nil {
				return
			}
			q := buf[:n]
			end := 12
			for q[end] != 0 {
				end += int(q[end]) + 1
			}
			end += 5
			reply := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
			if q[end-3] == 1 { // type A: public at first, then loopback
				ip := []byte{198, 41, 0, 4}
				if asked.Add(1) > 1 {
					ip = []byte{127, 0, 0, 1}
				}
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				reply = append(reply, ip...)
			}
			dns.WriteTo(reply, from)
		}
	}()
	c := newClient(t, Config{AllowPrivate: []netip.Prefix{}})
	c.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		return net.Dial("udp", dns.LocalAddr().String())
	}}
	c.dialer.Resolver = c.resolver
	as, err := c.Resolve(t.Context(), "rebind.test.")
	if err != nil || len(as) != 1 || as[0].IsLoopback() {
		t.Fatalf("first look: %v, %v", as, err)
	}
	o := get(t, c, "http://rebind.test.:"+port+"/")
	if o.Class != PrivateAddress || canary.conns.Load() != 0 {
		t.Errorf("%v (%s), %d connections to the canary", o.Class, o.Reason, canary.conns.Load())
	}
}

func testPorts(t *testing.T) {
	c := newClient(t, Config{})
	for _, port := range []string{"22", "25", "6379", "11211", "0", "6000", "10080", "99999"} {
		for _, scheme := range []string{"http", "https"} {
			if o := get(t, c, scheme+"://127.0.0.1:"+port+"/"); o.Class != BadPort && o.Class != BadURL {
				t.Errorf("%s port %s: %v", scheme, port, o.Class)
			}
		}
	}
}

func testUserinfo(t *testing.T) {
	var auth atomic.Bool
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || strings.Contains(r.Host, "trusted") || strings.Contains(r.Referer(), "@") {
			auth.Store(true)
		}
	})
	host := strings.TrimPrefix(base, "http://")
	c := newClient(t, Config{Fields: []SiteField{{"trusted.test", "Authorization", "Bearer secret"}}})
	for _, u := range []string{"http://trusted.test@" + host + "/", "http://trusted.test:pw@" + host + "/", "http://" + host + "/#@trusted.test/"} {
		if o := get(t, c, u); o.Status != 200 {
			t.Errorf("%s: %v", u, o.Class)
		}
	}
	if o := get(t, c, `http://trusted.test\@`+host+`/`); o.Class != BadURL {
		t.Errorf("backslash: %v", o.Class)
	}
	if auth.Load() {
		t.Error("credentials were sent")
	}
}

func testBombs(t *testing.T) {
	const limit = 15 << 20
	zeros := bytes.Repeat([]byte("<p>        "), 3<<19) // 16.5 MiB
	bombs := map[string][]byte{"gzip": encode(t, "gzip", zeros)}
	for _, coding := range []string{"br", "zstd", "deflate"} {
		bombs[coding] = encode(t, coding, zeros)
	}
	nested := encode(t, "gzip", zeros)
	for range 4 {
		nested = encode(t, "gzip", nested)
	}
	bombs["gzip, gzip, gzip, gzip, gzip"] = nested
	c := newClient(t, Config{})
	for coding, b := range bombs {
		// Many members one after another: 10 GiB in all.
		repeat := 1
		if coding == "gzip" || coding == "zstd" {
			repeat = 640
		}
		var o *Outcome
		var cpu time.Duration
		grown := int64(math.MaxInt64)
		for range 3 { // on a busy machine the garbage collector may come late: the least of three is what it takes
			if grown <= 32<<20 {
				break
			}
			if o != nil {
				o.Release()
			}
			var sent atomic.Int64
			s := serveTCP(t, endless(&sent, htmlHead+"Content-Encoding: "+coding+"\r\n\r\n", b, int64(len(b)*repeat)))
			before := cpuTime()
			grown = min(grown, peakGrowth(t, func() { o = get(t, c, s.url) }))
			cpu = cpuTime() - before
		}
		t.Logf("%s: %v, %d bytes, %v; memory +%d MiB, CPU %v", coding, o.Class, len(o.Body), o.Cut, grown>>20, cpu)
		if o.Class != OK || o.Cut != CutLong || len(o.Body) != limit {
			t.Errorf("%s: %v, %d bytes, %v (%s)", coding, o.Class, len(o.Body), o.Cut, o.Reason)
		}
		if grown > 32<<20 || !race.Enabled && cpu > 2*time.Second {
			t.Errorf("%s: memory grew by %d MiB, CPU %v", coding, grown>>20, cpu)
		}
		o.Release()
	}
	s := serveTCP(t, says(answer("x", "Content-Encoding: "+strings.Repeat("gzip, ", 50))))
	if o := get(t, c, s.url); o.Class != Malformed {
		t.Errorf("50 codings: %v", o.Class)
	}
}

func testInfiniteBody(t *testing.T) {
	links := bytes.Repeat([]byte("<a href=/n>n</a>\n"), 1000)
	for name, head := range map[string]string{
		"until close": htmlHead + "\r\n", "length": htmlHead + "Content-Length: 99999999999999\r\n\r\n",
	} {
		var sent atomic.Int64
		s := serveTCP(t, endless(&sent, head, links, 1<<40))
		o := get(t, newClient(t, Config{}), s.url)
		if o.Class != OK || o.Cut != CutLong || len(o.Body) != 15<<20 || o.Wire > 16<<20 || !bytes.HasPrefix(o.Body, links) {
			t.Errorf("%s: %v %v, %d bytes, %d on the wire", name, o.Class, o.Cut, len(o.Body), o.Wire)
		}
	}
	var sent atomic.Int64
	chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", len(links), links)
	s := serveTCP(t, endless(&sent, htmlHead+"Transfer-Encoding: chunked\r\n\r\n", chunk, 1<<40))
	if o := get(t, newClient(t, Config{}), s.url); o.Class != OK || o.Cut != CutLong || o.Wire > 16<<20 {
		t.Errorf("chunked: %v %v, %d on the wire", o.Class, o.Cut, o.Wire)
	}
	// By time: a prefix, then silence.
	stop := make(chan struct{})
	defer close(stop)
	s = serveTCP(t, func(nc net.Conn) {
		readRequest(bufio.NewReader(nc))
		io.WriteString(nc, htmlHead+"\r\n<a href=/1>")
		<-stop
	})
	o := get(t, newClient(t, Config{Timeout: time.Second}), s.url)
	if o.Class != OK || o.Cut != CutTime || string(o.Body) != "<a href=/1>" {
		t.Errorf("then silence: %v %v %q", o.Class, o.Cut, o.Body)
	}
	// Chunks of a byte each with long extensions, to spend bytes that are no body.
	sent.Store(0)
	ext := []byte("1;" + strings.Repeat("x", 3000) + "\r\n<\r\n")
	s = serveTCP(t, endless(&sent, htmlHead+"Transfer-Encoding: chunked\r\n\r\n", ext, 1<<40))
	if o := get(t, newClient(t, Config{}), s.url); o.Wire > 1<<20 || sent.Load() > 16<<20 {
		t.Errorf("chunk extensions: %v %v, %d on the wire", o.Class, o.Cut, o.Wire)
	}
}

func testSlowHeader(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	s := serveTCP(t, func(nc net.Conn) {
		for _, b := range []byte("HTTP/1.1 200 OK\r\nX: ") {
			nc.Write([]byte{b})
		}
		<-stop
	})
	c := newClient(t, Config{HeaderWait: 100 * time.Millisecond, Timeout: time.Hour})
	if o := get(t, c, s.url); o.Class != Timeout {
		t.Errorf("%v", o.Class)
	}
	if d := newClient(t, Config{}).cfg.HeaderWait; d > 30*time.Second {
		t.Errorf("by default it waits %v for the header", d)
	}
}

func testTarpit(t *testing.T) {
	here, stop := make(chan struct{}), make(chan struct{})
	defer close(stop)
	tar := serveTCP(t, func(nc net.Conn) {
		here <- struct{}{}
		<-stop
	})
	good := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	c := newClient(t, Config{})
	if d := c.cfg.ConnectWait; d > 10*time.Second {
		t.Errorf("by default it waits %v for a connection", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if o, err := c.Fetch(ctx, &Request{URL: tar.url}); err != context.Canceled {
				t.Errorf("tarpit: %v, %v before we gave up", o.Class, err)
			}
		})
	}
	for range 50 {
		<-here
	}
	for range 100 { // others are not held up
		if o := get(t, c, good); o.Status != 200 {
			t.Errorf("a healthy host meanwhile: %v", o.Class)
		}
	}
	cancel()
	wg.Wait()
	if o := get(t, newClient(t, Config{HeaderWait: 100 * time.Millisecond, Timeout: time.Hour}), tar.url); o.Class != Timeout {
		t.Errorf("tarpit: %v", o.Class)
	}
	if <-here; tar.conns.Load() != 51 {
		t.Errorf("%d connections to the tarpit", tar.conns.Load())
	}
	// A host that is not there.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if o := get(t, c, "http://"+l.Addr().String()); o.Class != Refused || o.Reason != l.Addr().String()+": connection refused" {
		t.Errorf("nobody listens: %v (%s)", o.Class, o.Reason)
	}
	dead := newClient(t, Config{})
	dead.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no name server")
	}}
	if o := get(t, dead, "http://no-such-host.test/"); o.Class != DNS {
		t.Errorf("no such name: %v (%s)", o.Class, o.Reason)
	}
}

func testHeaderBomb(t *testing.T) {
	line := bytes.Repeat([]byte("X-Flood: 0123456789abcdef0123456789abcdef0123456789\r\n"), 2000)
	for name, b := range map[string][]byte{
		"lines":   line,
		"value":   append([]byte("X: "), bytes.Repeat([]byte("v"), 64<<10)...),
		"cookies": bytes.Repeat([]byte("Set-Cookie: a=b; Path=/\r\n"), 1000),
		"1xx":     bytes.Repeat([]byte("X: y\r\n\r\nHTTP/1.1 103 Early Hints\r\n"), 1000),
		"folds":   bytes.Repeat([]byte("X: y\r\n z\r\n"), 1000),
	} {
		var sent atomic.Int64
		status := "HTTP/1.1 200 OK\r\n"
		if name == "1xx" {
			status = "HTTP/1.1 103 Early Hints\r\n"
		}
		s := serveTCP(t, endless(&sent, status, b, 100<<20))
		var o *Outcome
		c := newClient(t, Config{})
		grown := peakGrowth(t, func() { o = get(t, c, s.url) })
		t.Logf("%s: %v, memory +%d MiB, %d bytes sent", name, o.Class, grown>>20, sent.Load())
		if o.Class != TooLarge || sent.Load() > 16<<20 || grown > 8<<20 {
			t.Errorf("%s: %v (%s), %d bytes sent, memory +%d MiB", name, o.Class, o.Reason, sent.Load(), grown>>20)
		}
	}
}

func testContentLength(t *testing.T) {
	for _, c := range []struct {
		fields string
		class  Class
		cut    Cut
		body   string
	}{
		{"Content-Length: 50", OK, CutShort, "<p>twelve.."},
		{"Content-Length: 5", OK, Whole, "<p>tw"},
		{"Content-Length: 11\r\nContent-Length: 11", OK, Whole, "<p>twelve.."},
		{"Content-Length: 11, 11", OK, Whole, "<p>twelve.."},
		{"Content-Length: 5\r\nContent-Length: 11", Malformed, Whole, ""},
		{"Content-Length: 5, 11", Malformed, Whole, ""},
		{"Content-Length: 1e30", Malformed, Whole, ""},
		{"Content-Length: 999999999999999999999999999999", Malformed, Whole, ""},
		{"Content-Length: -1", Malformed, Whole, ""},
		{"Content-Length: +5", Malformed, Whole, ""},
		{"Content-Length : 5", Malformed, Whole, ""},
		{"Content-Length: 9223372036854775807", OK, CutShort, "<p>twelve.."},
		{"Transfer-Encoding: gzip, chunked", Malformed, Whole, ""},
		{"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", Malformed, Whole, ""},
		{"Transfer-Encoding: xchunked", Malformed, Whole, ""},
		{"Transfer-Encoding: chunked", Broken, CutShort, ""},
		{" Content-Length: 5", Malformed, Whole, ""},
		{"Nonsense", Malformed, Whole, ""},
		{"X: a\rContent-Length: 5", Malformed, Whole, ""},
		{"X: a\x00", Malformed, Whole, ""},
	} {
		s := serveTCP(t, says("HTTP/1.1 200 OK\r\n"+c.fields+"\r\nContent-Type: text/html\r\n\r\n<p>twelve.."))
		cl := newClient(t, Config{})
		var o *Outcome
		grown := peakGrowth(t, func() {
			for range 2 {
				o = get(t, cl, s.url)
			}
		})
		if o.Class != c.class || string(o.Body) != c.body || c.class == OK && o.Cut != c.cut {
			t.Errorf("%q: %v (%s) %q %v, want %v %q %v", c.fields, o.Class, o.Reason, o.Body, o.Cut, c.class, c.body, c.cut)
		}
		if s.conns.Load() != 2 {
			t.Errorf("%q: the connection was used again", c.fields)
		}
		if grown > 16<<20 {
			t.Errorf("%q: memory grew by %d MiB", c.fields, grown>>20)
		}
	}
}

// What a server says when nobody asked is not the answer to the next request.
func TestUnsolicited(t *testing.T) {
	for name, more := range map[string]string{
		"at once":          "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\nforged",
		"body after a 304": "x",
	} {
		s := serveTCP(t, func(nc net.Conn) {
			for r := bufio.NewReader(nc); readRequest(r) != nil; {
				io.WriteString(nc, answer("<p>right")+more)
			}
		})
		c := newClient(t, Config{})
		for range 5 {
			if o := get(t, c, s.url); string(o.Body) != "<p>right" {
				t.Errorf("%s: got %q", name, o.Body)
			}
		}
	}
}

func testHTTP2Abuse(t *testing.T) {
	attacks := map[string]func(fr *http2.Framer, stream uint32){
		"reset": func(fr *http2.Framer, stream uint32) {
			for range 10000 {
				if fr.WriteRSTStream(stream, http2.ErrCodeCancel) != nil {
					return
				}
			}
		},
		"continuation": func(fr *http2.Framer, stream uint32) {
			block := h2Fields(":status", "200", "x", strings.Repeat("v", 8000))
			fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block})
			for range 10000 {
				if fr.WriteContinuation(stream, false, h2Fields("x", strings.Repeat("w", 8000))) != nil {
					return
				}
			}
		},
		"hpack": func(fr *http2.Framer, stream uint32) {
			kv := []string{":status", "200"}
			for range 3000 {
				kv = append(kv, "x", strings.Repeat("y", 3000))
			}
			block := h2Fields(kv...) // a table entry, named again and again: 9 MB from some 10 kB
			for i := 0; i < len(block); i += 16000 {
				part, end := block[i:min(len(block), i+16000)], i+16000 >= len(block)
				if i == 0 {
					fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: part, EndHeaders: end})
				} else {
					fr.WriteContinuation(stream, end, part)
				}
			}
		},
		"ping": func(fr *http2.Framer, stream uint32) {
			for range 20000 {
				if fr.WritePing(false, [8]byte{}) != nil {
					return
				}
			}
		},
		"settings": func(fr *http2.Framer, stream uint32) {
			for range 20000 {
				if fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}) != nil {
					return
				}
			}
		},
		"goaway": func(fr *http2.Framer, stream uint32) { fr.WriteGoAway(0, http2.ErrCodeNo, nil) },
	}
	for name, attack := range attacks {
		c := newClient(t, Config{Timeout: 2 * time.Second, HeaderWait: time.Second})
		n, host := h2Server(t, c, func(_ int64, fr *http2.Framer, stream uint32) bool {
			attack(fr, stream)
			return false
		})
		var o *Outcome
		cpu := cpuTime()
		grown := peakGrowth(t, func() { o = get(t, c, "https://"+host+"/") })
		cpu = cpuTime() - cpu
		t.Logf("%s: %v (%s), %d connections, CPU %v, memory +%d MiB", name, o.Class, o.Reason, n.Load(), cpu, grown>>20)
		if o.Class.Answered() && o.Class != TooLarge || !race.Enabled && cpu > time.Second || grown > 24<<20 || n.Load() > 20 {
			t.Errorf("%s: %v (%s), %d connections, CPU %v, memory +%d MiB", name, o.Class, o.Reason, n.Load(), cpu, grown>>20)
		}
	}
}

func testTLS(t *testing.T) {
	cert := func(name string, from, to time.Time) tls.Certificate {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		tmpl := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: to,
			DNSNames: []string{name}, IPAddresses: []net.IP{net.ParseIP(name)}, IsCA: true, BasicConstraintsValid: true,
		}
		der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	}
	now := time.Now()
	day := 24 * time.Hour
	good := cert("127.0.0.1", now.Add(-day), now.Add(day))
	for _, tc := range []struct {
		name    string
		cert    tls.Certificate
		trusted bool
		max     uint16
		want    Class
	}{
		{"good", good, true, 0, OK},
		{"self-signed", good, false, 0, TLS},
		{"expired", cert("127.0.0.1", now.Add(-9*day), now.Add(-day)), true, 0, TLS},
		{"wrong host", cert("127.0.0.2", now.Add(-day), now.Add(day)), true, 0, TLS},
		{"TLS 1.0", good, true, tls.VersionTLS10, TLS},
	} {
		c := newClient(t, Config{})
		if tc.trusted {
			trust(c, tc.cert.Leaf)
		}
		conf := &tls.Config{Certificates: []tls.Certificate{tc.cert}, MaxVersion: tc.max, MinVersion: tls.VersionTLS10}
		s := serveTCP(t, func(nc net.Conn) { says(answer("<p>x"))(tls.Server(nc, conf)) })
		if o := get(t, c, "https://"+s.host+"/"); o.Class != tc.want {
			t.Errorf("%s: %v (%s), want %v", tc.name, o.Class, o.Reason, tc.want)
		}
	}
	stop := make(chan struct{})
	defer close(stop)
	s := serveTCP(t, func(nc net.Conn) { <-stop })
	patient := Config{ConnectWait: 100 * time.Millisecond, HeaderWait: time.Hour, Timeout: time.Hour}
	if o := get(t, newClient(t, patient), "https://"+s.host+"/"); o.Class != TLS && o.Class != Timeout {
		t.Errorf("stalled handshake: %v", o.Class)
	}
	s = serveTCP(t, func(nc net.Conn) {
		io.WriteString(nc, answer("no TLS here"))
		io.Copy(io.Discard, nc)
	})
	if o := get(t, newClient(t, Config{}), "https://"+s.host+"/"); o.Class != TLS {
		t.Errorf("http at the port: %v (%s)", o.Class, o.Reason)
	}
}

func testNoCookies(t *testing.T) {
	var sent atomic.Bool
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" {
			sent.Store(true)
		}
		w.Header().Add("Set-Cookie", "a=b; Domain=127.0.0.1; Path=/")
	})
	c := newClient(t, Config{})
	get(t, c, base)
	if get(t, c, base); sent.Load() {
		t.Error("a cookie came back")
	}
}

func testCloak(t *testing.T) {
	var mu sync.Mutex
	agents := map[string]int{}
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		agents[r.UserAgent()]++
		mu.Unlock()
		w.WriteHeader(403)
		io.WriteString(w, `<title>Attention Required! | Cloudflare</title>`)
	})
	c := newClient(t, Config{UserAgent: Agent("https://example.org/bot")})
	for range 3 {
		if o := get(t, c, base); o.Class != Blocked {
			t.Errorf("%v", o.Class)
		}
	}
	if agents["forage/1.0 (+https://example.org/bot)"] != 3 || len(agents) != 1 {
		t.Errorf("user agents: %v", agents)
	}
}

func testWrongType(t *testing.T) {
	mp4 := append([]byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42mp41"), make([]byte, 64<<10)...)
	for name, c := range map[string]struct {
		typ  string
		body []byte
	}{
		"video as html":  {"text/html", mp4},
		"pdf as html":    {"text/html", append([]byte("%PDF-1.7\n"), make([]byte, 64<<10)...)},
		"zip as nothing": {"", append([]byte("PK\x03\x04"), make([]byte, 64<<10)...)},
		"video":          {"video/mp4", mp4},
		"noise as text":  {"text/plain", bytes.Repeat([]byte{0, 1, 2, 3, 4, 5, 6, 7}, 8<<10)},
	} {
		var sent atomic.Int64
		head := "HTTP/1.1 200 OK\r\n"
		if c.typ != "" {
			head += "Content-Type: " + c.typ + "\r\n"
		}
		s := serveTCP(t, endless(&sent, head+"Content-Length: 4294967296\r\n\r\n", c.body, 4<<30))
		o := get(t, newClient(t, Config{}), s.url)
		if o.Class != NotHTML || o.Wire > 64<<10 || len(o.Body) != 0 {
			t.Errorf("%s: %v (%s), %d bytes on the wire", name, o.Class, o.Reason, o.Wire)
		}
	}
	for name, c := range map[string]struct {
		typ, body string
		want      Kind
	}{
		"html as nothing": {"", "\ufeff \n<!doctype html><p>x", HTML},
		"xml as nothing":  {"", "<?xml version=\"1.0\"?><rss/>", XML},
		"tag as nothing":  {"", "<div>x</div>", HTML},
		"text as nothing": {"", "https://example.org/a\n", Text},
		"feed":            {"application/rss+xml; charset=utf-8", "<rss/>", XML},
		"jsonfeed":        {"application/feed+json", "{}", JSON},
		"html in capital": {"Text/HTML;charset=x", "x", HTML},
		"html in utf-16":  {"text/html; charset=utf-16le", "<\x00p\x00>\x00", HTML},
		"empty":           {"text/html", "", HTML},
	} {
		text := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n", len(c.body))
		if c.typ != "" {
			text += "Content-Type: " + c.typ + "\r\n"
		}
		s := serveTCP(t, says(text+"\r\n"+c.body))
		if o := get(t, newClient(t, Config{}), s.url); o.Class != OK || o.Kind != c.want || string(o.Body) != c.body {
			t.Errorf("%s: %v kind %d %q, want kind %d", name, o.Class, o.Kind, o.Body, c.want)
		}
	}
}

func testClock(t *testing.T) {
	for _, date := range []string{"Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "yesterday"} {
		s := serveTCP(t, says("HTTP/1.1 503 Busy\r\nDate: "+date+"\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n\r\n"))
		o := get(t, newClient(t, Config{}), s.url)
		if o.Class != ServerError || !o.Overloaded() || o.RetryAfter > MaxRetryAfter {
			t.Errorf("Date %s: %v, wait %v", date, o.Class, o.RetryAfter)
		}
	}
}
