package sets_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"forage/cover"
	"forage/cover/sets"
	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
)

// job opens a source and returns its cover in the memory given, 0 for out of core.
func job(t *testing.T, path string, f sets.Format, limit uint64) (*sets.Job, *cover.Result) {
	t.Helper()
	s, err := sets.OpenSource(path, f, arcs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	j := &sets.Job{Source: s, Algorithm: cover.NamePGreedy, Temp: t.TempDir()}
	need, ok, err := j.Fit(limit, false)
	if err != nil {
		t.Fatal(err)
	}
	if j.OutOfCore = !ok; !ok && (need.Sets != 4 || need.Memory == 0) {
		t.Errorf("Fit(%d) needs %+v, want the exact number of sets", limit, need)
	}
	if err := j.Load(false); err != nil {
		t.Fatal(err)
	}
	r, err := j.Solve(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Verify(r); err != nil {
		t.Error(err)
	}
	return j, r
}

// TestJob: the same cover from every format, in memory and out of core.
func TestJob(t *testing.T) {
	g := graph.FromLists([][]graph.Node{{0, 1}, {1, 2, 3}, {}, {0}})
	dir := t.TempDir()
	if _, err := bv.Write(filepath.Join(dir, "g"), g, bv.Config{}); err != nil {
		t.Fatal(err)
	}
	text := write(t, "sets.txt", "1 0 0\n1 2 3\n\n0\n")
	list := write(t, "arcs.txt", "0 0\n0 1\n1 1\n1 2\n1 3\n3 0\n")
	for _, c := range []struct {
		path string
		as   sets.Format
		is   sets.Format
	}{{text, sets.Auto, sets.Text}, {list, sets.Arcs, sets.Arcs}, {filepath.Join(dir, "g.graph"), sets.Auto, sets.BV}} {
		for _, limit := range []uint64{0, 1 << 40} {
			j, r := job(t, c.path, c.as, limit)
			if j.Source.Format != c.is || j.OutOfCore != (limit == 0) || !slices.Equal(r.Sets, []uint64{1, 0}) {
				t.Errorf("%s, %d bytes: format %s, out of core %v, cover %v", c.is, limit, j.Source.Format, j.OutOfCore, r.Sets)
			}
			p := j.Report(r)
			if p.Sets != 4 || p.Elements != 4 || p.Cover != 2 || p.Demand != 4 || p.Met != 4 || p.Guarantee == nil {
				t.Errorf("Report = %+v", p)
			}
			if repeated := uint64(1); c.is == sets.Text && p.Repeated != repeated || c.is != sets.Text && p.Repeated != 0 {
				t.Errorf("%s: %d repeated elements", c.is, p.Repeated)
			}
		}
	}
	var out bytes.Buffer
	err := sets.WriteList(&out, func(take func(set, gain uint64) error) error { return errors.Join(take(7, 1), take(0, 1)) })
	if err != nil || out.String() != "7\n0\n" {
		t.Errorf("WriteList = %q, %v", out.String(), err)
	}
}

func TestJobWeights(t *testing.T) {
	path := write(t, "small.rail", "2 2\n5 1 1\n3 2 1 2\n")
	load := func(change func(*sets.Job)) *sets.Job {
		t.Helper()
		s, err := sets.OpenSource(path, sets.Auto, arcs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j := &sets.Job{Source: s, Algorithm: cover.NamePGreedy}
		change(j)
		if err := j.Load(false); err != nil && !errors.Is(err, sets.ErrWeights) || (err != nil) != (j.Options.Budget > 0 && !j.UnitWeights) {
			t.Errorf("Load(%+v): %v", j.Options, err)
		}
		return j
	}
	if j := load(func(j *sets.Job) {}); !slices.Equal(j.Options.Weights, []float64{5, 3}) {
		t.Errorf("weights %v", j.Options.Weights)
	}
	if j := load(func(j *sets.Job) { j.UnitWeights = true; j.Options.Budget = 1 }); j.Options.Weights != nil {
		t.Errorf("unit weights: %v", j.Options.Weights)
	}
	load(func(j *sets.Job) { j.Options.Budget = 1 })
	if got, err := sets.ReadCosts(write(t, "costs", "# two\n1\n2.5\n")); err != nil || !slices.Equal(got, []float64{1, 2.5}) {
		t.Errorf("ReadCosts = %v, %v", got, err)
	}
	for _, text := range []string{"-1", "x", "Inf"} {
		if _, err := sets.ReadCosts(write(t, "costs", text)); err == nil {
			t.Errorf("ReadCosts(%s): no error", text)
		}
	}
}
