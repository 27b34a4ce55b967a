package arcs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forage/graph"
	"forage/graph/gen"
	"forage/internal/race"
	"forage/internal/shared"
)

// file writes text to a file of the test's folder, compressed by its name, and returns its path.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := Create(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		t.Fatal(err)
	}
	return path
}

// naive reads the three formats with the standard library, or says that it cannot.
func naive(text string, f Format) ([][]graph.Node, bool) {
	var lists [][]graph.Node
	add := func(u, v uint64) bool {
		if u >= 1<<20 || v >= 1<<20 {
			return false
		}
		for uint64(len(lists)) <= max(u, v) {
			lists = append(lists, nil)
		}
		lists[u] = append(lists[u], graph.Node(v))
		return true
	}
	node := uint64(0)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	for _, l := range lines {
		blank := strings.Trim(l, " \t\r")
		if f == Adjacency {
			if strings.HasPrefix(l, "#") || strings.HasPrefix(l, "%") {
				continue
			}
			for uint64(len(lists)) <= node {
				lists = append(lists, nil)
			}
		} else if blank == "" || blank[0] == '#' || blank[0] == '%' {
			continue
		}
		words := strings.FieldsFunc(blank, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
		var nums []uint64
		for _, w := range words {
			v, err := strconv.ParseUint(w, 10, 64)
			if err != nil || w[0] == '+' {
				return nil, false
			}
			nums = append(nums, v)
		}
		if f == Adjacency {
			for _, v := range nums {
				if !add(node, v) {
					return nil, false
				}
			}
			node++
		} else if len(nums) != 2 || !add(nums[0], nums[1]) {
			return nil, false
		}
	}
	return lists, true
}

func equal(a, b *graph.CSR) bool {
	return a.NumNodes() == b.NumNodes() && slices.Equal(a.Succ, b.Succ) && slices.Equal(a.Offset[1:], b.Offset[1:])
}

func TestLoad(t *testing.T) {
	arcs := func(n int, a ...graph.Arc) *graph.CSR { return graph.FromArcs(n, a) }
	for _, tt := range []struct {
		name, file, text string
		format           Format
		want             *graph.CSR
	}{
		{"arcs", "a.txt", "0 1\n2\t0\n0 1\n", Auto, arcs(3, graph.Arc{From: 0, To: 1}, graph.Arc{From: 2, To: 0})},
		{"blanks, comments, no last line end", "a.txt", "# x\n\n%\n  5 \t 1  \r\n #\n1 1", Auto, arcs(6, graph.Arc{From: 5, To: 1}, graph.Arc{From: 1, To: 1})},
		{"leading zeros", "a.txt", "000000000000000000000000001 2\n", Auto, arcs(3, graph.Arc{From: 1, To: 2})},
		{"empty", "a.txt", "", Auto, arcs(0)},
		{"gzip", "a.gz", "0 1\n", Auto, arcs(2, graph.Arc{From: 0, To: 1})},
		{"zstandard", "a.zst", "0 1\n", List, arcs(2, graph.Arc{From: 0, To: 1})},
		{"adjacency", "a.txt", "1 2\n\n# no node\n0", Adjacency, arcs(3, graph.Arc{From: 0, To: 1}, graph.Arc{From: 0, To: 2}, graph.Arc{From: 2, To: 0})},
		{"adjacency, last nodes empty", "a.txt", "1\n\n\n\n", Adjacency, arcs(4, graph.Arc{From: 0, To: 1})},
		{"matrix", "a.mtx", "%%MatrixMarket matrix coordinate real general\n% c\n3 4 2\n1 4 0.5\n\n3 1 -1e3\n", Auto, arcs(4, graph.Arc{From: 0, To: 3}, graph.Arc{From: 2, To: 0})},
		{"symmetric matrix", "a.mtx.gz", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n", Auto, arcs(2, graph.Arc{From: 0, To: 1}, graph.Arc{From: 1, To: 0}, graph.Arc{From: 1, To: 1})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Load(file(t, tt.file, tt.text), Options{Format: tt.format})
			if err != nil {
				t.Fatal(err)
			}
			if !equal(got, tt.want) {
				t.Errorf("Load(%q) = %v, want %v", tt.text, got, tt.want)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		format     Format
		want       string
	}{
		{"word", "0 1\n\n2 x\n", Auto, `a.txt:3: want two node numbers, 'u v', got "2 x"`},
		{"one number", "0 1\n7\n", Auto, `a.txt:2: want two node numbers, 'u v' (lists of successors are read with --format adjacency), got "7"`},
		{"negative", "0 -1\n", Auto, `a.txt:1: want two node numbers, 'u v', got "0 -1"`},
		{"comma", "0,1\n", Auto, `a.txt:1: want two node numbers`},
		{"three numbers", "0 1 2\n", Auto, `a.txt:1: want two node numbers, 'u v' (lists of successors are read with --format adjacency), got "0 1 2"`},
		{"2^32-1", "0 4294967295\n", Auto, `a.txt:1: want a node number of at most 4294967294 (graphs here have fewer than 2^32 nodes; 'forage graph convert --relabel' gives sparse ids dense numbers, 'forage cover' takes set systems with 64-bit numbers as they are), got "0 4294967295"`},
		{"2^64", "18446744073709551616 1\n", Auto, `a.txt:1: want a node number of at most 4294967294`},
		{"2^64+1", "1 18446744073709551617\n", Auto, `a.txt:1: want a node number of at most 4294967294`},
		{"2^64-1", "1 18446744073709551615\n", Auto, `a.txt:1: want a node number of at most 4294967294`},
		{"sparse", "0 4000000000\n", Auto, `these look like sparse ids; 'forage graph convert --relabel'`},
		{"adjacency word", "1\n\n2 a\n", Adjacency, `a.txt:3: want node numbers, the successors of one node, got "2 a"`},
		{"adjacency large", "99999999999\n", Adjacency, `a.txt:1: want a node number of at most 4294967294`},
		{"matrix without header", "1 1 0\n", MatrixMarket, `a.txt:1: want the header`},
		{"dense matrix", "%%MatrixMarket matrix array real general\n1 1\n1\n", Auto, `a.txt:1: want '%%MatrixMarket matrix coordinate FIELD SYMMETRY'`},
		{"matrix without sizes", "%%MatrixMarket matrix coordinate real general\n% c\n", Auto, `a.txt:3: want the sizes`},
		{"matrix sizes", "%%MatrixMarket matrix coordinate real general\n3 4\n", Auto, `a.txt:2: want the sizes, 'rows columns entries', got "3 4"`},
		{"matrix too large", "%%MatrixMarket matrix coordinate real general\n3 4294967296 1\n", Auto, `a.txt:2: want a node number of at most`},
		{"matrix row 0", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n0 1\n", Auto, `a.txt:3: want a row in [1, 2] and a column in [1, 2], got "0 1"`},
		{"matrix entries missing", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n", Auto, `a.txt: want 2 entries, as its line of sizes says, got "1"`},
		{"matrix symmetry", "%%MatrixMarket matrix coordinate pattern odd\n2 2 0\n", Auto, `a.txt:1: want general, symmetric`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(file(t, "a.txt", tt.text), Options{Format: tt.format})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load(%q): %v, want %s", tt.text, err, tt.want)
			}
		})
	}
}

func TestFirstErrorOfMany(t *testing.T) {
	var b strings.Builder
	for i := range 400000 {
		if i%1000 == 777 {
			fmt.Fprintln(&b, "bad")
		}
		fmt.Fprintln(&b, i, i+1)
	}
	path := file(t, "a.txt", b.String())
	for range 5 {
		_, err := Load(path, Options{Threads: 8})
		if e := (*Error)(nil); !errors.As(err, &e) || e.Line != 778 {
			t.Fatalf("Load: %v, want an error on line 778", err)
		}
	}
}

// TestParts: a graph in many compressed parts is the same for any number of threads, and so is
// the error that is told.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	var want []graph.Arc
	write := func(name string, lines int, end string) {
		err := Create(filepath.Join(dir, name), func(w io.Writer) error {
			for range lines {
				a := graph.Arc{From: graph.Node(r.IntN(5000)), To: graph.Node(r.IntN(5000))}
				want = append(want, a)
				fmt.Fprintf(w, "%d\t%d\n", a.From, a.To)
			}
			_, err := io.WriteString(w, end)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 9 {
		write(fmt.Sprintf("part-%d.gz", i), []int{20000, 0, 300, 1}[i%4], "# end")
	}
	load := func(threads int, memory int64) (*graph.CSR, error) {
		return Load(dir, Options{Threads: threads, Memory: memory})
	}
	for _, threads := range []int{1, 2, 7} {
		for _, memory := range []int64{0, 1 << 20} { // blocks of 16 KiB
			g, err := load(threads, memory)
			if err != nil {
				t.Fatal(err)
			}
			if !equal(g, graph.FromArcs(5000, want)) {
				t.Errorf("%d threads, memory %d: another graph", threads, memory)
			}
		}
	}
	write("part-0.gz", 20000, "bad in 0\n")
	write("part-1.gz", 0, "bad in 1\n")
	write("part-6.gz", 0, "bad in 6\n")
	for range 20 {
		if _, err := load(3, 0); err == nil || !strings.Contains(err.Error(), "part-0.gz:20001:") {
			t.Fatalf("%v, want the error of part-0.gz", err)
		}
	}
}

func TestTruncatedCompression(t *testing.T) {
	text := strings.Repeat("1 2\n3 4\n5 6\n7 8\n", 10000)
	for _, name := range []string{"a.gz", "a.zst"} {
		path := file(t, name, text)
		all, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, all[:len(all)-5], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path, Options{}); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "too early") {
			t.Errorf("Load of a truncated %s: %v", name, err)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("d/part-1.txt", "0 1\n")
	write("d/part-0.txt", "1 2")
	write("d/.hidden", "x")
	write("l.paths", "d/part-1.txt\n\nd/part-0.txt\n")
	write("empty.paths", "\n")
	write("bad.paths", "d/part-1.txt\nd/none\n")
	if err := Create(filepath.Join(dir, "z.paths.gz"), func(w io.Writer) error { _, err := io.WriteString(w, "d/part-0.txt"); return err }); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, want string }{
		{"d/part-1.txt", "part-1.txt"},
		{"d", "part-0.txt part-1.txt"},
		{"d/part-*", "part-0.txt part-1.txt"},
		{"l.paths", "part-1.txt part-0.txt"},
		{"z.paths.gz", "part-0.txt"},
		{"none", "error: no such file"},
		{"d/x*", "error: no file matches"},
		{"[", "error: syntax error in pattern"},
		{"empty.paths", "error: the list names no files"},
		{"bad.paths", "error: bad.paths:2: stat"},
	} {
		files, err := Files(filepath.Join(dir, tt.path))
		if want, ok := strings.CutPrefix(tt.want, "error: "); ok {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Files(%s): %v, want %s", tt.path, err, want)
			}
			continue
		}
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		if got := strings.Join(files, " "); err != nil || got != tt.want {
			t.Errorf("Files(%s) = %s, %v, want %s", tt.path, got, err, tt.want)
		}
	}
	g, err := Load(filepath.Join(dir, "d"), Options{})
	if want := graph.FromArcs(3, []graph.Arc{{From: 0, To: 1}, {From: 1, To: 2}}); err != nil || !equal(g, want) {
		t.Errorf("Load of a folder = %v, %v", g, err)
	}
	g, err = Load(filepath.Join(dir, "l.paths"), Options{Format: Adjacency}) // lines go on from part to part
	if want := graph.FromLists([][]graph.Node{{0, 1}, {1, 2}, {}}); err != nil || !equal(g, want) {
		t.Errorf("Load of adjacency in parts = %v, %v", g, err)
	}
}

func TestWriteReadsBack(t *testing.T) {
	g, err := gen.Weblike(3000, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Format{List, Adjacency, MatrixMarket} {
		for _, end := range []string{"", ".gz", ".zst"} {
			path := filepath.Join(t.TempDir(), "g"+end)
			if err := WriteFile(path, g, f); err != nil {
				t.Fatal(err)
			}
			for _, threads := range []int{1, 3} {
				got, err := Load(path, Options{Format: f, Threads: threads})
				if err != nil || !equal(got, g) {
					t.Errorf("%v%s does not read back (%d threads): %v", f, end, threads, err)
				}
			}
		}
	}
	if ents, _ := os.ReadDir(t.TempDir()); len(ents) != 0 {
		t.Errorf("files are left behind: %v", ents)
	}
}

func TestCreateLeavesNothingAfterAnError(t *testing.T) {
	dir := t.TempDir()
	err := Create(filepath.Join(dir, "x.gz"), func(w io.Writer) error { w.Write([]byte("some")); return io.ErrShortWrite })
	if ents, _ := os.ReadDir(dir); err != io.ErrShortWrite || len(ents) != 0 {
		t.Errorf("Create: %v, left %v", err, ents)
	}
}

// Small blocks put every boundary to the test.
func TestBlocksAgainstNaive(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		f := Format(1 + r.IntN(2))
		for range r.IntN(2000) {
			switch k := r.IntN(20); {
			case k == 0:
				b.WriteString("# comment 1 2 3")
			case k == 1 && f == List:
			case f == List:
				fmt.Fprintf(&b, "%d %d", r.IntN(300), r.IntN(300))
			default:
				for range r.IntN(12) {
					fmt.Fprintf(&b, "%d ", r.IntN(300))
				}
			}
			b.WriteByte('\n')
		}
		lists, ok := naive(b.String(), f)
		if !ok {
			t.Fatal("the oracle cannot read what the test wrote")
		}
		want := graph.FromLists(lists)
		got, err := Load(file(t, "x", b.String()), Options{Format: f, Threads: 2, Memory: 1 << 19}) // blocks of 16 KiB
		if err != nil || !equal(got, want) {
			t.Fatalf("seed %d: %v: differs from naive: %v", seed, f, err)
		}
	}
}

func TestLongLine(t *testing.T) {
	var b strings.Builder
	for i := range 300000 {
		fmt.Fprintf(&b, "%d ", i)
	}
	b.WriteString("\n7\n")
	g, err := Load(file(t, "a", b.String()), Options{Format: Adjacency, Memory: 16 << 20})
	if err != nil || g.OutDegree(0) != 300000 || !g.HasArc(1, 7) {
		t.Fatalf("Load: %v", err)
	}
}

func TestSortAgainstMemory(t *testing.T) {
	const n = 40000
	r := rand.New(rand.NewPCG(5, 5))
	size := 1_500_000
	if race.Enabled {
		size = 800_000
	}
	all := make([]graph.Arc, size)
	var b bytes.Buffer
	for i := range all {
		all[i] = graph.Arc{From: graph.Node(r.IntN(n)), To: graph.Node(r.IntN(n) * r.IntN(2))}
		fmt.Fprintln(&b, all[i].From, all[i].To)
	}
	want := graph.FromArcs(n, all)
	path := file(t, "a.gz", b.String())
	dir := t.TempDir()
	runs, err := Sort([]string{path}, Options{Memory: 8 << 20, Dir: dir}) // 393,216 arcs a run
	if err != nil {
		t.Fatal(err)
	}
	defer runs.Close()
	got, err := graph.Load(runs)
	if err != nil || !equal(got, want) {
		t.Fatalf("Sort differs from memory: %v", err)
	}
	for range 50 {
		lo := graph.Node(r.IntN(n))
		hi := lo + graph.Node(r.IntN(n-int(lo))) + 1
		v := lo
		err := runs.Scan(lo, hi, func(x graph.Node, succ []graph.Node) error {
			if x != v || !slices.Equal(succ, want.Successors(v)) {
				t.Fatalf("Scan(%d, %d): node %d: %v, want node %d: %v", lo, hi, x, succ, v, want.Successors(v))
			}
			v++
			return nil
		})
		if err != nil || v != hi {
			t.Fatalf("Scan(%d, %d) ends at %d: %v", lo, hi, v, err)
		}
	}
	if got, err := Load(path, Options{Memory: 10 << 20, Dir: dir}); err != nil || !equal(got, want) {
		t.Fatalf("Load within memory: %v", err)
	}
	if _, err := Load(path, Options{Memory: 8 << 20 / 10, Dir: dir}); err == nil {
		t.Error("Load within less memory than the result: no error")
	}
	if ents, _ := os.ReadDir(dir); len(ents) != 0 {
		t.Errorf("files are left behind: %v", ents)
	}
}

func TestMergeInSeveralPasses(t *testing.T) {
	var runs []run
	want := map[uint64]bool{}
	r := rand.New(rand.NewPCG(6, 6))
	for range 9 {
		keys := make([]uint64, r.IntN(1000))
		for i := range keys {
			keys[i] = r.Uint64N(1 << 35)
			want[keys[i]] = true
		}
		x, err := writeRun(t.TempDir(), sorted(keys, make([]uint64, len(keys))))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, x)
	}
	for len(runs) > 1 {
		x, err := mergeRuns(t.TempDir(), runs[:2], 100)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs[2:], x)
	}
	c, err := runs[0].cursor(0, 100)
	if err != nil || int(runs[0].arcs) != len(want) {
		t.Fatalf("%d arcs, want %d; %v", runs[0].arcs, len(want), err)
	}
	for ; c.ok; c.next() {
		if !want[c.key] {
			t.Fatalf("arc %d comes twice or was never there", c.key)
		}
		delete(want, c.key)
	}
	if len(want) != 0 {
		t.Errorf("%d arcs are lost", len(want))
	}
}

func TestSortedAgainstSlices(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 4))
		keys := make([]uint64, r.IntN(3000))
		for i := range keys {
			keys[i] = r.Uint64() >> r.IntN(64) << (seed % 3 * 20)
		}
		want := slices.Sorted(slices.Values(keys))
		if got := sorted(keys, make([]uint64, len(keys))); !slices.Equal(got, want) {
			t.Fatalf("seed %d: sorted(…) = %v, want %v", seed, got, want)
		}
	}
}

