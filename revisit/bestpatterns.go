package revisit

import (
	"encoding/binary"
	"math"
	"slices"

	"forage/graph"
)

// mostProbes bounds the pages of the first crawl that are followed. With 512 as much is found as
// with all, on sites of some thousand pages.
const mostProbes = 512

// patterns are what documents are known to show: probes, pages of the first crawl, by their links
// when they were last looked at, and publications found since.
//
// Documents that link to the same probes are of one class, and most are: what a site's navigation
// links to is kept once.
type patterns struct {
	probes  []graph.Node // ascending
	waiting []pattern    // by probe
	classes [][]int32    // ascending probes; number 0 links to none
	classOf map[string]int32
	sums    []sum // by class

	live      []pattern // publications found, by number from base, in the order in which they were found
	base      int32
	entries   []entry
	patternOf map[graph.Node]int32 // number of the publication that a page is part of, of those that are remembered

	fetches int // that changed sums
	scratch []int32
}

// A pattern is a probe or a publication.
type pattern struct {
	weight float64 // in publications, faded
	days   float64 // pending
	value  float64 // weight × pending(days)
	pages  int32
}

// An entry says that a document shows a publication.
type entry struct {
	pattern int32
	share   float32 // of its pages
	next    int32   // of the document's; −1: none
}

// A sum is what the probes of a class are worth, as of some number of fetches.
type sum struct {
	value float64
	as    int
}

func newPatterns() patterns {
	return patterns{classes: [][]int32{nil}, classOf: map[string]int32{"": 0}, sums: make([]sum, 1), patternOf: map[graph.Node]int32{}}
}

// chosen reports whether the probes are.
func (s *patterns) chosen() bool { return s.probes != nil }

// choose takes the probes from the pages, evenly: pages of a directory have numbers side by side.
func (s *patterns) choose(docs []doc) {
	var pages []graph.Node
	for v := range docs {
		if docs[v].kind >= 0 && docs[v].isPage {
			pages = append(pages, graph.Node(v))
		}
	}
	n := min(len(pages), mostProbes)
	s.probes = make([]graph.Node, n)
	for i := range n {
		s.probes[i] = pages[i*len(pages)/n]
	}
	s.setProbes()
}

func (s *patterns) setProbes() {
	s.waiting = make([]pattern, len(s.probes))
	for i := range s.waiting {
		s.waiting[i] = pattern{weight: 1 / float64(len(s.probes)), pages: 1}
	}
}

// classWith returns the class of documents that link to the probes of a class and those among to.
func (s *patterns) classWith(class int32, to []graph.Node) int32 {
	probes := append(s.scratch[:0], s.classes[class]...)
	for _, u := range to {
		if i, ok := slices.BinarySearch(s.probes, u); ok {
			probes = append(probes, int32(i))
		}
	}
	slices.Sort(probes)
	s.scratch = slices.Compact(probes)
	return s.class(s.scratch)
}

// class returns the number of a class, a new one for a new one.
func (s *patterns) class(probes []int32) int32 {
	key := make([]byte, 0, 64)
	for _, p := range probes {
		key = binary.LittleEndian.AppendUint16(key, uint16(p))
	}
	c, ok := s.classOf[string(key)]
	if !ok {
		c = int32(len(s.classes))
		s.classOf[string(key)] = c
		s.classes = append(s.classes, slices.Clone(probes))
		s.sums = append(s.sums, sum{as: -1})
	}
	return c
}

// sumOf returns what the probes of a class are worth now.
func (s *patterns) sumOf(class int32) float64 {
	c := &s.sums[class]
	if c.as != s.fetches {
		// Two sums, so that an addition need not wait for the one before.
		var even, odd float64
		probes := s.classes[class]
		for len(probes) > 1 {
			even += s.waiting[probes[0]].value
			odd += s.waiting[probes[1]].value
			probes = probes[2:]
		}
		if len(probes) > 0 {
			even += s.waiting[probes[0]].value
		}
		c.value, c.as = even+odd, s.fetches
	}
	return c.value
}

