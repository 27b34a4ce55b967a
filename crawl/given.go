package crawl

import (
	"maps"
	"slices"
	"time"

	"forage/crawl/ledger"
	"forage/crawl/scope"
	"forage/graph"
	"forage/store"
)

// The visits of an import: what they take in, an intake gives them, and nothing is ever in line. They are what they are made of but for
// that, and for when they are over.

// A round is the captures of one cycle.
type round struct {
	intake    *intake
	label     string               // see Capture.Cycle
	ours      bool                 // it is of an archive of ours, which has all that was answered
	until     store.Time           // when the site was fetched last before
	at        time.Time            // the date of the latest one taken in
	over      bool                 // there are no more
	questions map[string]*question // put by until their answers come, by the URL that was made up
	rules     []*origin            // whose robots.txt is heeded
	heeded    int                  // of them, those that were
}

// ruled has the round heed a robots.txt.
func (r *round) ruled(o *origin) {
	if !slices.Contains(r.rules, o) {
		r.rules = append(r.rules, o)
	}
}

// heed takes in what the robots.txt that are heeded say to a cycle.
func (r *round) heed(c *cycle) {
	for ; r.heeded < len(r.rules); r.heeded++ {
		if o := r.rules[r.heeded]; o.rules != nil {
			c.heedSitemaps(o)
		}
	}
}

// ends reports whether the round is over. Answers that were put by until those to questions came, which nobody has, are taken in then.
func (r *round) ends(c *cycle) bool {
	if !r.over {
		return false
	}
	for _, url := range slices.Sorted(maps.Keys(r.questions)) {
		c.answered(r.questions[url].of)
	}
	clear(r.questions)
	return true
}

// settlePortion is how many documents of the queue are looked at between two commits.
const settlePortion = 1024

// settle leaves out, of the documents from a number on that wait in the queue, those that our crawl left out when their turn came: an
// archive of ours has the answers of all others.
func (r *round) settle(c *cycle, from graph.Node) error {
	if !r.ours {
		return nil
	}
	db := c.crawl().db
	for {
		end, err := db.NumURLs() // what is left out may lead to others, see cycle.original
		if err != nil || graph.Node(end) <= from {
			return err
		}
		c.crawl().save()
		var hosts []string
		if err := db.QueueHosts(c.site.ID, func(name string) bool { hosts = append(hosts, name); return true }); err != nil {
			return err
		}
		for _, name := range hosts {
			last := from - 1 // the one before 0 is graph.None
			for {
				var some []graph.Node
				if err := db.Queue(c.site.ID, name, last, func(id graph.Node) bool {
					if int(id) < end {
						some = append(some, id)
					}
					return len(some) < settlePortion && int(id) < end
				}); err != nil {
					return err
				}
				if len(some) == 0 {
					break
				}
				last = some[len(some)-1]
				if err := db.Prefetch(some); err != nil {
					return err
				}
				for _, id := range some {
					if err := r.settleOne(c, id); err != nil {
						return err
					}
				}
				c.crawl().save()
			}
		}
		from = graph.Node(end)
	}
}

// settleOne leaves a document out that waits, if its turn would, see backlog.offer.
func (r *round) settleOne(c *cycle, id graph.Node) error {
	d, err := c.crawl().doc(id)
	if err != nil || d.State != store.Queued {
		return err
	}
	o, err := r.intake.origin(scope.Origin(d.URL))
	if err != nil {
		return err
	}
	j := &job{capture: &Capture{URL: d.URL}}
	r.intake.lineUp(j)
	b := j.backlog
	switch {
	case c.variant(b, d), c.misguided(b, d):
	case c.due(d) == dueNever:
		c.stop(b, d)
	case c.site.Rules.Robots != "ignore" && o.rules != nil && (!o.rules.Allowed(d.URL) || d.Given != "" && !o.rules.Allowed(d.Given)):
		c.leaveOut(b, d, "robots")
	default:
		b.add(-1)
	}
	return c.crawl().err
}

// A givenFirst is the first visit of a site, or what comes to that: see firstVisit.
type givenFirst struct {
	firstVisit
	*round
}

