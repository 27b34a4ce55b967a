package crawl

import (
	"cmp"
	"slices"
	"strings"

	"forage/explore/yield"
	"forage/graph"
	"forage/store"

	"github.com/cespare/xxhash/v2"
)

// Some documents are certainly new though others that look like them were left out, so that nobody knows
// which of those there were: their URLs have a hash, such as the name of a commit, that no URL had before, and
// a page that is new itself for that hash leads to them. In a budgeted cycle some of those are tried whose
// groups are stopped or bring next to nothing.

const (
	maxHashes = 1 << 18 // hashes of URLs that are remembered; where there are more nothing is certain
	maxSpared = 1000    // documents that a cycle may try
)

// heard takes in the hashes of a URL that is known.
func (w *worth) heard(url string) {
	yield.Hashes(url, func(h string) {
		if w.hashes == nil {
			w.hashes = map[uint64]struct{}{}
		}
		if len(w.hashes) < maxHashes {
			w.hashes[xxhash.Sum64String(h)] = struct{}{}
		}
	})
}

// unheard reports whether d is certainly new for what its URL stands for: it has a hash that no URL had
// which was known before this cycle, and is linked from what was read before without that link, or from
// a page of which the same holds.
func (c *cycle) unheard(d *store.Doc) bool {
	w := &c.worth
	return d.New == store.IsNew && d.Cycle == c.rec.Cycle && c.repeats() && len(w.hashes) < maxHashes && c.names(d.URL, "")
}

// inherits reports whether d, to which by leads, is as new as by: both have a hash that no URL had which
// was known before.
func (c *cycle) inherits(d, by *store.Doc) bool {
	return by != nil && c.unheard(by) && c.names(d.URL, by.URL)
}

// names reports whether a URL has a hash that no URL had before this cycle, and that stands in another one
// too; "": in any.
func (c *cycle) names(url, other string) (found bool) {
	yield.Hashes(c.place(url), func(h string) {
		_, known := c.worth.hashes[xxhash.Sum64String(h)]
		found = found || !known && strings.Contains(cmp.Or(other, h), h)
	})
	return found
}

func (v *budgetedCycle) leftOut(d *store.Doc) {
	if len(v.spared) < maxSpared && !slices.Contains(v.spared, d.ID) {
		v.spared = append(v.spared, d.ID)
	}
}

// try puts the document in line of which most is to be expected, of those that are certainly new but
// left out, as others that look like them brought nothing: most of what there was when the site was visited
// first repeats what else was there, and what is published later need not. One after another is tried, as
// each tells of the others, until as many as the budget is have brought nothing.
func (v *budgetedCycle) try() (more bool, err error) {
	if len(v.spared) == 0 || v.vain >= v.size() {
		return false, nil
	}
	docs, err := v.crawl().docs(v.spared)
	if err != nil {
		return false, err
	}
	var best *store.Doc
	most := 0.
	for _, d := range docs {
		if e := v.worth.site.Expect(v.place(d.URL)); e > most && d.FetchedIn != v.rec.Cycle {
			best, most = d, e
		}
	}
	if best == nil {
		return false, nil
	}
	v.spared = slices.DeleteFunc(v.spared, func(id graph.Node) bool { return id == best.ID })
	if v.worth.tries == nil {
		v.worth.tries = map[graph.Node]bool{}
	}
	v.worth.tries[best.ID] = true
	if v.worth.out[best.ID] {
		v.readmit(best)
	} else {
		v.backlogOf(best).enqueue(fetchNew, best.ID)
	}
	return true, nil
}
