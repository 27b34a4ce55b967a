package labels

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"forage/graph"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"URLs", "0\thttp://a.org/x\n2 https://b.co.uk/\n", "http://a.org/x  https://b.co.uk/"},
		{"hosts", "# hosts\n0 www.a.org\n1 B.com/dir\n2 c.co.uk", "https://www.a.org/ https://B.com/dir https://c.co.uk/"},
		{"hosts in reverse", "0 org.a.www\n1 com.b\n2 uk.co.c/x", "https://www.a.org/ https://b.com/ https://c.co.uk/x"},
	} {
		l, err := Read(write(t, c.text), 3)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := make([]string, 3)
		if err := l.each(func(v graph.Node, name string) error { got[v] = name; return nil }); err != nil {
			t.Fatal(err)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("Read(%s) = %q, want %q", c.name, s, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"0 a.org\n0", `:2: want a node number and its name, got "0"`},
		{"x a.org", `:1: want a node number and its name, got "x a.org"`},
		{"3 a.org", ":1: a name for node 3, but the graph's nodes are 0 to 2"},
	} {
		if _, err := Read(write(t, c.text), 3); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Read(%q): %v, want %s", c.text, err, c.want)
		}
	}
}

func names(names ...string) *Names {
	return New(len(names), func(visit func(graph.Node, string) error) error {
		for v, name := range names {
			if name != "" {
				if err := visit(graph.Node(v), name); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func TestNames(t *testing.T) {
	l := names("https://www.a.co.uk/", "https://a.co.uk/x", "", "http://WWW.a.co.uk:8080/y")
	if got, err := l.Of([]graph.Node{3, 0}); err != nil || !slices.Equal(got, []string{"http://WWW.a.co.uk:8080/y", "https://www.a.co.uk/"}) {
		t.Errorf("Of = %q, %v", got, err)
	}
	if got, err := (*Names)(nil).Of([]graph.Node{3, 0}); err != nil || !slices.Equal(got, []string{"3", "0"}) {
		t.Errorf("Of without names = %q, %v", got, err)
	}
	if _, err := l.Of([]graph.Node{2}); err == nil || !strings.HasPrefix(err.Error(), "node 2 has no name") {
		t.Errorf("Of(2): %v", err)
	}
	host, domain, err := l.Groups()
	if err != nil || host[0] != host[3] || host[0] == host[1] || domain[0] != domain[1] || slices.Contains(host[:2], host[2]) || slices.Contains(domain[:2], domain[2]) {
		t.Errorf("Groups = %v, %v, %v", host, domain, err)
	}
	if in, err := l.Match(regexp.MustCompile("/[xy]$")); err != nil || !slices.Equal(in, []bool{false, true, false, true}) {
		t.Errorf("Match = %v, %v", in, err)
	}
	if _, err := l.Match(regexp.MustCompile("z")); err == nil || err.Error() != `no name matches "z"` {
		t.Errorf("Match(z): %v", err)
	}
}

func TestSet(t *testing.T) {
	l := names("https://www.a.co.uk/", "https://b.org/x", "https://b.org/", "https://notb.org/")
	for _, c := range []struct {
		text string
		want []bool
	}{
		{"a.co.uk", []bool{true, false, false, false}},
		{"B.org.\n3", []bool{false, true, true, true}},
		{"https://b.org", []bool{false, false, true, false}},
	} {
		s, err := ReadSet(write(t, c.text), 4)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Mark(l, 4); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Mark(%q) = %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	s, err := ReadSet(write(t, "c.org"), 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Mark(nil, 4); !errors.Is(err, ErrUnnamed) {
		t.Errorf("Mark without names: %v", err)
	}
	if _, err := s.Mark(l, 4); err == nil || !strings.HasPrefix(err.Error(), "nothing that ") {
		t.Errorf("Mark of what is not there: %v", err)
	}
	for text, want := range map[string]string{"co.uk": "is a public suffix", "4": "node 4 is not in the graph", "a b": "want a node number, a URL or a domain", "#": "names nothing"} {
		if _, err := ReadSet(write(t, text), 4); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadSet(%q): %v, want %s", text, err, want)
		}
	}
}

func TestReadNumbers(t *testing.T) {
	if got, err := ReadNodes(write(t, "3\n# no\n\n1\n"), 4); err != nil || !slices.Equal(got, []graph.Node{3, 1}) {
		t.Errorf("ReadNodes = %v, %v", got, err)
	}
	if _, err := ReadNodes(write(t, "4"), 4); err == nil || !strings.HasSuffix(err.Error(), ":1: node 4 is not in the graph, whose nodes are 0 to 3") {
		t.Errorf("ReadNodes(4): %v", err)
	}
	if got, err := ReadWeights(write(t, "2 0.5\n0\t3\n"), 3); err != nil || !slices.Equal(got, []float32{3, 1, 0.5}) {
		t.Errorf("ReadWeights = %v, %v", got, err)
	}
	for text, want := range map[string]string{"1": "want a node number and a weight", "3 1": "want a node from 0 to 2", "1 -1": "want a weight of at least 0", "1 NaN": "want a weight"} {
		if _, err := ReadWeights(write(t, text), 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadWeights(%q): %v, want %s", text, err, want)
		}
	}
}
