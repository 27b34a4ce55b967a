// Package http1 sends requests by HTTP/1.1, with TLS or without, and reads answers that may come
// from anybody.
//
// A Client makes connections and keeps those that can be used again. Client.Do sends one GET and
// returns an Answer once its header block has come: its status, its fields, and a reader of its
// body. What was sent, and the head of what came, is there as it was on the wire, see Answer.Sent and
// Answer.Head.
//
// One goroutine writes the request and reads the answer; net/http needs two more a connection.
// HTTP/2 is not spoken here: where a server chooses it, Do hands over the connection, see
// OtherProtocol. The package knows no URLs, redirects, cookies, content codings or proxies, and does not
// judge addresses: the dialer does.
//
// # What is accepted
//
// Framing is strict where answers could be confused [RFC 9112, 6 and 7]. A status line starts with
// HTTP/1 and a digit, and has three digits of status. Lines of a header block may end with LF alone,
// but hold no other CR and no NUL; names have no blanks and no control characters; a line that
// starts with a blank continues the one before. Content-Lengths are digits and agree. Transfer-Encoding
// is "chunked", once, and nothing else; it wins over Content-Length, and the connection ends with such
// an answer, as with one of HTTP/1.0 that has it, where it counts for nothing. Lines of chunks end with
// CRLF. What breaks a rule before the body is a *FormatError; in the body, the body ends with one.
// A body that lasts until the connection ends is cut (io.ErrUnexpectedEOF) where TLS does not tell its
// end. All header blocks of an answer, those of status 1xx too, are bounded together, and so is what
// chunks spend on anything but data.
//
// A connection is used again only if the answer was read to its end and nothing came after it.
package http1

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"time"
)

// Config says how a Client connects. Dial is needed; the rest may be zero.
type Config struct {
	Dial          func(ctx context.Context, network, address string) (net.Conn, error) // address is host:port
	Roots         *x509.CertPool                                                       // whom certificates must lead to; nil means the system's
	HandshakeWait time.Duration                                                        // for TLS; 0 means 10 s
	MaxHeader     int64                                                                // bytes of the header blocks of an answer; 0 means 1 MiB
	PerHost       int                                                                  // connections kept to one host; 0 means 64
}

// A Client sends requests. It is safe for use by several goroutines.
type Client struct {
	cfg      Config
	tls      *tls.Config // to be cloned
	idle     *pool
	sessions tls.ClientSessionCache
}

// New returns a client.
func New(cfg Config) *Client {
	cfg.HandshakeWait = cmp.Or(cfg.HandshakeWait, 10*time.Second)
	cfg.MaxHeader = cmp.Or(cfg.MaxHeader, 1<<20)
	cfg.PerHost = cmp.Or(cfg.PerHost, 64)
	return &Client{
		cfg:      cfg,
		tls:      &tls.Config{RootCAs: cfg.Roots, Renegotiation: tls.RenegotiateNever},
		idle:     newPool(cfg.PerHost),
		sessions: tls.NewLRUClientSessionCache(maxSessions),
	}
}

// Close closes the connections that no request uses. Requests in flight are not disturbed.
func (c *Client) Close() { c.idle.close() }

// A Request is one GET.
type Request struct {
	TLS        bool
	Host       string                    // for the Host field: host or host:port as in a URL; the port is 80, or 443 with TLS, where there is none
	Target     string                    // path and query as in a URL; bytes that a request line may not have are percent-encoded
	Fields     iter.Seq2[string, string] // names and values, Host apart; nil means none
	HeaderWait time.Duration             // from sending to the end of the header block; 0: until End
	End        time.Time                 // of everything, the body included
	HTTP1Only  bool                      // offers no other protocol
	Connected  func(net.Addr) error      // if set, called with the other end of each connection just before the request is sent on it; its error ends the request, of which nothing is sent
}

// An Answer is read by one goroutine, and ends with Close.
type Answer struct {
	Status int
	Head   string   // status line and header block as they came, with the empty line; of the final answer, not of 1xx
	Fields string   // the fields of Head, each "Name: value\r\n": continued lines are joined, and all end alike
	Wire   int64    // bytes of all header blocks, those of status 1xx included
	Sent   []byte   // the request as it was sent; good until Close
	Addr   net.Addr // the other end
	cn     *conn
}

// Read reads the body, without chunks. At its end the error is io.EOF, and io.ErrUnexpectedEOF if the
// connection ended before the body did.
func (a *Answer) Read(p []byte) (int, error) { return a.cn.body.Read(p) }

// Close gives the connection back for the next request, if that may use it, or closes it.
func (a *Answer) Close() {
	cn := a.cn
	undisturbed := cn.stop()
	if undisturbed && cn.reusable() {
		cn.client.idle.put(cn, time.Now())
	} else {
		cn.close()
	}
}

// A FormatError is an answer that is none by HTTP/1, or could be taken for another one.
type FormatError struct{ Reason string }

func (e *FormatError) Error() string { return "malformed answer: " + e.Reason }

func malformed(format string, args ...any) error {
	return &FormatError{fmt.Sprintf(format, args...)}
}

// A HeaderSizeError is an answer with header blocks over so many bytes.
type HeaderSizeError int64

func (e HeaderSizeError) Error() string {
	return fmt.Sprintf("the header block is over %d bytes", int64(e))
}

// A HandshakeError is a connection that TLS did not come about on.
type HandshakeError struct{ Err error }

