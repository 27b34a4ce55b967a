// Package fetch makes one HTTP request at a time, safely, and says what became of it.
//
// Start with Client.Fetch: it sends one GET and returns an Outcome, whose Class tells a page
// from a redirect, a refusal from a failure. Outcomes are values; an error means only that
// the caller's context ended, or that Config.Permit did not let the host be asked. Redirects are not followed: the caller checks the target as it
// checks any link and asks again (see Chain). Client.Robots fetches the rules of one host,
// and Robots decides what they allow.
//
// The package trusts no server. It connects only to public addresses, decided by the address
// in use and not by a name (see Config.AllowPrivate); it bounds time, header, body, and what
// a compressed body unpacks to; it keeps no cookies and takes no proxy from the environment.
// Politeness is not its concern: package frontier decides when a host may be asked.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/idna"

	"forage/fetch/http1"
)

// Config says how to fetch. The zero value works.
type Config struct {
	UserAgent    string         // default: Agent("")
	Parallel     int            // connections kept to one host; 0 means 64
	Timeout      time.Duration  // of a request in all; 0 means 60 s
	HeaderWait   time.Duration  // from the request to the end of the header block; 0 means 30 s
	ConnectWait  time.Duration  // for a connection, and again for TLS; 0 means 10 s
	MaxBody      int64          // bytes kept of a decoded body; the rest is cut; 0 means 15 MiB
	MaxHeld      int64          // bytes that answers hold together, see Outcome.Hold, beyond 512 KiB each (less for Parallel over 64) and the needs of one; 0 means 32 MiB
	MaxHeader    int64          // bytes of a header block; 0 means 1 MiB
	Bandwidth    int64          // bytes a second that all connections receive together; 0: no limit
	AllowPrivate []netip.Prefix // addresses to connect to although they are not public; see also Allow
	Proxy        *url.URL       // http, https or socks5, with its credentials; nil means none
	Fields       []SiteField    // header fields for single hosts
	Cookies      *Cookies       // cookies to send; nil means none

	// Permit is asked before a connection to a host is made, and again just before the first byte of each
	// request to it is written, with the host or host:port as in the URL. Where it returns an error nothing is sent,
	// and the request ends with a *NotPermittedError. It is for a right to ask that may end at any moment, as a lease
	// does; it must not block, and is called from several goroutines. On HTTP/2 and by a proxy, where requests share
	// what is written, a connection ends at its first refusal, with all that is under way on it. nil: all is permitted.
	Permit func(host string) error

	// Dial and Lookup are for networks other than the machine's, such as those in memory of
	// package fetchtest. Dial makes all connections, which outlive its ctx; nil means TCP to the
	// addresses that the guard lets pass. A dialer of the caller's gets addresses that stand in a URL after the
	// guard has checked them, and names as they are: what these lead to is its own affair, not
	// the guard's. It goes with no Proxy. Lookup tells the addresses of a name, for Resolve;
	// nil means the machine's resolver.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// A SiteField is a header field for one host only, so that a secret goes nowhere else.
type SiteField struct {
	Host        string // host or host:port as in the URL, lower case
	Name, Value string
}

// Version is forage's, as servers see it.
const Version = "1.0"

// Agent returns the user agent of a crawl; contact is a URL or a mail address where its
// operator can be reached, or "".
func Agent(contact string) string {
	if contact == "" {
		return "forage/" + Version
	}
	return "forage/" + Version + " (+" + contact + ")"
}

// AgentToken is the name that robots.txt files call us by.
const AgentToken = "forage"

const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.5"
const acceptEncoding = "gzip, br, zstd, deflate"

// A Client fetches. It is safe for use by several goroutines.
type Client struct {
	cfg      Config
	guard    guard
	dialer   *net.Dialer
	received *bandwidth      // nil: there is no limit
	http1    *http1.Client   // HTTP/1.1 without a proxy
	shared   *http.Transport // HTTP/2, and all that goes by a proxy
	unshared *http.Transport // by a proxy to hosts that misdirect HTTP/2
	speakH2  recent          // hosts that have chosen HTTP/2, as in URLs
	resolver *net.Resolver
	room     *room
}

// New returns a client. It fails if the configuration cannot work.
func New(cfg Config) (*Client, error) {
	def := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	def(&cfg.Timeout, 60*time.Second)
	def(&cfg.HeaderWait, 30*time.Second)
	def(&cfg.ConnectWait, 10*time.Second)
	if cfg.UserAgent == "" {
		cfg.UserAgent = Agent("")
	}
	if cfg.Parallel == 0 {
		cfg.Parallel = 64
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 15 << 20
	}
	if cfg.MaxHeld == 0 {
		cfg.MaxHeld = 32 << 20
	}
	if cfg.MaxHeader == 0 {
		cfg.MaxHeader = 1 << 20
	}
	for _, f := range append([]SiteField{{Name: "User-Agent", Value: cfg.UserAgent}}, cfg.Fields...) {
		if !validField(f.Name, f.Value) {
			return nil, fmt.Errorf("header field %q: the name must be a token, the value one line of text", f.Name)
		}
		switch http.CanonicalHeaderKey(f.Name) {
		case "Host", "Connection", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Upgrade":
			return nil, fmt.Errorf("header field %q is not ours to set", f.Name)
		}
	}
	if p := cfg.Proxy; p != nil && (p.Host == "" || p.Scheme != "http" && p.Scheme != "https" && p.Scheme != "socks5") {
		return nil, fmt.Errorf("proxy: want http://, https:// or socks5:// and a host") // not its text: it may hold a secret
	}
	if cfg.Dial != nil && cfg.Proxy != nil {
		return nil, errors.New("a dialer of the caller's goes with no proxy")
	}
	c := &Client{cfg: cfg, guard: guard{cfg.AllowPrivate}, resolver: net.DefaultResolver}
	c.dialer = &net.Dialer{Timeout: cfg.ConnectWait, ControlContext: c.control, KeepAlive: 30 * time.Second}
	if cfg.Bandwidth > 0 {
		c.received = &bandwidth{perSecond: cfg.Bandwidth}
	}
	c.ownHTTP1(nil)
	c.shared, c.unshared = c.transport(true), c.transport(false)
	c.room = newRoom(cfg.MaxHeld, cfg.Parallel)
	return c, nil
}

func (c *Client) transport(h2 bool) *http.Transport {
	t := &http.Transport{
		DialContext:            c.dial,
		DialTLSContext:         c.dialTLS,
		TLSHandshakeTimeout:    c.cfg.ConnectWait,
		ResponseHeaderTimeout:  c.cfg.HeaderWait,
		MaxResponseHeaderBytes: c.cfg.MaxHeader,
		MaxIdleConns:           http1.MaxIdle(c.cfg.Parallel),
		MaxIdleConnsPerHost:    c.cfg.Parallel,
		IdleConnTimeout:        http1.IdleFor,
		DisableCompression:     true, // decoded here, within limits
		ReadBufferSize:         16 << 10,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(h2)
	if p := c.cfg.Proxy; p != nil {
		t.Proxy = http.ProxyURL(p)
		// The operator named the proxy, so its own address is not guarded; the targets are
		// (see Fetch), as far as names tell.
		d := &net.Dialer{Timeout: c.cfg.ConnectWait}
		t.DialContext, t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			may := permissionOf(ctx)
			if err := may.ask(); err != nil {
				return nil, err
			}
			return may.guarded(c.received.limit(d.DialContext(ctx, network, address)))
		}, nil
	}
	return t
}

// dial makes a connection, within ConnectWait.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	may := permissionOf(ctx)
	if c.cfg.Dial == nil {
		return may.guarded(c.received.limit(c.dialer.DialContext(ctx, network, address)))
	}
	if err := may.ask(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectWait)
	defer cancel()
	return may.guarded(c.received.limit(c.cfg.Dial(ctx, network, address)))
}

