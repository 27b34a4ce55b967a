package crawl

import (
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

// addSeeds makes the sites of seeds, or changes the rules of those that exist, and returns
// them, each once, in the order of the seeds. It adds nothing if one of the seeds is no URL, or
// its rules do not work. O(seeds, URLs known of new sites).
func (c *Crawl) addSeeds(seeds []scope.Seed, log *slog.Logger) ([]*store.Site, error) {
	last, err := c.db.LastCycle()
	if err != nil {
		return nil, err
	}
	urls, rules := make([]string, len(seeds)), make([]store.Rules, len(seeds))
	for i, seed := range seeds {
		r := seed.Rules
		if r.Scope == "" {
			r.Scope = scope.Kinds[0]
		}
		if urls[i], err = scope.Normalise(seed.URL, r.IgnoreParams); err != nil {
			return nil, fmt.Errorf("seed %q: %w", seed.URL, err)
		}
		if r.Within, err = scope.Within(r.Scope, urls[i]); err != nil {
			return nil, err
		}
		if _, err := scope.New(&r); err != nil {
			return nil, err
		}
		if _, err := scope.Addresses(&r); err != nil {
			return nil, err
		}
		rules[i] = r
	}
	type given struct {
		site store.SiteID
		url  string
	}
	var sites, fresh []*store.Site
	before := map[*store.Site]store.Rules{} // those that sites had
	byName, known := map[string]*store.Site{}, map[given]bool{}
	of := make([]*store.Site, len(seeds))
	for i, url := range urls {
		name := rules[i].Within
		s := byName[name]
		if s == nil {
			s, err = c.db.SiteNamed(name)
			switch {
			case errors.Is(err, store.ErrNotFound):
				// Its first cycle will have the next number that is free.
				s = &store.Site{Name: name, State: store.SiteCrawling, FirstCycle: last + 1, LastCycle: last + 1}
				s.Rules = rules[i]
				if err = c.db.AddSite(s); err == nil {
					fresh = append(fresh, s)
				}
			case err == nil:
				if open := c.sites[s.ID]; open != nil {
					s = open.Site // what a cycle works on is not to be overwritten
				}
				before[s] = s.Rules
				s.Rules = rules[i]
			}
			if err != nil {
				return nil, err
			}
			byName[name] = s
			sites = append(sites, s)
			for _, u := range s.Seeds {
				known[given{s.ID, u}] = true
			}
		}
		if of[i] = s; !known[given{s.ID, url}] {
			known[given{s.ID, url}] = true
			s.Seeds = append(s.Seeds, url)
		}
	}
	if err := c.db.Commit(); err != nil { // adopt reads what is committed
		return nil, err
	}
	if err := c.adopt(fresh, last+1); err != nil {
		return nil, err
	}
	for i, s := range of {
		if err := c.addSeed(s, urls[i], last+1); err != nil {
			return nil, err
		}
	}
	for _, s := range sites {
		if open := c.sites[s.ID]; open != nil {
			if open.scope, err = scope.New(&s.Rules); err != nil {
				return nil, err
			}
			if open.allow, err = scope.Addresses(&s.Rules); err != nil {
				return nil, err
			}
			if open.busy() {
				for _, b := range open.cycle.backlogs {
					c.loop.setDelay(b.host)
				}
			}
		}
		if err := c.db.PutSite(s); err != nil {
			return nil, err
		}
		if was, ok := before[s]; ok && !sameRules(&was, &s.Rules) {
			if err := c.changed(s, log); err != nil {
				return nil, err
			}
		}
	}
	return sites, c.db.Commit()
}

// sameRules reports whether two sets of rules leave out the same documents.
func sameRules(a, b *store.Rules) bool {
	return a.Scope == b.Scope && slices.Equal(a.Include, b.Include) && slices.Equal(a.Exclude, b.Exclude) && a.MaxDepth == b.MaxDepth && a.All == b.All &&
		slices.Equal(a.AllowPrivate, b.AllowPrivate)
}

// changed has the rules of a site hold for what is known of it, and tells of pages that this
// changes.
func (c *Crawl) changed(s *store.Site, log *slog.Logger) error {
	sc, err := scope.New(&s.Rules)
	if err != nil {
		return err
	}
	var open *cycle
	if o := c.sites[s.ID]; o != nil && o.busy() {
		open = o.cycle
	}
	out, back, err := c.reconsider(s, sc, open)
	if out+back > 0 {
		log.Warn("the rules have changed", "site", s.Name, "pages left out", out, "pages back", back)
	}
	return err
}

// addSeed has a URL fetched whatever led to it. next is the number of the site's next cycle.
func (c *Crawl) addSeed(s *store.Site, url string, next store.Cycle) error {
	cycle := next
	open := c.sites[s.ID]
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
		return err
	}
	if added && open != nil {
		open.cycle.see(d)
	}
	queued := false // it waited before
	if !added {
		if d, err = c.doc(d.ID); err != nil {
			return err
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
			return err
		}
	}
	if open != nil && d.Site == s.ID && d.State == store.Queued {
		open.cycle.requeue(d, queued)
	}
	return nil
}

// adopt gives new sites of cycle c the documents that links of other sites led to before, and
// that lay outside of the scope of these. It reads the URLs of each host or prefix, and for
// domains, whose hosts are not together, all URLs once.
func (c *Crawl) adopt(sites []*store.Site, cycle store.Cycle) error {
	domains := map[string]*site{}
	for _, rec := range sites {
		sc, err := scope.New(&rec.Rules)
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
		for name, more := store.HostOf(url), true; more; _, name, more = strings.Cut(name, ".") {
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
		if d, failed = c.doc(id); failed == nil && stray(d) {
			failed = c.moved(d, s.Site, s.scope, novelty.Of(s.Site, cycle, nil))
		}
		return failed == nil
	})
	return errors.Join(err, failed)
}

// stray reports whether nothing but the scope of its site kept d from being fetched.
func stray(d *store.Doc) bool {
	return d.State == store.Skipped && d.Kind == store.Unseen && d.Reason == scope.Outside
}

// moved gives d to the site in whose scope it lies.
func (c *Crawl) moved(d *store.Doc, rec *store.Site, sc *scope.Scope, n store.Novelty) error {
	d.State, d.Reason, d.New = store.Queued, "", n
	if why := sc.Skip(d); why != "" {
		d.State, d.Reason = store.Skipped, why
	}
	return c.db.Move(d, rec.ID)
}
