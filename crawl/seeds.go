package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"forage/crawl/novelty"
	"forage/crawl/scope"
	"forage/graph"
	"forage/store"
)

// checkSeeds returns seeds with their URLs in normal form and with what belongs to their sites. Errors:
// a seed that is no URL, rules that do not work, ErrElsewhere, ctx's own.
func (c *Crawl) checkSeeds(ctx context.Context, seeds []scope.Seed) ([]scope.Seed, error) {
	good := make([]scope.Seed, len(seeds))
	for i, seed := range seeds {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r := seed.Rules
		if r.Scope == "" {
			r.Scope = scope.Kinds[0]
		}
		url, err := scope.Normalise(seed.URL, r.IgnoreParams)
		if err != nil {
			return nil, fmt.Errorf("seed %q: %w", seed.URL, err)
		}
		if c.Elsewhere(store.HostOf(url)) {
			return nil, fmt.Errorf("seed %q: %w", seed.URL, ErrElsewhere)
		}
		if r.Within, err = scope.Within(r.Scope, url); err != nil {
			return nil, err
		}
		if _, err := scope.New(&r); err != nil {
			return nil, err
		}
		if _, err := scope.Addresses(&r); err != nil {
			return nil, err
		}
		good[i] = scope.Seed{URL: url, Rules: r, Adopted: seed.Adopted}
	}
	return good, nil
}

// A seeded site is one that is to be visited. docs are all of its documents where it is new and has
// none but seeds; nil: the store has them.
type seeded struct {
	*store.Site
	docs []*store.Doc
}

// addSeeds makes the sites of seeds that were checked, or changes the rules of those that exist, and
// returns them, each once, in the order of the seeds. strays are the documents that a new site may
// take. O(seeds, URLs known of new sites).
func (c *Crawl) addSeeds(seeds []scope.Seed, strays strays, log *slog.Logger) ([]seeded, error) {
	c.tally()                             // a link may have led here, in the middle of a window
	if err := c.db.Commit(); err != nil { // take reads what is committed
		return nil, err
	}
	return c.placeSeeds(seeds, strays, log)
}

// placeSeeds is addSeeds where all that take reads is committed: a site comes to be with all that it takes in one commit.
func (c *Crawl) placeSeeds(seeds []scope.Seed, strays strays, log *slog.Logger) ([]seeded, error) {
	last, err := c.db.LastCycle()
	if err != nil {
		return nil, err
	}
	type entry struct {
		*store.Site
		fresh bool
		was   store.Rules // of one that exists
		urls  []string
		named map[string]bool // urls, each of which is there once: a document is in line once
		known map[string]bool // its seeds
	}
	var sites []*entry
	byName := map[string]*entry{}
	for _, seed := range seeds {
		url, name := seed.URL, seed.Rules.Within
		e := byName[name]
		if e == nil {
			e = &entry{named: map[string]bool{}, known: map[string]bool{}}
			e.Site, err = c.db.SiteNamed(name)
			switch {
			case errors.Is(err, store.ErrNotFound):
				// Its first cycle will have the next number that is free.
				e.Site, e.fresh = &store.Site{Name: name, State: store.SiteCrawling, Adopted: seed.Adopted, FirstCycle: last + 1, LastCycle: last + 1}, true
			case err != nil:
				return nil, err
			default:
				if open := c.at(e.ID); open != nil {
					e.Site = open.Site // what a cycle works on is not to be overwritten
				}
				e.was = e.Rules
			}
			e.Rules = seed.Rules
			for _, u := range e.Seeds {
				e.known[u] = true
			}
			byName[name] = e
			sites = append(sites, e)
		}
		if !e.named[url] {
			e.named[url] = true
			e.urls = append(e.urls, url)
		}
		if !e.known[url] {
			e.known[url] = true
			e.Seeds = append(e.Seeds, url)
		}
	}
	for _, e := range sites {
		if e.fresh {
			if a := e.Adopted; a != nil {
				c.db.PutEvent(&store.Event{Type: store.SiteAdopted, At: a.At, Site: e.Name, URL: e.Seeds[0], FoundOn: a.From})
			}
			if err := errors.Join(c.db.AddSite(e.Site), c.db.DropRefusal(store.HostOf(e.Seeds[0]))); err != nil {
				return nil, err
			}
		}
	}
	result := make([]seeded, len(sites))
	for i, e := range sites {
		s := seeded{Site: e.Site}
		took := false
		if e.fresh {
			if took, err = c.take(e.Site, strays, last+1); err != nil {
				return nil, err
			}
		}
		all := e.fresh && !took
		for _, url := range e.urls {
			d, err := c.addSeed(e.Site, url, last+1)
			if err != nil {
				return nil, err
			}
			all = all && d.Site == e.ID
			s.docs = append(s.docs, d)
		}
		if !all {
			s.docs = nil
		}
		result[i] = s
	}
	for _, e := range sites {
		if open := c.at(e.ID); open != nil {
			if open.scope, err = c.newScope(&e.Rules); err != nil {
				return nil, err
			}
			if open.allow, err = scope.Addresses(&e.Rules); err != nil {
				return nil, err
			}
			if open.busy() {
				for _, b := range open.cycle.backlogs {
					c.loop.setDelay(b.host)
				}
			}
		}
		if e.fresh {
			continue
		}
		if err := c.db.PutSite(e.Site); err != nil {
			return nil, err
		}
		if !sameRules(&e.was, &e.Rules) {
			if err := c.changed(e.Site, log); err != nil {
				return nil, err
			}
		}
	}
	return result, c.db.Commit()
}

