package explore

import (
	"math/rand/v2"
	"testing"

	"forage/graph"
)

// TestSampleAgainstNaive: after every query the clustering of each open node is that of the
// links seen so far, counted anew.
func TestSampleAgainstNaive(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		n := 3 + r.IntN(25)
		arcs := make([]graph.Arc, r.IntN(120))
		for i := range arcs {
			arcs[i] = graph.Arc{From: graph.Node(r.IntN(n)), To: graph.Node(r.IntN(n))}
		}
		g := graph.FromArcs(n, arcs)
		if seed%2 == 0 {
			g = g.Undirected()
		}
		var s sample
		queriedNodes := map[graph.Node]bool{}
		for _, v := range r.Perm(n) {
			x := graph.Node(v)
			var out []graph.Node
			for _, u := range g.Successors(x) {
				if u != x {
					out = append(out, u)
				}
			}
			s.answer(x, out)
			queriedNodes[x] = true
			for u := range graph.Node(n) {
				if int(u) >= len(s.seen) || s.seen[u] != open {
					continue
				}
				k, linked := 0, 0
				for a := range queriedNodes {
					if !g.HasArc(a, u) {
						continue
					}
					k++
					for b := range queriedNodes {
						if a < b && g.HasArc(b, u) && (g.HasArc(a, b) || g.HasArc(b, a)) {
							linked++
						}
					}
				}
				want := 0.0
				if k >= 2 {
					want = 2 * float64(linked) / float64(k*(k-1))
				}
				if got := s.clustering(u); got != want || len(s.parents[u]) != k {
					t.Fatalf("seed %d: open node %d after %d queries: clustering %v of %d parents, want %v of %d", seed, u, len(queriedNodes), got, len(s.parents[u]), want, k)
				}
			}
		}
	}
}

// TestCandidatesAgainstNaive: best is one of those that a look at each candidate gives.
func TestCandidatesAgainstNaive(t *testing.T) {
	type shape struct{ degree, triangles int }
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		var c candidates
		c.clear()
		all := map[graph.Node]shape{}
		for v := range graph.Node(1 + r.IntN(80)) {
			k := 1 + r.IntN(1+r.IntN(6))
			s := shape{k, r.IntN(k*(k-1)/2 + 1)}
			c.add(v, s.degree, uint32(s.triangles))
			all[v] = s
		}
		for v := range all {
			if r.IntN(4) == 0 && len(all) > 1 {
				c.remove(v)
				delete(all, v)
			}
		}
		got := c.best(r)
		degrees := []int{}
		top := 0
		for _, s := range all {
			degrees = append(degrees, s.degree)
			top = max(top, s.degree)
		}
		if len(all) <= 10 {
			if all[got].degree != top {
				t.Fatalf("seed %d: best = %v of degree %d, largest %d", seed, got, all[got].degree, top)
			}
			continue
		}
		low := top
		for size := len(all) / 5; ; low-- {
			n := 0
			for _, d := range degrees {
				if d >= low {
					n++
				}
			}
			if n >= size {
				break
			}
		}
		score := func(s shape) float64 {
			c := 0.0
			if s.degree > 1 {
				c = 2 * float64(s.triangles) / float64(s.degree*(s.degree-1))
			}
			if top == low {
				return 0
			}
			return float64(s.degree-low) / float64(top-low) * (1 - c)
		}
		want := 0.0
		for _, s := range all {
			if s.degree >= low {
				want = max(want, score(s))
			}
		}
		if all[got].degree < low || score(all[got]) != want {
			t.Fatalf("seed %d: best = %v, score %v, want %v of degree at least %d", seed, all[got], score(all[got]), want, low)
		}
	}
}

// TestBucketsAgainstNaive: the largest and the ranks are those of a sorted list.
func TestBucketsAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var b buckets
	key := map[graph.Node]int{}
	for range 5000 {
		v := graph.Node(r.IntN(60))
		switch _, in := key[v]; {
		case !in:
			key[v] = r.IntN(20)
			b.put(v, key[v])
		case r.IntN(3) == 0:
			b.remove(v)
			delete(key, v)
		case r.IntN(3) == 0:
			u, _ := b.largest(r)
			for _, k := range key {
				if k > key[u] {
					t.Fatalf("largest has key %d, there is %d", key[u], k)
				}
			}
			delete(key, u)
		default:
			key[v]++
			b.put(v, key[v])
		}
		if b.n != len(key) {
			t.Fatalf("%d nodes, want %d", b.n, len(key))
		}
		for i := range b.n {
			below := 0
			for _, k := range key {
				if k < key[b.smallest(i)] {
					below++
				}
			}
			if below > i {
				t.Fatalf("rank %d has %d nodes below", i, below)
			}
		}
	}
}
