package lab

import (
	"math"
	"slices"

	"forage/graph"
	"forage/revisit"
	"forage/snap"
)

// A delayed run is what one policy comes to at one site by one plan.
type delayed struct {
	hours  []float64 // by page whose publication counts: until it was first fetched; +Inf: never
	weight []float64 // of these pages where each publication counts once: one over its size
	events int       // publications that count
	old    int       // fetches of old documents
	found  int       // pages that count, found
}

// measure compares when documents were first fetched as pages, 0 for never, with when they were
// published.
func (p *publications) measure(first []int64, old int) delayed {
	d := delayed{events: len(p.size), old: old}
	for v := range first {
		if !p.counts(v) {
			continue
		}
		hours := math.Inf(1)
		if first[v] != 0 {
			hours = max(0, float64(first[v]-p.at[v])/hour)
			d.found++
		}
		d.hours = append(d.hours, hours)
		d.weight = append(d.weight, 1/float64(p.size[p.at[v]]))
	}
	return d
}

// within returns the share of pages found within some hours, and the share where each publication
// counts once.
func (d *delayed) within(hours float64) (byPage, byPublication float64) {
	for i, h := range d.hours {
		if h <= hours {
			byPage += 1 / float64(len(d.hours))
			byPublication += d.weight[i] / float64(d.events)
		}
	}
	return byPage, byPublication
}

// delayedRun returns setting B as a user lives it: servers answer 304, which is a fetch like any
// other, and robots.txt is read in each cycle. s is the site at the cycles of a plan.
func (s *site) delayedRun(p revisit.Policy) *budgeted {
	b := s.budgeted(p, true, "none")
	b.http, b.price, b.robots = true, 1, true
	return b
}

// delays runs a policy with k fetches of old documents a cycle.
func (p *publications) delays(b *budgeted, k int) delayed {
	first := make([]int64, len(b.s.urls))
	b.served = func(t int, v graph.Node, f *revisit.Answer) { // a stub may be a page now
		if now := b.s.weeks[t].time; first[v] == 0 && now >= p.at[v] && !f.Gone && !f.NotModified {
			first[v] = now
		}
	}
	spent := b.run(k, truth{})
	for v, t := range b.foundAt {
		if t >= 0 && b.s.weeks[t].time >= p.at[v] {
			first[v] = b.s.weeks[t].time
		}
	}
	return p.measure(first, spent.fetches)
}

// oracle fetches in each cycle the document that leads to most unknown pages, of equal ones that
// known longest, as long as one leads to any: the greedy cover of [DGKOPT07, §2.2], of what is
// unknown in each cycle. It knows the site, as no crawl does, and bounds what crawls reach.
func (p *publications) oracle(h *snap.History, times []int64, k int) delayed {
	n := len(h.URLs)
	o := &oracle{s: h.Start(), known: make([]bool, n), first: make([]int64, n), last: make([]int64, n), published: p.at}
	h.Advance(o.s, p.first)
	o.now = p.first
	o.follow(append(named(h, o.s), p.seeds(h)...))
	fetches, done := 0, -1
	for _, t := range times {
		h.Advance(o.s, t)
		if o.s.K == done {
			continue // as in the cycle before, which left nothing
		}
		o.now = t
		o.follow(named(h, o.s))
		for i := 0; ; i++ {
			v, ok := o.best()
			if !ok {
				done = o.s.K
				break
			}
			if i == k {
				break
			}
			fetches++
			o.last[v] = t
			o.stamp(v)
			o.follow(o.s.Links[v])
		}
	}
	return p.measure(o.first, fetches)
}

// An oracle is the state of its run.
type oracle struct {
	s         *snap.State
	now       int64
	docs      []snap.ID // known, in the order in which they were
	known     []bool
	first     []int64 // by document: when it was first fetched as the page that was published; 0: never
	last      []int64 // by document: its last fetch
	published []int64
}

// follow fetches documents and what they lead to, as far as it is not known.
func (o *oracle) follow(from []snap.ID) {
	fresh := reachable(o.s, from, o.known)
	for _, v := range fresh {
		o.last[v] = o.now
		o.stamp(v)
	}
	o.docs = append(o.docs, fresh...)
}

func (o *oracle) stamp(v snap.ID) {
	if o.first[v] == 0 && o.now >= o.published[v] {
		o.first[v] = o.now
	}
}

// best returns the document that leads to most unknown pages. Documents that link to the same
// unknown ones are valued once.
func (o *oracle) best() (at snap.ID, ok bool) {
	most := 0
	worth := map[string]int{}
	var key []byte
	for _, v := range o.docs {
		if !o.s.Alive[v] || o.last[v] == o.now {
			continue
		}
		var fresh []snap.ID
		key = key[:0]
		for _, u := range o.s.Links[v] {
			if !o.known[u] {
				fresh = append(fresh, u)
				key = append(key, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
			}
		}
		if len(fresh) == 0 {
			continue
		}
		pages, told := worth[string(key)]
		if !told {
			for _, u := range reachable(o.s, fresh, slices.Clone(o.known)) {
				if discoverable(o.s, u) {
					pages++
				}
			}
			worth[string(key)] = pages
		}
		if pages > most {
			most, at = pages, v
		}
	}
	return at, most > 0
}
