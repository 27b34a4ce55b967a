package open

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
	"forage/internal/machine"
	"forage/internal/race"
)

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		f     Format
		paths []string
		want  Format
	}{
		{Auto, []string{"a.txt.gz"}, Auto},
		{Auto, []string{"a.graph"}, BV},
		{Auto, []string{"A.GraphML"}, GraphML},
		{Adjacency, []string{"a.graph", "b"}, Adjacency},
	} {
		if got, err := c.f.Of(c.paths); err != nil || got != c.want {
			t.Errorf("%s.Of(%q) = %q, %v, want %q", c.f, c.paths, got, err, c.want)
		}
	}
	if _, err := Format("x").Of([]string{"a"}); !errors.As(err, new(*FormatError)) {
		t.Errorf("Of an unknown format: %v", err)
	}
	if _, err := Auto.Of([]string{"a.graph", "b.graph"}); err == nil || errors.As(err, new(*FormatError)) {
		t.Errorf("Of two BV graphs: %v", err)
	}
	for path, want := range map[string]Format{"a.graph": BV, "a.graphml": GraphML, "a.mtx.gz": MTX, "a.dat": Adjacency, "a": Arcs, "-": Arcs} {
		if got, err := Format("").Output(path); err != nil || got != want {
			t.Errorf("Output(%q) = %q, %v, want %q", path, got, err, want)
		}
	}
	if _, err := BV.Output("-"); err == nil {
		t.Error("a BV graph on the standard output")
	}
	if _, err := Auto.Output("a"); !errors.As(err, new(*FormatError)) {
		t.Errorf("auto is no format to write: %v", err)
	}
}

// check opens a graph and compares it with want.
func check(t *testing.T, path string, o Options, want *graph.CSR, onDisk bool) {
	t.Helper()
	got, err := Open([]string{path}, o)
	if err != nil {
		t.Fatalf("Open(%s, %+v): %v", path, o, err)
	}
	c, err := graph.Load(got)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Offset, want.Offset) || !slices.Equal(c.Succ, want.Succ) {
		t.Errorf("Open(%s, %+v) is not the graph that was written", path, o)
	}
	if got.OnDisk != onDisk {
		t.Errorf("Open(%s, %+v): on disk %v, want %v", path, o, got.OnDisk, onDisk)
	}
	if err := got.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenBeyondMemory: what 8 MiB do not hold is sorted on disk, but for a BV graph as it is.
