package crawl

import (
	"slices"

	"forage/crawl/scope"
	"forage/graph"
	"forage/store"
)

// A site may answer every path with a page, 200 OK: a probe for a path that should not exist
// shows its body. A document with that body is *hollow*. Mostly it is what the site says of what
// is not there, and no page (store.Soft404). But servers of single-page apps answer with the app
// itself, which is also what the site's own addresses give; so a hollow document is a page where
// something else vouches for it.

// vouched reports whether a, which has answered with a hollow body, is a page all the same: a
// seed, the root of a host, or what a sitemap or feed names. The last only if it never was a page
// with another body, as what a list names may have been taken down meanwhile.
func (a *answer) vouched() bool {
	d := a.doc
	return d.Seed || isRoot(d) || isListed(d) && (d.Kind != store.Page || !a.changed || slices.Contains(a.site.Soft404, d.Shape))
}

func isRoot(d *store.Doc) bool   { return scope.Path(d.URL) == "/" }
func isListed(d *store.Doc) bool { return d.Listed || scope.Listed(d) }

// hollow takes in a body that may be hollow, and returns the kind of the document.
func (a *answer) hollow() store.Kind {
	d, shapes := a.doc, a.job.content.Shapes
	s := a.site
	if len(s.Soft404) == 0 {
		return store.Page
	}
	home := isRoot(d) || d.Seed && (d.Via == store.ViaRedirect || len(s.Seeds) > 0 && d.URL == s.Seeds[0])
	is := slices.ContainsFunc(shapes, func(h uint64) bool { return slices.Contains(s.Soft404, h) })
	switch {
	case is && home && !s.CatchAll:
		s.CatchAll = true
		a.crawl().fail(a.crawl().db.PutSite(s.Site))
	case !is && home && s.CatchAll && d.Hollow && a.changed: // the app was published anew, for all paths
		is = true
		a.hollowToo(shapes[0])
	}
	// What was guessed is no page either where the app, published anew, has answered it before the home page.
	guessed := s.CatchAll && d.Main && !d.Named && d.Via == store.ViaNone
	kind := store.Page
	if (is || guessed) && !a.vouched() {
		kind = store.Soft404
	}
	if d.Hollow = is; d.Shape == 0 || slices.Contains(s.Soft404, d.Shape) { // else it had a body of its own
		d.Shape = shapes[0]
	}
	return kind
}

// hollowToo notes a shape of hollow bodies.
func (c *cycle) hollowToo(shape uint64) {
	s := c.site
	s.Soft404 = append(s.Soft404[max(0, len(s.Soft404)-maxShapes+1):], shape)
	c.crawl().fail(c.crawl().db.PutSite(s.Site))
}

// renewed reports whether the answer and other, which have the same body, are hollow though their body is
// not known as such: lists name both at a site whose app answers everything. It has been published
// anew, and the home page was not fetched since.
func (a *answer) renewed(other *store.Doc) bool {
	c, d := a.cycle, a.doc
	if !c.site.CatchAll || d.Hollow || d.Seed || isRoot(d) || !isListed(d) || !isListed(other) {
		return false
	}
	c.hollowToo(a.job.content.Shapes[0])
	d.Hollow, other.Hollow = true, true
	c.crawl().fail(c.crawl().db.Put(other))
	return true
}

// maxShapes is how many bodies of what is not there are known of a site.
const maxShapes = 16

// tryLinks follows the links of a hollow document that nothing vouches for, if it is the first
// such document of the visit: those of the next are the same, or made up by relative references.
func (a *answer) tryLinks(wasGone bool) {
	c, got := a.cycle, a.job.content
	if !c.visit.manner().probes || c.site.CatchAll || c.seen.tried || a.doc.FoundOn == graph.None {
		return
	}
	c.seen.tried = true
	a.relink(c.discover(a.doc, got.Links), wasGone)
}

// redeem makes the hollow document that d was found on a page, because d, one of the pages that it
// leads to, is none: it is of use, whatever body the site has for what is not there.
func (c *cycle) redeem(d *store.Doc) {
	if d.FoundOn == graph.None || len(c.site.Soft404) == 0 {
		return
	}
	crawl := c.crawl()
	by, err := crawl.doc(d.FoundOn)
	if err != nil || by.Kind != store.Soft404 || by.Site != d.Site || by.State != store.Fetched {
		crawl.fail(err)
		return
	}
	same, err := crawl.db.FirstBody(by.Site, by.Digest, by.ID)
	if err != nil {
		crawl.fail(err)
		return
	}
	c.pages++
	c.rec.Pages++
	if by.Kind = store.Page; same != by.ID {
		by.DuplicateOf = same
		c.rec.Copies++
	} else {
		c.run.pages++
	}
	crawl.fail(crawl.db.Put(by))
}

// listed notes that a sitemap or feed, by, names a document that is known. A hollow one that was
// taken for what is not there is asked for again.
func (c *cycle) listed(id graph.Node, by *store.Doc) {
	crawl := c.crawl()
	d, err := crawl.doc(id)
	if err != nil || isListed(d) || d.Site != c.site.ID {
		crawl.fail(err)
		return
	}
	d.Listed = true
	again := d.Kind == store.Soft404 && d.State == store.Fetched
	if again {
		d.State, d.Cycle = store.Queued, c.number(c)
		d.New = c.novelty(d.Cycle, by)
	}
	crawl.fail(crawl.db.Put(d))
	if again {
		c.refound(d)
	}
}
