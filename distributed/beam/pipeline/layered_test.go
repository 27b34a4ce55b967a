package pipeline_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forage/cover"
	"forage/distributed/beam/level"
	"forage/distributed/beam/pipeline"
	"forage/distributed/beam/shard"
	"forage/graph"
	"forage/graph/bv"
	"forage/internal/race"
	"forage/internal/shared"
	"forage/seed"
)

// layered writes the shards of a graph and returns how its seeds are chosen on Prism.
func layered(t *testing.T, g graph.Graph, shards int, p float64, l0 []graph.Node, depth int) pipeline.LayeredOptions {
	t.Helper()
	o := pipeline.LayeredOptions{Options: options(t, cover.OutLinks(g), shards, p, level.Reducer), Depth: depth}
	for _, v := range l0 {
		o.L0 = append(o.L0, uint64(v))
	}
	return o
}

// sameSeeds compares with what one machine chooses.
func sameSeeds(t *testing.T, o *pipeline.LayeredOptions, got *pipeline.Seeds, g graph.Graph, l0 []graph.Node) {
	t.Helper()
	want, err := seed.Layered(t.Context(), g, l0, &seed.Task{Depth: o.Depth}, seed.LayeredConfig{Algorithm: cover.NameSPGreedy, Options: cover.Options{P: o.P}})
	if err != nil {
		t.Fatal(err)
	}
	ok := len(got.Seeds) == len(want.Seeds) && int(got.Unreached) == want.Unreached && len(got.Covers) == len(want.Passes)
	for i, v := range want.Seeds {
		ok = ok && got.Seeds[i] == uint64(v)
	}
	for i, n := range want.LayerSize {
		ok = ok && got.LayerSize[i] == uint64(n)
	}
	for i, c := range want.Passes {
		ok = ok && got.Covers[i] == pipeline.Cover{From: c.From, Layer: c.Layer, Targets: uint64(c.Targets), Chosen: uint64(c.Chosen)}
	}
	if !ok {
		t.Errorf("seeds %v, layers %v, %d not reached, covers %v; one machine: %v, %v, %d, %v", got.Seeds, got.LayerSize, got.Unreached, got.Covers, want.Seeds, want.LayerSize, want.Unreached, want.Passes)
	}
}

// web returns a graph of n pages of which a page links to few, most of them near it, and the first
// hundred to many.
func web(r *rand.Rand, n int) graph.Graph {
	links := make([][]graph.Node, n)
	for v := range links {
		for range r.IntN(4) + 30*(100/(v+100)) {
			to := (v + r.IntN(60)) % n
			if r.IntN(4) == 0 {
				to = r.IntN(n)
			}
			links[v] = append(links[v], graph.Node(to))
		}
		slices.Sort(links[v])
		links[v] = slices.Compact(links[v])
	}
	return graph.FromLists(links)
}

// TestLayered: the seeds are those of one machine, whatever shards, p, depth and L0; also where
// L0 reaches little or nothing.
func TestLayered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i, tt := range []struct {
		n, shards, depth int
		p                float64
		l0               int
	}{{300, 3, 3, 2, 5}, {300, 1, 2, 1.2, 20}, {100, 4, 1, 3, 100}, {60, 2, 4, 1.5, 1}, {3, 2, 2, 2, 1}} {
		g := web(r, tt.n)
		var l0 []graph.Node
		for _, v := range r.Perm(tt.n)[:tt.l0] {
			l0 = append(l0, graph.Node(v))
		}
		o := layered(t, g, tt.shards, tt.p, l0, tt.depth)
		got, err := pipeline.Layered(t.Context(), o)
		if err != nil {
			t.Fatal(i, err)
		}
		sameSeeds(t, &o, got, g, l0)
	}
}

// TestLayeredWebGraph: on a real web graph, from the pages of most links.
func TestLayeredWebGraph(t *testing.T) {
	race.Skip(t)
	g, err := bv.Open(shared.Path(t, "data", "webgraphs", "cnr-2000.graph"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	degrees, err := graph.InDegrees(g)
	if err != nil {
		t.Fatal(err)
	}
	l0 := graph.Top(degrees, 500, nil)
	o := layered(t, g, 4, 2, l0, 3)
	top, err := pipeline.TopInDegree(t.Context(), o.Shards, 500)
	if err != nil || !slices.Equal(top, o.L0) {
		t.Errorf("other pages of most links: %v", err)
	}
	got, err := pipeline.Layered(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	sameSeeds(t, &o, got, g, l0)
	t.Logf("%d seeds, layers %v, %.2f times all links read", len(got.Seeds), got.LayerSize, float64(got.Counts.Reads)/float64(got.Manifest.Size))
}

// TestLayeredResume: a run that is stopped again and again goes on where it was, level by level, and a
// folder of other seeds is not gone on with.
func TestLayeredResume(t *testing.T) {
	g := web(rand.New(rand.NewPCG(3, 4)), 200)
	l0 := []graph.Node{0, 1, 2, 50}
	o := layered(t, g, 2, 2, l0, 2)
	done := map[string]bool{}
	for stops := 0; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		step := ""
		o.Step = func(what string) { step = what }
		o.Progress = func(p pipeline.Progress) {
			name := filepath.Join(step, string(rune('0'+p.Level)))
			if p.Done && done[name] {
				t.Errorf("%s was run twice", name)
			}
			if p.Done {
				done[name] = true
				cancel()
			}
		}
		got, err := pipeline.Layered(ctx, o)
		cancel()
		if err == nil {
			sameSeeds(t, &o, got, g, l0)
			if stops < 3 {
				t.Errorf("it was stopped %d times", stops)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	o.Step, o.Progress = nil, nil
	for _, other := range []struct {
		what string
		turn func(*pipeline.LayeredOptions)
	}{
		{"other shards, another L0", func(o *pipeline.LayeredOptions) { o.Depth = 3 }},
		{"other shards, another L0", func(o *pipeline.LayeredOptions) { o.L0 = []uint64{1} }},
		{"L0 is empty", func(o *pipeline.LayeredOptions) { o.L0 = nil }},
		{"L0 names page 200; the graph has 200", func(o *pipeline.LayeredOptions) { o.L0 = []uint64{200} }},
	} {
		o := o
		other.turn(&o)
		_, err := pipeline.Layered(t.Context(), o)
		if e := (*pipeline.InputError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), other.what) {
			t.Errorf("%v, want %s", err, other.what)
		}
	}
	sets := o
	sets.Shards = filepath.Join(t.TempDir(), "sets")
	if _, err := shard.Write(t.Context(), sets.Shards, cover.NewLists([][]graph.Node{{7}}), 1, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Layered(t.Context(), sets); err == nil || !strings.Contains(err.Error(), "1 sets of 8 elements") {
		t.Error(err)
	}
}
