package crawl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"forage/crawl/document"
	"forage/crawl/novelty"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/graph"
	"forage/store"
)

// An answer is a document that was asked for, on its way from what came to what is known of it.
type answer struct {
	*cycle
	job *job
	doc *store.Doc

	before   store.Cycle  // in which it was fetched before; 0: never
	failed   bool         // nothing worth the name came
	changed  bool         // the body is not that of the fetch before
	digest   uint64       // of the body; 0: none came
	gained   []graph.Node // documents of the site that it links to and did not before
	lost     int          // links that it had and has no longer
	newcomer bool         // it answered for the first time as a page or list, in a cycle of discovery
	links    []store.Link // all of them now; nil: no body was read
	dropped  []graph.Node // pages that it linked to, and that may be gone: see novelty.Dropped
	wasCopy  bool         // it repeated another page
	doubted  bool         // lists had dropped it
	accuser  graph.Node   // one of these, see store.Doc.DroppedBy
	wasCut   bool         // not all of its links before are known
	softGone bool         // the body says that the page is gone
	sighted  bool         // an archive had it before it was read: see store.Doc.Sighted
	seen     store.Time   // when it was fetched before; 0: never
}

// answered takes in the answer to a request for a document.
func (c *cycle) answered(j *job) {
	if !j.asked && c.asks(j) {
		return // until that is answered
	}
	a := &answer{cycle: c, job: j, doc: j.doc, doubted: j.doc.Dropped > 0, accuser: j.doc.DroppedBy}
	d, o := j.doc, j.out
	crawl, now := c.crawl(), j.at.Unix()
	clear(c.worth.fresh)              // they share memory with all of a page's
	c.worth.fresh = c.worth.fresh[:0] // what became known otherwise, or before, is not to its credit
	a.count()
	a.seen, d.LastFetched = d.LastFetched, now
	if o.Transient() {
		tries := fetches
		if j.work == fetchOld {
			tries = c.visit.manner().tries
		}
		if !j.first || o.Class != fetch.Timeout { // else it had 3 s only, see firstWait
			d.Attempts++
		}
		if d.Attempts < tries {
			a.again()
		} else {
			a.fail()
		}
		return
	}
	c.seen.answered = true
	d.Attempts = 0
	a.before, d.FetchedIn = d.FetchedIn, c.rec.Cycle
	d.Visits++
	d.Reason = ""
	status := d.Status
	if o.Class != fetch.NotModified {
		d.Status = o.Status
	} else if d.Status < 200 || d.Status >= 300 {
		d.Status = 200 // it had been gone, and is there again as it was
	}
	d.State = store.Fetched
	switch o.Class {
	case fetch.OK, fetch.NotModified:
		d.Away = false
	case fetch.Redirect, fetch.NotHTML, fetch.NoContent:
		d.Away = d.Kind == store.Page
	}
	switch o.Class {
	case fetch.OK:
		a.document()
	case fetch.NotModified:
		novelty.Back(d)
		if o.ETag != "" {
			d.ETag = o.ETag
		}
		if o.LastModified != "" {
			d.LastModified = o.LastModified
		}
	case fetch.Redirect:
		a.redirected()
	case fetch.NotFound, fetch.Gone:
		a.gone(o.Status)
		a.changed = status != o.Status
	case fetch.NotHTML, fetch.NoContent:
		novelty.Back(d)
		if d.Kind == store.Unseen {
			if !d.Sighted() {
				d.FirstSeen, d.Cycle = now, c.rec.Cycle
			}
			d.Kind = store.Other
		}
		if d.ContentType = mediaType(o.ContentType); d.ETag == "" && d.LastModified == "" { // else a 304 is about what it was
			a.captured()
		}
	case fetch.ClientError:
	default: // what the server cannot change: a bad port, a private address, TLS, no HTTP
		d.State, d.Reason = store.Failed, o.Class.String()
		c.seen.refused = c.seen.refused || refused(o.Class)
		c.trouble = o.Class.String() + ": " + o.Reason
		c.report(d, d.Reason+": "+o.Reason)
	}
	if a.changed {
		d.Changes++
		d.Changed = now
	}
	a.heed()
	a.judge()
	if !o.Class.Answered() {
		crawl.fail(crawl.db.Put(d))
	} else {
		crawl.fail(crawl.db.PutVisit(d, store.Visit{Cycle: c.rec.Cycle, At: now, Status: o.Status, Digest: a.digest, Bytes: d.Bytes}))
	}
	j.backlog.settle(d.ID)
	if c.visit.manner().doubts {
		crawl.fail(c.lists.Tried(d))
	}
	c.visit.answered(a)
}

