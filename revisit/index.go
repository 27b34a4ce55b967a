package revisit

import (
	"math"

	"forage/graph"
)

// Index gives every document a price that only depends on itself and fetches what is above
// the price of a fetch: a restless bandit's index, in continuous time, without full recrawls.
// Links to new pages appear at rate â and lose their value at rate ϑ (they scroll away, age,
// or others find the page first), so a fetch τ after the last one is worth
//
//	V(τ) = (â/ϑ)·g(ϑτ)/c,   g(x) = 1 − e^−x·(1+x),
//
// c its cost. The rate is estimated from the fetches of the document: after one with gap τ
// that led to n' pages, n ← γ^τ·n + n', e ← γ^τ·e + (1−e^−ϑτ)/ϑ, â = (n+A)/(e+A/a0), where a0
// is the rate of the template, which starts from a prior by kind. A set of pages that many
// documents gained alike (a block that stands on every page) is credited to the first only.
//
// Documents wait in a calendar by the cycle in which V reaches λ, the price of a fetch, which
// follows the budget; 7% of fetches go to the document fetched longest ago. Time is counted in
// cycles. A fetch costs O(1) beside the heap of those that are due, memory 60 bytes a document.
type Index struct {
	roster
	n, e   []float64
	due    []int32 // cycle in whose bucket the document is, −1: in none
	rates  []rate  // by template
	lambda float64

	calendar map[int32][]graph.Node
	horizon  int32 // last bucket that was ever filled
	next     int32 // buckets before are empty
	heap     []scored
	later    []graph.Node // taken out of the heap in this cycle
	put      []int32      // by document: the cycle in which it was put back last
	fetches  int
	worth    float64 // of the cycle's last fetch that was no audit
	spent    int
	budget   int
	blocks   map[uint64]bool // sets of pages credited in this cycle
}

var _ Policy = (*Index)(nil)

// rate is what the fetches of a template's documents found.
type rate struct{ n, e float64 }

// Constants of Index.
const (
	indexTheta = 0.2  // ϑ per cycle
	indexGamma = 0.98 // γ per cycle
	indexTrust = 0.3  // A, pages
	indexAudit = 14   // each 14th fetch is an audit
	indexFar   = 64   // cycles: nothing waits longer
)

// NewIndex returns the index policy.
func NewIndex() *Index {
	return &Index{calendar: make(map[int32][]graph.Node), blocks: make(map[uint64]bool), lambda: 0.05}
}

// Learn takes in a document.
func (p *Index) Learn(v graph.Node, page Page) {
	if !p.learn(v, page) {
		return
	}
	for len(p.n) < len(p.pages) {
		p.n, p.e, p.due, p.put = append(p.n, 0), append(p.e, 0), append(p.due, -1), append(p.put, -1)
	}
	for int(page.Template) >= len(p.rates) {
		p.rates = append(p.rates, rate{})
	}
	p.schedule(v)
}

// prior is the rate of new pages per cycle, as a share of a cycle's pages, of a document of
// which nothing is known.
func (p *Index) prior(v graph.Node) float64 {
	return prior(&p.pages[v])
}

// rate returns â.
func (p *Index) rate(v graph.Node) float64 {
	const weight = 4 // cycles of watching that the prior is worth to a template
	r := &p.rates[p.pages[v].Template]
	a0 := (r.n + weight*p.prior(v)) / (r.e + weight)
	a0 = max(a0, 1e-9)
	return (p.n[v] + indexTrust*p.prior(v)/max(p.prior(v), .05)) / (p.e[v] + indexTrust/max(a0, .05))
}

func indexGain(x float64) float64 { return 1 - math.Exp(-x)*(1+x) }

// value is V now.
func (p *Index) value(v graph.Node) float64 {
	tau := float64(int32(p.cycle) - p.last[v])
	return p.rate(v) / indexTheta * indexGain(indexTheta*tau)
}

// schedule puts v into the bucket of the cycle in which V reaches λ: g is inverted by
// bisection, to a cycle.
func (p *Index) schedule(v graph.Node) {
	want := p.lambda * indexTheta / p.rate(v)
	from, to := int32(1), int32(indexFar)
	for from < to {
		mid := (from + to) / 2
		if indexGain(indexTheta*float64(mid)) >= want {
			to = mid
		} else {
			from = mid + 1
		}
	}
	at := max(p.last[v]+from, int32(p.cycle)+1)
	p.due[v] = at
	p.calendar[at] = append(p.calendar[at], v)
	p.horizon = max(p.horizon, at)
}

