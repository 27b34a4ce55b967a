package fetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// follow fetches u and what it redirects to, as a caller does, and returns the last outcome.
func follow(t *testing.T, c *Client, u string) (*Outcome, *Chain) {
	t.Helper()
	var chain Chain
	for {
		o := get(t, c, u)
		if u = chain.Next(o); u == "" {
			return o, &chain
		}
	}
}

// encode compresses b as the content coding says.
func encode(t testing.TB, coding string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		w = z
	case "deflate":
		w = zlib.NewWriter(&out)
	case "bare":
		w, _ = flate.NewWriter(&out, 6)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// secure starts a TLS server and makes c trust it.
func secure(t *testing.T, c *Client, s *httptest.Server) {
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	trust(c, s.Certificate())
}

func trust(c *Client, cert *x509.Certificate) {
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	c.ownHTTP1(pool)
}

func TestHTTPSemantics(t *testing.T) {
	redirect := func(status int, permanent bool) func(*testing.T) {
		return func(t *testing.T) {
			var mu sync.Mutex
			asked := map[string]int{}
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked[r.URL.Path]++
				mu.Unlock()
				if r.URL.Path == "/a" {
					w.Header().Set("Location", "/b")
					w.WriteHeader(status)
				}
			})
			c := newClient(t, Config{})
			o := get(t, c, base+"/a")
			if o.Class != Redirect || o.Location != base+"/b" || o.Permanent != permanent || o.Status != status {
				t.Errorf("%v to %q, permanent %v, status %d", o.Class, o.Location, o.Permanent, o.Status)
			}
			if asked["/b"] != 0 {
				t.Error("followed by itself: the caller must check the target first")
			}
		}
	}
	location := func(from, loc, want string) func(*testing.T) {
		return func(t *testing.T) {
			s := serveTCP(t, says("HTTP/1.1 302 Found\r\nLocation: "+loc+"\r\nContent-Length: 0\r\n\r\n"))
			o := get(t, newClient(t, Config{}), s.url+from)
			if o.Class != Redirect || o.Location != s.url+want {
				t.Errorf("Location %q of %s: %v %q, want %q", loc, from, o.Class, o.Location, want)
			}
		}
	}
	retry := func(values map[string]time.Duration) func(*testing.T) {
		return func(t *testing.T) {
			for v, want := range values {
				s := serveTCP(t, says("HTTP/1.1 429 Slow down\r\n"+v+"\r\nContent-Length: 0\r\n\r\n"))
				o := get(t, newClient(t, Config{}), s.url)
				if o.Class != TooManyRequests || o.RetryAfter != want {
					t.Errorf("%q: %v after %v, want %v", v, o.Class, o.RetryAfter, want)
				}
			}
		}
	}
	cases(t, "http_semantics.jsonl", map[string]func(*testing.T){
		"redir-301":  redirect(301, true),
		"redir-302":  redirect(302, false),
		"redir-307":  redirect(307, false),
		"redir-rel":  location("/a/b/d", "../c?x", "/a/c?x"),
		"redir-frag": location("/a", "/b#top", "/b"),
		"redir-utf8": func(t *testing.T) {
			location("/a", "/café", "/caf%C3%A9")(t)
			location("/a", "/caf\xe9", "/caf%E9")(t)
			location("/a", "/b c%zz", "/b%20c%zz")(t)
			location("/a", `\b\c`, "/b/c")(t)
		},
		"redir-loop2": func(t *testing.T) {
			var n atomic.Int64
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				n.Add(1)
				w.Header().Set("Location", map[string]string{"/a": "/b", "/b": "/a"}[r.URL.Path])
				w.WriteHeader(302)
			})
			o, _ := follow(t, newClient(t, Config{}), base+"/a")
			if o.Class != RedirectLoop || n.Load() > 4 {
				t.Errorf("%v after %d requests", o.Class, n.Load())
			}
		},
		"redir-chain-10": func(t *testing.T) {
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				n, last := 0, 10
				fmt.Sscanf(r.URL.Path, "/%d", &n)
				fmt.Sscanf(r.URL.RawQuery, "%d", &last)
				if n < last {
					w.Header().Set("Location", fmt.Sprintf("/%d?%d", n+1, last))
					w.WriteHeader(302)
				}
			})
			c := newClient(t, Config{})
			if o, chain := follow(t, c, base+"/0?10"); o.Status != 200 || chain.Hops() != 10 {
				t.Errorf("10 hops: status %d after %d", o.Status, chain.Hops())
			}
			if o, chain := follow(t, c, base+"/0?11"); o.Class != TooManyRedirects || chain.Hops() != 10 {
				t.Errorf("11 hops: %v after %d", o.Class, chain.Hops())
			}
		},
		"cond-weak": func(t *testing.T) {
			const modified = "Tue,  1 Jan 2019 00:00:00 +0000 (odd, sent back as it came)"
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `W/"x"`)
				w.Header().Set("Last-Modified", modified)
				if r.Header.Get("If-None-Match") == `W/"x"` && r.Header.Get("If-Modified-Since") == modified {
					w.WriteHeader(304)
				}
			})
			c := newClient(t, Config{})
			o := get(t, c, base)
			o, err := c.Fetch(context.Background(), &Request{URL: base, ETag: o.ETag, LastModified: o.LastModified})
			if err != nil || o.Class != NotModified {
				t.Errorf("with its own validators: %v, %v", o.Class, err)
			}
		},
		"cond-304-new-etag": func(t *testing.T) {
			s := serveTCP(t, says("HTTP/1.1 304 Not Modified\r\nETag: \"new\"\r\n\r\n"))
			o, err := newClient(t, Config{}).Fetch(context.Background(), &Request{URL: s.url, ETag: `"old"`})
			if err != nil || o.Class != NotModified || o.ETag != `"new"` {
				t.Errorf("%v, ETag %q, %v", o.Class, o.ETag, err)
			}
			if o := get(t, newClient(t, Config{}), s.url); o.Class != Malformed {
				t.Errorf("304 unasked: %v", o.Class)
			}
		},
		"vary": func(t *testing.T) {
			page := []byte("<html>" + strings.Repeat("the same in every encoding ", 1000))
			for _, coding := range []string{"gzip", "br", "zstd", "deflate", "bare"} {
				base := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if !strings.Contains(r.Header.Get("Accept-Encoding"), "br, zstd") {
						t.Errorf("Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
					}
					w.Header().Set("Content-Encoding", strings.Replace(coding, "bare", "deflate", 1))
					w.Write(encode(t, coding, page))
				})
				o := get(t, newClient(t, Config{}), base)
				if o.Class != OK || !bytes.Equal(o.Body, page) || o.Cut != Whole || o.Wire > 1000 {
					t.Errorf("%s: %v, %d bytes decoded, %d on the wire, %v", coding, o.Class, len(o.Body), o.Wire, o.Cut)
				}
			}
		},
		"ra-date": retry(map[string]time.Duration{
			"Date: Sat, 01 Jan 2000 00:00:00 GMT\r\nRetry-After: Sat, 01 Jan 2000 00:00:30 GMT": 30 * time.Second,
			"Retry-After: 120": 2 * time.Minute,
		}),
		"ra-past": retry(map[string]time.Duration{
			"Retry-After: Sat, 01 Jan 2000 00:00:30 GMT": 0, "Retry-After: -5": 0, "Retry-After: abc": 0, "Retry-After: 1.5": 0, "X: y": 0,
		}),
		"ra-huge": retry(map[string]time.Duration{
			"Retry-After: 999999999": MaxRetryAfter, "Retry-After: 99999999999999999999999": MaxRetryAfter,
		}),
		"head-405": func(t *testing.T) {
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != "GET" {
					w.WriteHeader(405)
				}
			})
			if o := get(t, newClient(t, Config{}), base); o.Status != 200 {
				t.Errorf("status %d", o.Status)
			}
		},
		"gzip": func(t *testing.T) {
			z := encode(t, "gzip", []byte("<p>packed"))
			for name, text := range map[string]string{
				"whole": answer(string(z), "Content-Encoding: GZip"),
				"twice": answer(string(encode(t, "gzip", z)), "Content-Encoding: gzip", "Content-Encoding: x-gzip, identity"),
			} {
				s := serveTCP(t, says(text))
				if o := get(t, newClient(t, Config{}), s.url); o.Class != OK || string(o.Body) != "<p>packed" {
					t.Errorf("%s: %v %q", name, o.Class, o.Body)
				}
			}
			s := serveTCP(t, says(answer(string(z[:len(z)-6]), "Content-Encoding: gzip")))
			if o := get(t, newClient(t, Config{}), s.url); o.Class != OK || string(o.Body) != "<p>packed" || o.Cut != CutShort {
				t.Errorf("broken off: %v %q %v", o.Class, o.Body, o.Cut)
			}
		},
		"gzip-lie": func(t *testing.T) {
			for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
				s := serveTCP(t, says(answer("<!doctype html><a href=/x>plain</a>", "Content-Encoding: "+coding)))
				o := get(t, newClient(t, Config{}), s.url)
				if o.Class != OK || !o.Undecoded || string(o.Body) != "<!doctype html><a href=/x>plain</a>" {
					t.Errorf("%s: %v, undecoded %v, %q", coding, o.Class, o.Undecoded, o.Body)
				}
			}
		},
		"http09": func(t *testing.T) {
			s := serveTCP(t, says("<html>no header at all</html>"))
			if o := get(t, newClient(t, Config{}), s.url); o.Class != Malformed {
				t.Errorf("%v", o.Class)
			}
		},
		"http10": func(t *testing.T) {
			s := serveTCP(t, says("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>to the end"))
			c := newClient(t, Config{})
			for range 2 {
				if o := get(t, c, s.url); o.Class != OK || string(o.Body) != "<p>to the end" || o.Cut != Whole {
					t.Errorf("%v %q %v", o.Class, o.Body, o.Cut)
				}
			}
		},
		"cl-te": func(t *testing.T) {
			s := serveTCP(t, func(nc net.Conn) {
				for r := bufio.NewReader(nc); readRequest(r) != nil; {
					io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n8;x=y\r\n<p>right\r\n0\r\nT: v\r\n\r\n")
				}
			})
			c := newClient(t, Config{})
			for range 3 {
				if o := get(t, c, s.url); o.Class != OK || string(o.Body) != "<p>right" || o.Cut != Whole {
					t.Errorf("%v %q %v", o.Class, o.Body, o.Cut)
				}
			}
			if n := s.conns.Load(); n != 3 {
				t.Errorf("%d connections, want a new one each time", n)
			}
		},
		"h2-goaway": func(t *testing.T) {
			c := newClient(t, Config{})
			n, host := h2Server(t, c, func(n int64, fr *http2.Framer, stream uint32) bool {
				if n == 1 { // this one was not processed: last stream 0
					fr.WriteGoAway(0, http2.ErrCodeNo, nil)
					return false
				}
				return h2Answer(fr, stream, "<p>second try")
			})
			o := get(t, c, "https://"+host+"/")
			if o.Class != OK || string(o.Body) != "<p>second try" || n.Load() != 2 {
				t.Errorf("%v %q (%s) after %d connections", o.Class, o.Body, o.Reason, n.Load())
			}
		},
		"421": func(t *testing.T) {
			c := newClient(t, Config{})
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor == 2 {
					w.WriteHeader(421)
				}
			}))
			secure(t, c, s)
			if o := get(t, c, s.URL); o.Status != 200 {
				t.Errorf("status %d %s", o.Status, o.Reason)
			}
		},
	}, map[string]string{
		"redir-new-host":   "crawl: it sees the hop, nothing is followed here",
		"cond-changed-200": "crawl: digests are its own",
		"cache-control":    "crawl",
		"trailing-dot":     "fetch/link: identity",
	})
}