func TestCnr2000Adjacency(t *testing.T) {
	g, err := Load(shared.Path(t, "data", "webgraphs", "cnr-2000.txt.gz"), Options{Format: Adjacency})
	if err != nil {
		t.Fatal(err)
	}
	if g.NumNodes() != 325557 || g.NumArcs() != 3216152 {
		t.Errorf("cnr-2000 has %d nodes and %d arcs, want 325557 and 3216152", g.NumNodes(), g.NumArcs())
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}

func fuzz(f *testing.F, format Format) {
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "x")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(text, "\x1f\x8b") || strings.HasPrefix(text, "\x28\xb5\x2f\xfd") {
			t.Skip()
		}
		got, err := Load(path, Options{Format: format, Threads: 1, Memory: 16 << 20})
		if format == MatrixMarket {
			if err == nil {
				err = got.Check()
				if err != nil {
					t.Fatal(err)
				}
			}
			return
		}
		lists, ok := naive(text, format)
		if !ok {
			if err == nil && got.NumNodes() <= 1<<20 {
				t.Fatalf("Load(%q) = %v, want an error", text, got)
			}
			return
		}
		if err != nil {
			t.Fatalf("Load(%q): %v", text, err)
		}
		if want := graph.FromLists(lists); !equal(got, want) {
			t.Fatalf("Load(%q) = %v, want %v", text, got, want)
		}
	})
}

