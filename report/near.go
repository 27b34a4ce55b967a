package report

import (
	"slices"

	"forage/graph"
	"forage/simhash"
	"forage/store"
)

// near knows which pages of a site say nearly the same as an earlier one. It works that out when it is first asked.
type near struct {
	view *store.View
	site store.SiteID

	known bool
	pages []graph.Node // that have a simhash
	place []uint32     // in pages, of the first one that says nearly the same; simhash.None: none does
}

// first returns the first page of the site that lists have and that says nearly the same as d, nil where none does, or d is
// not in lists.
func (n *near) first(d *store.Doc) (*store.Doc, error) {
	if d.Simhash == 0 || !d.IsListed() {
		return nil, nil
	}
	if !n.known {
		n.known = true
		if err := n.find(); err != nil {
			return nil, err
		}
	}
	i, ok := slices.BinarySearch(n.pages, d.ID)
	if !ok || n.place[i] == simhash.None {
		return nil, nil
	}
	return n.view.Doc(n.pages[n.place[i]])
}

func (n *near) find() error {
	var prints []uint64
	c := n.view.Cursor()
	defer c.Close()
	err := c.Simhashes(n.site, func(page graph.Node, _ store.SiteID, print uint64) bool {
		n.pages, prints = append(n.pages, page), append(prints, print)
		return true
	})
	n.place = simhash.First(prints)
	return err
}
