package report

import "forage/store"

// Adoption tells how a site came to be one that nobody named.
type Adoption struct {
	_       struct{} `nullable:"true"`
	At      string   `json:"at" format:"date-time"`
	FoundOn string   `json:"found_on" doc:"a page that links to it"`
	Domains int      `json:"domains" doc:"registered domains with links to it then, but for its own"`
	Links   int      `json:"links" doc:"from pages of these"`
}

// Growth tells what the crawl has taken on by itself, and what that took, as in Table 1 of [DGKOPT07]: pages on new sites beside new
// pages on sites that were known.
type Growth struct {
	_          struct{}  `nullable:"true"`
	Sites      int       `json:"sites" doc:"that were adopted"`
	NewSites   Cost      `json:"new_sites" doc:"pages found by first visits of adopted sites, and all fetches of these"`
	KnownSites Cost      `json:"known_sites" doc:"new pages found by later cycles of all sites, and old documents that these fetched"`
	Refused    []Refusal `json:"refused" nullable:"false" doc:"hosts that were not adopted, by name"`
}

// A Cost is what fetches found.
type Cost struct {
	Fetches int64    `json:"fetches"`
	Pages   int64    `json:"pages"`
	Each    *float64 `json:"fetches_a_page" doc:"null: there is no page"`
}

// A Refusal tells why a host was not adopted.
type Refusal struct {
	Host    string  `json:"host"`
	At      *string `json:"at"`
	FoundOn string  `json:"found_on"`
	Reason  string  `json:"reason"`
}

func newAdoption(a *store.Adoption) *Adoption {
	if a == nil {
		return nil
	}
	at := ""
	if t := stamp(a.At); t != nil {
		at = *t
	}
	return &Adoption{At: at, FoundOn: a.From, Domains: a.Domains, Links: a.Links}
}

// NewGrowth returns what is told of the growth of a store; nil: it never grew. O(cycles, hosts refused).
func NewGrowth(v *store.View) (*Growth, error) {
	sites, err := v.Sites()
	if err != nil {
		return nil, err
	}
	g := &Growth{Refused: []Refusal{}}
	for _, s := range sites {
		if s.Adopted != nil {
			g.Sites++
		}
	}
	if err := v.Refusals(func(r *store.Refusal) bool {
		g.Refused = append(g.Refused, Refusal{Host: r.Host, At: stamp(r.At), FoundOn: r.From, Reason: r.Why})
		return true
	}); err != nil {
		return nil, err
	}
	if g.Sites+len(g.Refused) == 0 {
		return nil, nil
	}
	for _, s := range sites {
		if s.Adopted != nil {
			fetched, pages, err := v.FirstVisits(s.ID)
			if err != nil {
				return nil, err
			}
			g.NewSites.Fetches, g.NewSites.Pages = g.NewSites.Fetches+fetched, g.NewSites.Pages+pages
		}
		past, err := v.PastCycles(s.ID)
		if err != nil {
			return nil, err
		}
		known := &g.KnownSites
		known.Fetches, known.Pages = known.Fetches+past.Refetched, known.Pages+past.New
		if err := v.SiteCycles(s.ID, func(c *store.CycleRecord) bool {
			if c.Kind != store.FirstVisit {
				known.Fetches, known.Pages = known.Fetches+c.Refetched, known.Pages+c.New
			}
			return true
		}); err != nil {
			return nil, err
		}
	}
	g.NewSites.settle()
	g.KnownSites.settle()
	return g, nil
}

// settle works out what a page takes.
func (c *Cost) settle() {
	if c.Pages > 0 {
		each := float64(c.Fetches) / float64(c.Pages)
		c.Each = &each
	}
}
