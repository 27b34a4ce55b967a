package labels

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"forage/graph"
	"forage/graph/arcs"
)

// A Set is what a file of nodes, URLs and domains stands for.
type Set struct {
	nodes map[graph.Node]bool
	names map[string]bool // hosts, domains and URLs
	path  string
}

// ReadSet reads a file with a node number below n, a URL or a domain a line. A domain stands for
// its subdomains too; a public suffix (com, co.uk) is an error, for it stands for the web, and so
// is a file that names nothing.
func ReadSet(path string, n int) (*Set, error) {
	s := &Set{nodes: map[graph.Node]bool{}, names: map[string]bool{}, path: path}
	err := arcs.Lines(path, func(line int, text string) error {
		if v, err := strconv.ParseUint(text, 10, 64); err == nil {
			if v >= uint64(n) {
				return notInGraph(path, line, v, n)
			}
			s.nodes[graph.Node(v)] = true
			return nil
		}
		if !strings.Contains(text, "/") {
			text = strings.ToLower(strings.Trim(text, "."))
			if suffix, icann := publicsuffix.PublicSuffix(text); icann && suffix == text {
				return fmt.Errorf("%s:%d: %s is a public suffix and stands for all sites below it; want a domain such as example.%s", path, line, text, text)
			}
			if strings.ContainsAny(text, " \t") {
				return fmt.Errorf("%s:%d: want a node number, a URL or a domain, got %q", path, line, text)
			}
		}
		s.names[text] = true
		return nil
	})
	if err == nil && len(s.nodes)+len(s.names) == 0 {
		err = fmt.Errorf("%s names nothing", path)
	}
	return s, err
}

// has reports whether the set names a node by its URL: the URL itself, its host, or a
// domain above it.
func (s *Set) has(name string) bool {
	if s.names[name] || s.names[strings.TrimSuffix(name, "/")] {
		return true
	}
	for h := Host(name); h != ""; {
		if s.names[h] {
			return true
		}
		_, up, ok := strings.Cut(h, ".")
		if !ok {
			return false
		}
		h = up
	}
	return false
}

// Mark tells, by node, which of the n nodes the set stands for. Without names for the nodes (l is
// nil) the set may hold numbers only: it is ErrUnnamed if there are others. That nothing of the
// set is in the graph is an error.
func (s *Set) Mark(l *Names, n int) ([]bool, error) {
	in := make([]bool, n)
	count := len(s.nodes)
	for v := range s.nodes {
		in[v] = true
	}
	if len(s.names) > 0 {
		if l == nil {
			return nil, fmt.Errorf("%s holds names, but %w", s.path, ErrUnnamed)
		}
		err := l.each(func(v graph.Node, name string) error {
			if s.has(name) {
				in[v] = true
				count++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if count == 0 {
		return nil, fmt.Errorf("nothing that %s names is in the graph", s.path)
	}
	return in, nil
}

// ReadNodes reads node numbers below n, one a line, in the order of the file.
func ReadNodes(path string, n int) ([]graph.Node, error) {
	var nodes []graph.Node
	err := arcs.Lines(path, func(line int, text string) error {
		v, err := strconv.ParseUint(text, 10, 64)
		switch {
		case err != nil:
			return fmt.Errorf("%s:%d: want a node number, got %q", path, line, text)
		case v >= uint64(n):
			return notInGraph(path, line, v, n)
		}
		nodes = append(nodes, graph.Node(v))
		return nil
	})
	return nodes, err
}

// WriteNodes writes node numbers as ReadNodes reads them.
func WriteNodes(w io.Writer, nodes []graph.Node) error {
	b := bufio.NewWriter(w)
	for _, v := range nodes {
		fmt.Fprintln(b, v)
	}
	return b.Flush()
}

// ReadWeights reads a node number below n and its weight, at least 0, a line. It returns the
// weights by node, 1 for those that the file does not name.
func ReadWeights(path string, n int) ([]float32, error) {
	weights := make([]float32, n)
	for v := range weights {
		weights[v] = 1
	}
	err := arcs.Lines(path, func(line int, text string) error {
		fields := strings.Fields(text)
		if len(fields) != 2 {
			return fmt.Errorf("%s:%d: want a node number and a weight, got %q", path, line, text)
		}
		v, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil || v >= uint64(n) {
			return fmt.Errorf("%s:%d: want a node from 0 to %d, got %q", path, line, n-1, fields[0])
		}
		w, err := strconv.ParseFloat(fields[1], 32)
		if err != nil || !(w >= 0) || w > 1e30 {
			return fmt.Errorf("%s:%d: want a weight of at least 0, got %q", path, line, fields[1])
		}
		weights[v] = float32(w)
		return nil
	})
	return weights, err
}

func notInGraph(path string, line int, v uint64, n int) error {
	return fmt.Errorf("%s:%d: node %d is not in the graph, whose nodes are 0 to %d", path, line, v, n-1)
}
