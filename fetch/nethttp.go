package fetch

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
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

func addrOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		ap := t.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return netip.AddrPort{}
}
