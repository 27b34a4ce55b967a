package arcs

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forage/graph"
	"forage/graph/gen"
	"forage/internal/race"
)

func named(g *Named) string {
	var s []string
	for v := range g.NumNodes() {
		for _, u := range g.Successors(graph.Node(v)) {
			s = append(s, g.Names[v]+">"+g.Names[u])
		}
	}
	return strings.Join(s, " ")
}

func TestRelabel(t *testing.T) {
	for _, tt := range []struct{ name, file, text, names, want string }{
		{"numbers in their order", "a.txt", "# c\n18446744073709551615 7\n900 7\n7 900\n", "7 900 18446744073709551615", "7>900 900>7 18446744073709551615>7"},
		{"words as they come", "a.txt", "b a\n\na  c\nb a\n", "b a c", "b>a a>c"},
		{"leading zeros are words", "a.txt", "07 7\n", "07 7", "07>7"},
		{"names with blanks", "a.txt", "New York\tLos Angeles\n", "New York|Los Angeles", "New York>Los Angeles"},
		{"records", "a.csv", "from,to,kind\n\"x, y\",z,1\nz,\"x, y\",2\n", "x, y|z", "x, y>z z>x, y"},
		{"compressed", "a.csv.zst", "from,to\na,b\n", "a b", "a>b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := Relabel([]string{file(t, tt.file, tt.text)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			names := strings.Fields(tt.names)
			if strings.Contains(tt.names, "|") {
				names = strings.Split(tt.names, "|")
			}
			if !slices.Equal(g.Names, names) || named(g) != tt.want {
				t.Errorf("Relabel = %q, %s, want %q, %s", g.Names, named(g), names, tt.want)
			}
		})
	}
}

func TestRelabelErrors(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"a.txt", "a b\na b c\n", `a.txt:2: want two names, with a tab or blanks between, got "a b c"`},
		{"a.txt", "a\n", `a.txt:1: want two names`},
		{"a.csv", "", `a.csv:1: want a first record`},
		{"a.csv", "from,to\na,b\nc\n", `a.csv:3: want at least 2 columns, got "c"`},
		{"a.csv", "from,to\na,\"b\n", `a.csv:`},
		{"a.csv", "from,to\na,\n", `a.csv:2: want two names`},
	} {
		if _, err := Relabel([]string{file(t, tt.file, tt.text)}, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Relabel(%q): %v, want %s", tt.text, err, tt.want)
		}
	}
	if _, err := Relabel([]string{file(t, "a.txt", "a b\n")}, Options{Memory: 100}); err == nil {
		t.Error("Relabel beyond its memory: no error")
	}
}

func TestRelabelExplored(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"nodes.csv":     "name,state,degree,score\n12,complete,2,0.5\n5,open,,\n99,hidden,7,3\n",
		"arcs.csv.zst":  "source,target\n12,5\n5,1000\n",
		"manifest.json": "{}",
	} {
		if err := Create(filepath.Join(dir, name), func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			t.Fatal(err)
		}
	}
	g, err := Relabel([]string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(g.Names, " "); got != "5 12 99 1000" || named(g) != "5>1000 12>5" || g.Rows[1][0] != "complete" || g.Rows[3] != nil {
		t.Errorf("Relabel = %s, %s, %q", got, named(g), g.Rows)
	}
	var b bytes.Buffer
	if err := WriteGraphML(&b, g, g.Names, g.Columns, g.Rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<key id="d0" for="node" attr.name="state" attr.type="string"/>`,
		`<key id="d1" for="node" attr.name="degree" attr.type="long"/>`,
		`<key id="d2" for="node" attr.name="score" attr.type="double"/>`,
		`<node id="n1"><data key="name">12</data><data key="d0">complete</data><data key="d1">2</data><data key="d2">0.5</data></node>`,
		`<edge source="n0" target="n3"/>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("GraphML without %s:\n%s", want, b.String())
		}
	}
	back, err := ReadGraphML(file(t, "g.graphml.gz", b.String()), Options{})
	if err != nil || !slices.Equal(back.Names, g.Names) || named(back) != named(g) {
		t.Errorf("GraphML reads back as %v, %v", back, err)
	}
}

func TestGraphMLEscapes(t *testing.T) {
	g := graph.FromArcs(2, []graph.Arc{{From: 1, To: 0}})
	names := []string{"<a&b>\"", "http://é/\n"}
	var b bytes.Buffer
	if err := WriteGraphML(&b, g, names, nil, nil); err != nil {
		t.Fatal(err)
	}
	back, err := ReadGraphML(file(t, "g.graphml", b.String()), Options{})
	if err != nil || !slices.Equal(back.Names, names) || !equal(back.CSR, g) {
		t.Errorf("%q reads back as %q, %v", names, back.Names, err)
	}
}

