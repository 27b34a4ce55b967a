package gen

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"forage/graph"
)

// Options are what all random generators share. The zero value is a simple graph.
type Options struct {
	Seed    uint64
	Threads int  // 0: one a processor; the graph does not depend on it
	Loops   bool // keep arcs from a node to itself
}

// maxArcs is how many arcs a generator holds in memory at most: 8 bytes each.
const maxArcs = 1 << 34

// blockArcs is how many arcs are drawn from one random stream.
const blockArcs = 1 << 16

// draw returns m arcs in blocks. Each block is filled from a stream of its own, by fill, which
// gets the number of its first arc; so the arcs do not depend on the number of threads.
func draw(m uint64, o Options, fill func(r *splitmix, first uint64, block []graph.Arc)) ([][]graph.Arc, error) {
	if m > maxArcs {
		return nil, fmt.Errorf("%d arcs: want at most %d", m, uint64(maxArcs))
	}
	blocks := make([][]graph.Arc, (m+blockArcs-1)/blockArcs)
	inParallel(o.Threads, len(blocks), func(i int) {
		first := uint64(i) * blockArcs
		blocks[i] = make([]graph.Arc, min(blockArcs, m-first))
		r := stream(o.Seed, uint64(i))
		fill(&r, first, blocks[i])
	})
	return blocks, nil
}

// stream returns the i-th random stream of a seed.
func stream(seed, i uint64) splitmix {
	return splitmix(mix(seed ^ mix(i*0xD1342543DE82EF95+0x9E3779B97F4A7C15)))
}

// simple returns the graph of the blocks: parallel arcs once, self-loops only where o keeps
// them. It reuses the blocks.
func simple(n int, blocks [][]graph.Arc, o Options) *graph.CSR {
	if !o.Loops {
		inParallel(o.Threads, len(blocks), func(i int) {
			kept := blocks[i][:0]
			for _, a := range blocks[i] {
				if a.From != a.To {
					kept = append(kept, a)
				}
			}
			blocks[i] = kept
		})
	}
	return graph.FromBlocks(n, blocks, o.Threads)
}

// inParallel calls do for each i in [0, n) from some goroutines and returns when all have ended.
func inParallel(threads, n int, do func(i int)) {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(threads, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// unit returns a number in [0, 1).
func (r *splitmix) unit() float64 { return float64(r.next()>>11) / (1 << 53) }
