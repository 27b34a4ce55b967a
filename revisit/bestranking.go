package revisit

import (
	"cmp"
	"math"
	"slices"

	"forage/graph"
	"forage/internal/heap"
)

// A ranking is the documents of a cycle by what a fetch of each is worth.
//
// Peers are documents of which the same is known, however long each was watched: whatever a cycle
// shows, they stay in their order, the least watched first. So the heap holds no more than the
// first of each lot of peers, and next leads to the others. If it held all, each fetch of a
// template would have all others of it valued anew.
type ranking struct {
	heap  heap.Heap[scored] // values as of when each was looked at last
	next  []graph.Node      // by document: the next of its peers; graph.None
	peers []peer            // scratch of rank
	taken []int32           // by template: documents fetched in this cycle
}

// A peer is a document and what its place in the order of peers depends on.
type peer struct {
	known uint64  // a hash of all that the value depends on but for shown
	shown float64 // exposure now
	v     graph.Node
}

// missedOnce is the factor for a document that was gone when it was fetched last.
const missedOnce = .1

// rank values all documents that can be fetched.
func (b *Best) rank() {
	b.peers = b.peers[:0]
	for i := range b.docs {
		b.next[i] = graph.None
		if d := &b.docs[i]; d.last >= 0 && d.misses < 2 {
			v := graph.Node(i)
			b.peers = append(b.peers, peer{b.known(v), b.exposure(d), v})
		}
	}
	slices.SortFunc(b.peers, func(x, y peer) int { // mostly decided by the first
		if x.known != y.known {
			return cmp.Compare(x.known, y.known)
		}
		return cmp.Or(cmp.Compare(x.shown, y.shown), cmp.Compare(x.v, y.v))
	})
	next := graph.None
	for i := len(b.peers) - 1; i >= 0; i-- {
		p := &b.peers[i]
		b.next[p.v], next = next, p.v
		if i == 0 || b.peers[i-1].known != p.known {
			b.heap.Items = append(b.heap.Items, scored{b.value(p.v), p.v})
			next = graph.None
		}
	}
	b.heap.Init()
}

// known returns a hash of all that value depends on but the exposure of v. What is added to value
// must be added here.
func (b *Best) known(v graph.Node) uint64 {
	d := &b.docs[v]
	sum := mixed(math.Float64bits(b.promise(d)))
	sum = mixed(sum ^ uint64(d.profile.Template)<<16 ^ uint64(uint8(d.role))<<8 ^ uint64(d.misses))
	for _, e := range b.entries[v] {
		if e.p >= b.base {
			sum += mixed(uint64(e.p)<<32 | uint64(math.Float32bits(e.credit)))
		}
	}
	return sum
}

// promise is what the prior expects of d now. The prior was learnt from documents fetched in every
// cycle, so it is scaled to 1 for those.
func (b *Best) promise(d *doc) float64 {
	return b.prior.Of(&d.profile, d.role == lastPage) * b.unseen(b.cycle-int(d.last)) / (1 - staysSeen)
}

// value is what a fetch of v is worth now, as a share of a cycle's new pages: what is expected of
// its kind, corrected by its template and its role, then what it has shown itself, over the time
// that it was watched. Fetches mostly lower it; where one raises it, by showing more of an old
// pattern, the heap learns of that when the document comes to the top.
func (b *Best) value(v graph.Node) float64 {
	d := &b.docs[v]
	m := b.promise(d)
	T := d.profile.Template
	if d.role != lastPage {
		m = b.expected(poolOf(T), m)
	}
	if d.role >= 0 {
		m = b.expected(roleIn(T, d.role), m)
	}
	if over := b.taken[T] - b.cfg.saturation; over > 0 {
		m /= 1 + float64(over)
	}
	for _, e := range b.entries[v] {
		if e.p >= b.base {
			m += b.live[e.p-b.base].value * float64(e.credit)
		}
	}
	m *= b.fates.alive(T, d.role == lastPage) / (b.exposure(d) + 1)
	if d.misses > 0 {
		m *= missedOnce
	}
	if b.duplicates.isDuplicate(v) {
		m *= b.cfg.duplicate
	}
	return m
}

// top returns the document that is worth most, lazily: the first of the heap is valued anew, and
// stays if it is still the first.
func (b *Best) top() (graph.Node, bool) {
	for b.heap.Len() > 0 {
		top := b.heap.Items[0]
		if v := b.waiting(top.v); v != top.v {
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
		return top.v, true
	}
	return 0, false
}

// waiting returns the first of v and its peers after it that was not fetched; graph.None: all were.
func (b *Best) waiting(v graph.Node) graph.Node {
	for v != graph.None && b.done[v] {
		v = b.next[v]
	}
	return v
}
