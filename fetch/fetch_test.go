package fetch

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// newClient returns a client that may connect to loopback.
func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	if cfg.AllowPrivate == nil {
		cfg.AllowPrivate = loopback
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// get fetches u.
func get(t testing.TB, c *Client, u string) *Outcome {
	t.Helper()
	o, err := c.Fetch(context.Background(), &Request{URL: u})
	if err != nil {
		t.Fatalf("Fetch(%s): %v", u, err)
	}
	return o
}

// serve starts a server on loopback.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestFetch(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `W/"x"`)
		w.Write([]byte("<!doctype html><p>hello"))
	})
	o := get(t, newClient(t, Config{}), base+"/")
	if o.Class != OK || o.Kind != HTML || string(o.Body) != "<!doctype html><p>hello" || o.ETag != `W/"x"` || o.Cut != Whole {
		t.Errorf("Fetch = %+v", o)
	}
	if !o.Addr.IsValid() || o.Took <= 0 || o.Elapsed < o.Took || o.Wire < int64(len(o.Body)) {
		t.Errorf("Addr %v, Took %v, Elapsed %v, Wire %d", o.Addr, o.Took, o.Elapsed, o.Wire)
	}
	o = get(t, newClient(t, Config{AllowPrivate: []netip.Prefix{}}), base+"/")
	if o.Class != PrivateAddress {
		t.Errorf("without --allow-private: %v, want private_address", o.Class)
	}
}

// Every byte of a URL's path and query reaches the server as it stands.
func TestTarget(t *testing.T) {
	plain := serveTCP(t, func(nc net.Conn) {
		for r := bufio.NewReader(nc); ; {
			lines := readRequest(r)
			if lines == nil {
				return
			}
			io.WriteString(nc, answer(lines[0]))
		}
	})
	proxied := newClient(t, Config{})
	proxied.cfg.Proxy, _ = url.Parse(plain.url)
	proxied.shared = proxied.transport(true)
	for in, want := range map[string]string{
		"":                 "/",
		"/":                "/",
		"?q":               "/?q",
		"/100%":            "/100%",
		"/100%?a=50%#f":    "/100%?a=50%",
		"/a%2Fb/%zz":       "/a%2Fb/%zz",
		"/a%2fb;x=1":       "/a%2fb;x=1",
		"/%7Euser/%E4":     "/%7Euser/%E4",
		"/a//b/./c":        "/a//b/./c",
		"//a":              "//a",
		"/a?b=c%20d&e=%&f": "/a?b=c%20d&e=%&f",
		"/é?ü=1":           "/%C3%A9?%C3%BC=1",
	} {
		o := get(t, newClient(t, Config{}), plain.url+in)
		if got := string(o.Body); got != "GET "+want+" HTTP/1.1" {
			t.Errorf("%q: the server got %q (%v %s), want %q", in, got, o.Class, o.Reason, want)
		}
		o = get(t, proxied, plain.url+in)
		if got := string(o.Body); got != "GET "+plain.url+want+" HTTP/1.1" && in != "/é?ü=1" {
			t.Errorf("%q: the proxy got %q (%v %s), want %q", in, got, o.Class, o.Reason, want)
		}
	}
	for _, bad := range []string{"", "x", "/x", "http:", "http://", "http:///x", "ftp://h/", "mailto:a@b", "http://[::1/", "http://a b/", "http:x/y", "http://h:x/", "javascript:alert(1)"} {
		if o := get(t, proxied, bad); o.Class != BadURL {
			t.Errorf("%q: %v", bad, o.Class)
		}
	}
}
