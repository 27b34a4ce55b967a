package crawl

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"forage/crawl/document"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/store"
)

// An origin is a scheme and host: what has one robots.txt.
type origin struct {
	name    string
	rules   *fetch.Robots // nil: not known yet
	expires store.Time    // by the crawl's clock
	read    time.Time     // by the clock of the loop; zero: they were kept in the store
	looked  bool          // whether the store has some
	tries   int           // in a row without any
}

// origin returns the origin of that name at the host.
func (h *host) origin(name string) *origin {
	for _, o := range h.origins {
		if o.name == name {
			return o
		}
	}
	o := &origin{name: name}
	h.origins = append(h.origins, o)
	return o
}

// hasRules reports whether the rules of an origin are known and may still be used [RFC 9309, 2.4].
// A full recrawl asks for them anew.
func (o *origin) hasRules(c *cycle) bool {
	crawl := c.crawl()
	if !o.looked {
		o.looked = true
		kept, err := crawl.db.Robots(o.name)
		switch {
		case err == nil:
			o.rules = fetch.ReadRobots(c.loop().cfg.Fetch.UserAgent, kept.Status, kept.Body, time.Unix(kept.FetchedAt, 0))
			o.expires = kept.Expires
		case !errors.Is(err, store.ErrNotFound):
			crawl.fail(err)
		}
	}
	switch {
	case o.rules == nil:
		return false
	case !o.read.IsZero() && !o.read.Before(c.began): // whatever they say, they hold for the cycle that asked
		return c.loop().clock.Now().Sub(o.read) < fetch.RobotsAge
	}
	return c.rec.Kind != store.FullRecrawl && crawl.now() < o.expires
}

// robots takes in the answer to a request for robots.txt.
func (l *Loop) robots(j *job, now time.Time) {
	h, o, c := j.host, j.origin, j.cycle
	crawl := c.crawl()
	h.blocked = false
	l.wake(h)
	if j.rules != nil && !j.rules.Unreachable() { // its delay counts from this answer on
		h.crawlDelay = j.rules.CrawlDelay()
		for _, other := range h.origins {
			if other != o && other.rules != nil {
				h.crawlDelay = max(h.crawlDelay, other.rules.CrawlDelay())
			}
		}
		l.queue.SetCrawlDelay(h.id, h.crawlDelay)
	}
	l.release(j, now)
	if j.rules == nil || j.rules.Unreachable() {
		o.tries++
		l.acquainted(h)
		c.seen.refused = c.seen.refused || j.line == nil && refused(j.out.Class)
		why := "robots.txt: " + fetch.Unreachable(j.out)
		rec := h.stored
		rec.Origin, rec.RobotsAt, rec.RobotsStatus, rec.RobotsProblem = h.name, crawl.now(), j.out.Status, why
		crawl.fail(crawl.db.PutHost(&rec))
		if j.out.Class == fetch.Timeout && !j.first {
			o.tries++ // it took long enough
		}
		if o.tries >= 3 || j.out.Class == fetch.DNS || j.out.Class == fetch.PrivateAddress || j.out.Class == fetch.BadPort || j.out.Class == fetch.TLS {
			l.giveUp(h, why)
		}
		return
	}
	o.read, o.tries = now, 0
	crawl.fail(o.keep(crawl, j))
}

// keep keeps the rules of an answer, as of now.
func (o *origin) keep(c *Crawl, j *job) error {
	kept := robotsRecord(o.name, j.rules, j.out, c.now())
	o.rules, o.expires = j.rules, kept.Expires
	return c.db.PutRobots(kept)
}

// robotsRecord is what is kept of the rules that an origin answered at a time.
func robotsRecord(origin string, rules *fetch.Robots, out *fetch.Outcome, at store.Time) *store.Robots {
	age := fetch.RobotsAge
	if a, ok := out.MaxAge(); ok {
		age = min(age, a)
	}
	return &store.Robots{Origin: origin, FetchedAt: at, Expires: at + store.Time(age/time.Second), Status: rules.Status, Body: rules.Body}
}

// maxSitemaps is how many Sitemap lines of one robots.txt are believed.
const maxSitemaps = 10_000