func (e *HandshakeError) Error() string { return "TLS handshake: " + e.Err.Error() }
func (e *HandshakeError) Unwrap() error { return e.Err }

// An OtherProtocol is returned where the server has chosen not to speak HTTP/1. Nothing was sent.
// The connection is the caller's.
type OtherProtocol struct {
	Protocol string // as in ALPN: h2
	Conn     *tls.Conn
}

func (e *OtherProtocol) Error() string { return "the server speaks " + e.Protocol }

// Do sends r and reads the header block of the answer, which the caller closes. It connects if no
// connection is there to be used again, and tries the next one where the server had closed that
// meanwhile. Errors are those of this package, of the dialer, of Connected, of connections (deadlines are
// os.ErrDeadlineExceeded), or ctx's.
func (c *Client) Do(ctx context.Context, r *Request) (*Answer, error) {
	key := originOf(r)
	for {
		now := time.Now()
		wait := r.End
		if r.HeaderWait > 0 && (wait.IsZero() || now.Add(r.HeaderWait).Before(wait)) {
			wait = now.Add(r.HeaderWait)
		}
		cn := c.idle.get(key, now, wait)
		reused := cn != nil
		if !reused {
			var err error
			if cn, err = c.connect(ctx, key, r); err != nil {
				return nil, cmp.Or(ctx.Err(), err)
			}
			if r.HeaderWait > 0 { // it begins when there is a connection
				if wait = time.Now().Add(r.HeaderWait); !r.End.IsZero() && wait.After(r.End) {
					wait = r.End
				}
			}
			if err := cn.SetDeadline(wait); err != nil {
				cn.close()
				return nil, err
			}
		}
		cn.begin()
		var err error
		if cn.sent, err = r.append(cn.sent[:0]); err != nil {
			cn.close()
			return nil, err
		}
		if r.Connected != nil {
			if err := r.Connected(cn.answer.Addr); err != nil {
				cn.abort() // which says nothing, not by TLS either
				cn.end()
				return nil, err
			}
		}
		cn.stop = func() bool { return true }
		if ctx.Done() != nil {
			cn.stop = context.AfterFunc(ctx, cn.abort)
		}
		err = cn.exchange(r, c.cfg.MaxHeader, wait)
		if err == nil {
			return &cn.answer, nil
		}
		cn.stop()
		cn.close()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if reused && !cn.answered && !timedOut(err) {
			continue // the server had closed it meanwhile, or left something on it
		}
		return nil, err
	}
}

// connect makes a connection for r.
func (c *Client) connect(ctx context.Context, key origin, r *Request) (*conn, error) {
	if !r.End.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, r.End)
		defer cancel()
	}
	if !key.tls {
		nc, err := c.cfg.Dial(ctx, "tcp", key.addr)
		if err != nil {
			return nil, err
		}
		return newConn(c, key, nc), nil
	}
	protocols := []string{"h2", "http/1.1"}
	if r.HTTP1Only {
		protocols = protocols[1:]
	}
	tc, w, err := c.dialTLS(ctx, key.addr, protocols)
	if err != nil {
		return nil, err
	}
	if p := tc.ConnectionState().NegotiatedProtocol; p != "" && p != "http/1.1" {
		return nil, &OtherProtocol{p, tc}
	}
	cn := newConn(c, key, w.Conn)
	cn.Conn, cn.wire = tc, w
	return cn, nil
}

// DialTLS connects to address, host:port, and offers protocols by ALPN. The server's certificate must
// be one for the host. A session that is known is resumed. ctx may end the connection until it is
// returned. An error of TLS is a *HandshakeError.
func (c *Client) DialTLS(ctx context.Context, address string, protocols ...string) (*tls.Conn, error) {
	tc, _, err := c.dialTLS(ctx, address, protocols)
	return tc, err
}

func (c *Client) dialTLS(ctx context.Context, address string, protocols []string) (*tls.Conn, *wire, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, err
	}
	nc, err := c.cfg.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	cfg := c.tls.Clone()
	cfg.ServerName, cfg.NextProtos = host, protocols
	cfg.ClientSessionCache = sessionsAt{c.sessions, address}
	w := &wire{Conn: nc}
	tc := tls.Client(w, cfg)
	end := time.Now().Add(c.cfg.HandshakeWait)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	err = nc.SetDeadline(end)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { nc.Close() })
		err = tc.Handshake()
		if !stop() && err == nil {
			err = ctx.Err()
		}
	}
	if err == nil {
		err = nc.SetDeadline(time.Time{})
	}
	if err != nil {
		nc.Close()
		switch ctx.Err() {
		case nil:
		case context.Canceled:
			return nil, nil, context.Canceled
		default: // the connection was closed for that
			err = ctx.Err()
		}
		return nil, nil, &HandshakeError{err}
	}
	return tc, w, nil
}

// maxSessions bounds the sessions of TLS that are kept to be resumed: 4 kB each with one small certificate,
// as measured, and more with a chain of them.
const maxSessions = 2048

// sessionsAt are the sessions with one address: package tls would take those with one name for the
// same, whatever the port.
type sessionsAt struct {
	all     tls.ClientSessionCache
	address string
}

func (s sessionsAt) Get(string) (*tls.ClientSessionState, bool)  { return s.all.Get(s.address) }
func (s sessionsAt) Put(_ string, state *tls.ClientSessionState) { s.all.Put(s.address, state) }

func timedOut(err error) bool {
	var ne net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &ne) && ne.Timeout()
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
