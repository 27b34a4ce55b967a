package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"time"
)

// byNetHTTP fills o by net/http: through a proxy, or over HTTP/2. A conn, where there is one, was made
// for this request and speaks HTTP/2.
func (c *Client) byNetHTTP(ctx context.Context, u *url.URL, r *Request, o *Outcome, start time.Time, conn *tls.Conn) {
	tctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout-time.Since(start))
	defer cancel()
	sctx := tctx
	if conn != nil {
		h := &handover{conn: conn}
		sctx = context.WithValue(tctx, handoverKey{}, h)
		defer func() {
			if conn := h.take(); conn != nil {
				conn.Close() // there was another one meanwhile
			}
		}()
	}
	first := c.shared
	if r.Exchange.http1() { // by a proxy
		first = c.unshared
	}
	resp, err := c.send(sctx, first, u, r, o)
	if errors.Is(err, errHTTP1) { // asked as any other, on a connection of its own
		c.speakH2.remove(u.Host)
		c.direct(ctx, u, r, o, start, false)
		return
	}
	if err == nil && resp.StatusCode == http.StatusMisdirectedRequest && resp.ProtoMajor == 2 {
		// A connection shared by several hosts went to the wrong one: ask on one of its own.
		resp.Body.Close()
		if c.cfg.Proxy == nil {
			c.direct(ctx, u, r, o, start, true)
			return
		}
		resp, err = c.send(tctx, c.unshared, u, r, o)
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
	body := r.Exchange.rebuilt(c, u, r, resp, o.Header)
	c.classify(tctx, r, o, body, start.Add(c.cfg.Timeout))
	r.Exchange.rest(o, body, c.cfg.MaxBody)
}

// maxConns bounds the connections that one request may be tried on: net/http alone tries again
// as long as a server goes away politely (1,600 times in two seconds on loopback).
const maxConns = 4

func (c *Client) send(ctx context.Context, t *http.Transport, u *url.URL, r *Request, o *Outcome) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx) // ends with ctx, which outlives the body
	tries := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		permissionOf(ctx).uses(i.Conn)
		if tries++; tries > maxConns {
			cancel(&failure{Broken, "the server ends each connection before it answers"})
		}
		if c.cfg.Proxy == nil {
			o.Addr = addrOf(i.Conn.RemoteAddr())
		}
	}})
	if u.Opaque != "" && t.Proxy != nil && u.Scheme == "http" {
		// A proxy is told all of the URL.
		whole := *u
		whole.Opaque = "//" + u.Host + u.Opaque
		u = &whole
	}
	h := make(http.Header, 8)
	for name, value := range c.fields(u, r) {
		h[http.CanonicalHeaderKey(name)] = append(h[name], value)
	}
	req := (&http.Request{Method: "GET", URL: u, Host: u.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	resp, err := t.RoundTrip(req)
	if f, ok := context.Cause(ctx).(*failure); err != nil && ok {
		err = f
	}
	return resp, err
}

func addrOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		ap := t.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return netip.AddrPort{}
}
