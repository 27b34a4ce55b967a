package explore

import "forage/graph"

// A share is how many pages of a group were content, of those whose answers tell. The zero share knows nothing.
type share struct{ content, told float64 }

func (s *share) add(content bool) {
	s.told++
	if content {
		s.content++
	}
}

// mean is shrunken towards prior, which counts as much as one answer.
func (s *share) mean(prior float64) float64 { return (s.content + prior) / (s.told + 1) }

// contentPrior is the share of content to begin with in a kind of pages of these flags. Whatever is not known to be something else may be
// content, so that each kind is tried. Pages that are called as lists are need more to be tried: on generated sites of four seeds that nothing
// was chosen on, 1% more content pages are fetched, and 1% more known, after 60 fetches with 0.3 than with 1 (internal/sitebench -fetches 60 -seed 3, to 6).
func contentPrior(f pageFlags) float64 {
	switch {
	case f&isSitemap != 0:
		return 0
	case f&(isPaged|seemsList) != 0:
		return 0.3
	}
	return 1
}

// content is the probability, about, that a page of a kind is content.
func (p *pages) content(k *kind) float64 {
	return k.share.mean(p.templates[k.template].share.mean(k.prior))
}

// worth is what a page that became known counts as a yield of the one that led to it: what is likely to be worth a fetch. Without it, pages that
// lead to nothing but more of their kind, as those do whose addresses have the number of a session, would be the best of all.
func (p *pages) worth(l *Link) float64 {
	switch {
	case l.Sitemap:
		return 1
	case !p.classed:
		return 1 - l.Doubt
	}
	return (1 - l.Doubt) * p.content(&p.kinds[p.page[l.To].kind])
}

// The prices of prices. Of 1, 3 and 5 for enough, and 0.1 to 0.3 for known, these are where as much is known as in the order of
// discovery on half of the generated sites (internal/software), with most content. On the other half 38% more content pages are fetched than
// in that order, and 2% more are known (go run ./internal/sitebench -fetches 60).
const (
	enough = 5    // open pages that are content for each query that is left, of which another one is worth no more than to be known
	known  = 0.15 // price of a page that is known, and will not be fetched
)

// prices returns what a new page is worth, and one that is content. While little is open that is content, each query of the budget that
// is left can go to what is found yet; when there is more than can be queried, a query is worth the content that it brings.
// Without a budget everything is queried at some time, so that what is found first is all that counts, and so it is where nobody tells what
// is content. O(kinds).
func (p *pages) prices() (find, content float64) {
	if !p.bounded || !p.classed {
		return 1, 0
	}
	open := 0.0
	for i := range p.kinds {
		if k := &p.kinds[i]; k.open.Len() > 0 {
			open += float64(float64(k.open.Len()) * p.content(k))
		}
	}
	each := open / float64(max(1, p.left))
	return max(known, 1-each/enough), min(1, each)
}

// ObserveContent takes in whether the answer to v is content.
func (p *best) ObserveContent(v graph.Node, content bool) {
	if p.pages == nil || int(v) >= len(p.pages.page) || p.pages.page[v].kind < 0 {
		return
	}
	p.pages.classed = true
	k := &p.pages.kinds[p.pages.page[v].kind]
	k.share.add(content)
	p.pages.templates[k.template].share.add(content)
}
