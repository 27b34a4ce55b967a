package crawl

import (
	"errors"
	"fmt"
	"strings"

	"forage/graph"
	"forage/store"
)

// newDoc is a document that nobody has seen yet.
func newDoc(url string, site store.SiteID) *store.Doc {
	return &store.Doc{URL: url, Site: site, FoundOn: graph.None, DuplicateOf: graph.None}
}

// discover numbers the targets of a document's links, queues those that were not known, and
// returns the links in their order, each target once.
func (e *engine) discover(s *site, by *store.Doc, found []foundLink) []store.Link {
	links := make([]store.Link, 0, len(found))
	var seen map[graph.Node]int
	if len(found) > 64 {
		seen = make(map[graph.Node]int, len(found))
	}
	for i := range found {
		f := &found[i]
		id, off, ok := e.target(s, by, f)
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
			links[at].NoFollow = links[at].NoFollow && f.nofollow
			if seen != nil {
				seen[id] = at
			}
			continue
		}
		links = append(links, store.Link{To: id, Kind: f.kind, NoFollow: f.nofollow, Off: off, Place: f.place})
	}
	return links
}

// target returns the number of a link's target, and whether it lies outside of the site. A
// target that was not known is added, and queued if it is to be fetched. ok=false: it leads
// nowhere that is worth a number.
func (e *engine) target(s *site, by *store.Doc, f *foundLink) (id graph.Node, off, ok bool) {
	id, err := e.db.Find(f.url)
	if err == nil {
		if f.lastMod != 0 || f.published != 0 {
			e.dates(id, f)
		}
		if s.bench.wary && by != nil && f.kind != store.ViaSitemap && f.kind != store.ViaFeed {
			e.linked(id, by, f.kind)
		}
		return id, !s.scope.contains(f.url), true
	}
	owner := s
	if !s.scope.contains(f.url) {
		off = true
		if owner = e.siteOf(f.url); owner == nil {
			owner = s
		}
	}
	d := newDoc(f.url, owner.ID)
	d.Given, d.Via, d.LastMod, d.Published = f.given, f.kind, f.lastMod, f.published
	d.Discovered, d.Cycle = e.c.now(), e.cycle.Cycle
	d.Main = f.main
	if by != nil {
		d.FoundOn = by.ID
		d.Depth = by.Depth + 1
		if f.kind == store.ViaRedirect {
			d.Depth = by.Depth
			d.Seed = by.Seed && !off // a seed may move within its site
		}
	}
	if off && owner == s {
		if d.Via == store.ViaRedirect && by.Seed {
			e.cfg.Log.Warn("a seed redirects out of the scope of its site: nothing there is fetched; give the target as a seed, or --scope domain", "seed", by.URL, "target", f.url)
			s.trouble = "redirects to " + f.url + ", which is outside of its scope"
		}
	}
	if why := owner.traps.check(f.url); why != "" && !off {
		e.report(owner, d, "trap: "+why)
		return 0, false, false
	}
	d.New = newness(owner.Site, e.cycle.Cycle, by)
	if why := owner.scope.skip(d); why != "" && !(d.Main && d.Via == store.ViaNone) {
		d.State, d.Reason = store.Skipped, why
	} else if owner.full {
		d.Reason = "limit: " + owner.limit
	}
	added, err := e.db.Add(d)
	if err != nil {
		e.fail(err)
		return 0, false, false
	}
	if added && d.State == store.Queued {
		h := e.queued(owner, d)
		if h.givenUp == "" {
			owner.open++
		}
		switch {
		case owner.order == nil:
			e.wake(h)
		case by == nil || owner != s:
			owner.order.found(e, owner, d)
		}
	} else if added {
		e.report(owner, d, d.Reason)
	}
	return d.ID, off, true
}

// queued returns the host of a document of s that waits in the store, made ready to hand it out.
func (e *engine) queued(s *site, d *store.Doc) *host {
	h := e.host(hostOf(d.URL))
	if h.cursors[s.ID] == nil {
		h.cursors[s.ID] = newCursor(graph.None)
		e.fail(e.restoreHost(h))
		e.meet(s, h)
	}
	return h
}

// adopt gives new sites of cycle c the documents that links of other sites led to before, and
// that lay outside of the scope of these. It reads the URLs of each host or prefix, and for
// domains, whose hosts are not together, all URLs once.
func (c *Crawl) adopt(sites []*store.Site, cycle store.Cycle) error {
	domains := map[string]*site{}
	for _, rec := range sites {
		sc, err := newScope(&rec.Rules)
		if err != nil {
			return err
		}
		s := &site{Site: rec, scope: sc}
		switch own := func(string) *site { return s }; rec.Rules.Scope {
		case "domain":
			domains[rec.Rules.Within] = s
		case "prefix":
			err = c.adoptFrom(rec.Rules.Within, own, cycle)
		default:
			err = errors.Join(c.adoptFrom("http://"+rec.Rules.Within+"/", own, cycle), c.adoptFrom("https://"+rec.Rules.Within+"/", own, cycle))
		}
		if err != nil {
			return err
		}
	}
	if len(domains) == 0 {
		return nil
	}
	return c.adoptFrom("", func(url string) *site {
		for name, more := hostOf(url), true; more; _, name, more = strings.Cut(name, ".") {
			if s := domains[name]; s != nil {
				return s
			}
		}
		return nil
	}, cycle)
}

