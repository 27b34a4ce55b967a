package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// special are the blocks that the IANA special-purpose address registries do not call globally
// reachable, and multicast. IPv6 outside 2000::/3 is refused as a whole: that covers loopback,
// mapped and translated IPv4, unique local, link-local and multicast addresses.
var special = prefixes(`
	0.0.0.0/8 this network
	10.0.0.0/8 private
	100.64.0.0/10 shared
	127.0.0.0/8 loopback
	169.254.0.0/16 link-local
	172.16.0.0/12 private
	192.0.0.0/24 protocol assignments
	192.0.2.0/24 documentation
	192.88.99.0/24 6to4 relay
	192.168.0.0/16 private
	198.18.0.0/15 benchmarking
	198.51.100.0/24 documentation
	203.0.113.0/24 documentation
	224.0.0.0/4 multicast
	240.0.0.0/4 reserved
	2001::/23 protocol assignments
	2001:db8::/32 documentation
	2002::/16 6to4
	3fff::/20 documentation
	::/128 unspecified
	::1/128 loopback
	64:ff9b::/96 IPv4 behind a translator
	64:ff9b:1::/48 IPv4 behind a translator
	fc00::/7 unique local
	fe80::/10 link-local
	ff00::/8 multicast`)

// global are the registries' exceptions inside the blocks above.
var global = prefixes(`
	192.0.0.9/32 anycast
	192.0.0.10/32 anycast
	2001:1::1/128 anycast
	2001:1::2/128 anycast
	2001:1::3/128 anycast
	2001:3::/32 AMT
	2001:4:112::/48 AS112
	2001:20::/28 ORCHIDv2
	2001:30::/28 drone identifiers`)

var unicast6 = netip.MustParsePrefix("2000::/3")

type block struct {
	netip.Prefix
	name string
}

func prefixes(text string) []block {
	var bs []block
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		p, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		bs = append(bs, block{netip.MustParsePrefix(p), name})
	}
	return bs
}

// A guard refuses addresses that are not public, unless they are allowed.
type guard struct{ allow []netip.Prefix }

type allowKey struct{}

// Allow returns a ctx of which requests may connect to these addresses too, although they are not
// public. Connections are kept by host: one that such a request has made may serve others to the
// same host.
func Allow(ctx context.Context, addrs []netip.Prefix) context.Context {
	if len(addrs) == 0 {
		return ctx
	}
	already, _ := ctx.Value(allowKey{}).([]netip.Prefix)
	return context.WithValue(ctx, allowKey{}, slices.Concat(already, addrs))
}

// in returns the guard for a request with this ctx.
func (g guard) in(ctx context.Context) guard {
	more, _ := ctx.Value(allowKey{}).([]netip.Prefix)
	if len(more) == 0 {
		return g
	}
	return guard{slices.Concat(g.allow, more)}
}

// check returns nil if a may be connected to, and otherwise a *failure.
func (g guard) check(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	if isGlobal(a) {
		return nil
	}
	for _, p := range g.allow {
		if p.Contains(a) {
			return nil
		}
	}
	what, p := "reserved", netip.PrefixFrom(a, a.BitLen())
	for _, b := range special {
		if b.Contains(a) {
			what, p = b.name, b.Prefix
			break
		}
	}
	return &failure{PrivateAddress, fmt.Sprintf("%s is not a public address (%s); --allow-private %s would permit it", a, what, p)}
}

func isGlobal(a netip.Addr) bool {
	if a.Is6() && !unicast6.Contains(a) {
		return false
	}
	for _, b := range special {
		if b.Contains(a) {
			for _, b := range global {
				if b.Contains(a) {
					return true
				}
			}
			return false
		}
	}
	return a.IsValid()
}

// Dialer returns a dialer that connects to public addresses and those in allow only, for
// clients of APIs that are not crawled.
func Dialer(allow []netip.Prefix) *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, ControlContext: guard{allow}.control}
}

// control is the dialer's last word before it connects: it sees the address that is used,
// whatever a name resolved to before.
func (g guard) control(ctx context.Context, network, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return &failure{PrivateAddress, fmt.Sprintf("%s %s is no address that a crawler connects to", network, address)}
	}
	if badPort(ap.Port()) {
		return &failure{BadPort, fmt.Sprintf("port %d is blocked: it belongs to another protocol", ap.Port())}
	}
	return g.in(ctx).check(ap.Addr())
}

// badPorts are the ports that WHATWG Fetch blocks, and two of databases that take commands
// from anybody who connects (6379, 11211).
var badPorts = func() map[uint16]bool {
	m := map[uint16]bool{}
	for _, p := range []uint16{
		0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
		109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526,
		530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045,
		4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
	} {
		m[p] = true
	}
	return m
}()

func badPort(port uint16) bool { return port != 80 && port != 443 && badPorts[port] }
