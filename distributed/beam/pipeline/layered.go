package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"forage/distributed/beam/files"
	"forage/distributed/beam/level"
	"forage/distributed/beam/shard"
	"forage/internal/heap"
)

// LayeredOptions say which seeds are wanted.
type LayeredOptions struct {
	Options          // Form is Reducer; Progress tells of the levels of each cover
	L0      []uint64 // pages of which the seeds are a part
	Depth   int      // links within which all is reached that L0 reaches

	Step func(what string) // if set, called before each pass and each cover
}

// A Cover is one cover of layered seeds.
type Cover struct {
	From    int    `json:"from"`    // the layer whose pages are to be reached
	Layer   int    `json:"layer"`   // the layer that covers
	Targets uint64 `json:"targets"` // pages that it covers
	Chosen  uint64 `json:"chosen"`  // pages that it takes
}

// Seeds are what Layered found.
type Seeds struct {
	Manifest  *shard.Manifest
	Seeds     []uint64 // by pass, then in the order chosen, each once
	LayerSize []uint64 // |L0|, |L1|, …
	Unreached uint64   // pages that no path of Depth links leads to from L0
	Covers    []Cover
	Counts    level.Counts // of all passes and covers
}

// seedsRecord names what a folder of seeds is for.
type seedsRecord struct {
	Format string   `json:"format"`
	Shards uint32   `json:"shards"`
	P      float64  `json:"p"`
	Depth  int      `json:"depth"`
	L0     []uint64 `json:"l0"`
}

