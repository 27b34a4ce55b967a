package crawl

import "forage/store"

// settled returns the plan of the next cycle at the sites: a full recrawl if Period asks for one.
func (p Plan) settled(v *store.View, sites []*store.Site) (Plan, error) {
	if p.Period < 1 || p.Full {
		return p, nil
	}
	open := store.Cycle(0)
	if last, err := currentCycle(v); err != nil {
		return p, err
	} else if last != nil && last.Ended == 0 { // one that goes on stays what it is
		open = last.Cycle
	}
	for _, s := range sites {
		if s.State == store.SiteFailed || s.State == store.SitePaused {
			continue
		}
		since := 0 // cycles since all documents were fetched
		if err := v.SiteCycles(s.ID, func(c *store.SiteCycle) bool {
			switch {
			case c.Cycle == open:
			case c.Kind == store.Revisit:
				since++
			default:
				since = 0
			}
			return true
		}); err != nil {
			return p, err
		}
		if since+1 >= p.Period {
			p.Full, p.Total, p.Budget, p.Text = true, 0, nil, "all"
			break
		}
	}
	return p, nil
}
