package explore

import (
	"hash/fnv"
	"math"
	"strings"

	"forage/graph"
	"forage/internal/heap"
)

// best is for the live web, where answers list out-links only and the degree says little, but
// where a link stands says much: navigation leads to what is known, lists lead to what is new.
//
// Every open page belongs to an arm: the site and the class of the link that first showed it.
// An arm is worth what its pages are expected to show that is new: the mean of those queried,
// discounted by a tenth with each, shrunken towards the mean of the class over all sites;
// averaged with a Good-Turing term, the links on such a page times the share of the arm's
// targets that were seen exactly once. It is pulled by that and a bonus for arms tried little.
// Pages of an arm are queried in the order of first observation. Pages without a class, and
// crawls without classes, go by learned.
//
// Arms that were never tried are worth the same where their class is the same, or was never tried either: of
// these the first one is looked at. So a query costs O(tried arms with open pages + tried classes) to choose,
// beside what learned keeps, and not O(arms), of which a site with dated paths has as many as pages.
type best struct {
	*learned
	classes classes
	arms    []webArm
	number  map[armKey]int
	total   map[uint32]*webClass
	worn    []*webClass    // classes that were tried
	tried   []int32        // arms that were tried and have open pages, and others
	untried heap.Heap[int] // arms of classes that were not tried with open pages, and others
	arm     []int32        // by node: its arm + 1; 0: none
	times   []uint8        // by node: how often it was linked, at most 2
	by      []int32        // by node: the arm + 1 of the page that first linked it
	pulls   float64        // queries of arms, those under way included
}

type armKey struct{ site, class uint32 }

type webArm struct {
	class         uint32
	tried         bool // a page of it was queried, or is under way
	among         bool // it is in best.tried
	queue         []graph.Node
	out           float64    // queries under way: they count as tried
	yield         discounted // new pages a query
	links         discounted // links a page
	targets, once float64    // pages first linked from pages of the arm; those not linked again
}

// A webClass is what the arms of a class have in common, over all sites.
type webClass struct {
	discounted
	untried heap.Heap[int] // arms that were not tried with open pages, and others
}

// discounted is a mean in which each older example counts a tenth less.
type discounted struct{ sum, weight float64 }

func (d *discounted) add(x float64) { d.sum, d.weight = 0.9*d.sum+x, 0.9*d.weight+1 }

// mean is shrunken towards prior, which counts as one example.
func (d *discounted) mean(prior float64) float64 { return (d.sum + prior) / (d.weight + 1) }

// bonus is the weight of the term for arms tried little, in new pages.
const bonus = 2

func newBest(c Config) *best {
	return &best{learned: newLearned(c), number: map[armKey]int{}, total: map[uint32]*webClass{}, untried: firstOf()}
}

// firstOf is a heap of arms, the one with the lowest number first.
func firstOf() heap.Heap[int] {
	return heap.Heap[int]{Before: func(a, b int) bool { return a < b }}
}

func (p *best) Next() (graph.Node, bool) {
	choice, top := -1, math.Inf(-1)
	look := func(i int) {
		if s := p.worth(&p.arms[i]); s > top || s == top && i < choice {
			choice, top = i, s
		}
	}
	kept := p.tried[:0]
	for _, i := range p.tried {
		if a := &p.arms[i]; p.hasOpen(a) {
			kept = append(kept, i)
			look(int(i))
		} else {
			a.among = false
		}
	}
	p.tried = kept
	for _, c := range p.worn {
		if i, ok := p.first(&c.untried, nil); ok {
			look(i)
		}
	}
	if i, ok := p.first(&p.untried, func(a *webArm) bool { return p.total[a.class].weight == 0 }); ok {
		look(i)
	}
	if choice < 0 {
		return p.learned.Next()
	}
	a := &p.arms[choice]
	v := a.queue[0]
	a.queue = a.queue[1:]
	a.out++
	p.pulls++
	p.try(choice)
	p.take(v)
	return v, true
}

// worth is what a query of an arm is worth.
func (p *best) worth(a *webArm) float64 {
	total := p.total[a.class]
	yield := a.yield.mean(total.mean(1))
	turing := a.links.mean(0)
	if a.targets > 0 {
		turing *= a.once / a.targets
	}
	return (yield+turing)/2 + bonus*math.Sqrt(math.Log(p.pulls+1)/(a.yield.weight+a.out+1))
}

// hasOpen drops the pages of an arm that are not open any more, and reports whether one is.
func (p *best) hasOpen(a *webArm) bool {
	for len(a.queue) > 0 && p.sample.seen[a.queue[0]] != open {
		a.queue = a.queue[1:]
	}
	return len(a.queue) > 0
}

// first returns the first arm of a heap that was not tried, has open pages, and is as it should be; nil: it
// may be any. Those before it are dropped.
func (p *best) first(h *heap.Heap[int], is func(*webArm) bool) (arm int, ok bool) {
	for h.Len() > 0 {
		i := h.Items[0]
		if a := &p.arms[i]; !a.tried && p.hasOpen(a) && (is == nil || is(a)) {
			return i, true
		}
		h.Pop()
	}
	return 0, false
}

// try notes that an arm is tried.
func (p *best) try(i int) {
	a := &p.arms[i]
	a.tried = true
	if !a.among {
		a.among = true
		p.tried = append(p.tried, int32(i))
	}
}

