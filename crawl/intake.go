package crawl

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"forage/crawl/ledger"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/graph"
	"forage/revisit"
	"forage/store"
)

// An intake is an import that is under way: where it is, and what came of it. All but from, feeds, hint and known belongs to the loop.
type intake struct {
	crawl *Crawl
	from  Captures                        // nil: sightings are imported
	feeds func(ctx context.Context) error // gives the loop all that is to be imported
	known bool                            // the store had documents when it began
	hint  hint
	ended chan struct{} // closed when nothing of it runs any more
	err   error         // with which it ended; good then

	run    *run
	worker *worker // for what has to be read again
	within string  // the site that it is at, "": none yet
	site   *site   // the same; nil: the store has none
	cycle  *cycle  // that is open there; nil: none is
	round  *round  // of that cycle
	hosts  map[string]*host
	opened store.Cycle // the number of cycle, or of one that an earlier import left open; 0: there is none
	last   before      // the last capture of the site of which the store knew
	all    bool        // all captures were taken in
	sites  int

	scope   *scope.Scope       // of the site, where sightings are imported and the store has none; nil: not made yet
	listing *store.CycleRecord // in which sightings of the site are taken in; nil: there was nothing new

	taken, added, same int64
	left               map[string]int64
}

// A before is a capture of which the store knew.
type before struct {
	cycle store.Cycle // in which its document was fetched last
	label string
	at    time.Time
}

// progress is how an import goes on.
type progress int

const (
	goesOn progress = iota
	waits           // there is no room on the disk
	stops
)

// ImportPolicy is what the record of a cycle that was imported has for a policy.
const ImportPolicy = "import"

func imported(r *store.CycleRecord) bool { return r.Policy == ImportPolicy }

// take takes in some of what was read, and returns how many: not all where a cycle has to be closed first, which the loop does.
func (im *intake) take(some []*job) (n int, then progress, err error) {
	c := im.crawl
	defer func() {
		if err == nil {
			err = im.note()
		}
	}()
	for n, j := range some {
		switch {
		case c.err != nil:
			return n, stops, c.err
		case im.run.stopping || im.run.over:
			return n, stops, nil
		case c.Full() != nil:
			return n, waits, nil
		case j.err != nil && j.ctx.Err() != nil:
			return n, stops, nil
		case j.err != nil:
			return n, stops, j.err
		case im.cycle != nil && im.cycle.winding && !im.cycle.closed: // by hand
			im.run.stop("forage stop", true)
			return n, stops, nil
		}
		if ok, err := im.one(j); !ok || err != nil {
			return n, goesOn, err
		}
		if c.loop.added >= fullWindow {
			return n + 1, goesOn, nil
		}
	}
	return len(some), goesOn, nil
}

// note writes down up to which date the captures of the site are taken in, in the window of what they came to.
func (im *intake) note() error {
	if im.cycle == nil || im.cycle.closed || im.round.at.IsZero() {
		return nil
	}
	im.cycle.touch()
	s := im.site.Site
	if at := im.round.at.UnixMilli(); at > s.Imported {
		s.Imported = at
		return im.crawl.db.PutSite(s)
	}
	return nil
}

// one takes in a capture. ok=false: the cycle that is open is to be closed first, for which the loop has been asked.
func (im *intake) one(j *job) (ok bool, err error) {
	if im.cycle != nil && im.cycle.closed {
		im.leaveCycle()
	}
	from := j.capture
	if from.Rules.Within != im.within {
		if im.cycle != nil {
			im.endRound()
			return false, nil
		}
		if err := im.enter(from.Rules.Within); err != nil {
			return false, err
		}
	}
	switch j.work {
	case fetchRobots:
		return true, im.robots(j)
	case fetchProbe:
		return im.probe(j)
	}
	return im.document(j)
}

