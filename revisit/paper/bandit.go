package paper

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"forage/graph"
	"forage/revisit"
)

// Bandit is the multi-armed bandit of [DGKOPT07, §6]: documents are arms, k are pulled in a
// batch, and the reward of an arm is the share of the cycle's found pages that it leads to
// (its degree, not what it adds). It takes no free recrawl: only its own fetches teach it. With
// epsilon 0 it is UCB1, which tries every arm once first; else ε-greedy, which pulls a random
// arm with probability ε and the best so far otherwise. O(documents + k log k) a cycle.
type Bandit struct {
	documents
	epsilon float64
	rand    *rand.Rand

	sum, pulls []float64 // by document: of its rewards; how often it was pulled
	total      float64
	pulled     []graph.Node
	led        []int // by pulled
	found      int
}

var _ revisit.Policy = (*Bandit)(nil)

// NewBandit returns UCB1 for epsilon 0, else ε-greedy, which needs a source of chance.
func NewBandit(epsilon float64, r *rand.Rand) *Bandit { return &Bandit{epsilon: epsilon, rand: r} }

// Begin plans the batch.
func (p *Bandit) Begin(_ revisit.Time, budget int) {
	p.cycle++
	p.pulled, p.led, p.found = p.pulled[:0], p.led[:0], 0
	for len(p.sum) < len(p.born) {
		p.sum, p.pulls = append(p.sum, 0), append(p.pulls, 0)
	}
	value := make([]float64, len(p.born))
	p.plan = p.old(p.plan[:0])
	for _, v := range p.plan {
		switch {
		case p.pulls[v] > 0 && p.epsilon > 0:
			value[v] = p.sum[v] / p.pulls[v]
		case p.pulls[v] > 0:
			value[v] = p.sum[v]/p.pulls[v] + math.Sqrt(2*math.Log(p.total)/p.pulls[v])
		case p.epsilon == 0:
			value[v] = math.Inf(1)
		}
	}
	slices.SortFunc(p.plan, func(a, b graph.Node) int { return cmp.Or(-cmp.Compare(value[a], value[b]), cmp.Compare(a, b)) })
	if p.epsilon > 0 {
		for i := range min(budget, len(p.plan)) {
			if p.rand.Float64() < p.epsilon {
				j := i + p.rand.IntN(len(p.plan)-i)
				v := p.plan[j]
				copy(p.plan[i+1:j+1], p.plan[i:j])
				p.plan[i] = v
			}
		}
	}
}

// Observe notes what an arm led to.
func (p *Bandit) Observe(v revisit.Refetch) {
	p.documents.Observe(v)
	p.found += len(v.Found)
	n := 0
	for _, y := range v.Led {
		if int(p.born[y]) == p.cycle {
			n++
		}
	}
	p.pulled, p.led = append(p.pulled, v.Page), append(p.led, n)
}

// End rewards the arms of a cycle that found pages.
func (p *Bandit) End(c revisit.Cycle) {
	p.documents.End(c)
	if p.found == 0 {
		return
	}
	for i, v := range p.pulled {
		p.pulls[v]++
		p.total++
		p.sum[v] += float64(p.led[i]) / float64(p.found)
	}
}
