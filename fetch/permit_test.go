package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var errLapsed = errors.New("the lease has ended")

// A lease permits so many times, and then no more. It notes for which hosts it was asked.
type lease struct {
	mu    sync.Mutex
	left  int
	over  bool // it has refused
	hosts []string
}

func (l *lease) permit(host string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts = append(l.hosts, host)
	if l.left--; l.left < 0 {
		l.over = true
		return errLapsed
	}
	return nil
}

func (l *lease) renew(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.over, l.hosts = n, false, nil
}

// A watched connection notes what is written after the lease has ended.
type watched struct {
	net.Conn
	l    *lease
	late *atomic.Int64
}

func (w *watched) Write(b []byte) (int, error) {
	w.l.mu.Lock()
	over := w.l.over
	w.l.mu.Unlock()
	if over {
		w.late.Add(int64(len(b)))
	}
	return w.Conn.Write(b)
}

// TestPermit: whichever question a permit does not answer any more, no byte is sent after that, no request arrives, and
// Fetch says why; on new connections and on such that are there, by all ways on which requests go.
func TestPermit(t *testing.T) {
	const all = 1 << 20
	for _, way := range []string{"http", "https", "h2", "proxied http", "proxied https"} {
		for _, reused := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/reused=%v", way, reused), func(t *testing.T) {
				var l lease
				var late, asked atomic.Int64
				cfg := Config{Permit: l.permit}
				direct := !strings.HasPrefix(way, "proxied")
				if direct {
					cfg.AllowPrivate = loopback
					cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
						var d net.Dialer
						c, err := d.DialContext(ctx, network, address)
						return &watched{c, &l, &late}, err
					}
				}
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					w.Header().Set("Content-Type", "text/html")
					io.WriteString(w, "<p>hello "+r.Proto)
				}))
				s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that break off
				t.Cleanup(s.Close)
				var proxy *url.URL
				if !direct {
					proxy, _ = url.Parse(serve(t, forward))
					cfg.Proxy = proxy
				}
				fresh := func() *Client {
					c := newClient(t, cfg)
					if way == "https" || way == "h2" {
						trust(c, s.Certificate())
					}
					if way == "proxied https" {
						roots := x509.NewCertPool()
						roots.AddCert(s.Certificate())
						c.shared.TLSClientConfig = &tls.Config{RootCAs: roots}
					}
					return c
				}
				switch way {
				case "http", "proxied http":
					s.Start()
				case "h2":
					s.EnableHTTP2 = true
					s.StartTLS()
				default:
					s.StartTLS()
				}
				u, _ := url.Parse(s.URL)
				for k := 0; ; k++ {
					c := fresh()
					if reused {
						l.renew(all)
						if o := get(t, c, s.URL); o.Class != OK {
							t.Fatalf("%v %s", o.Class, o.Reason)
						}
					}
					l.renew(k)
					had := asked.Load()
					o, err := c.Fetch(context.Background(), &Request{URL: s.URL + "/x"})
					l.mu.Lock()
					over := l.over
					for _, h := range l.hosts {
						if h != u.Host {
							t.Errorf("permit is asked for %q, want %q", h, u.Host)
						}
					}
					l.mu.Unlock()
					if !over {
						if err != nil || o.Class != OK || asked.Load() == had { // on HTTP/2 one of those before may arrive only now
							t.Errorf("after %d questions: %v, %v", k, o.Class, err)
						}
						if want := "HTTP/2.0"; way == "h2" && !strings.HasSuffix(string(o.Body), want) {
							t.Errorf("%s, want %s", o.Body, want)
						}
						if k < 2 {
							t.Errorf("permit is asked %d times, want one before the connection and one before the request at least", k)
						}
						break
					}
					sent := asked.Load() != had
					if sent && way == "h2" { // before the refusal: something else was to follow, and the answer may have come whole
						continue
					}
					var not *NotPermittedError
					if !errors.As(err, &not) || not.Host != u.Host || !errors.Is(err, errLapsed) {
						t.Errorf("question %d: Fetch = %+v, %v", k, o, err)
					}
					if sent {
						t.Errorf("question %d: the request arrived", k)
					}
					c.Close()
				}
				if n := late.Load(); n > 0 {
					t.Errorf("%d bytes were sent after the lease had ended", n)
				}
			})
		}
	}
}

// forward is a proxy.
func forward(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}).ServeHTTP(w, r)
		return
	}
	to, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	from, rest, _ := http.NewResponseController(w).Hijack()
	go func() {
		io.Copy(to, rest)
		to.Close()
	}()
	io.Copy(from, to)
	from.Close()
}

// TestPermitBetween: the server of a request whose permit ends between connecting and writing sees a connection that
// ends without a byte; where it had ended before, it sees none.
func TestPermitBetween(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	came := make(chan string)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				close(came)
				return
			}
			b, err := io.ReadAll(c)
			came <- fmt.Sprintf("%q, %v", b, err)
			c.Close()
		}
	}()
	var l lease
	for _, allowed := range []int{2, 1, 0} {
		l.renew(allowed)
		c := newClient(t, Config{Permit: l.permit})
		if o, err := c.Fetch(t.Context(), &Request{URL: "http://" + ln.Addr().String() + "/"}); !errors.Is(err, errLapsed) {
			t.Errorf("%+v, %v", o, err)
		}
		if allowed == 2 { // before the connection to this address, and not before its first byte
			if got, want := <-came, `"", <nil>`; got != want {
				t.Errorf("the server got %s, want %s", got, want)
			}
		}
	}
	ln.Close()
	if got, more := <-came; more {
		t.Errorf("a connection was made that is not permitted: %s", got)
	}
}

// TestPermitRobots: a redirect of robots.txt to another host asks for that one.
func TestPermitRobots(t *testing.T) {
	to := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("%s was asked for", r.URL) })
	from := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to+"/robots.txt", http.StatusFound) })
	c := newClient(t, Config{Permit: func(host string) error {
		if "http://"+host == to {
			return errLapsed
		}
		return nil
	}})
	r, _, err := c.Robots(t.Context(), from, new(Request), nil)
	var not *NotPermittedError
	if !errors.As(err, &not) || "http://"+not.Host != to || r != nil {
		t.Errorf("Robots = %v, %v", r, err)
	}
}