func TestOpenBeyondMemory(t *testing.T) {
	race.Skip(t)
	lists := make([][]graph.Node, 1<<19)
	for v := range lists {
		lists[v] = []graph.Node{graph.Node(v*7+1) % (1 << 19), graph.Node(v / 2)}
	}
	g := graph.FromLists(lists)
	dir := t.TempDir()
	for _, f := range []Format{Arcs, BV} {
		target := Target{Path: filepath.Join(dir, "g."+string(f)), Format: f}
		if f == BV {
			target.Path = filepath.Join(dir, "g.graph")
		}
		if _, err := target.Write(t.Context(), &Graph{Scanner: g}); err != nil {
			t.Fatal(err)
		}
		o := Options{Format: f, Memory: 8 << 20, Dir: dir}
		check(t, target.Path, o, g, f != BV)
		o.Direction = arcs.Reversed
		check(t, target.Path, o, g.Transpose(), true)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*tmp*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestOpenWhatWrites: what Write writes in each format, Open reads, in each direction, and
// Estimate tells its size.
func TestOpenWhatWrites(t *testing.T) {
	g := graph.FromLists([][]graph.Node{{1, 2}, {2}, {0}, {3}, {0}})
	dir := t.TempDir()
	for _, f := range []Format{Arcs, Adjacency, MTX, BV, GraphML} {
		path := filepath.Join(dir, "g."+string(f))
		if f == BV {
			path = filepath.Join(dir, "g.graph")
		}
		target := Target{Path: path, Format: f}
		w, err := target.Write(t.Context(), &Graph{Scanner: g})
		if err != nil || w.Nodes != 5 || w.Arcs != 6 || *w.BitsPerLink <= 0 || *w.BitsPerLink*6 > 8*float64(w.Bytes) {
			t.Fatalf("%s: Write = %+v, %v", f, w, err)
		}
		for d, want := range map[arcs.Direction]*graph.CSR{arcs.AsWritten: g, arcs.Reversed: g.Transpose(), arcs.Both: g.Undirected()} {
			check(t, path, Options{Format: f, Direction: d}, want, false)
		}
		e, err := Estimate([]string{path}, Options{Format: f})
		if err != nil || f != GraphML && (e.Nodes != 5 || e.Arcs != 6 || !e.Exact) {
			t.Errorf("Estimate(%s) = %+v, %v", f, e, err)
		}
	}
	if _, err := Load(filepath.Join(dir, "g.graph"), arcs.Auto, 10); !errors.As(err, new(*MemoryError)) {
		t.Errorf("Load of a BV graph with 10 bytes: %v", err)
	}
	for _, name := range []string{"g.graph", "g.arcs"} {
		v, closeGraph, err := View(filepath.Join(dir, name), arcs.Auto, 0)
		if err != nil || v.NumArcs() != 6 {
			t.Errorf("View(%s) = %v, %v", name, v, err)
			continue
		}
		if _, mapped := v.(*bv.Graph); mapped != (name == "g.graph") {
			t.Errorf("View(%s) is a %T", name, v)
		}
		if err := closeGraph(); err != nil {
			t.Error(err)
		}
	}
	var out bytes.Buffer
	target := Target{Path: "-", Format: Arcs, Stdout: &out}
	if w, err := target.Write(t.Context(), &Graph{Scanner: g}); err != nil || w.Bytes != 0 || w.BitsPerLink != nil || bytes.Count(out.Bytes(), []byte("\n")) != 6 {
		t.Errorf("to the standard output: %+v, %v, %q", w, err, out.String())
	}
}

func TestWriteEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "g")
	target := Target{Path: path, Format: Arcs, Progress: func(done, nodes int) {
		if done < 4095 || nodes != 10000 {
			t.Errorf("progress %d of %d", done, nodes)
		}
		cancel()
	}}
	if _, err := target.Write(ctx, &Graph{Scanner: graph.FromLists(make([][]graph.Node, 10000))}); !errors.Is(err, context.Canceled) {
		t.Errorf("Write = %v, want context.Canceled", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("an incomplete file is left")
	}
}

// TestPlanFit: what is sorted counts against the folder for it, what stays against that of the
// output, and both together where they are on one disk.
func TestPlanFit(t *testing.T) {
	p := Plan{Memory: 11, Nodes: graph.MaxNodes + 1}
	short := p.Fit(10, "", t.TempDir())
	if len(short) != 2 || short[0] != (Shortfall{Of: Memory, Need: 11, Have: 10}) || short[1].Of != Nodes || p.Fits || p.Limit != 10 {
		t.Errorf("Fit = %+v, %+v", short, p)
	}
	here, other := t.TempDir(), "/dev/shm"
	if machine.Device(other) == 0 || machine.Device(other) == machine.Device(here) {
		t.Skip("no second file system at " + other)
	}
	far := machine.FreeDisk(here) + machine.FreeDisk(other) + 1<<40
	for _, c := range []struct {
		temp string
		p    Plan
		want []Resource
	}{
		{other, Plan{Disk: far, Temp: far}, []Resource{Sorting}},
		{other, Plan{Disk: far}, []Resource{Output}},
		{here, Plan{Disk: far, Temp: far}, []Resource{Output}},
		{other, Plan{Disk: 2, Temp: 1}, nil},
	} {
		var got []Resource
		for _, s := range c.p.Fit(0, c.temp, here) {
			got = append(got, s.Of)
		}
		if !slices.Equal(got, c.want) || c.p.Fits != (got == nil) {
			t.Errorf("%s %+v: %v, want %v", c.temp, c.p, got, c.want)
		}
	}
}

// TestPlanConvert: less memory than the arcs take means disk.
func TestPlanConvert(t *testing.T) {
	e := arcs.Estimate{Nodes: 1e6, Arcs: 1e8}
	in, out := PlanConvert(e, Options{Format: Arcs, Memory: 1 << 40}, BV), PlanConvert(e, Options{Format: Arcs, Memory: 1 << 20}, BV)
	if in.Temp != 0 || out.Temp == 0 || out.Memory >= in.Memory || out.Disk <= in.Disk || out.Seconds <= in.Seconds {
		t.Errorf("in memory %+v, on disk %+v", in, out)
	}
	quick, whole := PlanMeasure(e, BV, 10, true, false), PlanMeasure(e, BV, 10, false, true)
	if quick.Memory >= whole.Memory || quick.Seconds >= whole.Seconds || whole.Disk == 0 {
		t.Errorf("quick %+v, whole %+v", quick, whole)
	}
}
