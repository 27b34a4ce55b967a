package crawl

import (
	"forage/crawl/ledger"
	"forage/crawl/plan"
	"forage/fetch"
	"forage/graph"
	"forage/store"
)

// A rediscovery is what budgeted cycles and full recrawls have in common: old documents are
// fetched again, everything new that they lead to is followed, and a ledger keeps account.
type rediscovery struct {
	*cycle
	plan   *plan.Plan
	ledger *ledger.Ledger
	ended  bool // everything has been told, and the cycle is over
}

func (v *rediscovery) room() bool { return true } // no limit of the site holds
func (v *rediscovery) spent()     {}

func (v *rediscovery) discovered(b *backlog, _ *store.Doc, _ bool) {
	b.add(1)
	v.loop().wake(b.host)
}

// hostLost ends the cycle: what the host did not give would count as not there.
func (v *rediscovery) hostLost() { v.windUp("", false) }

func (v *rediscovery) whole(*store.Counters) bool { return v.ended }

// conclude tells of a site that gave nothing, for trouble of its own.
func (v *rediscovery) conclude(*store.Counters, bool) {
	if !v.ended && v.trouble != "" && !v.seen.answered {
		v.failure = v.trouble
	}
}

// prepare opens the ledger and puts in line what an earlier cycle found and left, and, in a full
// recrawl, what the first visit left; in a budgeted cycle that goes on waiting, as it is old. old
// is called for each document that may be fetched again. What comes to be known from here on is
// handed out by the store's queue.
func (v *rediscovery) prepare(old func(b *backlog, d *store.Doc)) (err error) {
	crawl, s := v.crawl(), v.site
	if v.ledger, err = ledger.Open(&crawl.book, v.plan, s.Site, v.rec); err != nil {
		return err
	}
	crawl.save() // what is read from here on is all that there is
	next, err := crawl.db.NumURLs()
	if err != nil {
		return err
	}
	v.from = graph.Node(next)
	full := v.rec.Kind == store.FullRecrawl
	return crawl.db.SiteDocs(s.ID, func(d *store.Doc) bool {
		v.traps.Learn(d.URL)
		switch {
		case d.State == store.Queued && (d.Cycle > s.FirstCycle || full && (s.Rules.MaxPages == 0 || v.pages < s.Rules.MaxPages)):
			v.backlogOf(d).enqueue(fetchNew, d.ID)
		case ledger.IsOld(d, v.rec.Cycle), d.State == store.Failed && full:
			old(v.backlogOf(d), d)
		}
		return crawl.err == nil
	})
}

// account notes an answer in the ledger. signals: what lists say of documents that have not
// changed counts.
func (v *rediscovery) account(a *answer, signals bool) error {
	if a.job == nil {
		v.ledger.LeftOut(a.doc)
		return nil
	}
	d, o := a.doc, a.job.out
	if a.job.work == fetchNew {
		if a.newcomer {
			v.ledger.Found(d.ID)
		}
		return nil
	}
	r := &store.Refetch{Page: d.ID, At: v.crawl().now(), Status: o.Status, Bytes: o.Wire,
		NotModified: o.Class == fetch.NotModified, Changed: a.changed,
		Gone: o.Class == fetch.NotFound || o.Class == fetch.Gone, Gained: a.gained, Lost: a.lost}
	if signals && d.Dated && !r.Gone && !r.Failed() {
		var err error
		if r.Same, err = v.ledger.Unchanged(d, a.links); err != nil {
			return err
		}
	}
	return v.ledger.Refetched(r)
}
