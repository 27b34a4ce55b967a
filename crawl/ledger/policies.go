package ledger

import (
	"forage/crawl/plan"
	"forage/revisit"
	"forage/store"
)

// policies are those of cycles past, kept so that the next cycle of a site does not have to tell
// a policy everything once more: what a cycle costs does not grow with those before it. A policy
// that is taken out belongs to its cycle, which puts it back when it has ended well.
type policies struct {
	kept      []keptPolicy // the one used last at the end
	documents int          // that they know, in all
}

type keptPolicy struct {
	site   store.SiteID
	name   string
	config revisit.Config
	policy *revisit.Site
}

// maxPolicyDocuments bounds the documents that the policies kept know, at some hundred bytes each.
const maxPolicyDocuments = 1 << 20

// take takes out what a plan needs at a site; nil: it is not here.
func (p *policies) take(site store.SiteID, plan *plan.Plan) *revisit.Site {
	for i, k := range p.kept {
		if k.site == site {
			p.drop(i)
			if k.name == plan.Policy && k.config == plan.Config {
				return k.policy
			}
			return nil
		}
	}
	return nil
}

// keep puts a policy back, after a cycle of the site that was the latest one.
func (p *policies) keep(site store.SiteID, plan *plan.Plan, policy *revisit.Site) {
	p.kept = append(p.kept, keptPolicy{site, plan.Policy, plan.Config, policy})
	p.documents += policy.NumDocuments()
	for p.documents > maxPolicyDocuments && len(p.kept) > 1 {
		p.drop(0)
	}
}

func (p *policies) drop(i int) {
	p.documents -= p.kept[i].policy.NumDocuments()
	p.kept = append(p.kept[:i], p.kept[i+1:]...)
}
