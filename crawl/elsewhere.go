package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"forage/crawl/document"
	"forage/crawl/novelty"
	"forage/crawl/scope"
	"forage/graph"
	"forage/store"
)

// Several stores may share a web: each is told by Config.Elsewhere which hosts are not its own, and contacts none of them. A URL of
// such a host that becomes known is a document here, skipped, and goes into the outbox of the store in the same commit. Somebody
// carries it to the store that it belongs to, where Receive makes it known as if a page of another site there had linked to it.

// ErrElsewhere says that a host belongs to another store.
var ErrElsewhere = errors.New("its host belongs to another store")

// Elsewhere reports whether a host, or host:port, as in URLs, belongs to another store, see Config.Elsewhere.
func (c *Crawl) Elsewhere(host string) bool { return c.cfg.Elsewhere != nil && c.cfg.Elsewhere(host) }

// Shares reports whether the store shares its web with others, so that Receive is called.
func (c *Crawl) Shares() bool { return c.cfg.Elsewhere != nil }

// follows reports whether a redirect of a robots.txt may be followed.
func (c *Crawl) follows(url string) bool { return !c.Elsewhere(store.HostOf(url)) }

// newScope is scope.New for a site of the store.
func (c *Crawl) newScope(r *store.Rules) (*scope.Scope, error) {
	s, err := scope.New(r)
	if err != nil {
		return nil, err
	}
	return s.Without(c.cfg.Elsewhere), nil
}

// sendOut writes a document that has just become known down for the store to which it belongs, if that is another one, and if it
// could want it. by is the document with the link; nil: robots.txt.
func (c *cycle) sendOut(d, by *store.Doc) {
	if by == nil || !d.Travels() || scope.IsAction(d) || c.site.scope.Contains(d.URL) && c.site.scope.Excludes(d.URL) {
		return
	}
	crawl := c.crawl()
	crawl.fail(crawl.db.PutOutgoing(&store.Outgoing{
		URL: d.URL, From: by.URL, Via: d.Via, At: d.Discovered, NoFollow: d.NoFollow, Depth: d.Depth,
		MaybeOld: c.earlier || novelty.Told(by) != store.IsNew,
	}))
	c.loop().added += len(d.URL)
}

// leaveTo has a site of this store on which nobody works have what a link of another one leads to, for its next cycle, and reports whether there
// is such a site. Stores that share a web do so for each other by Receive: of two sites that come to be in one store neither may get less.
func (c *cycle) leaveTo(by *store.Doc, f *document.Link) (id graph.Node, ok bool) {
	crawl := c.crawl()
	if crawl.cfg.Elsewhere == nil || by == nil || f.Action || crawl.Elsewhere(store.HostOf(f.URL)) {
		return 0, false
	}
	known := recipients{crawl: crawl, names: map[string]*recipient{}, sites: map[store.SiteID]*recipient{}}
	s, err := known.of(f.URL)
	if err != nil || s == nil || s.cycle != nil || s.ID == c.site.ID {
		crawl.fail(err)
		return 0, false
	}
	url, err := scope.Normalise(f.URL, s.Rules.IgnoreParams)
	if err != nil || scope.IsAction(store.NewDoc(url, s.ID)) {
		return 0, false
	}
	url = s.identity(url)
	d, err := crawl.admit(s, &Received{
		URL: f.URL, From: by.URL, Via: f.Kind, NoFollow: f.NoFollow, At: crawl.now(), Depth: depthFrom(by, f.Kind),
		MaybeOld: c.earlier || novelty.Told(by) != store.IsNew,
	}, url)
	if err == nil && d == nil {
		id, err = crawl.db.Find(url)
	} else if err == nil {
		id = d.ID
	}
	crawl.fail(err)
	return id, err == nil
}

// A Received is a URL that another store found, see store.Outgoing, of which it has the fields.
type Received struct {
	URL      string
	From     string // URL of the document of the other store that led there; "": nobody knows
	Via      store.LinkKind
	NoFollow bool
	At       store.Time // when it became known there; 0: now
	Depth    int        // links from a seed
	MaybeOld bool       // nothing shows that the link is new
}

// ReceivedCounts tell what became of URLs that other stores found.
type ReceivedCounts struct {
	Added   int        // became known, and are to be fetched
	LeftOut int        // became known, and are skipped under the rules of their site
	Known   int        // were known
	Refused int        // are no URLs, or of hosts that belong to another store
	NoSite  []Received // belong to no site of the store, which knows nothing of them: the caller may make a site of one, and give them once more
}