// control is called for each address before it is connected to.
func (c *Client) control(ctx context.Context, network, address string, raw syscall.RawConn) error {
	if err := permissionOf(ctx).ask(); err != nil {
		return err
	}
	return c.guard.control(ctx, network, address, raw)
}

// Close closes the idle connections. Requests in flight are not disturbed.
func (c *Client) Close() {
	c.http1.Close()
	c.shared.CloseIdleConnections()
	c.unshared.CloseIdleConnections()
}

// A Request is one GET.
type Request struct {
	URL          string // absolute, http or https; fragment and user are dropped
	ETag         string // sent as If-None-Match, verbatim; "" means none
	LastModified string // sent as If-Modified-Since, verbatim; "" means none
	Any          bool   // read a body of any type: for what should be a sitemap, a feed, robots.txt
	MaxBody      int64  // 0 means the client's; never more than the client's

	// Wait is how long to wait for the header block, connection and all, where that is less than Config
	// says; 0: what Config says. It is for hosts that may not answer at all.
	Wait time.Duration

	Exchange *Exchange // filled with what goes over the wire; nil: nobody wants it

	// Follows reports whether Robots may follow a redirect to a URL; nil: any. What a robots.txt says that may not be asked for nobody
	// knows, so that its rules are Unreachable.
	Follows func(url string) bool

	Buffer []byte // Outcome.Body is built in its storage; the caller takes it back with Body

	// Stream, if set, is called with the first bytes of a body, at least 1,445 or all, where the Class is
	// OK and Kind is known. The function that it returns, unless that is nil, is called with the body, to
	// read it as it comes: then there is no Body. Of a long body up to MaxStream bytes are given to it,
	// else as many as would be kept.
	Stream func(o *Outcome, head []byte) (read func(body io.Reader), long bool)
}

