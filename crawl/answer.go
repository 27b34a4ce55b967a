package crawl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"forage/fetch"
	"forage/graph"
	"forage/store"
)

// maxAttempts is how often a document is asked for in one run before it counts as failed.
// Old documents of a budgeted cycle are asked for once: each request is of the budget.
const maxAttempts = 3

// answered works off the answer to a request for a document.
func (e *engine) answered(j *job) {
	d, err := e.db.Doc(j.id)
	if err != nil {
		e.fail(err)
		return
	}
	s, o := j.site, j.out
	now := e.c.now()
	e.res.Bytes += o.Wire
	e.cycle.Bytes += o.Wire
	s.cycle.Bytes += o.Wire
	old := j.work == fetchOld
	if !o.Class.Answered() {
		e.res.Errors++
		e.cycle.Errors++
		e.count(s, 0, o.Wire, 1)
	} else {
		e.res.Fetched++
		e.cycle.Fetched++
		s.cycle.Fetched++
		e.count(s, 1, o.Wire, 0)
		if old {
			e.res.Refetched++
			e.cycle.Old++
			s.cycle.Old++
		}
	}
	d.LastFetched = now
	if o.Transient() {
		if d.Attempts++; d.Attempts < maxAttempts && !(old && !s.rv.full) {
			e.again(j, d)
			return
		}
		e.failed(j, d)
		return
	}
	s.fine = true
	d.Attempts = 0
	d.FetchedIn = e.cycle.Cycle
	d.Visits++
	d.Reason = ""
	status := d.Status
	if o.Class != fetch.NotModified {
		d.Status = o.Status
	} else if d.Status < 200 || d.Status >= 300 {
		d.Status = 200 // it had been gone, and is there again as it was
	}
	was := d.State
	d.State = store.Fetched
	var found outcome
	switch o.Class {
	case fetch.OK:
		found = e.document(j, d)
	case fetch.NotModified:
		back(d)
		if o.ETag != "" {
			d.ETag = o.ETag
		}
		if o.LastModified != "" {
			d.LastModified = o.LastModified
		}
	case fetch.Redirect:
		found = e.redirected(j, d)
	case fetch.NotFound, fetch.Gone:
		gone(d, o.Status, e.cycle.Cycle, now, e.rootAnswers(s, d))
		found.changed = status != o.Status
	case fetch.NotHTML, fetch.NoContent:
		back(d)
		if d.Kind == store.Unseen {
			d.Kind, d.FirstSeen, d.Cycle = store.Other, now, e.cycle.Cycle
		}
		d.ContentType = mediaType(o.ContentType)
	case fetch.ClientError:
	default: // what the server cannot change: a bad port, a private address, TLS, no HTTP
		d.State, d.Reason = store.Failed, o.Class.String()
		s.trouble = o.Class.String() + ": " + o.Reason
		e.report(s, d, d.Reason+": "+o.Reason)
	}
	if found.changed {
		d.Changes++
		d.Changed = now
	}
	e.fail(e.db.Put(d))
	if o.Class.Answered() {
		e.fail(e.db.PutVisit(d.ID, store.Visit{Cycle: e.cycle.Cycle, At: now, Status: o.Status, Digest: found.digest, Bytes: d.Bytes}))
	}
	e.settled(s, was, old)
	e.tried(s, d)
	if s.rv != nil {
		s.rv.fetched(e, s, j, d, &found)
	}
	if s.order != nil {
		s.order.answered(e, s, d, found.links)
	}
}

// An outcome is what an answer showed beside what the document keeps.
type outcome struct {
	changed bool // the body is not that of the fetch before
	digest  uint64
	gained  []graph.Node // documents of the site that it links to and did not before
	lost    int
	failed  bool
	// newcomer: it answered for the first time as a page or list, in a cycle of discovery.
	newcomer bool
	links    []store.Link // all of them now
}

// count adds to the counters of a site.
func (e *engine) count(s *site, fetches, bytes, failures int64) {
	e.fail(e.db.Count(s.ID, fetches, bytes, failures))
}

// again puts a document back to be asked for later.
func (e *engine) again(j *job, d *store.Doc) {
	d.Reason = j.out.Class.String()
	e.fail(e.db.Put(d))
	j.host.front = append(j.host.front, j.item)
	e.wake(j.host)
}

