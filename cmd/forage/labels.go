package main

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"forage/graph"
	"forage/store"
)

// names gives the nodes of a graph their URLs: from a file of labels, or from a store. They are
// read as a stream, each time they are needed.
type names struct {
	n    int
	each func(visit func(v graph.Node, name string) error) error
}

// labelFile returns the names in a file: a line a node, its number and its name, blanks or a tab
// between. Names are URLs, or hosts, also with their labels in reverse (com.example.www), as
// some graphs of hosts have them.
func labelFile(path string, n int) (*names, error) {
	each := func(visit func(line int, v graph.Node, name string) error) error {
		return eachLine(path, func(line int, text string) error {
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
	// Which way round bare host names are is seen from all that can only be read one way.
	forward, backward := 0, 0
	err := each(func(line int, _ graph.Node, name string) error {
		if line <= 100000 && !strings.ContainsAny(name, ":/") {
			f, b := knownSuffix(name), knownSuffix(reverseHost(name))
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
	return &names{n: n, each: func(visit func(graph.Node, string) error) error {
		return each(func(_ int, v graph.Node, name string) error {
			if !strings.Contains(name, "://") {
				host, rest, slash := strings.Cut(name, "/")
				if backward > forward {
					host = reverseHost(host)
				}
				name = "https://" + host + "/"
				if slash {
					name += rest
				}
			}
			return visit(v, name)
		})
	}}, nil
}

// storeNames returns the URLs of a store's documents.
func storeNames(v *store.View, n int) *names {
	return &names{n: n, each: func(visit func(graph.Node, string) error) error {
		var failed error
		err := v.Docs(func(d *store.Doc) bool {
			if int(d.ID) < n {
				failed = visit(d.ID, d.URL)
			}
			return failed == nil
		})
		if failed != nil {
			return failed
		}
		return err
	}}
}

// of returns the names of some nodes, in their order.
func (l *names) of(nodes []graph.Node) ([]string, error) {
	at := make(map[graph.Node]int, len(nodes))
	for i, v := range nodes {
		at[v] = i
	}
	out := make([]string, len(nodes))
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
			return nil, usagef("node %d has no name: do labels and graph belong together?", nodes[i])
		}
	}
	return out, nil
}

// groups numbers the hosts and the domains of all nodes; a node without a name is alone.
func (l *names) groups() (host, domain []uint32, err error) {
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
		h := hostOf(name)
		host[v], domain[v], named[v] = get("host "+h), get("domain "+domainOf(h)), true
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

// A nodeSet is what a file of nodes, URLs and domains names.
type nodeSet struct {
	nodes  map[graph.Node]bool
	names  map[string]bool // hosts, domains and URLs
	source string
}

// readSet reads a file with a node number, a URL or a domain a line. A domain stands for its
// subdomains too; a public suffix (com, co.uk) is refused, for it stands for the web.
func readSet(path string, n int) (*nodeSet, error) {
	s := &nodeSet{nodes: map[graph.Node]bool{}, names: map[string]bool{}, source: path}
	err := eachLine(path, func(line int, text string) error {
		if v, err := strconv.ParseUint(text, 10, 64); err == nil {
			if v >= uint64(n) {
				return fmt.Errorf("%s:%d: node %d is not in the graph, whose nodes are 0 to %d", path, line, v, n-1)
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
		err = usagef("%s names nothing", path)
	}
	return s, err
}

// has reports whether the set names a node by its URL: the URL itself, its host, or a
// domain above it.
func (s *nodeSet) has(name string) bool {
	if s.names[name] || s.names[strings.TrimSuffix(name, "/")] {
		return true
	}
	for h := hostOf(name); h != ""; {
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

// mark returns which nodes the set names. Without names for the nodes, it may hold numbers only.
func (s *nodeSet) mark(l *names, n int) ([]bool, error) {
	in := make([]bool, n)
	count := len(s.nodes)
	for v := range s.nodes {
		in[v] = true
	}
	if len(s.names) > 0 {
		if l == nil {
			return nil, usagef("%s holds names, but the graph has none; give them with --labels", s.source)
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
		return nil, usagef("nothing that %s names is in the graph", s.source)
	}
	return in, nil
}

// match returns the nodes whose names a pattern matches.
func (l *names) match(pattern string) ([]bool, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, usagef("%q is neither a file nor a regular expression: %w", pattern, err)
	}
	in := make([]bool, l.n)
	some := false
	err = l.each(func(v graph.Node, name string) error {
		in[v] = re.MatchString(name)
		some = some || in[v]
		return nil
	})
	if err == nil && !some {
		err = usagef("no name matches %q", pattern)
	}
	return in, err
}

// hostOf returns the host of a URL, lower case, without port.
func hostOf(name string) string {
	u, err := url.Parse(name)
	if err != nil {
		return name
	}
	return strings.ToLower(u.Hostname())
}

// domainOf returns the domain that a host was registered under, or the host.
func domainOf(host string) string {
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}

func knownSuffix(host string) bool {
	_, icann := publicsuffix.PublicSuffix(host)
	return icann
}

func reverseHost(host string) string {
	parts := strings.Split(host, ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".")
}
