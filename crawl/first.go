package crawl

import (
	"fmt"
	"maps"
	"slices"

	"forage/graph"
	"forage/store"
)

// A firstVisit fetches all that links, feeds and sitemaps lead to, in the order in which it
// became known: that of the store's queue.
type firstVisit struct {
	*cycle
	docs []*store.Doc // those of the site, all of them, until it begins; nil: the store has them
}

var _ visit = (*firstVisit)(nil)

func (v *firstVisit) manner() manner {
	return manner{first: true, fromQueue: true, patient: true, tries: fetches, probes: true, doubts: true, admits: true}
}

func (v *firstVisit) begin() error {
	v.spent() // under other rules, or after a crash, a limit may be reached already
	if docs := v.docs; docs != nil {
		v.docs = nil
		for _, d := range docs {
			v.learn(d)
			b := v.backlogOf(d)
			b.add(1)
			v.loop().wake(b.host)
		}
		v.learned()
		return nil
	}
	// What waits is counted by host as it is met: to go through the queue takes as long again.
	queued := map[string]int{}
	host, n := "", 0
	err := v.learnAll(func(d *store.Doc) {
		if d.State != store.Queued {
			return
		}
		if h := store.HostOf(d.URL); h != host {
			queued[host] += n
			host, n = h, 0
		}
		n++
	})
	queued[host] += n
	delete(queued, "")
	for _, name := range slices.Sorted(maps.Keys(queued)) {
		b := v.backlog(name)
		b.add(queued[name])
		v.loop().wake(b.host)
	}
	return err
}

// queueAll puts in line what waits in the store.
func (c *cycle) queueAll() error {
	db := c.crawl().db
	return db.QueueHosts(c.site.ID, func(name string) bool {
		b := c.backlog(name)
		n := 0
		c.crawl().fail(db.Queue(c.site.ID, name, graph.None, func(graph.Node) bool { n++; return true }))
		b.add(n)
		c.loop().wake(b.host)
		return true
	})
}

// room reports whether another document may be fetched under the limits of the site.
func (v *firstVisit) room() bool {
	r := &v.site.Rules
	return (r.MaxPages == 0 || v.pages+v.documents < r.MaxPages) && (r.Budget == 0 || int(v.rec.Fetched)+v.documents < r.Budget)
}

// spent notes when a limit is reached, and hands out what was held back for want of room.
func (v *firstVisit) spent() {
	r := &v.site.Rules
	switch {
	case r.MaxPages > 0 && v.pages >= r.MaxPages:
		v.reached("--max-pages")
	case r.Budget > 0 && int(v.rec.Fetched) >= r.Budget:
		v.reached("--budget")
	case v.crowded && v.room():
		v.makeRoom()
	}
}

// reached ends the visit at a limit of its site.
func (v *firstVisit) reached(limit string) {
	if !v.full {
		v.windUp(limit, false)
		v.full, v.limit = true, limit
	}
}

func (v *firstVisit) discovered(d *store.Doc, _ bool) {
	b := v.backlogOf(d)
	b.add(1)
	v.loop().wake(b.host)
}

func (v *firstVisit) holds(*store.Doc) bool { return false }
func (v *firstVisit) leftOut(*store.Doc)    {}
func (v *firstVisit) answered(*answer)      {}
func (v *firstVisit) hostLost()             {}

func (v *firstVisit) idle() (over bool, err error) { return true, nil }

// whole reports whether the visit came to its end: that of the site, or a limit of it.
func (v *firstVisit) whole(counts *store.Counters) bool { return v.full || counts.Queued() == 0 }

// conclude notes what the visit left out that may hold old pages, and whether the site seems to
// need scripts.
func (v *firstVisit) conclude(counts *store.Counters, _ bool) {
	c, s := v.cycle, v.site
	failed := counts.State[store.Failed]
	switch s.Partial, s.PartialWhy = true, ""; {
	case c.full:
		s.PartialWhy = "stopped by " + c.limit
	case counts.Queued() > 0:
		s.PartialWhy = fmt.Sprintf("documents that were not fetched: %d", counts.Queued())
	case failed*20 > counts.Known()-counts.State[store.Skipped]:
		s.PartialWhy = fmt.Sprintf("%d documents could not be fetched", failed)
	default:
		s.Partial = false
	}
	shell := s.Shell(counts)
	s.NeedsJS = c.seen.scripted > 0 && (shell || c.pages > 0 && c.pages <= 3 && c.seen.links <= c.pages)
	if shell {
		c.run.opt.Log.Warn(s.ShellText(), "site", s.Name)
	}
}
