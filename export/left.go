package export

import (
	"forage/graph"
	"forage/store"
)

// A docSet is a set of documents; nil: none of them.
type docSet []uint64

func (s docSet) has(id graph.Node) bool {
	i := int(id / 64)
	return i < len(s) && s[i]&(1<<(id%64)) != 0
}

// leftOut asks keep once for each document, of one site if that is not nil, and returns those for which it is false. O(documents); a bit for
// each of them.
func leftOut(v *store.View, keep func(*store.Doc) bool, site *store.Site) (docSet, error) {
	if keep == nil {
		return nil, nil
	}
	n, err := v.NumURLs()
	if err != nil {
		return nil, err
	}
	left := make(docSet, (n+63)/64)
	ask := func(d *store.Doc) bool {
		if int(d.ID) < n && !keep(d) {
			left[d.ID/64] |= 1 << (d.ID % 64)
		}
		return true
	}
	c := v.Cursor()
	defer c.Close()
	if site != nil {
		return left, c.SiteDocs(site.ID, ask)
	}
	return left, c.Docs(ask)
}
