package fetch

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestAllow checks that a ctx gives leave to its own requests, with and without TLS, and to no
// others.
func TestAllow(t *testing.T) {
	t.Parallel()
	for _, start := range []func(http.Handler) *httptest.Server{httptest.NewServer, httptest.NewTLSServer} {
		srv := start(http.NotFoundHandler())
		defer srv.Close()
		c, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		name := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1) // the dialer decides, as the URL tells no address
		for _, test := range []struct {
			url   string
			leave string
			want  bool
		}{{srv.URL, "", false}, {name, "", false}, {name, "10.0.0.0/8", false}, {srv.URL, "127.0.0.0/8", true}, {name, "127.0.0.0/8", true}} {
			ctx := t.Context()
			if test.leave != "" {
				ctx = Allow(Allow(ctx, []netip.Prefix{netip.MustParsePrefix(test.leave)}), []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16")})
			}
			o, err := c.Fetch(ctx, &Request{URL: test.url})
			if err != nil || (o.Class != PrivateAddress) != test.want {
				t.Errorf("%s, leave for %q: %v (%s), %v", test.url, test.leave, o.Class, o.Reason, err)
			}
		}
	}
}