// MaxStream is how many bytes of a body are read where it is not kept: what the sitemap protocol allows.
const MaxStream = 50 << 20

// Fetch sends r and returns what came of it. The error is ctx's own, or a *NotPermittedError, and nothing else.
// It blocks for at most Config.Timeout. Memory: the decoded body, at most MaxBody, and some 300 KiB
// for decoding; br and zstd take the body as it came, at most MaxBody, and up to 16 MiB while it is
// decoded. All that is held until Outcome.Release, and may have to wait for others: see Outcome.Hold.
func (c *Client) Fetch(ctx context.Context, r *Request) (*Outcome, error) {
	start := time.Now()
	o := &Outcome{URL: r.URL, room: c.room}
	u, err := parseURL(r.URL)
	if err != nil {
		o.Class, o.Reason = BadURL, err.Error()
		return o, nil
	}
	may, ctx := c.permission(ctx, u.Host)
	if err := may.ask(); err != nil {
		return o, err
	}
	if err := c.admit(ctx, u); err != nil {
		c.fail(o, err)
		return o, ctx.Err()
	}
	rctx, cut := ctx, context.CancelCauseFunc(nil)
	if r.Wait > 0 {
		rctx, cut = context.WithCancelCause(ctx)
		o.wait = time.AfterFunc(r.Wait, func() { cut(&failure{Timeout, lateReason(r)}) })
	}
	if c.cfg.Proxy == nil {
		c.direct(rctx, u, r, o, start, false)
	} else {
		c.byNetHTTP(rctx, u, r, o, start, nil)
	}
	if o.wait != nil {
		o.wait.Stop()
		if late, ok := context.Cause(rctx).(*failure); ok && ctx.Err() == nil && o.Status == 0 {
			o.Class, o.Reason = late.class, late.reason
		}
		cut(nil)
	}
	o.Elapsed = time.Since(start)
	if err = ctx.Err(); err == nil {
		err = may.refusal()
	}
	if err == nil || o.Class.Answered() && o.Cut == Whole && r.Exchange.whole() {
		err = nil
	} else {
		o.Body = nil
	}
	if o.Body == nil && !(o.streamed && err == nil) {
		o.Release()
	}
	return o, err
}

// lateReason tells of a request that took longer than its Wait.
func lateReason(r *Request) string { return "no answer within " + r.Wait.String() }

// parseURL returns the parts of an absolute http or https URL, without fragment and user. Paths
// that net/url refuses and browsers send, such as /100%, are in Opaque, as they stand.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		scheme, rest, _ := strings.Cut(s, "://")
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		var herr error
		if u, herr = url.Parse(scheme + "://" + rest[:end] + "/"); herr != nil || strings.HasPrefix(rest[end:], "//") {
			var e *url.Error
			if errors.As(err, &e) {
				err = e.Err
			}
			return nil, fmt.Errorf("no valid URL: %w", err)
		}
		path, _, _ := strings.Cut(rest[end:], "#")
		path, u.RawQuery, _ = strings.Cut(path, "?")
		u.Path, u.Opaque = "", cmp.Or(path, "/")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Path != "" && u.Opaque != "" {
		return nil, errors.New("want http:// or https:// and a host")
	}
	u.Fragment, u.RawFragment, u.User = "", "", nil
	return u, nil
}

