package crawl

import (
	"forage/crawl/novelty"
	"forage/graph"
	"forage/store"
)

// An unlisted is what a budgeted cycle knows of the pages that would be new but ask not to be
// listed, as some software has pages of the first days do. Their time has come for a look.
type unlisted struct {
	due    []graph.Node
	looked int // fetches of such pages in this cycle
	vain   int // in all earlier cycles, without success
	listed int // pages that were listed in the end
}

// know takes in a document at the beginning of a cycle.
func (u *unlisted) know(d *store.Doc, now store.Time) {
	if novelty.DueUnlisted(d, now) && d.Alive() {
		u.due = append(u.due, d.ID)
	}
}

// looks returns how many looks at a page, in earlier cycles, found it listed, and how many did not.
func looks(d *store.Doc) (listed, vain int) {
	switch {
	case d.Unlisted == novelty.Listed:
		return 1, 0
	case d.Unlisted > 0:
		return 0, int(d.Unlisted) - 1
	}
	return 0, 0
}

// share is how many of such pages may be looked at with a budget: half of it, reduced to twice the
// part of earlier looks that found a page listed, by Laplace's rule of succession.
func (u *unlisted) share(budget int) int {
	return int(float64(budget) / 2 * min(1, 2*float64(u.listed+1)/float64(u.vain+u.listed+2)))
}

// lookAgain puts the next page in line that asked not to be listed, within their share of the
// budget, or within what the policy leaves of it.
func (v *budgetedCycle) lookAgain() (more bool, err error) {
	u := &v.unlisted
	for len(u.due) > 0 && v.left() > 0 && (v.done || u.looked < u.share(v.size())) {
		d, err := v.crawl().doc(u.due[0])
		if err != nil {
			return false, err
		}
		if u.due = u.due[1:]; d.FetchedIn == v.rec.Cycle || d.Unlisted == 0 {
			continue
		}
		u.looked++
		v.backlogOf(d).enqueue(fetchOld, d.ID)
		return true, nil
	}
	return false, nil
}
