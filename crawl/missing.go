package crawl

import (
	"slices"

	"forage/crawl/document"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/graph"
	"forage/store"
)

// A page that was taken down may answer 200 OK, and say so in words that repeat its name: "issue 17
// not found". So where nothing is left of a content page that was there, the site is asked for an
// address of the same kind that is made up: if both say the same, whatever their addresses, the page
// is gone. The answer to the page is put by until then, unless it is large: nothing large may wait for
// another answer.

// A question is what a probe is to find out: whether a document says what the site says of addresses
// that nothing has.
type question struct {
	of       *job   // the answer that is put by
	url      string // made up
	template string // of both
}

// maxAsked is how often a cycle asks, beyond its budget: mostly once for each kind of address.
const maxAsked = 3

// maxMissing is of how many kinds of addresses it is known what a site says.
const maxMissing = 32

// asks reports whether the site is asked what it says of what is not there before the answer j is
// taken in, and sees to it.
func (c *cycle) asks(j *job) bool {
	q := c.question(j)
	if q == nil {
		return false
	}
	b := j.backlog
	o := b.host.origin(scope.Origin(j.doc.URL))
	if o.rules != nil && !o.rules.Allowed(q.url) {
		return false
	}
	c.asked++
	b.putFirst(item{work: fetchProbe, cycle: c, backlog: b, origin: o, asks: q})
	c.loop().wake(b.host)
	return true
}

// question returns what the site is to be asked before the answer j is taken in; nil: nothing, and j.missing tells whether it says what
// the site says of what is not there.
func (c *cycle) question(j *job) *question {
	d, got, s := j.doc, j.content, c.site
	if j.work != fetchOld || j.out.Class != fetch.OK || got == nil || got.Kind != store.Page || got.Stub || got.Says == 0 || j.out.Large() || !replaced(d, got) || d.Dropped > 0 && got.SaysGone() ||
		slices.ContainsFunc(got.Shapes, func(h uint64) bool { return slices.Contains(s.Soft404, h) }) {
		return nil
	}
	if j.missing = slices.ContainsFunc(s.Missing, func(m store.Missing) bool { return m.Says == got.Says }); j.missing || c.asked == maxAsked {
		return nil
	}
	name, ok := c.nameOf(d)
	if !ok || slices.Contains(s.Missing, store.Missing{Template: name.Template()}) {
		return nil
	}
	q := &question{of: j, url: name.MadeUp(document.Hash([]byte(s.Name + d.URL))), template: name.Template()}
	if !s.scope.Contains(q.url) {
		return nil
	}
	return q
}

// replaced reports whether nothing is left of a content page in what it answers now.
func replaced(d *store.Doc, got *document.Content) bool {
	if d.Kind != store.Page || d.Class != store.ContentPage || d.Digest == 0 || d.Digest == got.Digest {
		return false
	}
	for _, p := range d.Passages {
		if p != 0 && slices.Contains(got.Layout.Passages[:], p) {
			return false
		}
	}
	return d.Passages[0] != 0 || d.Title != got.Title
}

// maxAlike is how many URLs are gone through for one that differs in its name alone.
const maxAlike = 200

// nameOf returns the part of the URL of a document that tells it from others: there is another page of
// the site with another name there. A part that nobody knows to matter says nothing, as an address
// without it may be the page itself.
func (c *cycle) nameOf(d *store.Doc) (name scope.Name, ok bool) {
	crawl := c.crawl()
	for _, n := range scope.Names(d.URL) {
		left, found := maxAlike, false
		err := crawl.db.URLs(n.Before, func(url string, id graph.Node) bool {
			left--
			if id == d.ID || len(url) <= len(n.Before)+len(n.After) || url[len(url)-len(n.After):] != n.After {
				return left > 0
			}
			if o, err := crawl.doc(id); err == nil {
				found = o.Site == d.Site && o.IsListed() && o.Alive() && o.Class == d.Class && o.Digest != d.Digest
			}
			return left > 0 && !found
		})
		crawl.fail(err)
		if found {
			return n, true
		}
	}
	return name, false
}

// told takes in what the site says of an address that is made up, and then the answer that was put by.
func (l *Loop) told(j *job) {
	j.host.blocked = false
	l.wake(j.host)
	j.cycle.told(j, j.asks)
	l.acquainted(j.asks.of.host)
}

// told takes in the answer j to a question, and then the one that was put by.
func (c *cycle) told(j *job, q *question) {
	of := q.of
	of.asked = true
	if o := j.out; o.Class.Answered() {
		says := uint64(0)
		if o.Class == fetch.OK && j.content != nil && j.content.Kind == store.Page {
			says = j.content.Says
		}
		of.missing = says != 0 && says == of.content.Says
		s := c.site
		if m := (store.Missing{Template: q.template, Says: says}); !slices.Contains(s.Missing, m) {
			s.Missing = append(s.Missing[max(0, len(s.Missing)-maxMissing+1):], m)
			c.crawl().fail(c.crawl().db.PutSite(s.Site))
		}
	}
	c.answered(of)
}
