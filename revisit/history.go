package revisit

import (
	"math"
	"slices"

	"forage/graph"
)

// History fetches a greedy cover of the past: maximum coverage over the disjoint union of the
// H_t of all earlier cycles, which [DGKOPT07, §5.3] thought hard to average. A cycle's pages
// weigh √|Y|/|Y| each, faded by α a cycle; covering a column leaves 1−ρ of its weight, as no
// document can be relied on. Roles: the newest four of a template inherit, at half weight,
// what earlier holders of their rank covered. When the ranked list is exhausted, documents
// that never led to anything follow, by the prior that Best uses, those fetched longest ago
// first among equals.
//
// It works from the fetches of partial cycles, too, but knows then only what these showed. Time
// O(entries of the H_t kept + k × documents of a column) a cycle.
type History struct {
	roster
	roles  []int8 // by document: its rank in its template, −1 none
	newest [][]rank
	size   []int
	past   []cycleOf
	heap   []scored
	plan   []graph.Node
	at     int
	done   []bool
}

var _ Policy = (*History)(nil)

// cycleOf is the H of a past cycle, with who held which role.
type cycleOf struct {
	cycle int
	h     *H
	roles [][]roleOf // by group: the roles of its documents
}

type roleOf struct {
	template int32
	rank     int8
}

// Constants of History.
const (
	historyFade = .9 // α
	historyRho  = .85
	historyRole = .5
	historyFar  = 80 // cycles kept; the weight of older ones is below 0.03%
)

// NewHistory returns the history policy.
func NewHistory() *History { return &History{} }

// Learn takes in a document.
func (p *History) Learn(v graph.Node, page Page) {
	if !p.learn(v, page) {
		return
	}
	for len(p.roles) < len(p.pages) {
		p.roles, p.done = append(p.roles, -1), append(p.done, false)
	}
	for int(page.Template) >= len(p.newest) {
		p.newest, p.size = append(p.newest, nil), append(p.size, 0)
	}
	p.size[page.Template]++
	p.newest[page.Template] = insertRank(p.newest[page.Template], rank{p.cycle, v})
}

// insertRank puts r into its place among ranks, newest first.
func insertRank(ranks []rank, r rank) []rank {
	at, _ := slices.BinarySearchFunc(ranks, r, func(a, b rank) int {
		if a.born != b.born {
			return b.born - a.born
		}
		return int(b.v) - int(a.v)
	})
	if at >= maxRoles {
		return ranks
	}
	return slices.Insert(ranks, at, r)
}

// Begin computes the cover.
func (p *History) Begin(_ Time, budget int) {
	p.cycle++
	p.queue = p.queue[:0]
	for T, ranks := range p.newest {
		for r, n := range ranks {
			p.roles[n.v] = -1
			if r < maxRoles && p.size[T] >= 3 {
				p.roles[n.v] = int8(r)
			}
		}
		p.newest[T] = ranks[:min(maxRoles, len(ranks))]
	}
	p.cover(budget)
}

// cover fills plan with the greedy cover of the past, then the tail.
func (p *History) cover(budget int) {
	p.plan, p.at = p.plan[:0], 0
	clear(p.done)
	type column struct {
		weight float64
		docs   []entryOf
	}
	var columns []column
	of := make([][]entryOf, len(p.pages)) // by document: its columns
	holder := make(map[roleOf]graph.Node)
	for T, ranks := range p.newest {
		for r, n := range ranks {
			if p.size[T] >= 3 {
				holder[roleOf{int32(T), int8(r)}] = n.v
			}
		}
	}
	for i := range p.past {
		c := &p.past[i]
		n := float64(c.h.NumNew())
		fade := math.Pow(historyFade, float64(p.cycle-c.cycle))
		first := len(columns)
		for _, pages := range c.h.New {
			columns = append(columns, column{weight: fade * float64(len(pages)) / math.Sqrt(n)})
		}
		for g, cols := range c.h.Cols {
			shows := make(map[graph.Node]float64)
			var order []graph.Node
			for _, x := range c.h.Old[g] {
				if p.candidate(x) {
					shows[x] = 1
					order = append(order, x)
				}
			}
			for _, role := range c.roles[g] {
				if x, ok := holder[role]; ok && shows[x] == 0 && p.candidate(x) {
					shows[x] = historyRole
					order = append(order, x)
				}
			}
			for _, x := range order {
				for _, col := range cols {
					k := first + int(col)
					columns[k].docs = append(columns[k].docs, entryOf{int(x), shows[x]})
					of[x] = append(of[x], entryOf{k, shows[x]})
				}
			}
		}
	}
	value := func(x graph.Node) float64 {
		sum := 0.0
		for _, e := range of[x] {
			sum += columns[e.at].weight * e.part
		}
		return sum
	}
	p.heap = p.heap[:0]
	for x := range p.pages {
		if len(of[x]) > 0 {
			p.heap = append(p.heap, scored{value(graph.Node(x)), graph.Node(x)})
		}
	}
	heapify(p.heap)
	for len(p.heap) > 0 && len(p.plan) < budget {
		top := &p.heap[0]
		if now := value(top.v); now < top.value {
			top.value = now
			down(p.heap, 0)
			continue
		}
		v := top.v
		p.heap = popped(p.heap)
		p.plan = append(p.plan, v)
		p.done[v] = true
		for _, e := range of[v] {
			columns[e.at].weight *= 1 - historyRho*e.part
		}
	}
	if len(p.plan) < budget {
		p.tail(budget - len(p.plan))
	}
}

// entryOf is a column of a document, or a document of a column, and how far it counts.
type entryOf struct {
	at   int
	part float64
}

// tail adds documents that never led to anything.
func (p *History) tail(n int) {
	p.heap = p.heap[:0]
	for v := range p.pages {
		if !p.done[v] && p.candidate(graph.Node(v)) {
			age := float64(p.cycle - int(p.last[v]))
			p.heap = append(p.heap, scored{prior.Of(&p.pages[v], false) * (1 - math.Pow(.8, age)), graph.Node(v)})
		}
	}
	heapify(p.heap)
	for range min(n, len(p.heap)) {
		p.plan = append(p.plan, p.heap[0].v)
		p.heap = popped(p.heap)
	}
}

// Next returns the next document of the plan.
func (p *History) Next() (graph.Node, bool) {
	if p.at == len(p.plan) {
		return 0, false
	}
	v := p.plan[p.at]
	p.at++
	return v, true
}

// Observe notes what is gone.
func (p *History) Observe(v Visit) { p.fetched(v) }

// End keeps the cycle's H.
func (p *History) End(c Cycle) {
	p.recrawled(c)
	p.queue = p.queue[:0]
	if c.H.NumNew() == 0 {
		return
	}
	kept := cycleOf{cycle: p.cycle, h: c.H, roles: make([][]roleOf, len(c.H.Old))}
	for g, docs := range c.H.Old {
		for _, x := range docs {
			if role := p.roles[x]; role >= 0 {
				kept.roles[g] = append(kept.roles[g], roleOf{p.pages[x].Template, role})
			}
		}
	}
	p.past = append(p.past, kept)
	if p.cycle-p.past[0].cycle > historyFar {
		p.past = slices.Delete(p.past, 0, 1)
	}
}
