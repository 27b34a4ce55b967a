package explore

import (
	"math"
	"math/rand/v2"

	"forage/graph"
)

// learned predicts what each open node would show that is new, and queries the one that
// promises most. The prediction is a linear regression of log(1 + new nodes) on features of
// the node, corrected after every answer (leastSquares). Its weights start at 0: to
// start them where crawls of other networks end did not help on a network that is none of
// these. For each choice they are drawn from around the estimate, as far away as the answers
// leave them open (Thompson sampling), and one choice in twenty is a uniform one, so that what
// the features cannot see is found too.
//
// The features tell how many queried nodes link to the node (its parents), how these are
// linked among each other, how large and how new their answers were, and what their other
// neighbours have shown: of all, that is what tells most. A parent of which no neighbour was
// queried is judged by its own answer and by what its parents' neighbours show. How much is
// left around a parent is told by the share of its neighbours that no other answer shows, as in
// the estimate of Good and Turing, and by how many of them are queried, open and barren.
//
// Where queries are told to cost several requests, a node is worth (1 + new nodes) / requests,
// both as predicted.
//
// A query costs O(open nodes · dims) to score, O(dims³) to draw, and O(degrees of the
// parents) to keep the features. Memory: the sample, 350 bytes an open node, 160 a queried one.
type learned struct {
	r       *rand.Rand
	sample  sample
	open    []graph.Node // in no order
	place   []uint32     // by node: where it stands in open, while it does
	x       []vector     // beside open
	kin     []kin        // beside open
	source  []source     // by node: queried ones
	model   *leastSquares
	asked   map[graph.Node]vector // nodes under way, as they were when chosen
	answers int
	cost    costs
	prior   *Prior
	lessons *Lessons // nil: none are asked for
}

// The settings.
const (
	learnedForget   = 0.995 // weight of an example after one more
	learnedDoubt    = 0.1   // variance of a weight before the first answer
	learnedNoise    = 0.3   // of the weights drawn, in standard deviations of the estimate
	learnedUniform  = 0.05  // share of uniform choices
	learnedSmallest = 2.0   // examples that the prior of a parent counts as
	learnedLatest   = 0.3   // weight of the latest neighbour of a parent in latestYield
)

// kin is what an open node owes to its parents, in sums.
type kin struct {
	logDegree, minLogDegree float64
	inverse                 float64 // of the degrees
	share                   float64 // of the answers that was new
	yield                   float64 // expected of a neighbour, see source
	rare                    float64 // 1/√(1 + neighbours queried)
	birth                   float64 // answers in when it was first observed
	declared                float64 // degree; negative: not told
	around                  around
}

// around is what a source tells of its surroundings: the features from once on.
type around [dims - once]float64

func (a *around) add(b *around) {
	for i := range a {
		a[i] += b[i]
	}
}

// source is a queried node, seen as a parent.
type source struct {
	prior float64 // expected log yield of a neighbour before one was queried
	sum   float64 // of its neighbours' log yields
	n     float64 // how many of them were queried

	degree, newShare float64 // of its answer
	distance         float64 // from the start, in links
	once             float64 // neighbours not queried that no other answer shows
	open             float64 // neighbours not queried
	barren           float64 // neighbours queried that showed nothing new
	shares           float64 // of the answers of the neighbours queried, what was new, summed
	logDegrees       float64 // of these answers, summed
	latest           float64 // moving average of their log yields, prior at first
	told             around  // what its open neighbours have of it
}

func (s *source) yield() float64 {
	return (learnedSmallest*s.prior + s.sum) / (learnedSmallest + s.n)
}

func (s *source) rare() float64 { return 1 / math.Sqrt(1+s.n) }

// tell brings told up to date and returns by how much it changed.
func (s *source) tell() (change around) {
	before := s.told
	s.told = around{ // in the order of the features
		s.once / s.degree,
		(learnedSmallest*s.newShare + s.shares) / (learnedSmallest + s.n),
		(learnedSmallest*math.Log(s.degree) + s.logDegrees) / (learnedSmallest + s.n),
		math.Log((1 + s.n) / (1 + s.degree)),
		math.Log1p(s.open),
		(1 + s.barren) / (2 + s.n),
		math.Log1p(s.distance),
		s.latest,
	}
	for i := range change {
		change[i] = s.told[i] - before[i]
	}
	return change
}

