//go:build ignore

// Serve is the three small sites that the store of an old release is made from. They grow with
// a version that POST /-/version?at=K sets; from version 5 on the third one does not answer
// /news/… any more, so that a crawl can be killed in the middle of a cycle.
package main

import (
	"fmt"
	"log"
	"net/http"
	"strings"
	"sync/atomic"
)

const first = 18471 // port of the first site

var version, stuck atomic.Int64

func main() {
	for site := range 3 {
		s := &http.Server{Addr: fmt.Sprint("127.0.0.1:", first+site), Handler: handler(site)}
		if site == 2 {
			log.Fatal(s.ListenAndServe())
		}
		go func() { log.Fatal(s.ListenAndServe()) }()
	}
}

func handler(site int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k := int(version.Load())
		if r.URL.Path == "/-/version" {
			if r.Method == http.MethodPost {
				fmt.Sscan(r.FormValue("at"), &k)
				version.Store(int64(k))
			}
			fmt.Fprintln(w, version.Load(), stuck.Load())
			return
		}
		if k >= 5 && site == 2 && strings.HasPrefix(r.URL.Path, "/news/") {
			stuck.Add(1)
			<-r.Context().Done()
			return
		}
		title, links, ok := page(site, k, r.URL.Path)
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("ETag", fmt.Sprintf(`"%d-%d"`, site, len(links)))
		fmt.Fprintf(w, "<html><head><title>%s</title></head><body><h1>%s</h1><ul>\n", title, title)
		for _, l := range links {
			fmt.Fprintf(w, "<li><a href=%q>%s</a></li>\n", l, l)
		}
		fmt.Fprint(w, "</ul></body></html>\n")
	})
}

// page returns a page of a site in version k. There are 4 articles at first and 2 more in each
// version, but only one at the second site; an article is linked by the list of its section,
// /news/1 to /news/3. The second site loses one article in version 2.
func page(site, k int, path string) (title string, links []string, ok bool) {
	articles := 4 + 2*k
	if site == 1 {
		articles = 4 + k
	}
	var n int
	switch {
	case path == "/":
		for s := 1; s <= 3; s++ {
			links = append(links, fmt.Sprint("/news/", s))
		}
		return fmt.Sprint("Site ", site), append(links, "/about", fmt.Sprintf("http://127.0.0.1:%d/", first+(site+1)%3)), true
	case path == "/about", path == "/impressum":
		return "About", []string{"/", "/impressum"}, true
	case strings.HasPrefix(path, "/news/"):
		if _, err := fmt.Sscan(path[6:], &n); err != nil || n < 1 || n > 3 {
			return "", nil, false
		}
		for a := n; a <= articles; a += 3 {
			if site != 1 || a != 2 || k < 2 {
				links = append(links, fmt.Sprint("/article/", a))
			}
		}
		return fmt.Sprint("News ", n), links, true
	case strings.HasPrefix(path, "/article/"):
		if _, err := fmt.Sscan(path[9:], &n); err != nil || n < 1 || n > articles || site == 1 && n == 2 && k >= 2 {
			return "", nil, false
		}
		return fmt.Sprint("Article ", n), []string{"/", fmt.Sprint("/news/", 1+(n-1)%3)}, true
	}
	return "", nil, false
}
