package revisit

import (
	"math"

	"forage/graph"
	"forage/internal/heap"
)

// A ranking is the documents of a cycle by what a fetch of each is worth.
//
// Documents of which the same is known, as of pages of one template that were not fetched since they
// were found, are alike: whatever a cycle shows, they are worth the same. So the heap holds no more
// than the first of those that are alike, and next leads to the others. If it held all, each fetch of
// one would have all others like it valued anew.
type ranking struct {
	heap   heap.Heap[scored] // values as of when each was looked at last
	next   []graph.Node      // by document: the next one alike; graph.None
	firsts []graph.Node      // of those alike, and those like no other
	first  map[alike]int32   // places in firsts
}

// alike is what is known of documents that show no publication. Numbers are as their bits, which are
// hashed in half the time.
type alike struct {
	kind, watched uint32
	last, class   int32
	missed, isEnd bool
}

// A prospect is what a fetch is expected to find, in publications × days pending, by the reason to expect
// it.
type prospect struct{ links, kind, shown float64 }

// expect returns what a fetch of v is expected to find.
func (b *Best) expect(v graph.Node) prospect {
	d, p := &b.docs[v], b.prior
	ago := b.sinceThen(d.last, p)
	kind := float64(d.kind)
	if d.isEnd {
		kind += p.End
	}
	w := prospect{
		links: p.Strength * b.sumOf(d.class),
		kind:  p.Strength * kind * ago.pending,
	}
	for i := d.shows; i >= 0; i = b.entries[i].next {
		w.shown += b.publication(b.entries[i].pattern).value * float64(b.entries[i].share)
	}
	watched := p.Strength + float64(d.watched)*ago.fade
	return prospect{w.links / watched, w.kind / watched, w.shown / watched}
}

// guessed is what is expected of a fetch for what its document is and links to, as far as such
// guesses came true on this site.
func (b *Best) guessed(w *prospect) float64 {
	return w.links*b.links.factor + w.kind*b.kinds.factor
}

// missedOnce is the factor for a document that was gone when it was fetched last: it gets a second
// look when little else is worth one.
const missedOnce = .1

// value is what a fetch of v is worth: what it is expected to find and some of what it may.
func (b *Best) value(v graph.Node) float64 {
	d, p := &b.docs[v], b.prior
	w := b.expect(v)
	x := b.guessed(&w) + w.shown
	ago := b.sinceThen(d.last, p)
	x += p.Optimism * math.Sqrt(x*ago.pending/(p.Strength+float64(d.watched)*ago.fade))
	if d.misses > 0 {
		x *= missedOnce
	}
	return x
}

// rank values all documents that can be fetched, from the last to the first, so that those alike are in
// the order of their numbers.
func (b *Best) rank() {
	clear(b.first)
	b.firsts = b.firsts[:0]
	for i := len(b.docs) - 1; i >= 0; i-- {
		d, v := &b.docs[i], graph.Node(i)
		b.next[v] = graph.None
		if d.kind < 0 || d.misses > 1 {
			continue
		}
		if d.shows >= 0 {
			b.firsts = append(b.firsts, v)
			continue
		}
		of := alike{math.Float32bits(d.kind), math.Float32bits(d.watched), d.last, d.class, d.misses > 0, d.isEnd}
		if n, ok := b.first[of]; ok {
			b.next[v], b.firsts[n] = b.firsts[n], v
		} else {
			b.first[of] = int32(len(b.firsts))
			b.firsts = append(b.firsts, v)
		}
	}
	for _, v := range b.firsts {
		b.heap.Items = append(b.heap.Items, scored{b.value(v), v})
	}
	b.heap.Init()
}

// top returns the document that is worth most, lazily: the first of the heap is valued anew, and
// stays if it is still the first. That is exact, since within a cycle no document comes to be worth more
// but for one that shows more of an old publication than was known, which has been fetched then.
func (b *Best) top() (value float64, v graph.Node, ok bool) {
	for b.heap.Len() > 0 {
		top := b.heap.Items[0]
		if v := b.remaining(top.v); v != top.v {
			if v == graph.None {
				b.heap.Pop()
			} else {
				b.heap.Replace(scored{b.value(v), v})
			}
			continue
		}
		now := b.value(top.v)
		if now < top.value {
			b.heap.Replace(scored{now, top.v})
			if b.heap.Items[0].v != top.v {
				continue
			}
		}
		return now, top.v, true
	}
	return 0, 0, false
}

// drop takes the first of the heap out of it, so that it is named once a cycle, fetched or not.
func (b *Best) drop(v graph.Node) {
	if v = b.remaining(b.next[v]); v == graph.None {
		b.heap.Pop()
	} else {
		b.heap.Replace(scored{b.value(v), v})
	}
}

// remaining returns the first of v and those alike after it that was not fetched in this cycle;
// graph.None: all were.
func (b *Best) remaining(v graph.Node) graph.Node {
	for v != graph.None && int(b.docs[v].last) == b.cycle {
		v = b.next[v]
	}
	return v
}

// listEnds knows the last page of each list that goes on over numbered pages.
type listEnds []listEnd // by number of the list; 0 is none

type listEnd struct {
	pages  int32      // known
	last   graph.Node // the page of the largest number; graph.None: none
	number int        // that number
	isList bool       // not years, say, which leave gaps below
}

// extend adds a page to its list. It returns the page that is the last of it no more, and the one
// that is now, if they change.
func (l *listEnds) extend(v graph.Node, p *Profile) (before, after graph.Node) {
	before, after = graph.None, graph.None
	if p.List == 0 {
		return before, after
	}
	for int(p.List) >= len(*l) {
		*l = append(*l, listEnd{last: graph.None})
	}
	end := &(*l)[p.List]
	if end.isList {
		before = end.last
	}
	end.pages++
	if end.last == graph.None || p.Number > end.number {
		end.last, end.number = v, p.Number
	}
	if end.isList = IsDense(end.number, int(end.pages)); end.isList {
		after = end.last
	}
	return before, after
}
