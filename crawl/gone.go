package crawl

import (
	"cmp"
	"slices"

	"forage/crawl/novelty"
	"forage/graph"
	"forage/store"
)

// gone takes in an answer that says that the document is not there.
func (a *answer) gone(status int) {
	novelty.Gone(a.doc, status, a.rec.Cycle, a.crawl().now(), a.site.rootAnswers(a.doc))
}

// wholeList is how many other lists one counts for that names all pages of a site.
const wholeList = 4

// compare notes what the links of the document, in two versions, say of others: those that lists
// dropped are suspected to be gone, and what is linked to newly is new where nobody could tell.
func (a *answer) compare(old, now []store.Link) {
	c := a.cycle
	c.sights.Lost(old, now)
	for _, id := range novelty.Dropped(old, now, func(to graph.Node) bool { return to < c.from }) {
		n := 1
		if a.doc.Kind == store.Sitemap { // it names all there is, and others a part
			n = wholeList
		}
		a.drop(c.crawl().pageOf(id), n)
	}
	for _, id := range novelty.Gained(old, now) {
		a.confirm(id)
	}
}

// pageOf returns the page that a document is a copy of, or itself.
func (c *Crawl) pageOf(id graph.Node) graph.Node {
	d, err := c.doc(id)
	if err != nil {
		c.fail(err)
	} else if d.Repeats() {
		return d.DuplicateOf
	}
	return id
}

// maySuspect reports whether a document is a page that may be gone for all that this cycle has seen.
func (c *cycle) maySuspect(d *store.Doc) bool {
	return d.Site == c.site.ID && d.IsListed() && d.Alive() && d.FetchedIn != c.rec.Cycle && !c.sights.Named(d.ID) && c.identity(d.URL) == d.URL
}

// drop notes that lists, n of them, named a page and do so no more, and that no other one does that
// was read in this cycle.
func (a *answer) drop(id graph.Node, n int) {
	c := a.cycle
	crawl := c.crawl()
	d, err := crawl.doc(id)
	if err != nil {
		crawl.fail(err)
		return
	}
	if c.maySuspect(d) {
		novelty.Suspect(d, n, a.doc.ID, c.site.Site)
		crawl.fail(crawl.db.Put(d))
		a.dropped = append(a.dropped, id)
	}
}

// confirm notes that a document of which nobody could tell is new: what was read before without a
// link to it has one now. That says nothing of a document which was known by then: its row may only
// have moved from one page of a list to another.
func (a *answer) confirm(id graph.Node) {
	c := a.cycle
	crawl := c.crawl()
	d, err := crawl.doc(id)
	if err != nil {
		crawl.fail(err)
		return
	}
	answered := d.FirstSeen != 0
	if d.Site != c.site.ID || d.New != store.MaybeNew || d.Stub || novelty.Supposed(d) || answered && d.Cycle != c.rec.Cycle || d.Cycle <= a.before {
		return
	}
	told := answered && d.IsListed()
	if told {
		c.countNew(d, -1)
	}
	d.New = store.IsNew
	if told {
		c.countNew(d, 1)
	}
	crawl.fail(crawl.db.Put(d))
}

// movedTo notes that the document, a page that was told of under its own URL, leads to another one
// now: unless that is an old one, it is the same page at a new URL.
func (a *answer) movedTo(to *store.Doc) {
	c, d := a.cycle, a.doc
	// It answered first after d was last seen to be there, whatever it says of being listed.
	fresh := to.New != store.NotNew || to.Kind == store.Unseen && to.Cycle == c.rec.Cycle || to.Cycle > c.site.FirstCycle && to.FirstSeen > a.seen
	if c.visit.manner().first || !d.IsPage() || d.Cycle >= c.rec.Cycle || to.ID == d.ID || to.Site != d.Site || to.Moved != 0 || !fresh {
		return
	}
	c.moved(to, d.ID)
}

// passOn has the page that the document is a copy of be the one that moved, where a redirect led to
// the copy.
func (a *answer) passOn() {
	d := a.doc
	if d.Moved == 0 || d.DuplicateOf == graph.None || d.Stands {
		return
	}
	to, err := a.crawl().doc(d.DuplicateOf)
	if err != nil {
		a.crawl().fail(err)
		return
	}
	from := d.MovedFrom
	d.Moved, d.MovedIn, d.MovedFrom = 0, 0, graph.None
	if to.Site == d.Site && to.Moved == 0 && to.New != store.NotNew && to.ID != from {
		a.cycle.moved(to, from)
	}
}

