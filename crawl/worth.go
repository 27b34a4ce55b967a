package crawl

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"forage/crawl/document"
	"forage/crawl/scope"
	"forage/explore/yield"
	"forage/fetch"
	"forage/graph"
	"forage/store"

	"github.com/cespare/xxhash/v2"
)

// A worth is what a cycle knows of the yield of its site's URLs, see package yield. It is made
// anew from the documents of the store where a cycle begins at a site that has some (learn), as it was
// (see past), but for the texts that were read: small sites that were interrupted after every ten
// requests took up to a fourth more of them.
type worth struct {
	site     yield.Site
	told     uint32 // what site was told: documents that became known, outcomes, documents left out
	past     past
	params   yield.Params
	copies   yield.Canonicals
	off      bool                // everything is fetched: crawl --all
	unlisted bool                // the site's own seed asks not to be listed, so that this says nothing
	nofollow map[graph.Node]bool // documents that only links with rel=nofollow lead to
	fresh    []string            // URLs that the document being read led to first; cycle.answered empties it
	left     map[string]*store.LeftOut
	out      map[graph.Node]bool // documents that are left out with their group
	named    map[graph.Node]bool // documents that were, and that something named since, see cycle.renamed
	tries    map[graph.Node]bool // documents that are fetched though their group is stopped, see budgetedCycle.try
	hashes   map[uint64]struct{} // what stands for one thing in the URLs that were known before a cycle of discovery at a site that leaves something out
	texts    map[uint32]struct{} // the longest texts of the site's pages, in a cycle of discovery at a site that leaves something out
}

// maxTexts bounds the texts that are remembered; later ones count as new.
const maxTexts = 1 << 18

// A turn is when a document of the store's queue is due: in the order of discovery, or after all
// those of earlier turns.
type turn uint8

const (
	dueNow      turn = iota
	dueLater         // its group has brought little, or only rel=nofollow leads to it
	dueLast          // its group has brought next to nothing
	dueDoubtful      // little of what its list names is there, see scope.Lists
	dueNever         // its group is stopped: it is left out
	numTurns
)

// doubt is the probability, about, that a document that was never fetched is not worth it.
func (c *cycle) doubt(d *store.Doc) float64 {
	if c.worth.off || d.Seed {
		return 0
	}
	rank := yield.First
	switch c.due(d) {
	case dueLater:
		rank = yield.Later
	case dueLast, dueDoubtful:
		rank = yield.Last
	case dueNever:
		rank = yield.Stopped
	}
	return c.worth.site.Doubt(c.place(d.URL), rank)
}

// place is how package yield is told a URL of the site: hosts tell groups apart where there are
// several.
func (c *cycle) place(url string) string {
	if c.site.Rules.Scope == "domain" {
		return url[strings.Index(url, "://")+2:]
	}
	return scope.Path(url)
}

// see counts a document that became known at a place.
func (c *cycle) see(d *store.Doc, place string) {
	if c.worth.off {
		return
	}
	c.worth.told++
	c.worth.site.See(place)
	c.bounds.names.See(place)
	if d.NoFollow {
		if c.worth.nofollow == nil {
			c.worth.nofollow = map[graph.Node]bool{}
		}
		c.worth.nofollow[d.ID] = true
	}
}

// followed notes that a link without rel=nofollow leads to a document.
func (c *cycle) followed(id graph.Node) {
	if !c.worth.nofollow[id] {
		return
	}
	delete(c.worth.nofollow, id)
	crawl := c.crawl()
	d, err := crawl.doc(id)
	if err == nil {
		d.NoFollow = false
		err = crawl.db.Put(d)
	}
	crawl.fail(err)
}

