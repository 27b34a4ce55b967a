package crawl

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"forage/crawl/scope"
	"forage/store"
)

// TestOriginals has a shop link to most of its products below its categories only, at addresses that
// name another one as canonical: once these are left out as copies the originals are tried, as long as
// that leads to something.
func TestOriginals(t *testing.T) {
	const categories, products, known = 2, 500, 100
	linked := func(name string) bool {
		var n int
		_, err := fmt.Sscanf(name, "p-%d.html", &n)
		return err == nil && n < known
	}
	for _, test := range []struct {
		name  string
		there bool // the originals that nothing links to
		most  int  // requests
	}{{"found", true, 600}, {"not there", false, 280}} {
		t.Run(test.name, func(t *testing.T) {
			asked := map[string]int{}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked[r.URL.Path]++
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
				name := parts[len(parts)-1]
				switch {
				case r.URL.Path == "/":
					for n := range known {
						fmt.Fprintf(w, `<a href="/p-%d.html">p</a>`, n)
					}
					for i := range categories {
						fmt.Fprintf(w, `<a href="/c%d">c</a>`, i)
					}
				case len(parts) == 1 && name[0] == 'c':
					for n := range products {
						fmt.Fprintf(w, `<a href="/%s/p-%d.html">p</a>`, name, n)
					}
				case len(parts) == 2, len(parts) == 1 && name[0] == 'p' && (test.there || linked(name)):
					fmt.Fprintf(w, `<link rel="canonical" href="http://%s/%s"><title>%[2]s</title><p>All that there is to be said about %[2]s.</p>`, r.Host, name)
				default:
					http.NotFound(w, r)
				}
			}))
			defer srv.Close()
			c := openLoopback(t, 1)
			if _, err := c.Run(t.Context(), []scope.Seed{{URL: srv.URL + "/"}}, Options{}); err != nil {
				t.Fatal(err)
			}
			listed := map[string]bool{}
			if err := c.View().SiteDocs(1, func(d *store.Doc) bool {
				if d.IsListed() {
					listed[d.URL[strings.LastIndexByte(d.URL, '/')+1:]] = true
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
			missing := 0
			for n := range products {
				if !listed[fmt.Sprintf("p-%d.html", n)] {
					missing++
				}
			}
			if test.there && missing > 0 {
				t.Errorf("%d of %d products are missing", missing, products)
			}
			if len(asked) > test.most {
				t.Errorf("%d requests, want at most %d", len(asked), test.most)
			}
			t.Logf("%d requests, %d products missing", len(asked), missing)
		})
	}
}