// moved notes that a page is another one at a new URL, and tells so, or has it told when it answers.
func (c *cycle) moved(to *store.Doc, from graph.Node) {
	crawl := c.crawl()
	if to.IsPage() {
		if to.IsListed() && to.Cycle == c.rec.Cycle {
			c.countNew(to, -1)
		}
		c.rec.Moved++
	}
	novelty.Moved(to, from, c.rec.Cycle, crawl.now())
	crawl.fail(crawl.db.Put(to))
}

// lately is in how many cycles of a site, the one under way included, a page may have gone from one
// URL and come to another.
const lately = 3

// whereabouts collects what the end of a cycle needs to find out which pages have moved.
type whereabouts struct {
	since    store.Cycle  // the first of the latest cycles of the site
	gone     []graph.Node // pages that were found gone since
	found    map[graph.Node]bool
	supposed []graph.Node // pages of which it is not known whether they have moved
}

// know takes in a document of the site at the beginning of a cycle.
func (w *whereabouts) know(d *store.Doc) {
	if novelty.Supposed(d) {
		w.supposed = append(w.supposed, d.ID)
	}
	if d.IsPage() && d.Gone != 0 && d.GoneIn >= w.since {
		w.gone = append(w.gone, d.ID)
	}
}

// sinceLately is the first of the latest cycles of the site, after its first visit.
func (c *cycle) sinceLately() (since store.Cycle, err error) {
	n := 0
	since = c.rec.Cycle
	err = c.crawl().db.SiteCyclesBack(c.site.ID, func(r *store.CycleRecord) bool {
		switch r.Kind {
		case store.FirstVisit:
			return false
		case store.Import:
			return true
		}
		since = min(since, r.Cycle)
		n++
		return n < lately
	})
	return since, err
}

// newcomers returns the pages that answered first in the latest cycles, and that may be others at
// a new URL.
func (v *rediscovery) newcomers() (fresh []*store.Doc, err error) {
	crawl := v.crawl()
	var ids []graph.Node
	if err := crawl.db.NewcomersFrom(v.site.ID, v.where.since, func(_ store.Cycle, id graph.Node, k store.Kind) bool {
		if k == store.Page {
			ids = append(ids, id)
		}
		return true
	}); err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := crawl.doc(id)
		if err != nil {
			return nil, err
		}
		if d.Alive() && d.Moved == 0 {
			fresh = append(fresh, d)
		}
	}
	return fresh, nil
}

// maxSiblings is how many pages show what all pages of a site say.
const maxSiblings = 16

// siblings returns pages that stand beside those that may be gone, in the documents that led to them.
func (v *rediscovery) siblings(gone, fresh []*store.Doc) (others []*store.Doc, err error) {
	crawl := v.crawl()
	taken := map[graph.Node]bool{}
	for _, d := range gone {
		taken[d.ID] = true
	}
	for _, d := range fresh {
		taken[d.ID] = true
	}
	for _, d := range gone {
		if d.FoundOn == graph.None || taken[d.FoundOn] {
			continue
		}
		taken[d.FoundOn] = true
		by, err := crawl.doc(d.FoundOn)
		if err != nil {
			return nil, err
		}
		links, err := crawl.db.Links(by)
		if err != nil {
			return nil, err
		}
		for _, l := range append(links, store.Link{To: by.ID}) {
			if l.Off || taken[l.To] {
				continue
			}
			o, err := crawl.doc(l.To)
			if err != nil {
				return nil, err
			}
			if taken[l.To] = true; o.IsPage() && o.DuplicateOf == graph.None {
				if others = append(others, o); len(others) == maxSiblings {
					return others, nil
				}
			}
		}
	}
	return others, nil
}