// Receive makes known what other stores found of hosts of this one, whether runs are under way or not. A document that is new to the store is what
// a link by a page of another site would make it: with the identity and under the rules of its site, in line at once where a cycle
// of that is open, else it waits in the queue for the next one, in which it counts as what it was told as, see store.Outgoing.MaybeOld. What is known already
// stays as it is.
//
// All of this is one commit, which has what keep writes, too, unless that is nil: how far a log was read, so that each part
// of it is taken in exactly once, whatever dies. keep is called first, and must have written nothing where it returns an error: then
// nothing is received. When Receive returns nil the commit is visible, and on its way to the disk behind those before it, where it gets whole or
// not at all: a kill of the process does not take it back, a power cut may, until store.DB.Sync was called or the events and outgoing URLs of a later commit are told.
//
// Errors: what keep returns, a full disk (nothing was received, and may be later), what the store says; ctx's own where it ended before the loop came to it.
// It is called from any goroutine. O(log n) for each URL, in the loop, which has answers wait meanwhile: give some hundreds at a time.
func (c *Crawl) Receive(ctx context.Context, found []Received, keep func(*store.DB) error) (r ReceivedCounts, err error) {
	done := make(chan struct{})
	c.loop.do(func() {
		defer close(done)
		switch full := c.Full(); {
		case ctx.Err() != nil:
			err = ctx.Err()
		case c.err != nil:
			err = c.err
		case full != nil:
			err = full
		default:
			r, err = c.receive(found, keep)
		}
	})
	<-done
	return r, err
}

// A recipient is a site to which received URLs belong.
type recipient struct {
	*site
	next  store.Cycle // in which what is new becomes known, where none is open
	first bool        // and that counts as its first visit
}

func (c *Crawl) receive(found []Received, keep func(*store.DB) error) (r ReceivedCounts, err error) {
	// What ends a window, as to read a parked site back does, comes before.
	to := make([]*recipient, len(found))
	known := recipients{crawl: c, names: map[string]*recipient{}, sites: map[store.SiteID]*recipient{}}
	urls := make([]string, len(found))
	for i := range found {
		url, err := scope.Normalise(found[i].URL, nil)
		if err != nil || c.Elsewhere(store.HostOf(url)) {
			continue
		}
		urls[i] = url
		if to[i], err = known.of(url); err != nil {
			return r, err
		}
		if to[i] == nil {
			continue
		}
		if url, err = scope.Normalise(url, to[i].Rules.IgnoreParams); err != nil {
			return r, err
		}
		urls[i] = to[i].identity(url)
		if cy := to[i].cycle; cy != nil && cy.mayReopen() {
			if _, err := c.db.Find(urls[i]); errors.Is(err, store.ErrNotFound) && to[i].scope.Skip(store.NewDoc(urls[i], to[i].ID)) == "" {
				cy.reopen()
			}
		}
	}
	if c.save(); c.err != nil {
		return r, c.err
	}
	if keep != nil {
		if err := keep(c.db); err != nil {
			return r, err
		}
	}
	for i := range found {
		switch s := to[i]; {
		case urls[i] == "":
			r.Refused++
		case s == nil:
			r.NoSite = append(r.NoSite, found[i])
		default:
			d, err := c.admit(s, &found[i], urls[i])
			switch {
			case err != nil:
				c.fail(err)
				return ReceivedCounts{}, err
			case d == nil:
				r.Known++
			case d.State == store.Skipped:
				r.LeftOut++
			default:
				r.Added++
			}
		}
	}
	c.save()
	return r, c.err
}

// admit makes a URL known that another store found; nil: it was.
func (c *Crawl) admit(s *recipient, r *Received, url string) (*store.Doc, error) {
	if _, err := c.db.Find(url); !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	from, err := c.foundOn(s, r)
	if err != nil {
		return nil, err
	}
	d := store.NewDoc(url, s.ID)
	if d.Via, d.NoFollow, d.Depth, d.FoundOn = r.Via, r.NoFollow, r.Depth, from; url != r.URL {
		d.Given = r.URL
	}
	if d.Discovered = r.At; r.At == 0 {
		d.Discovered = c.now()
	}
	open := s.cycle
	if open != nil && open.closed {
		open = nil
	}
	says := store.IsNew
	if r.MaybeOld {
		says = store.MaybeNew
	}
	switch {
	case open != nil && open.earlier:
		d.Cycle = open.rec.Cycle
	case open != nil:
		d.Cycle = open.rec.Cycle
		d.New = novelty.By(s.Site, d.Cycle, says)
	case s.first, s.still() && r.MaybeOld: // the first visit would have found it
		d.Cycle = s.FirstCycle
	default:
		d.Cycle = s.next
		d.New = novelty.By(s.Site, d.Cycle, says)
	}
	if why := s.scope.Skip(d); why != "" {
		d.State, d.Reason = store.Skipped, why
	} else if open != nil && open.full {
		d.Reason = "limit: " + open.limit
	}
	if _, err := c.db.Add(d); err != nil {
		return nil, err
	}
	c.loop.added += len(url)
	switch {
	case open == nil && d.State == store.Queued && d.Cycle == s.FirstCycle && s.whole():
		c.more.add(s.Name)
	case open == nil:
	case d.State == store.Queued:
		open.see(d, open.place(d.URL))
		open.found(d, false)
	default:
		open.report(d, d.Reason)
	}
	return d, c.err
}

