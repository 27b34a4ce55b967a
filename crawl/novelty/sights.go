package novelty

import (
	"forage/graph"
	"forage/store"
)

// Sights is what the lists that were read in a cycle show together. A list that is cut into pages, or
// shows what was changed last, drops at one place what it has at another: so only that is missing
// which none of them names, though they name what stood beside it. The zero value has seen nothing.
type Sights struct {
	named map[graph.Node][]int // in which rows, as they are now
	rows  int                  // of these
	were  [][]graph.Node       // rows of the lists, as they were before
	lost  map[graph.Node]bool
}

// Read takes in the links of a list, before and now. page tells which page a target is, or is a copy of.
// O(links).
func (s *Sights) Read(old, now []store.Link, page func(graph.Node) graph.Node) {
	if s.named == nil {
		s.named = map[graph.Node][]int{}
	}
	for _, row := range split(now, page) {
		for _, id := range row {
			s.named[id] = append(s.named[id], s.rows)
		}
		s.rows++
	}
	s.were = append(s.were, split(old, page)...)
}

// split returns the rows of a list, in their order, without links off the site.
func split(links []store.Link, page func(graph.Node) graph.Node) (rows [][]graph.Node) {
	at := map[rowKey]int{}
	for _, l := range links {
		if l.Off {
			continue
		}
		k := rowKey{l.Kind, l.Place}
		if _, ok := at[k]; !ok {
			at[k] = len(rows)
			rows = append(rows, nil)
		}
		rows[at[k]] = append(rows[at[k]], page(l.To))
	}
	return rows
}

// Rows returns how many rows were read, before and now: what Missing returns changes with no other.
func (s *Sights) Rows() int { return s.rows + len(s.were) }

// Named reports whether one of the lists names a document now.
func (s *Sights) Named(id graph.Node) bool { return len(s.named[id]) > 0 }

// Lost takes in which links any document has lost. O(links).
func (s *Sights) Lost(old, now []store.Link) {
	has := targets(now)
	for _, l := range old {
		if !l.Off && !has[l.To] {
			if s.lost == nil {
				s.lost = map[graph.Node]bool{}
			}
			s.lost[l.To] = true
		}
	}
}

// HasLost reports whether a document that was read had a link to this one, and has it no longer.
func (s *Sights) HasLost(id graph.Node) bool { return s.lost[id] }

// Of so many places of a row on either side of a document, so many hold what a row of one list names now,
// if the document is missing: some may have gone with it, and other lists name one or another by chance.
const (
	beside = 3
	stayed = 2
)

// Missing returns the documents that none of the lists names, though one has in a row of its own what
// stood before and behind it; each once. O(links of the lists).
func (s *Sights) Missing() []graph.Node {
	var out []graph.Node
	seen := map[graph.Node]bool{}
	for _, row := range s.were {
		for i, id := range row {
			if seen[id] || s.Named(id) {
				continue
			}
			before, behind := s.count(row[max(0, i-beside):i]), s.count(row[i+1:min(len(row), i+1+beside)])
			for at, n := range before {
				if n >= stayed && behind[at] >= stayed && !seen[id] {
					seen[id] = true
					out = append(out, id)
				}
			}
		}
	}
	return out
}

// count returns how many of some documents each row names.
func (s *Sights) count(some []graph.Node) map[int]int {
	n := map[int]int{}
	for _, id := range some {
		for _, at := range s.named[id] {
			n[at]++
		}
	}
	return n
}
