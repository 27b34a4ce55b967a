package crawl

import (
	"fmt"
	"strings"
	"testing"

	"forage/crawl/plan"
	"forage/store"
)

// poor is a web of which a first visit leaves most out: views of pages that ask not to be listed.
func poor(t *testing.T, n int) (w *web, c *Crawl, left []string) {
	t.Helper()
	w = newWeb(t)
	w.pages["/robots.txt"], w.pages["/sitemap.xml"] = plain("Sitemap: http://HOST/sitemap.xml\n"), urlset("/")
	var links []string
	for i := range n {
		p := fmt.Sprintf("/%d-view/all", i)
		links = append(links, p)
		w.pages[p] = noindexed("page "+strings.Repeat(string(rune('a'+i%26)), 1+i), p)
	}
	w.pages["/"] = page("home", links...)
	c = open(t, nil)
	w.crawl(t, c, store.Rules{})
	for _, p := range links {
		if w.count(p) == 0 {
			left = append(left, p)
		}
	}
	if len(left) < 40 {
		t.Fatalf("%d of %d are left out", len(left), n)
	}
	return w, c, left
}

// TestReadmitted: what is left out and a sitemap names later is tried, a few of them, and where these
// are pages by now everything of their group is fetched; where they are not, it stays left out. A
// budgeted cycle does so within its budget.
func TestReadmitted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		pages   bool // what was left out are pages by now
		p       plan.Plan
		from    int // requests for what was left out
		most    int
		waiting bool // the rest is in line
	}{
		{"full recrawl", true, plan.Plan{Full: true}, 1000, 1000, false},
		{"full recrawl, as before", false, plan.Plan{Full: true}, 1, 3, false},
		{"budgeted", true, plan.Plan{Budget: func(int) int { return 20 }, Text: "20", Policy: "feeds-first"}, 0, 0, true},
		{"budgeted, with room", true, plan.Plan{Budget: func(int) int { return 90 }, Text: "90", Policy: "feeds-first"}, 2, 26, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w, c, left := poor(t, 120)
			if test.pages {
				for i, p := range left {
					w.set(p, page(fmt.Sprintf("page %d, which has something to say by now: %s", i, strings.Repeat(fmt.Sprint("word", i, " "), 30))))
				}
			}
			w.set("/sitemap.xml", urlset(append([]string{"/"}, left[len(left)-8:]...)...))
			if r := w.revisit(t, c, test.p); r.NewPages > 0 {
				t.Errorf("%d new pages, though all were known", r.NewPages)
			}
			asked, queued, out := 0, 0, int64(0)
			for _, p := range left {
				asked += w.count(p)
				switch d := w.doc(t, c, p); d.State {
				case store.Queued:
					queued++
				case store.Skipped:
					out++
				}
			}
			if asked < min(test.from, len(left)) || asked > test.most || (queued > 0) != test.waiting {
				t.Errorf("%d of %d that were left out were asked for, %d are in line", asked, len(left), queued)
			}
			site, err := c.View().Site(1)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range site.LeftOut {
				out -= g.URLs
			}
			if out != 0 {
				t.Errorf("%d are left out more than is told", out)
			}
		})
	}
}
