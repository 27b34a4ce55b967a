package ledger

import (
	"container/list"
	"errors"
	"fmt"

	"forage/crawl/plan"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/store"
)

// policies are those of cycles past, kept so that the next cycle of a site does not have to tell
// a policy everything once more: what a cycle costs does not grow with those before it. A policy
// that is taken out belongs to its cycle, which puts it back when it has ended well.
type policies struct {
	bySite    map[store.SiteID]*list.Element
	kept      list.List // of keptPolicy, the one used last at the end
	documents int       // that they know, in all
}

type keptPolicy struct {
	site   store.SiteID
	owner  string // of revisit.Owner
	policy *kept
}

// maxPolicyDocuments bounds the documents that the policies kept know, at some 80 bytes each.
const maxPolicyDocuments = 1 << 20

// take takes out what a plan needs at a site; nil: it is not here. O(1).
func (p *policies) take(site store.SiteID, plan *plan.Plan) *kept {
	e, ok := p.bySite[site]
	if !ok {
		return nil
	}
	if k := p.drop(e); k.owner == revisit.Owner(plan.Policy, plan.Config) {
		return k.policy
	}
	return nil
}

// keep puts a policy back, after a cycle of the site that was the latest one. O(1) but for those that
// it drops.
func (p *policies) keep(site store.SiteID, plan *plan.Plan, policy *kept) {
	if p.bySite == nil {
		p.bySite = map[store.SiteID]*list.Element{}
	}
	if e, ok := p.bySite[site]; ok {
		p.drop(e)
	}
	p.bySite[site] = p.kept.PushBack(keptPolicy{site, revisit.Owner(plan.Policy, plan.Config), policy})
	p.documents += policy.NumDocuments()
	for p.documents > maxPolicyDocuments && p.kept.Len() > 1 {
		p.drop(p.kept.Front())
	}
}

func (p *policies) drop(e *list.Element) keptPolicy {
	k := p.kept.Remove(e).(keptPolicy)
	delete(p.bySite, k.site)
	p.documents -= k.policy.NumDocuments()
	return k
}

// A kept is a policy that has heard of everything so far, with how far its state in the store is
// behind.
type kept struct {
	*revisit.Site
	state int // bytes of that state; 0: there is none
	since int // bytes of the records that came after it
}

// behind is the part of its size by which a state in the store may be behind. To bring a policy
// up to date takes 17 to 41 ns for a byte of records and 3 to 7 for one of a state: so two to four
// times as long, at most, as from its state alone; and four bytes of states are written for one of records.
const behind = 4

// recall returns a policy that has heard of all cycles of a site that the store has records of:
// from the latest state, if that is one of this policy, and the records after it.
func (b *Book) recall(site *store.Site, p *plan.Plan) (*kept, error) {
	policy, err := paper.New(p.Policy, p.Config)
	if err != nil {
		return nil, err
	}
	through, state, err := b.DB.State(site.ID)
	if err != nil {
		return nil, err
	}
	k, from := &kept{Site: revisit.NewSite(policy)}, through+1
	bad := revisit.ErrState
	if state != nil {
		k.state, bad = k.RestorePieces(state, owner(p, through))
	}
	if bad != nil {
		if policy, err = paper.New(p.Policy, p.Config); err != nil { // the other one may know part of it
			return nil, err
		}
		k, from = &kept{Site: revisit.NewSite(policy)}, 0
	}
	var failed error
	err = b.DB.Records(site.ID, from, func(c store.Cycle, record []byte) bool {
		k.since += len(record)
		if failed = k.Replay(record); failed != nil {
			failed = fmt.Errorf("cycle %d of site %s: %w", c, site.Name, failed)
		}
		return failed == nil
	})
	return k, errors.Join(err, failed)
}

// owner is whose state that after a cycle of the store is.
func owner(p *plan.Plan, c store.Cycle) string {
	return fmt.Sprint(c, " ", revisit.Owner(p.Policy, p.Config))
}

// record returns the record of what happened last.
func (k *kept) record() []byte {
	r := k.Record()
	k.since += len(r)
	return r
}

// save returns the state after cycle c, to be stored with its record; nil: the one in the store is
// good enough, or the policy has none.
func (k *kept) save(p *plan.Plan, c store.Cycle) []byte {
	if k.since*behind <= k.state {
		return nil
	}
	state, ok := k.AppendState(nil, owner(p, c))
	if !ok {
		return nil
	}
	k.state, k.since = len(state), 0
	return state
}
