package explore_test

import (
	"os"
	"testing"
	"time"

	"forage/explore"
	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/gen"
	"forage/internal/shared"
)

// BenchmarkExplore spends a budget of 10% on ca-CondMat.
func BenchmarkExplore(b *testing.B) {
	g, err := arcs.Load(shared.Path(b, "data", "networks", "ca-CondMat.tsv.gz"), arcs.Options{})
	if err != nil {
		b.Fatal(err)
	}
	g = g.Undirected()
	for _, name := range explore.Names() {
		b.Run("graph=ca-CondMat/policy="+name, func(b *testing.B) {
			queries := 0
			for b.Loop() {
				t := explore.Trial{Graph: g, Seed: 1, Run: 1, Start: 77, Budget: g.NumNodes() / 10}
				n, _, err := t.Explore(name, nil)
				if err != nil {
					b.Fatal(err)
				}
				queries += n
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(queries), "µs/query")
		})
	}
}

// TestLarge explores a generated graph of 10⁸ links with a budget of 1%; see 'make explore-large'.
func TestLarge(t *testing.T) {
	if os.Getenv("FORAGE_LONG") == "" {
		t.Skip("takes minutes and gigabytes: FORAGE_LONG=1")
	}
	g, err := gen.RMAT(1<<22, 100_000_000, gen.RMATConfig{}, gen.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	g = g.Undirected()
	start := graph.Node(0)
	for g.OutDegree(start) == 0 {
		start++
	}
	for _, name := range []string{"mod", "de"} {
		began := time.Now()
		trial := explore.Trial{Graph: g, Seed: 1, Run: 1, Start: start, Budget: g.NumNodes() / 100}
		queries, observed, err := trial.Explore(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("policy=%s edges=%d queries=%d observed=%d seconds=%.1f", name, g.NumArcs()/2, queries, observed, time.Since(began).Seconds())
		if observed < queries {
			t.Errorf("%s: %d nodes observed in %d queries", name, observed, queries)
		}
	}
}