// add puts an open page into the queue of an arm.
func (p *best) add(i int, v graph.Node) {
	a := &p.arms[i]
	had := p.hasOpen(a)
	a.queue = append(a.queue, v)
	switch c := p.total[a.class]; {
	case a.tried:
		p.try(i)
	case !had: // it may have been dropped from the heaps; where it is twice it is dropped twice
		c.untried.Push(i)
		if c.weight == 0 {
			p.untried.Push(i)
		}
	}
}

// ObserveLinks takes in an answer with the places of its links.
func (p *best) ObserveLinks(v graph.Node, links []Link) {
	out := make([]graph.Node, 0, len(links))
	first := map[graph.Node]bool{}
	for _, l := range links {
		if !first[l.To] {
			first[l.To] = true
			out = append(out, l.To)
		}
	}
	p.observe(v, out)
	for _, l := range links {
		if p.sample.seen[l.To] != open || p.arm[l.To] != 0 {
			continue
		}
		class, ok := p.classes.of(&l)
		if !ok {
			continue
		}
		key := armKey{l.Site, class}
		i, ok := p.number[key]
		if !ok {
			i = len(p.arms)
			p.number[key] = i
			p.arms = append(p.arms, webArm{class: class})
			if p.total[class] == nil {
				p.total[class] = &webClass{untried: firstOf()}
			}
		}
		p.arm[l.To] = int32(i + 1)
		p.add(i, l.To)
	}
}

// Observe takes in an answer without places.
func (p *best) Observe(v graph.Node, out []graph.Node) { p.observe(v, out) }

func (p *best) observe(v graph.Node, out []graph.Node) {
	grow := func(u graph.Node) {
		for int(u) >= len(p.arm) {
			p.arm, p.times, p.by = append(p.arm, 0), append(p.times, 0), append(p.by, 0)
		}
	}
	var own *webArm
	number := int32(0)
	if v != graph.None {
		grow(v)
		if number = p.arm[v]; number > 0 {
			own = &p.arms[number-1]
		}
	}
	if own != nil {
		if p.sample.seen[v] == pending {
			own.out--
		} else {
			p.pulls++
		}
	}
	fresh := 0
	for _, u := range out {
		grow(u)
		if int(u) >= len(p.sample.seen) || p.sample.seen[u] == unseen {
			fresh++
		}
		switch p.times[u] {
		case 0:
			p.times[u], p.by[u] = 1, number
			if own != nil {
				own.targets++
				own.once++
			}
		case 1:
			p.times[u] = 2
			if by := p.by[u]; by > 0 {
				p.arms[by-1].once--
			}
		}
	}
	if own != nil {
		own.yield.add(float64(fresh))
		own.links.add(float64(len(out)))
		c := p.total[own.class]
		if c.weight == 0 {
			p.worn = append(p.worn, c)
		}
		c.add(float64(fresh))
		p.try(int(number - 1))
	}
	p.learned.Observe(v, out)
}

// classes tells links apart by their place in the page. A path is a vector of its pairs of
// neighbouring names, hashed to 4096 dimensions; it belongs to the class of the nearest
// centroid if the cosine is at least 0.75, else it begins a class.
type classes struct {
	paths     map[string]uint32
	places    map[uint32]uint32
	centroids [][]float32 // sums of the paths of a class, by class; nil for places
	sizes     []float64   // of the centroids: the sums of their squares, which are whole numbers
}

const (
	classDims   = 4096
	classCosine = 0.75
)

// of returns the class of a link; ok=false: its place is not known.
func (c *classes) of(l *Link) (class uint32, ok bool) {
	if c.paths == nil {
		c.paths, c.places = map[string]uint32{}, map[uint32]uint32{}
	}
	if l.Path == "" {
		if l.Place == 0 {
			return 0, false
		}
		class, ok := c.places[l.Place]
		if !ok {
			class = uint32(len(c.centroids))
			c.centroids, c.sizes = append(c.centroids, nil), append(c.sizes, 0)
			c.places[l.Place] = class
		}
		return class, true
	}
	if class, ok := c.paths[l.Path]; ok {
		return class, true
	}
	x := pathPairs(l.Path)
	norm := 0.0
	for _, n := range x {
		norm += n * n
	}
	nearest, cosine := -1, 0.0
	for i, centroid := range c.centroids {
		if centroid == nil {
			continue
		}
		dot := 0.0
		for d, n := range x {
			dot += n * float64(centroid[d])
		}
		if s := dot / math.Sqrt(norm*c.sizes[i]); s > cosine {
			nearest, cosine = i, s
		}
	}
	if cosine < classCosine {
		nearest = len(c.centroids)
		c.centroids, c.sizes = append(c.centroids, make([]float32, classDims)), append(c.sizes, 0)
	}
	for d, n := range x {
		y := &c.centroids[nearest][d]
		c.sizes[nearest] -= float64(*y) * float64(*y)
		*y += float32(n)
		c.sizes[nearest] += float64(*y) * float64(*y)
	}
	c.paths[l.Path] = uint32(nearest)
	return uint32(nearest), true
}

// pathMarks sets classes and ids apart from their elements.
var pathMarks = strings.NewReplacer(".", " .", "#", " #")

// pathPairs counts the pairs of neighbouring names (elements, ids, classes) of a path by hash;
// the first and the last have a pair each with the edge.
func pathPairs(path string) map[uint32]float64 {
	x := map[uint32]float64{}
	last := ""
	for _, element := range append(strings.Fields(pathMarks.Replace(path)), "") {
		h := fnv.New32a()
		h.Write([]byte(last + " " + element))
		x[h.Sum32()%classDims]++
		last = element
	}
	return x
}