func TestReadGraphML(t *testing.T) {
	g, err := ReadGraphML(file(t, "g", `<graphml><graph edgedefault="undirected"><edge source="a" target="b"/><node id="c"/><edge source="b" target="c" directed="true"/></graph></graphml>`), Options{})
	if err != nil || named(g) != "a>b b>a b>c" {
		t.Errorf("ReadGraphML = %v, %v", g, err)
	}
	for text, want := range map[string]string{
		"":                           "g:1: want a graph",
		"<graphml>\n<graph>":         "g:2: want GraphML (unexpected EOF)",
		"<graph><node/></graph>":     "g:1: want an id of the node",
		"<graph>\n<edge source='a'>": "g:2: want source and target of the edge",
		"no xml <":                   "g:1: want GraphML",
	} {
		if _, err := ReadGraphML(file(t, "g", text), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadGraphML(%q): %v, want %s", text, err, want)
		}
	}
}

func TestDirections(t *testing.T) {
	g, err := gen.Weblike(2000, 4, 3)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "g.txt")
	if err := WriteFile(path, g, Adjacency); err != nil {
		t.Fatal(err)
	}
	for d, want := range map[Direction]*graph.CSR{AsWritten: g, Reversed: g.Transpose(), Both: g.Undirected()} {
		o := Options{Format: Adjacency, Direction: d}
		if got, err := Load(path, o); err != nil || !equal(got, want) {
			t.Errorf("direction %d: Load differs: %v", d, err)
		}
		r, err := SortGraph(g, o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got, err := graph.Load(r); err != nil || !equal(got, want) {
			t.Errorf("direction %d: SortGraph differs: %v", d, err)
		}
	}
}

func TestGuess(t *testing.T) {
	race.Skip(t)
	g, err := gen.Weblike(60000, 20, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file   string
		format Format
		off    float64 // accepted relative error
	}{{"g.txt", List, 0.2}, {"g.gz", List, 0.3}, {"g.zst", List, 0.3}, {"g", Adjacency, 0.2}, {"g.mtx", MatrixMarket, 0}} {
		path := filepath.Join(t.TempDir(), tt.file)
		if err := WriteFile(path, g, tt.format); err != nil {
			t.Fatal(err)
		}
		e, err := Guess([]string{path}, Options{Format: tt.format})
		if err != nil {
			t.Fatal(err)
		}
		if r := float64(e.Arcs)/float64(g.NumArcs()) - 1; math.Abs(r) > tt.off {
			t.Errorf("Guess(%s): %d arcs, there are %d", tt.file, e.Arcs, g.NumArcs())
		}
		if r := float64(e.Nodes)/float64(g.NumNodes()) - 1; math.Abs(r) > tt.off {
			t.Errorf("Guess(%s): %d nodes, there are %d", tt.file, e.Nodes, g.NumNodes())
		}
		if e.Exact != (tt.format == MatrixMarket) && tt.format != MatrixMarket {
			t.Errorf("Guess(%s) says that it is exact", tt.file)
		}
	}
	e, err := Guess([]string{file(t, "a", "0 1\n5 2")}, Options{})
	if err != nil || e != (Estimate{Nodes: 6, Arcs: 2, Text: 8, Exact: true}) {
		t.Errorf("Guess of a small file = %+v, %v", e, err)
	}
	if _, err := Guess([]string{file(t, "a", "x\n")}, Options{}); err == nil {
		t.Error("Guess of a wrong file: no error")
	}
	if e, err := Guess([]string{file(t, "a", "")}, Options{}); err != nil || e.Nodes != 0 || !e.Exact {
		t.Errorf("Guess of an empty file = %+v, %v", e, err)
	}
}

func FuzzGraphML(f *testing.F) {
	f.Add("<graphml><key id='k' for='node' attr.name='name'/><graph edgedefault='undirected'><node id='a'><data key='k'>x</data></node><edge source='a' target='b'/></graph></graphml>")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "g")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		g, err := ReadGraphML(path, Options{Memory: 1 << 20})
		if err != nil {
			return
		}
		if err := g.Check(); err != nil || len(g.Names) != g.NumNodes() {
			t.Fatalf("%d names of %d nodes, %v", len(g.Names), g.NumNodes(), err)
		}
	})
}
