package revisit

import (
	"math"
	"slices"

	"forage/graph"
	"forage/internal/heap"
)

// History fetches a greedy cover of the past: maximum coverage over the disjoint union of the
// H_t of all earlier cycles, which [DGKOPT07, §5.3] thought hard to average. A cycle's pages
// weigh √|Y|/|Y| each, faded by α a cycle; covering a column leaves 1−ρ of its weight, as no
// document can be relied on. Roles: the newest four of a template inherit, at half weight,
// what earlier holders of their rank covered. When the ranked list is exhausted, documents
// that never led to anything follow, by what is usual for their kind, those fetched longest ago
// first among equals.
//
// It works from the fetches of partial cycles, too, but knows then only what these showed. Time
// O(documents and columns of the H_t kept + k × lots that count for a column) a cycle.
type History struct {
	roster
	roles     []int8   // by document: its rank in its template, −1 none
	newest    [][]rank // by template: its newest documents, newest first
	size      []int
	cycles    []cycleOf // the latest that found pages
	heap      heap.Heap[scored]
	plan      []graph.Node
	at        int
	done      []bool
	replaying bool         // see Replaying
	lot       []int32      // by document, scratch of cover
	next      []graph.Node // by document: the next of its lot; graph.None
}

var _ Replayer = (*History)(nil)

// maxRoles is how many of a template's newest documents inherit.
const maxRoles = 4

// A rank is a document among the newest of its template.
type rank struct {
	born int
	v    graph.Node
}

