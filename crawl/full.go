package crawl

import (
	"errors"

	"forage/crawl/ledger"
	"forage/graph"
	"forage/store"
)

// A fullRecrawl fetches every known document again, in no order that matters, and all that is
// new. The policy hears of it at the end.
type fullRecrawl struct{ rediscovery }

var _ visit = (*fullRecrawl)(nil)

func (v *fullRecrawl) manner() manner { return manner{fromQueue: true, tries: fetches} }

func (v *fullRecrawl) begin() error {
	return v.know(func(d *store.Doc) {
		b := v.backlogOf(d)
		switch {
		case d.State == store.Queued:
			if r := &v.site.Rules; d.Cycle > v.site.FirstCycle || r.MaxPages == 0 || v.pages < r.MaxPages {
				b.enqueue(fetchNew, d.ID)
			}
		case d.FetchedIn != v.rec.Cycle:
			b.old = append(b.old, d.ID)
			b.add(1)
			v.loop().wake(b.host)
		}
	})
}

// know brings up to date what is known of the site, and shows each document that is to be fetched, or was in this cycle, to due.
func (v *fullRecrawl) know(due func(*store.Doc)) error {
	if err := v.open(); err != nil {
		return err
	}
	crawl, id := v.crawl(), v.site.ID
	v.where.found = map[graph.Node]bool{}
	if err := errors.Join(crawl.db.DropSummary(id), crawl.db.SiteDocs(id, func(d *store.Doc) bool {
		v.learn(d)
		v.where.know(d)
		if d.MovedFrom != graph.None && d.Moved != 0 {
			v.where.found[d.MovedFrom] = true
		}
		if d.State == store.Queued || ledger.IsOld(d, v.rec.Cycle) || d.State == store.Failed {
			due(d)
		}
		return crawl.err == nil
	})); err != nil {
		return err
	}
	v.learned()
	v.worth.site.Renew() // the chances of the first visit went to what was in line
	return v.ledger.Resume()
}

func (v *fullRecrawl) answered(a *answer) {
	v.crawl().fail(v.account(a, false))
}

// idle is called when all has been fetched: it tells the policy and ends the cycle.
func (v *fullRecrawl) idle() (over bool, err error) {
	if v.needing() { // what is told at the end is told once
		return false, nil
	}
	if err := v.tellMoved(nil); err != nil {
		return false, err
	}
	if err := v.ledger.Recrawled(); err != nil {
		return false, err
	}
	err = v.ledger.End()
	v.ended = err == nil
	return true, err
}

func (v *fullRecrawl) conclude(counts *store.Counters, whole bool) {
	v.rediscovery.conclude(counts, whole)
	if whole && v.ledger.Missed() == 0 && counts.Queued() == 0 {
		v.site.Partial, v.site.PartialWhy = false, ""
	}
}