// learn takes in what an earlier run or cycle has brought, a document at a time in the order of
// their numbers; learned follows the last one.
func (c *cycle) learn(d *store.Doc) {
	w := &c.worth
	group, stopped := strings.CutPrefix(d.Reason, store.StoppedReason)
	if stopped = stopped && d.State == store.Skipped; stopped {
		w.leave(group, d.ID)
	} else if d.State == store.Skipped && (isRule(d.Reason) || d.Visits > 0) {
		return
	}
	c.relive(w.told + 1)
	place := c.place(d.URL)
	c.see(d, place)
	if c.repeats() {
		if d.Kind == store.Page {
			w.remember(d)
		}
		if d.Cycle < c.rec.Cycle {
			w.heard(place)
		}
	}
	if d.Visits > 0 {
		w.params.Met(place, c.site.SameParams)
		c.bound(d)
	}
	if d.Visits > 0 && d.Kind == store.Page && d.Passages[0] != 0 {
		w.params.Earlier(place, says(d), c.site.SameParams)
	}
	if w.off {
		return
	}
	c.learnCanonical(d)
	e := event{at: d.Learned, url: place, left: stopped, o: brought(d)}
	w.unlisted = w.unlisted || e.o == yield.NoIndex && d.Seed
	switch {
	case e.at > 0:
		w.past.add(e)
	case stopped || e.o != yield.None: // of an earlier release
		w.tell(e)
	}
}

// relive takes in what was told among the first n things of what learn has been given.
func (c *cycle) relive(n uint32) {
	w := &c.worth
	for {
		e, ok := w.past.next(max(n, w.told+1))
		if !ok {
			return
		}
		w.told = max(w.told, e.at)
		w.tell(e)
	}
}

// tell tells the site what became of a document.
func (w *worth) tell(e event) {
	if e.left {
		w.site.LeaveOut(e.url)
	} else {
		w.site.Fetched(e.url, e.o)
	}
}

// tells tells the site what became of a document, and notes when, which is to be written.
func (w *worth) tells(d *store.Doc, e event) {
	if !e.left && e.o == yield.None {
		return
	}
	w.told++
	d.Learned = w.told
	w.tell(e)
}

// brought is what the first answer to a request for d has brought. What earlier releases fetched is
// judged by what they noted.
func brought(d *store.Doc) yield.Outcome {
	switch o := yield.Outcome(d.Yield); {
	case d.State != store.Fetched, o != yield.None:
		return o
	case d.Kind == store.Page && d.Repeats():
		return yield.Duplicate
	case d.Kind == store.Page && d.Stands:
		return yield.None
	case d.Kind == store.Page:
		return yield.Content
	case d.Kind == store.Soft404:
		return yield.Soft404
	case d.Status == 404 || d.Status == 410:
		return yield.Missing
	}
	return yield.None
}

// learnAll takes in what is known of the site, and shows each document to also.
func (c *cycle) learnAll(also func(d *store.Doc)) error {
	defer c.learned()
	return c.crawl().db.SiteDocsAhead(c.site.ID, func(d *store.Doc) bool {
		c.learn(d)
		also(d)
		return true
	})
}

// learned is called after all that is known was given to learn.
func (c *cycle) learned() {
	c.relive(math.MaxUint32)
	c.worth.params.Learned()
}

// says is a hash of what is kept of the text of a page.
func says(d *store.Doc) uint64 {
	h := xxhash.New()
	h.WriteString(d.Title)
	for _, p := range d.Passages {
		h.Write(binary.LittleEndian.AppendUint32(nil, p))
	}
	return h.Sum64()
}

// repeats reports whether pages that come to be known are compared with those of the site.
func (c *cycle) repeats() bool {
	return !c.worth.off && c.rec.Kind != store.FirstVisit && len(c.site.LeftOut) > 0
}

// remember takes in the longest texts of a page.
func (w *worth) remember(d *store.Doc) {
	if w.texts == nil {
		w.texts = map[uint32]struct{}{}
	}
	for _, p := range d.Passages {
		if p != 0 && len(w.texts) < maxTexts {
			w.texts[p] = struct{}{}
		}
	}
}

