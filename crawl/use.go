package crawl

import (
	"forage/crawl/scope"
	"forage/fetch"
	"forage/fetch/use"
)

// heed notes what the site says of the use of the document: what came last holds. An answer that brings
// nothing of it, such as an error or a redirect, changes nothing.
func (a *answer) heed() {
	d, o := a.doc, a.job.out
	var u *use.Use
	switch o.Class {
	case fetch.OK:
		if a.softGone {
			return
		}
		u = &a.job.content.Use
		if o.BrokeOff() && d.UseKnown { // what it said may be in the rest
			u.Page = use.Parse(d.Use).Page
		}
	case fetch.NotModified:
		u = use.Parse(d.Use)
		u.NotModified(o.Said())
	case fetch.NotHTML, fetch.NoContent:
		u = &use.Use{Header: o.Said()}
	default:
		return
	}
	u.Robots = use.Said{}
	if rules := a.job.host.origin(scope.Origin(d.URL)).rules; rules != nil {
		u.Robots = rules.Said(a.job.request.URL)
	}
	d.Use, d.UseKnown = u.String(), d.UseKnown || o.Class != fetch.NotModified
}
