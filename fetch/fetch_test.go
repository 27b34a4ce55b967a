package fetch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
