// Package retain decides which pages a crawler keeps when its store is smaller than the web:
// the bounded buffer of [ABCHMT08, §1]. The buffer holds b pages; every step explores the
// links of all of them and stores, out of the buffer and what those links lead to, the b
// pages that score best. The pages that stay for ever are the core.
//
// Start with Config and New, which make a Dynamics; Step moves it. Run follows it to its
// limit cycle, Watch follows a stochastic one, or one on a changing graph, for some steps.
// A Buffer is the same decision for a live crawl, which learns its links one page at a time: a
// Stepper moves as a Dynamics does, a Keeper goes by votes from everything fetched.
//
// The package knows nodes only. It holds no page and deletes none: the caller does.
package retain

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"forage/graph"
)

// A Rule is what makes a page worth keeping.
type Rule int

const (
	// InDegree counts the links from the buffer: the rule that the paper analyses.
	InDegree Rule = iota
	// PageRank ranks the graph of the buffer, what it links to, and the arcs from the buffer.
	PageRank
	// Everything counts the links from every page that was ever in the buffer; any page
	// known from one of them may be stored.
	Everything
)

var ruleNames = []string{"indegree", "pagerank", "everything"}

func (r Rule) String() string { return ruleNames[r] }

// Ties tells which of two pages with the same score is kept.
type Ties int

const (
	// Random gives each page a priority, drawn once a run.
	Random Ties = iota
	// ID keeps the page with the lowest number. In generated graphs the number often is the
	// rank, so this leaks what the rule should find out.
	ID
	// Incumbent keeps the page that is in the buffer, then the one of higher random priority.
	Incumbent
)

var tieNames = []string{"random", "id", "incumbent"}

func (t Ties) String() string { return tieNames[t] }

// ParseRule returns the rule of that name.
func ParseRule(name string) (Rule, error) {
	for i, s := range ruleNames {
		if s == name {
			return Rule(i), nil
		}
	}
	return 0, fmt.Errorf("there is no rule %q; known: %v", name, ruleNames)
}

// ParseTies returns the way to break ties of that name.
func ParseTies(name string) (Ties, error) {
	for i, s := range tieNames {
		if s == name {
			return Ties(i), nil
		}
	}
	return 0, fmt.Errorf("ties are broken by %v, not by %q", tieNames, name)
}

// Config says how a buffer behaves. Its zero value, but for Buffer, is the paper's.
type Config struct {
	Buffer    int     // pages that fit, at least 1; all pages fit where it is at least the graph's
	Rule      Rule    // zero: InDegree
	Ties      Ties    // zero: Random
	Links     float64 // share of the links of each page that one step follows, drawn anew each step; 0 means all
	SelfLoops bool    // a page's link to itself counts too
	Lead      int     // links by which a page must lead one of the buffer to take its place; only for InDegree
	Damping   float64 // of PageRank; 0 means 0.85
	Tolerance float64 // PageRank stops when the scores change by less in sum; 0 means 1e-9
}

// A Dynamics is a buffer on a graph. It is not safe for concurrent use.
// Memory: 8 bytes a node, and a few bits; with PageRank about 12 bytes a node of the buffer
// and its links, and 4 bytes for each link, more.
type Dynamics struct {
	g *graph.CSR
	c Config
	r *rand.Rand

	priority []uint32 // by node, a permutation: lower wins
	score    []uint32 // by node; zero between steps, but for the rule Everything
	in, next bitset   // the buffer, and the one after it
	hash     uint64   // of the set in the buffer
	known    []graph.Node
	voted    bitset // rule PageRank and Lead: the buffer links to it
	fetched  bitset // rule Everything: was ever in the buffer
	zero     int    // pages of the buffer without a vote when it was stored
	followed uint64 // links followed by the last step

	ties  []uint64 // scratch: priority<<32 | node
	count []int    // scratch of threshold
	rank  ranker
}

