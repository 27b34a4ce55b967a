package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"forage/adopt"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/store"
)

// Growth says how a crawl may grow by sites that nobody named, but that pages of its sites link to. The zero value: it may not.
type Growth struct {
	Most int // sites that are adopted at most, over the life of the store

	// Rules returns those of a site that starts at a URL, whose first link by belongs to; an error that wraps ErrKeptOut keeps
	// it from being one. nil: those that by has. What they say of robots.txt does not count.
	Rules func(url string, by *store.Site) (store.Rules, error)
	// Keep writes more in the commit that makes a site; nil: nothing.
	Keep func(db *store.DB, seed scope.Seed) error
}

// ErrKeptOut is wrapped by an error of Growth.Rules: there may be no such site.
var ErrKeptOut = errors.New("kept out")

// Adopt makes sites of the next few hosts that pages of sites link to, of which package adopt says which, and returns where their first
// visits start, with the rules that they have; Run visits them. Before, each is asked for its robots.txt: who forbids the start, or has none to be
// read, is refused, and not asked again for adopt.RefusedFor, or, without any answer, adopt.SilentFor. If all that were asked are, the next few
// are asked, unless the last adopt.MostSilent did not answer. None is returned where there are g.Most already, or no candidates. What is returned is on the disk, whatever the error: that of ctx, of the store, ErrHandedBack.
// It reads all documents and links of the store.
func (c *Crawl) Adopt(ctx context.Context, g Growth, opt Options) (seeds []scope.Seed, refused []store.Refusal, err error) {
	c.growing.Lock()
	defer c.growing.Unlock()
	if sites, err := c.db.Adopted(); err != nil || len(sites) >= g.Most {
		return nil, nil, err
	}
	v := c.db.Snapshot()
	rules := newcomers{v: v, growth: &g, crawl: c, now: c.wall().Unix(), sites: map[store.SiteID]*store.Site{}}
	l, err := rules.read()
	if err = errors.Join(err, v.Close()); err != nil {
		return nil, nil, err
	}
	for silent := 0; ; {
		n := min(g.Most-len(l.adopted), adopt.Batch(len(l.adopted)))
		chosen := adopt.Choose(l.candidates, l.adopted, n)
		if n <= 0 || len(chosen) == 0 || silent >= adopt.MostSilent || ctx.Err() != nil {
			return nil, refused, ctx.Err()
		}
		asked := make([]adoptee, len(chosen))
		var all sync.WaitGroup
		for i, at := range chosen {
			a := &asked[i]
			*a = adoptee{start: l.starts[at], rules: rules.of[l.candidates[at].Name], adoption: store.Adoption{Domains: len(l.candidates[at].Voters), Links: l.candidates[at].Links}}
			all.Go(func() { a.err = c.ask(ctx, a, &opt) })
		}
		all.Wait()
		for i := range asked {
			err = errors.Join(err, asked[i].err)
			if silent++; !asked[i].silent {
				silent = 0
			}
		}
		if err != nil {
			return nil, refused, err
		}
		made, no, err := c.takeOn(&g, asked, opt)
		refused = append(refused, no...)
		if err != nil || len(made) > 0 {
			return made, refused, err
		}
		slices.Sort(chosen)
		for _, at := range slices.Backward(chosen) {
			l.candidates, l.starts = slices.Delete(l.candidates, at, at+1), slices.Delete(l.starts, at, at+1)
		}
	}
}

// newcomers tells which rules sites would have that are not there yet.
type newcomers struct {
	v      *store.View
	growth *Growth
	crawl  *Crawl
	now    store.Time
	sites  map[store.SiteID]*store.Site
	there  *scope.Directory
	of     map[string]store.Rules // by host that may be one
}

// read reads what is linked to.
func (n *newcomers) read() (l *linked, err error) {
	if n.there, err = scope.NewDirectory(n.v, store.Rules{Scope: scope.Kinds[0]}); err != nil {
		return nil, err
	}
	n.of = map[string]store.Rules{}
	return readLinked(n.v, n.may)
}

