package fetch

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// A bandwidth is how much all connections of a Client may receive together. Bytes are counted as they come, those of
// TLS and of headers too, and whoever has read waits until they were due: then the system takes no more in, and
// the server sends slower. What is not used in a second is lost.
type bandwidth struct {
	perSecond int64

	mu  sync.Mutex
	due time.Time // when all that was received is due
}

// take returns how long to wait after n bytes have been received.
func (b *bandwidth) take(n int, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if idle := now.Add(-time.Second); b.due.Before(idle) {
		b.due = idle
	}
	b.due = b.due.Add(time.Duration(float64(n) / float64(b.perSecond) * float64(time.Second)))
	return b.due.Sub(now)
}

// most is how much is read at once, so that connections take turns: what comes in a fiftieth of a second.
func (b *bandwidth) most() int { return int(min(max(b.perSecond/50, 512), 64<<10)) }

// limit has a connection keep to b; nil: it is returned as it is.
func (b *bandwidth) limit(c net.Conn, err error) (net.Conn, error) {
	if b == nil || err != nil {
		return c, err
	}
	return &limitedConn{Conn: c, b: b, closed: make(chan struct{})}, nil
}

// A limitedConn waits in Read, until Close at most.
type limitedConn struct {
	net.Conn
	b      *bandwidth
	once   sync.Once
	closed chan struct{}
}

func (c *limitedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), c.b.most())])
	if wait := c.b.take(n, time.Now()); n > 0 && wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.closed:
		}
	}
	return n, err
}

func (c *limitedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// SyscallConn is that of the connection, by which idle ones are looked at.
func (c *limitedConn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
