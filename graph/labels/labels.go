// Package labels gives the nodes of a graph their names: URLs, hosts, registered domains.
//
// Names come from a file of labels (Read) or from wherever else the caller has them (New), and
// are read as a stream each time they are needed, so that a graph of a billion pages needs no
// memory for their URLs. Set is a file of nodes, URLs and domains that stands for some of the
// nodes; ReadNodes and ReadWeights read files of node numbers.
//
// All that is wrong with a file is an error that names the file and the line; an *fs.PathError
// is the disk's.
package labels

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"forage/graph"
	"forage/graph/arcs"
)

// ErrUnnamed says that names are asked for and that the nodes of the graph have none.
var ErrUnnamed = errors.New("the graph has none")

// Names are the names of the nodes of a graph. A node may have none.
type Names struct {
	n    int
	each func(visit func(v graph.Node, name string) error) error
}

// New returns the names of a graph of n nodes that each tells: it calls visit for every node
// that has a name, ends at the first error of visit and returns it. The names are URLs. each is
// called again whenever names are needed.
func New(n int, each func(visit func(v graph.Node, name string) error) error) *Names {
	return &Names{n, each}
}

// Read returns the names in a file, compressed or not: a line a node, its number below n and its
// name, blanks or a tab between. A name is a URL or a host with or without a path, which is made
// a URL; hosts may have their labels in reverse (com.example.www), as some graphs of hosts do.
// Which way round they are is decided for the whole file, by those of the first 100,000 lines
// that end in a known public suffix one way only. The file is read once here, and again at each
// use.
func Read(path string, n int) (*Names, error) {
	each := func(visit func(line int, v graph.Node, name string) error) error {
		return arcs.Lines(path, func(line int, text string) error {
			id, name, ok := strings.Cut(text, "\t")
			if !ok {
				id, name, ok = strings.Cut(text, " ")
			}
			v, err := strconv.ParseUint(strings.TrimSpace(id), 10, 64)
			name = strings.TrimSpace(name)
			switch {
			case err != nil || !ok || name == "":
				return fmt.Errorf("%s:%d: want a node number and its name, got %q", path, line, text)
			case v >= uint64(n):
				return fmt.Errorf("%s:%d: a name for node %d, but the graph's nodes are 0 to %d: do labels and graph belong together?", path, line, v, n-1)
			}
			return visit(line, graph.Node(v), name)
		})
	}
	forward, backward := 0, 0
	err := each(func(line int, _ graph.Node, name string) error {
		if line <= 100000 && !strings.ContainsAny(name, ":/") {
			f, b := knownSuffix(name), knownSuffix(reverse(name))
			if f && !b {
				forward++
			} else if b && !f {
				backward++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return New(n, func(visit func(graph.Node, string) error) error {
		return each(func(_ int, v graph.Node, name string) error {
			if !strings.Contains(name, "://") {
				host, rest, slash := strings.Cut(name, "/")
				if backward > forward {
					host = reverse(host)
				}
				name = "https://" + host + "/"
				if slash {
					name += rest
				}
			}
			return visit(v, name)
		})
	}), nil
}

// Of returns the names of some distinct nodes, in their order; their numbers if l is nil. A node
// without a name is an error.
func (l *Names) Of(nodes []graph.Node) ([]string, error) {
	out := make([]string, len(nodes))
	if l == nil {
		for i, v := range nodes {
			out[i] = strconv.Itoa(int(v))
		}
		return out, nil
	}
	at := make(map[graph.Node]int, len(nodes))
	for i, v := range nodes {
		at[v] = i
	}
	err := l.each(func(v graph.Node, name string) error {
		if i, ok := at[v]; ok {
			out[i] = name
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, name := range out {
		if name == "" {
			return nil, fmt.Errorf("node %d has no name: do labels and graph belong together?", nodes[i])
		}
	}
	return out, nil
}

// Groups numbers the hosts and the registered domains, and returns those of every node; a node
// without a name is a host and a domain of its own. Memory 8 bytes a node, and the names of all
// hosts while it runs.
func (l *Names) Groups() (host, domain []uint32, err error) {
	host, domain = make([]uint32, l.n), make([]uint32, l.n)
	number := map[string]uint32{}
	get := func(s string) uint32 {
		k, ok := number[s]
		if !ok {
			k = uint32(len(number))
			number[strings.Clone(s)] = k
		}
		return k
	}
	named := make([]bool, l.n)
	err = l.each(func(v graph.Node, name string) error {
		h := Host(name)
		host[v], domain[v], named[v] = get("host "+h), get("domain "+Domain(h)), true
		return nil
	})
	for v := range named {
		if !named[v] {
			host[v] = get("node " + strconv.Itoa(v))
			domain[v] = host[v]
		}
	}
	return host, domain, err
}

// Match tells, by node, whose names re matches. That none does is an error.
func (l *Names) Match(re *regexp.Regexp) ([]bool, error) {
	in := make([]bool, l.n)
	err := l.each(func(v graph.Node, name string) error {
		in[v] = re.MatchString(name)
		return nil
	})
	if err == nil && !slices.Contains(in, true) {
		err = fmt.Errorf("no name matches %q", re)
	}
	return in, err
}
