package crawl

import (
	"fmt"
	"strings"

	"github.com/cespare/xxhash/v2"

	"forage/crawl/scope"
	"forage/explore/yield"
	"forage/fetch"
	"forage/graph"
	"forage/store"
)

// What has no end is bounded by default, though each page of it may have something of its own and
// its URLs have no group that brings nothing: chains of refreshes, indexes in indexes, pages far from
// the start that say nothing or lead to each other alone, names of parameters and segments of paths
// that are made up. What is beyond a bound is left out with a group as what package yield stops, so that
// status and explain tell of it, and crawl --all fetches it. All of it follows from what the store has
// of the site's documents, from which it is learned anew when a cycle begins.

const (
	maxRefreshes = fetch.MaxRedirects // in a row, as of redirects
	maxIndexes   = 3                  // sitemaps above one; an index may list no index at all by the protocol
	minFar       = 8                  // links from the start; what lies nearer is not looked at
	maxEmpty     = 400                // pages of a kind, or as many as are near, since one brought something: more than a year of days
	maxAlone     = 1000               // links from the start beyond which it counts no more what such pages say themselves
	maxFar       = 10_000             // links from the start beyond which nothing is fetched
	maxKinds     = 1 << 10            // that are known
	maxNear      = 1 << 16            // kinds of which it is known how many lie near
	maxSeen      = 1 << 16            // titles and texts of theirs that are known
)

// bounds are what a cycle knows of what a site makes up.
type bounds struct {
	names    yield.Names
	segments yield.Segments
	kinds    map[string]*kind  // by template
	seen     int               // titles and texts that these hold, at most
	most     int               // the longest row of a kind that was alone
	near     map[uint64]int    // by the hash of a template: pages that lie near the start
	why      map[string]string // by group that was left out
}

// beyond returns the group of a document that lies beyond a bound, and why, for people; "" if it
// lies within. O(1), but that it reads the documents that a chain led through.
func (c *cycle) beyond(d *store.Doc) (group, why string) {
	switch {
	case d.Via == store.ViaRefresh:
		if c.row(d, maxRefreshes, func(by *store.Doc) bool { return by.Via == store.ViaRefresh }) {
			return "refreshes", fmt.Sprintf("chains of more than %d pages that lead on by meta refresh", maxRefreshes)
		}
	case d.Main && d.Via == store.ViaSitemap:
		if c.row(d, maxIndexes, func(by *store.Doc) bool { return by.Kind == store.Sitemap }) {
			return "sitemaps", fmt.Sprintf("indexes in indexes, more than %d deep", maxIndexes)
		}
	}
	if d.Main || scope.Listed(d) || c.worth.named[d.ID] {
		return "", ""
	}
	url := c.place(d.URL)
	if c.bounds.names.Beyond(url) {
		path, _, _ := strings.Cut(scope.Path(d.URL), "?")
		return path + "?…=", "ever new names of parameters"
	}
	if before, ok := c.bounds.segments.Repeats(url); ok {
		return before + "*/…", "the page is the same whatever that segment is"
	}
	if d.Depth <= minFar {
		return "", ""
	}
	template := c.template(url)
	empty := max(maxEmpty, c.bounds.near[xxhash.Sum64String(template)])
	switch k := c.bounds.kinds[template]; {
	case d.Depth > maxFar:
		return "…", fmt.Sprintf("more than %d links from the start", maxFar)
	case k == nil:
	case k.empty >= empty:
		return template, fmt.Sprintf("%d pages in a row say nothing but where they are", empty)
	case k.alone >= maxEmpty && d.Depth > maxAlone:
		return template, fmt.Sprintf("more than %d pages in a row that lead to each other alone", maxAlone)
	}
	return "", ""
}

// row reports whether n documents in a row led to d, each of which is like that.
func (c *cycle) row(d *store.Doc, n int, like func(*store.Doc) bool) bool {
	for range n {
		if d.FoundOn == graph.None {
			return false
		}
		by, err := c.crawl().doc(d.FoundOn)
		if err != nil || !like(by) {
			return false
		}
		d = by
	}
	return true
}

