package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// roundTrip fills o by net/http.
func (c *Client) roundTrip(ctx context.Context, u *url.URL, r *Request, o *Outcome, start time.Time) {
	resp, err := c.send(ctx, c.h2, u, r, o)
	if err == nil && resp.StatusCode == http.StatusMisdirectedRequest {
		// A connection shared by several hosts went to the wrong one: ask on one of its own.
		resp.Body.Close()
		resp, err = c.send(ctx, c.h1, u, r, o)
	}
	o.Took = time.Since(start)
	if err != nil {
		c.fail(o, err)
		return
	}
	defer resp.Body.Close()
	o.Status = resp.StatusCode
	o.Header = headerOf(resp.Header)
	o.Wire = int64(len(o.Header))
	c.judge(u, r, o, resp.Body)
}

func (c *Client) send(ctx context.Context, t *http.Transport, u *url.URL, r *Request, o *Outcome) (*http.Response, error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if c.cfg.Proxy == nil {
			o.Addr = addrOf(i.Conn.RemoteAddr())
		}
	}})
	h := make(http.Header, 8)
	c.eachField(u, r, func(name, value string) { h[http.CanonicalHeaderKey(name)] = append(h[name], value) })
	req := (&http.Request{Method: "GET", URL: u, Host: u.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	return t.RoundTrip(req)
}

// eachField calls f for each header field of a request, Host apart.
func (c *Client) eachField(u *url.URL, r *Request, f func(name, value string)) {
	f("User-Agent", c.cfg.UserAgent)
	f("Accept", accept)
	f("Accept-Encoding", acceptEncoding)
	if r.ETag != "" && validField("E", r.ETag) {
		f("If-None-Match", r.ETag)
	}
	if r.LastModified != "" && validField("L", r.LastModified) {
		f("If-Modified-Since", r.LastModified)
	}
	for i := range c.cfg.Fields {
		if s := &c.cfg.Fields[i]; s.Host == u.Host {
			f(s.Name, s.Value)
		}
	}
	if v := c.cfg.Cookies.header(u); v != "" {
		f("Cookie", v)
	}
}

func addrOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		ap := t.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return netip.AddrPort{}
}

// fail sets the class and reason of a request that got no answer.
func (c *Client) fail(o *Outcome, err error) {
	o.Class, o.Reason = classify(err), err.Error()
	var g *guardError
	if errors.As(err, &g) {
		o.Reason = g.reason
	}
	if p := c.cfg.Proxy; p != nil && p.User != nil { // never tell the proxy's secret
		if pw, ok := p.User.Password(); ok && pw != "" {
			o.Reason = strings.ReplaceAll(o.Reason, pw, "xxxxx")
		}
	}
}

// classify maps the errors of a connection to classes.
func classify(err error) Class {
	var (
		g    *guardError
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
		rec  tls.RecordHeaderError
		al   tls.AlertError
		hn   x509.HostnameError
		ua   x509.UnknownAuthorityError
		ne   net.Error
		text = err.Error()
	)
	switch {
	case errors.As(err, &g):
		return g.class
	case errors.As(err, &dns):
		return DNS
	case errors.As(err, &cert), errors.As(err, &rec), errors.As(err, &al), errors.As(err, &hn), errors.As(err, &ua),
		strings.Contains(text, "tls: "), strings.Contains(text, "TLS handshake"), strings.Contains(text, "x509: "):
		return TLS
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Refused
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		return Timeout
	case strings.Contains(text, "server response headers exceeded"), strings.Contains(text, "header list"):
		return TooLarge
	case errors.Is(err, bufio.ErrTooLong), strings.Contains(text, "malformed"), strings.Contains(text, "invalid"),
		strings.Contains(text, "bad Content-Length"), strings.Contains(text, "transfer encoding"), strings.Contains(text, "multiple"):
		return Malformed
	}
	return Broken
}

var _ io.Reader = (*meter)(nil)

// A meter counts the bytes that pass and remembers how the stream ended.
type meter struct {
	r   io.Reader
	n   int64
	err error // io.EOF, or what broke
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	if err != nil {
		m.err = err
	}
	return n, err
}
