package explore

import (
	"math"
	"math/rand/v2"
	"slices"

	"forage/graph"
)

// de is DE-Crawler [DE, §4]: a random walk for the first 15% of the budget, then
// densification (Alg. 2) of the region around a node, and expansion to a node that hangs by
// few links on the sample when densification finds less than it finds again.
//
// What the paper leaves open is read so that its Table 2 comes out: only open nodes next to
// nodes queried in the current densification are candidates of it; their degree and
// clustering come from the whole sample; the degree is min-max normalised over the best 20%,
// the clustering is not; the scores start at 0 with each densification. The paper's code
// queries the start node again after the walk, to no avail; this one expands at once.
//
// Two choices are not written in the paper at all. The node of the expansion, with which a
// densification begins, enters Alg. 2 with an observed degree of 0: its excess degree is its
// whole degree, and the links by which it was known count as seen. And the walk, of which the
// paper cites the method, moves from v to a neighbour u with probability min(1, d(u)/d(v)),
// where d of a node that is not queried is its observed degree.
//
// A query costs O(degree + parents of the nodes in the answer) to keep the sample, and O(distinct degrees)
// to choose. Memory: the sample.
type de struct {
	r      *rand.Rand
	sample sample
	open   buckets // all open nodes, by observed degree

	// the walk
	left     int          // queries left to it
	at, next graph.Node   // where it stands; what was handed out last
	walked   []graph.Node // distinct nodes accepted
	on       []bool       // by node: in walked
	largest  int          // degree of a queried node

	// densification
	dense     bool
	alpha     float64    // weight of what is new, from the walk
	sd, se    float64    // the two scores
	steps     int        // queries of this densification
	lead      graph.Node // its first node
	candidate candidates
}

func newDE(c Config) *de {
	b := c.Budget
	if b == 0 {
		b = 1000 // no budget to take a share of: 150 queries tell the average degree well enough
	}
	return &de{r: c.Rand, left: int(0.15 * float64(b)), at: graph.None, next: graph.None, lead: graph.None}
}

func (p *de) Next() (graph.Node, bool) {
	if p.open.n == 0 {
		return graph.None, false
	}
	if p.left > 0 {
		if v, ok := p.walk(); ok {
			p.left--
			p.next = v
			return p.hand(v)
		}
	}
	if p.dense && p.candidate.n > 0 {
		return p.hand(p.candidate.best(p.r))
	}
	// Expansion (§4.2.3): any node of the bottom 80% by observed degree.
	p.dense, p.sd, p.se, p.steps = true, 0, 0, 0
	p.candidate.clear()
	if p.alpha == 0 {
		p.estimate()
	}
	p.lead = p.open.smallest(p.r.IntN(max(1, p.open.n*8/10)))
	return p.hand(p.lead)
}

func (p *de) hand(v graph.Node) (graph.Node, bool) {
	p.sample.seen[v] = pending
	p.open.remove(v)
	if p.candidate.has(v) {
		p.candidate.remove(v)
	}
	return v, true
}

// walk moves over queried nodes until it accepts an open one (§4.2.1).
func (p *de) walk() (graph.Node, bool) {
	if p.at == graph.None { // the start
		v := p.open.smallest(p.r.IntN(p.open.n))
		p.accept(v)
		return v, true
	}
	for steps := patience * len(p.sample.seen); steps > 0; steps-- {
		out := p.sample.out[p.at]
		if len(out) == 0 {
			break
		}
		u := out[p.r.IntN(len(out))]
		if p.r.Float64()*float64(len(out)) >= float64(p.degree(u)) {
			continue
		}
		p.accept(u)
		switch p.sample.seen[u] {
		case queried:
			p.at = u
		case open:
			return u, true
		}
	}
	v := p.open.smallest(p.r.IntN(p.open.n))
	p.accept(v)
	return v, true
}

// accept notes a node that the walk moved to.
func (p *de) accept(v graph.Node) {
	for int(v) >= len(p.on) {
		p.on = append(p.on, false)
	}
	if !p.on[v] {
		p.on[v] = true
		p.walked = append(p.walked, v)
	}
}

// degree returns the true degree of a queried node, the observed one of another.
func (p *de) degree(v graph.Node) int {
	if p.sample.seen[v] == queried {
		return len(p.sample.out[v])
	}
	return len(p.sample.parents[v])
}

// estimate sets the weight of new nodes from the walk: largest over average degree (§4.2.2),
// the average as the harmonic mean over the nodes walked.
func (p *de) estimate() {
	sum, n := 0.0, 0
	for _, v := range p.walked {
		if d := p.degree(v); d > 0 {
			sum += 1 / float64(d)
			n++
		}
	}
	p.alpha = 1
	if n > 0 {
		p.alpha = max(1, float64(p.largest)) / math.Ceil(float64(n)/sum)
	}
}

