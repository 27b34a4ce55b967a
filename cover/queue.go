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
// weight. Buckets ask that no key is pushed above the one popped last unless the queue is
// empty. exact says whether ties must go to the lowest number.
func (s *state) newQueue(exact bool) queue {
	if s.o.Weights != nil {
		return &heap{wide: true}
	}
	return newBuckets(s.m, s.res.Largest, exact)
}

// noSet ends a bucket's list.
const noSet = 1<<32 - 1

// buckets is a queue of integer keys that only fall: one list of sets per key. When a bucket
// comes to be served it is put in ascending order once, since no set joins it after that: a
// small one is sorted, a large one marked in a bit per set. Without exact a bucket is served
// from its head, the set filed last. Memory: 4 bytes a set and a key, a bit a set.
type buckets struct {
	head  []uint32 // by key: first set, noSet if none
	next  []uint32 // by set: the follower in its bucket
	top   int      // no bucket above it holds a set
	exact bool

	// The rest of bucket top, if exact: small, or the bits from word at on.
	small  []uint32
	buf    []uint32 // of small
	marked []uint64
	at     int
	last   int // no bit is set above this word
}

func newBuckets(sets int, largest uint64, exact bool) *buckets {
	b := &buckets{head: make([]uint32, largest+1), next: make([]uint32, sets), exact: exact, last: -1}
	for i := range b.head {
		b.head[i] = noSet
	}
	if exact {
		b.marked = make([]uint64, (sets+63)/64)
		b.buf = make([]uint32, 0, sets/256+64)
	}
	return b
}

func (b *buckets) push(set uint32, key uint64) {
	if key == 0 {
		return
	}
	b.next[set] = b.head[key]
	b.head[key] = set
	b.top = max(b.top, int(key))
}

func (b *buckets) pop() (set uint32, key uint64, ok bool) {
	for {
		if len(b.small) > 0 {
			set, b.small = b.small[0], b.small[1:]
			return set, uint64(b.top), true
		}
		for ; b.at <= b.last; b.at++ {
			if w := b.marked[b.at]; w != 0 {
				b.marked[b.at] = w & (w - 1)
				return uint32(b.at*64 + bits.TrailingZeros64(w)), uint64(b.top), true
			}
		}
		for b.top > 0 && b.head[b.top] == noSet {
			b.top--
		}
		if b.top == 0 {
			return 0, 0, false
		}
		if !b.exact {
			set = b.head[b.top]
			b.head[b.top] = b.next[set]
			return set, uint64(b.top), true
		}
		b.open()
	}
}

// open puts bucket top in order.
func (b *buckets) open() {
	set := b.head[b.top]
	b.head[b.top] = noSet
	buf := b.buf[:0]
	for ; set != noSet && len(buf) < cap(buf); set = b.next[set] {
		buf = append(buf, set)
	}
	if set == noSet {
		slices.Sort(buf)
		b.small = buf
		return
	}
	b.at, b.last = len(b.marked), -1
	mark := func(set uint32) {
		w := int(set / 64)
		b.marked[w] |= 1 << (set % 64)
		b.at, b.last = min(b.at, w), max(b.last, w)
	}
	for _, set := range buf {
		mark(set)
	}
	for ; set != noSet; set = b.next[set] {
		mark(set)
	}
}
