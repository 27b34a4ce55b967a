package crawl

import (
	"slices"

	"forage/crawl/novelty"
	"forage/graph"
	"forage/store"
)

// Checks are the fetches of a budgeted cycle that may show that a page is gone. What is suspected comes
// from lists that were read (novelty.Dropped, novelty.Sights), from pages that look like new ones (alike)
// and from links that were lost; where nothing is, from lists that should have lost pages (survey). How
// much of the budget is for them: see due.

// suspect has a page looked at as it may be gone, once in the cycle.
func (v *budgetedCycle) suspect(id graph.Node) {
	if !v.suspected[id] {
		v.suspected[id] = true
		v.suspects = append(v.suspects, id)
	}
}

// compare finds, before the last part of the budget is spent, pages that may be gone: those whose
// content came to be at another URL, and those that lists or all documents have lost. It has lists
// taken up that may show more: where little is expected of the policy's documents before, and again of
// what has been read by then.
func (v *budgetedCycle) compare() error {
	last := v.done || v.left() <= v.checks()
	if !last && (v.left() > (v.limit()+1)/2 || !v.outweighs(1)) {
		return nil
	}
	if (v.survey == nil || last && !v.compared) && v.plan.CheckGone > 0 {
		v.compared = last
		old, err := v.alike()
		for _, d := range old {
			v.doubt(d)
		}
		if err != nil {
			return err
		}
		if v.survey, err = v.takeSurvey(); err != nil {
			return err
		}
	}
	return v.lost()
}

// doubt has a page looked at that may be gone for another reason than that a list has dropped it.
func (v *budgetedCycle) doubt(d *store.Doc) {
	novelty.Suspect(d, 1, graph.None, v.site.Site)
	v.crawl().fail(v.crawl().db.Put(d))
	v.suspect(d.ID)
}

// lost finds the pages that none of the lists that were read names, and those to which no document
// links any more.
func (v *budgetedCycle) lost() error {
	if v.survey == nil || v.judged == v.sights.Rows() && v.survey.unlinked == nil {
		return nil
	}
	v.judged = v.sights.Rows()
	for _, id := range slices.Concat(v.sights.Missing(), v.survey.unlinked) {
		d, err := v.crawl().doc(id)
		if err != nil {
			return err
		}
		if v.maySuspect(d) && worthTelling(d) && d.Dropped == 0 {
			v.doubt(d)
		}
	}
	v.survey.unlinked = nil
	return nil
}

// checks is how many pages that may be gone the plan has looked at in this cycle.
func (v *budgetedCycle) checks() int {
	return v.plan.Checks(v.site.Site, v.ledger.Cycle(), v.size())
}

// due is how much of what is left of the budget is for checks: what there is of them within their share,
// and beyond it what is worth more than the document that the policy would name. They come last, when
// other lists may have shown what is there.
func (v *budgetedCycle) due() (int, error) {
	left, share := v.left(), v.checks()-v.looked
	switch {
	case v.plan.CheckGone == 0, !v.done && left > len(v.suspects)+2:
		return 0, nil // there are not so many
	case v.done:
		share = left
	}
	if err := v.rank(); err != nil {
		return 0, err
	}
	due := 0
	for due < left && due < len(v.suspects) {
		d, err := v.crawl().doc(v.suspects[due])
		switch {
		case err != nil:
			return 0, err
		case !v.isSuspect(d):
			v.suspects = slices.Delete(v.suspects, due, due+1)
			continue
		case due >= share && !v.outweighs(novelty.Chance(v.site.Site, d)):
			return due, nil
		}
		due++
	}
	if l := v.listCheck(); l != nil && (due < share || v.outweighs(l.worth)) {
		due += 2 // the list, and what it shows
	}
	return min(due, left), nil
}

// isSuspect reports whether a page that was suspected to be gone still is: it was not fetched since, and
// no list that was read since names it.
func (v *budgetedCycle) isSuspect(d *store.Doc) bool {
	if d.Dropped > 0 && v.sights.Named(d.ID) {
		novelty.Verdict(&v.site.Suspicions, d.DroppedBy, false)
		novelty.Clear(d)
		v.crawl().fail(v.crawl().db.Put(d))
	}
	return d.Dropped > 0 && d.FetchedIn != v.rec.Cycle && d.Alive()
}

// A check is a fetch that may show that a page is gone: of a suspect, or of a list that may have lost some.
type check struct {
	doc   *store.Doc
	list  *listed // nil: doc is a suspect
	worth float64 // departed pages that it is expected to show
}

// listCheck returns the check of the list that is expected to have lost most; nil: none is worth a fetch.
func (v *budgetedCycle) listCheck() *check {
	if v.survey == nil {
		return nil
	}
	l, lost := v.survey.best(&v.sights)
	if l == nil {
		return nil
	}
	// Each page that it may have lost is looked at then.
	return &check{l.doc, l, lost / (1 + lost/novelty.ChanceCompared(v.site.Site))}
}

// outweighs reports whether a check is worth more than the document that the policy names next, when
// a departed page is worth the plan's share of a new one. A budget of which that share is less than a
// fetch is for what is new.
func (v *budgetedCycle) outweighs(worth float64) bool {
	if v.plan.CheckGone*float64(v.size()) < 1 {
		return false
	}
	pages, ok := v.ledger.Expected()
	return ok && worth*v.plan.CheckGone > pages
}

// checkGone puts in line what is most likely to show that a page is gone, if a check is due.
func (v *budgetedCycle) checkGone() (more bool, err error) {
	due, err := v.due()
	if err != nil || due == 0 {
		return false, err
	}
	c := v.listCheck()
	if len(v.suspects) > 0 {
		d, err := v.crawl().doc(v.suspects[0])
		if err != nil {
			return false, err
		}
		if worth := novelty.Chance(v.site.Site, d); c == nil || worth >= c.worth {
			c = &check{doc: d, worth: worth}
		}
	}
	v.looked++
	if c.list != nil {
		c.list.read = true
	} else {
		v.suspects = v.suspects[1:]
		v.looking = c.doc.ID
	}
	v.backlogOf(c.doc).enqueue(fetchOld, c.doc.ID)
	return true, nil
}

// rank sorts the suspects: first those of which there is one like it at another URL, then those
// that are most likely gone.
func (v *budgetedCycle) rank() error {
	looks := v.looked / (1 + len(v.suspects)/50) // one look of many says little of the others
	now := [3]int64{int64(len(v.suspected)), v.rec.Pages, int64(looks)}
	if now == v.ranked {
		return nil
	}
	v.ranked = now
	suspects, err := v.crawl().docs(v.suspects)
	if err != nil {
		return err
	}
	suspects = slices.DeleteFunc(suspects, func(d *store.Doc) bool { return !v.isSuspect(d) })
	slices.SortFunc(suspects, novelty.BySuspicion(v.site.Site))
	pairs, err := v.pairs(suspects)
	if err != nil {
		return err
	}
	v.suspects = v.suspects[:0]
	paired := map[graph.Node]bool{}
	for _, p := range pairs {
		paired[p.Gone.ID] = true
		v.suspects = append(v.suspects, p.Gone.ID)
	}
	for _, d := range suspects {
		if !paired[d.ID] {
			v.suspects = append(v.suspects, d.ID)
		}
	}
	return nil
}