// Begin lists what is due.
func (p *Index) Begin(_ Time, budget int) {
	p.cycle++
	p.budget, p.spent, p.worth = budget, 0, -1
	clear(p.blocks)
	p.next = min(max(p.next, 1), int32(p.cycle))
	p.pull(int32(p.cycle))
}

// pull moves the buckets up to cycle at into the heap.
func (p *Index) pull(at int32) {
	for ; p.next <= at; p.next++ {
		for _, v := range p.calendar[p.next] {
			if p.due[v] != p.next || p.gone[v] {
				continue
			}
			p.heap = append(p.heap, scored{p.value(v), v})
			up(p.heap)
		}
		delete(p.calendar, p.next)
	}
}

// Next returns the document with the largest index, or the one fetched longest ago.
func (p *Index) Next() (graph.Node, bool) {
	if p.fetches%indexAudit == indexAudit-1 {
		if v, ok := p.oldest(nil); ok {
			return v, true
		}
	}
	for {
		for len(p.heap) > 0 {
			top := p.heap[0]
			if p.gone[top.v] || int(p.last[top.v]) == p.cycle {
				p.heap = popped(p.heap)
				p.later = append(p.later, top.v)
				continue
			}
			return top.v, true
		}
		if p.next > p.horizon {
			return 0, false
		}
		p.pull(p.next)
	}
}

// Observe credits the document and puts it back into the calendar.
func (p *Index) Observe(v Visit) {
	if p.fetches%indexAudit != indexAudit-1 {
		p.worth = p.value(v.Page)
	}
	p.fetches++
	p.spent++
	tau := float64(int32(p.cycle) - p.last[v.Page])
	p.fetched(v)
	if v.Gone {
		p.due[v.Page] = -1
		return
	}
	if !v.Failed {
		led := float64(len(v.Led))
		if len(v.Led) > 1 {
			block := uint64(14695981039346656037)
			for _, y := range v.Led {
				block = (block ^ uint64(y)) * 1099511628211
			}
			if p.blocks[block] {
				led = 0
			}
			p.blocks[block] = true
		}
		if led > 0 {
			led = math.Sqrt(led) // a cycle with many pages is one event more than many
		}
		r := &p.rates[p.pages[v.Page].Template]
		keep, watched := math.Pow(indexGamma, tau), (1-math.Exp(-indexTheta*tau))/indexTheta
		p.n[v.Page], p.e[v.Page] = keep*p.n[v.Page]+led, keep*p.e[v.Page]+watched
		r.n, r.e = r.n*indexGamma+led, r.e*indexGamma+watched
	}
	p.schedule(v.Page)
}

// End lets λ follow what the budget could pay for, and gives documents that were due and not
// fetched a place in the next cycle.
func (p *Index) End(c Cycle) {
	p.recrawled(c)
	for _, v := range c.Back {
		p.schedule(v)
	}
	if c.Full { // everything was fetched
		for v := range p.pages {
			if p.known[v] && !p.gone[v] && int(p.last[v]) < p.cycle {
				p.e[v] = indexGamma*p.e[v] + (1-math.Exp(-indexTheta))/indexTheta
				p.n[v] *= indexGamma
				p.rates[p.pages[v].Template].e += (1 - math.Exp(-indexTheta)) / indexTheta
				p.last[v] = int32(p.cycle)
			}
		}
		for g, docs := range c.H.Old {
			led := math.Sqrt(float64(c.H.Size(g)))
			for i, x := range docs {
				if int(p.born[x]) < p.cycle && i == 0 {
					p.n[x] += led
					p.rates[p.pages[x].Template].n += led
				}
			}
		}
		for v := range p.pages {
			if p.known[v] && !p.gone[v] {
				p.schedule(graph.Node(v))
			}
		}
		p.heap = p.heap[:0]
	}
	if p.worth >= 0 && p.spent >= p.budget {
		p.lambda += (p.worth - p.lambda) / 4
	}
	// What was taken out of the calendar in this cycle goes back, to its place or to the next
	// cycle.
	for _, s := range p.heap {
		p.later = append(p.later, s.v)
	}
	for _, v := range p.later {
		if p.gone[v] || p.put[v] == int32(p.cycle) {
			continue
		}
		p.put[v] = int32(p.cycle)
		if int(p.last[v]) == p.cycle && p.due[v] >= p.next {
			continue // it is in there, anew
		}
		p.due[v] = max(p.due[v], int32(p.cycle)+1)
		p.calendar[p.due[v]] = append(p.calendar[p.due[v]], v)
		p.horizon = max(p.horizon, p.due[v])
	}
	p.later = p.later[:0]
	p.heap = p.heap[:0]
	p.next = min(p.next, int32(p.cycle)+1)
}