// New returns a buffer on g that starts with the given distinct pages, at most c.Buffer of
// them. Where r is needed it must not be nil: for random priorities and for Links < 1.
// Fewer pages than the buffer holds are filled up as soon as there are candidates.
func New(g *graph.CSR, c Config, start []graph.Node, r *rand.Rand) (*Dynamics, error) {
	n := g.NumNodes()
	switch {
	case n == 0:
		return nil, fmt.Errorf("retain: the graph has no nodes")
	case c.Buffer < 1:
		return nil, fmt.Errorf("retain: a buffer of %d pages; want at least 1", c.Buffer)
	case !(c.Links >= 0 && c.Links <= 1):
		return nil, fmt.Errorf("retain: %v of the links are followed; want a share in (0, 1]", c.Links)
	case c.Lead < 0 || c.Lead > 1<<20 || c.Lead > 0 && c.Rule != InDegree:
		return nil, fmt.Errorf("retain: a lead of %d links by the rule %v; want at least 0, and the rule indegree", c.Lead, c.Rule)
	case c.Damping == 0:
		c.Damping = 0.85
	}
	if c.Damping < 0 || c.Damping >= 1 {
		return nil, fmt.Errorf("retain: damping %v; want it in (0, 1)", c.Damping)
	}
	if c.Tolerance == 0 {
		c.Tolerance = 1e-9
	}
	c.Buffer = min(c.Buffer, n)
	if len(start) > c.Buffer {
		return nil, fmt.Errorf("retain: %d pages to start from in a buffer of %d", len(start), c.Buffer)
	}
	d := &Dynamics{g: g, c: c, r: r, priority: make([]uint32, n), score: make([]uint32, n), in: newBitset(n), next: newBitset(n)}
	for i := range d.priority {
		d.priority[i] = uint32(i)
	}
	if c.Ties != ID {
		r.Shuffle(n, func(i, j int) { d.priority[i], d.priority[j] = d.priority[j], d.priority[i] })
	}
	for _, v := range start {
		if int(v) >= n {
			return nil, fmt.Errorf("retain: page %d to start from; the graph has %d", v, n)
		}
		if d.in.has(v) {
			return nil, fmt.Errorf("retain: page %d twice among those to start from", v)
		}
		d.in.add(v)
		d.hash ^= mix(uint64(v))
	}
	d.voted = newBitset(n)
	if c.Rule == Everything {
		d.fetched = newBitset(n)
	}
	return d, nil
}

// RandomStart returns b distinct nodes of n, ascending: the paper's B_0. Where b ≥ n it
// takes all, without r.
func RandomStart(n, b int, r *rand.Rand) []graph.Node { return graph.Sample(n, b, r) }

// SetGraph changes the graph under the buffer; its number of nodes must be the same.
// The rule Everything keeps the votes that it has counted.
func (d *Dynamics) SetGraph(g *graph.CSR) {
	if g.NumNodes() != d.g.NumNodes() {
		panic(fmt.Sprintf("retain: a graph of %d nodes in place of one of %d", g.NumNodes(), d.g.NumNodes()))
	}
	d.g = g
}

// Remove takes pages out of the buffer that are gone from the graph; those that are not in
// it are left alone. The places are filled again as at the start.
func (d *Dynamics) Remove(gone []graph.Node) {
	for _, v := range gone {
		if d.in.has(v) {
			d.in[v/64] &^= 1 << (v % 64)
			d.hash ^= mix(uint64(v))
		}
	}
}

// Graph returns the graph under the buffer.
func (d *Dynamics) Graph() *graph.CSR { return d.g }

// Buffer appends the pages of the buffer to to, ascending.
func (d *Dynamics) Buffer(to []graph.Node) []graph.Node { return d.in.appendTo(to) }

// ZeroVotes returns how many pages of the buffer had not one link from the buffer before.
func (d *Dynamics) ZeroVotes() int { return d.zero }

// Deterministic reports whether a step depends on nothing but the buffer.
func (d *Dynamics) Deterministic() bool { return d.c.Links == 0 || d.c.Links == 1 }

