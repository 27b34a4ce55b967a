package revisit

import (
	"encoding/binary"
	"math"

	"forage/graph"
)

// AppendState appends, in the forms that state.go names:
//
//	day, left and watch of each cycle from 0
//	trust, found and expected of each guess
//	probes+1, 0 where none were chosen: ascending nodes; days pending of each
//	classes but the first: n, then each probe as the difference to the one before
//	publications: base, n, then weight, days, pages of each
//	of each document: cycle−last, misses, class, watched, publication+1−base of a page, entries as
//	n, then publication−base and share
func (b *Best) AppendState(to []byte) []byte {
	for _, m := range b.at {
		to = AppendFloat(AppendFloat(AppendFloat(to, m.day), m.left), m.watch)
	}
	for _, t := range []trust{b.links, b.kinds} {
		to = AppendFloat(AppendFloat(to, t.found), t.expected)
	}
	if !b.chosen() {
		to = append(to, 0)
	} else {
		to = AppendNodes(append(to, 1), b.probes)
	}
	for _, p := range b.waiting {
		to = AppendFloat(to, p.days)
	}
	to = binary.AppendUvarint(to, uint64(len(b.classes)-1))
	for _, class := range b.classes[1:] {
		to = binary.AppendUvarint(to, uint64(len(class)))
		last := int32(-1)
		for _, p := range class {
			to = binary.AppendUvarint(to, uint64(p-last-1))
			last = p
		}
	}
	to = binary.AppendUvarint(to, uint64(b.base))
	to = binary.AppendUvarint(to, uint64(len(b.live)))
	for _, p := range b.live {
		to = AppendFloat(AppendFloat(to, p.weight), p.days)
		to = binary.AppendUvarint(to, uint64(p.pages))
	}
	var shown []entry
	for v := range b.docs {
		d := &b.docs[v]
		to = binary.AppendUvarint(to, uint64(b.cycle)-uint64(d.last))
		to = append(to, d.misses)
		to = binary.AppendUvarint(to, uint64(d.class))
		to = AppendFloat(to, float64(d.watched))
		if p, ok := b.patternOf[graph.Node(v)]; ok {
			to = binary.AppendUvarint(to, uint64(p-b.base)+1)
		} else {
			to = append(to, 0)
		}
		shown = shown[:0]
		for i := d.shows; i >= 0; i = b.entries[i].next {
			shown = append(shown, b.entries[i])
		}
		to = binary.AppendUvarint(to, uint64(len(shown)))
		for _, e := range shown {
			to = binary.AppendUvarint(to, uint64(e.pattern-b.base))
			to = AppendFloat(to, float64(e.share))
		}
	}
	return to
}

// SetState reads what AppendState appended.
func (b *Best) SetState(r *StateReader, docs *Profiles, cycle int) {
	b.docs, b.next = make([]doc, 0, docs.Len()), make([]graph.Node, 0, docs.Len())
	for v := range docs.Len() {
		b.Learn(graph.Node(v), docs.At(graph.Node(v)))
	}
	b.cycle, b.at = cycle, b.at[:0]
	for range cycle + 1 {
		if b.at = append(b.at, moment{r.Float(), r.Float(), r.Float()}); r.bad {
			return
		}
	}
	b.links, b.kinds = trust{found: r.Float(), expected: r.Float()}, trust{found: r.Float(), expected: r.Float()}
	if r.Uint(1) == 1 {
		if b.probes = r.Nodes(docs.Len()); b.probes == nil {
			b.probes = []graph.Node{}
		}
		b.setProbes()
	}
	if len(b.probes) > mostProbes {
		r.Fail()
		return
	}
	for i := range b.waiting {
		b.waiting[i].days = r.Float()
	}
	for range r.count(1) {
		var class []int32
		last := int32(-1)
		for range r.count(1) {
			last += int32(r.Uint(mostProbes)) + 1
			if int(last) >= len(b.probes) {
				r.Fail()
				return
			}
			class = append(class, last)
		}
		if n := len(b.classes); int(b.class(class)) != n {
			r.Fail() // twice the same
			return
		}
	}
	b.base = int32(r.Uint(math.MaxInt32 / 2))
	b.live = make([]pattern, r.count(17))
	for i := range b.live {
		b.live[i] = pattern{weight: r.Float(), days: r.Float(), pages: int32(r.Uint(math.MaxInt32))}
	}
	live := uint64(len(b.live))
	for v := range b.docs {
		d := &b.docs[v]
		d.last = int32(cycle) - int32(r.Uint(uint64(cycle)))
		d.misses = uint8(r.Uint(2))
		d.class = int32(r.Uint(uint64(len(b.classes) - 1)))
		d.watched = float32(r.Float())
		if p := r.Uint(live); p > 0 {
			b.patternOf[graph.Node(v)] = b.base + int32(p) - 1
		}
		tail := &d.shows // in the order in which they stand in the list
		for range r.count(9) {
			if live == 0 {
				r.Fail()
				return
			}
			*tail = int32(len(b.entries))
			b.entries = append(b.entries, entry{b.base + int32(r.Uint(live-1)), float32(r.Float()), -1})
			tail = &b.entries[len(b.entries)-1].next
		}
	}
}
