package http1

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// certificate makes one for 127.0.0.1 that signs itself.
var certificate = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
})

// secureConfigs are those of servers by both versions of TLS.
func secureConfigs() map[string]*tls.Config {
	cert, _ := certificate()
	return map[string]*tls.Config{
		"TLS 1.2": {Certificates: []tls.Certificate{cert}, MaxVersion: tls.VersionTLS12},
		"TLS 1.3": {Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13},
	}
}

func trusting(t testing.TB, cfg Config) *Client {
	_, cfg.Roots = certificate()
	return newClient(t, cfg)
}

// A body that lasts until the connection ends is whole only where TLS tells its end: an end of the
// connection is in the hand of everybody on the way.
func TestTruncated(t *testing.T) {
	for version, conf := range secureConfigs() {
		for _, test := range []struct {
			said   string
			notify bool
			body   string
			want   error
		}{
			{ok + "\r\nright", true, "right", nil},
			{ok + "\r\nright", false, "right", io.ErrUnexpectedEOF},
			{"HTTP/1.0 200 OK\r\n\r\nright", false, "right", io.ErrUnexpectedEOF},
			{right, false, "right", nil},
			{ok + "Content-Length: 6\r\n\r\nright", true, "right", io.ErrUnexpectedEOF},
			{ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nright\r\n", true, "right", io.ErrUnexpectedEOF},
			{ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nright\r\n0\r\n\r\n", false, "right", nil},
			{ok + "X: y\r\n", false, "", io.ErrUnexpectedEOF},
			{"", true, "", io.ErrUnexpectedEOF},
		} {
			s := serve(t, func(nc net.Conn) {
				tc := tls.Server(nc, conf)
				asked(bufio.NewReader(tc))
				io.WriteString(tc, test.said)
				if test.notify {
					tc.CloseWrite()
				}
			})
			body, err := get(trusting(t, Config{}), Request{TLS: true, Host: s.host})
			if body != test.body || err != test.want {
				t.Errorf("%s: %q, told %t: %q, %v, want %q, %v", version, test.said, test.notify, body, err, test.body, test.want)
			}
		}
	}
}

// A batch sends what was written when it is flushed, in one piece.
type batch struct {
	net.Conn
	hold atomic.Bool
	mu   sync.Mutex
	b    bytes.Buffer
}

func (b *batch) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Write(p)
	if b.hold.Load() {
		return len(p), nil
	}
	_, err := b.b.WriteTo(b.Conn)
	return len(p), err
}

// What came in records that were read together with those of an answer is not taken for the next one.
func TestUnsolicitedTLS(t *testing.T) {
	forged := ok + "Content-Length: 6\r\n\r\nforged"
	for version, conf := range secureConfigs() {
		for name, say := range map[string]func(tc *tls.Conn){
			"in one record":  func(tc *tls.Conn) { io.WriteString(tc, right+forged) },
			"in two records": func(tc *tls.Conn) { io.WriteString(tc, right); io.WriteString(tc, forged) },
			"an end behind":  func(tc *tls.Conn) { io.WriteString(tc, right); tc.CloseWrite() },
		} {
			s := serve(t, func(nc net.Conn) {
				b := &batch{Conn: nc}
				tc := tls.Server(b, conf)
				for r := bufio.NewReader(tc); asked(r); {
					b.hold.Store(true)
					say(tc)
					b.hold.Store(false)
					b.SetWriteDeadline(time.Time{}) // package tls ends writing with a deadline
					b.Write(nil)
				}
			})
			c := trusting(t, Config{})
			for range 3 {
				wantRight(t, c, Request{TLS: true, Host: s.host})
			}
			if n := s.conns.Load(); n != 3 {
				t.Errorf("%s, %s: %d connections, want 3", version, name, n)
			}
		}
		s := serve(t, func(nc net.Conn) { answers(right)(tls.Server(nc, conf)) })
		c := trusting(t, Config{})
		for range 3 {
			wantRight(t, c, Request{TLS: true, Host: s.host})
		}
		if n := s.conns.Load(); n != 1 {
			t.Errorf("%s, nothing behind: %d connections, want 1", version, n)
		}
		if c.idle.taken != tlsSize {
			t.Errorf("an idle connection counts for %d bytes, want %d", c.idle.taken, tlsSize)
		}
	}
}

// A session is resumed, by connections one after another, and only where it began.
func TestSessions(t *testing.T) {
	for version, conf := range secureConfigs() {
		var resumed atomic.Int64
		handle := func(nc net.Conn) {
			tc := tls.Server(nc, conf)
			defer tc.Close()
			if asked(bufio.NewReader(tc)) {
				if tc.ConnectionState().DidResume {
					resumed.Add(1)
				}
				io.WriteString(tc, ok+"Connection: close\r\nContent-Length: 5\r\n\r\nright")
			}
		}
		s, other := serve(t, handle), serve(t, handle)
		c := trusting(t, Config{})
		for range 4 {
			wantRight(t, c, Request{TLS: true, Host: s.host})
		}
		if n := resumed.Load(); n != 3 {
			t.Errorf("%s: %d sessions of 4 connections resumed, want 3", version, n)
		}
		wantRight(t, c, Request{TLS: true, Host: other.host})
		if n := resumed.Load(); n != 3 {
			t.Errorf("%s: the session of another port was resumed", version)
		}
	}
}

// A server that chooses another protocol gets the connection for it.
func TestOtherProtocol(t *testing.T) {
	cert, _ := certificate()
	conf := &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}
	s := serve(t, func(nc net.Conn) {
		tc := tls.Server(nc, conf)
		if tc.Handshake() == nil && tc.ConnectionState().NegotiatedProtocol == "h2" {
			io.Copy(tc, tc)
			return
		}
		answers(right)(tc)
	})
	c := trusting(t, Config{})
	_, err := get(c, Request{TLS: true, Host: s.host})
	var other *OtherProtocol
	if !errors.As(err, &other) || other.Protocol != "h2" {
		t.Fatalf("%v, want the connection", err)
	}
	defer other.Conn.Close()
	if _, err := io.WriteString(other.Conn, "echo"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if _, err := io.ReadFull(other.Conn, b); err != nil || string(b) != "echo" {
		t.Errorf("the connection says %q, %v", b, err)
	}
	wantRight(t, c, Request{TLS: true, Host: s.host, HTTP1Only: true})
	wantRight(t, c, Request{TLS: true, Host: s.host}) // the same connection
	if n := s.conns.Load(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

func TestHandshakeFails(t *testing.T) {
	cert, _ := certificate()
	conf := &tls.Config{Certificates: []tls.Certificate{cert}}
	stop := make(chan bool)
	defer close(stop)
	secure := func(nc net.Conn) { answers(right)(tls.Server(nc, conf)) }
	for name, test := range map[string]struct {
		handle func(net.Conn)
		roots  bool
		is     error // that the cause is; nil: any but these
	}{
		"silence":       {func(net.Conn) { <-stop }, true, os.ErrDeadlineExceeded},
		"end":           {func(nc net.Conn) { nc.Read(make([]byte, 4<<10)) }, true, io.EOF},
		"plain http":    {func(nc net.Conn) { io.WriteString(nc, right); nc.Read(make([]byte, 4<<10)) }, true, nil},
		"not trusted":   {secure, false, nil},
		"trusted":       {secure, true, nil},
		"end in a half": {func(nc net.Conn) { nc.Read(make([]byte, 4<<10)); io.WriteString(nc, "\x16\x03\x03\x00\x50half") }, true, io.ErrUnexpectedEOF},
	} {
		s := serve(t, test.handle)
		cfg := Config{HandshakeWait: 100 * time.Millisecond, Roots: x509.NewCertPool()}
		if name != "silence" {
			cfg.HandshakeWait = time.Minute
		}
		if test.roots {
			_, cfg.Roots = certificate()
		}
		_, err := get(newClient(t, cfg), Request{TLS: true, Host: s.host})
		var failed *HandshakeError
		if name == "trusted" {
			if err != nil {
				t.Errorf("trusted: %v", err)
			}
			continue
		}
		if !errors.As(err, &failed) || test.is != nil && !errors.Is(err, test.is) ||
			test.is == nil && (errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded)) {
			t.Errorf("%s: %v, want %v", name, err, test.is)
		}
		if n := s.conns.Load(); n != 1 {
			t.Errorf("%s: %d connections", name, n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(nc net.Conn) { cancel(); <-stop })
	if _, err := trusting(t, Config{}).Do(ctx, &Request{TLS: true, Host: s.host}); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	s = serve(t, func(nc net.Conn) { <-stop })
	_, err := get(trusting(t, Config{}), Request{TLS: true, Host: s.host, End: time.Now().Add(100 * time.Millisecond)})
	if !timedOut(err) {
		t.Errorf("until End: %v", err)
	}
	if c := trusting(t, Config{}); c.tls.Renegotiation != tls.RenegotiateNever || c.tls.InsecureSkipVerify {
		t.Error("servers may negotiate anew, or need no certificate")
	}
}
