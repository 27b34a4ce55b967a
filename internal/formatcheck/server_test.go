package formatcheck

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
)

// A said is an answer that a server gave.
type said struct {
	url, status, sha1 string // the sum is that of the body as it was sent, without chunks
	length            int
}

// A site is a server that keeps a log of its answers. Answers that it does not get to the end of are not in it.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	log   []said
	heads map[string]string // of answers whose head stands as it was sent, by URL, in ISO 8859-1
	asked int
	each  func(n int) // called before the nth request is answered; nil: nothing is
}

// noted is what a site has said so far.
func (s *site) noted() []said {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *site) note(r *http.Request, status int, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, said{s.URL + r.URL.RequestURI(), fmt.Sprint(status), fmt.Sprintf("%x", sha1.Sum(body)), len(body)})
}

func (s *site) begin() {
	s.mu.Lock()
	s.asked++
	n, each := s.asked, s.each
	s.mu.Unlock()
	if each != nil {
		each(n)
	}
}

// A recorder notes what goes through a ResponseWriter.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	if status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = 200
	}
	n, err := r.ResponseWriter.Write(p)
	r.body.Write(p[:n])
	return n, err
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// logging has a site answer by h.
func (s *site) logging(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.begin()
		rec := &recorder{ResponseWriter: w}
		h.ServeHTTP(rec, r)
		if rec.status != 0 { // else it was hijacked
			s.note(r, rec.status, rec.body.Bytes())
		}
	})
}

// before serves what another server does.
func before(t *testing.T, base string) *site {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	p := new(httputil.ReverseProxy)
	p.ErrorHandler = func(w http.ResponseWriter, r *http.Request, err error) {
		if r.Context().Err() == nil {
			t.Errorf("%s: %v", r.URL, err)
		}
	}
	p.Transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	p.Rewrite = func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Header.Set("X-Forwarded-Host", r.In.Host)
	}
	p.ModifyResponse = func(r *http.Response) error { // links lead here
		if r.Request.Method != http.MethodGet {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		return errClose(r, bytes.ReplaceAll(body, []byte(base), []byte("http://"+r.Request.Header.Get("X-Forwarded-Host"))))
	}
	s := new(site)
	s.Server = httptest.NewServer(s.logging(p))
	t.Cleanup(s.Close)
	return s
}

// errClose gives an answer another body.
func errClose(r *http.Response, body []byte) error {
	err := r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.ContentLength >= 0 {
		r.ContentLength = int64(len(body))
		r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	}
	return err
}