// The features of an open node with k parents; age and everything about degrees only as far
// as known.
const (
	one           = iota
	logK          // log k
	rootK         // √k
	squareLogK    // log² k
	single        // k = 1
	clustered     // share of linked pairs of parents
	clusteredLogK // the same · log k
	meanDegree    // of the parents' log degrees
	minDegree     // of the parents' log degrees
	rootInverse   // √Σ 1/degree of a parent
	logInverse    // log Σ 1/degree of a parent
	newShare      // mean share of the parents' answers that was new
	yield         // mean of what the parents' other neighbours showed
	yieldLogK     // the same · log k
	rare          // mean 1/√(1 + neighbours queried) of the parents
	age           // 0: first observed just now, 1: at the start
	declared      // 1 where a degree is declared
	excess        // log(1 + declared degree - k)

	// Means over the parents, of each as it was when a neighbour of it was last queried.
	once          // share of the neighbours that no other answer shows
	siblingShare  // share of the answers of the neighbours queried that was new
	siblingDegree // log degree of these
	queriedShare  // log of the share of the neighbours that are queried
	logOpen       // log(1 + neighbours not queried)
	barrenShare   // share of the neighbours queried that showed nothing new
	logDistance   // log(1 + links from the start)
	latestYield   // moving average of what the neighbours showed

	dims
)

// prior are the weights to start from: 0, but that a declared degree tells most is a guess.
var prior = vector{declared: -1.5, excess: 0.8}

func newLearned(c Config) *learned {
	w := c.Prior
	if w == nil {
		w = startPrior()
	}
	return &learned{r: c.Rand, asked: map[graph.Node]vector{}, prior: w, model: newLeastSquares(w.w, learnedDoubt), cost: costs{most: float64(c.MaxCost)}, lessons: c.Lessons}
}

func (p *learned) Next() (graph.Node, bool) {
	if len(p.open) == 0 {
		return graph.None, false
	}
	best := 0
	if p.r.Float64() < learnedUniform {
		best = p.r.IntN(len(p.open))
	} else {
		w := p.model.draw(p.r, learnedNoise)
		top, ties := math.Inf(-1), 0
		perAge := w[age] / float64(p.answers+1)
		for i := range p.x {
			s := w.dot(&p.x[i]) - perAge*p.kin[i].birth
			if p.cost.n > 0 {
				s -= p.cost.log(p.kin[i].declared)
			}
			switch {
			case s > top:
				top, best, ties = s, i, 1
			case s == top:
				if ties++; p.r.IntN(ties) == 0 {
					best = i
				}
			}
		}
	}
	v := p.open[best]
	p.take(v)
	return v, true
}

// take makes an open node pending.
func (p *learned) take(v graph.Node) {
	p.asked[v] = p.aged(int(p.place[v]))
	p.sample.seen[v] = pending
	p.remove(v)
}

// aged returns the features at place i with the age filled in: it changes with every answer,
// and the same for all.
func (p *learned) aged(i int) vector {
	x := p.x[i]
	x[age] = 1 - p.kin[i].birth/float64(p.answers+1)
	return x
}

func (p *learned) add(v graph.Node) {
	for int(v) >= len(p.place) {
		p.place = append(p.place, 0)
	}
	p.place[v] = uint32(len(p.open))
	p.open = append(p.open, v)
	p.kin = append(p.kin, kin{minLogDegree: math.Inf(1), birth: float64(p.answers), declared: -1})
	p.x = append(p.x, vector{one: 1})
}

func (p *learned) remove(v graph.Node) {
	i, last := p.place[v], len(p.open)-1
	p.open[i], p.kin[i], p.x[i] = p.open[last], p.kin[last], p.x[last]
	p.place[p.open[i]] = i
	p.open, p.kin, p.x = p.open[:last], p.kin[:last], p.x[:last]
}

