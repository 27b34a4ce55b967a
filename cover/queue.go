package cover

import (
	"math/bits"
	"slices"
)

// A queue hands out sets by falling key, the lowest number first among equals. A key of 0 is
// not kept: such a set adds nothing.
type queue interface {
	push(set uint32, key uint64)
	pop() (set uint32, key uint64, ok bool)
}

// newQueue returns the queue for the problem's keys: buckets for gains, a heap for gains by
// weight. Buckets ask that a key is pushed only below the one popped last, unless the queue
// is empty. exact says whether ties must go to the lowest number.
func (s *state) newQueue(exact bool) queue {
	if s.o.Weights != nil {
		return &keyHeap{wide: true}
	}
	b := &buckets{head: make([]uint32, s.res.Largest+1), free: noChunk, exact: exact}
	for i := range b.head {
		b.head[i] = noChunk
	}
	b.chunks = make([]chunk, 0, s.m/chunkSets+64)
	b.serving.prefetch = s.prefetch
	if exact {
		b.serving.init(s.m)
	} else {
		b.serving.init(0)
	}
	return b
}

// noChunk ends a list of chunks.
const noChunk = 1<<32 - 1

// buckets is a queue of integer keys that only fall: the sets of each key, in chunks of a
// cache line. When a bucket comes to be served it is put in ascending order once, since no
// set joins it after that. Without exact a bucket is served from its end, the set filed last
// first. Memory: 4.6 bytes a set, 4 a key and a chunk a key in use; a bit a set if exact.
type buckets struct {
	head    []uint32 // by key: its newest chunk, the only one that may have room; noChunk if there is none
	chunks  []chunk
	free    uint32 // first of the chunks that are not in use
	top     int    // no bucket above it holds a set
	exact   bool
	serving serving // what is left of bucket top, if it was opened
}

const chunkSets = 14

type chunk struct {
	sets [chunkSets]uint32
	n    uint32
	next uint32
}

func (b *buckets) push(set uint32, key uint64) {
	if key == 0 {
		return
	}
	at := b.head[key]
	if at == noChunk || b.chunks[at].n == chunkSets {
		at = b.newChunk(key)
	}
	c := &b.chunks[at]
	c.sets[c.n] = set
	c.n++
	b.top = max(b.top, int(key))
}

// newChunk puts an empty chunk before those of key.
func (b *buckets) newChunk(key uint64) (at uint32) {
	if at = b.free; at != noChunk {
		b.free = b.chunks[at].next
	} else {
		at = uint32(len(b.chunks))
		b.chunks = append(b.chunks, chunk{})
	}
	b.chunks[at].next = b.head[key]
	b.head[key] = at
	return at
}

func (b *buckets) pop() (set uint32, key uint64, ok bool) {
	for {
		if set, ok := b.serving.next(); ok {
			return set, uint64(b.top), true
		}
		for b.top > 0 && b.head[b.top] == noChunk {
			b.top--
		}
		if b.top == 0 {
			return 0, 0, false
		}
		if !b.exact {
			c := b.take()
			slices.Reverse(c.sets[:c.n])
			b.serving.few = b.serving.soon[:copy(b.serving.soon[:], c.sets[:c.n])]
			continue
		}
		for b.head[b.top] != noChunk {
			c := b.take()
			for _, set := range c.sets[:c.n] {
				b.serving.add(set)
			}
		}
		b.serving.order()
	}
}

// take returns the newest chunk of bucket top and removes it; it is valid until the next push.
func (b *buckets) take() (c chunk) {
	at := b.head[b.top]
	c = b.chunks[at]
	b.head[b.top] = c.next
	b.chunks[at] = chunk{next: b.free}
	b.free = at
	return c
}

// serving is a bucket whose sets are handed out in ascending order: a small one is sorted, a
// large one marked in a bit per set.
type serving struct {
	batch    []uint32           // to be handed out next
	soon     [prefetched]uint32 // of batch
	few      []uint32           // then these
	room     []uint32           // of few
	marked   []uint64           // then the bits from word at on, up to word last
	at, last int
	prefetch func(sets []uint32) // if set, told of each batch
}

func (v *serving) init(sets int) {
	v.marked = make([]uint64, (sets+63)/64)
	v.at, v.last = len(v.marked), -1
	v.room = make([]uint32, 0, sets/2048+64) // about where marking becomes faster
}

// add adds a set; order must follow the last.
func (v *serving) add(set uint32) {
	if len(v.room) < cap(v.room) {
		v.room = append(v.room, set)
	} else {
		v.mark(set)
	}
}

func (v *serving) mark(set uint32) {
	w := int(set / 64)
	v.marked[w] |= 1 << (set % 64)
	v.at, v.last = min(v.at, w), max(v.last, w)
}

// order puts what was added in order.
func (v *serving) order() {
	if v.last < 0 {
		slices.Sort(v.room)
		v.few = v.room
	} else {
		for _, set := range v.room {
			v.mark(set)
		}
	}
	v.room = v.room[:0]
}

// next hands out a set.
func (v *serving) next() (set uint32, ok bool) {
	if len(v.batch) == 0 {
		v.refill()
		if len(v.batch) == 0 {
			return 0, false
		}
		if v.prefetch != nil {
			v.prefetch(v.batch)
		}
	}
	set, v.batch = v.batch[0], v.batch[1:]
	return set, true
}

func (v *serving) refill() {
	if n := min(len(v.few), prefetched); n > 0 {
		v.batch, v.few = v.few[:n], v.few[n:]
		return
	}
	n := 0
	for ; v.at <= v.last; v.at++ {
		for w := v.marked[v.at]; w != 0; w &= w - 1 {
			if n == prefetched {
				v.marked[v.at] = w
				v.batch = v.soon[:]
				return
			}
			v.soon[n] = uint32(v.at*64 + bits.TrailingZeros64(w))
			n++
		}
		v.marked[v.at] = 0
	}
	v.at, v.last = len(v.marked), -1
	v.batch = v.soon[:n]
}
