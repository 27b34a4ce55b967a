package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestTake: an answer that was kept as it came, and is taken later, says what it said when it came.
func TestTake(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "<title>packed</title>"+strings.Repeat("words ", 1000))
	z.Close()
	raw := func(w http.ResponseWriter, text string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, text)
		conn.Close()
	}
	answers := map[string]http.HandlerFunc{
		"/page": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("X-Robots-Tag", "noindex")
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<title>a page</title>")
		},
		"/gzip": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed.Bytes())
		},
		"/no-gzip": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "<title>not packed</title>")
		},
		"/chunks": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<title>in")
			http.NewResponseController(w).Flush()
			io.WriteString(w, " parts</title>")
		},
		"/moved": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/page?x", http.StatusMovedPermanently)
		},
		"/nowhere": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusFound)
		},
		"/missing": http.NotFound,
		"/gone":    func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusGone) },
		"/none":    func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"/error":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"/odd":     func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(699) },
		"/image": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			io.WriteString(w, "\x89PNG\r\n\x1a\n")
		},
		"/no-type": func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			io.WriteString(w, "<!doctype html><title>which type?</title>")
		},
		"/no-page": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "%PDF-1.4")
		},
		"/long": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, strings.Repeat("long ", 30_000))
		},
		"/cut": func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n<title>cut</title>")
		},
		"/cut-at-once": func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n")
		},
		"/same": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) },
		"/bare": func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.0 200 fine\nContent-Type: text/html\nLink: </a>; rel=next\n\n<title>bare</title>")
		},
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := answers[r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	defer web.Close()
	c, err := New(Config{MaxBody: 100_000, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for path := range answers {
		x := new(Exchange)
		asked := Request{URL: web.URL + path, Exchange: x}
		if path == "/same" {
			asked.ETag = `"1"`
		}
		want, err := c.Fetch(context.Background(), &asked)
		if err != nil {
			t.Fatal(err)
		}
		body, size := x.Body()
		kept := &Answer{Status: want.Status, Header: want.Header, Body: io.LimitReader(body, size), Cut: x.Cut}
		got, err := c.Take(context.Background(), &Request{URL: web.URL + path}, kept)
		if err != nil {
			t.Fatal(err)
		}
		say := func(o *Outcome) string {
			return fmt.Sprint(o.Class, o.Status, o.Reason, o.URL, o.Location, o.Permanent, o.ContentType, o.Kind, o.Cut, o.Undecoded, o.ETag, o.LastModified, o.RetryAfter, o.Said(), len(o.Body), string(o.Body))
		}
		if say(got) != say(want) {
			t.Errorf("%s: taken: %.200s\nfetched: %.200s", path, say(got), say(want))
		}
		got.Release()
		want.Release()
	}
	if n := c.Held(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o, err := c.Take(ctx, &Request{URL: web.URL}, &Answer{Status: 200, Body: strings.NewReader("<p>")}); err != context.Canceled || o.Body != nil {
		t.Errorf("cancelled: %+v, %v", o, err)
	}
	if o, err := c.Take(context.Background(), &Request{URL: "ftp://x/"}, &Answer{Status: 200}); err != nil || o.Class != BadURL {
		t.Errorf("no URL: %v, %v", o.Class, err)
	}
}
