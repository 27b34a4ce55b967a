package crawl

import (
	"cmp"

	"forage/store"
)

// tellOfSite tells that the first visit of the site has ended, and that there is trouble with it, or no more.
// Each is told once, until the other is true. What is told of pages follows from their documents, see store.Event.
func (c *cycle) tellOfSite(now store.Time) {
	s, trouble := c.site, ""
	switch {
	case s.State == store.SiteFailed, s.State == store.SitePaused && !c.held:
		trouble = cmp.Or(s.Reason, string(s.State))
	case s.State != store.SiteDone && c.lost != "": // something waits there
		trouble = c.lost
	case s.State != store.SiteDone: // interrupted: nobody knows
		trouble = s.Trouble
	}
	tell := func(t store.EventType, why string) {
		c.crawl().db.PutEvent(&store.Event{Type: t, At: now, Site: s.Name, Cycle: c.rec.Cycle, Reason: why})
	}
	if c.rec.Kind == store.FirstVisit && c.rec.Ended != 0 && c.failure == "" && !s.Ready {
		s.Ready = true
		tell(store.SiteReady, s.PartialWhy)
	}
	switch {
	case trouble != "" && s.Trouble == "":
		tell(store.SiteTrouble, trouble)
	case trouble == "" && s.Trouble != "":
		tell(store.SiteFine, s.Trouble)
	}
	s.Trouble = trouble
}
