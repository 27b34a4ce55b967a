package crawl

import (
	"errors"
	"fmt"
	"strings"

	"forage/crawl/document"
	"forage/crawl/novelty"
	"forage/crawl/scope"
	"forage/graph"
	"forage/store"
)

// discover numbers the targets of a document's links, queues those that were not known, and
// returns the links in their order, each target once.
func (c *cycle) discover(by *store.Doc, found []document.Link) []store.Link {
	links := make([]store.Link, 0, len(found))
	var seen map[graph.Node]int
	if len(found) > 64 {
		seen = make(map[graph.Node]int, len(found))
	}
	for i := range found {
		f := &found[i]
		if c.loop().added >= 8*fullWindow { // of a list: what it has made known so far may be kept whatever becomes of it
			c.crawl().save()
		}
		id, off, ok := c.target(by, f)
		if !ok || id == by.ID {
			continue
		}
		at := -1
		if seen != nil {
			if k, dup := seen[id]; dup {
				at = k
			}
			seen[id] = len(links)
		} else {
			for k := range links {
				if links[k].To == id {
					at = k
					break
				}
			}
		}
		if at >= 0 {
			links[at].NoFollow = links[at].NoFollow && f.NoFollow
			if seen != nil {
				seen[id] = at
			}
			continue
		}
		links = append(links, store.Link{To: id, Kind: f.Kind, NoFollow: f.NoFollow, Off: off, Place: f.Place})
	}
	return links
}

// target returns the number of a link's target, and whether it lies outside of the site. A
// target that was not known is added, and queued if it is to be fetched. ok=false: it leads
// nowhere that is worth a number. by is the document with the link; nil: robots.txt.
func (c *cycle) target(by *store.Doc, f *document.Link) (id graph.Node, off, ok bool) {
	crawl := c.crawl()
	given := f.URL
	if f.URL = c.identity(given); f.URL != given && f.Given == "" {
		f.Given = given
	}
	id, err := crawl.db.Find(f.URL)
	if err == nil {
		if f.LastMod != 0 || f.Published != 0 {
			c.dates(id, f)
		}
		if f.Action {
			crawl.action(id)
		}
		if len(c.site.Soft404) > 0 && (f.Kind == store.ViaSitemap || f.Kind == store.ViaFeed) {
			c.listed(id, by)
		}
		if !f.NoFollow {
			c.followed(id)
		}
		if c.lists.Suspect && by != nil && f.Kind != store.ViaSitemap && f.Kind != store.ViaFeed {
			crawl.linked(id, by, f.Kind)
		}
		if by != nil && c.site.scope.Counts() {
			c.nearer(id, depthFrom(by, f.Kind))
		}
		return id, !c.site.scope.Contains(f.URL), true
	}
	owner := c
	if !c.site.scope.Contains(f.URL) {
		off = true
		if s := crawl.siteOf(f.URL); s != nil && s.cycle != nil {
			owner = s.cycle
		} else if id, ok := c.leaveTo(by, f); ok {
			return id, true, true
		}
	}
	d := store.NewDoc(f.URL, owner.site.ID)
	d.Given, d.Via, d.LastMod, d.Published = f.Given, f.Kind, f.LastMod, f.Published
	d.Discovered, d.Cycle = crawl.now(), owner.number(c)
	d.Main, d.Action, d.NoFollow = f.Main, f.Action, f.NoFollow
	if by != nil {
		d.FoundOn = by.ID
		d.Depth = depthFrom(by, f.Kind)
		d.Seed = f.Kind == store.ViaRedirect && by.Seed && !off // a seed may move within its site
	}
	if off && owner == c && d.Via == store.ViaRedirect && by.Seed {
		c.run.opt.Log.Warn("a seed redirects out of the scope of its site: nothing there is fetched; give the target as a seed, or --scope domain", "seed", by.URL, "target", f.URL)
		c.trouble = "redirects to " + f.URL + ", which is outside of its scope"
	}
	d.New = owner.novelty(d.Cycle, by)
	if owner == c {
		c.known(d, given)
		switch {
		case d.New != store.NotNew && c.inherits(d, by):
			d.New = store.IsNew
		case d.New == store.IsNew && c.overlooked(d):
			d.New = store.MaybeNew
		}
	}
	if why := owner.site.scope.Skip(d); why != "" && (why == store.ReasonElsewhere || !(d.Main && d.Via == store.ViaNone)) {
		d.State, d.Reason = store.Skipped, why
	} else if owner.full {
		d.Reason = "limit: " + owner.limit
	}
	added, err := crawl.db.Add(d)
	if added {
		c.loop().added += len(d.URL)
	}
	switch {
	case err != nil:
		crawl.fail(err)
		return 0, false, false
	case added && d.State == store.Queued:
		owner.see(d, owner.place(d.URL))
		if owner == c && !f.NoFollow {
			c.worth.fresh = append(c.worth.fresh, f.URL)
		}
		owner.found(d, by != nil && owner == c)
	case added:
		owner.report(d, d.Reason)
		c.sendOut(d, by)
	}
	return d.ID, off, true
}