// failed notes that a document could not be fetched.
func (e *engine) failed(j *job, d *store.Doc) {
	was := d.State
	s := j.site
	d.Attempts = 0
	d.FetchedIn = e.cycle.Cycle
	d.Reason = j.out.Class.String()
	if j.out.Status != 0 {
		d.Status = j.out.Status
	}
	if (j.work == fetchNew || d.Kind == store.Unseen) && !(s.rv != nil && j.out.Overloaded()) {
		d.State = store.Failed // what an overloaded host did not give is asked for in the next cycle
	}
	why := j.out.Class.String()
	if j.out.Reason != "" {
		why += ": " + j.out.Reason
	} else if j.out.Status != 0 {
		why = fmt.Sprintf("%s: status %d", why, j.out.Status)
	}
	if j.host.givenUp == "" { // else it is the last of several that were under way
		s.trouble = why
	}
	e.report(s, d, why)
	e.fail(e.db.Put(d))
	e.settled(s, was, j.work == fetchOld)
	if s.rv != nil {
		s.rv.fetched(e, s, j, d, &outcome{failed: true})
	}
	if s.order != nil {
		s.order.answered(e, s, d, nil)
	}
}

// settled notes that a document that was handed out needs nothing more.
func (e *engine) settled(s *site, was store.State, old bool) {
	if old || was == store.Queued {
		s.open--
		e.touch(s)
	}
}

// rootAnswers reports whether the site is there at all: its first seed, which is not d, was
// answered when it was last asked for.
func (e *engine) rootAnswers(s *site, d *store.Doc) bool {
	if len(s.Seeds) == 0 {
		return true
	}
	id, err := e.db.Find(s.Seeds[0])
	if err != nil {
		return true
	}
	if id == d.ID {
		return false
	}
	root, err := e.db.Doc(id)
	return err == nil && (root.Alive() || root.Kind == store.Redirect)
}

// document works off a body.
func (e *engine) document(j *job, d *store.Doc) (found outcome) {
	s, o, c := j.site, j.out, j.content
	now := e.c.now()
	wasGone := d.GoneCycles > 0
	back(d)
	found.digest = c.digest
	found.changed = d.Digest != 0 && d.Digest != c.digest
	d.Digest, d.Bytes, d.Truncated = c.digest, c.bytes, o.Truncated() || c.cut
	d.ETag, d.LastModified = o.ETag, o.LastModified
	d.ContentType = mediaType(o.ContentType)
	kind := c.kind
	if kind == store.Page {
		d.Title = c.title
		if c.published != 0 {
			d.Published = c.published
		}
		for _, f := range s.Soft404 {
			if f == c.shape {
				kind = store.Soft404
			}
		}
	}
	first := d.Kind == store.Unseen || d.Kind == store.Redirect || d.Kind == store.Other || d.Kind == store.Soft404
	if first || kind == store.Page || kind == store.Soft404 || kind == store.Feed || kind == store.Sitemap {
		d.Kind = kind
	}
	if kind == store.Soft404 {
		d.New = store.NotNew
		if d.FirstSeen == 0 {
			d.FirstSeen, d.Cycle = now, e.cycle.Cycle
		}
		return found
	}
	listed := kind == store.Page || kind == store.Feed || kind == store.Sitemap
	if first && listed || d.FirstSeen == 0 {
		d.FirstSeen, d.Cycle = now, e.cycle.Cycle
	}
	d.DuplicateOf = graph.None
	trapped := false
	if kind == store.Page && c.bytes > 0 {
		same, err := e.db.FirstBody(s.ID, c.digest, d.ID)
		if err != nil {
			e.fail(err)
			return found
		}
		if same != d.ID {
			if other, err := e.db.Doc(same); err == nil && other.Digest == c.digest && other.DuplicateOf != d.ID {
				d.DuplicateOf = same
				s.repeats[same]++
				trapped = first && s.repeats[same] > maxSameBody
			}
		}
	}
	d.Canonical = ""
	if c.canonical != "" && c.canonical != d.URL {
		d.Canonical = c.canonical
	}
	if first && listed {
		if d.New == store.MaybeNew {
			d.New = dated(d.New, d, s.first)
		}
		if kind == store.Page {
			s.pages++
			s.cycle.New++
			e.res.Pages++
		}
		if e.cycle.Cycle > s.FirstCycle {
			found.newcomer = true
			e.fail(e.db.PutNewcomer(d, e.cycle.Cycle))
		}
	}
	if c.scripts {
		s.scripted++
	}
	if trapped {
		why := "the same body at ever new URLs"
		s.traps.cut[why]++
		e.report(s, d, "trap: "+why+": its links are not followed")
		c.links = nil
	}
	d.Dated = d.IsList() && slices.ContainsFunc(c.links, func(l foundLink) bool { return l.lastMod != 0 })
	links := e.discover(s, d, c.links)
	s.links += len(links)
	e.relink(d, links, wasGone, &found)
	if d.Canonical != "" && kind == store.Page && d.DuplicateOf == graph.None {
		if id, err := e.db.Find(d.Canonical); err == nil && id != d.ID {
			if other, err := e.db.Doc(id); err == nil && other.Site == d.Site && other.DuplicateOf != d.ID {
				d.DuplicateOf = id
			}
		}
	}
	if first && kind == store.Page && d.DuplicateOf == graph.None {
		switch d.New {
		case store.IsNew:
			e.res.NewPages++
			e.cycle.New++
		case store.MaybeNew:
			e.res.Unknown++
		}
	}
	if c.routes > 0 {
		e.report(s, d, fmt.Sprintf("%d routes of scripts (#! and #/) on this page are no URLs", c.routes))
	}
	return found
}