// foundOn is the document of the other store that led to a URL. It becomes one here that is skipped, so that the way to a page can be told.
func (c *Crawl) foundOn(s *recipient, r *Received) (graph.Node, error) {
	url, err := scope.Normalise(r.From, nil)
	if err != nil {
		return graph.None, nil
	}
	id, err := c.db.Find(url)
	if err == nil || !errors.Is(err, store.ErrNotFound) || !c.Elsewhere(store.HostOf(url)) {
		if errors.Is(err, store.ErrNotFound) {
			return graph.None, nil
		}
		return id, err
	}
	d := store.NewDoc(url, s.ID)
	d.State, d.Reason, d.Discovered, d.Cycle = store.Skipped, store.ReasonElsewhere, r.At, s.LastCycle
	_, err = c.db.Add(d)
	c.loop.added += len(url)
	return d.ID, err
}

// still reports whether no cycle of discovery came after the first visit of the site.
func (s *site) still() bool { return s.LastCycle == s.FirstCycle }

// whole reports whether the first visit of the site, which has ended, left nothing out, so that what is in line came later.
func (s *site) whole() bool { return s.State == store.SiteDone && !s.Partial && s.still() }

// unfinished are names of sites whose first visit has more to fetch than it had when it ended.
type unfinished struct {
	mu    sync.Mutex
	names map[string]bool
}

func (u *unfinished) add(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names == nil {
		u.names = map[string]bool{}
	}
	u.names[name] = true
}

// Unfinished returns the sites to which others have led, since it was called last, when their first visit had come to its end: Run, with a
// seed of theirs, goes on with that. A site whose first visit left something out, as at a limit, is none of them. Any goroutine.
func (c *Crawl) Unfinished() []string {
	c.more.mu.Lock()
	defer c.more.mu.Unlock()
	names := slices.Sorted(maps.Keys(c.more.names))
	clear(c.more.names)
	return names
}

// Unfinished reports whether a site is one of those that Crawl.Unfinished names, as far as the store tells: after a restart. O(1).
func Unfinished(v *store.View, rec *store.Site) (bool, error) {
	if !(&site{Site: rec}).whole() {
		return false, nil
	}
	counts, err := v.Counters(rec.ID)
	return err == nil && counts.Queued() > 0, err
}

// recipients find the sites of received URLs.
type recipients struct {
	crawl *Crawl
	names map[string]*recipient // by name that was looked up; nil: there is none
	sites map[store.SiteID]*recipient
	last  store.Cycle // the highest number given; 0: not read yet
}

// of returns the site to which a URL belongs; nil: the store has none. O(labels of the host + segments of the path).
func (rs *recipients) of(url string) (*recipient, error) {
	if s := rs.crawl.siteOf(url); s != nil {
		return rs.at(s)
	}
	for end := len(url); ; { // by scope prefix it is named by a URL up to a slash
		slash := strings.LastIndexByte(url[:end], '/')
		if slash < len(scope.Origin(url)) {
			break
		}
		if r, err := rs.named(url[:slash+1]); err != nil || r != nil && r.scope.Contains(url) {
			return r, err
		}
		end = slash
	}
	for name, more := store.HostOf(url), true; more; _, name, more = strings.Cut(name, ".") {
		if r, err := rs.named(name); err != nil || r != nil && r.scope.Contains(url) {
			return r, err
		}
	}
	return nil, nil
}

// named returns the site of that name, on which nobody works.
func (rs *recipients) named(name string) (*recipient, error) {
	if r, ok := rs.names[name]; ok {
		return r, nil
	}
	c := rs.crawl
	rec, err := c.db.SiteNamed(name)
	if errors.Is(err, store.ErrNotFound) {
		rs.names[strings.Clone(name)] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := c.at(rec.ID)
	if s == nil {
		sc, err := c.newScope(&rec.Rules)
		if err != nil {
			return nil, fmt.Errorf("site %s: %w", rec.Name, err)
		}
		s = &site{Site: rec, crawl: c, scope: sc}
	}
	r, err := rs.at(s)
	rs.names[strings.Clone(name)] = r
	return r, err
}

// at returns a site as a recipient.
func (rs *recipients) at(s *site) (*recipient, error) {
	if r := rs.sites[s.ID]; r != nil && r.site == s {
		return r, nil
	}
	c := rs.crawl
	if rs.last == 0 {
		last, err := c.db.LastCycle()
		if err != nil {
			return nil, err
		}
		rs.last = last
	}
	r := &recipient{site: s, next: rs.last + 1}
	if r.still() {
		rec, err := c.db.Cycle(s.ID, s.FirstCycle)
		switch {
		case err == nil:
			r.first = rec.Kind == store.FirstVisit && rec.Ended == 0
		case errors.Is(err, store.ErrNotFound): // it is to come yet
			r.first = true
		default:
			return nil, err
		}
	}
	rs.sites[s.ID] = r
	return r, nil
}