// heedRobots takes in what the robots.txt of an origin says to a cycle, once: its crawl delay and the
// sitemaps that it names. It reports whether a probe of the site is in line now, which is to be
// answered before anything else is read.
func (c *cycle) heedRobots(b *backlog, o *origin) (probe bool) {
	if slices.Contains(b.heeded, o) {
		return false
	}
	b.heeded = append(b.heeded, o)
	h, s := b.host, c.site
	h.crawlDelay = max(h.crawlDelay, o.rules.CrawlDelay())
	c.heedSitemaps(o)
	if s.Probe != "" || !c.visit.manner().probes || !o.rules.Allowed(o.name+probePath(s, o)) {
		return false
	}
	b.putFirst(item{work: fetchProbe, cycle: c, backlog: b, origin: o})
	return true
}

// heedSitemaps takes in which sitemaps the robots.txt of an origin names.
func (c *cycle) heedSitemaps(o *origin) {
	maps := o.rules.Sitemaps()
	if len(maps) > maxSitemaps {
		c.run.opt.Log.Warn("robots.txt names too many sitemaps; the rest is left out", "origin", o.name, "kept", maxSitemaps)
		maps = maps[:maxSitemaps]
	}
	for _, u := range maps {
		if url, err := scope.Normalise(u, c.site.Rules.IgnoreParams); err == nil {
			c.wellKnown(url, true)
		}
	}
	if len(maps) == 0 {
		c.wellKnown(o.name+"/sitemap.xml", false)
	}
}

// wellKnown adds a sitemap that no document links to: named by robots.txt, or a guess.
func (c *cycle) wellKnown(url string, named bool) {
	crawl := c.crawl()
	id, err := crawl.db.Find(url)
	if err != nil {
		var ok bool
		if id, _, ok = c.target(nil, &document.Link{URL: url, Kind: store.ViaNone, Main: true}); !ok {
			return
		}
	}
	d, err := crawl.doc(id)
	if err != nil {
		crawl.fail(err)
		return
	}
	due := named && !d.Named || c.again(d)
	if !d.Main || d.Named != named {
		d.Main, d.Named = true, named
		crawl.fail(crawl.db.Put(d))
	}
	if due {
		c.revive(id, nil)
	}
}

// maxDoubled is how often the wait for a well-known document that was never there doubles.
const maxDoubled = 5

// again reports whether a well-known document that was never there is to be asked for in this
// cycle: in full recrawls always, else after 1, 2, 4 … 32 cycles of its site, as these requests
// are beyond the budget. O(1): it looks back no further than the wait.
func (c *cycle) again(d *store.Doc) bool {
	if !c.visit.manner().backsOff || d.Kind != store.Unseen || d.Visits == 0 {
		return true
	}
	wait := 1 << min(d.Visits-1, maxDoubled)
	since := 1
	c.crawl().fail(c.crawl().db.SiteCyclesBack(d.Site, func(r *store.CycleRecord) bool {
		if r.Cycle <= d.FetchedIn {
			return false
		}
		if r.Cycle < c.rec.Cycle && r.Kind != store.Import {
			since++
		}
		return since < wait
	}))
	return since >= wait
}

// probePath is a path of an origin that should not exist.
func probePath(s *site, o *origin) string {
	return fmt.Sprintf("/%016x%08x", document.Hash([]byte(s.Name)), uint32(document.Hash([]byte(o.name+s.Name))))
}

// probed takes in the answer to a request for a path that should not be there.
func (l *Loop) probed(j *job) {
	j.host.blocked = false
	l.wake(j.host)
	j.cycle.probed(j)
}

// probed takes in the answer to a request for a path that should not be there. A site that
// answers it with a page answers everything: pages like that one are no pages.
func (c *cycle) probed(j *job) {
	s := c.site
	switch o := j.out; {
	case o.Class == fetch.OK && j.content != nil && j.content.Kind == store.Page:
		s.Probe = "soft404"
		s.Soft404 = append(s.Soft404, j.content.Shapes[len(j.content.Shapes)-1])
	case o.Class.Answered():
		s.Probe = fmt.Sprint(o.Status)
	default:
		c.mute = true
		return
	}
	c.crawl().fail(c.crawl().db.PutSite(s.Site))
}