// enter goes to the site of that name.
func (im *intake) enter(within string) error {
	c := im.crawl
	im.leave()
	im.within, im.hosts, im.last = within, map[string]*host{}, before{}
	rec, err := c.db.SiteNamed(im.within)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if im.site, err = c.site(rec); err != nil {
		return err
	}
	left, _, _, err := im.history(rec)
	if left != nil {
		im.opened = left.Cycle
	}
	return err
}

// leave drops what is known of the site.
func (im *intake) leave() {
	if c := im.crawl; im.site != nil {
		if c.sites[im.site.ID] == im.site {
			c.drop(im.site)
		}
		im.sites++
		counts, err := c.db.Counters(im.site.ID)
		if c.fail(err); err == nil {
			im.run.res.count(counts)
		}
	}
	im.site, im.scope, im.within, im.hosts, im.opened = nil, nil, "", nil, 0
}

// leaveCycle adds a cycle that is closed to the result, and drops it: there may be very many.
func (im *intake) leaveCycle() {
	r, c := im.run, im.crawl
	counts, err := c.db.Counters(im.site.ID)
	if err == nil {
		err = r.sumCycle(im.cycle.rec, counts, func() (*store.Site, error) { return im.site.Site, nil }, im.cycle.failure)
	}
	c.fail(err)
	r.cycles = r.cycles[:0]
	im.cycle, im.round, im.opened = nil, nil, 0
}

// endRound has the loop close the cycle that is open.
func (im *intake) endRound() {
	im.round.over = true
	im.cycle.touch()
}

// finish is called when all is read, or the run is to end.
func (im *intake) finish() {
	r := im.run
	r.left = r.left || !im.all
	switch {
	case im.err != nil:
		r.stop("", true)
	case im.cycle != nil && !im.cycle.closed && !r.stopping:
		im.endRound()
	}
	r.sub()
}

// host returns what is known of a host of the site, and what stands for its backlog: nothing is ever asked of it.
func (im *intake) host(name string) *host {
	h := im.hosts[name]
	if h == nil {
		if len(im.hosts) >= mostHosts { // their rules are in the store
			clear(im.hosts)
		}
		h = &host{name: strings.Clone(name), newcomer: newcomer{waits: true}}
		im.hosts[h.name] = h
	}
	return h
}

const mostHosts = 1 << 12

// lineUp makes a job one of the cycle, and in line.
func (im *intake) lineUp(j *job) {
	c, name := im.cycle, store.HostOf(j.capture.URL)
	h := im.host(name)
	if len(h.backlogs) == 0 || h.backlogs[0].cycle != c {
		h.backlogs = []*backlog{{cycle: c, host: h, last: graph.None, wait: wait{first: graph.None}}}
	}
	j.cycle, j.host, j.backlog = c, h, h.backlogs[0]
	j.backlog.add(1)
}

// origin returns an origin of the site with its rules, as far as they are known.
func (im *intake) origin(name string) (*origin, error) {
	o := im.host(store.HostOf(name + "/")).origin(name)
	if o.looked {
		return o, nil
	}
	o.looked = true
	kept, err := im.crawl.db.Robots(name)
	switch {
	case err == nil:
		o.rules = fetch.ReadRobots(im.crawl.loop.cfg.Fetch.UserAgent, kept.Status, kept.Body, time.Unix(kept.FetchedAt, 0))
		o.expires = kept.Expires
	case errors.Is(err, store.ErrNotFound):
		err = nil
	}
	return o, err
}

func isRobots(url string) bool { return scope.Path(url) == "/robots.txt" }

