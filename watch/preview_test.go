package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPreview looks at a site that says much of itself, at one that says nothing, and at what cannot be added.
func TestPreview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var asked []string
		var times []time.Time
		base := ""
		web := lan.Server("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked, times = append(asked, r.URL.Path), append(times, time.Now())
			mu.Unlock()
			today := time.Now().UTC().Format("2006-01-02")
			switch r.URL.Path {
			case "/robots.txt":
				fmt.Fprintf(w, "User-agent: *\nDisallow: /secret\nCrawl-delay: 2\nSitemap: %s/index.xml\nSitemap: %[1]s/secret.xml\nSitemap: %[1]s/gone.xml\n", base)
			case "/index.xml":
				fmt.Fprintf(w, `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
				for i := range 5 {
					fmt.Fprintf(w, "<sitemap><loc>%s/map%d.xml</loc></sitemap>", base, i)
				}
				fmt.Fprint(w, "</sitemapindex>")
			case "/map0.xml", "/map1.xml":
				fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
				for _, u := range []string{base + "/both", base + r.URL.Path + "/own", base + "/tag/x", "http://elsewhere.test/"} {
					fmt.Fprintf(w, "<url><loc>%s</loc><lastmod>%s</lastmod></url>", u, map[bool]string{true: today, false: "1990-01-01"}[strings.HasSuffix(u, "/both")])
				}
				fmt.Fprint(w, "</urlset>")
			default:
				http.NotFound(w, r)
			}
		}))
		defer web.Close()
		base = web.URL
		bare := newBlog(t, 2)
		defer bare.Close()
		w := begin(t, t.TempDir(), "sites: []")
		defer w.stop()
		settings := func(u string, more string) json.RawMessage {
			return json.RawMessage(fmt.Sprintf(`{"url": %q, "allow-private": ["127.0.0.0/8"], "exclude": ["/tag/"] %s}`, u, more))
		}
		p, err := w.Preview(t.Context(), settings(base+"/", ""))
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"/robots.txt", "/index.xml", "/gone.xml", "/map0.xml", "/map1.xml"}; !slices.Equal(asked, want) {
			t.Errorf("asked for %q, want %q", asked, want)
		}
		for i := 1; i < len(times); i++ {
			if gap := times[i].Sub(times[i-1]); gap < 2*time.Second {
				t.Errorf("%s came %v after %s, robots.txt asks for 2 s", asked[i], gap, asked[i-1])
			}
		}
		if p.Robots.Status != 200 || !p.Robots.Allowed || p.Delay != 2*time.Second || len(p.Lists) != 4 || p.Left != 3 || p.URLs != 3 || p.Dated != 3 || p.Recent != 1 {
			t.Errorf("Preview = %+v", p)
		}
		if l := p.Lists[2]; l.Kind != "sitemap" || l.Entries != 4 || l.Ours != 2 || l.Problem != "" || p.Lists[1].Problem == "" {
			t.Errorf("lists: %+v", p.Lists)
		}
		if p, err := w.Preview(t.Context(), settings(base+"/secret/", "")); err != nil || p.Robots.Allowed {
			t.Errorf("Preview of what robots.txt forbids = %+v, %v", p, err)
		}
		if p, err := w.Preview(t.Context(), settings(bare.URL+"/", "")); err != nil || p.URLs != 0 || len(p.Lists) != 1 || p.Lists[0].Problem == "" {
			t.Errorf("Preview of a site without lists = %+v, %v", p, err)
		}
		hangs := lan.Server("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		defer hangs.Close()
		if p, err := w.Preview(t.Context(), settings(hangs.URL+"/", "")); err != nil || p.Robots.Problem == "" || p.Robots.Allowed || len(p.Lists) != 0 {
			t.Errorf("Preview of a site that hangs = %+v, %v", p, err)
		}
		if len(w.Sites()) != 0 {
			t.Errorf("looks added sites: %+v", w.Sites())
		}
		if urls, err := w.Crawl.View().NumURLs(); err != nil || urls != 0 {
			t.Errorf("looks stored %d URLs, %v", urls, err)
		}
		if _, err := w.Preview(t.Context(), json.RawMessage(`{"url": "ftp://x.test/"}`)); !errors.Is(err, ErrInvalid) {
			t.Errorf("Preview of ftp: %v", err)
		}
		if _, err := w.Add([]json.RawMessage{settings(bare.URL+"/", "")}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Preview(t.Context(), settings(bare.URL+"/", "")); !errors.Is(err, ErrExists) {
			t.Errorf("Preview of a site that is watched: %v", err)
		}
	})
}