// odd serves a site that answers in each way that HTTP knows. secure: by TLS; cert is a file with its certificate then. Answers of which net/http
// would never be the author are given without TLS only.
func odd(t *testing.T, secure bool) (s *site, cert string) {
	t.Helper()
	s = new(site)
	const filler = "some words that make a page longer than it would be without them"
	page := func(name, more string) string {
		return fmt.Sprintf("<!doctype html><title>%s</title><h1>%s</h1><p>%s of %s</p>%s", name, name, filler, name, more)
	}
	noise := make([]byte, 1_500_000)
	for i := range noise {
		noise[i] = byte('a' + rand.IntN(26))
	}
	var zipped, brotlied bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, page("gzip", ""))
	z.Close()
	b := brotli.NewWriter(&brotlied)
	io.WriteString(b, page("brotli", ""))
	b.Close()
	raw := map[string]struct {
		head, sent string
		status     int
		body       string // without chunks; as far as it is kept
	}{}
	add := func(path, head, sent string, status int, body string) {
		raw[path] = struct {
			head, sent string
			status     int
			body       string
		}{strings.ReplaceAll(head, "|", "\r\n"), sent, status, body}
	}
	plain := func(path, head string) {
		body := page(path, "")
		add(path, head, body, 200, body)
	}
	cut := page("cut", "") + strings.Repeat("more ", 100)
	add("/raw/cut", "HTTP/1.1 200 OK|Content-Type: text/html|Content-Length: 5000||", cut, 200, cut)
	add("/raw/cut-chunks", "HTTP/1.1 200 OK|Content-Type: text/html|Transfer-Encoding: chunked||", fmt.Sprintf("%x\r\n%s\r\n50\r\n", len(cut), cut), 200, cut)
	add("/raw/cut-gzip", "HTTP/1.1 200 OK|Content-Type: text/html|Content-Encoding: gzip|Content-Length: 5000||", zipped.String()[:100], 200, zipped.String()[:100])
	plain("/raw/no-length", "HTTP/1.1 200 OK|Content-Type: text/html||")
	plain("/raw/old", "HTTP/1.0 200 OK|Content-Type: text/html||")
	plain("/raw/line-feeds", "HTTP/1.1 200 OK\nContent-Type: text/html\n\n")
	plain("/raw/folded", "HTTP/1.1 200 OK|X-A: one|  two|Content-Type: text/html|X-A: three|x-a:four||")
	plain("/raw/no-reason", "HTTP/1.1 200|Content-Type: text/html||")
	plain("/raw/latin", "HTTP/1.1 200 Tr\xe8s bien|Content-Type: text/html|X-Name: caf\xe9 caf\u00e9||")
	plain("/raw/long-head", "HTTP/1.1 200 OK|Content-Type: text/html|X-Long: "+strings.Repeat("x", 900_000)+"||")
	plain("/raw/many", "HTTP/1.1 200 OK|Content-Type: text/html|"+strings.Repeat("X-Many: y|", 5000)+"|")
	plain("/raw/early", "HTTP/1.1 103 Early Hints|Link: </a.css>; rel=preload||HTTP/1.1 102 Processing||HTTP/1.1 200 OK|Content-Type: text/html||")
	plain("/raw/no-type", "HTTP/1.1 200 OK||")
	add("/raw/chunks", "HTTP/1.1 200 OK|Content-Type: text/html|transfer-encoding:  Chunked||", "5;x=y\r\n<p>On\r\n6\r\ne page\r\n0\r\nX-Trailer: t\r\n\r\n", 200, "<p>One page")
	add("/raw/empty-chunks", "HTTP/1.1 404 Not Found|Content-Type: text/html|Transfer-Encoding: chunked||", "0\r\n\r\n", 404, "")
	add("/raw/redirect", "HTTP/1.1 302 Found|Location: /gzip|Content-Length: 4||", "over", 302, "over")
	add("/raw/brotli-chunks", "HTTP/1.1 200 OK|Content-Type: text/html|Content-Encoding: br|Transfer-Encoding: chunked||", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", brotlied.Len(), brotlied.String()), 200, brotlied.String())
	s.heads = map[string]string{}
	links := []string{"/flushed", "/gzip", "/brotli", "/same", "/moved", "/found", "/gone", "/missing", "/empty", "/image", "/pdf", "/large", "/too-long", "/twin", "/h\u00e9llo w\u00f6rld?q=a b&r=%7e", "/feed.xml", "/early"}
	h := func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Type", "text/html; charset=utf-8")
		path := r.URL.Path
		if a, ok := raw[path]; ok && !secure {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			if head := a.head[max(0, strings.LastIndex(a.head, "HTTP/1")):]; !strings.Contains(strings.ToLower(head), "transfer-encoding") && !strings.Contains(path, "cut") {
				var latin []rune
				for i := range len(head) {
					latin = append(latin, rune(head[i]))
				}
				s.mu.Lock()
				s.heads[s.URL+path] = string(latin)
				s.mu.Unlock()
			}
			s.note(r, a.status, []byte(a.body)) // first: the crawl may be over when the connection is closed
			out := bufio.NewWriter(conn)
			out.WriteString(a.head)
			out.WriteString(a.sent)
			out.Flush()
			if tcp, ok := conn.(*net.TCPConn); ok {
				tcp.CloseWrite()
				io.Copy(io.Discard, conn)
			}
			conn.Close()
			return
		}
		say := func(status int, body string) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
		switch path {
		case "/":
			var home strings.Builder
			for _, l := range links {
				fmt.Fprintf(&home, "<a href=%q>%s</a> ", l, l)
			}
			for l := range raw {
				fmt.Fprintf(&home, "<a href=%q>%s</a> ", l, l)
			}
			say(200, page("home", home.String()))
		case "/robots.txt":
			head.Set("Location", "/rules")
			say(302, "")
		case "/rules":
			head.Set("Content-Type", "text/plain")
			say(200, "User-agent: *\nDisallow: /forbidden\nSitemap: "+s.URL+"/sitemap.xml\n")
		case "/sitemap.xml":
			head.Set("Content-Type", "application/xml")
			say(200, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>`+s.URL+`/listed</loc></url></urlset>`)
		case "/feed.xml":
			head.Set("Content-Type", "application/rss+xml")
			say(200, `<rss version="2.0"><channel><title>f</title><item><title>i</title><link>`+s.URL+`/item</link></item></channel></rss>`)
		case "/flushed":
			for part := range strings.SplitAfterSeq(page("flushed", ""), ">") {
				io.WriteString(w, part)
				http.NewResponseController(w).Flush()
			}
		case "/gzip":
			head.Set("Content-Encoding", "gzip")
			say(200, zipped.String())
		case "/brotli":
			head.Set("Content-Encoding", "br")
			say(200, brotlied.String())
		case "/same":
			head.Set("ETag", `"1"`)
			head.Set("Last-Modified", "Mon, 23 Nov 2026 10:00:00 GMT")
			if r.Header.Get("If-None-Match") == `"1"` {
				say(304, "")
				return
			}
			say(200, page("same", ""))
		case "/moved":
			head.Set("Location", "/gzip")
			say(301, "it is there")
		case "/found":
			head.Set("Location", s.URL+"/twin?x=1")
			say(307, "")
		case "/gone":
			say(410, page("gone", ""))
		case "/empty":
			say(204, "")
		case "/image":
			head.Set("Content-Type", "image/png")
			say(200, "\x89PNG\r\n\x1a\n\x00\x01\r\n\r\n")
		case "/pdf":
			head.Set("Content-Type", "application/pdf")
			say(200, "%PDF-1.7\n"+string(noise[:700_000]))
		case "/large": // more than is held in memory
			say(200, page("large", string(noise[:600_000])))
		case "/too-long": // more than --max-body
			body := page("too-long", string(noise))
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			s.note(r, 200, []byte(body[:1<<20]))
			w.(*recorder).ResponseWriter.WriteHeader(200)
			io.WriteString(w.(*recorder).ResponseWriter, body)
		case "/early":
			head.Set("Link", "</a.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			say(200, page("early", ""))
		case "/twin", "/item":
			say(200, page("twin", ""))
		case "/listed", "/h\u00e9llo w\u00f6rld":
			say(200, page(path, ""))
		default:
			say(404, page("missing", ""))
		}
	}
	s.Server = httptest.NewUnstartedServer(s.logging(http.HandlerFunc(h)))
	t.Cleanup(s.Close)
	if !secure {
		s.Start()
		return s, ""
	}
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{}
	s.StartTLS()
	cert = filepath.Join(t.TempDir(), "cert.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(cert, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return s, cert
}
