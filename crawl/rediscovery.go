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
	where  whereabouts
	ended  bool // everything has been told, and the cycle is over
}

func (v *rediscovery) room() bool { return true } // no limit of the site holds
func (v *rediscovery) spent()     {}

func (v *rediscovery) holds(*store.Doc) bool { return false }
func (v *rediscovery) leftOut(*store.Doc)    {}

func (v *rediscovery) discovered(d *store.Doc, _ bool) {
	b := v.backlogOf(d)
	b.add(1)
	v.loop().wake(b.host)
}

// hostLost ends the cycle: what the host did not give would count as not there.
func (v *rediscovery) hostLost() { v.windUp("", false) }

func (v *rediscovery) whole(*store.Counters) bool { return v.ended }

// conclude tells of a site that gave nothing, for trouble of its own, or that must not be asked.
func (v *rediscovery) conclude(*store.Counters, bool) {
	forbidden := v.seen.refused && v.rec.Fetched == 0
	if v.trouble != "" && (forbidden || !v.ended && !v.seen.answered) {
		v.failure = v.trouble
	}
}

// open opens the ledger. What comes to be known from here on is handed out by the store's queue.
func (v *rediscovery) open() (err error) {
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
	v.where.since, err = v.sinceLately()
	return err
}

// account notes an answer in the ledger. signals: what lists say of documents that have not
// changed counts.
func (v *rediscovery) account(a *answer, signals bool) error {
	if a.job == nil {
		v.ledger.LeftOut(a.doc)
		return nil
	}
	d, o := a.doc, a.job.out
	if d.IsPage() && d.Gone != 0 && d.GoneIn == v.rec.Cycle {
		v.where.gone = append(v.where.gone, d.ID)
	}
	if a.job.work == fetchNew {
		if a.newcomer {
			v.ledger.Found(d.ID)
		}
		return nil
	}
	r := &store.Refetch{Page: d.ID, At: v.crawl().now(), Status: o.Status, Bytes: o.Wire,
		NotModified: o.Class == fetch.NotModified, Changed: a.changed,
		Gone: o.Class == fetch.NotFound || o.Class == fetch.Gone || a.softGone, Gained: a.gained, Lost: a.lost}
	if signals && d.Dated && !r.Gone && !r.Failed() {
		var err error
		if r.Same, err = v.ledger.Unchanged(d, a.links); err != nil {
			return err
		}
	}
	return v.ledger.Refetched(r)
}
