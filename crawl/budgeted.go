package crawl

import "forage/store"

// A budgetedCycle fetches some old documents again, one after another. The policy names one, it
// is fetched, everything new that it leads to is followed to the end, and the policy hears of it
// before it names the next.
type budgetedCycle struct {
	rediscovery
}

var _ visit = (*budgetedCycle)(nil)

func (v *budgetedCycle) manner() manner {
	return manner{fromQueue: true, tries: 1, backsOff: true} // each request is of the budget
}

func (v *budgetedCycle) begin() error {
	if err := v.prepare(func(*backlog, *store.Doc) {}); err != nil {
		return err
	}
	return v.ledger.Begin()
}

func (v *budgetedCycle) answered(a *answer) {
	v.crawl().fail(v.account(a, true))
}

// idle is called when what the last fetch led to has been followed to the end: it tells the
// policy and puts its next document in line, or ends the cycle.
func (v *budgetedCycle) idle() (over bool, err error) {
	if err := v.ledger.Follow(); err != nil {
		return false, err
	}
	d, ok, err := v.ledger.Next()
	if err != nil {
		return false, err
	}
	if ok {
		v.backlogOf(d).enqueue(fetchOld, d.ID)
		return false, nil
	}
	err = v.ledger.End()
	v.ended = err == nil
	return true, err
}