// repeated reports whether a page that answers for the first time says what others have said, at an
// address of the kind of which software makes many for one page, so that it shows nothing new.
func (a *answer) repeated() bool {
	c, d := a.cycle, a.doc
	if !c.repeats() {
		return false
	}
	defer c.worth.remember(d)
	if d.Passages[0] == 0 || !yield.Doubts(c.place(d.URL)) {
		return false
	}
	for _, p := range d.Passages {
		if _, known := c.worth.texts[p]; p != 0 && !known {
			return false
		}
	}
	return true
}

// leave notes that a document is left out with its group.
func (w *worth) leave(group string, id graph.Node) {
	w.leftOut(group).URLs++
	if w.out == nil {
		w.out = map[graph.Node]bool{}
	}
	w.out[id] = true
}

// leftOut returns the count of a group.
func (w *worth) leftOut(group string) *store.LeftOut {
	if w.left == nil {
		w.left = map[string]*store.LeftOut{}
	}
	n := w.left[group]
	if n == nil {
		n = &store.LeftOut{Group: group}
		w.left[group] = n
	}
	return n
}

// due says when a document that was never fetched is due.
func (c *cycle) due(d *store.Doc) turn {
	w := &c.worth
	if w.off || d.Seed {
		return dueNow
	}
	if group, _ := c.beyond(d); group != "" {
		return dueNever
	}
	if d.Main || w.tries[d.ID] {
		return dueNow
	}
	switch w.site.Rank(c.place(d.URL), c.vouched(d)) {
	case yield.Stopped:
		return dueNever
	case yield.Last:
		if d.New == store.IsNew && c.overlooked(d) {
			return dueLater // there is evidence that it is new, see cycle.target
		}
		return dueLast
	case yield.Later:
		return dueLater
	}
	if w.nofollow[d.ID] {
		return dueLater
	}
	return dueNow
}

// vouched reports whether something speaks for a document of a stopped group, so that it gets a
// chance: a list names it, or, in a cycle of discovery, a page newly links to it. URLs of the kind of
// which every new page has many, which would be told as new themselves, and those of links with
// rel=nofollow have none: see budgetedCycle.try.
func (c *cycle) vouched(d *store.Doc) bool {
	if scope.Listed(d) || c.worth.named[d.ID] {
		return true
	}
	if c.visit.manner().first || d.Cycle != c.rec.Cycle || d.Via != store.ViaAnchor {
		return false
	}
	return !d.NoFollow && !yield.Doubts(c.place(d.URL))
}

// stop leaves out a document of a stopped group.
func (c *cycle) stop(b *backlog, d *store.Doc) {
	if group, why := c.beyond(d); group != "" {
		if c.bounds.why == nil {
			c.bounds.why = map[string]string{}
		}
		c.bounds.why[group] = why
		c.putAside(b, d, group)
		return
	}
	group := ""
	if s, ok := c.worth.site.Stopped(c.place(d.URL)); ok {
		group = s.Group
	}
	c.putAside(b, d, group)
	c.original(d)
	if c.unheard(d) {
		c.visit.leftOut(d)
	}
}

// putAside leaves out a document with a group.
func (c *cycle) putAside(b *backlog, d *store.Doc, group string) {
	c.worth.leave(group, d.ID)
	c.worth.tells(d, event{url: c.place(d.URL), left: true})
	c.leaveOut(b, d, store.StoppedReason+group)
}

// overlooked reports whether a document that becomes known now may have been there all along, though
// the first visit came to its end: it looks like others that were left out.
func (c *cycle) overlooked(d *store.Doc) bool {
	return !c.worth.off && !d.Main && !d.Seed && c.worth.site.Partial(c.place(d.URL))
}

