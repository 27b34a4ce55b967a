package bv

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/gen"
	"forage/internal/race"
	"forage/internal/shared"
)

// linked returns the name of cnr-2000 in a folder of the test's own.
func linked(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "cnr-2000")
	for _, end := range []string{".graph", ".properties"} {
		if err := os.Symlink(shared.Path(t, "data", "webgraphs", "cnr-2000"+end), name+end); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

func open(t testing.TB, name string) *Graph {
	t.Helper()
	g, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func equal(t *testing.T, got graph.Scanner, want *graph.CSR) {
	t.Helper()
	g, err := graph.Load(got)
	if err != nil {
		t.Fatal(err)
	}
	if g.NumNodes() != want.NumNodes() || !slices.Equal(g.Offset, want.Offset) || !slices.Equal(g.Succ, want.Succ) {
		t.Fatalf("the graph of %d nodes and %d arcs reads back otherwise, with %d and %d", want.NumNodes(), want.NumArcs(), g.NumNodes(), g.NumArcs())
	}
}

func TestCnr2000(t *testing.T) {
	race.Skip(t)
	g := open(t, linked(t))
	if bits, err := g.Bits(); err != nil || bits != 9318741 {
		t.Errorf("Bits() = %d, %v, want 9318741", bits, err)
	}
	if g.NumNodes() != 325557 || g.NumArcs() != 3216152 {
		t.Errorf("%d nodes, %d arcs, want 325557 and 3216152", g.NumNodes(), g.NumArcs())
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	want, err := arcs.Load(shared.Path(t, "data", "webgraphs", "cnr-2000.txt.gz"), arcs.Options{Format: arcs.Adjacency})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, g, want)
	random(t, g, want, 3000)

	// What we write has the very bits that WebGraph wrote.
	name := filepath.Join(t.TempDir(), "again")
	s, err := Write(name, g, Config{})
	if err != nil {
		t.Fatal(err)
	}
	given, err := os.ReadFile(shared.Path(t, "data", "webgraphs", "cnr-2000.graph"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(name + ".graph")
	if err != nil {
		t.Fatal(err)
	}
	if len(given)-len(again) > 7 || !slices.Equal(given[:len(again)], again) { // the given file ends on 64 bits
		t.Errorf("written with %d bits, other than the given 9318741", s.Bits)
	}
	w := open(t, name)
	if err := w.Check(); err != nil {
		t.Error(err)
	}
	equal(t, w, want)
}

// random compares lists read at random, and ranges, from several goroutines.
func random(t *testing.T, g *Graph, want *graph.CSR, n int) {
	t.Helper()
	if want.NumNodes() == 0 {
		return
	}
	var wg sync.WaitGroup
	for w := range uint64(2) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(w, 8))
			for range n {
				v := graph.Node(r.IntN(want.NumNodes()))
				got, err := g.AppendSuccessors([]graph.Node{7}, v)
				if err != nil || !slices.Equal(got[1:], want.Successors(v)) {
					t.Errorf("AppendSuccessors(%d) = %v, %v, want %v", v, got[1:], err, want.Successors(v))
					return
				}
				if d, err := g.OutDegree(v); err != nil || d != want.OutDegree(v) {
					t.Errorf("OutDegree(%d) = %d, %v, want %d", v, d, err, want.OutDegree(v))
				}
			}
			for range 1 + n/100 {
				lo := graph.Node(r.IntN(want.NumNodes()))
				hi := min(graph.Node(want.NumNodes()), lo+graph.Node(r.IntN(200)))
				x := lo
				err := g.Scan(lo, hi, func(v graph.Node, succ []graph.Node) error {
					if v != x || !slices.Equal(succ, want.Successors(v)) {
						return fmt.Errorf("node %d: %v, want node %d: %v", v, succ, x, want.Successors(x))
					}
					x++
					return nil
				})
				if err != nil || x != hi {
					t.Errorf("Scan(%d, %d) ends at %d: %v", lo, hi, x, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// generated returns a random graph with runs, copies and gaps of all sizes.
func generated(r *rand.Rand) *graph.CSR {
	n := 1 + r.IntN(1<<(1+r.IntN(9)))
	lists := make([][]graph.Node, n)
	for v := range lists {
		if v > 0 && r.IntN(2) == 0 {
			for _, u := range lists[v-1-r.IntN(min(v, 9))] {
				if r.IntN(5) > 0 {
					lists[v] = append(lists[v], u)
				}
			}
		}
		for range r.IntN(4) {
			u := r.IntN(n)
			for range 1 + r.IntN(1+r.IntN(20)) {
				if u < n {
					lists[v] = append(lists[v], graph.Node(u))
				}
				u++
			}
		}
		slices.Sort(lists[v])
		lists[v] = slices.Compact(lists[v])
	}
	return graph.FromLists(lists)
}

func TestRoundTrip(t *testing.T) {
	flags := []string{"", "", "OUTDEGREES_DELTA", "BLOCKS_DELTA | BLOCK_COUNT_UNARY", "BLOCKS_UNARY|BLOCK_COUNT_DELTA", "RESIDUALS_GAMMA", "RESIDUALS_DELTA",
		"RESIDUALS_NIBBLE | REFERENCES_GAMMA", "RESIDUALS_GOLOMB | REFERENCES_DELTA | OFFSETS_DELTA", "RESIDUALS_ZETA"}
	dir := t.TempDir()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		want := generated(r)
		c := Config{Window: r.IntN(12) - 1, MaxRef: r.IntN(6) - 1, MinInterval: r.IntN(7) - 1, ZetaK: r.IntN(8), Flags: flags[r.IntN(len(flags))]}
		name := filepath.Join(dir, "g")
		if _, err := Write(name, want, c); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if seed%2 == 1 {
			if err := os.Remove(name + ".offsets"); err != nil {
				t.Fatal(err)
			}
		}
		g := open(t, name+".graph")
		equal(t, g, want)
		random(t, g, want, 50)
		if err := g.Check(); err != nil {
			t.Fatalf("seed %d: %+v: %v", seed, c, err)
		}
		if t.Failed() {
			t.Fatalf("seed %d: %+v", seed, c)
		}
	}
	if ents, _ := os.ReadDir(dir); len(ents) > 3 {
		t.Errorf("files are left behind: %v", ents)
	}
}

// longest is the length of the longest chain of references of a graph.
func longest(t *testing.T, g *Graph) int {
	d := g.decoder()
	if err := g.needIndex(); err != nil {
		t.Fatal(err)
	}
	chain := make([]int, g.nodes)
	for v := range g.nodes {
		d.pos = g.index.at(v)
		_, ref, err := d.head(graph.Node(v))
		if err != nil {
			t.Fatal(err)
		}
		if ref > 0 {
			chain[v] = chain[v-ref] + 1
		}
	}
	return slices.Max(chain)
}

func TestChains(t *testing.T) {
	want, err := gen.Weblike(5000, 10, 3)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(1 << 62)
	for _, maxRef := range []int{1, 3, 10, -1} {
		name := filepath.Join(t.TempDir(), "g")
		s, err := Write(name, want, Config{MaxRef: maxRef})
		if err != nil {
			t.Fatal(err)
		}
		g := open(t, name)
		if n := longest(t, g); maxRef > 0 && n > maxRef || maxRef < 0 && n <= 10 {
			t.Errorf("MaxRef %d: the longest chain has %d references", maxRef, n)
		}
		if s.Bits > last {
			t.Errorf("MaxRef %d takes %d bits, less took %d", maxRef, s.Bits, last)
		}
		last = s.Bits
		random(t, g, want, 200)
	}
}

// TestLongChain: a chain as long as the graph takes the memory of two lists, and one longer
// than the file admits to is refused.
func TestLongChain(t *testing.T) {
	const n, degree = 50_000, 200
	want := &graph.CSR{Offset: []uint64{0}}
	for range n {
		for u := range graph.Node(degree) {
			want.Succ = append(want.Succ, 3*u)
		}
		want.Offset = append(want.Offset, uint64(len(want.Succ)))
	}
	name := filepath.Join(t.TempDir(), "g")
	if _, err := Write(name, want, Config{Window: 1, MaxRef: -1}); err != nil {
		t.Fatal(err)
	}
	g := open(t, name)
	if l := longest(t, g); l != n-1 {
		t.Fatalf("the longest chain has %d references, want %d", l, n-1)
	}
	var got []graph.Node
	var err error
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err = g.AppendSuccessors(nil, n-1)
	runtime.ReadMemStats(&after)
	if err != nil || !slices.Equal(got, want.Successors(n-1)) {
		t.Fatalf("AppendSuccessors(%d) = %v, %v", n-1, got, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 200*n {
		t.Errorf("a chain of %d references of %d arcs takes %d bytes", n-1, degree, took)
	}
	text, err := os.ReadFile(name + ".properties")
	if err != nil {
		t.Fatal(err)
	}
	limit := strings.Replace(string(text), fmt.Sprint("maxrefcount=", math.MaxInt32), "maxrefcount=3", 1)
	if err := os.WriteFile(name+".properties", []byte(limit), 0o644); err != nil {
		t.Fatal(err)
	}
	h := open(t, name)
	if _, err := h.AppendSuccessors(nil, 3); err != nil {
		t.Errorf("a chain of three: %v", err)
	}
	var wrong *Error
	if _, err := h.AppendSuccessors(nil, 4); !errors.As(err, &wrong) || wrong.Node != 4 || !strings.Contains(wrong.What, "more than 3 references") {
		t.Errorf("a chain of four: %v", err)
	}
}

func TestWriteOffsets(t *testing.T) {
	name := linked(t)
	g := open(t, name)
	if err := g.WriteOffsets(); err != nil {
		t.Fatal(err)
	}
	h := open(t, name)
	if err := h.needIndex(); err != nil || !slices.Equal(h.index.rest, g.index.rest) || !slices.Equal(h.index.base, g.index.base) {
		t.Errorf("offsets read back otherwise: %v", err)
	}
}

func TestOpenTranspose(t *testing.T) {
	g, err := gen.Weblike(500, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "g")
	if _, err := OpenTranspose(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenTranspose without one: %v", err)
	}
	if _, err := Write(name+"-t", g.Transpose(), Config{}); err != nil {
		t.Fatal(err)
	}
	tr, err := OpenTranspose(name + ".graph")
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	equal(t, tr, g.Transpose())
}

func TestDamage(t *testing.T) {
	g, err := gen.Weblike(2000, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "g")
	if _, err := Write(name, g, Config{}); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, end := range []string{".graph", ".properties", ".offsets"} {
		if files[end], err = os.ReadFile(name + end); err != nil {
			t.Fatal(err)
		}
	}
	swap := func(end, old, new string) func(map[string][]byte) {
		return func(f map[string][]byte) { f[end] = []byte(strings.Replace(string(f[end]), old, new, 1)) }
	}
	for _, tt := range []struct {
		name   string
		damage func(f map[string][]byte)
		want   string
	}{
		{"nothing", func(map[string][]byte) {}, ""},
		{"no properties", func(f map[string][]byte) { delete(f, ".properties") }, "a BV graph is a .graph file with its .properties beside it"},
		{"no graph", func(f map[string][]byte) { delete(f, ".graph") }, "g.graph: no such file"},
		{"no offsets", func(f map[string][]byte) { delete(f, ".offsets") }, ""},
		{"graph truncated", func(f map[string][]byte) { f[".graph"] = f[".graph"][:len(f[".graph"])/2] }, "the file ends too early"},
		{"graph cut by a byte", func(f map[string][]byte) { f[".graph"] = f[".graph"][:len(f[".graph"])-1] }, "node 1999: the file ends too early"},
		{"graph empty", func(f map[string][]byte) { f[".graph"] = nil }, "bit 0: the file ends too early for 2000 nodes"},
		{"graph longer", func(f map[string][]byte) { f[".graph"] = append(slices.Clone(f[".graph"]), make([]byte, 8)...) }, "the graph ends here, the file at bit"},
		{"offsets truncated", func(f map[string][]byte) { f[".offsets"] = f[".offsets"][:100] }, "g.offsets: bit 800, node"},
		{"offsets of another", func(f map[string][]byte) { f[".offsets"] = slices.Repeat([]byte{0xff}, 1000) }, "these are the offsets of another graph"},
		{"offsets beyond", func(f map[string][]byte) { f[".offsets"] = append([]byte{0, 0, 0, 0, 0xff, 0xff}, f[".offsets"]...) }, "the graph file ends at"},
		{"offsets shifted", func(f map[string][]byte) {
			f[".offsets"] = slices.Clone(f[".offsets"])
			f[".offsets"][50] ^= 0x10
		}, ".offsets"},
		{"arcs", swap(".properties", "arcs=", "arcs=1"), "arcs, the properties tell"},
		{"an arc more than told", swap(".properties", fmt.Sprint("arcs=", g.NumArcs()), fmt.Sprint("arcs=", g.NumArcs()-1)), "node 1999: more arcs than the"},
		{"too many arcs", swap(".properties", "arcs=", "arcs=99999"), "g.properties: want at most 4000000 arcs of 2000 nodes"},
		{"nodes", swap(".properties", "nodes=2000", "nodes=x"), `want nodes from 0 to 4294967295, got "x"`},
		{"too many nodes", swap(".properties", "nodes=2000", "nodes=4294967296"), `'forage cover' takes set systems with 64-bit numbers`},
		{"no nodes", swap(".properties", "nodes=2000", ""), "g.properties: no nodes"},
		{"fewer nodes", swap(".properties", "nodes=2000", "nodes=1000"), "node 9: successor 1672 in a graph of 1000 nodes"},
		{"class", swap(".properties", "webgraph.BVGraph", "webgraph.EFGraph"), "g.properties:3: want a graphclass of BVGraph"},
		{"flags", swap(".properties", "compressionflags=", "compressionflags=RESIDUALS_ARITH"), "there is no such code here"},
		{"flag", swap(".properties", "compressionflags=", "compressionflags=X"), `there is no compression flag "X"`},
		{"version", swap(".properties", "version=0", "version=1"), `want version from 0 to 0, got "1"`},
		{"line", swap(".properties", "version=0", "version"), `g.properties:2: want KEY=VALUE`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := map[string][]byte{}
			for end, text := range files {
				f[end] = text
			}
			tt.damage(f)
			for end := range files {
				os.Remove(name + end)
			}
			for end, text := range f {
				if err := os.WriteFile(name+end, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			g, err := Open(name)
			if err == nil {
				defer g.Close()
				err = g.Check()
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// Any damage of a bit is an error or another graph, and never a panic or an invalid list.
func TestFlippedBits(t *testing.T) {
	g, err := gen.Weblike(300, 5, 2)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "g")
	if _, err := Write(name, g, Config{}); err != nil {
		t.Fatal(err)
	}
	os.Remove(name + ".offsets")
	data, err := os.ReadFile(name + ".graph")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 10))
	for range race.Fewer(3000) {
		bad := slices.Clone(data)
		bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		if err := os.WriteFile(name+".graph", bad, 0o644); err != nil {
			t.Fatal(err)
		}
		whole(t, name)
	}
}

// TestLargeWindow reads a few nodes whose properties tell of the largest window that there is:
// memory is that of the lists there are.
func TestLargeWindow(t *testing.T) {
	want, err := gen.Weblike(40, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "g")
	if _, err := Write(name, want, Config{Window: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	os.Remove(name + ".offsets")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g := open(t, name)
	equal(t, g, want)
	random(t, g, want, 20)
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes to read 40 nodes", used)
	}
}

// whole reads a perhaps damaged graph in every way.
func whole(t *testing.T, name string) {
	t.Helper()
	g, err := Open(name)
	if err != nil {
		return
	}
	defer g.Close()
	n := graph.Node(g.NumNodes())
	c := &graph.CSR{Offset: []uint64{0}}
	err = g.Scan(0, n, func(_ graph.Node, succ []graph.Node) error {
		c.Succ = append(c.Succ, succ...)
		c.Offset = append(c.Offset, uint64(len(c.Succ)))
		return nil
	})
	if err == nil {
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
	}
	for v := range min(n, 200) { // with chains of references of any length more would be quadratic
		got, rerr := g.AppendSuccessors(nil, v)
		if rerr != nil && strings.Contains(rerr.Error(), "maxrefcount") {
			continue // in order chains of any length are read
		}
		if err == nil && rerr != nil && g.indexErr == nil || err == nil && rerr == nil && !slices.Equal(got, c.Successors(v)) {
			t.Fatalf("node %d read in order and at random differ: %v", v, rerr)
		}
	}
	g.Check()
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []Config{{Window: -2}, {MaxRef: -2}, {MinInterval: -2}, {ZetaK: 40}, {ZetaK: -1}, {Flags: "RESIDUALS_"}, {Flags: "OUTDEGREES_ZETA"}} {
		dir := t.TempDir()
		if _, err := Write(filepath.Join(dir, "g"), &graph.CSR{}, c); err == nil {
			t.Errorf("Write with %+v: no error", c)
		}
		if ents, _ := os.ReadDir(dir); len(ents) > 0 {
			t.Errorf("Write with %+v left %v", c, ents)
		}
	}
}

type failing struct{ graph.CSR }

func (failing) Scan(lo, hi graph.Node, visit func(graph.Node, []graph.Node) error) error {
	visit(0, nil)
	return fs.ErrInvalid
}

func TestWriteLeavesNothingAfterAnError(t *testing.T) {
	dir := t.TempDir()
	if _, err := Write(filepath.Join(dir, "g"), &failing{}, Config{}); err != fs.ErrInvalid {
		t.Errorf("Write: %v", err)
	}
	if ents, _ := os.ReadDir(dir); len(ents) > 0 {
		t.Errorf("Write left %v", ents)
	}
}

func FuzzRead(f *testing.F) {
	g, err := gen.Weblike(40, 3, 2)
	if err != nil {
		f.Fatal(err)
	}
	name := filepath.Join(f.TempDir(), "g")
	for _, c := range []Config{{}, {Window: -1, MinInterval: -1}, {Flags: "RESIDUALS_NIBBLE | BLOCKS_DELTA"}} {
		if _, err := Write(name, g, c); err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(name + ".graph")
		if err != nil {
			f.Fatal(err)
		}
		text, err := os.ReadFile(name + ".properties")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, text)
	}
	os.Remove(name + ".offsets")
	f.Fuzz(func(t *testing.T, data, text []byte) {
		if err := os.WriteFile(name+".graph", data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name+".properties", text, 0o644); err != nil {
			t.Fatal(err)
		}
		whole(t, name)
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(uint64(1), 7, 3, 4, 3)
	f.Add(uint64(2), -1, -1, -1, 1)
	name := filepath.Join(f.TempDir(), "g")
	f.Fuzz(func(t *testing.T, seed uint64, window, maxRef, least, k int) {
		want := generated(rand.New(rand.NewPCG(seed, 11)))
		if window > 100 {
			t.Skip()
		}
		if _, err := Write(name, want, Config{Window: window, MaxRef: maxRef, MinInterval: least, ZetaK: k}); err != nil {
			return
		}
		g, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		equal(t, g, want)
		random(t, g, want, 20)
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	name := map[string]string{"cnr-2000": linked(b)}
	g, err := gen.Weblike(200000, 21, 42)
	if err != nil {
		b.Fatal(err)
	}
	name["weblike"] = filepath.Join(b.TempDir(), "w")
	if _, err := Write(name["weblike"], g, Config{}); err != nil {
		b.Fatal(err)
	}
	for _, which := range []string{"cnr-2000", "weblike"} {
		b.Run("graph="+which, func(b *testing.B) {
			g := open(b, name[which])
			for b.Loop() {
				if err := g.Scan(0, graph.Node(g.NumNodes()), func(graph.Node, []graph.Node) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(g.NumArcs())*float64(b.N)/b.Elapsed().Seconds(), "arcs/s")
		})
	}
}

func BenchmarkSuccessors(b *testing.B) {
	g := open(b, linked(b))
	if err := g.needIndex(); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	var buf []graph.Node
	count := 0
	for b.Loop() {
		var err error
		if buf, err = g.AppendSuccessors(buf[:0], graph.Node(r.IntN(g.nodes))); err != nil {
			b.Fatal(err)
		}
		count += len(buf)
	}
	b.ReportMetric(float64(count)/b.Elapsed().Seconds(), "arcs/s")
}

func BenchmarkWrite(b *testing.B) {
	g, err := graph.Load(open(b, linked(b)))
	if err != nil {
		b.Fatal(err)
	}
	name := filepath.Join(b.TempDir(), "g")
	for b.Loop() {
		if _, err := Write(name, g, Config{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(g.NumArcs())*float64(b.N)/b.Elapsed().Seconds(), "arcs/s")
}
