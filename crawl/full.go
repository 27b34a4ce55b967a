package crawl

import "forage/store"

// A fullRecrawl fetches every known document again, in no order that matters, and all that is
// new. The policy hears of it at the end.
type fullRecrawl struct{ rediscovery }

var _ visit = (*fullRecrawl)(nil)

func (v *fullRecrawl) manner() manner { return manner{fromQueue: true, tries: fetches} }

func (v *fullRecrawl) begin() error {
	waited := func(d *store.Doc) {
		if r := &v.site.Rules; d.Cycle > v.site.FirstCycle || r.MaxPages == 0 || v.pages < r.MaxPages {
			v.backlogOf(d).enqueue(fetchNew, d.ID)
		}
	}
	if err := v.prepare(waited, func(b *backlog, d *store.Doc) {
		if d.FetchedIn != v.rec.Cycle {
			b.old = append(b.old, d.ID)
			b.add(1)
			v.loop().wake(b.host)
		}
	}); err != nil {
		return err
	}
	return v.ledger.Resume()
}

func (v *fullRecrawl) answered(a *answer) {
	v.crawl().fail(v.account(a, false))
}

// idle is called when all has been fetched: it tells the policy and ends the cycle.
func (v *fullRecrawl) idle() (over bool, err error) {
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