// take notes that a document is on its way to be fetched: for the first time, as other fetches tell
// nothing of its groups.
func (b *backlog) take(work work, d *store.Doc) {
	if c := b.cycle; work == fetchNew && !c.worth.off && !c.worth.site.UnderWay(uint32(d.ID)) {
		b.taken++
		c.worth.site.Take(uint32(d.ID), c.place(d.URL))
	}
}

// untake notes that it is not any more, for whatever reason, and has what waited for that offered
// again.
func (b *backlog) untake(id graph.Node) {
	c := b.cycle
	if !c.worth.site.UnderWay(uint32(id)) {
		return
	}
	c.worth.site.Drop(uint32(id))
	b.taken--
	if b.holds {
		b.holds = false
		c.loop().wake(b.host)
	}
}

// waitsFor reports whether a document is to wait for answers of others of its group, of which
// nobody knows yet what they bring.
func (b *backlog) waitsFor(d *store.Doc) bool {
	c := b.cycle
	return !c.worth.off && b.taken > 0 && !d.Seed && !d.Main && !c.worth.site.UnderWay(uint32(d.ID)) && c.worth.site.Crowded(c.place(d.URL))
}

// judge tells what a document brought that was fetched for the first time.
func (a *answer) judge() {
	c, d := a.cycle, a.doc
	w := &c.worth
	if w.off {
		return
	}
	url := c.place(d.URL)
	if a.job.work != fetchNew {
		a.compareParams(url, false)
		return
	}
	c.bound(d)
	o := a.brought()
	if !o.Good() && o != yield.None && o != yield.Duplicate {
		for _, to := range w.fresh {
			if to := c.place(to); w.site.Promises(to) && (o == yield.Moved || !w.site.Kin(url, to)) {
				o = yield.Leads
				break
			}
		}
	}
	if o == yield.Canonical && d.Stands {
		o = yield.None // it is the first with its text, see answer.isCopy
	}
	w.unlisted = w.unlisted || o == yield.NoIndex && d.Seed
	if d.Learned == 0 || d.Yield != uint8(o) { // else it was asked for once more, as a sitemap that was not there, and tells what it told
		d.Yield = uint8(o)
		w.tells(d, event{url: url, o: o})
	}
	c.learnCanonical(d)
	a.compareParams(url, o == yield.Leads)
}

// isCopy notes that a document which stood for its canonical one brought nothing after all, as
// that one has answered: until then nobody knows whether it ever will.
func (c *cycle) isCopy(d *store.Doc) {
	if !c.worth.off && yield.Outcome(d.Yield) == yield.None {
		d.Yield = uint8(yield.Canonical)
		c.worth.tells(d, event{url: c.place(d.URL), o: yield.Canonical})
	}
}

// learnCanonical learns from a document that was fetched how the canonical URLs of copies are made of their
// own.
func (c *cycle) learnCanonical(d *store.Doc) {
	switch {
	case d.State != store.Fetched:
	case d.Kind == store.Page && d.Canonical != "" && c.site.scope.Contains(d.Canonical):
		c.worth.copies.Fetched(c.place(d.URL), c.place(d.Canonical))
	case d.Kind == store.Page:
		c.worth.copies.Fetched(c.place(d.URL), "")
	case d.Via == store.ViaCanonical && c.site.scope.Contains(d.Given):
		c.worth.copies.Missed(c.place(d.Given))
	}
}

// original has the page found of which a document that is left out would be a copy, as far as others like
// it tell: it may be known by copies alone. It is a document that d led to, by canonical.
func (c *cycle) original(d *store.Doc) {
	url, ok := c.worth.copies.Guess(c.place(d.URL))
	if !ok || d.FoundOn == graph.None {
		return
	}
	by, err := c.crawl().doc(d.FoundOn)
	if err != nil {
		c.crawl().fail(err)
		return
	}
	c.target(by, &document.Link{URL: strings.TrimSuffix(d.URL, c.place(d.URL)) + url, Given: d.URL, Kind: store.ViaCanonical, NoFollow: d.NoFollow})
}

