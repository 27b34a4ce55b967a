package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// A web is sites on addresses of their own in 127.0.0.0/8, all of them answered by one listener. The home page of
// each links to all of its pages, which are published one by one.
type web struct {
	server *http.Server
	port   int

	mu       sync.Mutex
	pages    []int                // of each site
	answered map[string]time.Time // by URL: when its first answer had been sent
}

// newWeb serves sites of so many pages each.
func newWeb(sites, pages int) (*web, error) {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		return nil, err
	}
	w := &web{port: l.Addr().(*net.TCPAddr).Port, pages: make([]int, sites), answered: map[string]time.Time{}}
	for i := range w.pages {
		w.pages[i] = pages
	}
	w.server = &http.Server{Handler: http.HandlerFunc(w.serve), ReadHeaderTimeout: time.Minute}
	go w.server.Serve(l)
	return w, nil
}

// home is the URL of a site.
func (w *web) home(site int) string {
	n := site + 1
	return fmt.Sprintf("http://%s:%d/", netip.AddrFrom4([4]byte{127, 1, byte(n >> 8), byte(n)}), w.port)
}

// site is the number of the site that a request is for, -1: of none.
func (w *web) site(r *http.Request) int {
	a, err := netip.ParseAddrPort(r.Host)
	if err != nil || !a.Addr().Is4() {
		return -1
	}
	b := a.Addr().As4()
	if n := int(b[2])<<8 + int(b[3]) - 1; b[1] == 1 && n >= 0 && n < len(w.pages) {
		return n
	}
	return -1
}

func (w *web) serve(out http.ResponseWriter, r *http.Request) {
	site := w.site(r)
	if site < 0 {
		http.NotFound(out, r)
		return
	}
	w.mu.Lock()
	pages := w.pages[site]
	w.mu.Unlock()
	var b strings.Builder
	page := 0
	switch _, err := fmt.Sscanf(r.URL.Path, "/page-%d", &page); {
	case r.URL.Path == "/":
		fmt.Fprintf(&b, "<!doctype html><html lang=en><title>Site %d</title><h1>What there is</h1><ul>", site)
		for i := pages - 1; i >= 0; i-- {
			fmt.Fprintf(&b, "<li><a href=/page-%d>Page %d of %d</a>", i, i, site)
		}
	case err == nil && page >= 0 && page < pages:
		fmt.Fprintf(&b, "<!doctype html><html lang=en><title>Page %d of %d</title><h1>Page %d</h1>", page, site, page)
		for i := range 8 {
			fmt.Fprintf(&b, "<p>Of matter %d-%d-%d a word is said here, and no other page says it.", site, page, i)
		}
		fmt.Fprint(&b, "<p><a href=/>Home</a>")
	default:
		http.NotFound(out, r)
		return
	}
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	out.Header().Set("Content-Length", fmt.Sprint(b.Len()))
	w.mu.Lock() // who has the answer and asks since when waits until that is noted
	defer w.mu.Unlock()
	io.WriteString(out, b.String())
	http.NewResponseController(out).Flush()
	now, url := time.Now(), "http://"+r.Host+r.URL.Path
	if _, again := w.answered[url]; !again && r.URL.Path != "/" {
		w.answered[url] = now
	}
}

// publish publishes further pages at a site.
func (w *web) publish(site, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[site] += n
}

// since is how long ago the first answer for a page was sent. ok is false where none was.
func (w *web) since(url string) (d time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.answered[url]
	return time.Since(at), ok
}

// stop serves nothing any more.
func (w *web) stop() error { return w.server.Close() }
