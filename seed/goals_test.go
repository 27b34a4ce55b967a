package seed

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"forage/graph"
	"forage/graph/gen"
)

// What the three methods reach on weblike graphs, and what they cost: 'make seed-goals'.
func TestGoals(t *testing.T) {
	if os.Getenv("FORAGE_LONG") == "" {
		t.Skip("set FORAGE_LONG=1 to choose seeds on 10^6 nodes")
	}
	g, err := gen.Weblike(1e6, 21, 42)
	if err != nil {
		t.Fatal(err)
	}
	rev := g.Transpose()
	n := g.NumNodes()
	l0 := make([]graph.Node, n)
	for v := range l0 {
		l0[v] = graph.Node(v)
	}
	slices.SortStableFunc(l0, func(a, b graph.Node) int { return rev.OutDegree(b) - rev.OutDegree(a) })
	l0 = l0[:500]
	task := &Task{Depth: 3}

	var before, after runtime.MemStats
	began := time.Now()
	layered, err := Layered(t.Context(), g, l0, task, LayeredConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("layered: %d of 500 seeds in %.1f s, layers %v", len(layered.Seeds), time.Since(began).Seconds(), layered.LayerSize)

	runtime.GC()
	runtime.ReadMemStats(&before)
	began = time.Now()
	reach, err := Reach(g, rev, task, len(layered.Seeds), ReachConfig{}, random(1))
	if err != nil {
		t.Fatal(err)
	}
	seconds := time.Since(began).Seconds()
	runtime.ReadMemStats(&after)
	perNode := float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	t.Logf("reach: %d seeds in %.1f s, %.1f bytes a node allocated in all", len(reach), seconds, perNode)
	if perNode > 64 {
		t.Errorf("reach allocates %.1f bytes a node, want at most 64", perNode)
	}

	// Plain greedy of the first hop: the cover of the whole graph by out-links.
	hop, err := Reach(g, rev, &Task{Depth: 1}, len(layered.Seeds), ReachConfig{Sketch: n + 1}, random(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{1, 10, 50, 100, 200, 300, len(layered.Seeds)} {
		k = min(k, len(layered.Seeds))
		a, b, c := worth(t, g, task, reach[:k]), worth(t, g, task, layered.Seeds[:k]), worth(t, g, task, hop[:k])
		t.Logf("K = %d: reach %.0f, layered %.0f (%.2f times), greedy of the first hop %.0f (%.2f times)", k, a, b, a/b, c, a/c)
		if k < len(layered.Seeds) && a < 1.5*b || a < b || a <= c {
			t.Errorf("K = %d: reach %.0f, layered %.0f, greedy of the first hop %.0f", k, a, b, c)
		}
	}
}

// Layered on 10^7 arcs.
func BenchmarkLayered(b *testing.B) {
	g, err := gen.Weblike(335e3, 21, 42)
	if err != nil {
		b.Fatal(err)
	}
	rev := g.Transpose()
	l0 := make([]graph.Node, g.NumNodes())
	for v := range l0 {
		l0[v] = graph.Node(v)
	}
	slices.SortStableFunc(l0, func(a, b graph.Node) int { return rev.OutDegree(b) - rev.OutDegree(a) })
	b.Run("graph=weblike/arcs=1e7/depth=4", func(b *testing.B) {
		for b.Loop() {
			s, err := Layered(b.Context(), g, l0[:500], &Task{Depth: 4}, LayeredConfig{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(s.Seeds)), "seeds")
			b.ReportMetric(float64(g.NumArcs()), "arcs")
		}
	})
}