// sameRules reports whether two sets of rules leave out the same documents.
func sameRules(a, b *store.Rules) bool {
	return a.Scope == b.Scope && slices.Equal(a.Include, b.Include) && slices.Equal(a.Exclude, b.Exclude) && a.MaxDepth == b.MaxDepth && a.All == b.All &&
		slices.Equal(a.AllowPrivate, b.AllowPrivate)
}

// changed has the rules of a site hold for what is known of it, and tells of pages that this
// changes.
func (c *Crawl) changed(s *store.Site, log *slog.Logger) error {
	sc, err := c.newScope(&s.Rules)
	if err != nil {
		return err
	}
	var open *cycle
	if o := c.at(s.ID); o != nil && o.busy() {
		open = o.cycle
	}
	out, back, err := c.reconsider(s, sc, open)
	if out+back > 0 {
		log.Warn("the rules have changed", "site", s.Name, "pages left out", out, "pages back", back)
	}
	return err
}

// addSeed has a URL fetched whatever led to it, and returns its document. next is the number of the
// site's next cycle.
func (c *Crawl) addSeed(s *store.Site, url string, next store.Cycle) (*store.Doc, error) {
	cycle := next
	open := c.at(s.ID)
	if open != nil && open.busy() {
		cycle = open.cycle.rec.Cycle
	} else {
		open = nil
	}
	d := store.NewDoc(url, s.ID)
	d.Seed, d.Discovered, d.Cycle = true, c.now(), cycle
	if s.LastCycle != s.FirstCycle {
		d.New = novelty.Of(s, cycle, nil)
	}
	added, err := c.db.Add(d)
	if err != nil {
		return nil, err
	}
	if added && open != nil {
		open.cycle.see(d, open.cycle.place(d.URL))
	}
	queued := false // it waited before
	if !added {
		if d, err = c.doc(d.ID); err != nil {
			return nil, err
		}
		queued = d.State == store.Queued
		// Rules and signs of what is not there do not hold for it, and what failed is tried once more.
		if d.State == store.Skipped || d.Kind == store.Soft404 || d.State == store.Failed && d.Kind == store.Unseen {
			d.State, d.Reason = store.Queued, ""
		}
		d.Seed = true
		if d.Kind == store.Unseen {
			d.Depth = 0
		}
		if err := c.db.Put(d); err != nil {
			return nil, err
		}
	}
	if open != nil && d.Site == s.ID && d.State == store.Queued {
		open.cycle.requeue(d, queued)
	}
	return d, nil
}

// strays tell which documents a new site may take: nothing but the scope of their own sites kept them
// from being fetched.
type strays struct {
	none     bool                    // there are none
	byDomain map[string][]graph.Node // of domains that have no site yet, whose hosts are not together in the store
}

// straysFor returns the strays for the sites of seeds, which were checked. It reads all URLs if a domain is
// among them that has no site yet.
func (c *Crawl) straysFor(seeds []scope.Seed) (strays, error) {
	if n, err := c.db.NumURLs(); err != nil || n == 0 {
		return strays{none: true}, err
	}
	byDomain := map[string][]graph.Node{}
	for _, seed := range seeds {
		if name := seed.Rules.Within; seed.Rules.Scope == "domain" {
			if _, err := c.db.SiteNamed(name); errors.Is(err, store.ErrNotFound) {
				byDomain[name] = nil
			} else if err != nil {
				return strays{}, err
			}
		}
	}
	if len(byDomain) == 0 {
		return strays{}, nil
	}
	var failed error
	err := c.db.URLs("", func(url string, id graph.Node) bool {
		for name, more := store.HostOf(url), true; more; _, name, more = strings.Cut(name, ".") {
			if ids, ok := byDomain[name]; ok {
				var d *store.Doc
				if d, failed = c.doc(id); failed == nil && stray(d) {
					byDomain[name] = append(ids, id)
				}
				break
			}
		}
		return failed == nil
	})
	return strays{byDomain: byDomain}, errors.Join(err, failed)
}

// take gives a new site of cycle c the documents that links of other sites led to before, and
// that lay outside of the scope of these, and reports whether there are any. It reads the URLs of a host or
// prefix.
func (c *Crawl) take(rec *store.Site, strays strays, cycle store.Cycle) (any bool, err error) {
	if strays.none {
		return false, nil
	}
	sc, err := c.newScope(&rec.Rules)
	if err != nil {
		return false, err
	}
	one := func(id graph.Node) bool {
		var d *store.Doc
		if d, err = c.doc(id); err == nil && stray(d) {
			any = true
			err = c.moved(d, rec, sc, novelty.Of(rec, cycle, nil))
		}
		return err == nil
	}
	within := rec.Rules.Within
	var prefixes []string
	switch rec.Rules.Scope {
	case "domain":
		for _, id := range strays.byDomain[within] {
			if !one(id) {
				break
			}
		}
	case "prefix":
		prefixes = []string{within}
	default:
		prefixes = []string{"http://" + within + "/", "https://" + within + "/"}
	}
	for _, p := range prefixes {
		if e := c.db.URLs(p, func(_ string, id graph.Node) bool { return one(id) }); e != nil || err != nil {
			return any, errors.Join(err, e)
		}
	}
	return any, err
}

// stray reports whether nothing but the scope of its site kept d from being fetched.
func stray(d *store.Doc) bool {
	return d.State == store.Skipped && d.Kind == store.Unseen && d.Reason == scope.Outside
}

// moved gives d to the site in whose scope it lies.
func (c *Crawl) moved(d *store.Doc, rec *store.Site, sc *scope.Scope, n store.Novelty) error {
	if d.State, d.Reason = store.Queued, ""; !d.Sighted() {
		d.New = n
	}
	if why := sc.Skip(d); why != "" {
		d.State, d.Reason = store.Skipped, why
	}
	return c.db.Move(d, rec.ID)
}
