package fetch

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
)

// A NotPermittedError is returned by Fetch and Robots where Config.Permit did not let a host be asked. It wraps what
// that returned. Of the request nothing was sent, or its answer did not come to its end.
type NotPermittedError struct {
	Host string // as in the URL
	Err  error
}

func (e *NotPermittedError) Error() string { return e.Host + ": " + e.Err.Error() }
func (e *NotPermittedError) Unwrap() error { return e.Err }

// Permitted asks Config.Permit whether host may be asked now, host or host:port as in URLs. The error is a *NotPermittedError.
func (c *Client) Permitted(host string) error {
	if c.cfg.Permit == nil {
		return nil
	}
	if err := c.cfg.Permit(host); err != nil {
		return &NotPermittedError{host, err}
	}
	return nil
}

// A permission is that of one request. It goes with the request's ctx to where connections are made. nil: all is permitted.
type permission struct {
	client *Client
	host   string

	mu      sync.Mutex
	refused error // the last one; nil: none
	gate    *gate // of the connection that net/http uses; nil: none yet
}

type permissionKey struct{}

// permission returns that of a request to a host, and the ctx with which it is made.
func (c *Client) permission(ctx context.Context, host string) (*permission, context.Context) {
	if c.cfg.Permit == nil {
		return nil, ctx
	}
	p := &permission{client: c, host: host}
	return p, context.WithValue(ctx, permissionKey{}, p)
}

func permissionOf(ctx context.Context) *permission {
	p, _ := ctx.Value(permissionKey{}).(*permission)
	return p
}

// ask asks whether the host may be contacted now.
func (p *permission) ask() error {
	if p == nil {
		return nil
	}
	err := p.client.Permitted(p.host)
	if err != nil {
		p.mu.Lock()
		p.refused = err
		p.mu.Unlock()
	}
	return err
}

// refusal is why the request did not come to its end, as far as permission goes; nil: it had that.
func (p *permission) refusal() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil && p.gate != nil {
		return p.gate.refusal()
	}
	return p.refused
}

// uses notes which connection the request is sent on by net/http.
func (p *permission) uses(c net.Conn) {
	if p == nil {
		return
	}
	for {
		switch in := c.(type) {
		case interface{ NetConn() net.Conn }: // TLS, and what http1 has below it
			c = in.NetConn()
			continue
		case *gate:
			p.mu.Lock()
			p.gate = in
			p.mu.Unlock()
			in.mu.Lock()
			in.p = p
			in.mu.Unlock()
		}
		return
	}
}

// guarded has the permission asked before anything is written to a connection that was made for it.
func (p *permission) guarded(c net.Conn, err error) (net.Conn, error) {
	if p == nil || err != nil {
		return c, err
	}
	return &gate{Conn: c, p: p}, nil
}

// A gate asks before each write, and ends the connection where that is not permitted. net/http writes a request
// some time after it has chosen the connection, as where an HTTP/2 server takes so many at a time; so nobody but the
// connection can ask just before that. Requests under way on it end with the same error.
type gate struct {
	net.Conn

	mu      sync.Mutex
	p       *permission // of the request that came to use the connection last: a proxy's may serve several hosts
	refused error
}

func (g *gate) Write(b []byte) (int, error) {
	g.mu.Lock()
	if g.refused == nil {
		g.refused = g.p.ask()
	}
	err := g.refused
	g.mu.Unlock()
	if err != nil {
		g.Conn.Close()
		return 0, err
	}
	return g.Conn.Write(b)
}

func (g *gate) refusal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}

// SyscallConn is that of the connection, by which idle ones are looked at.
func (g *gate) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := g.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