// A kind is what is known of the pages of one template that lie far from the start.
type kind struct {
	seen  map[uint64]bool // hashes of titles without their numbers, and of texts
	empty int             // pages since one that said something, or led to another kind's that did
	alone int             // pages since one that led to another kind's that said something
}

// kindOf returns what is known of the pages that are like one at this place; nil where there are too
// many kinds.
func (c *cycle) kindOf(url string) *kind {
	b, template := &c.bounds, c.template(url)
	k := b.kinds[template]
	if k == nil && len(b.kinds) < maxKinds {
		if b.kinds == nil {
			b.kinds = map[string]*kind{}
		}
		k = &kind{seen: map[uint64]bool{}}
		b.kinds[template] = k
	}
	return k
}

// template is what the URLs of a kind of pages have in common: all but their numbers, or, where they have
// none, what package yield takes for their template.
func (c *cycle) template(url string) string {
	if masked := numberless(url); masked != url {
		return masked
	}
	return c.worth.site.Template(url)
}

// says reports whether a page tells what none of its kind has told: by its title, numbers apart, or a
// text. Names of months and weekdays run out.
func (c *cycle) says(k *kind, d *store.Doc) (says bool) {
	b := &c.bounds
	for i, h := range [...]uint64{xxhash.Sum64String(numberless(d.Title)), uint64(d.Passages[0])} {
		if k.seen[h] || i > 0 && d.Passages[0] == 0 {
			continue
		}
		says = true
		if b.seen++; b.seen > maxSeen { // no bound is meant for a site with so many texts
			b.seen = 0
			for _, k := range b.kinds {
				clear(k.seen)
			}
		}
		k.seen[h] = true
	}
	return says
}

// near takes in a page near the start that was fetched. Of a kind without end most pages lie far from there.
// Of one that has an end, and says nothing but numbers, some lie beyond minFar as well, and how many depends on which answers
// came first: it is bounded only where these are more than those that are near.
func (c *cycle) near(d *store.Doc) {
	h := xxhash.Sum64String(c.template(c.place(d.URL)))
	if n := c.bounds.near[h]; n > 0 || len(c.bounds.near) < maxNear {
		if c.bounds.near == nil {
			c.bounds.near = map[uint64]int{}
		}
		c.bounds.near[h] = n + 1
	}
}

// far takes in a page far from the start that was fetched.
func (c *cycle) far(d *store.Doc) {
	url := c.place(d.URL)
	k := c.kindOf(url)
	if k == nil {
		return
	}
	k.empty++
	k.alone++
	c.bounds.most = max(c.bounds.most, k.alone)
	if !c.says(k, d) {
		return
	}
	k.empty = 0
	if c.bounds.most < maxEmpty/4 || d.FoundOn == graph.None {
		return
	}
	by, err := c.crawl().doc(d.FoundOn)
	if err != nil {
		return
	}
	if from := c.place(by.URL); c.template(from) != c.template(url) {
		if k := c.kindOf(from); k != nil {
			k.empty, k.alone = 0, 0
		}
	}
}

// numberless is a text with each number replaced by #.
func numberless(s string) string {
	isDigit := func(i int) bool { return s[i] >= '0' && s[i] <= '9' }
	n := 0
	for n < len(s) && !isDigit(n) {
		n++
	}
	if n == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:n]...)
	for i := n; i < len(s); i++ {
		switch {
		case !isDigit(i):
			b = append(b, s[i])
		case i == n || !isDigit(i-1):
			b = append(b, '#')
		}
	}
	return string(b)
}

// bound takes in a page that was fetched for the first time.
func (c *cycle) bound(d *store.Doc) {
	if c.worth.off || d.Kind != store.Page {
		return
	}
	if d.Depth > minFar {
		c.far(d)
	} else {
		c.near(d)
	}
	if d.Title != "" && d.Passages[0] != 0 {
		c.bounds.segments.Fetched(c.place(d.URL), xxhash.Sum64String(d.Title)^uint64(d.Passages[0])<<32^uint64(d.Passages[1]))
	}
}