// Step moves the buffer by one step: C_t = EXPLORE(S_{t-1}), S_t = STORE(S_{t-1}, C_t). It
// returns the pages that came or went, ascending, in a slice that the caller may keep.
// Time O(links of the buffer + NumNodes/64) for InDegree.
func (d *Dynamics) Step() (flipped []graph.Node) {
	clear(d.voted)
	switch d.c.Rule {
	case Everything:
		d.voteEver()
	case PageRank:
		d.voteRank()
	default:
		d.vote()
		if d.c.Lead > 0 {
			d.favour()
		}
	}
	clear(d.next)
	d.store()
	if d.c.Rule == PageRank || d.c.Lead > 0 {
		d.zero = 0
		for w, x := range d.next {
			d.zero += bits.OnesCount64(x &^ d.voted[w])
		}
	}
	if d.c.Rule != Everything {
		for _, v := range d.known {
			d.score[v] = 0
		}
		d.known = d.known[:0]
	}
	for w, x := range d.in {
		for x ^= d.next[w]; x != 0; x &= x - 1 {
			v := graph.Node(w*64 + bits.TrailingZeros64(x))
			flipped = append(flipped, v)
			d.hash ^= mix(uint64(v))
		}
	}
	d.in, d.next = d.next, d.in
	return flipped
}

// vote counts the links from the buffer and lists the pages that got one.
func (d *Dynamics) vote() {
	d.followed = 0
	for w, x := range d.in {
		for ; x != 0; x &= x - 1 {
			d.voteOf(graph.Node(w*64 + bits.TrailingZeros64(x)))
		}
	}
}

// favour gives the pages of the buffer their lead: votes count two, a page of the buffer
// has one less than twice the lead more, so that a lead of just Lead suffices.
func (d *Dynamics) favour() {
	for _, v := range d.known {
		d.voted.add(v)
		d.score[v] *= 2
	}
	for w, x := range d.in {
		for ; x != 0; x &= x - 1 {
			v := graph.Node(w*64 + bits.TrailingZeros64(x))
			if d.score[v] == 0 {
				d.known = append(d.known, v)
			}
			d.score[v] += uint32(2*d.c.Lead - 1)
		}
	}
}

// SetLead changes the lead; it panics where New would refuse it.
func (d *Dynamics) SetLead(lead int) {
	if lead < 0 || lead > 0 && d.c.Rule != InDegree {
		panic(fmt.Sprintf("retain: a lead of %d by the rule %v", lead, d.c.Rule))
	}
	d.c.Lead = lead
}

// voteOf counts the links of u.
func (d *Dynamics) voteOf(u graph.Node) {
	out := d.g.Successors(u)
	all := d.Deterministic()
	for _, v := range out {
		if v == u && !d.c.SelfLoops || !all && !d.follows() {
			continue
		}
		if d.score[v] == 0 {
			d.known = append(d.known, v)
		}
		d.score[v]++
		d.followed++
	}
}

// follows draws whether this step follows one link.
func (d *Dynamics) follows() bool { return d.r.Float64() < d.c.Links }

// voteEver counts the links of the pages that are in the buffer for the first time.
func (d *Dynamics) voteEver() {
	d.followed = 0
	for w, x := range d.in {
		x &^= d.fetched[w]
		d.fetched[w] |= x
		for ; x != 0; x &= x - 1 {
			d.voteOf(graph.Node(w*64 + bits.TrailingZeros64(x)))
		}
	}
}