// misguided leaves d out, which waits, if it is the original of a copy that is left out, but nothing would
// be made of that copy's URL any more, as there was nothing at others made so. It reports whether it did.
func (c *cycle) misguided(b *backlog, d *store.Doc) bool {
	if d.Via != store.ViaCanonical || d.Given == "" {
		return false
	}
	id, err := c.crawl().db.Find(d.Given)
	if err != nil || id == d.ID {
		return false
	}
	of, err := c.crawl().doc(id)
	if err != nil {
		c.crawl().fail(err)
		return false
	}
	group, left := strings.CutPrefix(of.Reason, store.StoppedReason)
	if url, ok := c.worth.copies.Guess(c.place(d.Given)); !left || of.State != store.Skipped || ok && url == c.place(d.URL) {
		return false
	}
	c.putAside(b, d, group)
	return true
}

// compareParams learns from a page which parameters of URLs do not change it.
func (a *answer) compareParams(url string, leads bool) {
	c, d, got := a.cycle, a.doc, a.job.content
	if got == nil || got.Kind != store.Page || d.Kind != store.Page || scope.Suspect(d.URL) != "" {
		return
	}
	page := yield.Page{Digest: got.Digest, Text: yield.Text{Blocks: got.Blocks, Shape: got.TextShape}, Leads: leads}
	if got.Canonical != "" && c.site.scope.Contains(got.Canonical) {
		page.Canonical = c.place(got.Canonical)
	}
	if c.worth.params.Fetched(url, page) {
		c.noteParams()
	}
}

// noteParams writes down which parameters do not count from here on.
func (c *cycle) noteParams() {
	s, names := c.site, c.worth.params.Ignored()
	for _, n := range s.SameParams {
		if !slices.Contains(names, n) && !slices.Contains(s.NeededParams, n) {
			s.NeededParams = append(s.NeededParams, n)
		}
	}
	s.SameParams = names
	c.crawl().fail(c.crawl().db.PutSite(s.Site))
}

// identity is a URL of the site without the parameters that were found not to count.
func (c *cycle) identity(url string) string {
	if c.worth.off {
		return url
	}
	return c.site.identity(url)
}

func (s *site) identity(url string) string {
	if len(s.SameParams) == 0 || !strings.ContainsAny(url, "?;") || !s.scope.Contains(url) {
		return url
	}
	origin := scope.Origin(url)
	path := url[len(origin):]
	for _, n := range s.SameParams {
		path = yield.Without(path, n)
	}
	if path == "" {
		path = "/"
	}
	return origin + path
}

// insists notes that the site redirects d to the same URL with a parameter that was found not to
// count, so that it does.
func (c *cycle) insists(to string) {
	for _, n := range c.site.SameParams {
		if place := c.place(to); yield.Without(place, n) != place {
			c.worth.params.Needed(n)
		}
	}
	c.noteParams()
}

// known is what novelty is at most for a URL that is new to the store, and came as given: parameters
// that count no more, or again, make no page new.
func (c *cycle) known(d *store.Doc, given string) {
	place := c.place(given)
	switch {
	case given != d.URL && d.New != store.NotNew && (c.worth.params.Has(place, c.site.SameParams) || c.knew(given)):
		d.New = store.NotNew
	case d.New == store.IsNew && slices.ContainsFunc(c.site.NeededParams, func(n string) bool { return yield.Without(place, n) != place }):
		d.New = store.MaybeNew
	}
}

// knew reports whether a URL was known before this cycle.
func (c *cycle) knew(url string) bool {
	id, err := c.crawl().db.Find(url)
	return err == nil && id < c.from
}

