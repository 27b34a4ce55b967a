package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"sync"
	"time"

	"forage/fetch/http1"
)

// direct fills o without a proxy: over HTTP/1.1 by a client of our own, and where the server chooses
// HTTP/2, by net/http on the connection on which it did.
func (c *Client) direct(ctx context.Context, u *url.URL, r *Request, o *Outcome, start time.Time, http1Only bool) {
	end := start.Add(c.cfg.Timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	secure, http1Only := u.Scheme == "https", http1Only || r.Exchange.http1()
	to, err := asciiHost(u)
	if err != nil {
		o.Class, o.Reason = BadURL, err.Error()
		return
	}
	if secure && !http1Only && c.speakH2.has(u.Host) {
		c.byNetHTTP(ctx, u, r, o, start, nil)
		return
	}
	a, err := c.http1.Do(ctx, &http1.Request{
		TLS: secure, Host: to.Host, Target: u.RequestURI(), Fields: c.fields(u, r),
		HeaderWait: c.cfg.HeaderWait, End: end, HTTP1Only: http1Only,
		Connected: func(a net.Addr) error {
			o.Addr = addrOf(a)
			return permissionOf(ctx).ask()
		},
	})
	var h2 *http1.OtherProtocol
	if errors.As(err, &h2) {
		c.speakH2.add(u.Host)
		c.byNetHTTP(ctx, u, r, o, start, h2.Conn)
		return
	}
	o.Took = time.Since(start)
	if err != nil {
		c.fail(o, err)
		return
	}
	o.Status, o.Header, o.Wire = a.Status, Header(a.Fields), a.Wire
	body := r.Exchange.answered(c, u, a.Sent, a.Head, o.Header, a)
	c.classify(ctx, r, o, body, end)
	r.Exchange.rest(o, body, c.cfg.MaxBody)
	a.Close()
}

// ownHTTP1 makes the client for connections of our own. Certificates must lead to roots, the system's
// where these are nil.
func (c *Client) ownHTTP1(roots *x509.CertPool) {
	c.http1 = http1.New(http1.Config{
		Dial: c.dial, Roots: roots, HandshakeWait: c.cfg.ConnectWait, MaxHeader: c.cfg.MaxHeader, PerHost: c.cfg.Parallel,
	})
}

// A handover is a connection that speaks HTTP/2, on its way to net/http, which asks for one when it has
// none to the host.
type handover struct {
	mu   sync.Mutex
	conn *tls.Conn
}

type handoverKey struct{}

// take returns the connection, once.
func (h *handover) take() *tls.Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	conn := h.conn
	h.conn = nil
	return conn
}

// errHTTP1 says that a server which spoke HTTP/2 before chose HTTP/1.1, which net/http is not to read.
var errHTTP1 = errors.New("the server chose HTTP/1.1")

// dialTLS makes a connection for net/http, or hands over the one that there is. It speaks HTTP/2, or the error
// is errHTTP1.
func (c *Client) dialTLS(ctx context.Context, _, address string) (net.Conn, error) {
	if h, ok := ctx.Value(handoverKey{}).(*handover); ok {
		if conn := h.take(); conn != nil {
			return conn, nil
		}
	}
	conn, err := c.http1.DialTLS(ctx, address, "h2", "http/1.1")
	if err != nil {
		return nil, err
	}
	if conn.ConnectionState().NegotiatedProtocol != "h2" {
		conn.Close()
		return nil, errHTTP1
	}
	return conn, nil
}

// A recent holds strings that were added or found lately: the last mostRecent of them at least, twice
// as many at most.
type recent struct {
	mu       sync.Mutex
	now, old map[string]struct{}
}

const mostRecent = 16 << 10

func (s *recent) add(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(host)
}

func (s *recent) keep(host string) {
	if len(s.now) >= mostRecent || s.now == nil {
		s.old, s.now = s.now, map[string]struct{}{}
	}
	s.now[host] = struct{}{}
}

func (s *recent) has(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.now[host]; ok {
		return true
	}
	_, ok := s.old[host]
	if ok {
		s.keep(host)
	}
	return ok
}

func (s *recent) remove(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, host)
	delete(s.old, host)
}