var _ visit = (*givenFirst)(nil)

func (v *givenFirst) manner() manner {
	return manner{first: true, patient: true, tries: 1, probes: true, doubts: true, given: true}
}

func (v *givenFirst) begin() error {
	if v.docs != nil { // none but its seeds are known
		for _, d := range v.docs {
			v.learn(d)
		}
		v.docs = nil
		v.learned()
		return nil
	}
	return v.learnAll(func(*store.Doc) {})
}

func (v *givenFirst) discovered(*store.Doc, bool)  {}
func (v *givenFirst) holds(*store.Doc) bool        { return true }
func (v *givenFirst) room() bool                   { return true }
func (v *givenFirst) spent()                       {}
func (v *givenFirst) whole(c *store.Counters) bool { return v.over }

func (v *givenFirst) idle() (over bool, err error) {
	if !v.ends(v.cycle) {
		return false, nil
	}
	if v.earlier { // what waits is of a later cycle
		return true, nil
	}
	return true, v.settle(v.cycle, 0)
}

func (v *givenFirst) conclude(counts *store.Counters, whole bool) {
	if !v.earlier && v.rec.Cycle == v.site.FirstCycle {
		v.firstVisit.conclude(counts, whole)
	}
}

// A givenCycle is a cycle of discovery: see budgetedCycle. Its budget is as many old documents as there are captures of.
type givenCycle struct {
	budgetedCycle
	*round
}

var _ visit = (*givenCycle)(nil)

func (v *givenCycle) manner() manner {
	m := v.budgetedCycle.manner()
	m.fromQueue, m.given = false, true
	return m
}

func (v *givenCycle) begin() error {
	known, err := v.know()
	if err != nil {
		return err
	}
	if err := known.each(v.crawl().doc, func() bool { return false }, func(d *store.Doc) {
		if v.where.know(d); d.Dropped > 0 && ledger.IsOld(d, v.rec.Cycle) && d.FetchedIn != v.rec.Cycle {
			v.suspect(d.ID)
		}
	}); err != nil {
		return err
	}
	return v.ledger.Begin()
}

func (v *givenCycle) discovered(*store.Doc, bool) {}
func (v *givenCycle) holds(*store.Doc) bool       { return true }

// follow tells the policy of the last fetch, and what it led to, before the next one.
func (v *givenCycle) follow() error {
	if v.ledger.HasFound() {
		v.crawl().save() // so that the links can be read
	}
	return v.ledger.Follow()
}

func (v *givenCycle) idle() (over bool, err error) {
	if !v.ends(v.cycle) {
		return false, nil
	}
	if err := v.settle(v.cycle, v.from); err != nil {
		return false, err
	}
	v.crawl().save()
	if err := v.ledger.Follow(); err != nil {
		return false, err
	}
	suspects, err := v.crawl().docs(v.suspects)
	if err != nil {
		return false, err
	}
	if err := v.tellMoved(suspects); err != nil {
		return false, err
	}
	v.rec.Limit = int(v.rec.Refetched)
	err = v.ledger.End()
	v.ended = err == nil
	return true, err
}

// A givenFull is a full recrawl of an archive of ours, which tells that it was one: see fullRecrawl.
type givenFull struct {
	fullRecrawl
	*round
	old int64 // documents that it should have
}

var _ visit = (*givenFull)(nil)

func (v *givenFull) manner() manner { return manner{tries: 1, given: true} }

func (v *givenFull) begin() error { return v.know(func(*store.Doc) { v.old++ }) }

func (v *givenFull) discovered(*store.Doc, bool) {}
func (v *givenFull) holds(*store.Doc) bool       { return true }

func (v *givenFull) idle() (over bool, err error) {
	if !v.ends(v.cycle) {
		return false, nil
	}
	if err := v.settle(v.cycle, v.from); err != nil {
		return false, err
	}
	v.crawl().save()
	return v.fullRecrawl.idle()
}

func (v *givenFull) conclude(counts *store.Counters, whole bool) {
	if whole && v.rec.Refetched < v.old {
		v.rediscovery.conclude(counts, whole)
		return
	}
	v.fullRecrawl.conclude(counts, whole)
}
