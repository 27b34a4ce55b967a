// Package adopt decides which sites a crawl that may grow takes on next, of those that its sites link to.
//
// Choose ranks Candidates by the pages that a fetch there is expected to find, and those alike by the number of
// registered domains with a link to them, and of links. What is expected is learned from what was Adopted so far: a
// domain whose links led to sites with many pages leads to more of them, and so does a number of domains, be it
// large or small. As long as nothing was adopted, links alone decide. Domains vote, and not pages or hosts, so
// that a farm of hosts has one vote, and none for its own.
//
// Choose reads no store and asks nobody.
package adopt

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"
)

// FirstBudget is how many fetches the first visit of an adopted site has, at most. It shows what a site is
// like; from then on the site is one like others.
const FirstBudget = 50

// RefusedFor is how long a site is not asked again that could not be adopted.
const RefusedFor = 30 * 24 * time.Hour

// SilentFor is the same where no answer came, which may be for want of a network here.
const SilentFor = 24 * time.Hour

// MostSilent is after how many sites without an answer, one after the other, no more are asked: it is rather the network
// that is missing.
const MostSilent = 8

// trust is how many fetches of sites that a domain links to count as much as all that is known of others: those of one
// first visit, so that one adopted site moves what is expected of the next by half.
const trust = FirstBudget

// mostBarren is how many sites of a registered domain may turn out to have no page until the domain is given up. One is not
// enough: example.org may do nothing but redirect to www.example.org.
const mostBarren = 2

// A Candidate is a site that is not crawled, and that pages of sites that are crawled link to.
type Candidate struct {
	Name   string // no other has it
	Domain int    // the number of its registered domain
	Voters []int  // domains, not its own, with sites of which pages link to it; each once, in any order
	Links  int    // from pages of these
}

// Adopted is a site that was a Candidate.
type Adopted struct {
	Domain         int
	Voters         []int // domains that link to it now
	Fetches, Pages int64 // answers in its first visit, and pages found there
	Over           bool  // that visit has ended
}

// Batch is how many sites are adopted at once where so many were before: as many again, so that what they show
// has a say in which come next, but 4 at least and 64 at most, which are visited side by side.
func Batch(adopted int) int { return min(max(adopted, 4), 64) }

// Choose returns the indices of up to n candidates, the best first; those of which as much is expected go by their
// voters, links, and names. It takes one site of a registered domain at a time: none of a domain of which an adopted site has not been visited
// yet, and none of one of which mostBarren were, and had no page. Candidates without voters are never chosen.
// O(candidates log candidates + voters).
func Choose(candidates []Candidate, adopted []Adopted, n int) []int {
	l := learn(adopted)
	busy, barren := map[int]bool{}, map[int]int{}
	for _, a := range adopted {
		switch {
		case !a.Over:
			busy[a.Domain] = true
		case a.Pages == 0:
			barren[a.Domain]++
		}
	}
	score := make([]float64, len(candidates)) // thousandths of a page; finer differences are of rounding
	order := make([]int, 0, len(candidates))
	for i := range candidates {
		c := &candidates[i]
		if len(c.Voters) > 0 && !busy[c.Domain] && barren[c.Domain] < mostBarren {
			score[i] = math.Round(1000 * l.expected(c.Voters))
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &candidates[i], &candidates[j]
		return cmp.Or(cmp.Compare(score[j], score[i]), cmp.Compare(len(b.Voters), len(a.Voters)), cmp.Compare(b.Links, a.Links), cmp.Compare(a.Name, b.Name))
	})
	var chosen []int
	for _, i := range order {
		if len(chosen) >= n {
			break
		}
		if d := candidates[i].Domain; !busy[d] {
			busy[d] = true
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// lessons are what adopted sites showed.
type lessons struct {
	mean   float64     // pages a fetch
	voters map[int]sum // by domain, of the sites that it links to
	fame   map[int]sum // by the magnitude of the number of voters
}

type sum struct{ pages, fetches int64 }

func learn(adopted []Adopted) *lessons {
	l := &lessons{voters: map[int]sum{}, fame: map[int]sum{}}
	var all sum
	for _, a := range adopted {
		add := func(s sum) sum { return sum{s.pages + a.Pages, s.fetches + a.Fetches} }
		all = add(all)
		m := magnitude(a.Voters)
		l.fame[m] = add(l.fame[m])
		for _, v := range a.Voters {
			l.voters[v] = add(l.voters[v])
		}
	}
	l.mean = float64(max(1, all.pages)) / float64(max(1, all.fetches)) // above 0, so that votes count where all was in vain
	return l
}

// magnitude is the same for numbers of voters that are about the same: 1, 2 to 3, 4 to 7, …
func magnitude(voters []int) int { return bits.Len(uint(len(voters))) }

// expected is the mean over what each of the voters lets expect, corrected by what their number does. On webs that
// were made up (TestLearns) a factor for many voters that is not learned found half as much where what everybody links to
// has few pages, and without this correction three quarters where it has many.
func (l *lessons) expected(voters []int) float64 {
	total := 0.
	for _, v := range voters {
		total += l.pages(l.voters[v])
	}
	return total / float64(max(1, len(voters))) * l.pages(l.fame[magnitude(voters)]) / l.mean
}

// pages is what fetches of some sites find: the mean of all, as far as they are too few to tell.
func (l *lessons) pages(s sum) float64 {
	return (float64(s.pages) + trust*l.mean) / (float64(s.fetches) + trust)
}