// robots takes in the rules of an origin, unless younger ones are known.
func (im *intake) robots(j *job) error {
	c, from := im.crawl, j.capture
	if j.rules == nil { // it had not changed, and nobody knows from what
		im.same++
		return nil
	}
	_, name, ours := strings.Cut(from.Role, " ")
	if !ours {
		name = scope.Origin(from.URL)
	}
	if j.out.Class == fetch.Redirect && ours { // what it leads to comes next
		im.taken++
		return nil
	}
	kept, err := c.db.Robots(name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if j.rules.Unreachable() || err == nil && kept.FetchedAt >= j.at.Unix() {
		im.same++
		return nil
	}
	o, err := im.origin(name)
	if err != nil {
		return err
	}
	im.taken++
	was := c.dated
	c.dated = j.at
	err = o.keep(c, j)
	if c.dated = was; im.round != nil {
		im.round.ruled(o)
	}
	o.read = j.at
	return err
}

// probe takes in what the site said of a path that should not exist.
func (im *intake) probe(j *job) (ok bool, err error) {
	from := j.capture
	if im.site == nil || im.cycle == nil || from.Cycle != im.round.label || from.At.UnixMilli() < im.site.Imported || j.out == nil {
		im.same++ // it says something of what was taken in before
		return true, nil
	}
	im.begins(j)
	im.taken++
	if q := im.round.questions[from.URL]; q != nil {
		delete(im.round.questions, from.URL)
		j.read.Says = []string{q.of.doc.URL, from.URL}
		if err := im.again(j); err != nil {
			return false, err
		}
		im.cycle.told(j, q)
		return true, nil
	}
	if o, err := im.origin(scope.Origin(from.URL)); err != nil || from.URL != o.name+probePath(im.site, o) || im.site.Probe != "" {
		return true, err
	}
	im.cycle.probed(j)
	return true, nil
}

// begins makes the date of a capture the one that is recorded.
func (im *intake) begins(j *job) {
	im.crawl.dated = j.at
	if im.round != nil && j.at.After(im.round.at) {
		im.round.at = j.at
	}
}

// again reads a capture again, as more is needed of it than was worked out.
func (im *intake) again(j *job) error {
	j.out, j.content, j.err = nil, nil, nil
	im.worker.take(j)
	if j.err != nil && j.ctx.Err() != nil {
		return nil
	}
	return j.err
}

// isOld reports whether something younger is known of the document of a capture than that says. It may be called by any goroutine.
func (im *intake) isOld(from *Capture) bool {
	id, err := im.crawl.db.Find(from.URL)
	if err != nil {
		return false
	}
	d, err := im.crawl.db.Doc(id)
	return err == nil && from.At.Unix() < d.LastFetched
}

// isNews reports whether a capture tells something of a document that is known which is younger than what is known. Of two in one second
// the later one does, if an import took in the other.
func (im *intake) isNews(d *store.Doc, from *Capture) bool {
	at := from.At.Unix()
	if at != d.LastFetched || d.FetchedIn == 0 {
		return at > d.LastFetched
	}
	if im.site == nil {
		return false
	}
	switch ms := from.At.UnixMilli(); {
	case ms > im.site.Imported:
	case ms < im.site.Imported || d.FetchedIn >= im.opened:
		return false
	}
	rec, err := im.crawl.db.Cycle(d.Site, d.FetchedIn)
	return err == nil && imported(rec)
}

// document takes in an answer to a request for a document.
func (im *intake) document(j *job) (ok bool, err error) {
	c, from := im.crawl, j.capture
	if im.site != nil && len(im.site.SameParams) > 0 {
		if url := im.site.identity(from.URL); url != from.URL {
			clone := *from
			clone.URL = url
			j.capture, from = &clone, &clone
		}
	}
	var d *store.Doc
	switch id, err := c.db.Find(from.URL); {
	case err == nil:
		if d, err = c.doc(id); err != nil {
			return false, err
		}
	case !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	switch {
	case d != nil && im.site != nil && d.Site != im.site.ID && !stray(d):
		im.left["captures of documents of another site"]++
		return true, nil
	case d != nil && !im.isNews(d, from):
		im.same++
		im.last = before{d.FetchedIn, from.Cycle, from.At}
		return true, im.sighted(d, from)
	}
	if im.cycle != nil && im.newRound(d, from) {
		im.endRound()
		return false, nil
	}
	if im.cycle == nil {
		c.dated = from.At
		if err := im.open(from); err != nil {
			return false, err
		}
		if im.newRound(d, from) { // the one that an earlier import left open is closed first
			im.endRound()
			return false, nil
		}
	}
	return true, im.answered(d, j)
}

// leastGap is how long after a capture of a document another one is of the next round, where nothing else tells rounds apart. What comes
// sooner, such as a second try, or what a browser asks for with each page, is passed over. longPause is how long nothing of a site is captured
// between two rounds at least, where one begins with a document of which the round before has no capture.
const (
	leastGap  = time.Hour
	longPause = 7 * 24 * time.Hour
)

// newRound reports whether a capture is of another cycle than the one that is open. An archive of ours tells. In others' a round begins
// with the first document that is captured again, so that each round has a document once, as a cycle has; or after a long pause.
func (im *intake) newRound(d *store.Doc, from *Capture) bool {
	r, c := im.round, im.cycle
	switch {
	case c.earlier && from.At.Unix() >= r.until:
		return true
	case from.Cycle != "" || r.label != "":
		return from.Cycle != r.label
	case r.at.IsZero():
		return false
	case from.At.Sub(r.at) >= longPause:
		return true
	}
	return d != nil && d.State == store.Fetched && d.FetchedIn == c.rec.Cycle && from.At.Unix()-d.LastFetched >= int64(leastGap/time.Second)
}

// open opens the cycle that a capture is the first of, or goes on with one that an earlier import left open. It makes the site where
// there is none.
func (im *intake) open(from *Capture) error {
	c, r := im.crawl, im.run
	var docs []*store.Doc
	if im.site == nil {
		rec, known, err := im.newSite(from)
		if err != nil {
			return err
		}
		if im.site, err = c.site(rec); err != nil {
			return err
		}
		docs = known
	}
	site := im.site.Site
	rec, visited, until, err := im.history(site)
	if err != nil {
		return err
	}
	im.round = &round{label: from.Cycle, until: until, questions: map[string]*question{}, ours: from.Cycle != ""}
	first := !visited
	earlier := visited && from.At.Unix() < until
	fresh := rec == nil
	if fresh {
		rec = &store.CycleRecord{Site: site.ID, Policy: ImportPolicy, At: from.At.Unix()}
		switch {
		case first, earlier, from.Visit == store.FirstVisit:
			rec.Kind = store.FirstVisit
		case from.Visit == store.FullRecrawl:
			rec.Kind, rec.Limit = store.FullRecrawl, -1
		default:
			rec.Kind = store.Revisit
			counts, err := c.db.Counters(site.ID)
			if err != nil {
				return err
			}
			rec.Limit = int(counts.Documents())
		}
	} else if im.last.cycle == rec.Cycle {
		im.round.label, im.round.at, im.round.ours = im.last.label, im.last.at, im.last.label != ""
	}
	if rec.Kind != store.FirstVisit && site.State == store.SiteCrawling && site.LastCycle == site.FirstCycle && rec.Cycle != site.LastCycle {
		site.Partial, site.PartialWhy = true, "its first visit was interrupted"
	}
	still := site.LastCycle == site.FirstCycle
	r.pending++
	cy, err := r.open(site, rec)
	if err != nil {
		r.pending--
		return err
	}
	if cy.earlier = earlier; first && still {
		site.FirstCycle, cy.first = rec.Cycle, rec.At
	}
	if fresh {
		// In the commit that opens it, so that, if it ends there, what the cycle before took in is known to be older.
		site.Imported = max(site.Imported, from.At.UnixMilli())
		if err := c.db.PutSite(site); err != nil {
			return err
		}
	}
	p := &plan.Plan{Policy: revisit.Default, Full: rec.Kind == store.FullRecrawl}
	switch rec.Kind {
	case store.FirstVisit:
		cy.visit = &givenFirst{firstVisit: firstVisit{cycle: cy, docs: docs}, round: im.round}
	case store.FullRecrawl:
		cy.visit = &givenFull{fullRecrawl: fullRecrawl{rediscovery{cycle: cy, plan: p}}, round: im.round}
	default:
		cy.visit = &givenCycle{budgetedCycle: budgetedCycle{rediscovery: rediscovery{cycle: cy, plan: p}}, round: im.round}
	}
	im.round.intake = im
	im.cycle, im.opened = cy, rec.Cycle
	if err := cy.start(); err != nil { // it is closed in time
		return err
	}
	im.hint.says.Store(rec.Kind != store.FirstVisit)
	return nil
}

// newSite makes the site of a capture.
func (im *intake) newSite(from *Capture) (*store.Site, []*store.Doc, error) {
	c := im.crawl
	seeds := from.Seeds
	if len(seeds) == 0 {
		seeds = []string{from.URL}
	}
	n, err := c.db.NumURLs()
	if err != nil {
		return nil, nil, err
	}
	list := make([]scope.Seed, len(seeds))
	for i, url := range seeds {
		list[i] = scope.Seed{URL: url, Rules: *from.Rules}
	}
	// What other sites led to of a domain is moved here when it is captured: to look for all of it takes time with what is known.
	sites, err := c.addSeeds(list, strays{none: n == 0}, im.run.opt.Log)
	if err != nil {
		return nil, nil, err
	}
	return sites[0].Site, sites[0].docs, nil
}

// history returns the cycle of a site that an import left open, nil for none; whether the site was fetched in any other cycle, and until when.
func (im *intake) history(s *store.Site) (open *store.CycleRecord, visited bool, until store.Time, err error) {
	until = s.CrawledAt
	latest := true
	err = im.crawl.db.SiteCyclesBack(s.ID, func(r *store.CycleRecord) bool {
		if r.Kind == store.Import {
			return true
		}
		if latest && r.Ended == 0 && imported(r) {
			open, latest = r, false
			return true
		}
		latest = false
		if visited = visited || r.Fetched > 0; visited {
			until = max(until, r.At, r.Ended)
		}
		return !visited
	})
	return open, visited, until, err
}

// unknown adds the document of a capture of which the store has none.
func (im *intake) unknown(from *Capture) (*store.Doc, error) {
	c, s := im.crawl, im.site
	if from.Role == roleSeed {
		return c.addSeed(s.Site, from.URL, im.cycle.rec.Cycle)
	}
	d := store.NewDoc(from.URL, s.ID)
	d.Discovered, d.Cycle = c.now(), im.cycle.rec.Cycle
	if im.cycle.novelty(d.Cycle, nil) != store.NotNew { // nobody knows since when
		d.New = store.MaybeNew
	}
	if from.Via != "" {
		switch id, err := c.db.Find(from.Via); {
		case err == nil:
			by, err := c.doc(id)
			if err != nil {
				return nil, err
			}
			d.FoundOn, d.Via, d.Depth = id, from.Link, depthFrom(by, from.Link)
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	added, err := c.db.Add(d)
	if added {
		c.loop.added += len(d.URL)
		im.cycle.see(d, im.cycle.place(d.URL))
	}
	return d, err
}

// answered takes in an answer that is news, d is its document; nil: it is not known.
func (im *intake) answered(d *store.Doc, j *job) (err error) {
	c, from, cy := im.crawl, j.capture, im.cycle
	if d != nil && d.State == store.Fetched && d.FetchedIn == cy.rec.Cycle {
		im.same++ // see newRound
		return nil
	}
	if j.out == nil && !j.unread && (d == nil || d.Digest == 0) { // its body is in an archive that is not here
		im.left["captures whose body is in another archive"]++
		return nil
	}
	im.begins(j)
	if j.unread { // something older was, when it was read
		j.unread = false
		if err := im.again(j); err != nil || j.ctx.Err() != nil {
			return err
		}
	}
	o, err := im.origin(scope.Origin(from.URL))
	if err != nil {
		return err
	}
	if im.round.ours && o.rules != nil {
		im.round.ruled(o)
	}
	im.round.heed(cy)
	if d != nil { // that, or the beginning of the cycle, may have put it in line
		if d, err = c.doc(d.ID); err != nil {
			return err
		}
	} else {
		if id, err := c.db.Find(from.URL); err == nil { // robots.txt names it
			d, err = c.doc(id)
			if err != nil {
				return err
			}
		} else if d, err = im.unknown(from); err != nil {
			return err
		}
	}
	if d.Site != im.site.ID {
		d.Cycle = cy.rec.Cycle
		if err := c.moved(d, im.site.Site, im.site.scope, cy.novelty(d.Cycle, nil)); err != nil {
			return err
		}
	}
	if why := im.site.scope.Skip(d); why != "" && !(d.Main && d.Via == store.ViaNone) {
		im.left["captures that the rules of their site leave out"]++
		if d.State != store.Queued {
			return nil
		}
		d.State, d.Reason = store.Skipped, why
		return c.db.Put(d)
	}
	j.id, j.doc, j.work = d.ID, d, fetchNew
	if d.Visits > 0 && (cy.rec.Kind == store.FirstVisit || ledger.IsOld(d, cy.rec.Cycle)) {
		j.work = fetchOld
	}
	if err := im.complete(j); err != nil || j.ctx.Err() != nil {
		return err
	}
	im.lineUp(j)
	c.inHand[d.ID] = d
	if d.State != store.Fetched { // it was left out, or given up, and has an answer after all
		d.State, d.Reason = store.Queued, ""
	}
	if v, ok := cy.visit.(*givenCycle); ok && j.work == fetchOld {
		if err := v.follow(); err != nil {
			return err
		}
	}
	im.taken++
	if q := cy.question(j); q != nil && im.round.ours {
		cy.asked++
		im.round.questions[q.url] = q
		return nil
	}
	cy.answered(j)
	return c.err
}

// complete reads a capture again where more is needed of it than was worked out, as nobody knew when it was read.
func (im *intake) complete(j *job) error {
	d, cy := j.doc, im.cycle
	texts, shapes := cy.doubts(d, j.work == fetchNew), len(im.site.Soft404) > 0
	says := j.work == fetchOld && d.Kind == store.Page && d.Class == store.ContentPage
	im.hint.shapes.Store(shapes)
	im.hint.texts.Store(!cy.worth.off && cy.worth.params.Open())
	if j.out == nil { // nothing has changed
		j.out = &fetch.Outcome{Class: fetch.NotModified, Status: 304, URL: j.capture.URL}
		return nil
	}
	wants := d.IsList() || d.Main || d.Via == store.ViaFeedLink
	got := j.content
	switch {
	case j.out.Class == fetch.NotHTML && wants && !j.request.Any:
	case got != nil && (texts && !j.read.Texts || shapes && !j.read.Shapes || says && len(j.read.Says) == 0):
	default:
		if got != nil && !texts {
			got.Texts, got.Blocks, got.TextShape = false, nil, 0
		}
		return nil
	}
	j.request.Any = wants
	j.read.Texts, j.read.Shapes = texts, shapes
	if j.read.Says = nil; says {
		j.read.Says = []string{d.URL}
	}
	return im.again(j)
}

// sighted takes in that a document was there at a time at which the store does not know of it.
func (im *intake) sighted(d *store.Doc, from *Capture) error {
	if !from.OK || d.FirstSeen == 0 || from.At.Unix() >= d.FirstSeen {
		return nil
	}
	at, had := from.At.Unix(), false
	if err := im.crawl.db.Visits(d, func(v store.Visit) bool {
		had = v.At == at
		return !had
	}); err != nil || had {
		return err
	}
	im.same--
	im.taken++
	return im.crawl.sighted(d, at)
}

// sighted notes that a document was there at a time, by what an archive says.
func (c *Crawl) sighted(d *store.Doc, at store.Time) error {
	if d.FirstSeen == 0 || at < d.FirstSeen {
		d.FirstSeen = at
	}
	d.Discovered = min(cmp.Or(d.Discovered, at), at)
	d.New = store.NotNew
	return c.db.Put(d)
}