// count adds the request to what the run, the cycle and the site have cost.
func (a *answer) count() {
	c, o := a.cycle, a.job.out
	crawl := c.crawl()
	c.rec.Bytes += o.Wire
	if !o.Class.Answered() {
		c.rec.Errors++
		crawl.fail(crawl.db.Count(c.site.ID, 0, o.Wire, 1))
		return
	}
	c.run.fetched++
	c.rec.Fetched++
	if a.job.work == fetchOld {
		c.rec.Refetched++
	}
	crawl.fail(crawl.db.Count(c.site.ID, 1, o.Wire, 0))
}

// again puts the document back to be asked for later.
func (a *answer) again() {
	d, b := a.doc, a.job.backlog
	d.Reason = a.job.out.Class.String()
	a.crawl().fail(a.crawl().db.Put(d))
	b.front = append(b.front, a.job.item)
	a.loop().wake(b.host)
}

// fail notes that the document could not be fetched.
func (a *answer) fail() {
	c, d, o := a.cycle, a.doc, a.job.out
	a.failed = true
	d.Attempts = 0
	d.FetchedIn = c.rec.Cycle
	d.Reason = o.Class.String()
	if o.Status != 0 {
		d.Status = o.Status
	}
	if (a.job.work == fetchNew || d.Kind == store.Unseen) && (c.visit.manner().patient || !o.Overloaded()) {
		d.State = store.Failed // what an overloaded host did not give is asked for in the next cycle
	}
	why := o.Class.String()
	if o.Reason != "" {
		why += ": " + o.Reason
	} else if o.Status != 0 {
		why = fmt.Sprintf("%s: status %d", why, o.Status)
	}
	if a.job.host.givenUp == "" { // else it is the last of several that were under way
		c.trouble = why
	}
	c.report(d, why)
	c.crawl().fail(c.crawl().db.Put(d))
	a.job.backlog.settle(d.ID)
	c.visit.answered(a)
}

// rootAnswers reports whether the site is there at all: its first seed, which is not d, was
// answered when it was last asked for.
func (s *site) rootAnswers(d *store.Doc) bool {
	if len(s.Seeds) == 0 {
		return true
	}
	id, err := s.crawl.db.Find(s.Seeds[0])
	if err != nil {
		return true
	}
	if id == d.ID {
		return false
	}
	root, err := s.crawl.doc(id)
	return err == nil && (root.Alive() || root.Kind == store.Redirect)
}