// docs returns what is known of documents.
func (c *Crawl) docs(ids []graph.Node) ([]*store.Doc, error) {
	all := make([]*store.Doc, 0, len(ids))
	for _, id := range ids {
		d, err := c.doc(id)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// pairs finds those of some pages, gone or perhaps gone, of which the content came to be at another
// URL lately. Everything is committed.
func (v *rediscovery) pairs(gone []*store.Doc) ([]novelty.Pair, error) {
	if len(gone) == 0 {
		return nil, nil
	}
	fresh, err := v.newcomers()
	if err != nil || len(fresh) == 0 {
		return nil, err
	}
	others, err := v.siblings(gone, fresh)
	if err != nil {
		return nil, err
	}
	return novelty.Match(gone, fresh, others), nil
}

// tellMoved is called at the end of a cycle: it says which pages have moved, and which may have, of
// those that lists have dropped and that were not looked at. Everything is committed.
func (v *rediscovery) tellMoved(suspects []*store.Doc) error {
	crawl := v.crawl()
	if err := v.settle(); err != nil {
		return err
	}
	var away []*store.Doc
	for _, d := range suspects {
		if d.Dropped > 0 && d.Alive() {
			away = append(away, d)
		}
	}
	for _, id := range v.where.gone {
		if v.where.found[id] {
			continue
		}
		d, err := crawl.doc(id)
		if err != nil {
			return err
		}
		away = append(away, d)
	}
	pairs, err := v.pairs(away)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		switch {
		case p.Gone.Gone != 0:
			v.moved(p.Now, p.Gone.ID)
		case p.Now.New == store.IsNew && p.Now.Cycle == v.rec.Cycle && p.Now.IsListed() && !novelty.Supposed(p.Now):
			v.countNew(p.Now, -1)
			novelty.Suppose(p.Now, p.Gone.ID)
			v.countNew(p.Now, 1)
			crawl.fail(crawl.db.Put(p.Now))
		}
	}
	return nil
}

// maxCompared bounds the documents of a site that are gone through for pages with the content of a
// new one: that takes as long as to begin a cycle.
const maxCompared = 100_000

// alike returns the old pages that have a text of a new page of this cycle, and that no other page
// has: one of the two may be the other at a new URL. Lists quote pages, and those that were fetched
// in this cycle are there, so neither counts. Everything is committed.
func (v *rediscovery) alike() (old []*store.Doc, err error) {
	counts, err := v.crawl().db.Counters(v.site.ID)
	if err != nil || counts.Known() > maxCompared {
		return nil, err
	}
	fresh, err := v.newcomers()
	if err != nil {
		return nil, err
	}
	owner := map[uint32]*store.Doc{}
	for _, d := range fresh {
		if d.Cycle == v.rec.Cycle && d.Class == store.ContentPage {
			for _, p := range d.Passages {
				if p != 0 {
					owner[p] = nil
				}
			}
		}
	}
	if len(owner) == 0 {
		return nil, nil
	}
	err = v.crawl().db.SiteDocs(v.site.ID, func(d *store.Doc) bool {
		if d.Class != store.ContentPage || !d.IsListed() || !d.Alive() || d.Cycle >= v.rec.Cycle || d.FetchedIn == v.rec.Cycle {
			return true
		}
		for _, p := range d.Passages {
			switch o, ok := owner[p]; {
			case !ok || p == 0:
			case o != nil && o.ID != d.ID:
				delete(owner, p) // it is no page's own
			default:
				owner[p] = d
			}
		}
		return true
	})
	for _, d := range owner {
		if d != nil && !slices.ContainsFunc(old, func(o *store.Doc) bool { return o.ID == d.ID }) {
			old = append(old, d)
		}
	}
	slices.SortFunc(old, func(a, b *store.Doc) int { return cmp.Compare(a.ID, b.ID) })
	return old, err
}

// longestDoubt is how long, in seconds, a page that may have moved is not told of for want of a look at
// its earlier URL, which a budget of a few fetches never allows.
const longestDoubt = 7 * 24 * 3600

// settle says of pages that may have moved whether they have, where that is known by now. Those that
// nobody has looked into for long are told as new, until it is known.
func (v *rediscovery) settle() error {
	crawl := v.crawl()
	supposed, err := crawl.docs(v.where.supposed)
	if err != nil {
		return err
	}
	for _, d := range supposed {
		if !novelty.Supposed(d) {
			continue
		}
		switch from, err := crawl.doc(d.MovedFrom); {
		case err != nil:
			return err
		case from.Gone != 0:
			v.where.found[from.ID] = true
			v.moved(d, from.ID)
			continue
		case from.FetchedIn == v.rec.Cycle && from.Alive() && from.Dropped == 0:
			d.MovedFrom = graph.None
		case d.New == store.IsNew || crawl.now()-d.FirstSeen < longestDoubt:
			continue
		}
		if d.New == store.MaybeNew {
			novelty.Stayed(d, v.rec.Cycle, crawl.now())
			v.countNew(d, 1)
		}
		crawl.fail(crawl.db.Put(d))
	}
	return nil
}
