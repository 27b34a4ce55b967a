package lab

import (
	"slices"

	"forage/graph"
	"forage/revisit"
)

// A truth is what setting B counts at one site: the pages that could have been found.
type truth struct {
	born  []int32 // by page: week of Y_t, orphans apart; -1
	weeks []int   // scored weeks, ascending
	first int     // the first week with new pages: later fetches count
}

// truth returns what the recrawls of a site had to show.
func (s *site) truth(weeks []recrawl) truth {
	out := truth{born: never(len(s.urls)), first: len(s.weeks)}
	for i := range weeks {
		r := &weeks[i]
		if len(s.weeks[r.t].fresh) > 0 {
			out.first = min(out.first, r.t)
		}
		if !r.score {
			continue
		}
		out.weeks = append(out.weeks, r.t)
		for _, column := range r.h.New {
			for _, y := range column {
				out.born[y] = int32(r.t)
			}
		}
	}
	return out
}

// A budgeted run is setting B, the real one: a full crawl of the first week, then only what
// the fetches of a policy lead to. It drives the same revisit.Site as the live crawl.
type budgeted struct {
	s     *site
	lists bool    // feeds and sitemaps are documents, too
	http  bool    // servers answer 304
	price float64 // of a 304, in fetches
	// lastmod: a sitemap tells of every document that it lists when it changed, and is right.
	lastmod bool
	// robots: with the first fetch of a week robots.txt is read again, as the live crawl does, and
	// the lists that it newly names are fetched. The protocol of setting B does not know of this.
	robots bool

	site    *revisit.Site
	foundAt []int32 // by document: the week in which it was first seen; -1
	found   int     // pages, all in all
	links   [][]graph.Node
	ver     []int32
	gone    []bool         // by document: its last fetch found it gone
	stated  []revisit.Time // by document: the date that the first list to date it stated; 0: none did
	chain   []graph.Node
	// served, if set, hears of every fetch of an old document.
	served func(t int, v graph.Node, f *revisit.Answer)
	// allot, if set, says how many fetches week t has, in place of the same number in all. A week that has none is not looked at.
	allot func(t int) int
	// partial, if set, ends a cycle when its share is expected to be found.
	partial *revisit.Partial
	// path, if set, stands for the path of a document that was just found. Documents that are found
	// together are numbered by it.
	path func(v graph.Node) string
}

// costOf304 is the price of a 304 where signals are used, in fetches.
const costOf304 = 0.1

// budgeted returns a run of p under signals none, http or lastmod.
func (s *site) budgeted(p revisit.Policy, lists bool, signals string) *budgeted {
	n := len(s.urls)
	b := &budgeted{s: s, lists: lists, http: signals == "http", price: costOf304, lastmod: signals == "lastmod", site: revisit.NewSite(p),
		foundAt: never(n), links: make([][]graph.Node, n), ver: make([]int32, n), gone: make([]bool, n), stated: make([]revisit.Time, n)}
	b.site.Believe = b.lastmod
	return b
}

// reach fetches from, and everything that is not known and reachable through what is not
// known, at week t.
func (b *budgeted) reach(t int, from []graph.Node) []revisit.Document {
	w := &b.s.weeks[t]
	b.chain = b.chain[:0]
	visit := func(v graph.Node) {
		if b.foundAt[v] < 0 && w.alive[v] && (b.lists || int(v) < b.s.pages) {
			b.foundAt[v] = int32(t)
			if b.s.kind[v] == revisit.HTML {
				b.found++
			}
			b.links[v], b.ver[v] = w.links[v], w.ver[v]
			b.chain = append(b.chain, v)
		}
	}
	for _, v := range from {
		visit(v)
	}
	for i := 0; i < len(b.chain); i++ {
		for _, u := range w.links[b.chain[i]] {
			visit(u)
		}
	}
	for _, v := range b.chain {
		b.read(w, v)
	}
	var docs []revisit.Document
	for _, v := range b.chain {
		path := b.s.urls[v]
		if b.path != nil {
			path = b.path(v)
		}
		docs = append(docs, revisit.Document{Key: revisit.Key(v), Path: path, Kind: b.s.kind[v], Home: v == b.s.home,
			WellKnown: (t == 0 || b.robots) && slices.Contains(w.well, v), Links: keys(w.links[v]),
			Seen: revisit.Time(w.time), Published: b.published(w, v)})
	}
	return docs
}

// read notes the dates that a list states.
func (b *budgeted) read(w *week, list graph.Node) {
	if w.dated == nil {
		return
	}
	for u, at := range w.dated.lists[list] {
		if b.stated[u] == 0 {
			b.stated[u] = revisit.Time(at)
		}
	}
}