// document takes in a body.
func (a *answer) document() {
	c, d, o, got := a.cycle, a.doc, a.job.out, a.job.content
	s, crawl := c.site, c.crawl()
	now := a.job.at.Unix()
	a.digest = got.Digest
	broken := o.BrokeOff() && d.Digest != 0 // what it says is no change, and the next one is compared with what is known
	if broken {
		a.digest = 0
	}
	a.changed = d.Digest != 0 && d.Digest != got.Digest && !broken
	kind := got.Kind
	if kind == store.Page {
		kind = a.hollow()
	}
	own := !slices.Contains(s.Soft404, d.Shape) // else it never had a body but that of what is not there
	if d.IsPage() && !d.Seed && !isRoot(d) && a.changed && (kind == store.Soft404 && own || a.job.missing || d.Dropped > 0 && got.SaysGone() && !document.SaysGone(d.Title)) {
		a.softGone, d.Hollow = true, false
		a.gone(404) // what it was stays known
		return
	}
	wasGone := d.GoneCycles > 0
	a.wasCut = d.Truncated
	novelty.Back(d)
	d.Truncated = o.Truncated() || got.Cut
	if broken {
		d.ETag, d.LastModified = "", "" // the rest is wanted yet
	} else {
		d.Digest, d.Bytes, d.Simhash = got.Digest, got.Bytes, got.Simhash
		d.ETag, d.LastModified = o.ETag, o.LastModified
		a.captured()
	}
	d.ContentType = mediaType(o.ContentType)
	if kind == store.Page {
		d.Title = got.Title
		if got.Published != 0 {
			d.Published = got.Published
		}
	}
	first := d.Kind == store.Unseen || d.Kind == store.Redirect || d.Kind == store.Other || d.Kind == store.Soft404
	a.sighted = d.Sighted()
	if first || kind == store.Page || kind == store.Soft404 || kind == store.Feed || kind == store.Sitemap {
		d.Kind = kind
	}
	if kind == store.Soft404 {
		d.New, d.Stub = store.NotNew, false
		if d.FirstSeen == 0 {
			d.FirstSeen, d.Cycle = now, c.rec.Cycle
		}
		a.tryLinks(wasGone)
		return
	}
	listed := kind == store.Page || kind == store.Feed || kind == store.Sitemap
	// The first visit left it out by a rule that was lifted, or nothing but a list of URLs named it: nobody knows what it led to then.
	unread := first && (c.rec.Kind == store.FirstVisit || hearsay(d)) && d.New == store.NotNew && d.FirstSeen == 0 && d.Cycle < c.rec.Cycle
	told := listed && novelty.Answered(d, first, got.Stub, c.rec.Kind == store.Revisit, c.first)
	if told && !a.sighted || d.FirstSeen == 0 {
		d.FirstSeen, d.Cycle = now, c.rec.Cycle
	}
	if a.sighted {
		d.FirstSeen = min(d.FirstSeen, now) // of two archives the one that is read may have it earlier
	}
	repeated, stood := d.DuplicateOf, d.Stands
	a.wasCopy = d.Repeats()
	d.DuplicateOf, d.Stands = graph.None, false
	// A hollow body says nothing of the page, nor which page it is a copy of.
	tells := kind == store.Page && (!d.Hollow || d.Seed || isRoot(d))
	trapped := tells && got.Bytes > 0 && a.duplicate(first)
	if kind == store.Page {
		d.Passages = got.Layout.Passages
		if first && a.repeated() && d.New == store.IsNew {
			d.New = store.MaybeNew
		}
		d.Class = got.Class(c.rows.Repeats)
		c.rows.Learn(got)
	}
	if listed && !c.worth.unlisted && novelty.Unlisted(d, got.NoIndex, told) {
		if told = true; !a.sighted {
			d.FirstSeen, d.Cycle = now, c.rec.Cycle
		}
	}
	d.Canonical = ""
	if got.Canonical = c.identity(got.Canonical); got.Canonical != "" && got.Canonical != d.URL {
		d.Canonical = got.Canonical
	}
	if first && listed {
		if kind == store.Page {
			c.pages++
			c.rec.Pages++
			if !d.Hollow {
				c.redeem(d)
			}
		}
		if c.rec.Cycle > s.FirstCycle {
			a.newcomer = true
			crawl.fail(crawl.db.PutNewcomer(d, c.rec.Cycle))
		}
	}
	if got.Scripts {
		c.seen.scripted++
	}
	if trapped {
		why := "the same body at ever new URLs"
		c.traps.Tell(why)
		c.report(d, "trap: "+why+": its links are not followed")
		got.Links = nil
	}
	d.Dated = d.IsList() && slices.ContainsFunc(got.Links, func(l document.Link) bool { return l.LastMod != 0 })
	is := d.New
	if unread {
		d.New = store.MaybeNew // pages take after those that lead to them
	}
	links := c.discover(d, got.Links)
	d.New = is
	c.seen.links += len(links)
	a.relink(links, wasGone)
	if kind == store.Page {
		a.require()
		told = a.sameAs(tells, repeated, stood, told)
		a.passOn()
		a.tell(first, told)
	}
	if got.Routes > 0 {
		c.report(d, fmt.Sprintf("%d routes of scripts (#! and #/) on this page are no URLs", got.Routes))
	}
}

// hearsay reports whether d, which waits to be fetched, is known from a list of URLs or the index of an archive alone, so that it may have
// been there all along.
func hearsay(d *store.Doc) bool {
	return d.Sighted() || d.FoundOn == graph.None && d.Via == store.ViaNone && !d.Seed && !d.Main
}

