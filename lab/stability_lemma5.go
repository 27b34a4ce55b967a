package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"forage/graph"
	"forage/retain"
)

// [ABCHMT08, Lemma 5]: where a set C_0 in which every node has h links or more from C_0 is in the buffer at some step, and the buffer
// holds more pages than have h links or more, PYRAMID(S_0) is in the core.
//
// The lemma calls S_0 the set that the buffer starts with, and its proof is left out. Two readings are measured: the pyramid of C_0, which
// is what the argument gives (C_0 holds itself, and each level the next), and that of S_0, as printed. C_0 is the largest such set among
// the first nodes, of as many of these as it takes; S_0 is C_0 and random nodes.
func lemma5(ctx context.Context, env *Env) (*Result, error) {
	b := newBench(env)
	b.scales = env.coreScales()
	hs := []int{1, 2, 3, 4}
	values := map[string][]float64{}
	sizes := map[string][2]int{} // of C_0, by h
	none, tried := 0, 0
	err := b.eachSample(ctx, typicalAlpha, false, func(s *sample) {
		in := indegrees(s.g)
		for _, h := range hs {
			tried++
			size := withLinks(in, h) + 1
			c0 := selfHolding(s.g, h)
			if len(c0) == 0 || size >= s.n {
				none++
				continue
			}
			key := fmt.Sprintf("h=%d", h)
			if old, ok := sizes[key]; ok {
				sizes[key] = [2]int{min(old[0], len(c0)), max(old[1], len(c0))}
			} else {
				sizes[key] = [2]int{len(c0), len(c0)}
			}
			s0 := filled(c0, s.n, size, s.r)
			d, err := retain.New(s.g, retain.Config{Buffer: size}, s0, s.r)
			if err != nil {
				panic(err) // sizes are in range
			}
			core := retain.Run(d, coreSteps).Core
			for name, start := range map[string][]graph.Node{pyramidC0: c0, pyramidS0: s0} {
				p := pyramid(s.g, start, h)
				values[name+"|"+key] = append(values[name+"|"+key], share(retain.Overlap(core, p), len(p)))
			}
		}
	}, func(n, _ int) {
		for _, name := range []string{pyramidC0, pyramidS0} {
			for _, h := range hs {
				key := fmt.Sprintf("h=%d", h)
				all := values[name+"|"+key]
				if len(all) == 0 {
					continue
				}
				mean, half := meanInterval(all)
				verdict := holds
				for _, x := range all {
					if x < 1 {
						verdict = violated
					}
				}
				b.rowOf(name, key, n, len(all), mean, mean-half, mean+half, math.NaN(), 1., verdict)
			}
		}
		clear(values)
	})
	if err != nil {
		return nil, err
	}
	lemma5Notes(b.Result, sizes, none, tried)
	b.verdicts()
	return b.Result, nil
}

// The quantities of lemma5.
const (
	pyramidC0 = "share of the pyramid of C_0 in the core"
	pyramidS0 = "share of the pyramid of S_0 in the core"
)

// lemma5Notes says which of the two readings holds.
func lemma5Notes(r *Result, sizes map[string][2]int, none, tried int) {
	for _, name := range []string{pyramidC0, pyramidS0} {
		broken, rows, least := 0, 0, 1.
		for _, row := range r.Rows {
			if row[0] == name {
				rows++
				least = min(least, row[4].(float64))
				if row[9] == violated {
					broken++
				}
			}
		}
		reading := "what the argument gives: every level of the pyramid has h links from the one before, which stays"
		if name == pyramidS0 {
			reading = "the lemma as printed, where S_0 is what the buffer starts with"
		}
		r.Notef("%s (%s): violated in %d of %d rows; the least mean is %.3f.", name, reading, broken, rows, least)
	}
	for h := 1; ; h++ {
		size, ok := sizes[fmt.Sprintf("h=%d", h)]
		if !ok {
			break
		}
		r.Notef("h = %d: C_0 has %d to %d nodes.", h, size[0], size[1])
	}
	if none > 0 {
		r.Notef("Of %d pairs of a graph and h, %d are left out: there is no such set, or the buffer would hold the whole graph.", tried, none)
	}
}

// selfHolding returns the largest set among the first nodes in which every node has h links or more from the set, of the first 2, 4, 8, … nodes
// for which there is one, ascending; nil: there is none in the whole graph.
func selfHolding(g *graph.CSR, h int) []graph.Node {
	n := g.NumNodes()
	for m := min(n, 2); ; m = min(n, 2*m) {
		in := make([]bool, m)
		votes := make([]int, m)
		for v := range m {
			in[v] = true
			for _, u := range g.Successors(graph.Node(v)) {
				if int(u) < m && int(u) != v { // a link to itself is no vote
					votes[u]++
				}
			}
		}
		var leave []graph.Node
		for v := range m {
			if votes[v] < h {
				in[v] = false
				leave = append(leave, graph.Node(v))
			}
		}
		for len(leave) > 0 {
			v := leave[len(leave)-1]
			leave = leave[:len(leave)-1]
			for _, u := range g.Successors(v) {
				if int(u) < m && u != v && in[u] {
					if votes[u]--; votes[u] < h {
						in[u] = false
						leave = append(leave, u)
					}
				}
			}
		}
		var set []graph.Node
		for v := range m {
			if in[v] {
				set = append(set, graph.Node(v))
			}
		}
		if len(set) > 0 || m == n {
			return set
		}
	}
}

// filled returns a set with as many random nodes more as make it the given size, ascending.
func filled(set []graph.Node, n, size int, r *rand.Rand) []graph.Node {
	rest := minus(allNodes(n), set, n)
	in := make([]bool, n)
	for _, v := range set {
		in[v] = true
	}
	for _, i := range retain.RandomStart(len(rest), size-len(set), r) {
		in[rest[i]] = true
	}
	var out []graph.Node
	for v := range n {
		if in[v] {
			out = append(out, graph.Node(v))
		}
	}
	return out
}

// pyramid returns the h-pyramid of a set, ascending: the set, then level by level the nodes with h links or more from the level before
// that no earlier level has.
func pyramid(g *graph.CSR, start []graph.Node, h int) []graph.Node {
	n := g.NumNodes()
	seen, count := make([]bool, n), make([]uint32, n)
	for _, v := range start {
		seen[v] = true
	}
	all := append([]graph.Node(nil), start...)
	for level := start; len(level) > 0; {
		level = votedAtLeast(g, level, h, seen, count)
		all = append(all, level...)
	}
	slices.Sort(all)
	return all
}
