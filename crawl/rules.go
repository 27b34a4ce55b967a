package crawl

import (
	"errors"
	"slices"
	"strings"

	"forage/crawl/scope"
	"forage/fetch"
	"forage/graph"
	"forage/store"
)

// reconsider has the rules of a site, which have changed, hold for all that is known of it, and
// returns how many pages they leave out that were there before, and how many come back. What is
// left out stays in the store. open is the cycle that is open at the site, nil for none: what is
// in line there is judged when its turn comes, and what is under way when the cycle is closed.
// O(documents of the site).
func (c *Crawl) reconsider(s *store.Site, sc *scope.Scope, open *cycle) (out, back int, err error) {
	if err := c.db.Commit(); err != nil { // what is scanned below is what is committed
		return 0, 0, err
	}
	if open != nil {
		open.reconsider = true
		open.worth.off = s.Rules.All
	}
	var failed error
	err = c.db.SiteDocs(s.ID, func(d *store.Doc) bool {
		if _, ok := c.inHand[d.ID]; ok || open != nil && d.State == store.Queued {
			return true
		}
		was, page := d.State, d.IsPage()
		switch why := sc.Skip(d); {
		case why != "" && why == d.Reason, why != "" && d.Main && d.Via == store.ViaNone && d.State == store.Queued:
			return true
		case why != "" && (d.State != store.Skipped || isRule(d.Reason)):
			d.State, d.Reason = store.Skipped, why
		case why == "" && s.Rules.All && d.State == store.Skipped && strings.HasPrefix(d.Reason, store.StoppedReason):
			d.State, d.Reason = store.Queued, ""
		case why == "" && d.State == store.Skipped && isRule(d.Reason):
			d.State, d.Reason = store.Queued, ""
			if d.Visits > 0 {
				d.State = store.Fetched
			}
		case d.State == store.Failed && (d.Reason == fetch.PrivateAddress.String() || d.Reason == fetch.BadPort.String()):
			d.State, d.Reason = store.Queued, ""
		default:
			return true
		}
		if is := d.IsPage(); page && !is {
			out++
		} else if !page && is {
			back++
			failed = c.sameAgain(d)
		}
		if failed = errors.Join(failed, c.db.Put(d)); failed == nil && open != nil && open.visit.manner().first && d.State == store.Queued && was != store.Queued {
			open.requeue(d, false)
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err == nil && out > 0 {
		err = c.standIn(s)
	}
	return out, back, err
}

// isRule reports whether a reason for which a document is skipped is a rule of its site.
func isRule(reason string) bool {
	return slices.Contains([]string{"include", "exclude", "depth", scope.Outside, store.ReasonElsewhere}, reason)
}

// sameAgain makes d, which was left out, a duplicate of the page that took its place meanwhile.
func (c *Crawl) sameAgain(d *store.Doc) error {
	if d.DuplicateOf != graph.None || d.Digest == 0 || d.Hollow {
		return nil
	}
	same, err := c.db.FirstBody(d.Site, d.Digest, d.ID)
	if err == nil && same != d.ID {
		d.DuplicateOf = same
	}
	return err
}

// standIn has the first duplicate of each page that is left out take its place.
func (c *Crawl) standIn(s *store.Site) error {
	if err := c.db.Commit(); err != nil {
		return err
	}
	instead := map[graph.Node]graph.Node{}
	var failed error
	err := c.db.SiteDocs(s.ID, func(d *store.Doc) bool {
		if !d.IsPage() || d.DuplicateOf == graph.None {
			return true
		}
		of, err := c.doc(d.DuplicateOf)
		if err != nil || !of.LeftOut() {
			failed = err
			return err == nil
		}
		if other := c.inHand[d.ID]; other != nil {
			d = other
		}
		if d.Stands { // for one that was no page: it is listed as itself
			d.Stands, of.StandIn = false, graph.None
			failed = c.db.Put(of)
		}
		first, ok := instead[of.ID]
		if d.DuplicateOf = first; !ok {
			instead[of.ID], d.DuplicateOf = d.ID, graph.None
			failed = errors.Join(failed, c.db.PutBody(s.ID, d.Digest, d.ID))
		}
		failed = errors.Join(failed, c.db.Put(d))
		return failed == nil
	})
	return errors.Join(err, failed)
}