func FuzzList(f *testing.F) {
	for _, s := range []string{"", "0 1\n", "# c\n1\t2\r\n\n3 4", "1 2 3", "x", "0 99999999999"} {
		f.Add(s)
	}
	fuzz(f, List)
}

func FuzzAdjacency(f *testing.F) {
	for _, s := range []string{"", "0 1\n", "# c\n\n1\t2\r\n\n3 4", "1 2 3", "x", "99999999999"} {
		f.Add(s)
	}
	fuzz(f, Adjacency)
}

func FuzzMatrixMarket(f *testing.F) {
	for _, s := range []string{"%%MatrixMarket matrix coordinate real general\n% c\n3 4 2\n1 4 0.5\n\n3 1 -1e3\n", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n"} {
		f.Add(s)
	}
	fuzz(f, MatrixMarket)
}

func BenchmarkLoad(b *testing.B) {
	g, err := gen.Weblike(200000, 21, 42)
	if err != nil {
		b.Fatal(err)
	}
	for _, format := range []Format{List, Adjacency} {
		for _, end := range []string{"", ".gz", ".zst"} {
			path := filepath.Join(b.TempDir(), "g"+end)
			if err := WriteFile(path, g, format); err != nil {
				b.Fatal(err)
			}
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("format=%v%s/threads=%d", format, end, threads), func(b *testing.B) {
					for b.Loop() {
						if _, err := Load(path, Options{Format: format, Threads: threads}); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(g.NumArcs())*float64(b.N)/b.Elapsed().Seconds(), "arcs/s")
				})
			}
		}
	}
}
