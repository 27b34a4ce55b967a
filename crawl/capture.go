package crawl

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"forage/archive"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/fetch/use"
	"forage/graph"
	"forage/store"
	"forage/warc"
)

// An Archive says where each answer is kept as it came, and how. Folder is needed.
type Archive struct {
	Folder  string
	Dedupe  archive.Dedupe
	Limit   int64 // bytes of a file; 0: archive.DefaultLimit
	HTTP2   bool  // connections may speak HTTP/2, of which heads are not as they came
	Respect use.Respect
	Info    warc.Fields  // what each file tells of the crawl
	Log     *slog.Logger // nil: none
}

// folders are those that go with the store.
func (cfg *Config) folders() (folders []string) {
	if cfg.Archive != nil {
		folders = append(folders, cfg.Archive.Folder)
	}
	if cfg.Texts != nil {
		folders = append(folders, cfg.Texts.Folder)
	}
	return folders
}

// openArchives takes over the archive and the texts that are to be written, if any.
func (c *Crawl) openArchives() (err error) {
	if _, err := c.db.Archive(store.Answers); err == nil {
		c.archives = true
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if cfg := c.cfg.Archive; cfg != nil {
		c.archives = true
		if c.archive, err = c.openArchive(store.Answers, archive.Config{
			Folder: cfg.Folder, Dedupe: cfg.Dedupe, Limit: cfg.Limit, Info: cfg.Info, Log: cfg.Log,
			Known: func(d warc.Digest) (archive.Place, error) {
				at, err := c.db.Payload(d)
				return archive.Place(at), err
			},
		}); err != nil {
			return err
		}
	}
	if cfg := c.cfg.Texts; cfg != nil {
		c.texts, err = c.openArchive(store.Texts, archive.Config{Folder: cfg.Folder, Texts: true, Limit: cfg.Limit, Info: cfg.Info, Log: cfg.Log})
	}
	return err
}

// openArchive takes over one of these.
func (c *Crawl) openArchive(of store.Archive, cfg archive.Config) (*archive.Archive, error) {
	state, err := c.db.Archive(of)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	cfg.Now = c.wall
	a, err := archive.Open(cfg, state)
	if err != nil {
		return nil, err
	}
	c.db.KeepArchive(of, a.Flush, a.Committed)
	return a, c.db.Commit()
}

// closeArchives closes them.
func (c *Crawl) closeArchives() (err error) {
	for _, a := range []*archive.Archive{c.archive, c.texts} {
		if a != nil {
			err = errors.Join(err, a.Close())
		}
	}
	return err
}

// wall is the time that is recorded.
func (c *Crawl) wall() time.Time {
	if !c.cfg.At.IsZero() {
		return c.cfg.At
	}
	return c.loop.clock.Wall()
}

// began is when a request began that was answered at a time, to the millisecond: then, where that is not when it was.
func (c *Crawl) began(at time.Time, took time.Duration) time.Time {
	if !c.cfg.At.IsZero() {
		return at
	}
	return at.Add(-took.Truncate(time.Millisecond))
}

// A recording is what an answer needs to know to be kept in an archive, and what came of that. The loop fills in the first part.
type recording struct {
	to     *archive.Archive // nil: nothing is kept
	texts  *archive.Archive // of the text of a page; nil: that is not kept
	digest uint64           // of the body before
	cycle  store.Cycle
	visit  store.CycleKind
	within string     // the scope of the site
	role   string     // see roleSeed; "": it is a document like any other
	from   graph.Node // that led here; graph.None: nothing did
	steps  string     // that led from there to a requisite, see store.Requisite
	via    store.LinkKind
	use    string // what the site said when the document was fetched last
	robots use.Said

	groups []*archive.Group
	text   *archive.Group // nil: there is no other text than before
	err    error
	body   *store.Capture // where the body is in the archive; nil: it is not
	said   *store.Capture // where the text is; nil: there is no other than before
}

// What an archive says of an answer that is not one to a request for a document like any other. With it, Import tells them apart.
const (
	roleSeed   = "seed"   // given by hand
	roleRobots = "robots" // the robots.txt of an origin, which follows, or where a redirect of it led
	roleProbe  = "probe"  // a path that should not exist

	roleRequisite = "requisite" // what a page needs to look right, or the robots.txt of where that is
)

// record has what comes of a job be kept.
func (c *cycle) record(j *job) {
	crawl, r := c.crawl(), &j.recording
	r.cycle, r.from = c.rec.Cycle, graph.None
	if !c.run.opt.Unarchived {
		r.to = crawl.archive
	}
	r.visit, r.within = c.rec.Kind, c.site.Rules.Scope+" "+c.site.Rules.Within
	switch {
	case j.line != nil:
		c.recordNeed(j, r)
	case j.work == fetchRobots:
		r.role = roleRobots + " " + j.origin.name
	case j.work == fetchProbe:
		r.role = roleProbe
	case j.doc.Seed:
		r.role = roleSeed
	}
	if !j.isDocument() {
		return
	}
	if !c.run.opt.Textless {
		r.texts = crawl.texts
	}
	if r.to == nil && r.texts == nil {
		return
	}
	d := j.doc
	r.from, r.via, r.use, r.digest = d.FoundOn, d.Via, d.Use, d.Digest
	if rules := j.host.origin(scope.Origin(d.URL)).rules; rules != nil {
		r.robots = rules.Said(j.request.URL)
	}
}

// exchanges returns where the worker has what goes over the wire for a job be noted; nil: nowhere.
func (w *worker) exchanges(j *job) *fetch.Exchange {
	a := j.recording.to
	if a == nil {
		return nil
	}
	x := &w.exchange
	x.HTTP2 = j.cycle.crawl().cfg.Archive.HTTP2
	x.Spill = func() (io.ReadWriteSeeker, error) {
		s, err := a.Spool()
		w.spool = s
		return s, err
	}
	return x
}

// capture makes the records of an answer.
func (w *worker) capture(j *job, o *fetch.Outcome) {
	x := &w.exchange
	if j.recording.to == nil {
		return
	}
	if j.err == nil && x.Head != nil {
		j.recording.err = errors.Join(j.recording.err, w.keep(j, o))
	}
	x.Close()
	if w.spool != nil {
		w.spool.Close()
		w.spool = nil
	}
}

func (w *worker) keep(j *job, o *fetch.Outcome) error {
	x, r, crawl := &w.exchange, &j.recording, j.cycle.crawl()
	if x.Err != nil {
		return x.Err
	}
	u := said(o, j.content, r.use, r.robots)
	respect := crawl.cfg.Archive.Respect
	if respect.LeavesOut(u) || o.Cut == fetch.CutRoom && respect != 0 { // nobody has read the rest
		return nil
	}
	if o.Class == fetch.OK && o.BrokeOff() && respect.LeavesOut(&use.Use{Page: use.Parse(r.use).Page}) { // it may say that in the rest
		return nil
	}
	c := &warc.Capture{
		URI: o.URL, Date: crawl.began(j.at, o.Elapsed), IP: o.Addr.Addr(), Protocol: x.Protocol,
		Request: x.Sent, Head: x.Head, Chunked: x.Chunked, Truncated: truncated(x.Cut),
	}
	c.Body, c.Size = x.Body()
	c.Metadata = append(w.led(&crawl.db.View, r),
		warc.Field{Name: "fetchTimeMs", Value: strconv.FormatInt(o.Elapsed.Milliseconds(), 10)},
		warc.Field{Name: "cycle", Value: strconv.Itoa(int(r.cycle))},
		warc.Field{Name: "visit", Value: string(r.visit)},
		warc.Field{Name: "site", Value: r.within})
	if r.role != "" {
		c.Metadata = append(c.Metadata, warc.Field{Name: "role", Value: r.role})
	}
	for line := range strings.Lines(u.String()) {
		c.Metadata = append(c.Metadata, warc.Field{Name: "use", Value: strings.TrimSpace(line)})
	}
	var last *archive.Place
	if o.Class == fetch.NotModified && j.isDocument() {
		if at, err := crawl.db.Capture(j.id); err == nil {
			last = (*archive.Place)(&at)
		}
	}
	g, err := r.to.Record(c, last)
	if err != nil {
		return err
	}
	r.groups = append(r.groups, g)
	return nil
}

// truncated is the word of the WARC format for why a body is not whole.
func truncated(c fetch.Cut) string {
	switch c {
	case fetch.CutLong:
		return "length"
	case fetch.CutTime:
		return "time"
	case fetch.CutShort:
		return "disconnect"
	}
	return ""
}

// led tells what led to a document: the page before it, and, as Heritrix does, a letter for each step from a seed. O(steps), of
// which the worker knows many.
func (w *worker) led(v *store.View, r *recording) warc.Fields {
	if r.from == graph.None {
		return nil
	}
	from, err := v.Doc(r.from)
	if err != nil {
		return nil
	}
	if r.steps != "" {
		return warc.Fields{{Name: "via", Value: from.URL}, {Name: "hopsFromSeed", Value: w.hops(v, from) + r.steps}}
	}
	return warc.Fields{{Name: "via", Value: from.URL}, {Name: "hopsFromSeed", Value: w.hops(v, from) + hop(r.via)}, {Name: "link", Value: r.via.String()}}
}

// mostHops bounds the steps that are told, manyHops the documents of which a worker knows them.
const (
	mostHops = 100
	manyHops = 1 << 12
)

func (w *worker) hops(v *store.View, d *store.Doc) string {
	if w.stepsIn != v { // a loop may serve several stores
		w.steps, w.stepsIn = nil, v
	}
	if known, ok := w.steps[d.ID]; ok {
		return known
	}
	text, id := "", d.ID
	for len(text) < mostHops && d.FoundOn != graph.None {
		text = hop(d.Via) + text
		if known, ok := w.steps[d.FoundOn]; ok {
			text = known + text
			break
		}
		var err error
		if d, err = v.Doc(d.FoundOn); err != nil {
			break
		}
	}
	if w.steps == nil || len(w.steps) >= manyHops {
		w.steps = map[graph.Node]string{}
	}
	w.steps[id] = text
	return text
}

// hop is the letter of a step.
func hop(k store.LinkKind) string {
	switch k {
	case store.ViaRedirect, store.ViaRefresh:
		return "R"
	case store.ViaFrame:
		return "E"
	case store.ViaSitemap, store.ViaFeed:
		return "M"
	}
	return "L"
}

// archived adds what was recorded of a job to the archive. The error says that there is no room for it: it is as if nobody had
// asked.
func (c *Crawl) archived(j *job) error {
	r := &j.recording
	if r.err == nil {
		for _, g := range r.groups {
			at, err := r.to.Append(g)
			if err != nil {
				r.err = err
				break
			}
			if g.Original == nil {
				if g.Holds {
					c.fail(c.db.PutPayload(g.Digest, store.Capture(at)))
				}
			} else {
				at = *g.Original
			}
			r.body = (*store.Capture)(&at)
		}
	}
	if r.err == nil && r.text != nil {
		var at archive.Place
		if at, r.err = r.texts.Append(r.text); r.err == nil {
			r.said = (*store.Capture)(&at)
		}
	}
	if r.err == nil {
		return nil
	}
	r.drop()
	if archive.NoRoom(r.err) {
		c.pause(fmt.Errorf("archive: %w", r.err))
	} else {
		c.fail(fmt.Errorf("archive: %w", r.err))
	}
	return r.err
}

// captured notes where the archive has the body that the document has now, together with its validators: a 304 will refer to it. So it does of the
// text of that body. What can be told of the document is another matter where there is something that there was not, or the other way round.
func (a *answer) captured() {
	crawl, d, r := a.crawl(), a.doc, &a.job.recording
	if crawl.archives {
		_, err := crawl.db.Capture(d.ID)
		if had := err == nil; had != (r.body != nil) {
			d.TextIn = max(d.TextIn, a.rec.Cycle)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			crawl.fail(err)
		}
	}
	switch {
	case r.body != nil:
		crawl.fail(crawl.db.PutCapture(d.ID, *r.body))
	case crawl.archives: // it has another one, at most
		crawl.fail(crawl.db.DropCapture(d.ID))
	}
	switch {
	case r.said != nil:
		crawl.fail(crawl.db.PutText(d.ID, *r.said))
		d.TextIn = max(d.TextIn, a.rec.Cycle)
	case a.changed:
		crawl.fail(crawl.db.DropText(d.ID))
	}
}

// conditional reports whether a document may be asked for on condition that it has changed: where it is to be kept in an archive that
// does not have its body, or its text is that is not, it must come whole.
func (c *cycle) conditional(d *store.Doc) bool {
	crawl := c.crawl()
	if crawl.texts != nil && !c.run.opt.Textless && d.Kind == store.Page && !crawl.cfg.Texts.Respect.LeavesOut(use.Parse(d.Use)) {
		if _, err := crawl.db.Text(d.ID); errors.Is(err, store.ErrNotFound) {
			return false
		} else if err != nil {
			crawl.fail(err)
		}
	}
	if crawl.archive == nil || c.run.opt.Unarchived || crawl.cfg.Archive.Respect.LeavesOut(use.Parse(d.Use)) {
		return true
	}
	at, err := crawl.db.Capture(d.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		crawl.fail(err)
	}
	return err == nil && crawl.archive.Refers(archive.Place(at))
}

// drop gives up what was recorded.
func (r *recording) drop() {
	for _, g := range r.groups {
		g.Drop()
	}
	r.text.Drop()
	r.groups, r.text = nil, nil
}
