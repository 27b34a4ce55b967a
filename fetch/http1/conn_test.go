package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A server on loopback calls handle for each connection, and counts them.
type server struct {
	host  string
	conns atomic.Int64
}

func serve(t testing.TB, handle func(nc net.Conn)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{host: l.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			go func() {
				defer nc.Close()
				handle(nc)
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return s
}

// asked reads a request, and reports whether there was one.
func asked(r *bufio.Reader) bool {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return false
		}
		if line == "\r\n" {
			return true
		}
	}
}

// answers has a server answer each request with the same text.
func answers(text string) func(net.Conn) {
	return func(nc net.Conn) {
		for r := bufio.NewReader(nc); asked(r); {
			io.WriteString(nc, text)
		}
	}
}

const right = ok + "Content-Length: 5\r\n\r\nright"

func newClient(t testing.TB, cfg Config) *Client {
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

// get asks for / and returns the body.
func get(c *Client, r Request) (string, error) {
	if r.End.IsZero() {
		r.End = time.Now().Add(time.Minute)
	}
	a, err := c.Do(context.Background(), &r)
	if err != nil {
		return "", err
	}
	defer a.Close()
	b, err := io.ReadAll(a)
	return string(b), err
}

func wantRight(t *testing.T, c *Client, r Request) {
	t.Helper()
	if body, err := get(c, r); body != "right" || err != nil {
		t.Errorf("%s: %q, %v, want right", r.Host, body, err)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	s := serve(t, answers(right))
	c := newClient(t, Config{})
	for range 5 {
		wantRight(t, c, Request{Host: s.host})
	}
	if n := s.conns.Load(); n != 1 || c.idle.n != 1 {
		t.Errorf("%d connections, %d idle, want 1 and 1", n, c.idle.n)
	}
	if cn := c.idle.newest; cn.work != nil || cn.answer.Sent != nil {
		t.Error("an idle connection has buffers")
	}
	c.Close()
	if c.idle.n != 0 || c.idle.taken != 0 || c.idle.oldest != nil || c.idle.sweep != nil {
		t.Errorf("after Close: %+v", c.idle)
	}
}

// A body that nobody reads ends the connection, unless the rest is here already.
func TestUnreadBody(t *testing.T) {
	for body, again := range map[string]bool{"right": true, strings.Repeat("x", 1<<20): false} {
		s := serve(t, answers(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(body), body)))
		c := newClient(t, Config{})
		a, err := c.Do(t.Context(), &Request{Host: s.host})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := a.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		a.Close()
		if got := c.idle.n == 1; got != again {
			t.Errorf("%d bytes: kept %t, want %t", len(body), got, again)
		}
	}
}

// An answer that is closed waits for nothing, such as the rest of the line before a chunk.
func TestCloseWaitsForNothing(t *testing.T) {
	s := serve(t, func(nc net.Conn) {
		if asked(bufio.NewReader(nc)) {
			io.WriteString(nc, ok+"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1")
			io.Copy(io.Discard, nc)
		}
	})
	c := newClient(t, Config{})
	a, err := c.Do(t.Context(), &Request{Host: s.host, End: time.Now().Add(20 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(a, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	a.Close()
	if took := time.Since(start); took > 10*time.Second || c.idle.n != 0 {
		t.Errorf("Close took %v, %d connections were kept", took, c.idle.n)
	}
}

// What a server says when nobody asked is not the answer to the next request.
func TestUnsolicited(t *testing.T) {
	s := serve(t, answers(right+ok+"Content-Length: 6\r\n\r\nforged"))
	c := newClient(t, Config{})
	for range 3 {
		wantRight(t, c, Request{Host: s.host})
	}
	if n := s.conns.Load(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
	for name, more := range map[string]string{
		"a forged answer": ok + "Content-Length: 6\r\n\r\nforged",
		"408":             "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"a byte":          "\n",
		"its end":         "",
	} {
		// It comes when the connection idles already.
		now, said := make(chan bool), make(chan bool)
		s := serve(t, func(nc net.Conn) {
			for r := bufio.NewReader(nc); asked(r); {
				io.WriteString(nc, right)
				<-now
				io.WriteString(nc, more)
				if more == "" {
					nc.Close()
				}
				said <- true
			}
		})
		wantRight(t, c, Request{Host: s.host})
		now <- true
		<-said
		wantRight(t, c, Request{Host: s.host})
		if n := s.conns.Load(); n != 2 {
			t.Errorf("%s: %d connections, want 2", name, n)
		}
		now <- true
		<-said
	}
}

// A server that closes an idle connection while the next request is on its way is asked on another
// one; but not where it had begun to answer, or nothing says that it has closed.
func TestClosedWhileAsked(t *testing.T) {
	for _, test := range []struct {
		partly string
		want   error
		conns  int64
	}{{"", nil, 2}, {"HTTP/1", nil, 2}, {"garbage\r\n", nil, 2}, {ok + "X: ", io.ErrUnexpectedEOF, 1}} {
		var n atomic.Int64
		s := serve(t, func(nc net.Conn) {
			r := bufio.NewReader(nc)
			first := n.Add(1) == 1
			for i := 0; asked(r); i++ {
				if i == 1 && first {
					io.WriteString(nc, test.partly)
					return
				}
				io.WriteString(nc, right)
			}
		})
		c := newClient(t, Config{})
		wantRight(t, c, Request{Host: s.host})
		if _, err := get(c, Request{Host: s.host}); !errors.Is(err, test.want) || s.conns.Load() != test.conns {
			t.Errorf("after %q: %v, %d connections, want %v and %d", test.partly, err, s.conns.Load(), test.want, test.conns)
		}
	}
	// On a new connection nothing is tried again.
	s := serve(t, func(nc net.Conn) { asked(bufio.NewReader(nc)) })
	if _, err := get(newClient(t, Config{}), Request{Host: s.host}); err != io.ErrUnexpectedEOF || s.conns.Load() != 1 {
		t.Errorf("%v after %d connections", err, s.conns.Load())
	}
}

func TestLimits(t *testing.T) {
	stop := make(chan bool)
	defer close(stop)
	s := serve(t, func(nc net.Conn) {
		asked(bufio.NewReader(nc))
		io.WriteString(nc, ok+"\r\nfirst")
		<-stop
	})
	mute := serve(t, func(net.Conn) { <-stop })
	c := newClient(t, Config{})
	body, err := get(c, Request{Host: s.host, HeaderWait: 20 * time.Second, End: time.Now().Add(200 * time.Millisecond)})
	if body != "first" || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("until End: %q, %v", body, err)
	}
	for _, r := range []Request{{Host: mute.host, HeaderWait: 20 * time.Millisecond}, {Host: mute.host, End: time.Now().Add(20 * time.Millisecond)}} {
		if _, err := get(c, r); !timedOut(err) {
			t.Errorf("no answer: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = c.Do(ctx, &Request{Host: mute.host, Connected: func(net.Addr) error {
		cancel()
		return nil
	}})
	if err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	a, err := c.Do(ctx, &Request{Host: s.host})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := a.Read(make([]byte, 5)); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	cancel()
	if n, err := a.Read(make([]byte, 5)); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("a body after the end of ctx: %d bytes, %v", n, err)
	}
	a.Close()
	if c.idle.n != 0 {
		t.Errorf("%d connections kept", c.idle.n)
	}
}

// A request says what it was given, and nothing that could be taken for another line.
func TestRequest(t *testing.T) {
	for _, test := range []struct {
		r    Request
		want string // "": an error
	}{
		{Request{Host: "h.test", Target: "/a?b=c%20d"}, "GET /a?b=c%20d HTTP/1.1\r\nHost: h.test\r\n\r\n"},
		{Request{Host: "h.test:8080"}, "GET / HTTP/1.1\r\nHost: h.test:8080\r\n\r\n"},
		{Request{Host: "h.test:"}, "GET / HTTP/1.1\r\nHost: h.test\r\n\r\n"},
		{Request{Host: "h.test", Target: "/a b\r\nX: y\x00\x7fé"}, "GET /a%20b%0D%0AX:%20y%00%7F%C3%A9 HTTP/1.1\r\nHost: h.test\r\n\r\n"},
		{Request{Host: "h.test", Fields: fields("A", "b", "C", "")}, "GET / HTTP/1.1\r\nHost: h.test\r\nA: b\r\nC: \r\n\r\n"},
		{Request{Host: "h.test\r\nX: y"}, ""},
		{Request{Host: "h.test", Fields: fields("A", "b\r\nC: d")}, ""},
		{Request{Host: "h.test", Fields: fields("A", "b\x00")}, ""},
		{Request{Host: "h.test", Fields: fields("A: b\r\nC", "d")}, ""},
		{Request{Host: "h.test", Fields: fields("", "d")}, ""},
	} {
		b, err := test.r.append(nil)
		if (err == nil) != (test.want != "") || err == nil && string(b) != test.want {
			t.Errorf("%+v: %q, %v, want %q", test.r, b, err, test.want)
		}
		if err != nil {
			continue
		}
		s := &tape{said: []byte(right)}
		c := newClient(t, Config{Dial: func(context.Context, string, string) (net.Conn, error) { return s, nil }})
		a, err := c.Do(t.Context(), &test.r)
		if err != nil || string(a.Sent) != test.want || s.heard.String() != test.want {
			t.Errorf("%+v: sent %q, %v", test.r, s.heard.String(), err)
		}
		a.Close()
	}
	for r, want := range map[string]origin{
		"http h.test": {false, "h.test:80"}, "https h.test": {true, "h.test:443"}, "https h.test:": {true, "h.test:443"},
		"http h.test:81": {false, "h.test:81"}, "https [::1]": {true, "[::1]:443"}, "http [::1]:81": {false, "[::1]:81"},
	} {
		scheme, host, _ := strings.Cut(r, " ")
		if got := originOf(&Request{TLS: scheme == "https", Host: host}); got != want {
			t.Errorf("%s: %+v, want %+v", r, got, want)
		}
	}
}

func fields(kv ...string) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for i := 0; i < len(kv) && yield(kv[i], kv[i+1]); i += 2 {
		}
	}
}

// What cannot be sent connects nowhere twice.
func TestBadRequest(t *testing.T) {
	s := serve(t, answers(right))
	c := newClient(t, Config{})
	wantRight(t, c, Request{Host: s.host})
	if _, err := get(c, Request{Host: s.host, Fields: fields("A", "\n")}); err == nil || s.conns.Load() != 1 {
		t.Errorf("%v after %d connections", err, s.conns.Load())
	}
}

// The connection that idles longest makes room for another one.
func TestLeastRecentlyUsed(t *testing.T) {
	var s [4]*server
	for i := range s {
		s[i] = serve(t, answers(right))
	}
	c := newClient(t, Config{})
	c.idle.memory = 3 * plainSize
	ask := func(i int) { wantRight(t, c, Request{Host: s[i].host}) }
	conns := func() (n [4]int64) {
		for i := range s {
			n[i] = s[i].conns.Load()
		}
		return n
	}
	for _, i := range []int{0, 1, 2, 0, 3} { // 1 is out
		ask(i)
	}
	if c.idle.n != 3 || c.idle.taken != 3*plainSize || len(c.idle.conns) != 3 {
		t.Errorf("%d idle, %d bytes, %d hosts", c.idle.n, c.idle.taken, len(c.idle.conns))
	}
	for _, i := range []int{0, 2, 3} {
		ask(i)
	}
	if got, want := conns(), [4]int64{1, 1, 1, 1}; got != want {
		t.Errorf("connections %v, want %v", got, want)
	}
	ask(1) // in the place of 0
	ask(2)
	ask(3)
	ask(0)
	if got, want := conns(), [4]int64{2, 2, 1, 1}; got != want {
		t.Errorf("connections %v, want %v", got, want)
	}
	c.idle.most = 1
	ask(2)
	if c.idle.n != 1 || c.idle.newest.key.addr != s[2].host {
		t.Errorf("%d idle, the newest to %s", c.idle.n, c.idle.newest.key.addr)
	}
}

// To one host no more connections are kept than PerHost.
func TestPerHost(t *testing.T) {
	s := serve(t, answers(right))
	c := newClient(t, Config{PerHost: 2})
	var as [4]*Answer
	for i := range as {
		var err error
		if as[i], err = c.Do(t.Context(), &Request{Host: s.host}); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range as {
		if _, err := io.ReadAll(a); err != nil {
			t.Fatal(err)
		}
		a.Close()
	}
	if c.idle.n != 2 || s.conns.Load() != 4 {
		t.Errorf("%d idle of %d, want 2 of 4", c.idle.n, s.conns.Load())
	}
}

func TestIdleConnectionsExpire(t *testing.T) {
	s := serve(t, answers(right))
	next := make(chan bool)
	closing := serve(t, func(nc net.Conn) {
		asked(bufio.NewReader(nc))
		io.WriteString(nc, right)
		<-next
		nc.Close()
		next <- true
	})
	c := newClient(t, Config{})
	wantRight(t, c, Request{Host: s.host})
	wantRight(t, c, Request{Host: closing.host})
	if c.idle.expire(); c.idle.n != 2 {
		t.Fatalf("%d idle, want 2: they are fresh", c.idle.n)
	}
	next <- true
	<-next
	if c.idle.expire(); c.idle.n != 1 || c.idle.newest.key.addr != s.host {
		t.Fatalf("%d idle, want 1: the other server has closed", c.idle.n)
	}
	cn := c.idle.newest
	cn.since = cn.since.Add(-idleFor)
	if c.idle.expire(); c.idle.n != 0 || len(c.idle.conns) != 0 || c.idle.sweep != nil {
		t.Errorf("%d idle after %v", c.idle.n, idleFor)
	}
	wantRight(t, c, Request{Host: s.host})
	cn = c.idle.newest
	cn.since = cn.since.Add(-idleFor)
	wantRight(t, c, Request{Host: s.host})
	if n := s.conns.Load(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
}
