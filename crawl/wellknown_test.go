package crawl

import (
	"context"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"slices"
	"strings"
	"testing"

	"forage/store"
)

// TestAbsentSitemap visits a site without sitemap again and again: /sitemap.xml, which nothing
// names, is asked for in ever fewer cycles of the site, in each full recrawl, and at once when
// robots.txt names it anew.
func TestAbsentSitemap(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home")
	c := open(t, nil)
	asked := func(uri string, cycle func()) bool {
		t.Helper()
		before := w.count(uri)
		cycle()
		n := w.count(uri) - before
		if n > 1 {
			t.Fatalf("%s was asked for %d times in one cycle", uri, n)
		}
		return n == 1
	}
	other := strings.Replace(w.URL, "127.0.0.1", "localhost", 1) + "/"
	name := strings.TrimSuffix(strings.TrimPrefix(w.URL, "http://"), "/")
	revisit := func() {
		t.Helper()
		w.revisit(t, c, plan.Plan{Sites: []string{name}, Budget: func(int) int { return 1 }})
	}
	full := func() { t.Helper(); w.revisit(t, c, plan.Plan{Sites: []string{name}, Full: true}) }

	w.set("/robots.txt", uncached(status(404))) // each cycle asks for it anew
	if !asked("/sitemap.xml", func() { w.crawl(t, c, store.Rules{}) }) {
		t.Error("the first visit did not ask")
	}
	if _, err := c.Run(context.Background(), []scope.Seed{{URL: other}}, Options{}); err != nil {
		t.Fatal(err)
	}
	var in []int
	for i := 1; i < 130; i++ { // cycles of this site after its first visit
		if asked("/sitemap.xml", revisit) {
			in = append(in, i)
		}
		if i < 4 { // cycles of another site do not count
			w.revisit(t, c, plan.Plan{Sites: []string{"localhost" + name[strings.IndexByte(name, ':'):]}, Budget: func(int) int { return 0 }})
		}
	}
	if want := []int{1, 3, 7, 15, 31, 63, 95, 127}; !slices.Equal(in, want) {
		t.Errorf("asked for in cycles %v after the first, want %v", in, want)
	}
	if !asked("/sitemap.xml", full) || asked("/sitemap.xml", revisit) {
		t.Error("want it asked for in a full recrawl, and not in the cycle after it")
	}

	// Named by robots.txt, it is asked for at once, and then as before.
	w.set("/robots.txt", uncached(plain("Sitemap: http://HOST/sitemap.xml\nSitemap: http://HOST/news.xml\n")))
	if !asked("/sitemap.xml", func() {
		if !asked("/news.xml", revisit) {
			t.Error("/news.xml, newly named, was not asked for")
		}
	}) {
		t.Error("/sitemap.xml, newly named, was not asked for")
	}
	in = nil
	for i := 1; i < 8; i++ {
		if asked("/news.xml", revisit) {
			in = append(in, i)
		}
	}
	if want := []int{1, 3, 7}; !slices.Equal(in, want) {
		t.Errorf("/news.xml was asked for in cycles %v after it was named, want %v", in, want)
	}
	w.set("/robots.txt", uncached(plain("User-agent: *")))
	if asked("/sitemap.xml", revisit) {
		t.Error("/sitemap.xml was asked for when it was named no more")
	}
	w.set("/robots.txt", uncached(plain("Sitemap: http://HOST/sitemap.xml")))
	w.set("/sitemap.xml", urlset("/listed"))
	w.set("/listed", page("listed"))
	if !asked("/listed", revisit) || w.doc(t, c, "/listed").New != store.IsNew {
		t.Error("what a sitemap named anew lists was not found")
	}
}
