package lab

import (
	"slices"

	"forage/graph"
	"forage/revisit"
)

// A recrawl is one week of setting A, the paper's: what a full recrawl of the site shows,
// the same for every policy and budget. H_t is over all of X_t, pages that were gone for a
// while included; candidates are those that the recrawl of the week before reached.
type recrawl struct {
	t     int
	h     *revisit.CoverGraph // orphans dropped
	group []int32             // by document: its group in h; -1 none
	led   [][]graph.Node
	learn []learnt // documents first known in this week, or first main ones
	page  map[graph.Node]revisit.Profile
	gone  []graph.Node
	back  []graph.Node
	score bool // it has new pages, and so had an earlier week
}

type learnt struct {
	v graph.Node
	p revisit.Profile
}

// recrawls returns what the weeks from the second on show, with feeds and sitemaps as
// candidates or without, and the documents of the first week.
func (s *site) recrawls(lists bool) (first []learnt, weeks []recrawl) {
	n := len(s.urls)
	if !lists {
		n = s.pages
	}
	var templates revisit.Templates
	var listed revisit.Lists
	page := func(v, t int) revisit.Profile {
		list, number := listed.Of(s.kind[v], s.urls[v])
		return revisit.Profile{Kind: s.kind[v], Home: graph.Node(v) == s.home, Main: s.isMain(v, t),
			Index: v < s.pages && revisit.IsIndex(s.urls[v]), Template: templates.Of(s.kind[v], s.urls[v]), List: list, Number: number, Depth: revisit.Depth(s.urls[v]), Links: len(s.weeks[t].links[v]), Born: t,
			Seen: revisit.Time(s.weeks[t].time)}
	}
	born := func(v int) int32 {
		if v < s.pages {
			return s.reached[v]
		}
		return s.listed[v]
	}
	began := false
	dead := make([]bool, n)
	for t := range s.weeks {
		w := &s.weeks[t]
		var learn []learnt
		r := recrawl{t: t}
		for v := range n {
			if b := born(v); b == int32(t) {
				learn = append(learn, learnt{graph.Node(v), page(v, t)})
			} else if b >= 0 && int(b) < t && v >= s.pages && int(s.main[v]) == t {
				p := page(v, t)
				p.Born, p.Seen = int(b), revisit.Time(s.weeks[b].time)
				learn = append(learn, learnt{graph.Node(v), p})
			}
			if b := born(v); b >= 0 && int(b) <= t && s.there(graph.Node(v), t) == dead[v] {
				dead[v] = !dead[v]
				if dead[v] {
					r.gone = append(r.gone, graph.Node(v))
				} else {
					r.back = append(r.back, graph.Node(v))
				}
			}
		}
		if t == 0 {
			first = learn
			continue
		}
		r.learn, r.page = learn, make(map[graph.Node]revisit.Profile)
		for _, l := range learn {
			r.page[l.v] = l.p
		}
		var old []graph.Node
		for v := range n {
			if s.old(graph.Node(v), t) && w.alive[v] {
				old = append(old, graph.Node(v))
			}
		}
		h := revisit.NewCoverGraph(w.fresh, nil, old, func(v graph.Node) []graph.Node { return w.links[v] })
		if lists { // covered by a page, or an orphan
			covered := make([]bool, len(h.New))
			for g, cols := range h.Cols {
				if int(h.Old[g][0]) < s.pages {
					for _, c := range cols {
						covered[c] = true
					}
				}
			}
			column := make(map[graph.Node]int)
			for c, pages := range h.New {
				for _, y := range pages {
					column[y] = c
				}
			}
			h = h.Keep(func(y graph.Node) bool { return covered[column[y]] })
		}
		r.h, r.group, r.led = h, h.Groups(n), make([][]graph.Node, len(h.Old))
		for g := range h.Old {
			r.led[g] = h.Covers(nil, g)
			slices.Sort(r.led[g])
		}
		r.score = began && len(h.New) > 0
		began = began || len(w.fresh) > 0
		weeks = append(weeks, r)
	}
	return first, weeks
}

// A tally counts what a policy did at one site.
type tally struct {
	fetches, cycles int     // fetches and the cycles that they are of: the scored ones in setting A, those after the first history in B
	found, there    int     // new pages found in their week, and those that there were, in scored weeks
	weeks           int     // scored
	ratio           float64 // Σ fetches/found over scored weeks with found > 0
	ratios          int     // these weeks
	cut             int     // scored weeks that used up the budget; setting A only

	weekly []weekly // setting A only

	// Setting B only.
	found4, there4 int     // found within four weeks, of the weeks that have four after them
	delay          float64 // seconds from appearance to discovery, over pages found
	delayed        int     // these pages
	spent          float64 // cost of fetches, a 304 at its price
	bytes          float64 // a model of what was transferred
	expected, left float64 // Σ of revisit.Partial over cycles, where a coverage was asked for
}

func (a *tally) add(fetches, found, there int) {
	a.fetches, a.found, a.there = a.fetches+fetches, a.found+found, a.there+there
	a.weeks, a.cycles = a.weeks+1, a.cycles+1
	if found > 0 {
		a.ratio, a.ratios = a.ratio+float64(fetches)/float64(found), a.ratios+1
	}
}

// revealed is a policy that may see H_t before it chooses: the oracle.
type revealed interface{ Reveal(*revisit.CoverGraph) }

// periodic runs a policy in setting A: after each cycle of at most k fetches it is told the
// outcome of a full recrawl.
func (s *site) periodic(p revisit.Policy, k int, first []learnt, weeks []recrawl) tally {
	var out tally
	for _, l := range first {
		p.Learn(l.v, l.p)
	}
	found := make([]bool, len(s.urls)) // of this week's new pages
	for i := range weeks {
		r := &weeks[i]
		if o, ok := p.(revealed); ok {
			o.Reveal(r.h)
		}
		p.Begin(revisit.Time(s.weeks[r.t].time), k)
		fetches, news := 0, 0
		for fetches < k {
			v, ok := p.Next()
			if !ok {
				break
			}
			fetches++
			refetch := s.refetch(r, v)
			for _, y := range refetch.Led {
				if !found[y] {
					found[y] = true
					refetch.Found = append(refetch.Found, y)
					p.Learn(y, r.page[y])
				}
			}
			news += len(refetch.Found)
			p.Observe(refetch)
		}
		out.weekly = append(out.weekly, weekly{fetches, news, r.h.NumNew(), r.score})
		if r.score {
			out.add(fetches, news, r.h.NumNew())
			if fetches == k {
				out.cut++
			}
		}
		for _, l := range r.learn {
			if !found[l.v] {
				p.Learn(l.v, l.p)
			}
		}
		p.End(revisit.Cycle{Full: true, New: len(s.weeks[r.t].fresh), H: r.h, Gone: r.gone, Back: r.back})
		for _, y := range s.weeks[r.t].fresh {
			found[y] = false
		}
	}
	return out
}

// refetch is what fetching v shows a week after it was last fetched.
func (s *site) refetch(r *recrawl, v graph.Node) revisit.Refetch {
	now, before := &s.weeks[r.t], &s.weeks[r.t-1]
	refetch := revisit.Refetch{Page: v, Cost: 1, Gone: !now.alive[v]}
	if !refetch.Gone {
		refetch.Changed = !same(now.links[v], before.links[v])
		refetch.Modified = refetch.Changed || now.ver[v] != before.ver[v]
		if g := r.group[v]; g >= 0 {
			refetch.Led = r.led[g]
		}
	}
	return refetch
}

// same reports whether two lists of links are equal; lists of weeks without a change are the
// same slice.
func same(a, b []graph.Node) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}
