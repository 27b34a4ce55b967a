package explore_test

import (
	"testing"

	"forage/explore"
	"forage/graph/arcs"
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