// wait lets days pass, and lets left remain of what publications weigh.
func (s *patterns) wait(days, left, delay float64) {
	for i := range s.waiting {
		p := &s.waiting[i]
		p.days += days
		p.value = p.weight * pending(p.days, delay)
	}
	for i := range s.live {
		p := &s.live[i]
		p.days += days
		p.weight *= left
		p.value = p.weight * pending(p.days, delay)
	}
	s.fetches++
}

// relieve takes away what a fetch of d has shown, as far as that is sure.
func (s *patterns) relieve(d *doc, sure float64, prior *Prior) {
	shown := (1 - prior.Left) * sure
	relieve := func(p *pattern, shown float64) {
		p.days *= 1 - shown
		p.value = p.weight * pending(p.days, prior.Delay)
	}
	for _, i := range s.classes[d.class] {
		relieve(&s.waiting[i], shown)
	}
	for i := d.shows; i >= 0; i = s.entries[i].next {
		e := &s.entries[i]
		relieve(s.publication(e.pattern), shown*float64(e.share))
	}
	s.fetches++
}

// allSeen takes in that every document was fetched.
func (s *patterns) allSeen() {
	for i := range s.waiting {
		s.waiting[i].days = 0
	}
	for i := range s.live {
		s.live[i].days = 0
	}
}

// publication returns the publication of a number.
func (s *patterns) publication(number int32) *pattern { return &s.live[number-s.base] }

// show notes that d shows a publication.
func (s *patterns) show(d *doc, number int32, share float32) {
	s.entries = append(s.entries, entry{number, share, d.shows})
	d.shows = int32(len(s.entries) - 1)
}

// showed takes in the pages that a fetch of d led to, by publication. Pages of this cycle are of
// none before found.
func (s *patterns) showed(d *doc, led []graph.Node) {
	s.scratch = s.scratch[:0]
	for _, y := range led {
		if p, ok := s.patternOf[y]; ok {
			s.scratch = append(s.scratch, p)
		}
	}
	slices.Sort(s.scratch)
	for i := 0; i < len(s.scratch); {
		n := i + 1
		for n < len(s.scratch) && s.scratch[n] == s.scratch[i] {
			n++
		}
		p := s.scratch[i]
		s.show(d, p, float32(n-i)/float32(s.publication(p).pages))
		i = n
	}
}

// found turns the columns of a cycle's H_t into publications. A cycle that found many pages counts
// for more than one that found one, but not in proportion: pages that come at once are shown at
// once.
func (s *patterns) found(h *CoverGraph, docs []doc, burst float64) {
	first := s.base + int32(len(s.live))
	n := float64(h.NumNew())
	for i, column := range h.New {
		s.live = append(s.live, pattern{weight: float64(len(column)) * math.Pow(n, burst-1), pages: int32(len(column))})
		for _, y := range column {
			s.patternOf[y] = first + int32(i)
		}
	}
	for g, old := range h.Old {
		for _, v := range old {
			for _, col := range h.Cols[g] {
				s.show(&docs[v], first+col, 1)
			}
		}
	}
}

// Publications that weigh less than faint are forgotten, when they are half of all.
const (
	faint     = .002
	leastLive = 256
)

// forget drops publications that no longer count, and the entries of documents for them.
func (s *patterns) forget(docs []doc) {
	drop := 0
	for drop < len(s.live) && s.live[drop].weight < faint {
		drop++
	}
	if drop < leastLive || 2*drop < len(s.live) {
		return
	}
	s.base += int32(drop)
	s.live = slices.Clone(s.live[drop:])
	for y, p := range s.patternOf {
		if p < s.base {
			delete(s.patternOf, y)
		}
	}
	kept := make([]entry, 0, len(s.entries)/2)
	for v := range docs {
		tail := &docs[v].shows // where the next entry kept is to be named
		for i := docs[v].shows; i >= 0; i = s.entries[i].next {
			if e := s.entries[i]; e.pattern >= s.base {
				*tail = int32(len(kept))
				kept = append(kept, entry{e.pattern, e.share, -1})
				tail = &kept[len(kept)-1].next
			}
		}
		*tail = -1
	}
	s.entries = kept
}
