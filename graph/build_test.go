package graph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestFromBlocksAgainstFromArcs(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		n := 1 + r.IntN(1<<r.IntN(18))
		m := r.IntN(1 << r.IntN(20))
		arcs := randomArcs(r, n, m)
		if seed%3 == 0 {
			slices.SortFunc(arcs, func(a, b Arc) int { return int(a.From) - int(b.From) })
		}
		want := FromArcs(n, arcs)
		for _, threads := range []int{1, 2, 7} {
			var blocks [][]Arc
			for rest := slices.Clone(arcs); len(rest) > 0; {
				k := 1 + r.IntN(len(rest))
				blocks, rest = append(blocks, rest[:k]), rest[k:]
			}
			got := FromBlocks(n, blocks, threads)
			if !slices.Equal(got.Offset, want.Offset) || !slices.Equal(got.Succ, want.Succ) {
				t.Fatalf("seed %d: FromBlocks(%d, %d arcs, %d threads) differs from FromArcs", seed, n, m, threads)
			}
		}
	}
}

func TestFromBlocksEmpty(t *testing.T) {
	for _, n := range []int{0, 1, 5} {
		g := FromBlocks(n, nil, 2)
		if err := g.Check(); err != nil || g.NumNodes() != n || g.NumArcs() != 0 {
			t.Errorf("FromBlocks(%d, nil) = %d nodes, %d arcs, %v", n, g.NumNodes(), g.NumArcs(), err)
		}
	}
}

func TestFromBlocksPanicsOutOfRange(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for an arc outside the graph")
		}
	}()
	FromBlocks(3, [][]Arc{{{0, 1}}, {{1, 3}}}, 2)
}

func BenchmarkFromBlocks(b *testing.B) {
	for _, order := range []string{"random", "sorted"} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("order=%s/threads=%d", order, threads), func(b *testing.B) {
				const n, m = 1 << 19, 1 << 23
				r := rand.New(rand.NewPCG(1, 1))
				arcs := randomArcs(r, n, m)
				if order == "sorted" {
					slices.SortFunc(arcs, func(a, b Arc) int { return int(a.From) - int(b.From) })
				}
				block := make([]Arc, m)
				for b.Loop() {
					b.StopTimer()
					copy(block, arcs)
					b.StartTimer()
					FromBlocks(n, [][]Arc{block}, threads)
				}
				b.ReportMetric(float64(m)*float64(b.N)/b.Elapsed().Seconds(), "arcs/s")
			})
		}
	}
}
