package explore

import "forage/graph"

// state is what a policy knows of one node.
type state uint8

const (
	unseen  state = iota
	open          // observed, neither queried nor handed out
	pending       // handed out by Next
	queried
)

// states holds the state of each node; the zero value knows no node.
type states []state

func (s *states) grow(v graph.Node) {
	for int(v) >= len(*s) {
		*s = append(*s, unseen)
	}
}

// see makes v open and reports whether it was unseen.
func (s *states) see(v graph.Node) bool {
	s.grow(v)
	if (*s)[v] != unseen {
		return false
	}
	(*s)[v] = open
	return true
}

// query makes v queried and returns the state before. None has no state.
func (s *states) query(v graph.Node) state {
	if v == graph.None {
		return queried
	}
	s.grow(v)
	old := (*s)[v]
	(*s)[v] = queried
	return old
}
