package fetchtest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"forage/fetch"
	"forage/fetch/fetchtest"
)

// TestNetwork fetches from servers in memory, by address and by name, in a bubble whose time
// passes while one of them thinks.
func TestNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := fetchtest.New()
		s := n.Server("0.0.0.0:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/never":
				<-r.Context().Done()
			case "/later":
				<-time.After(20 * time.Second)
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "%s at %s", r.Host, r.Context().Value(http.LocalAddrContextKey))
		}))
		defer s.Close()
		n.Name("known.test", netip.MustParseAddr("192.88.98.7"))
		n.Name("unknown.test", netip.Addr{})
		c, err := fetch.New(fetch.Config{Dial: n.Dial, Lookup: n.Lookup, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, test := range []struct {
			url   string
			class fetch.Class
			body  string
			took  time.Duration
		}{
			{"http://known.test/", fetch.OK, "known.test at 192.88.98.7:80", 0},
			{"http://known.test/later", fetch.OK, "known.test at 192.88.98.7:80", 20 * time.Second},
			{"http://known.test/never", fetch.Timeout, "", 30 * time.Second}, // HeaderWait
			{"http://other.test/", fetch.OK, "other.test at 127.0.0.1:80", 0},
			{"http://192.88.98.9/", fetch.OK, "192.88.98.9 at 192.88.98.9:80", 0},
			{"http://10.0.0.1/", fetch.PrivateAddress, "", 0}, // the guard comes first
			{"http://unknown.test/", fetch.DNS, "", 0},
			{"http://known.test:81/", fetch.Refused, "", 0},
			{"https://known.test:81/", fetch.Refused, "", 0}, // by net/http
		} {
			start := time.Now()
			o, err := c.Fetch(context.Background(), &fetch.Request{URL: test.url})
			if took := time.Since(start); err != nil || o.Class != test.class || string(o.Body) != test.body || took != test.took {
				t.Errorf("Fetch(%s) = %v %q %v after %v, want %v %q after %v", test.url, o.Class, o.Body, err, took, test.class, test.body, test.took)
			}
		}
		as, err := c.Resolve(context.Background(), "known.test")
		if err != nil || len(as) != 1 || as[0] != netip.MustParseAddr("192.88.98.7") {
			t.Errorf("Resolve = %v, %v", as, err)
		}
	})
}
