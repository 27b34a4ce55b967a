package crawl

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/store"
)

// TestUse: what a site says of the use of a page is kept with it. What the next fetch says replaces it, a 304 that
// says nothing and an error change nothing, and a 304 that says something replaces that; robots.txt says what its latest version does. What
// is told as new does not depend on it.
func TestUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		says := func(status int, header, head string) {
			w.set("/a", func(rw http.ResponseWriter, r *http.Request) {
				for line := range strings.SplitSeq(header, "\n") {
					if k, v, ok := strings.Cut(line, ": "); ok {
						rw.Header().Add(k, v)
					}
				}
				rw.Header().Set("ETag", `"1"`)
				rw.Header().Set("Content-Type", "text/html")
				if rw.WriteHeader(status); status == 200 {
					rw.Write([]byte("<title>a</title>" + head + "<p>Some text.<a href=/>home</a>"))
				}
			})
		}
		w.set("/", page("home", "/a", "/b"))
		w.set("/b", page("b", "/"))
		w.set("/robots.txt", uncached(plain("User-agent: *\nContent-Usage: /a train-ai=n\nContent-Signal: ai-train=no\n")))
		says(200, "X-Robots-Tag: forage: noarchive\nX-Robots-Tag: other: none\nContent-Usage: search=n\ntdm-reservation: 0",
			`<meta name=Forage content=noindex><meta name=tdm-reservation content=1><meta name=tdm-policy content=https://ex.test/p><link rel=license href=/l>`)
		c := open(t, nil)
		w.crawl(t, c, store.Rules{})
		check := func(path, when, want string) {
			t.Helper()
			id, err := c.View().Find(w.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			d, err := c.View().Doc(id)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(d.Use, w.URL, ""); got != want || !d.UseKnown {
				t.Errorf("%s, %s is said (known %v):\n%swant\n%s", when, path, d.UseKnown, got, want)
			}
		}
		robots := "robots.txt usage train-ai=n\nrobots.txt signal ai-train=no\n"
		body := "page robots noindex\npage tdm 1\npage policy https://ex.test/p\npage license /l\n"
		check("/a", "first", "header robots noarchive\nheader tdm 0\nheader usage search=n\n"+body+robots)
		check("/b", "first", "robots.txt signal ai-train=no\n")
		again := func() {
			time.Sleep(time.Hour)
			w.revisit(t, c, plan.Plan{Policy: "round-robin", Full: true})
		}
		says(304, "", "")
		again()
		check("/a", "after a 304", "header robots noarchive\nheader tdm 0\nheader usage search=n\n"+body+robots)
		says(304, "Content-Usage: search=y\nX-Robots-Tag: noindex", "")
		again()
		check("/a", "after a 304 that says something", "header robots noindex\nheader tdm 0\nheader usage search=y\n"+body+robots)
		says(500, "X-Robots-Tag: none", "")
		again()
		check("/a", "after an error", "header robots noindex\nheader tdm 0\nheader usage search=y\n"+body+robots)
		w.set("/robots.txt", status(404))
		says(200, "", "<meta name=robots content=NOCACHE>")
		again()
		check("/a", "after another body", "page robots noarchive\n")
		says(200, "", "")
		again()
		check("/a", "after one that says nothing", "")

		w.set("/", page("home", "/a", "/b", "/new"))
		w.set("/new", page(`new<meta name=robots content=noarchive>`, "/"))
		after := c.db.LastEvent()
		again()
		check("/new", "found later", "page robots noarchive\n")
		told := 0
		if err := c.View().Events(after, func(e *store.Event) bool {
			if e.Type == store.PageNew {
				if told++; e.Use != "page robots noarchive\n" {
					t.Errorf("the event says %q", e.Use)
				}
			}
			return true
		}); err != nil || told != 1 {
			t.Errorf("%d pages told as new, want 1: %v", told, err)
		}
	})
}
