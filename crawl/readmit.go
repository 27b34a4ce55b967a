package crawl

import (
	"strings"

	"forage/explore/yield"
	"forage/graph"
	"forage/store"
)

// What is left out with its group is not left out for ever: a document that something speaks for
// later gets one of the chances of its group (renamed), and where a group has brought something
// after all, everything of it is put in line again (reopened).

// renamed has a document that is left out put in line again as a link newly names it: of a list, or
// in a cycle of discovery of any page, but for URLs of the kind of which every page has many, see
// cycle.vouched. Whether its group has a chance left is seen when its turn comes.
func (c *cycle) renamed(l *store.Link) {
	if !c.worth.out[l.To] {
		return
	}
	listed := l.Kind == store.ViaSitemap || l.Kind == store.ViaFeed
	if !listed && (c.visit.manner().first || l.NoFollow || l.Kind != store.ViaAnchor) {
		return
	}
	d, err := c.crawl().doc(l.To)
	if err != nil {
		c.crawl().fail(err)
		return
	}
	if !listed && yield.Doubts(c.place(d.URL)) {
		return
	}
	if c.worth.named == nil {
		c.worth.named = map[graph.Node]bool{}
	}
	c.worth.named[d.ID] = true
	c.readmit(d)
}

// readmit puts a document that is left out in line again. After the first visit it is one that may
// have been there all along, so that it waits for the budget.
func (c *cycle) readmit(d *store.Doc) {
	w := &c.worth
	delete(w.out, d.ID)
	group := strings.TrimPrefix(d.Reason, store.StoppedReason)
	if n := w.leftOut(group); n.URLs > 1 {
		n.URLs--
	} else {
		delete(w.left, group)
	}
	w.site.Readmit(c.place(d.URL))
	d.State, d.Reason = store.Queued, ""
	if !c.visit.manner().first && d.New == store.NotNew && d.FirstSeen == 0 {
		d.New = store.MaybeNew
	}
	c.crawl().fail(c.crawl().db.Put(d))
	c.refound(d)
}

// reopened puts in line again what was left out with groups that have brought something since. It
// reports whether there is anything. Everything is committed.
func (c *cycle) reopened() (any bool) {
	if c.worth.off || len(c.worth.out) == 0 || !c.worth.site.Reopened() {
		return false
	}
	var again []graph.Node
	crawl := c.crawl()
	crawl.fail(crawl.db.SiteDocs(c.site.ID, func(d *store.Doc) bool {
		if c.worth.out[d.ID] && c.identity(d.URL) == d.URL && c.due(d) != dueNever {
			again = append(again, d.ID)
		}
		return true
	}))
	docs, err := crawl.docs(again)
	crawl.fail(err)
	for _, d := range docs {
		c.readmit(d)
	}
	return c.open > 0
}
