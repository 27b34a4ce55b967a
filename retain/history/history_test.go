package history

import (
	"math/rand/v2"
	"testing"

	"forage/retain"
	"forage/snap"
)

// TestRun: the core of a buffer on a site that changes is among its last pages, and every snapshot
// is watched for as many steps as are asked for.
func TestRun(t *testing.T) {
	h := snap.Blog(rand.New(rand.NewPCG(1, 0)), 5)
	trial := NewTrial(h)
	trial.Config = retain.Config{Buffer: 20, Links: 1}
	trial.Window, trial.MaxSteps, trial.Delta = 7, 100, 0.05
	last := h.At(len(h.Snapshots) - 1)
	for _, every := range []int{1, 3} {
		r := rand.New(rand.NewPCG(2, 0))
		o, err := Run(trial, h, every, nil, r)
		if err != nil {
			t.Fatal(err)
		}
		if want := 7 + every*(len(h.Snapshots)-1); o.Steps != want || o.Core == 0 || o.Period != nil {
			t.Errorf("every %d: %+v, want %d steps", every, o, want)
		}
		for _, v := range o.Pages {
			if every == 3 && !last.Alive[v] {
				t.Errorf("page %d of the core is gone", v)
			}
		}
	}
}
