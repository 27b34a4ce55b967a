// Package fetchtest is a network in memory, for tests of what fetches. Servers on it are real
// ones of net/http and clients real clients; only the connections are pipes. They wait for
// nothing outside of the process, so that in a bubble of testing/synctest the time of a whole
// crawl passes as soon as all of it waits.
//
// Network.Server starts a server, Network.Dial and Network.Lookup go into fetch.Config.
package fetchtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
)

// A Network connects clients with servers of the same process. Its methods may be called from
// several goroutines at once.
type Network struct {
	mu        sync.Mutex
	listeners map[netip.AddrPort]*listener
	names     map[string]netip.Addr
	port      uint16 // the one given out last
}

// New returns a network without servers.
func New() *Network {
	return &Network{listeners: map[netip.AddrPort]*listener{}, names: map[string]netip.Addr{}, port: 1 << 15}
}

// Loopback is the address of names that Name says nothing of.
var Loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Name gives a name an address; an invalid one makes it unknown.
func (n *Network) Name(name string, a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = a
}

// Lookup returns the address of a name, which is Loopback unless Name gave another one.
func (n *Network) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	a, err := netip.ParseAddr(host)
	if err == nil {
		return []netip.Addr{a}, nil
	}
	n.mu.Lock()
	a, named := n.names[host]
	n.mu.Unlock()
	switch {
	case !named:
		a = Loopback
	case !a.IsValid():
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{a}, nil
}

// Dial connects to the server that listens at an address, or at that port of all addresses.
// Where none does the connection is refused. It blocks until the server accepts.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	as, err := n.Lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	to := netip.AddrPortFrom(as[0], uint16(number))
	n.mu.Lock()
	l := n.listeners[to]
	if l == nil {
		l = n.listeners[netip.AddrPortFrom(netip.IPv4Unspecified(), to.Port())]
	}
	n.mu.Unlock()
	addr := net.TCPAddrFromAddrPort(to)
	if l != nil {
		client, server := net.Pipe()
		from := net.TCPAddrFromAddrPort(netip.AddrPortFrom(Loopback, 1))
		select {
		case l.waiting <- &conn{server, addr, from}:
			return &conn{client, from, addr}, nil
		case <-l.closed:
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: network, Addr: addr, Err: ctx.Err()}
		}
	}
	return nil, &net.OpError{Op: "dial", Net: network, Addr: addr, Err: syscall.ECONNREFUSED}
}

// Listen listens at an address and port. Port 0 is one that nobody listens at, the address
// 0.0.0.0 all addresses.
func (n *Network) Listen(at string) (net.Listener, error) {
	a, err := netip.ParseAddrPort(at)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.Port() == 0 {
		n.port++
		a = netip.AddrPortFrom(a.Addr(), n.port)
	}
	if n.listeners[a] != nil {
		return nil, fmt.Errorf("listen %s: %w", a, syscall.EADDRINUSE)
	}
	l := &listener{network: n, at: a, waiting: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[a] = l
	return l, nil
}

// Server starts a server at an address, as Listen takes it. The caller closes it. It panics
// where another one listens there.
func (n *Network) Server(at string, h http.Handler) *httptest.Server {
	l, err := n.Listen(at)
	if err != nil {
		panic(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	return s
}

// A listener hands connections from Dial to Accept.
type listener struct {
	network *Network
	at      netip.AddrPort
	waiting chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.waiting:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.listeners, l.at)
		l.network.mu.Unlock()
		close(l.closed)
	})
	return nil
}

func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.at) }

// A conn is one end of a connection.
type conn struct {
	net.Conn
	local, remote net.Addr
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }
