package crawl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"forage/fetch"
	"forage/graph"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/store"
)

// A Plan says how a cycle of discovery is to go.
type Plan struct {
	Sites  []string // names or URLs of sites; none: all
	Policy string   // of package revisit; "": its Default
	Config revisit.Config
	Full   bool                 // fetch every known document
	Period int                  // do so where the other cycles since it was last done, first visits included, are Period-1 at one of the sites; 0: never
	Budget func(n int) int      // old documents to fetch at a site that has n; nil: all that the policy names
	Total  int                  // old documents to fetch over all sites, shared by what each is expected to find; 0: no limit
	Min    int                  // of Total, for each site
	Max    int                  // of Total, for each site; 0: no limit but Budget
	Weight map[string]float64   // of a new page where Total is shared, by name of site; 1 where it is not given
	Begin  func(*Outlook) error // is told what to expect before anything is fetched; its error ends the cycle; nil: nobody is told
	Text   string               // the budget as asked for, to recognise an interrupted cycle
}

// Revisit runs one cycle of discovery, or goes on with one of the same plan that was
// interrupted. At each site the policy names an old document, it is fetched, everything new
// that it leads to is followed to the end, and the policy hears of it before it names the
// next; sites run side by side. A full recrawl fetches all known documents at once.
func (c *Crawl) Revisit(ctx context.Context, p Plan) (*Result, error) {
	if p.Policy == "" {
		p.Policy = revisit.Default
	}
	if _, err := paper.New(p.Policy, p.Config); err != nil {
		return nil, err
	}
	sites, err := sitesNamed(&c.db.View, p.Sites)
	if err != nil {
		return nil, err
	}
	if p, err = p.settled(&c.db.View, sites); err != nil {
		return nil, err
	}
	kind := store.Revisit
	if p.Full {
		kind = store.FullRecrawl
	}
	cycle, continued, err := nextCycle(&c.db.View, kind, p.Policy, p.Text, c.now())
	if err != nil {
		return nil, err
	}
	own := c.cfg.Delay < 0
	if own {
		c.cfg.Delay = shortest(sites)
	}
	e, err := c.newEngine(cycle, continued)
	if err != nil {
		return nil, err
	}
	outlook, err := foresee(&c.db.View, c.cfg, &p, sites, cycle)
	if err != nil {
		return nil, err
	}
	if p.Begin != nil && len(outlook.Sites) > 0 {
		if err := p.Begin(outlook); err != nil {
			return nil, err
		}
	}
	prospects := map[store.SiteID]*Prospect{}
	for i := range outlook.Sites {
		prospects[outlook.Sites[i].id] = &outlook.Sites[i]
	}
	for _, rec := range sites {
		prospect := prospects[rec.ID]
		if prospect == nil {
			continue
		}
		if rec.State == store.SiteCrawling && rec.LastCycle == rec.FirstCycle {
			rec.Partial, rec.PartialWhy = true, "its first visit was interrupted"
		}
		if rec.State == store.SitePaused {
			if len(p.Sites) > 0 { // asked for by name
				rec.State = store.SiteCrawling
			} else {
				c.cfg.Log.Warn("a paused site is left out; name it to visit it again", "site", rec.Name, "reason", rec.Reason)
			}
		}
		s, err := e.addSite(rec)
		if err != nil {
			return nil, err
		}
		if !p.Full {
			s.cycle.Budget = prospect.Budget
		}
		if s.cycle.Done || s.State == store.SitePaused {
			s.ended = true
			s.rv = &rediscovery{done: s.cycle.Done}
			continue
		}
		if err := e.rediscover(s, &p, prospect.Budget); err != nil {
			return nil, fmt.Errorf("site %s: %w", rec.Name, err)
		}
	}
	if len(e.sites) == 0 {
		return nil, fmt.Errorf("%w: nothing has been crawled that could be visited again; 'forage crawl URL' does the first visit", ErrNoSite)
	}
	e.openCycle()
	if own {
		e.setDelays()
	}
	c.begin()
	defer c.end()
	return e.run(ctx)
}