// sameAs notes whether the page names another one of the site as canonical, for which it stands in
// lists as long as that is no page itself. tells is false where its body says nothing of that,
// repeated and stood are what was known before. It returns whether the page is to be told of, if
// told says so: not if another one stood for it.
func (a *answer) sameAs(tells bool, repeated graph.Node, stood, told bool) bool {
	c, d := a.cycle, a.doc
	crawl := c.crawl()
	if tells && d.Canonical != "" && d.DuplicateOf == graph.None && c.site.scope.Contains(d.Canonical) {
		if id, err := crawl.db.Find(d.Canonical); err == nil && id != d.ID {
			if other, err := crawl.doc(id); err == nil && other.Site == d.Site && other.DuplicateOf != d.ID {
				d.DuplicateOf = id
				switch {
				case other.State == store.Skipped && isRule(other.Reason), differs(d, other): // it is not to be listed, or another page
					d.DuplicateOf = graph.None
				case other.IsPage():
					if repeated == graph.None {
						a.movedTo(other)
					}
				case other.StandIn == graph.None || other.StandIn == d.ID:
					if d.Stands, other.StandIn = true, d.ID; hearsay(other) && other.New == store.NotNew { // under whose URL it is listed
						d.New = store.NotNew
					}
					crawl.fail(crawl.db.Put(other))
				default:
					if first, err := crawl.doc(other.StandIn); err == nil && differs(d, first) {
						d.DuplicateOf = graph.None
					}
				}
			}
		}
	}
	if stood && !(d.Stands && d.DuplicateOf == repeated) { // nothing stands for that one any more
		if other, err := crawl.doc(repeated); err == nil && other.StandIn == d.ID {
			other.StandIn = graph.None
			crawl.fail(crawl.db.Put(other))
		}
	}
	if d.StandIn == graph.None {
		return told
	}
	by, err := crawl.doc(d.StandIn)
	if err != nil {
		crawl.fail(err)
		return false
	}
	d.StandIn = graph.None
	if by.Stands = false; differs(by, d) {
		by.DuplicateOf = graph.None
		crawl.fail(crawl.db.Put(by))
		return told
	}
	c.isCopy(by)
	if crawl.fail(crawl.db.Put(by)); by.Cycle == c.rec.Cycle { // it was counted, and d is instead
		c.rec.Copies++
		c.run.pages--
	}
	if d.New = by.New; !a.sighted {
		d.FirstSeen, d.Cycle = by.FirstSeen, by.Cycle
	}
	return false
}

// differs reports whether d is no copy of the page that it names as canonical, as where a template
// has all pages name the home page: there is something to be read on it, and the other has none of
// that. Lists are not compared: each has some of the items of another.
func differs(d, canonical *store.Doc) bool {
	return canonical.IsPage() && canonical.Class != store.NoClass && readable(d) &&
		!slices.ContainsFunc(d.Passages[:], func(p uint32) bool { return slices.Contains(canonical.Passages[:], p) })
}

// readable reports whether there is something to be read on a page: two long runs of text. One may
// be a remark that a list is empty.
func readable(d *store.Doc) bool { return d.Class == store.ContentPage && d.Passages[1] != 0 }

// tell counts a page in what is told of the cycle: first for the first time, and as new, perhaps
// new, or moved if told.
func (a *answer) tell(first, told bool) {
	c, d := a.cycle, a.doc
	if first {
		if d.IsListed() {
			c.run.pages++
		} else {
			c.rec.Copies++
		}
	}
	if !told || !d.IsListed() {
		return
	}
	if d.Moved != 0 {
		c.rec.Moved++
		return
	}
	c.countNew(d, 1)
}

// countNew adds by to the cycle's count of what d is: new, or perhaps.
func (c *cycle) countNew(d *store.Doc, by int64) {
	switch {
	case d.New == store.MaybeNew:
		c.rec.Unknown += by
	case d.New == store.IsNew:
		c.rec.New += by
		if d.Class == store.ContentPage {
			c.rec.Content += by
		}
	}
}

// duplicate notes whether another page of the site has the same body. It reports whether that is
// a trap: a page that answers for the first time, with a body that very many have.
func (a *answer) duplicate(first bool) (trapped bool) {
	c, d := a.cycle, a.doc
	crawl := c.crawl()
	same, err := crawl.db.FirstBody(c.site.ID, d.Digest, d.ID)
	if err != nil {
		crawl.fail(err)
		return false
	}
	if same == d.ID {
		return false
	}
	other, err := crawl.doc(same)
	if err != nil || other.Digest != d.Digest || other.DuplicateOf == d.ID {
		return false
	}
	if other.LeftOut() {
		crawl.fail(crawl.db.PutBody(c.site.ID, d.Digest, d.ID))
		return false
	}
	if a.renewed(other) || a.shownBy(other, first) {
		return false
	}
	d.DuplicateOf = same
	if c.seen.repeats == nil {
		c.seen.repeats = map[graph.Node]int{}
	}
	c.seen.repeats[same]++
	return first && c.seen.repeats[same] > maxSameBody
}

// shownBy reports whether a front page with the same body shows what the document has, as that of a blog
// does with its latest post: it has changed since it was first read, so that it is the copy, and for a
// while. A copy that is known for one stays that, and so does the front page at another address.
func (a *answer) shownBy(front *store.Doc, first bool) bool {
	return (isRoot(front) || front.Seed) && front.Changes > 0 && (first || !a.wasCopy) && !frontToo(a.doc.URL)
}

// frontToo reports whether a page with the body of a front page is likely to be that at another address,
// with parameters or by the name of its file.
func frontToo(url string) bool {
	path := scope.Path(url)
	return strings.ContainsRune(path, '?') || strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], "index.")
}

