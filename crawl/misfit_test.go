package crawl

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"forage/store"
)

// TestMisfits crawls sites without any trap whose pages say something of themselves that is not so,
// by a mistake of their templates. All are fetched and listed, also where the visit is cut and goes on.
func TestMisfits(t *testing.T) {
	t.Parallel()
	const n = 120
	article := func(title, head string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!doctype html><head><title>%s</title>%s</head><h1>%s</h1>", title, strings.ReplaceAll(head, "HOST", r.Host), title)
			for i := range 2 {
				fmt.Fprintf(w, "<p>%s</p>", strings.Repeat(fmt.Sprint(title, " says ", i, ". "), 9))
			}
		}
	}
	for _, test := range []struct {
		name, head, at string // what stands in the head, # for the number of a page; where other is
		other          func(i int) http.HandlerFunc
	}{
		{"canonical redirects back", `<link rel="canonical" href="/p/#/">`, "/p/#/", func(i int) http.HandlerFunc { return redirect(301, fmt.Sprint("/p/", i)) }},
		{"canonical is missing", `<link rel="canonical" href="/old/#">`, "", nil},
		{"canonical cannot be had", `<link rel="canonical" href="https://HOST/p/#">`, "", nil},
		{"canonical is one for all", `<link rel="canonical" href="/index.html">`, "/index.html", func(int) http.HandlerFunc { return article("Welcome", "") }},
		{"canonical is home", `<link rel="canonical" href="/">`, "", nil},
		{"all but home ask not to be listed", `<meta name="robots" content="noindex">`, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t)
			var all []string
			number := func(s string, i int) string { return strings.ReplaceAll(s, "#", fmt.Sprint(i)) }
			for i := range n {
				p := fmt.Sprint("/p/", i)
				all = append(all, p)
				w.pages[p] = article(fmt.Sprint("Page ", i), number(test.head, i))
				if test.other != nil {
					w.pages[number(test.at, i)] = test.other(i)
				}
			}
			w.pages["/"] = page("home", all...)
			c := open(t, func(cfg *Config) { cfg.Parallel = 4 })
			for range 20 {
				if r := w.crawlWith(t, c, store.Rules{}, Options{MaxTotal: 50}); r.Cut == "" {
					break
				}
			}
			for _, p := range all {
				if w.count(p) == 0 {
					t.Fatalf("%s was not fetched, after %d requests", p, w.total())
				}
				if d := w.doc(t, c, p); !d.IsListed() {
					t.Fatalf("%s is not listed: %+v", p, d)
				}
			}
		})
	}
}