// shortest is the shortest delay of the sites.
func shortest(sites []*store.Site) time.Duration {
	d := time.Duration(math.MaxInt64)
	for _, s := range sites {
		d = min(d, time.Duration(s.Rules.DelayMillis)*time.Millisecond)
	}
	return d
}

// sitesNamed returns the sites with these names, or that hold these URLs.
func sitesNamed(v *store.View, names []string) ([]*store.Site, error) {
	all, err := v.Sites()
	if err != nil || len(names) == 0 {
		return all, err
	}
	var out []*store.Site
	for _, n := range names {
		i := slices.IndexFunc(all, func(s *store.Site) bool { return s.Name == n })
		if i < 0 {
			if url, err := normalise(n, nil); err == nil {
				i = slices.IndexFunc(all, func(s *store.Site) bool {
					sc, err := newScope(&s.Rules)
					return err == nil && sc.contains(url)
				})
			}
		}
		if i < 0 {
			return nil, fmt.Errorf("%s: %w; 'forage status' lists them", n, ErrNoSite)
		}
		if !slices.Contains(out, all[i]) {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// A rediscovery is one cycle at one site.
type rediscovery struct {
	policy *revisit.Site
	full   bool
	fresh  []graph.Node // documents that answered for the first time since the last Observe
	now    *store.Refetch
	audit  bool         // the old document in line is an audit
	todo   []graph.Node // a full recrawl's documents
	order  int          // refetches so far
	budget int
	misses int // old documents that could not be fetched
	done   bool
}

// rediscover prepares a cycle at a site: the policy hears all that went before.
func (e *engine) rediscover(s *site, p *Plan, budget int) error {
	pol, err := paper.New(p.Policy, p.Config)
	if err != nil {
		return err
	}
	rv := &rediscovery{policy: revisit.NewSite(pol), full: p.Full, budget: budget}
	s.rv = rv
	// What waits from a first visit goes on waiting in a budgeted cycle: it is old. What an
	// earlier cycle found and left is followed now.
	next, err := e.db.NumURLs()
	if err != nil {
		return err
	}
	if err := e.recall(s); err != nil {
		return err
	}
	var old []graph.Node
	var failed error
	err = e.db.SiteDocs(s.ID, func(d *store.Doc) bool {
		s.traps.learn(d.URL)
		h := func() *host {
			h := e.host(hostOf(d.URL))
			if h.cursors[s.ID] == nil {
				h.cursors[s.ID] = newCursor(graph.Node(next - 1))
				if failed = e.restoreHost(h); failed != nil {
					return h
				}
			}
			return h
		}
		switch {
		case d.State == store.Queued && (d.Cycle > s.FirstCycle || p.Full && (s.Rules.MaxPages == 0 || s.pages < s.Rules.MaxPages)):
			h := h()
			h.front = append(h.front, item{work: fetchNew, id: d.ID, site: s.ID})
			s.open++
			e.wake(h)
		case isOld(d, e.cycle.Cycle):
			h()
			if p.Full && d.FetchedIn != e.cycle.Cycle {
				old = append(old, d.ID)
			}
		case d.State == store.Failed && p.Full && d.FetchedIn != e.cycle.Cycle:
			h()
			old = append(old, d.ID)
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if !p.Full {
		// The next cycle of the policy: what an interrupted run of it fetched is told again.
		rv.policy.Begin(revisit.Time(s.cycle.At), rv.budget)
		return e.resume(s)
	}
	rv.todo = old
	for _, id := range old {
		d, err := e.db.Doc(id)
		if err != nil {
			return err
		}
		h := e.host(hostOf(d.URL))
		h.front = append(h.front, item{work: fetchOld, id: id, site: s.ID})
		s.open++
		e.wake(h)
	}
	rows, err := e.refetches(s, s.cycle.Cycle)
	rv.order = len(rows)
	for _, r := range rows {
		if r.Failed() {
			rv.misses++
		}
	}
	return err
}

// isOld reports whether d can be fetched again in cycle c: it answered in an earlier one.
func isOld(d *store.Doc, c store.Cycle) bool {
	return (d.Kind == store.Page || d.IsList()) && d.Cycle < c && d.FirstSeen != 0
}

// recall tells a site's policy everything that happened before this cycle.
func (e *engine) recall(s *site) error {
	rv := s.rv
	started := false
	err := e.db.Records(s.ID, func(c store.Cycle, b []byte) bool {
		if err := rv.policy.Replay(b); err != nil {
			e.fail(fmt.Errorf("cycle %d of site %s: %w", c, s.Name, err))
		}
		started = true
		return e.err == nil
	})
	if err = errors.Join(err, e.err); err != nil {
		return err
	}
	if !started {
		var docs []revisit.Document
		var failed error
		err := e.db.SiteDocs(s.ID, func(d *store.Doc) bool {
			if isOld(d, e.cycle.Cycle) {
				var doc revisit.Document
				if doc, failed = e.described(s, d, false); failed == nil {
					docs = append(docs, doc)
				}
			}
			return failed == nil
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		rv.policy.Start(docs)
		if err := e.db.PutRecord(s.ID, 0, rv.policy.Record()); err != nil {
			return err
		}
	}
	// A cycle that was interrupted and never taken up again ends here.
	var stale []*store.SiteCycle
	if err := e.db.SiteCycles(s.ID, func(sc *store.SiteCycle) bool {
		if !sc.Done && sc.Kind != store.FirstVisit && sc.Cycle < e.cycle.Cycle {
			stale = append(stale, sc)
		}
		return true
	}); err != nil {
		return err
	}
	current := s.cycle
	defer func() { s.cycle = current }()
	for _, sc := range stale {
		s.cycle = sc
		if sc.Kind == store.FullRecrawl {
			// Not every document was fetched: a policy must not take it for a full one.
			sc.Kind = store.Revisit
		}
		rv.policy.Begin(revisit.Time(sc.At), sc.Old)
		if err := errors.Join(e.resume(s), e.followed(s)); err != nil {
			return err
		}
		if err := e.close(s); err != nil {
			return err
		}
	}
	rv.order = 0
	return nil
}

// described is a document as policies see it.
func (e *engine) described(s *site, d *store.Doc, links bool) (revisit.Document, error) {
	doc := revisit.Document{Key: revisit.Key(d.ID), Path: revisit.Readable(pathOf(d.URL)), NumLinks: d.NumLinks, WellKnown: d.Main && d.Via == store.ViaNone}
	doc.Home = len(s.Seeds) > 0 && d.URL == s.Seeds[0]
	switch d.Kind {
	case store.Feed:
		doc.Kind = revisit.Feed
	case store.Sitemap:
		doc.Kind = revisit.Sitemap
	}
	if links || doc.Home || d.Kind == store.Sitemap {
		all, err := e.db.Links(d)
		if err != nil {
			return doc, err
		}
		for _, l := range all {
			if !l.Off {
				doc.Links = append(doc.Links, revisit.Key(l.To))
			}
		}
	}
	return doc, nil
}

// refetches returns the rows of a cycle at a site in their order.
func (e *engine) refetches(s *site, c store.Cycle) ([]*store.Refetch, error) {
	var rows []*store.Refetch
	err := e.db.Refetches(s.ID, c, func(r *store.Refetch) bool {
		rows = append(rows, r)
		return true
	})
	slices.SortFunc(rows, func(a, b *store.Refetch) int { return a.Order - b.Order })
	return rows, err
}

// resume tells the policy of the fetches that s.cycle made before it was interrupted, but for
// the last one: what that led to may not all have been followed, so it is told by followed.
func (e *engine) resume(s *site) error {
	rv := s.rv
	rows, err := e.refetches(s, s.cycle.Cycle)
	if err != nil {
		return err
	}
	told := map[graph.Node]bool{}
	if last := len(rows) - 1; last >= 0 {
		rv.now, rows = rows[last], rows[:last]
		rv.order = rv.now.Order + 1
	}
	for _, r := range rows {
		for _, id := range r.Found {
			told[id] = true
		}
		if _, err := e.observe(s, r); err != nil {
			return err
		}
	}
	rv.fresh = nil
	return e.db.Newcomers(s.ID, s.cycle.Cycle, func(id graph.Node, _ store.Kind) bool {
		if !told[id] {
			rv.fresh = append(rv.fresh, id)
		}
		return true
	})
}

// followed tells the policy of the last fetch, when all that it led to has been fetched.
func (e *engine) followed(s *site) error {
	rv := s.rv
	r := rv.now
	if r == nil {
		return nil
	}
	var err error
	if r.Found, err = e.breadthFirst(s, r); err != nil {
		return err
	}
	rv.now, rv.fresh = nil, nil
	if v, ok := rv.policy.Node(revisit.Key(r.Page)); ok && r.Audit {
		r.Gap = rv.policy.Cycle() - rv.policy.Last(v)
	}
	visit, err := e.observe(s, r)
	if r.Audit {
		r.Shown = rv.keys(visit.Led)
	}
	return errors.Join(err, e.db.PutRefetch(s.ID, s.cycle.Cycle, r))
}

// keys translates a policy's numbers to the store's, ascending.
func (rv *rediscovery) keys(nodes []graph.Node) []graph.Node {
	out := make([]graph.Node, len(nodes))
	for i, v := range nodes {
		out[i] = graph.Node(rv.policy.Key(v))
	}
	slices.Sort(out)
	return out
}

// observe tells the policy of a fetch and returns what it was told.
func (e *engine) observe(s *site, r *store.Refetch) (revisit.Refetch, error) {
	v, ok := s.rv.policy.Node(revisit.Key(r.Page))
	if !ok {
		return revisit.Refetch{}, nil // answered for the first time outside of a cycle of discovery
	}
	d, err := e.db.Doc(r.Page)
	if err != nil {
		return revisit.Refetch{}, err
	}
	f := revisit.Answer{NotModified: r.NotModified, Gone: r.Gone, Failed: r.Failed(), Changed: len(r.Gained) > 0 || r.Lost > 0, Links: d.NumLinks}
	f.Gained = make([]revisit.Key, len(r.Gained))
	for i, id := range r.Gained {
		f.Gained[i] = revisit.Key(id)
	}
	for _, id := range r.Same {
		f.Same = append(f.Same, revisit.Key(id))
	}
	for _, id := range r.Found {
		found, err := e.db.Doc(id)
		if err != nil {
			return revisit.Refetch{}, err
		}
		doc, err := e.described(s, found, true)
		if err != nil {
			return revisit.Refetch{}, err
		}
		f.Found = append(f.Found, doc)
	}
	return s.rv.policy.Observe(v, f), nil
}

// advance is called when a site has nothing under way, and everything is committed: what the
// last fetch led to has been followed to the end. It tells the policy and puts its next document
// in line, or ends the cycle.
func (e *engine) advance(s *site) {
	rv := s.rv
	if rv.policy == nil {
		return
	}
	if rv.full {
		rv.done, s.ended = true, true
		e.fail(e.endFull(s))
		return
	}
	e.fail(e.followed(s))
	for e.err == nil {
		if rv.order >= rv.budget {
			break
		}
		v, ok := rv.policy.Next()
		if !ok {
			break
		}
		id := graph.Node(rv.policy.Key(v))
		d, err := e.db.Doc(id)
		if err != nil {
			e.fail(err)
			return
		}
		if !isOld(d, e.cycle.Cycle) || d.FetchedIn == e.cycle.Cycle {
			continue // a duplicate answer of the policy after an interruption
		}
		h := e.host(hostOf(d.URL))
		if h.cursors[s.ID] == nil {
			h.cursors[s.ID] = newCursor(graph.None)
		}
		rv.audit = rv.policy.Audit()
		h.front = append(h.front, item{work: fetchOld, id: id, site: s.ID})
		s.open++
		e.wake(h)
		return
	}
	if e.err == nil {
		rv.done, s.ended = true, true
		e.fail(e.close(s))
	}
}

// endFull tells the policy of a full recrawl and ends the cycle.
func (e *engine) endFull(s *site) error {
	// Who found what first has no meaning where all are fetched at once: one that the policy knows
	// stands for all.
	var found []graph.Node
	if err := e.db.Newcomers(s.ID, s.cycle.Cycle, func(id graph.Node, _ store.Kind) bool {
		found = append(found, id)
		return true
	}); err != nil {
		return err
	}
	s.rv.policy.BeginFull(revisit.Time(s.cycle.At))
	var failed error
	err := e.db.Refetches(s.ID, s.cycle.Cycle, func(r *store.Refetch) bool {
		r.Found = nil
		if _, ok := s.rv.policy.Node(revisit.Key(r.Page)); ok {
			r.Found, found = found, nil
		}
		_, failed = e.observe(s, r)
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return e.close(s)
}

// close ends the cycle at a site: N(page) is stored for every old page fetched, and what the
// policy was told.
func (e *engine) close(s *site) error {
	rv := s.rv
	c := rv.policy.End()
	if c.H != nil {
		pages := map[graph.Node][]graph.Node{}
		for g, group := range c.H.Old {
			led := rv.keys(c.H.Covers(nil, g))
			for _, v := range group {
				pages[graph.Node(rv.policy.Key(v))] = led
			}
		}
		if err := e.db.Commit(); err != nil { // so that the last fetch is read with what it found
			return err
		}
		var failed error
		err := e.db.Refetches(s.ID, s.cycle.Cycle, func(r *store.Refetch) bool {
			if r.Led = pages[r.Page]; len(r.Led) > 0 {
				failed = e.db.PutRefetch(s.ID, s.cycle.Cycle, r)
			}
			return failed == nil
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	s.cycle.Done = true
	return errors.Join(e.db.PutSiteCycle(s.cycle), e.db.PutRecord(s.ID, s.cycle.Cycle, rv.policy.Record()), e.db.Commit())
}

// fetched notes the answer to a request of the cycle.
func (rv *rediscovery) fetched(e *engine, s *site, j *job, d *store.Doc, found *outcome) {
	if j.work == fetchNew {
		if found.newcomer {
			rv.fresh = append(rv.fresh, d.ID)
		}
		return
	}
	r := &store.Refetch{Order: rv.order, Page: d.ID, At: e.c.now(), Status: j.out.Status, Bytes: j.out.Wire,
		NotModified: j.out.Class == fetch.NotModified, Changed: found.changed,
		Gone: j.out.Class == fetch.NotFound || j.out.Class == fetch.Gone, Gained: found.gained, Lost: found.lost, Audit: rv.audit}
	if r.Failed() {
		rv.misses++
		r.Gained, r.Lost = nil, 0
	} else if !rv.full && d.Dated && !r.Gone {
		var err error
		r.Same, err = e.unchanged(d, found.links)
		e.fail(err)
	}
	rv.order++
	e.fail(e.db.PutRefetch(s.ID, s.cycle.Cycle, r))
	if !rv.full {
		rv.now = r
	}
}

// breadthFirst returns the documents that answered first since the last fetch of an old one,
// in the order in which they are reached from it: by links, each page's in their order.
// Those that it does not lead to come last.
func (e *engine) breadthFirst(s *site, r *store.Refetch) ([]graph.Node, error) {
	fresh := map[graph.Node]bool{}
	for _, id := range s.rv.fresh {
		fresh[id] = true
	}
	through := map[graph.Node]bool{r.Page: true}
	queue := []graph.Node{r.Page}
	var found []graph.Node
	for len(queue) > 0 && len(found) < len(fresh) {
		id := queue[0]
		queue = queue[1:]
		d, err := e.db.Doc(id)
		if err != nil {
			return nil, err
		}
		links, err := e.db.Links(d)
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			if through[l.To] {
				continue
			}
			through[l.To] = true
			if fresh[l.To] {
				fresh[l.To] = false
				found = append(found, l.To)
				queue = append(queue, l.To)
			} else if l.Kind == store.ViaRedirect {
				queue = append(queue, l.To)
			} else if to, err := e.db.Doc(l.To); err == nil && to.Kind == store.Redirect && to.Cycle == s.cycle.Cycle {
				queue = append(queue, l.To)
			}
		}
	}
	slices.Sort(s.rv.fresh)
	for _, id := range s.rv.fresh {
		if fresh[id] {
			fresh[id] = false
			found = append(found, id)
		}
	}
	return found, nil
}
