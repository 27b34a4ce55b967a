package crawl

import (
	"fmt"
	"strings"
	"testing"

	"forage/crawl/scope"
	"forage/internal/race"
	"forage/store"
)

// held is how many documents may be in line or under way when a list is doubted.
const held = 64 + 16

// TestPoisonedSitemap crawls a site whose sitemap index names thousands of URLs that are not
// there, and 3 that are: the chain of real pages is fetched with a bounded waste, then all else.
func TestPoisonedSitemap(t *testing.T) {
	race.Skip(t)
	const chain, maps, each = 300, 200, 10
	w := newWeb(t)
	w.pages["/robots.txt"] = plain("Sitemap: http://HOST/index.xml\n")
	w.pages["/index.xml"] = index(maps)
	fake := map[string]bool{}
	for m := range maps {
		var list []string
		for k := range each {
			list = append(list, fmt.Sprintf("/fake/%d/%d", m, k))
			fake[list[k]] = true
		}
		switch m {
		case 40: // a page of the chain that a list names long before its time
			list[each-1] = fmt.Sprint("/", chain-1)
		case maps - 1:
			list[0], list[1], list[2] = "/real/0", "/real/1", "/real/2"
		}
		w.pages[fmt.Sprintf("/map%d.xml", m)] = urlset(list...)
	}
	w.pages["/"] = page("home", "/0")
	for i := range chain {
		w.pages[fmt.Sprint("/", i)] = page(fmt.Sprint(i), fmt.Sprint("/", i+1))
	}
	w.pages[fmt.Sprint("/", chain-1)] = page("the end")
	for i := range 3 {
		w.pages[fmt.Sprint("/real/", i)] = page(fmt.Sprint("real ", i))
	}
	asked := func() (fakes, lists int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for uri, n := range w.asked {
			switch {
			case n > 1 && uri != "/robots.txt":
				t.Errorf("%s was asked for %d times", uri, n)
			case strings.HasPrefix(uri, "/fake/"):
				fakes += n
			case strings.HasPrefix(uri, "/map"):
				lists += n
			}
		}
		return fakes, lists
	}
	c := open(t, nil)
	r := w.crawl(t, c, store.Rules{MaxPages: chain + 1})
	fakes, lists := asked()
	if r.Pages != chain+1 || fakes < scope.MinTried || fakes > scope.MinTried+held || lists > scope.Untried+held {
		t.Errorf("%d pages, %d requests in vain, %d lists; want %d, some %d, some %d", r.Pages, fakes, lists, chain+1, scope.MinTried, scope.Untried)
	}
	d := w.doc(t, c, "/map150.xml")
	if d.State != store.Queued || d.Reason != reasonDeferred {
		t.Errorf("/map150.xml is %v, %q", d.State, d.Reason)
	}
	site, err := c.View().Site(1)
	if err != nil || len(site.Traps) != 1 || !strings.Contains(site.Traps[0], "/index.xml") {
		t.Errorf("status tells of %q, %v", site.Traps, err)
	}
	// Nothing is lost, or fetched twice.
	r = w.crawl(t, c, store.Rules{})
	fakes, lists = asked()
	left := 0 // after hundreds that were not there
	if site, err = c.View().Site(1); err != nil {
		t.Fatal(err)
	}
	for _, g := range site.LeftOut {
		left += int(g.URLs)
	}
	if r.Pages != 3 || fakes+left != maps*each-4 || fakes < 500 || lists != maps {
		t.Errorf("then %d pages, %d requests in vain, %d left out, %d lists; want 3, %d in all, %d", r.Pages, fakes, left, lists, maps*each-4, maps)
	}
}

// TestFairSitemap crawls a site whose sitemap is wrong in nine of ten URLs: that is no poison.
func TestFairSitemap(t *testing.T) {
	w := newWeb(t)
	var list []string
	for i := range 1000 {
		p := fmt.Sprint("/", i)
		if list = append(list, p); i%10 == 0 {
			w.pages[p] = page(p)
		}
	}
	w.pages["/"] = page("home")
	w.pages["/sitemap.xml"] = urlset(list...)
	c := open(t, nil)
	if r := w.crawl(t, c, store.Rules{MaxPages: 80}); r.Pages < 80 {
		t.Errorf("%d pages, want 80", r.Pages)
	}
	site, err := c.View().Site(1)
	if err != nil || len(site.Traps) != 0 {
		t.Errorf("status tells of %q, %v", site.Traps, err)
	}
}
