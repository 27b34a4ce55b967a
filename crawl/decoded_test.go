package crawl

import (
	"fmt"
	"testing"
	"testing/synctest"

	"forage/store"
)

// TestDecodedOnce counts the records that a first visit decodes: one for each document, when it
// is offered to the frontier, one each for what is looked up when it becomes known, the seed and
// the sitemap that nothing names, the home page once more when that sitemap is not there: whether
// the whole site is away, and the seed when the visit begins. However many links lead to a document makes no difference.
func TestDecodedOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		pages, links int // of each page
	}{{"one links to all", 500, 0}, {"a chain", 100, 1}, {"all link to all", 100, 100}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				w.tree("/", test.pages-1)
				for i := range test.pages - 1 {
					var links []string
					for k := range test.links {
						links = append(links, fmt.Sprint("/", (i+k+1)%(test.pages-1)))
					}
					w.set(fmt.Sprint("/", i), page(fmt.Sprint(i), links...))
				}
				if test.links == 1 {
					w.set("/", page("home", "/0"))
				}
				c := open(t, nil)
				r := w.crawl(t, c, store.Rules{})
				if r.Known != int64(test.pages) || r.Fetched != r.Known+1 {
					t.Fatalf("%+v", r)
				}
				if n := c.db.Decoded(); n > r.Fetched+4 {
					t.Errorf("%d records were decoded for %d documents", n, r.Fetched)
				}
			})
		})
	}
}