// Layered returns a part of L0 from which all is reached within Depth links that is reached from L0
// [ST15, §4, Alg. 6]: the seeds that seed.Layered finds with cover.SPGreedy, in its order. The
// shards are those of a graph.
//
// The layers are found a pass over all links each. A cover is one pass more, which cuts its family out
// of the shards, and the levels that Run has; what the pages that it took link to is another. Each
// has a folder below Dir, and one that is there is not made again: so a run that was killed goes on.
// Errors are those of Run. Memory: Depth + 6 bits a page.
func Layered(ctx context.Context, o LayeredOptions) (r *Seeds, err error) {
	m, err := shard.Open(ctx, o.Shards)
	if err != nil {
		return nil, badFile(err)
	}
	if m.Sets != m.Elements {
		return nil, &InputError{fmt.Errorf("%s holds %d sets of %d elements: seeds are chosen in a graph, whose pages are both", o.Shards, m.Sets, m.Elements)}
	}
	if err := files.Mkdir(ctx, o.Dir); err != nil {
		return nil, err
	}
	unlock, err := lock(o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := o.claim(ctx, m); err != nil {
		return nil, err
	}
	x := &layering{o: &o, m: m, made: &Seeds{Manifest: m}}
	if err := x.layers(ctx); err != nil {
		return nil, err
	}
	return x.made, x.cover(ctx)
}

// TopInDegree returns the k pages of a folder of shards to which most pages link, of equals those of the
// smallest numbers, ascending. It reads all links in this process. Memory: 4 bytes a page.
func TopInDegree(ctx context.Context, shards string, k int) ([]uint64, error) {
	m, err := shard.Open(ctx, shards)
	if err != nil {
		return nil, badFile(err)
	}
	links := make([]uint32, m.Elements)
	err = shard.Family(ctx, shards, m).Scan(func(set uint64, elements []uint64) error {
		for _, e := range elements {
			if e >= m.Elements {
				return &shard.Error{File: shards, What: fmt.Sprintf("set %d holds element %d of %d", set, e, m.Elements)}
			}
			links[e]++
		}
		return nil
	})
	if err != nil {
		return nil, badFile(err)
	}
	worse := func(a, b uint64) bool { return cmp.Or(cmp.Compare(links[a], links[b]), cmp.Compare(b, a)) < 0 }
	top := heap.Heap[uint64]{Before: worse} // the worst first
	for v := range m.Elements {
		switch {
		case top.Len() < k:
			top.Push(v)
		case worse(top.Items[0], v):
			top.Items[0] = v
			top.Lower(0)
		}
	}
	slices.Sort(top.Items)
	return top.Items, nil
}

// claim writes what the folder is for, or compares it with what it was for.
func (o *LayeredOptions) claim(ctx context.Context, m *shard.Manifest) error {
	slices.Sort(o.L0)
	o.L0 = slices.Compact(o.L0)
	if len(o.L0) == 0 {
		return &InputError{errors.New("L0 is empty")}
	}
	if last := o.L0[len(o.L0)-1]; last >= m.Elements {
		return &InputError{fmt.Errorf("L0 names page %d; the graph has %d", last, m.Elements)}
	}
	b, err := shard.Encode(&seedsRecord{"forage beam seeds 1", m.Sum, o.P, o.Depth, o.L0})
	if err != nil {
		return err
	}
	err = files.Commit(ctx, files.Join(o.Dir, "seeds.json"), b)
	if errors.Is(err, fs.ErrExist) { // and holds something else
		return &InputError{fmt.Errorf("%s is the state of seeds of other shards, another L0, depth or p: remove it, or name another folder", o.Dir)}
	}
	return err
}

// layering is a run of Layered.
type layering struct {
	o    *LayeredOptions
	m    *shard.Manifest
	all  []level.Bits // L0, L1, …
	left level.Bits   // what is not done with
	made *Seeds
}

// layers finds the layers by breadth-first traversal: line 3.
func (x *layering) layers(ctx context.Context) error {
	first := level.NewBits(x.m.Elements)
	for _, v := range x.o.L0 {
		first.Add(v)
	}
	x.all = append(x.all, first)
	x.left = level.NewBits(x.m.Elements)
	for v := range x.m.Elements {
		x.left.Add(v)
	}
	unseen := x.left.Without(first)
	for d := 1; d <= x.o.Depth; d++ {
		next, err := x.links(ctx, fmt.Sprintf("layer-%d", d), x.all[d-1], unseen)
		if err != nil {
			return err
		}
		unseen = unseen.Without(next)
		x.all = append(x.all, next)
	}
	for _, layer := range x.all {
		x.made.LayerSize = append(x.made.LayerSize, layer.Count())
	}
	x.made.Unreached = unseen.Count()
	return nil
}

// cover covers the layers, the last first: lines 4 to 9.
func (x *layering) cover(ctx context.Context) error {
	chosen := level.NewBits(x.m.Elements) // A
	for i := x.o.Depth; i >= 1; i-- {
		targets := x.all[i].And(x.left) // line 5: SC_I
		count := targets.Count()
		linking := level.NewBits(x.m.Elements) // SC_{I−1} ∪ … ∪ SC_0
		for j := i - 1; j >= 0 && count > 0; j-- {
			taken, err := x.coverOne(ctx, i, j, targets) // line 7
			if err != nil {
				return err
			}
			x.made.Covers = append(x.made.Covers, Cover{i, j, count, uint64(len(taken))})
			targets, count = level.NewBits(x.m.Elements), uint64(len(taken))
			for _, v := range taken {
				targets.Add(v)
				if j == 0 && !chosen.Has(v) { // line 8
					chosen.Add(v)
					x.made.Seeds = append(x.made.Seeds, v)
				}
			}
			linking = linking.Or(targets)
		}
		if i == 1 || linking.Count() == 0 {
			continue
		}
		done, err := x.links(ctx, fmt.Sprintf("done-%d", i), linking, x.left) // line 9
		if err != nil {
			return err
		}
		x.left = x.left.Without(done)
	}
	return nil
}

// coverOne covers targets by pages of layer j and returns those that it took.
func (x *layering) coverOne(ctx context.Context, i, j int, targets level.Bits) (taken []uint64, err error) {
	o, s, err := x.pass(ctx, fmt.Sprintf("cover-%d-%d", i, j), false, x.all[j], targets)
	if err != nil {
		return nil, err
	}
	if s, err = o.levels(ctx, x.m, s); err != nil {
		return nil, err
	}
	x.count(s)
	return taken, badFile(s.EachPick(ctx, o.Dir, func(set, _ uint64) error {
		taken = append(taken, set)
		return nil
	}))
}

// links returns which of a set of pages some others link to.
func (x *layering) links(ctx context.Context, name string, from, to level.Bits) (level.Bits, error) {
	o, s, err := x.pass(ctx, name, true, from, to)
	if err != nil {
		return nil, err
	}
	x.count(s)
	b, err := s.ReadBits(ctx, o.Dir, x.m.Elements)
	return b, badFile(err)
}

func (x *layering) count(s *level.State) { x.made.Counts = x.made.Counts.Plus(s.Counts) }

// pass makes a selection in a folder of its own, or finds how far it and the levels after it have come.
func (x *layering) pass(ctx context.Context, name string, union bool, from, to level.Bits) (*Options, *level.State, error) {
	o := x.o.Options
	o.Dir = files.Join(x.o.Dir, name)
	if x.o.Step != nil {
		x.o.Step(name)
	}
	if err := files.Mkdir(ctx, o.Dir); err != nil {
		return nil, nil, err
	}
	s, err := level.Latest(ctx, o.Dir)
	if err != nil || s != nil {
		return &o, s, badFile(err)
	}
	s = level.Selected(x.m, o.P, &level.Committed{Residuals: make([][]shard.File, len(x.m.Shards))})
	if touched := level.Touched(x.m, from); len(touched) > 0 { // an empty GroupByKey emits nothing
		job := Job{Shards: o.Shards, Dir: o.Dir, Run: files.Unique()}
		if job.Select, err = level.NewSelection(ctx, job.place(), x.m, o.P, union, from, to); err != nil {
			return nil, nil, err
		}
		c, err := o.submit(ctx, &job, touched, name)
		if err != nil {
			return nil, nil, err
		}
		s = level.Selected(x.m, o.P, c)
	}
	return &o, s, badFile(s.Save(ctx, o.Dir))
}
