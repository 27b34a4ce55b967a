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
	type print struct {
		site store.SiteID
		page graph.Node
		hash uint64
	}
	var all []print
	c := x.v.Cursor()
	defer c.Close()
	if err := c.Simhashes(0, func(page graph.Node, site store.SiteID, hash uint64) bool {
		if x.has(page) {
			all = append(all, print{site, page, hash})
		}
		return true
	}); err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b print) int { return cmp.Compare(a.site, b.site) })
	var hashes []uint64
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(p print) bool { return p.site != all[0].site })
		if n < 0 {
			n = len(all)
		}
		hashes = hashes[:0]
		for _, p := range all[:n] {
			hashes = append(hashes, p.hash)
		}
		for i, first := range simhash.First(hashes) {
			if first != simhash.None {
				x.near = append(x.near, pair{all[i].page, all[first].page})
			}
		}
		all = all[n:]
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
