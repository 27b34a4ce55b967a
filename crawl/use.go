package crawl

import (
	"forage/crawl/document"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/fetch/use"
)

// heed notes what the site says of the use of the document: what came last holds. An answer that brings
// nothing of it, such as an error or a redirect, changes nothing.
func (a *answer) heed() {
	d, o := a.doc, a.job.out
	switch o.Class {
	case fetch.OK:
		if a.softGone {
			return
		}
	case fetch.NotModified, fetch.NotHTML, fetch.NoContent:
	default:
		return
	}
	robots := use.Said{}
	if rules := a.job.host.origin(scope.Origin(d.URL)).rules; rules != nil {
		robots = rules.Said(a.job.request.URL)
	}
	u := said(o, a.job.content, d.Use, robots)
	if o.Class == fetch.OK && o.BrokeOff() && d.UseKnown { // what it said may be in the rest
		u.Page = use.Parse(d.Use).Page
	}
	d.Use, d.UseKnown = u.String(), d.UseKnown || o.Class != fetch.NotModified
}

// said is what is said of the use of a document by an answer to a request for it. content is what was read of the answer; nil: nothing.
// before is what was known, robots what the site's robots.txt says.
func said(o *fetch.Outcome, content *document.Content, before string, robots use.Said) *use.Use {
	u := new(use.Use)
	switch {
	case o.Class == fetch.NotModified:
		u = use.Parse(before)
		u.NotModified(o.Said())
	case content != nil:
		*u = content.Use
	default:
		u.Header = o.Said()
	}
	u.Robots = robots
	return u
}