// release makes pages on their own of those that had the body which a front page had until now.
func (a *answer) release(linked ...[]store.Link) {
	c, d := a.cycle, a.doc
	if !a.changed || !isRoot(d) && !d.Seed {
		return
	}
	for _, links := range linked {
		for _, l := range links {
			if l.Off {
				continue
			}
			to, err := c.crawl().doc(l.To)
			if err != nil {
				c.crawl().fail(err)
				return
			}
			if to.DuplicateOf == d.ID && !to.Stands && to.Digest != d.Digest && to.Canonical != d.URL && !frontToo(to.URL) {
				to.DuplicateOf = graph.None
				c.crawl().fail(c.crawl().db.Put(to))
			}
		}
	}
}

// maxSameBody is how many pages with one body have their links followed.
const maxSameBody = 50

// relink stores the links of the document and notes what it gained and lost since its last good
// fetch; it gained all if a fetch since found it gone.
func (a *answer) relink(links []store.Link, wasGone bool) {
	c, d := a.cycle, a.doc
	crawl := c.crawl()
	a.links = links
	var old []store.Link
	if d.LinksOf != 0 && d.LinksOf != c.rec.Cycle && !wasGone {
		var err error
		if old, err = crawl.db.Links(d); err != nil && !errors.Is(err, store.ErrNotFound) {
			crawl.fail(err)
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
			if to, err := crawl.doc(l.To); err == nil && !l.Off && to.Discovered < c.rec.At {
				had[l.To] = true
			}
		}
	}
	for i := range links {
		if l := &links[i]; !l.Off && !had[l.To] {
			c.renamed(l)
		}
	}
	a.release(old, links)
	if !c.visit.manner().first {
		kept := 0
		if listing(d) {
			c.sights.Read(old, links, crawl.pageOf)
		}
		if len(old) > 0 && !a.wasCut && !d.Truncated {
			a.compare(old, links)
		}
		for _, l := range links {
			switch {
			case l.Off:
			case had[l.To]:
				kept++
			default:
				a.gained = append(a.gained, l.To)
				c.revive(l.To, d)
				if d.Evicted {
					a.confirm(l.To)
				}
			}
		}
		a.lost = len(had) - kept
	}
	if _, err := crawl.db.PutLinks(d, c.rec.Cycle, links); err != nil {
		crawl.fail(err)
	}
	crawl.fail(crawl.keeper.Linked(d, links))
}

// redirected takes in a redirect: its target is a link like any other, so that scope,
// robots.txt and politeness hold for it.
func (a *answer) redirected() {
	c, d, o := a.cycle, a.doc, a.job.out
	crawl := c.crawl()
	if d.Kind == store.Unseen {
		if !d.Sighted() {
			d.FirstSeen, d.Cycle = a.job.at.Unix(), c.rec.Cycle
		}
		d.Kind = store.Redirect
	}
	wasGone := d.GoneCycles > 0
	novelty.Back(d)
	d.ETag, d.LastModified = "", ""
	to, err := scope.Normalise(o.Location, c.site.Rules.IgnoreParams)
	if err != nil {
		d.Reason = "redirects to " + o.Location
		return
	}
	if id := c.identity(to); id != d.URL {
		to = id
	} else if to != d.URL {
		c.insists(to)
	}
	hops := 1
	for at := d; at.Via == store.ViaRedirect && at.FoundOn != graph.None && hops <= fetch.MaxRedirects; hops++ {
		from, err := crawl.doc(at.FoundOn)
		if err != nil {
			break
		}
		if from.URL == to {
			d.Reason = fetch.RedirectLoop.String()
			c.report(d, d.Reason)
			break
		}
		at = from
	}
	switch {
	case to == d.URL:
		d.Reason = fetch.RedirectLoop.String()
		c.report(d, d.Reason)
		return
	case hops > fetch.MaxRedirects:
		d.Reason = fetch.TooManyRedirects.String()
		c.report(d, d.Reason)
		return
	}
	link := document.Link{URL: to, Kind: store.ViaRedirect}
	if o.Location != to {
		link.Given = o.Location
	}
	links := c.discover(d, []document.Link{link})
	a.relink(links, wasGone)
	if len(links) == 1 && !links[0].Off {
		target, err := crawl.doc(links[0].To)
		if err != nil {
			crawl.fail(err)
			return
		}
		a.movedTo(target)
	}
}

// refused reports whether it was a rule of ours that kept a request from being made.
func refused(c fetch.Class) bool { return c == fetch.PrivateAddress || c == fetch.BadPort }

// mediaType is the type of a Content-Type without its parameters.
func mediaType(t string) string {
	t, _, _ = strings.Cut(t, ";")
	return strings.ToLower(strings.TrimSpace(t))
}