// h2Server speaks HTTP/2 frame by frame: handle is called for each request, with the number of
// the connection, and returns false to end it.
func h2Server(t *testing.T, c *Client, handle func(n int64, fr *http2.Framer, stream uint32) bool) (*atomic.Int64, string) {
	s := httptest.NewUnstartedServer(nil)
	secure(t, c, s) // for its certificate
	var n atomic.Int64
	conf := &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"h2"}}
	srv := serveTCP(t, func(nc net.Conn) {
		k := n.Add(1)
		tc := tls.Server(nc, conf)
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(tc, preface); err != nil {
			return
		}
		fr := http2.NewFramer(tc, tc)
		fr.WriteSettings()
		for {
			f, err := fr.ReadFrame()
			if err != nil {
				return
			}
			switch f := f.(type) {
			case *http2.SettingsFrame:
				if !f.IsAck() {
					fr.WriteSettingsAck()
				}
			case *http2.HeadersFrame:
				if !handle(k, fr, f.StreamID) {
					// Read on until the client ends it, or what was written could be lost.
					io.Copy(io.Discard, tc)
					return
				}
			}
		}
	})
	return &n, srv.host
}

func h2Answer(fr *http2.Framer, stream uint32, body string) bool {
	fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true, BlockFragment: h2Fields(":status", "200", "content-type", "text/html")})
	fr.WriteData(stream, true, []byte(body))
	return true
}

func h2Fields(kv ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for p := range slices.Chunk(kv, 2) {
		e.WriteField(hpack.HeaderField{Name: p[0], Value: p[1]})
	}
	return b.Bytes()
}