// depthFrom is how many links from a seed a document is that by leads to.
func depthFrom(by *store.Doc, kind store.LinkKind) int {
	if kind == store.ViaRedirect {
		return by.Depth
	}
	return by.Depth + 1
}

// nearer notes that a document of the site is so few links from a seed, and what it leads to accordingly: where rules
// say how far the crawl goes, what it finds is not to depend on which of several ways it came first. What was too
// far and is not any more is put in line. O(links of what comes nearer).
func (c *cycle) nearer(id graph.Node, depth int) {
	crawl := c.crawl()
	near := map[graph.Node]int{id: depth}
	var all []*store.Doc // nothing is changed before all are known: a window that ended in between would keep a part
	for line := []graph.Node{id}; len(line) > 0; line = line[1:] {
		d, err := crawl.doc(line[0])
		if err != nil {
			crawl.fail(err)
			return
		}
		depth := near[d.ID]
		if d.Site != c.site.ID || d.Depth <= depth {
			continue
		}
		all = append(all, d)
		links, err := crawl.db.Links(d)
		if errors.Is(err, store.ErrNotFound) { // they are of this window
			crawl.save()
			links, err = crawl.db.Links(d)
		}
		if err != nil {
			crawl.fail(err)
			return
		}
		for i := range links {
			to, next := links[i].To, depth
			if links[i].Kind != store.ViaRedirect {
				next++
			}
			if was, ok := near[to]; !links[i].Off && (!ok || next < was) {
				near[to] = next
				line = append(line, to)
			}
		}
	}
	for _, d := range all {
		d.Depth = near[d.ID]
		far := d.State == store.Skipped && d.Reason == scope.TooFar && c.site.scope.Skip(d) == ""
		if far {
			if d.State, d.Reason = store.Queued, ""; c.full {
				d.Reason = "limit: " + c.limit
			}
			if !c.visit.manner().first && d.New == store.NotNew && d.FirstSeen == 0 {
				d.New = store.MaybeNew // as in readmit
			}
		}
		crawl.fail(crawl.db.Put(d))
		if far {
			c.refound(d)
		}
	}
}

// novelty is that of a document of the site that becomes known in cycle n, and to which by leads, as novelty.Of.
func (c *cycle) novelty(n store.Cycle, by *store.Doc) store.Novelty {
	if c.earlier {
		return store.NotNew
	}
	return novelty.Of(c.site.Site, n, by)
}

// number is that of the cycle in which what c finds at the site of o becomes known: o, where
// that is open.
func (o *cycle) number(c *cycle) store.Cycle {
	if o.closed && !o.mayReopen() {
		return max(o.rec.Cycle, c.rec.Cycle)
	}
	return o.rec.Cycle
}

// found puts a document in line that waits in the store since just now. linked: one of the site
// led to it. Where the cycle is over it waits for the next one of the site.
func (c *cycle) found(d *store.Doc, linked bool) {
	if c.mayReopen() {
		c.reopen()
	}
	if !c.closed {
		c.visit.discovered(d, linked)
	}
}