// variant leaves d out, which waits, if it differs from another document only in parameters that do
// not count; that one is added where it is not known. It reports whether it did.
func (c *cycle) variant(b *backlog, d *store.Doc) bool {
	url := c.identity(d.URL)
	if url == d.URL || d.Seed {
		return false
	}
	var by *store.Doc
	if d.FoundOn != graph.None {
		by, _ = c.crawl().doc(d.FoundOn)
	}
	id, _, ok := c.target(by, &document.Link{URL: url, Kind: d.Via, NoFollow: d.NoFollow, Main: d.Main})
	if !ok || id == d.ID {
		return false
	}
	name := ""
	for _, n := range c.site.SameParams {
		if place := c.place(d.URL); yield.Without(place, n) != place {
			name = n
			break
		}
	}
	c.putAside(b, d, "?"+name+"=")
	return true
}

// brought is what an answer brought, but for what it leads to.
func (a *answer) brought() yield.Outcome {
	c, d, o, got := a.cycle, a.doc, a.job.out, a.job.content
	switch o.Class {
	case fetch.OK:
	case fetch.NotModified:
		return yield.None
	case fetch.Redirect:
		return yield.Moved
	case fetch.NotHTML, fetch.NoContent:
		return yield.Other
	case fetch.ClientError:
		if o.Status == 401 || o.Status == 403 {
			return yield.Refused
		}
		return yield.Missing
	default:
		return yield.Missing
	}
	switch {
	case d.Kind == store.Soft404:
		return yield.Soft404
	case got.Kind == store.Feed || got.Kind == store.Sitemap:
		return yield.OldList
	case got.Kind != store.Page:
		return yield.Other
	case d.DuplicateOf != graph.None:
		if other, err := c.crawl().doc(d.DuplicateOf); err == nil && other.Digest == d.Digest {
			return yield.Duplicate
		}
	}
	switch {
	case d.Canonical != "" && d.DuplicateOf != graph.None && scope.Path(d.Canonical) != "/":
		return yield.Canonical // unless all pages name the home page, which is a mistake
	case got.NoIndex && !c.worth.unlisted && !(readable(d) && !yield.Doubts(c.place(d.URL))): // whole sites ask for it but for their home page
		return yield.NoIndex
	case scope.Suspect(d.URL) != "":
		return yield.Repeat
	case got.Texts:
		return c.worth.site.Read(yield.Text{Blocks: got.Blocks, Shape: got.TextShape})
	}
	return yield.Content
}

// doubts reports whether the text of a document that is to be fetched is to be compared with others.
func (c *cycle) doubts(d *store.Doc, first bool) bool {
	return !c.worth.off && !d.Main && (first && !d.Seed && yield.Doubts(c.place(d.URL)) || c.worth.params.Open())
}

// maxLeftOut bounds the groups that a site tells of.
const maxLeftOut = 100

// tellLeftOut writes down which groups the site leaves out, those of most URLs first.
func (c *cycle) tellLeftOut() {
	before := map[string]store.LeftOut{}
	for _, g := range c.site.LeftOut {
		before[g.Group] = g
	}
	c.site.LeftOut = nil
	for group, n := range c.worth.left {
		row := *n
		if why, ok := c.bounds.why[group]; ok {
			row.Why = why
		} else if name := strings.Trim(group, "?="); slices.Contains(c.site.SameParams, name) {
			row.Fetched, row.Why = int64(c.worth.site.Count(group)), "the page is the same without it"
		} else if s, ok := c.worth.site.Told(group); ok {
			row.Fetched, row.Why = int64(s.Fetched), s.Why()
		}
		if old := before[group]; row.Fetched < old.Fetched || row.Why == "" { // it was opened since, or what was compared is forgotten
			row.Fetched, row.Why = old.Fetched, old.Why
		}
		c.site.LeftOut = append(c.site.LeftOut, row)
	}
	slices.SortFunc(c.site.LeftOut, func(a, b store.LeftOut) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Group, b.Group))
	})
	if len(c.site.LeftOut) > maxLeftOut {
		c.site.LeftOut = c.site.LeftOut[:maxLeftOut]
	}
}
