package crawl

import (
	"fmt"
	"time"

	"forage/fetch"
	"forage/store"
)

// maxSitemaps is how many Sitemap lines of one robots.txt are believed.
const maxSitemaps = 10_000

// robots works off a request for robots.txt.
func (e *engine) robots(j *job, now time.Time) {
	h := j.host
	h.waiting = false
	e.wake(h)
	e.release(j, now)
	o := h.origins[j.url]
	if j.rules == nil || j.rules.Unreachable() {
		o.tries++
		e.met(h)
		why := "robots.txt: " + unreachable(j.out)
		e.fail(e.db.PutHost(&store.Host{Origin: h.name, RobotsAt: e.c.now(), RobotsStatus: j.out.Status, RobotsProblem: why, NotBefore: h.kept, Failures: h.failures}))
		if j.out.Class == fetch.Timeout {
			o.tries++ // it took long enough
		}
		if o.tries >= 3 || j.out.Class == fetch.DNS || j.out.Class == fetch.PrivateAddress || j.out.Class == fetch.BadPort || j.out.Class == fetch.TLS {
			e.giveUp(h, why)
		}
		return
	}
	o.rules = j.rules
	if d := o.rules.CrawlDelay(); d > 0 {
		e.q.SetCrawlDelay(h.id, max(d, e.q.State(h.id).CrawlDelay))
	}
	s := j.site
	maps := o.rules.Sitemaps()
	if len(maps) > maxSitemaps {
		e.cfg.Log.Warn("robots.txt names too many sitemaps; the rest is left out", "host", h.name, "kept", maxSitemaps)
		maps = maps[:maxSitemaps]
	}
	for _, u := range maps {
		if url, err := normalise(u, s.Rules.IgnoreParams); err == nil {
			e.wellKnown(s, url, true)
		}
	}
	if len(maps) == 0 {
		e.wellKnown(s, o.name+"/sitemap.xml", false)
	}
	if s.Probe == "" && e.cycle.Kind == store.FirstVisit {
		path := fmt.Sprintf("/%016x%08x", hash([]byte(s.Name)), uint32(hash([]byte(o.name+s.Name))))
		if o.rules.Allowed(o.name + path) {
			h.front = append([]item{{work: fetchProbe, site: s.ID, url: o.name + path}}, h.front...)
		}
	}
}

func unreachable(o *fetch.Outcome) string {
	if o.Status != 0 {
		return fmt.Sprintf("answers with status %d, so nothing may be fetched", o.Status)
	}
	if o.Reason != "" {
		return o.Reason
	}
	return o.Class.String()
}

// wellKnown adds a sitemap that no document links to: named by robots.txt, or a guess.
func (e *engine) wellKnown(s *site, url string, named bool) {
	id, err := e.db.Find(url)
	if err != nil {
		var ok bool
		if id, _, ok = e.target(s, nil, &foundLink{url: url, kind: store.ViaNone, main: true}); !ok {
			return
		}
	}
	d, err := e.db.Doc(id)
	if err != nil {
		e.fail(err)
		return
	}
	due := named && !d.Named || e.due(d)
	if !d.Main || d.Named != named {
		d.Main, d.Named = true, named
		e.fail(e.db.Put(d))
	}
	if due {
		e.revive(id, nil)
	}
}

// maxDoubled is how often the wait for a well-known document that was never there doubles.
const maxDoubled = 5

// due reports whether a well-known document that was never there is to be asked for in this
// cycle: in full recrawls always, else after 1, 2, 4 … 32 cycles of its site, as these requests
// are beyond the budget. O(cycles of the site).
func (e *engine) due(d *store.Doc) bool {
	if e.cycle.Kind != store.Revisit || d.Kind != store.Unseen || d.Visits == 0 {
		return true
	}
	since := 1
	e.fail(e.db.SiteCycles(d.Site, func(c *store.SiteCycle) bool {
		if d.FetchedIn < c.Cycle && c.Cycle < e.cycle.Cycle {
			since++
		}
		return true
	}))
	return since >= 1<<min(d.Visits-1, maxDoubled)
}

// probed works off the request for a path that should not be there. A site that answers it
// with a page answers everything: pages like that one are no pages.
func (e *engine) probed(j *job) {
	s := j.site
	j.host.waiting = false
	e.wake(j.host)
	switch o := j.out; {
	case o.Class == fetch.OK && j.content != nil && j.content.kind == store.Page:
		s.Probe = "soft404"
		s.Soft404 = append(s.Soft404, j.content.shape)
	case o.Class.Answered():
		s.Probe = fmt.Sprint(o.Status)
	default:
		return
	}
	e.fail(e.db.PutSite(s.Site))
}