// asciiHost returns u with a name that can be looked up.
func asciiHost(u *url.URL) (*url.URL, error) {
	if !strings.ContainsFunc(u.Host, func(r rune) bool { return r >= 0x80 }) {
		return u, nil
	}
	name, err := idna.Lookup.ToASCII(u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("no valid host: %w", err)
	}
	a := *u
	if a.Host = name; u.Port() != "" {
		a.Host = net.JoinHostPort(name, u.Port())
	}
	return &a, nil
}

// admit checks what can be known before a connection: the port, an address in the URL, and
// behind a proxy, which connects for us, all addresses of the name.
func (c *Client) admit(ctx context.Context, u *url.URL) error {
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || badPort(uint16(n)) {
			return &failure{BadPort, "port " + p + " is blocked: it belongs to another protocol"}
		}
	}
	guard := c.guard.in(ctx)
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return guard.check(a)
	}
	if c.cfg.Proxy == nil {
		return nil
	}
	as, err := c.Resolve(ctx, u.Hostname())
	if err != nil {
		return err
	}
	for _, a := range as {
		if err := guard.check(a); err != nil {
			return err
		}
	}
	return nil
}

// Resolve returns the addresses of host, a name or an address. Its errors are *net.DNSError
// or ctx's.
func (c *Client) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectWait)
	defer cancel()
	if c.cfg.Lookup != nil {
		return c.cfg.Lookup(ctx, host)
	}
	as, err := c.resolver.LookupNetIP(ctx, "ip", host)
	for i := range as {
		as[i] = as[i].Unmap()
	}
	return as, err
}

// fields are the header fields of a request, Host apart: those that are no secret, and after them those that may be.
func (c *Client) fields(u *url.URL, r *Request) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, some := range [...]iter.Seq2[string, string]{c.public(r), c.secrets(u)} {
			for name, value := range some {
				if !yield(name, value) {
					return
				}
			}
		}
	}
}

// public are the fields that any client of this kind sends.
func (c *Client) public(r *Request) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		if !yield("User-Agent", c.cfg.UserAgent) || !yield("Accept", accept) || !yield("Accept-Encoding", acceptEncoding) {
			return
		}
		if r.ETag != "" && validField("E", r.ETag) && !yield("If-None-Match", r.ETag) {
			return
		}
		if r.LastModified != "" && validField("L", r.LastModified) {
			yield("If-Modified-Since", r.LastModified)
		}
	}
}

// secrets are the fields that somebody may know us by.
func (c *Client) secrets(u *url.URL) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for i := range c.cfg.Fields {
			if s := &c.cfg.Fields[i]; s.Host == u.Host && !yield(s.Name, s.Value) {
				return
			}
		}
		if v := c.cfg.Cookies.header(u); v != "" {
			yield("Cookie", v)
		}
	}
}

// Identifies reports whether a request for url tells the server on whose behalf it is made: by a
// cookie, or by a header field for its host that is not about the form of the answer.
func (c *Client) Identifies(rawURL string) bool {
	if len(c.cfg.Fields) == 0 && c.cfg.Cookies == nil {
		return false
	}
	u, err := parseURL(rawURL)
	if err != nil {
		return false
	}
	for i := range c.cfg.Fields {
		f := &c.cfg.Fields[i]
		if name := http.CanonicalHeaderKey(f.Name); f.Host == u.Host && !strings.HasPrefix(name, "Accept") && name != "User-Agent" && name != "Referer" && name != "From" && name != "Dnt" {
			return true
		}
	}
	return c.cfg.Cookies.header(u) != ""
}

// validField reports whether a header field may be sent.
func validField(name, value string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		if b := name[i]; b <= ' ' || b >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, b) >= 0 {
			return false
		}
	}
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}