// revive queues a document that was not there when it was last asked for, or that belongs to
// another site than the one whose link led to it first, because something newly points to it:
// by, or, for nil, robots.txt. One that waits as another site led to it, which could not tell whether
// it is new, is new if its own site says so.
func (c *cycle) revive(id graph.Node, by *store.Doc) {
	crawl := c.crawl()
	d, err := crawl.doc(id)
	if err != nil {
		crawl.fail(err)
		return
	}
	if s := crawl.siteOf(d.URL); s != nil && s.cycle != nil && s.ID != d.Site && stray(d) {
		d.Cycle = s.cycle.number(c)
		if err := crawl.moved(d, s.Site, s.scope, novelty.Of(s.Site, d.Cycle, by)); err != nil {
			crawl.fail(err)
			return
		}
		if d.State == store.Queued {
			crawl.fail(crawl.db.Put(d))
			if !s.cycle.closed {
				s.cycle.see(d, s.cycle.place(d.URL))
			}
			s.cycle.refound(d)
		}
		return
	}
	if by != nil && d.Site == c.site.ID && d.State == store.Queued && c.ledTo(d) {
		if _, inLine := crawl.inHand[id]; !inLine && c.novelty(c.rec.Cycle, by) == store.IsNew {
			d.Cycle, d.New, d.FoundOn = c.rec.Cycle, store.IsNew, by.ID
			crawl.fail(crawl.db.Put(d))
			c.refound(d)
		}
		return
	}
	s := crawl.at(d.Site)
	if s == nil || s.cycle == nil || d.Kind != store.Unseen && d.Kind != store.Soft404 || d.State != store.Fetched || d.FetchedIn == s.cycle.rec.Cycle {
		return
	}
	d.State = store.Queued
	if !d.Sighted() {
		d.Cycle = s.cycle.number(c)
		d.New = s.cycle.novelty(d.Cycle, by)
	}
	if by != nil {
		d.FoundOn = by.ID
	}
	crawl.fail(crawl.db.Put(d))
	s.cycle.refound(d)
}

// ledTo reports whether d, which was never fetched, is known from another site alone.
func (c *cycle) ledTo(d *store.Doc) bool {
	if d.Visits > 0 || d.FoundOn == graph.None || d.Sighted() {
		return false
	}
	from, err := c.crawl().doc(d.FoundOn)
	if err != nil {
		c.crawl().fail(err)
		return false
	}
	return from.Site != d.Site || from.Reason == store.ReasonElsewhere
}

// refound puts a document in line that waits in the store again, and may have a number which the
// visit has come past.
func (c *cycle) refound(d *store.Doc) {
	if c.mayReopen() {
		c.reopen()
	}
	if !c.closed && (d.Main || !c.visit.holds(d)) {
		c.requeue(d, false)
	}
}

// dates takes over what a feed or sitemap says of a document that is known.
func (c *cycle) dates(id graph.Node, f *document.Link) {
	crawl := c.crawl()
	d, err := crawl.doc(id)
	if err != nil {
		crawl.fail(err)
		return
	}
	if d.LastMod == f.LastMod && (d.Published != 0 || f.Published == 0) {
		return
	}
	if f.LastMod != 0 {
		d.LastMod = f.LastMod
	}
	if d.Published == 0 {
		d.Published = f.Published
	}
	crawl.fail(crawl.db.Put(d))
}

// acts reports whether d seems to do something when it is fetched, and a request for it would tell
// the site on whose behalf: it is not made, unless somebody gave d by hand.
func (c *cycle) acts(d *store.Doc) bool {
	return !d.Seed && c.loop().client.Identifies(d.URL) && scope.IsAction(d)
}

// action notes that a link calls a document that is known something that is done.
func (c *Crawl) action(id graph.Node) {
	d, err := c.doc(id)
	if err != nil || scope.IsAction(d) {
		c.fail(err)
		return
	}
	d.Action = true
	c.fail(c.db.Put(d))
}

// leaveOut settles a document in line that is not fetched under the rules.
func (c *cycle) leaveOut(b *backlog, d *store.Doc, why string) {
	if d.State == store.Queued {
		d.State, d.Reason = store.Skipped, why
		c.crawl().fail(c.crawl().db.Put(d))
	}
	c.seen.refused = c.seen.refused || d.Seed && why == "robots"
	c.report(d, why)
	b.settle(d.ID)
	c.visit.answered(&answer{cycle: c, doc: d})
}

// report writes a line of Options.Skipped: URL, reason and the page that led there.
func (c *cycle) report(d *store.Doc, why string) {
	opt := &c.run.opt
	if opt.Skipped == nil {
		return
	}
	from := ""
	if d.FoundOn != graph.None {
		if by, err := c.crawl().doc(d.FoundOn); err == nil {
			from = by.URL
		}
	}
	why = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, why)
	if _, err := fmt.Fprintf(opt.Skipped, "%s\t%s\t%s\n", d.URL, why, from); err != nil {
		opt.Log.Warn("the report of skipped URLs cannot be written", "error", err)
		opt.Skipped = nil
	}
}
