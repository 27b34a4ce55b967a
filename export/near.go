package export

import (
	"cmp"
	"slices"

	"forage/graph"
	"forage/simhash"
	"forage/store"
)

// A pair is a page that says nearly what an earlier one of its site does, the first of these.
type pair struct{ page, first graph.Node }

// findNear finds them among the pages that are in the tables and that lists have.
func (x *tables) findNear() error {
	type prints struct {
		pages  []graph.Node
		hashes []uint64
	}
	sites := map[store.SiteID]*prints{}
	c := x.v.Cursor()
	defer c.Close()
	if err := c.Simhashes(0, func(page graph.Node, site store.SiteID, hash uint64) bool {
		if x.has(page) {
			p := sites[site]
			if p == nil {
				p = new(prints)
				sites[site] = p
			}
			p.pages, p.hashes = append(p.pages, page), append(p.hashes, hash)
		}
		return true
	}); err != nil {
		return err
	}
	for _, p := range sites {
		for i, first := range simhash.First(p.hashes) {
			if first != simhash.None {
				x.near = append(x.near, pair{p.pages[i], p.pages[first]})
			}
		}
	}
	slices.SortFunc(x.near, func(a, b pair) int { return cmp.Compare(a.page, b.page) })
	return nil
}

// nearPage is the first page that says nearly what one does, nil where none does. Pages are asked for in the order of their numbers.
func (x *tables) nearPage(page graph.Node) *uint32 {
	for len(x.near) > 0 && x.near[0].page < page {
		x.near = x.near[1:]
	}
	if len(x.near) == 0 || x.near[0].page != page {
		return nil
	}
	first := uint32(x.near[0].first)
	return &first
}