// published returns the date of a page just fetched: its own, else that of a list; 0: none.
func (b *budgeted) published(w *week, v graph.Node) revisit.Time {
	if w.dated != nil && w.dated.pages[v] != 0 {
		return revisit.Time(w.dated.pages[v])
	}
	return b.stated[v]
}

func keys(nodes []graph.Node) []revisit.Key {
	out := make([]revisit.Key, len(nodes))
	for i, v := range nodes {
		out[i] = revisit.Key(v)
	}
	return out
}

// start is the first crawl.
func (b *budgeted) start() {
	w := &b.s.weeks[0]
	var from []graph.Node
	if b.lists {
		from = append(from, w.well...)
	}
	if b.s.home != graph.None {
		from = append(from, b.s.home)
	}
	if b.s.allSeeds {
		for v := range b.s.pages {
			from = append(from, graph.Node(v))
		}
	}
	b.site.Start(b.reach(0, from))
}

// fetch fetches an old document at week t.
func (b *budgeted) fetch(t int, v graph.Node) revisit.Answer {
	w := &b.s.weeks[t]
	wasGone := b.gone[v]
	if b.gone[v] = !w.alive[v]; b.gone[v] {
		return revisit.Answer{Gone: true}
	}
	now, before := w.links[v], b.links[v]
	f := revisit.Answer{Links: len(now)}
	if b.http && w.ver[v] == b.ver[v] {
		f.NotModified, f.Cost = true, b.price
	} else if wasGone {
		before = nil
	}
	f.Modified = w.ver[v] != b.ver[v]
	b.ver[v] = w.ver[v]
	if !f.NotModified {
		b.read(w, v)
	}
	if b.lastmod && b.s.kind[v] == revisit.Sitemap {
		for _, u := range now {
			if b.foundAt[u] >= 0 && b.ver[u] == w.ver[u] {
				f.Same = append(f.Same, revisit.Key(u))
			}
		}
	}
	if same(now, before) {
		return f
	}
	f.Changed = true
	var gained []graph.Node
	for _, u := range now {
		for len(before) > 0 && before[0] < u {
			before = before[1:]
		}
		if len(before) == 0 || before[0] != u {
			gained = append(gained, u)
		}
	}
	b.links[v] = now
	f.Found = b.reach(t, gained)
	f.Gained = keys(gained)
	return f
}

// run runs all weeks with k fetches each, unless allot is set, and counts.
func (b *budgeted) run(k int, truth truth) tally {
	var out tally
	b.start()
	for t := 1; t < len(b.s.weeks); t++ {
		if b.allot != nil {
			if k = b.allot(t); k == 0 {
				continue
			}
		}
		b.site.Begin(revisit.Time(b.s.weeks[t].time), k)
		spent, fetches := 0.0, 0
		if b.partial != nil {
			b.partial.Fetches, b.partial.Expected = 0, 0
		}
		for spent < float64(k)-1e-9 {
			if b.partial != nil && !b.partialFetch() {
				break
			}
			v, ok := b.site.Next()
			if !ok {
				break
			}
			id := graph.Node(b.site.Key(v))
			f := b.fetch(t, id)
			if b.robots && fetches == 0 {
				f.Found = append(f.Found, b.reach(t, b.s.weeks[t].well)...)
			}
			if b.served != nil {
				b.served(t, id, &f)
			}
			b.site.Observe(v, f)
			if f.Cost == 0 {
				f.Cost = 1
			}
			spent += f.Cost
			fetches++
			if t > truth.first {
				out.bytes += size(&f)
			}
		}
		b.site.End()
		if t > truth.first {
			out.fetches += fetches
			out.spent += spent
			out.cycles++
			if b.partial != nil {
				out.expected, out.left = out.expected+b.partial.Expected, out.left+b.partial.Left
			}
		}
	}
	last := int32(len(b.s.weeks) - 1)
	for y, t := range truth.born {
		if t < 0 {
			continue
		}
		at := b.foundAt[y]
		out.there++
		if at >= 0 && at <= t {
			out.found++
		}
		if t+4 <= last {
			out.there4++
			if at >= 0 && at <= t+4 {
				out.found4++
			}
		}
		if at >= 0 {
			out.delayed++
			out.delay += float64(b.s.weeks[max(at, t)].time - b.s.weeks[t].time)
		}
	}
	out.weeks = len(truth.weeks)
	return out
}

// size is a model of the bytes that a fetch transfers: histories hold no texts.
func size(f *revisit.Answer) float64 {
	switch {
	case f.NotModified || f.Gone:
		return 300
	default:
		return float64(2000 + 80*f.Links)
	}
}
