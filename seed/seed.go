// Package seed chooses where a crawl starts, when the graph of an earlier crawl is known: few
// pages from which much is reached within few hops.
//
// Start with Task, what the seeds are for. Layered is the layered set cover of [ST15, §4],
// which reaches all that a good set L0 reaches with a part of L0; TwoLevel the cover of a cover
// of [ST15, §5.4]; Reach picks K seeds that reach as much as they can. Reached tells what any
// list of seeds is worth, Trust which pages others vouch for.
//
// The package knows nodes only: hosts and domains are numbers that the caller gives to nodes.
package seed

import (
	"errors"
	"fmt"
	"math/bits"

	"forage/graph"
)

// MaxDepth is the largest depth of a Task.
const MaxDepth = 254

// A Task is what seeds are for.
type Task struct {
	Depth   int                     // hops within which pages are to be reached, 1 … MaxDepth
	Weights []float32               // by node, at least 0: what it is worth to reach it; nil: 1 each
	May     func(v graph.Node) bool // whether v may be a seed; nil: every page may
	Limits  []Limit                 // how many seeds may come from one host, one domain
}

// A Limit bounds the seeds of each group of nodes.
type Limit struct {
	Group []uint32 // by node
	Max   int      // seeds of one group, at least 1
}

// ErrNoSeeds says that no page may be a seed.
var ErrNoSeeds = errors.New("seed: no page may be a seed")

func (t *Task) check(n int) error {
	if t.Depth < 1 || t.Depth > MaxDepth {
		return fmt.Errorf("seed: depth %d; want 1 to %d", t.Depth, MaxDepth)
	}
	if t.Weights != nil && len(t.Weights) != n {
		return fmt.Errorf("seed: %d weights for %d nodes", len(t.Weights), n)
	}
	for v, w := range t.Weights {
		if !(w >= 0) {
			return fmt.Errorf("seed: the weight of node %d is %v; want at least 0", v, w)
		}
	}
	for _, l := range t.Limits {
		if l.Max < 1 || len(l.Group) != n {
			return fmt.Errorf("seed: a limit of %d seeds a group for %d nodes; want at least 1 for all %d", l.Max, len(l.Group), n)
		}
	}
	return nil
}

// weight returns what it is worth to reach v.
func (t *Task) weight(v graph.Node) float32 {
	if t.Weights == nil {
		return 1
	}
	return t.Weights[v]
}

func (t *Task) may(v graph.Node) bool { return t.May == nil || t.May(v) }

// A quota counts seeds against limits.
type quota struct {
	limits []Limit
	used   []map[uint32]int
}

func newQuota(limits []Limit) *quota {
	q := &quota{limits: limits}
	for range limits {
		q.used = append(q.used, map[uint32]int{})
	}
	return q
}

func (q *quota) open(v graph.Node) bool {
	for i, l := range q.limits {
		if q.used[i][l.Group[v]] >= l.Max {
			return false
		}
	}
	return true
}

func (q *quota) take(v graph.Node) {
	for i, l := range q.limits {
		q.used[i][l.Group[v]]++
	}
}

// A bitset is a set of nodes, a bit each.
type bitset []uint64

func newBitset(n int) bitset           { return make(bitset, (n+63)/64) }
func (s bitset) has(v graph.Node) bool { return s[v/64]>>(v%64)&1 != 0 }
func (s bitset) add(v graph.Node)      { s[v/64] |= 1 << (v % 64) }
func (s bitset) drop(v graph.Node)     { s[v/64] &^= 1 << (v % 64) }

// nodes returns the members, ascending.
func (s bitset) nodes() []graph.Node {
	k := 0
	for _, x := range s {
		k += bits.OnesCount64(x)
	}
	to := make([]graph.Node, 0, k)
	for w, x := range s {
		for ; x != 0; x &= x - 1 {
			to = append(to, graph.Node(w*64+bits.TrailingZeros64(x)))
		}
	}
	return to
}
