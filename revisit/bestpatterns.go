package revisit

import (
	"cmp"
	"math"
	"slices"

	"forage/graph"
)

// A pattern is a column of a past cycle's H_t: pages that the same documents showed. It stands
// for what such documents will show again. Its weight fades with its age; its urgency grows with
// every cycle, and a fetch of a document that shows it takes most of it away, so that the next
// document chosen is one that shows something else.
//
// live holds the patterns of the last cfg.memory cycles, ascending by cycle; a pattern's number is
// base plus its place there and never changes. A document's entries may name numbers below base
// until forget drops them: whoever reads entries skips those.
type patterns struct {
	live      []pattern
	base      int32     // number of live[0]
	entries   [][]entry // by document: the patterns that it shows, each once a fetch or cycle that showed it
	patternOf []int32   // by page: number of the pattern that it is part of; −1: none

	count   []int32 // scratch of showed, by live pattern, all 0 between calls
	touched []int32 // scratch of showed
}

// entry is a pattern that a document shows.
type entry struct {
	p      int32   // number of the pattern
	share  float32 // of the pattern's pages
	credit float32 // what counts for the document itself: its role may have the rest
}

type pattern struct {
	cycle   int32
	pages   int32
	news    float64 // n_d, pages found in its cycle
	urgency float64
	value   float64 // faded weight × urgency
	pools   []share // ascending by pool: what the pools' documents showed of it
}

// share is how much of a pattern the documents of a pool showed, one after another.
type share struct {
	pool  int32
	share float64
}

// add adds to the share of a pool. O(log pools).
func (p *pattern) add(pool int32, part float64) {
	at, ok := slices.BinarySearchFunc(p.pools, pool, func(in share, pool int32) int { return cmp.Compare(in.pool, pool) })
	if !ok {
		p.pools = slices.Insert(p.pools, at, share{pool: pool})
	}
	p.pools[at].share += part
}

// age lets all patterns grow more urgent by one cycle and drops those that are too old.
func (b *Best) age() {
	drop := 0
	for drop < len(b.live) && int32(b.cycle)-b.live[drop].cycle > b.cfg.memory {
		drop++
	}
	b.live, b.count, b.base = b.live[drop:], b.count[drop:], b.base+int32(drop)
	for i := range b.live {
		p := &b.live[i]
		p.urgency = min(b.cfg.most, b.cfg.grow*p.urgency+1)
	}
	if drop > 0 {
		for i := range b.entries {
			b.forget(i)
		}
	}
}

// forget drops a document's entries for patterns that are gone.
func (s *patterns) forget(i int) {
	e := s.entries[i]
	n := 0
	for n < len(e) && e[n].p < s.base {
		n++
	}
	if n > 0 {
		s.entries[i] = slices.DeleteFunc(e, func(e entry) bool { return e.p < s.base })
	}
}

// weigh values all patterns, and so all pools. Within a cycle relieve and showed keep the values up
// to date.
func (b *Best) weigh() {
	for i := range b.pools {
		b.pools[i].sum = 0
	}
	for i := range b.live {
		p := &b.live[i]
		p.value = float64(p.pages) * math.Pow(p.news, -b.cfg.size) * p.urgency * b.fade(p.cycle)
		for _, in := range p.pools {
			b.pools[in.pool].sum += p.value * in.share
		}
	}
}

// relieve makes less urgent what v usually shows, because v was fetched.
func (b *Best) relieve(v graph.Node) {
	for _, e := range b.entries[v] {
		if e.p < b.base {
			continue
		}
		p := &b.live[e.p-b.base]
		lost := p.value * float64(e.share) * (1 - b.cfg.left)
		p.urgency *= 1 - float64(e.share)*(1-b.cfg.left)
		p.value -= lost
		for _, in := range p.pools {
			b.pools[in.pool].sum -= lost * in.share
		}
	}
}

// showed takes in the pages that a fetch of v led to, by pattern. Pages of this cycle have none
// before End.
func (b *Best) showed(v graph.Node, led []graph.Node) {
	d := &b.docs[v]
	b.touched = b.touched[:0]
	for _, y := range led {
		if p := b.patternOf[y] - b.base; p >= 0 {
			if b.count[p] == 0 {
				b.touched = append(b.touched, p)
			}
			b.count[p]++
		}
	}
	slices.Sort(b.touched)
	for _, i := range b.touched {
		p := &b.live[i]
		part := float32(b.count[i]) / float32(p.pages)
		b.count[i] = 0
		b.show(v, i, part)
		in := poolOf(d.profile.Template)
		p.add(in, float64(part))
		b.pools[in].sum += p.value * float64(part)
		if d.formerHolder {
			if role := b.held(v, p.cycle); role >= 0 {
				in := roleIn(d.profile.Template, role)
				p.add(in, float64(part))
				b.pools[in].sum += p.value * float64(part)
			}
		}
	}
}

// show adds live[i] to what v shows. Where v showed it in a role, most of the credit goes with the
// role to its next holder: in this cycle's patterns at once, since roles change at its end.
func (b *Best) show(v graph.Node, i int32, part float32) {
	d, credit := &b.docs[v], part
	p := &b.live[i]
	if d.formerHolder {
		role := b.held(v, p.cycle)
		if role >= 0 && (role != d.role || int(p.cycle) == b.cycle) {
			credit *= float32(b.cfg.handed)
		}
	}
	b.entries[v] = append(b.entries[v], entry{b.base + i, part, credit})
}

// keep turns the columns of a cycle's H_t into patterns.
func (b *Best) keep(h *CoverGraph) {
	t, first := int32(b.cycle), int32(len(b.live))
	n := float64(h.NumNew())
	for _, column := range h.New {
		b.live = append(b.live, pattern{cycle: t, pages: int32(len(column)), news: n})
		b.count = append(b.count, 0)
		for _, y := range column {
			b.patternOf[y] = b.base + int32(len(b.live)) - 1
		}
	}
	showing := make(map[int32]float64) // by pool: documents of a group
	for g, docs := range h.Old {
		clear(showing)
		for _, v := range docs {
			d := &b.docs[v]
			if d.last < 0 {
				continue
			}
			for _, col := range h.Cols[g] {
				b.show(v, first+col, 1)
			}
			showing[poolOf(d.profile.Template)]++
			if d.formerHolder {
				if role := b.held(v, t); role >= 0 {
					showing[roleIn(d.profile.Template, role)]++
				}
			}
		}
		var order []int32 // of showing, so that sums do not depend on the order of a map
		for in := range showing {
			order = append(order, in)
		}
		slices.Sort(order)
		for _, col := range h.Cols[g] {
			p := &b.live[first+col]
			for _, in := range order {
				p.add(in, showing[in])
			}
		}
	}
}