func (p *learned) Observe(v graph.Node, out []graph.Node) {
	fresh := 0
	for _, u := range out {
		if int(u) >= len(p.sample.seen) || p.sample.seen[u] == unseen {
			fresh++
		}
	}
	known := len(p.sample.seen)
	before := p.sample.answer(v, out)
	for _, u := range out { // new ones get their place
		if p.sample.seen[u] == open && (int(u) >= len(p.place) || int(u) >= known || !p.has(u)) {
			p.add(u)
		}
	}
	if v == graph.None {
		return
	}
	x, ok := p.asked[v]
	switch {
	case before == open:
		x = p.aged(int(p.place[v]))
		p.remove(v)
	case ok:
		delete(p.asked, v)
	default:
		x = vector{one: 1}
	}
	got := math.Log1p(float64(fresh))
	p.model.learn(&x, got, learnedForget)
	if p.lessons != nil && (ok || before == open) {
		p.lessons.nodes.add(x[:], got)
	}
	p.answers++
	degree := float64(max(1, len(out)))
	share := float64(fresh) / degree

	// v as a parent.
	for int(v) >= len(p.source) {
		p.source = append(p.source, source{})
	}
	parents := p.sample.parents[v]
	s := &p.source[v]
	s.prior = got
	if len(parents) > 0 {
		sum := 0.0
		s.distance = math.Inf(1)
		for _, a := range parents {
			q := &p.source[p.sample.node[a]]
			sum += q.yield()
			s.distance = min(s.distance, q.distance+1)
		}
		s.prior = got/2 + sum/float64(len(parents))/2
	}
	s.degree, s.newShare, s.latest = degree, share, s.prior
	for _, u := range out {
		if p.sample.seen[u] == queried {
			continue
		}
		s.open++
		switch a := p.sample.parents[u]; len(a) {
		case 1:
			s.once++
		case 2:
			p.source[p.sample.node[a[0]]].once--
		}
	}
	s.tell()
	for _, u := range out {
		if p.sample.seen[u] != open {
			continue
		}
		k := &p.kin[p.place[u]]
		k.logDegree += math.Log(degree)
		k.minLogDegree = min(k.minLogDegree, math.Log(degree))
		k.inverse += 1 / degree
		k.share += share
		k.yield += s.yield()
		k.rare += s.rare()
		k.around.add(&s.told)
		p.links(u)
	}
	// v as a neighbour of its parents: what they promise changes for their other neighbours.
	for _, a := range parents {
		q := p.sample.node[a]
		s := &p.source[q]
		yield, rare := s.yield(), s.rare()
		s.sum += got
		s.n++
		yield, rare = s.yield()-yield, s.rare()-rare
		s.open--
		if len(parents) == 1 {
			s.once--
		}
		s.shares += share
		s.logDegrees += math.Log(degree)
		if fresh == 0 {
			s.barren++
		}
		s.latest += learnedLatest * (got - s.latest)
		change := s.tell()
		for _, u := range p.sample.out[q] {
			if p.sample.seen[u] == open {
				i := p.place[u]
				p.kin[i].yield += yield
				p.kin[i].rare += rare
				p.kin[i].around.add(&change)
				p.yields(i, 1/float64(len(p.sample.parents[u])))
			}
		}
	}
}

// has reports whether v, seen before, stands in open.
func (p *learned) has(v graph.Node) bool {
	i := p.place[v]
	return int(i) < len(p.open) && p.open[i] == v
}

// links brings up to date what changes when v has a new parent.
func (p *learned) links(v graph.Node) {
	i := p.place[v]
	x, sums := &p.x[i], &p.kin[i]
	k := float64(len(p.sample.parents[v]))
	c := p.sample.clustering(v)
	x[logK], x[rootK] = math.Log(k), math.Sqrt(k)
	x[squareLogK] = x[logK] * x[logK]
	x[single] = 0
	if k == 1 {
		x[single] = 1
	}
	x[clustered], x[clusteredLogK] = c, c*x[logK]
	x[meanDegree], x[minDegree] = sums.logDegree/k, sums.minLogDegree
	x[rootInverse], x[logInverse] = math.Sqrt(sums.inverse), math.Log(sums.inverse)
	x[newShare] = sums.share / k
	if sums.declared >= 0 {
		x[declared], x[excess] = 1, math.Log1p(max(0, sums.declared-k))
	}
	p.yields(i, 1/k)
}

// yields brings up to date what changes when another neighbour of a parent is queried.
func (p *learned) yields(i uint32, perParent float64) {
	x := &p.x[i]
	x[yield] = p.kin[i].yield * perParent
	x[yieldLogK] = x[yield] * x[logK]
	x[rare] = p.kin[i].rare * perParent
	for j, sum := range p.kin[i].around {
		x[once+j] = sum * perParent
	}
}

// ObserveDegree takes in what the network says of the degree of v.
func (p *learned) ObserveDegree(v graph.Node, degree int) {
	if int(v) < len(p.sample.seen) && p.sample.seen[v] == open {
		p.kin[p.place[v]].declared = float64(degree)
		if len(p.sample.parents[v]) > 0 {
			p.links(v)
		}
	}
}

// ObserveCost takes in what a query cost.
func (p *learned) ObserveCost(_ graph.Node, n, requests int) { p.cost.observe(n, requests) }
