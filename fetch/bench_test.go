package fetch

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"time"
)

// rawServer answers each request with the same bytes, at little cost, so that a benchmark
// sees the client.
func rawServer(tb testing.TB, answer []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
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
	return "http://" + l.Addr().String()
}

// BenchmarkFetch compares the two clients of this package with bare net/http.
func BenchmarkFetch(b *testing.B) {
	page := bytes.Repeat([]byte("<p>All the world is a page. "), 10240/28)
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(page), page)
	base := rawServer(b, answer)
	c := newClient(b, Config{})
	bench := func(name string, fetch func(buf []byte) []byte) {
		b.Run("client="+name, func(b *testing.B) {
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
	u, _ := url.Parse(base + "/p/1")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	bench("plain", func(buf []byte) []byte {
		o, err := c.Fetch(ctx, &Request{URL: base + "/p/1", Buffer: buf})
		if err != nil {
			b.Error(err)
		}
		return o.Body
	})
	bench("nethttp", func(buf []byte) []byte {
		o := new(Outcome)
		tctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
		c.roundTrip(tctx, u, &Request{URL: base + "/p/1", Buffer: buf}, o, time.Now())
		return o.Body
	})
	hc := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
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

// cpuTime returns the CPU time of this process, the server's part included.
func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
