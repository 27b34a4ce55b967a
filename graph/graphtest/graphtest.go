// Package graphtest tests implementations of graph.Scanner and graph.Graph.
package graphtest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"forage/graph"
)

// Run checks that g keeps the promises of graph.Scanner, and of graph.Graph if it is one, and
// is the same graph as want. It reads g in order, in random ranges and at random nodes, also
// from several goroutines at once.
func Run(t *testing.T, g graph.Scanner, want *graph.CSR) {
	t.Helper()
	n := graph.Node(want.NumNodes())
	if g.NumNodes() != int(n) || g.NumArcs() != want.NumArcs() {
		t.Fatalf("%d nodes and %d arcs, want %d and %d", g.NumNodes(), g.NumArcs(), n, want.NumArcs())
	}
	scan := func(lo, hi graph.Node) {
		next := lo
		err := g.Scan(lo, hi, func(v graph.Node, succ []graph.Node) error {
			if v != next || !slices.Equal(succ, want.Successors(v)) {
				t.Errorf("Scan(%d, %d) visits %d with %v, want %d with %v", lo, hi, v, succ, next, want.Successors(next))
				return errStop
			}
			next++
			return nil
		})
		if err == nil && next != max(lo, hi) {
			t.Errorf("Scan(%d, %d) ends before %d", lo, hi, next)
		}
		if err != nil && !errors.Is(err, errStop) {
			t.Errorf("Scan(%d, %d): %v", lo, hi, err)
		}
	}
	scan(0, n)
	scan(n, n)
	if n == 0 {
		return
	}
	scan(n-1, n)
	scan(n-1, 0)
	visits := 0
	if err := g.Scan(0, n, func(graph.Node, []graph.Node) error { visits++; return errStop }); !errors.Is(err, errStop) || visits != 1 {
		t.Errorf("Scan after an error of visit: %d visits, %v; want 1 and that error", visits, err)
	}
	var wg sync.WaitGroup
	for seed := range uint64(3) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 30))
			for range 20 {
				lo := graph.Node(r.IntN(int(n)))
				scan(lo, min(n, lo+graph.Node(r.IntN(300))))
			}
		})
	}
	wg.Wait()
	random, ok := g.(graph.Graph)
	if !ok || t.Failed() {
		return
	}
	for seed := range uint64(3) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 31))
			var buf []graph.Node
			for range 300 {
				v := graph.Node(r.IntN(int(n)))
				var err error
				buf, err = random.AppendSuccessors(append(buf[:0], 1, 2), v)
				if err != nil || !slices.Equal(buf[:2], []graph.Node{1, 2}) || !slices.Equal(buf[2:], want.Successors(v)) {
					t.Errorf("AppendSuccessors([1 2], %d) = %v, %v, want [1 2] and %v", v, buf, err, want.Successors(v))
					return
				}
			}
		})
	}
	wg.Wait()
}

var errStop = errors.New("stop")