// maxSameBody is how many pages with one body have their links followed.
const maxSameBody = 50

// relink stores the links of d and tells what it gained and lost since its last good fetch; it
// gained all if a fetch since found it gone.
func (e *engine) relink(d *store.Doc, links []store.Link, wasGone bool, found *outcome) {
	found.links = links
	var old []store.Link
	if d.LinksOf != 0 && d.LinksOf != e.cycle.Cycle && !wasGone {
		var err error
		if old, err = e.db.Links(d); err != nil && !errors.Is(err, store.ErrNotFound) {
			e.fail(err)
			return
		}
	}
	had := make(map[graph.Node]bool, len(old))
	for _, l := range old {
		if !l.Off {
			had[l.To] = true
		}
	}
	if d.Evicted {
		// Its old links are forgotten: what was known before this cycle counts as had.
		for _, l := range links {
			if to, err := e.db.Doc(l.To); err == nil && !l.Off && to.Discovered < e.cycle.At {
				had[l.To] = true
			}
		}
	}
	if e.cycle.Kind != store.FirstVisit {
		kept := 0
		for _, l := range links {
			switch {
			case l.Off:
			case had[l.To]:
				kept++
			default:
				found.gained = append(found.gained, l.To)
				e.revive(l.To, d)
			}
		}
		found.lost = len(had) - kept
	}
	if _, err := e.db.PutLinks(d, e.cycle.Cycle, links); err != nil {
		e.fail(err)
	}
	e.bound(d, links)
}

// redirected works off a redirect: its target is a link like any other, so that scope,
// robots.txt and politeness hold for it.
func (e *engine) redirected(j *job, d *store.Doc) (found outcome) {
	s := j.site
	if d.Kind == store.Unseen {
		d.Kind, d.FirstSeen, d.Cycle = store.Redirect, e.c.now(), e.cycle.Cycle
	}
	wasGone := d.GoneCycles > 0
	back(d)
	d.ETag, d.LastModified = "", ""
	to, err := normalise(j.out.Location, s.Rules.IgnoreParams)
	if err != nil {
		d.Reason = "redirects to " + j.out.Location
		return found
	}
	hops := 1
	for at := d; at.Via == store.ViaRedirect && at.FoundOn != graph.None && hops <= fetch.MaxRedirects; hops++ {
		from, err := e.db.Doc(at.FoundOn)
		if err != nil {
			break
		}
		if from.URL == to {
			d.Reason = fetch.RedirectLoop.String()
			e.report(s, d, d.Reason)
			break
		}
		at = from
	}
	switch {
	case to == d.URL:
		d.Reason = fetch.RedirectLoop.String()
		e.report(s, d, d.Reason)
		return found
	case hops > fetch.MaxRedirects:
		d.Reason = fetch.TooManyRedirects.String()
		e.report(s, d, d.Reason)
		return found
	}
	link := foundLink{url: to, kind: store.ViaRedirect}
	if given := j.out.Location; given != to {
		link.given = given
	}
	e.relink(d, e.discover(s, d, []foundLink{link}), wasGone, &found)
	return found
}

// mediaType is the type of a Content-Type without its parameters.
func mediaType(t string) string {
	t, _, _ = strings.Cut(t, ";")
	return strings.ToLower(strings.TrimSpace(t))
}
