package seed

import (
	"context"
	"errors"
	"fmt"

	"forage/cover"
	"forage/graph"
)

// A LayeredConfig says how Layered and TwoLevel cover.
type LayeredConfig struct {
	Algorithm cover.Algorithm // "": NamePGreedy with Q = 1, which covers as the textbook greedy does
	Options   cover.Options
	// Cover, if set, takes the place of cover.Solve: for a family larger than memory.
	Cover func(ctx context.Context, f cover.Family) (*cover.Result, error)
}

func (c *LayeredConfig) solve(ctx context.Context, f cover.Family) (*cover.Result, error) {
	if c.Cover != nil {
		return c.Cover(ctx, f)
	}
	a, o := c.Algorithm, c.Options
	if a == "" {
		a, o.Q = cover.NamePGreedy, 1
	}
	return cover.Solve(ctx, f, a, o)
}

// A Pass is one cover of Layered.
type Pass struct {
	From    int // I: the layer whose pages are to be reached
	Layer   int // J: the layer that covers
	Targets int // |SC_{J+1}|
	Chosen  int // |SC_J|
}

// LayeredSeeds is what Layered found.
type LayeredSeeds struct {
	Seeds     []graph.Node // by pass, then in the order chosen, each once
	LayerSize []int        // |L0|, |L1|, … |LD|
	Unreached int          // pages of weight above 0 that no path of D links leads to from L0
	Passes    []Pass       // D(D+1)/2 covers, those of nothing left out
}

// ErrNoLayer says that no page of L0 may be a seed, or that L0 is empty.
var ErrNoLayer = errors.New("seed: L0 is empty, or none of its pages may be a seed")

// Layered returns a part of l0 from which all is reached within t.Depth hops that is reached
// from l0 [ST15, §4, Alg. 6].
//
// L1 … LD are the breadth-first layers around L0. For I = D … 1, what is left of L_I is
// covered by the out-links of pages of L_{I−1}, these pages by pages of L_{I−2}, and so on
// to L0, whose pages become seeds; then all pages that a chosen page links to are done with.
// A cover is whole: its pages are covered although they may be done with themselves. t.Weights
// tells only what need not be reached (weight 0); t.Limits are not used.
//
// D(D+1)/2 covers, each reads the links of one layer. Memory: a byte and three bits a node and
// what the covers take; g itself may be on disk.
func Layered(ctx context.Context, g graph.Graph, l0 []graph.Node, t *Task, c LayeredConfig) (*LayeredSeeds, error) {
	n := g.NumNodes()
	if err := t.check(n); err != nil {
		return nil, err
	}
	if len(t.Limits) > 0 {
		return nil, errors.New("seed: a layered cover keeps no limits on hosts or domains")
	}
	layer := make([]uint8, n) // 255: not reached
	for v := range layer {
		layer[v] = 255
	}
	first := newBitset(n)
	for _, v := range l0 {
		if int(v) >= n {
			return nil, fmt.Errorf("seed: L0 names node %d; the graph has %d", v, n)
		}
		if t.may(v) {
			first.add(v)
			layer[v] = 0
		}
	}
	layers := [][]graph.Node{first.nodes()}
	if len(layers[0]) == 0 {
		return nil, ErrNoLayer
	}

	// Line 3: compute L1 … LD by breadth-first traversal.
	var buf []graph.Node
	var err error
	for d := 1; d <= t.Depth; d++ {
		next := newBitset(n)
		for _, u := range layers[d-1] {
			if buf, err = g.AppendSuccessors(buf[:0], u); err != nil {
				return nil, err
			}
			for _, v := range buf {
				if layer[v] == 255 {
					layer[v] = uint8(d)
					next.add(v)
				}
			}
		}
		layers = append(layers, next.nodes())
	}
	res := &LayeredSeeds{}
	for _, l := range layers {
		res.LayerSize = append(res.LayerSize, len(l))
	}

	// Line 2: C = F, but for what need not be reached.
	left := newBitset(n)
	for v := range graph.Node(n) {
		if t.weight(v) > 0 {
			left.add(v)
			if layer[v] == 255 {
				res.Unreached++
			}
		}
	}

	chosen := newBitset(n) // A
	for i := t.Depth; i >= 1; i-- {
		// Line 5: SC_I = L_I ∩ C.
		var targets []graph.Node
		for _, v := range layers[i] {
			if left.has(v) {
				targets = append(targets, v)
			}
		}
		var done [][]graph.Node // SC_{I−1} … SC_0
		for j := i - 1; j >= 0 && len(targets) > 0; j-- {
			// Line 7: SC_J covers SC_{J+1}.
			f := newFamily(g, layers[j], targets)
			r, err := c.solve(ctx, f)
			if err != nil {
				return nil, err
			}
			sc := make([]graph.Node, len(r.Sets))
			for k, s := range r.Sets {
				sc[k] = layers[j][s]
			}
			res.Passes = append(res.Passes, Pass{From: i, Layer: j, Targets: len(targets), Chosen: len(sc)})
			done = append(done, sc)
			targets = sc
		}
		if len(done) == i {
			// Line 8: the seeds, in the order chosen.
			for _, v := range targets {
				if !chosen.has(v) {
					chosen.add(v)
					res.Seeds = append(res.Seeds, v)
				}
			}
		}
		// Line 9: what chosen pages link to is covered.
		for _, sc := range done {
			for _, u := range sc {
				if buf, err = g.AppendSuccessors(buf[:0], u); err != nil {
					return nil, err
				}
				for _, v := range buf {
					left.drop(v)
				}
			}
		}
	}
	return res, nil
}

// A family has as set i what page i of a layer links to among the targets.
type family struct {
	g       graph.Graph
	layer   []graph.Node
	targets bitset
}

func newFamily(g graph.Graph, layer, targets []graph.Node) *family {
	f := &family{g: g, layer: layer, targets: newBitset(g.NumNodes())}
	for _, v := range targets {
		f.targets.add(v)
	}
	return f
}

func (f *family) NumSets() uint64     { return uint64(len(f.layer)) }
func (f *family) NumElements() uint64 { return uint64(f.g.NumNodes()) }

func (f *family) Scan(visit func(set uint64, elements []uint64) error) error {
	var buf []graph.Node
	var out []uint64
	var err error
	for i, u := range f.layer {
		if buf, err = f.g.AppendSuccessors(buf[:0], u); err != nil {
			return err
		}
		out = out[:0]
		for _, v := range buf {
			if f.targets.has(v) {
				out = append(out, uint64(v))
			}
		}
		if err := visit(uint64(i), out); err != nil {
			return err
		}
	}
	return nil
}
