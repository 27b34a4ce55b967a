package cover

import (
	"fmt"
	"slices"

	"forage/graph"
)

// Lists is a family in memory: 8 bytes a set and 4 an element of a set.
type Lists struct {
	Offset []uint64     // len NumSets+1, non-decreasing, Offset[0] == 0
	Elem   []graph.Node // len Offset[NumSets], ascending and distinct within each set
	N      uint64       // NumElements; every element is below it
}

// NewLists returns the family of the given sets, sorted, each element once. N is one more
// than the largest element. It does not keep sets.
func NewLists(sets [][]graph.Node) *Lists {
	l := &Lists{Offset: make([]uint64, 1, len(sets)+1)}
	for _, s := range sets {
		l.Append(s)
	}
	return l
}

// Append adds a set: sorted, each element once. It returns how many elements were repeated.
func (l *Lists) Append(s []graph.Node) (repeated int) {
	if len(l.Offset) == 0 {
		l.Offset = []uint64{0}
	}
	at := len(l.Elem)
	l.Elem = append(l.Elem, s...)
	added := l.Elem[at:]
	if !slices.IsSorted(added) {
		slices.Sort(added)
	}
	added = slices.Compact(added)
	repeated = len(s) - len(added)
	l.Elem = l.Elem[:at+len(added)]
	if len(added) > 0 {
		l.N = max(l.N, uint64(added[len(added)-1])+1)
	}
	l.Offset = append(l.Offset, uint64(len(l.Elem)))
	return repeated
}

// NumSets returns m.
func (l *Lists) NumSets() uint64 { return uint64(max(0, len(l.Offset)-1)) }

// NumElements returns N.
func (l *Lists) NumElements() uint64 { return l.N }

// Size returns M.
func (l *Lists) Size() uint64 { return uint64(len(l.Elem)) }

// Set returns the elements of set i. The caller must not change them.
func (l *Lists) Set(i uint64) []graph.Node { return l.Elem[l.Offset[i]:l.Offset[i+1]] }

// Scan implements Family.
func (l *Lists) Scan(visit func(set uint64, elements []uint64) error) error {
	var buf []uint64
	for i := range l.NumSets() {
		buf = buf[:0]
		for _, e := range l.Set(i) {
			buf = append(buf, uint64(e))
		}
		if err := visit(i, buf); err != nil {
			return err
		}
	}
	return nil
}

// maxMemory is the most sets or elements that Lists can hold.
const maxMemory = graph.MaxNodes

// Load returns f in memory, of each set the maxDegree lowest elements (0: all). More than
// 2^32−1 sets or elements are an error: such a family needs External.
func Load(f Family, maxDegree int) (*Lists, error) {
	if f.NumSets() > maxMemory || f.NumElements() > maxMemory {
		return nil, fmt.Errorf("%d sets of elements below %d: more than the %d that fit in memory as 32-bit numbers; only out of core (spgreedy with a memory limit) goes beyond", f.NumSets(), f.NumElements(), uint64(maxMemory))
	}
	l := &Lists{Offset: make([]uint64, 1, f.NumSets()+1), N: f.NumElements()}
	if s, ok := f.(Sized); ok {
		l.Elem = make([]graph.Node, 0, s.Size())
	}
	err := f.Scan(func(set uint64, elements []uint64) error {
		for _, e := range first(elements, maxDegree) {
			l.Elem = append(l.Elem, graph.Node(e))
		}
		l.Offset = append(l.Offset, uint64(len(l.Elem)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// first returns the first n elements, all if n is 0.
func first[E any](elements []E, n int) []E {
	if n > 0 && len(elements) > n {
		return elements[:n]
	}
	return elements
}
