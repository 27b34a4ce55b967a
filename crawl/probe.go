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
			e.wellKnown(s, url)
		}
	}
	if len(maps) == 0 {
		e.wellKnown(s, o.name+"/sitemap.xml")
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

// wellKnown adds a sitemap that no document links to.
func (e *engine) wellKnown(s *site, url string) {
	id, err := e.db.Find(url)
	if err == nil {
		d, err := e.db.Doc(id)
		if err != nil {
			e.fail(err)
		} else if !d.Main {
			d.Main = true
			e.fail(e.db.Put(d))
		}
		e.revive(id, nil)
		return
	}
	e.target(s, nil, &foundLink{url: url, kind: store.ViaNone, main: true})
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
