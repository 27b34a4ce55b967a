package crawl

import (
	"fmt"
	"testing"

	"forage/internal/software"
	"forage/store"
)

// TestFrontPage publishes a strip a week at a comic whose front page is the latest one: each is told as
// new at its own address, within the week, and none is lost as a copy of the front page.
func TestFrontPage(t *testing.T) {
	w := newWeb(t)
	w.pages["/robots.txt"], w.pages["/sitemap.xml"] = plain(""), status(404)
	publish := func(n int) {
		strip := page(fmt.Sprintf("strip %d", n), fmt.Sprintf("/comic/%d", n), fmt.Sprintf("/comic/%d", n-1))
		w.set(fmt.Sprintf("/comic/%d", n), strip)
		w.set("/", strip)
		w.set("/index.html", strip)
	}
	w.set("/comic/0", page("strip 0", "/comic/1", "/index.html"))
	for n := range 9 {
		publish(n + 1)
	}
	c := open(t, func(cfg *Config) { cfg.Parallel, cfg.At = 1, software.Start })
	w.crawl(t, c, store.Rules{})
	for n := 10; n < 16; n++ {
		c.cfg.At = c.cfg.At.Add(software.Week)
		publish(n)
		if r := w.revisit(t, c, budgeted(5)); r.NewPages != 1 {
			t.Errorf("strip %d: %d new pages", n, r.NewPages)
		}
		d := w.doc(t, c, fmt.Sprintf("/comic/%d", n))
		if d.New != store.IsNew || !d.IsListed() {
			t.Errorf("strip %d: new %v, a copy of %d", n, d.New, int32(d.DuplicateOf))
		}
		c.cfg.At = c.cfg.At.Add(software.Week / 7)
		if r := w.revisit(t, c, budgeted(20)); r.NewPages != 0 { // nothing has happened since, and everything is read
			t.Errorf("a day after strip %d: %d new pages", n, r.NewPages)
		}
	}
	listed := pagesOf(t, c.View(), func(d *store.Doc) bool { return d.IsListed() })
	for n := range 16 {
		if path := fmt.Sprintf("/comic/%d", n); !listed[path] {
			t.Errorf("%s is not listed", path)
		}
	}
	if listed["/index.html"] {
		t.Error("the front page is listed twice")
	}
}