// cycleOf is the H of a past cycle, with who held which role.
type cycleOf struct {
	cycle int
	h     *CoverGraph
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
func NewHistory() *History { return &History{heap: byValue()} }

// Learn takes in a document.
func (p *History) Learn(v graph.Node, profile Profile) {
	if !p.learn(v, profile) {
		return
	}
	for len(p.roles) < len(p.profiles) {
		p.roles, p.done = append(p.roles, -1), append(p.done, false)
	}
	for int(profile.Template) >= len(p.newest) {
		p.newest, p.size = append(p.newest, nil), append(p.size, 0)
	}
	p.size[profile.Template]++
	p.newest[profile.Template] = p.insertRank(p.newest[profile.Template], rank{p.cycle, v})
}

// insertRank puts r into its place among ranks, newest first. Behind the newest only those stay
// that hold roles, which they have yet to lose.
func (p *History) insertRank(ranks []rank, r rank) []rank {
	at, _ := slices.BinarySearchFunc(ranks, r, func(a, b rank) int {
		if a.born != b.born {
			return b.born - a.born
		}
		return int(b.v) - int(a.v)
	})
	if at >= maxRoles {
		return ranks
	}
	ranks = slices.Insert(ranks, at, r)
	if len(ranks) > maxRoles && p.roles[ranks[maxRoles].v] < 0 {
		ranks = slices.Delete(ranks, maxRoles, maxRoles+1)
	}
	return ranks
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
	p.plan, p.at = p.plan[:0], 0
	if !p.replaying {
		p.cover(budget)
	}
}

// Replaying says whether cycles are over already, and need no plan.
func (p *History) Replaying(on bool) { p.replaying = on }

// A lot is the documents that count for the same columns, each as far. They are worth the same
// whatever is chosen.
type lot struct {
	before int32      // its documents' lot without the columns below; 0: none
	cols   []int32    // of a cycle's H
	first  int        // of this cycle's columns, among all
	part   float64    // how far they count
	docs   graph.Node // the first of its documents, the lowest; graph.None: they are all of other lots
}

// cover fills plan with the greedy cover of the past, then the tail. The heap holds the lowest
// document of each lot: if it held all, each choice would have all others like it valued anew.
func (p *History) cover(budget int) {
	clear(p.done)
	var weights []float64 // by column
	lots := p.lots(&weights)
	shown := make([][]entryOf, len(lots))
	value := func(l int32) float64 {
		sum := 0.0
		for _, e := range shown[l] {
			sum += weights[e.at] * e.part
		}
		return sum
	}
	p.heap.Items = p.heap.Items[:0]
	for l := 1; l < len(lots); l++ {
		if lots[l].docs != graph.None {
			shown[l] = columns(lots, l)
			p.heap.Items = append(p.heap.Items, scored{value(int32(l)), lots[l].docs})
		}
	}
	p.heap.Init()
	for p.heap.Len() > 0 && len(p.plan) < budget {
		top := p.heap.Items[0]
		v := top.v
		l := p.lot[v]
		if now := value(l); now < top.value {
			p.heap.Replace(scored{now, v})
			continue
		}
		p.plan = append(p.plan, v)
		p.done[v] = true
		for _, e := range shown[l] {
			weights[e.at] *= 1 - historyRho*e.part
		}
		if p.next[v] == graph.None {
			p.heap.Pop()
		} else {
			p.heap.Replace(scored{value(l), p.next[v]})
		}
	}
	if len(p.plan) < budget {
		p.tail(budget - len(p.plan))
	}
}

// lots refines one lot of all documents by each group of each cycle in turn, oldest first: those
// of a lot that are in the group, with the same part, move to a lot of their own. So documents end
// in one lot exactly when they count for the same columns, and each lot knows its columns by the
// one that it came from. It returns the lots, number 0 those that count for nothing, and appends the
// weights of all columns.
func (p *History) lots(weights *[]float64) []lot {
	holder := make(map[roleOf]graph.Node)
	for T, ranks := range p.newest {
		for r, n := range ranks {
			if p.size[T] >= 3 {
				holder[roleOf{int32(T), int8(r)}] = n.v
			}
		}
	}
	p.lot = append(p.lot[:0], make([]int32, len(p.profiles))...)
	lots := make([]lot, 1)
	type step struct {
		before int32
		part   float64
	}
	joined, inherits := make(map[step]int32), make(map[graph.Node]bool) // of a group
	for i := range p.cycles {
		c := &p.cycles[i]
		n := float64(c.h.NumNew())
		fade := math.Pow(historyFade, float64(p.cycle-c.cycle))
		first := len(*weights)
		for _, pages := range c.h.New {
			*weights = append(*weights, fade*float64(len(pages))/math.Sqrt(n))
		}
		for g, docs := range c.h.Old {
			clear(joined)
			join := func(x graph.Node, part float64) {
				if !p.candidate(x) {
					return
				}
				s := step{p.lot[x], part}
				l, ok := joined[s]
				if !ok {
					l = int32(len(lots))
					lots, joined[s] = append(lots, lot{before: s.before, cols: c.h.Cols[g], first: first, part: part}), l
				}
				p.lot[x] = l
			}
			for _, x := range docs {
				join(x, 1)
			}
			clear(inherits)
			for _, role := range c.roles[g] {
				x, ok := holder[role]
				if _, own := slices.BinarySearch(docs, x); ok && !own && !inherits[x] {
					join(x, historyRole)
					inherits[x] = true
				}
			}
		}
	}
	for l := range lots {
		lots[l].docs = graph.None
	}
	p.next = append(p.next[:0], make([]graph.Node, len(p.profiles))...)
	for x := len(p.profiles) - 1; x >= 0; x-- {
		l := &lots[p.lot[x]]
		p.next[x], l.docs = l.docs, graph.Node(x)
	}
	return lots
}

// entryOf is a column, and how far documents count for it.
type entryOf struct {
	at   int
	part float64
}

// columns returns the columns that the documents of a lot count for, in their order.
func columns(lots []lot, l int) []entryOf {
	var out []entryOf
	for ; l > 0; l = int(lots[l].before) {
		for _, c := range slices.Backward(lots[l].cols) {
			out = append(out, entryOf{lots[l].first + int(c), lots[l].part})
		}
	}
	slices.Reverse(out)
	return out
}

// tail adds documents that never led to anything.
func (p *History) tail(n int) {
	p.heap.Items = p.heap.Items[:0]
	for v := range p.profiles {
		if !p.done[v] && p.candidate(graph.Node(v)) {
			age := float64(p.cycle - int(p.last[v]))
			p.heap.Items = append(p.heap.Items, scored{usual.of(&p.profiles[v]) * (1 - math.Pow(.8, age)), graph.Node(v)})
		}
	}
	p.heap.Init()
	for range min(n, p.heap.Len()) {
		p.plan = append(p.plan, p.heap.Pop().v)
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
func (p *History) Observe(v Refetch) { p.fetched(v) }

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
				kept.roles[g] = append(kept.roles[g], roleOf{p.profiles[x].Template, role})
			}
		}
	}
	p.cycles = append(p.cycles, kept)
	if p.cycle-p.cycles[0].cycle > historyFar {
		p.cycles = slices.Delete(p.cycles, 0, 1)
	}
}