func (p *de) Observe(v graph.Node, out []graph.Node) {
	fresh, known := 0, 0
	for _, u := range out {
		if int(u) >= len(p.sample.seen) || p.sample.seen[u] == unseen {
			fresh++
		}
	}
	if v != graph.None && int(v) < len(p.sample.parents) && v != p.lead {
		known = len(p.sample.parents[v])
	}
	if p.sample.answer(v, out) == open {
		p.open.remove(v)
		if p.candidate.has(v) {
			p.candidate.remove(v)
		}
	}
	for _, u := range out {
		if p.sample.seen[u] != open {
			continue
		}
		k := len(p.sample.parents[u])
		p.open.put(u, k)
		switch {
		case p.candidate.has(u):
			p.candidate.remove(u)
			p.candidate.add(u, k, p.sample.triangles[u])
		case p.dense && v != graph.None:
			p.candidate.add(u, k, p.sample.triangles[u])
		}
	}
	if v == graph.None {
		return
	}
	p.largest = max(p.largest, len(out))
	if v == p.next || p.at == graph.None {
		p.at = v
	}
	if !p.dense {
		return
	}
	// Alg. 2, lines 4 and 5.
	p.steps++
	var gain, again float64
	if excess := len(out) - known; excess > 0 {
		gain, again = float64(fresh)/float64(excess), float64(excess-fresh)/float64(excess)
	}
	p.sd = p.alpha*gain + 0.5*p.sd
	p.se = again + 0.5*p.se
	p.dense = p.sd >= p.se
}

// candidates are the open nodes that a densification can choose from, by observed degree and
// triangles, so that the best is found without a look at each. Memory 12 bytes a node seen.
type candidates struct {
	degrees []byTriangles // by observed degree
	where   []place       // by node
	round   uint32
	n       int
}

// place is where a candidate is found.
type place struct{ round, degree, triangles, at uint32 } // in the set if round is the current one

// byTriangles are the candidates of one degree.
type byTriangles struct {
	n         int
	triangles []uint32       // ascending, each in use
	nodes     [][]graph.Node // beside triangles
}

func (c *candidates) clear() {
	for k := range c.degrees {
		c.degrees[k] = byTriangles{}
	}
	c.round++
	c.n = 0
}

func (c *candidates) has(v graph.Node) bool {
	return int(v) < len(c.where) && c.where[v].round == c.round && c.round > 0
}

func (c *candidates) add(v graph.Node, degree int, triangles uint32) {
	for int(v) >= len(c.where) {
		c.where = append(c.where, place{})
	}
	for degree >= len(c.degrees) {
		c.degrees = append(c.degrees, byTriangles{})
	}
	d := &c.degrees[degree]
	i, ok := slices.BinarySearch(d.triangles, triangles)
	if !ok {
		d.triangles = slices.Insert(d.triangles, i, triangles)
		d.nodes = slices.Insert(d.nodes, i, nil)
	}
	c.where[v] = place{c.round, uint32(degree), triangles, uint32(len(d.nodes[i]))}
	d.nodes[i] = append(d.nodes[i], v)
	d.n++
	c.n++
}

func (c *candidates) remove(v graph.Node) {
	w := &c.where[v]
	d := &c.degrees[w.degree]
	i, _ := slices.BinarySearch(d.triangles, w.triangles)
	in := d.nodes[i]
	last := in[len(in)-1]
	in[w.at] = last
	c.where[last].at = w.at
	d.nodes[i] = in[:len(in)-1]
	if len(in) == 1 {
		d.triangles = slices.Delete(d.triangles, i, i+1)
		d.nodes = slices.Delete(d.nodes, i, i+1)
	}
	w.round = 0
	d.n--
	c.n--
}

// best returns the candidate of the largest score (1 - clustering) · degree, the degree
// normalised over the top 20% by degree, ties at random (Alg. 2, line 6); with at most ten
// left, one of the largest degree.
func (c *candidates) best(r *rand.Rand) graph.Node {
	top := len(c.degrees) - 1
	for c.degrees[top].n == 0 {
		top--
	}
	if c.n <= 10 {
		return c.degrees[top].node(r.IntN(c.degrees[top].n))
	}
	size, low := c.n/5, top // the top 20%, and the smallest degree in it
	for rest := size - c.degrees[top].n; rest > 0; {
		low--
		rest -= c.degrees[low].n
	}
	best, score, ties := graph.None, 0.0, 0
	for k := top; k > low; k-- {
		d := &c.degrees[k]
		if d.n == 0 {
			continue
		}
		clustering := 0.0
		if k > 1 {
			clustering = 2 * float64(d.triangles[0]) / float64(k*(k-1))
		}
		switch s := float64(k-low) / float64(top-low) * (1 - clustering); {
		case s > score:
			best, score, ties = graph.None, s, len(d.nodes[0])
		case s == score && s > 0:
			ties += len(d.nodes[0])
		default:
			continue
		}
		if best == graph.None || r.IntN(ties) < len(d.nodes[0]) {
			best = d.nodes[0][r.IntN(len(d.nodes[0]))]
		}
	}
	if score > 0 {
		return best
	}
	// All score 0: those of the lowest degree by their degree, the others by clustering 1.
	i := r.IntN(size)
	for k := top; k > low; k-- {
		if i < c.degrees[k].n {
			return c.degrees[k].node(i)
		}
		i -= c.degrees[k].n
	}
	return c.degrees[low].node(r.IntN(c.degrees[low].n)) // any part of it may be in the top 20%
}

// node returns the i-th node.
func (d *byTriangles) node(i int) graph.Node {
	for _, in := range d.nodes {
		if i < len(in) {
			return in[i]
		}
		i -= len(in)
	}
	panic("explore: more candidates counted than there are")
}
