package pipeline_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"forage/cover"
	"forage/distributed/beam/level"
	"forage/distributed/beam/pipeline"
	"forage/distributed/beam/shard"
	"forage/graph/bv"
	"forage/internal/shared"
)

func init() {
	beam.RegisterDoFn(&idleMap{})
	beam.RegisterDoFn(&idleCommit{})
}

// idleMap and idleCommit have the shape of what a level runs, and do nothing.
type idleMap struct{}

func (*idleMap) ProcessElement(_ context.Context, _ int, emit func(int, string)) { emit(0, "") }

type idleCommit struct{}

func (*idleCommit) ProcessElement(_ context.Context, _ int, records func(*string) bool, emit func(int, string)) {
	for name := ""; records(&name); {
	}
	emit(0, "")
}

// BenchmarkWebGraph covers cnr-2000 at p = 2 from four shards on Prism, and beside it runs as many pipelines that do
// nothing, and the engine for one machine. What counts is the CPU of all threads.
func BenchmarkWebGraph(b *testing.B) {
	g, err := bv.Open(shared.Path(b, "data", "webgraphs", "cnr-2000.graph"))
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	shards := filepath.Join(b.TempDir(), "shards")
	m, err := shard.Write(b.Context(), shards, cover.OutLinks(g), 4, 2)
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("TMPDIR", b.TempDir()) // Beam's SDK leaves a file a pipeline
	for _, form := range []level.Form{level.Reducer, level.Local} {
		b.Run(string(form), func(b *testing.B) {
			measure(b, func() error {
				_, err := pipeline.Run(b.Context(), pipeline.Options{Shards: shards, Dir: b.TempDir(), P: 2, Form: form, Runner: pipeline.Prism{}})
				return err
			})
		})
	}
	b.Run("idle", func(b *testing.B) {
		measure(b, func() error {
			for range cover.Thresholds(2, m.Largest) {
				p, s := beam.NewPipelineWithRoot()
				records := beam.ParDo(s, &idleMap{}, beam.Reshuffle(s, beam.CreateList(s, []int{0, 1, 2, 3})))
				beam.GroupByKey(s, beam.ParDo(s, &idleCommit{}, beam.GroupByKey(s, records)))
				if err := (pipeline.Prism{}).Run(b.Context(), p, nil); err != nil {
					return err
				}
			}
			return nil
		})
	})
	b.Run("one-machine", func(b *testing.B) {
		measure(b, func() error {
			l, err := cover.Load(cover.OutLinks(g), 0)
			if err == nil {
				_, err = cover.SPGreedy(b.Context(), l, cover.Options{P: 2})
			}
			return err
		})
	})
}

// measure reports the CPU time of a run.
func measure(b *testing.B, run func() error) {
	used := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	began := used()
	for b.Loop() {
		if err := run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((used()-began)/float64(b.N), "cpu-s/op")
}