// store chooses the next buffer: the pages with the best score, known pages with a vote
// first, then those of the buffer without one.
func (d *Dynamics) store() {
	b := d.c.Buffer
	if len(d.known) <= b {
		for _, v := range d.known {
			d.next.add(v)
		}
		d.ties = d.ties[:0]
		for w, x := range d.in {
			for x &^= d.next[w]; x != 0; x &= x - 1 {
				v := graph.Node(w*64 + bits.TrailingZeros64(x))
				d.ties = append(d.ties, uint64(d.priority[v])<<32|uint64(v))
			}
		}
		d.zero = min(b-len(d.known), len(d.ties))
		d.keep(d.ties, d.zero)
		return
	}
	d.zero = 0
	least, r := d.threshold(d.known, b)
	d.ties = d.ties[:0]
	for _, v := range d.known {
		switch s := d.score[v]; {
		case s > least:
			d.next.add(v)
		case s == least:
			d.ties = append(d.ties, uint64(d.priority[v])<<32|uint64(v))
		}
	}
	ties := d.ties
	if d.c.Ties == Incumbent {
		// Incumbents to the front.
		k := 0
		for i, t := range ties {
			if d.in.has(graph.Node(uint32(t))) {
				ties[i], ties[k] = ties[k], ties[i]
				k++
			}
		}
		first := min(k, r)
		d.keep(ties[:k], first)
		ties, r = ties[k:], r-first
	}
	d.keep(ties, r)
}

// keep puts the r pages of lowest priority value into the next buffer.
func (d *Dynamics) keep(ties []uint64, r int) {
	lowest(ties, r)
	for _, t := range ties[:r] {
		d.next.add(graph.Node(uint32(t)))
	}
}

// threshold returns the least score of the b best of nodes, b < len(nodes), and how many of
// those with exactly this score are among the b. It counts scores: in one pass where all are
// below 2^16, else by their upper, then their lower half.
func (d *Dynamics) threshold(nodes []graph.Node, b int) (least uint32, r int) {
	most := uint32(0)
	for _, v := range nodes {
		most = max(most, d.score[v])
	}
	if most < 1<<16 {
		count := d.counts(int(most) + 1)
		for _, v := range nodes {
			count[d.score[v]]++
		}
		return cut(count, b)
	}
	count := d.counts(1 << 16)
	for _, v := range nodes {
		count[d.score[v]>>16]++
	}
	hi, r := cut(count, b)
	count = d.counts(1 << 16)
	for _, v := range nodes {
		if d.score[v]>>16 == hi {
			count[d.score[v]&0xffff]++
		}
	}
	lo, r := cut(count, r)
	return hi<<16 | lo, r
}

// cut returns the value at which the b largest end, count[x] being how often x occurs, and how many
// of its occurrences are among them.
func cut(count []int, b int) (x uint32, r int) {
	i := len(count) - 1
	for ; count[i] < b; i-- {
		b -= count[i]
	}
	return uint32(i), b
}

// counts returns n zeros.
func (d *Dynamics) counts(n int) []int {
	if cap(d.count) < n {
		d.count = make([]int, n)
	}
	clear(d.count[:n])
	return d.count[:n]
}

// lowest moves the r lowest of distinct values to the front, in any order. Expected time
// O(len(x)).
func lowest(x []uint64, r int) {
	lo, hi := 0, len(x)
	for r > lo && r < hi && hi-lo > 1 {
		// Median of three, then Hoare's partition.
		a, b, c := x[lo], x[lo+(hi-lo)/2], x[hi-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := lo, hi-1
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case r <= j:
			hi = j + 1
		case r >= i:
			lo = i
		default:
			return
		}
	}
}

// mix is the finalizer of splitmix64: the hash of a set is the exclusive or of its members'.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// A bitset is a set of nodes, a bit each.
type bitset []uint64

func newBitset(n int) bitset           { return make(bitset, (n+63)/64) }
func (s bitset) has(v graph.Node) bool { return s[v/64]>>(v%64)&1 != 0 }
func (s bitset) add(v graph.Node)      { s[v/64] |= 1 << (v % 64) }
func (s bitset) appendTo(to []graph.Node) []graph.Node {
	for w, x := range s {
		for ; x != 0; x &= x - 1 {
			to = append(to, graph.Node(w*64+bits.TrailingZeros64(x)))
		}
	}
	return to
}
