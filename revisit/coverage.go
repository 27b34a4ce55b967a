package revisit

import (
	"math"

	"forage/graph"
)

// A PastRefetch is one fetch of an old document that was answered with the document (a 304 too),
// seen from the end of its cycle: Estimate and Hubs read it. It is not a Refetch, because what a
// document leads to means something else in each. A policy hears at once what was gained since
// the document's previous fetch; here Led is N(page), which takes the whole cycle, and Shown what
// the policy heard. Numbers are the caller's own.
type PastRefetch struct {
	Page  graph.Node
	Audit bool         // see Auditor
	Gap   int          // of an audit: cycles of the site since the document was fetched before
	Found []graph.Node // pages that this fetch found first: Refetch.Found
	Led   []graph.Node // N(page): all pages found in the cycle that it leads to
	Shown []graph.Node // of an audit: Refetch.Led
}

// Coverage is an estimate of how much of what was new is known.
type Coverage struct {
	Found  int     // pages found in the cycles looked at
	Audits int     // of the fetches
	Unseen int     // documents that no fetch but audits looked at
	Hidden float64 // pages that these are estimated to lead to and that nobody found

	// Share is Found/(Found+Hidden), between Low and High with a confidence of 95% as far as
	// the choice of the audits goes. NaN where nothing was found or nothing audited.
	Share, Low, High float64
}

// Estimate estimates from the audits of the latest cycles of a site, oldest first, which share
// of the pages that became new in these cycles is known at their end. documents is the number
// of old documents that can be fetched (none that is gone).
//
// Documents fall into those that a policy chose in these cycles, which showed all that they
// lead to, and the others, of which the audits are a sample. A page is missed when an audit
// found it and no fetch that was chosen in the same cycle leads to it. A page that two audits
// show is one that stands on many documents and would have been found by any of them; those
// that one audit shows are taken to be typical of what the others hide, each its own pages. So
//
//	Hidden = pages missed, seen once / cycles that the audits looked back over
//	         × cycles, of these, that have passed for the others since they were looked at.
//
// The interval is Wilson's for the share of audits that miss something, times the mean number
// of pages missed by one that does (1 where none did): fetches are independent, the pages of
// one are not. Its lower end takes all pages missed, those that several audits show too.
//
// This is not the capture-recapture ratio (of the pages that audits show, the share known
// before): audits seldom come to the documents that show most, so that the ratio says little
// of what these show, and as a policy audits more it finds more by audits and seems worse.
//
// What it cannot see: pages to which only unknown documents lead, and pages that came and
// went between two fetches. So it is high by some points. Measured over 30 cycles on the 26
// development sites, on which it was also chosen, at budgets of 3, 10, 30 and 100: with Best
// 95.1, 97.7, 99.8 and 100.0% where 92.8, 95.6, 97.9 and 99.2% are known; 94% of its intervals
// hold, which are 64, 47, 19 and 5 points wide. It is for policies that choose most of their
// fetches: of Index 86% hold, of Audit, where the documents that show most are not fetched in
// every cycle, 73%. O(refetches and the pages in them).
func Estimate(cycles [][]PastRefetch, documents int) Coverage {
	c := Coverage{}
	seen := map[graph.Node]int{} // by page: audits that show it
	chosen := map[graph.Node]bool{}
	since := map[graph.Node]int{} // by document: the cycle that audited or found it last
	back := 0
	for t, refetches := range cycles {
		for i := range refetches {
			r := &refetches[i]
			c.Found += len(r.Found)
			for _, y := range r.Found {
				since[y] = t
			}
			if !r.Audit {
				chosen[r.Page] = true
				continue
			}
			c.Audits++
			back += max(1, r.Gap)
			since[r.Page] = t
			for _, y := range r.Shown {
				seen[y]++
			}
		}
	}
	c.Unseen = max(0, documents-len(chosen))
	if c.Audits == 0 || c.Found == 0 {
		c.Share, c.Low, c.High = math.NaN(), math.NaN(), math.NaN()
		return c
	}
	var all, once missed
	led := map[graph.Node]bool{}
	for _, refetches := range cycles {
		clear(led)
		for i := range refetches {
			if r := &refetches[i]; !r.Audit {
				for _, y := range r.Led {
					led[y] = true
				}
			}
		}
		for i := range refetches {
			r := &refetches[i]
			if !r.Audit {
				continue
			}
			n, n1 := 0, 0
			for _, y := range r.Found {
				if !led[y] {
					n++
					if seen[y] < 2 {
						n1++
					}
				}
			}
			all.add(n)
			once.add(n1)
		}
	}
	passed := c.Unseen * len(cycles)
	for v, t := range since {
		if !chosen[v] {
			passed -= t + 1
		}
	}
	rest := float64(max(0, passed)) / (float64(back) / float64(c.Audits)) // in refetches of the usual gap
	share := func(hidden float64) float64 { return float64(c.Found) / (float64(c.Found) + hidden) }
	c.Hidden = float64(once.pages) / float64(c.Audits) * rest
	_, most := all.interval(c.Audits, rest)
	least, _ := once.interval(c.Audits, rest)
	c.Share, c.Low, c.High = share(c.Hidden), share(most*rest), share(least*rest)
	return c
}

// missed counts audits that missed something, the pages, and the squares of their numbers.
type missed struct{ audits, pages, squares int }

func (m *missed) add(pages int) {
	if pages > 0 {
		m.audits++
		m.pages += pages
		m.squares += pages * pages
	}
}

// interval returns Wilson's score interval of 95% for the pages missed an audit, as seen from
// n > 0 audits in so many more: the share of audits that miss some, times what they miss on
// average, 1 where none did. Where some miss more than others n counts for less, as it does for
// few more.
func (m *missed) interval(n int, more float64) (low, high float64) {
	const z = 1.959964
	p, mean, trials := 0., 1., float64(n)*more/(float64(n)+more)
	if m.audits > 0 {
		p, mean = float64(m.audits)/float64(n), float64(m.pages)/float64(m.audits)
		trials *= mean * float64(m.pages) / float64(m.squares)
	}
	mid, half := p*trials+z*z/2, z*math.Sqrt(trials*p*(1-p)+z*z/4)
	return max(0, (mid-half)/(trials+z*z)) * mean, min(1, (mid+half)/(trials+z*z)) * mean
}