// may reports whether a site may start with d, and notes the rules that it would have.
func (n *newcomers) may(d *store.Doc) (bool, error) {
	none := new(store.Rules)
	if r, err := n.there.Rules(d.URL, none); err != nil || r != none { // it belongs to a site
		return false, err
	}
	host := store.HostOf(d.URL)
	if n.crawl.Elsewhere(host) {
		return false, nil
	}
	switch r, err := n.v.Refusal(host); {
	case err == nil:
		if n.now < r.Until {
			return false, nil
		}
	case !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	by := n.sites[d.Site]
	if by == nil {
		var err error
		if by, err = n.v.Site(d.Site); err != nil {
			return false, err
		}
		n.sites[d.Site] = by
	}
	rules, err := n.rules(d.URL, by)
	if errors.Is(err, ErrKeptOut) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sc, err := scope.New(&rules)
	if err != nil {
		return false, err
	}
	if sc.Skip(store.NewDoc(d.URL, 0)) != "" {
		return false, nil
	}
	if _, err := n.v.SiteNamed(rules.Within); !errors.Is(err, store.ErrNotFound) { // by scope domain it has the name of a site that is one host
		return false, err
	}
	n.of[host] = rules
	return true, nil
}

// rules returns those of a site that starts at a URL.
func (n *newcomers) rules(url string, by *store.Site) (rules store.Rules, err error) {
	if n.growth.Rules != nil {
		rules, err = n.growth.Rules(url, by)
	} else {
		rules = by.Rules
	}
	if rules.Scope == "prefix" { // what lies beside the start is not left out for that
		rules.Scope = "host"
	}
	if err == nil {
		rules.Within, err = scope.Within(rules.Scope, url)
	}
	rules.Robots, rules.Contact = "", "" // nobody has said that this one's is to be ignored
	if rules.Budget == 0 || rules.Budget > adopt.FirstBudget {
		rules.Budget = adopt.FirstBudget
	}
	return rules, err
}

// An adoptee is a candidate that was asked for its robots.txt.
type adoptee struct {
	start    *store.Doc
	rules    store.Rules
	adoption store.Adoption
	robots   *store.Robots // to be kept; nil: none
	refused  string        // why it is not adopted
	silent   bool          // it did not answer
	err      error         // of the store, of ctx
}

// ask asks for the robots.txt of a candidate.
func (c *Crawl) ask(ctx context.Context, n *adoptee, opt *Options) error {
	allowed, err := scope.Addresses(&n.rules)
	if err != nil {
		return err
	}
	ctx = fetch.Allow(ctx, slices.Concat(allowed, opt.Allow))
	origin := scope.Origin(n.start.URL)
	turn, err := c.Turn(ctx, origin, &n.rules)
	if errors.Is(err, ErrLeftAlone) {
		n.refused = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	r, o, err := c.Client().Robots(ctx, origin, &fetch.Request{Follows: c.follows}, nil)
	if err != nil {
		turn.End(nil, 0)
		return err
	}
	defer o.Release()
	turn.End(o, r.CrawlDelay())
	switch {
	case r.Unreachable():
		n.refused = "robots.txt: " + fetch.Unreachable(o)
		n.silent = o.Class == fetch.DNS || o.Class == fetch.Refused || o.Class == fetch.Timeout
	case !r.Allowed(n.start.URL) || n.start.Given != "" && !r.Allowed(n.start.Given):
		n.refused = "robots.txt forbids " + scope.Path(n.start.URL)
	case c.archive == nil: // else it is asked for again, so that the archive has it among the visit's answers
		n.robots = robotsRecord(origin, r, o, c.wall().Unix())
	}
	return nil
}

// takeOn makes sites of those of asked that are not refused, and notes which are.
func (c *Crawl) takeOn(g *Growth, asked []adoptee, opt Options) (made []scope.Seed, refused []store.Refusal, err error) {
	done := make(chan error, 1)
	c.loop.do(func() {
		switch {
		case c.closing:
			done <- ErrHandedBack
			return
		case c.err != nil:
			done <- c.err
			return
		}
		made, refused, err = c.makeSites(g, asked, opt)
		done <- errors.Join(err, c.db.Sync())
	})
	err = <-done
	return made, refused, err
}

// makeSites is takeOn, in the loop.
func (c *Crawl) makeSites(g *Growth, asked []adoptee, opt Options) (made []scope.Seed, refused []store.Refusal, err error) {
	c.tally()
	if err := c.db.Commit(); err != nil { // so that what follows is one commit
		return nil, nil, err
	}
	now := c.now()
	for i := range asked {
		a := &asked[i]
		host := store.HostOf(a.start.URL)
		a.adoption.At = now
		if by, err := c.doc(a.start.FoundOn); err == nil {
			a.adoption.From = by.URL
		} else if !errors.Is(err, store.ErrNotFound) {
			return nil, nil, err
		}
		if a.refused != "" {
			last := adopt.RefusedFor
			if a.silent {
				last = adopt.SilentFor
			}
			refused = append(refused, store.Refusal{Host: host, At: now, From: a.adoption.From, Why: a.refused, Until: now + store.Time(last/time.Second)})
			if err := c.db.PutRefusal(&refused[len(refused)-1]); err != nil {
				return nil, nil, err
			}
			continue
		}
		if _, err := c.db.SiteNamed(a.rules.Within); !errors.Is(err, store.ErrNotFound) {
			if err != nil {
				return nil, nil, err
			}
			continue // somebody has named it meanwhile
		}
		made = append(made, scope.Seed{URL: a.start.URL, Rules: a.rules, Adopted: &a.adoption})
		if a.robots != nil {
			if err := c.db.PutRobots(a.robots); err != nil {
				return nil, nil, err
			}
		}
		if g.Keep != nil {
			if err := g.Keep(c.db, made[len(made)-1]); err != nil {
				return nil, nil, err
			}
		}
	}
	strays, err := c.straysFor(made)
	if err != nil {
		return nil, nil, fmt.Errorf("sites that are adopted: %w", err)
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	_, err = c.placeSeeds(made, strays, opt.Log)
	return made, refused, err
}