// adoptFrom gives the documents whose URL has the prefix to the sites that siteOf names.
func (c *Crawl) adoptFrom(prefix string, siteOf func(url string) *site, cycle store.Cycle) error {
	var failed error
	err := c.db.URLs(prefix, func(url string, id graph.Node) bool {
		s := siteOf(url)
		if s == nil {
			return true
		}
		var d *store.Doc
		if d, failed = c.db.Doc(id); failed == nil && stray(d) {
			failed = c.moved(d, s.Site, s.scope, newness(s.Site, cycle, nil))
		}
		return failed == nil
	})
	return errors.Join(err, failed)
}

// stray reports whether nothing but the scope of its site kept d from being fetched.
func stray(d *store.Doc) bool {
	return d.State == store.Skipped && d.Kind == store.Unseen && d.Reason == reasonScope
}

// moved gives d to the site in whose scope it lies.
func (c *Crawl) moved(d *store.Doc, rec *store.Site, sc *scope, n store.New) error {
	d.State, d.Reason, d.New = store.Queued, "", n
	if why := sc.skip(d); why != "" {
		d.State, d.Reason = store.Skipped, why
	}
	return c.db.Move(d, rec.ID)
}

// revive queues a document that was not there when it was last asked for, or that belongs to
// another site than the one whose link led to it first, because something newly points to it:
// by, or, for nil, robots.txt.
func (e *engine) revive(id graph.Node, by *store.Doc) {
	d, err := e.db.Doc(id)
	if err != nil {
		e.fail(err)
		return
	}
	if owner := e.siteOf(d.URL); owner != nil && owner.ID != d.Site && stray(d) {
		if err := e.c.moved(d, owner.Site, owner.scope, newness(owner.Site, e.cycle.Cycle, by)); err != nil {
			e.fail(err)
			return
		}
		d.Cycle = e.cycle.Cycle
		if d.State == store.Queued {
			e.fail(e.db.Put(d))
			owner.open++
			e.line(owner, d)
		}
		return
	}
	s := e.sites[d.Site]
	if s == nil || d.Kind != store.Unseen || d.State != store.Fetched || d.FetchedIn == e.cycle.Cycle {
		return
	}
	d.State, d.Cycle, d.New = store.Queued, e.cycle.Cycle, newness(s.Site, e.cycle.Cycle, by)
	if by != nil {
		d.FoundOn = by.ID
	}
	e.fail(e.db.Put(d))
	s.open++
	e.line(s, d)
}

// line puts a document that has been queued anew in line, unless the store's queue, which is
// handed out by number, comes to it anyway.
func (e *engine) line(s *site, d *store.Doc) {
	h := e.queued(s, d)
	if c := h.cursors[s.ID]; s.order != nil || c.last != graph.None && d.ID <= c.last {
		h.front = append(h.front, item{work: fetchNew, id: d.ID, site: s.ID})
	}
	e.wake(h)
}

// dates takes over what a feed or sitemap says of a document that is known.
func (e *engine) dates(id graph.Node, f *foundLink) {
	d, err := e.db.Doc(id)
	if err != nil {
		e.fail(err)
		return
	}
	if d.LastMod == f.lastMod && (d.Published != 0 || f.published == 0) {
		return
	}
	if f.lastMod != 0 {
		d.LastMod = f.lastMod
	}
	if d.Published == 0 {
		d.Published = f.published
	}
	e.fail(e.db.Put(d))
}

// skip settles a document that waits but is not fetched under the rules.
func (e *engine) skip(s *site, d *store.Doc, why string) {
	was := d.State
	if d.State == store.Queued {
		d.State, d.Reason = store.Skipped, why
		e.fail(e.db.Put(d))
	}
	e.report(s, d, why)
	e.settled(s, was, was != store.Queued)
	if s.order != nil {
		s.order.answered(e, s, d, nil)
	}
}

// report writes a line of --report-skipped: URL, reason and the page that led there.
func (e *engine) report(s *site, d *store.Doc, why string) {
	if e.cfg.Skipped == nil {
		return
	}
	from := ""
	if d.FoundOn != graph.None {
		if by, err := e.db.Doc(d.FoundOn); err == nil {
			from = by.URL
		}
	}
	why = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, why)
	if _, err := fmt.Fprintf(e.cfg.Skipped, "%s\t%s\t%s\n", d.URL, why, from); err != nil {
		e.cfg.Log.Warn("the report of skipped URLs cannot be written", "error", err)
		e.cfg.Skipped = nil
	}
}
