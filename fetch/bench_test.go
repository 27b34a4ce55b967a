package fetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// rawServer answers each request with the same bytes, at little cost, so that a benchmark
// sees the client. With a certificate it speaks TLS.
func rawServer(tb testing.TB, answer []byte, certificates ...tls.Certificate) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	scheme := "http://"
	if len(certificates) > 0 {
		scheme = "https://"
		l = tls.NewListener(l, &tls.Config{Certificates: certificates})
	}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				for r := bufio.NewReader(nc); ; {
					for {
						line, err := r.ReadSlice('\n')
						if err != nil {
							return
						}
						if len(line) <= 2 {
							break
						}
					}
					if _, err := nc.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return scheme + l.Addr().String()
}

// BenchmarkFetch compares the clients of this package with bare net/http: on a small page, and on one of
// the size that pages of documentation have, with gzip; over http and https, by HTTP/1.1.
func BenchmarkFetch(b *testing.B) {
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	roots := x509.NewCertPool()
	roots.AddCert(known.Certificate())
	r := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	for text.Len() < 96<<10 {
		fmt.Fprintf(&text, "<p class=\"c%d\"><a href=\"/p/%d\">%x</a> and so on, <code>%d</code> of %d\n", r.IntN(9), r.IntN(1e4), r.Uint32(), r.IntN(1e3), r.IntN(1e6))
	}
	for _, size := range []int{10 << 10, 96 << 10} {
		page := text.Bytes()[:size]
		body, coding := page, ""
		if size > 10<<10 {
			body, coding = encode(b, "gzip", page), "Content-Encoding: gzip\r\n"
		}
		answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n%sContent-Length: %d\r\n\r\n%s", coding, len(body), body)
		for _, scheme := range []string{"http", "https"} {
			var certificates []tls.Certificate
			if scheme == "https" {
				certificates = known.TLS.Certificates
			}
			base := rawServer(b, answer, certificates...)
			bench := func(name string, fetch func(buf []byte) []byte) {
				b.Run(fmt.Sprintf("scheme=%s/kB=%d/client=%s", scheme, size>>10, name), func(b *testing.B) {
					b.ReportAllocs()
					b.SetParallelism(32)
					before := cpuTime()
					b.RunParallel(func(pb *testing.PB) {
						var buf []byte
						for pb.Next() {
							buf = fetch(buf)
							if len(buf) != len(page) {
								b.Errorf("got %d bytes, want %d", len(buf), len(page))
								return
							}
						}
					})
					b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
				})
			}
			c := newClient(b, Config{})
			c.ownHTTP1(roots)
			u, _ := url.Parse(base + "/p/1")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			bench("own", func(buf []byte) []byte {
				o, err := c.Fetch(ctx, &Request{URL: base + "/p/1", Buffer: buf})
				if err != nil {
					b.Error(err)
				}
				return o.Body
			})
			bench("nethttp", func(buf []byte) []byte {
				o := new(Outcome)
				o.room = c.room
				c.byNetHTTP(ctx, u, &Request{URL: base + "/p/1", Buffer: buf}, o, time.Now(), nil)
				return o.Body
			})
			hc := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, TLSClientConfig: &tls.Config{RootCAs: roots}}}
			bench("bare", func(buf []byte) []byte {
				req, _ := http.NewRequestWithContext(ctx, "GET", base+"/p/1", nil)
				resp, err := hc.Do(req)
				if err != nil {
					b.Error(err)
					return nil
				}
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				return body
			})
		}
	}
}
