package simhash

import (
	"math/bits"
	"slices"
)

// Distance is in how many bits fingerprints of texts differ at most that say nearly the same: of eight billion pages
// [MJS07] found three of 64 bits to tell best.
const Distance = 3

// Near reports whether two fingerprints, neither of them 0, differ in at most Distance bits.
func Near(a, b uint64) bool { return bits.OnesCount64(a^b) <= Distance }

// None is what First has for a fingerprint that is near no earlier one.
const None = ^uint32(0)

// First returns, for each of fewer than 2³¹ fingerprints, the place of the first one of all before it that is near, None
// where none is. A fingerprint of 0 is near nothing.
//
// Where two differ in three bits, one of their four blocks of 16 bits at least is equal. So those with a block in common are
// compared, block after block; where very many have it, those that have one of four blocks of the other 48 bits in common,
// too. These are the designs of [MJS07] with 4 and 16 tables, but for one table at a time, sorted, instead of all of them at
// hand. Equal fingerprints are compared once.
//
// O(n log n) and the pairs with a block in common that come before one that is near: n²/2¹⁵ of fingerprints that are as
// good as random, and 2¹² for each at most where no more than that have 28 bits in common. Memory: 16 bytes for each, 24 at most.
func First(prints []uint64) []uint32 {
	f := finder{prints: prints, near: make([]uint32, len(prints)), same: firstEqual(prints)}
	for i := range f.near {
		f.near[i] = None
	}
	distinct := 0
	for i, p := range prints {
		if p != 0 && f.same[i] == None {
			distinct++
		}
	}
	keys := make([]uint64, 0, distinct)
	var more []uint64
	for block := range 4 {
		keys = keys[:0]
		for i, p := range prints {
			if p != 0 && f.same[i] == None {
				keys = append(keys, key(p>>(16*block)&0xffff, i))
			}
		}
		groups(keys, func(group []uint64) {
			if len(group) <= manyEqual {
				f.compare(group)
				return
			}
			for part := range 4 {
				more = more[:0]
				for _, k := range group {
					p := prints[place(k)]
					rest := p&(1<<(16*block)-1) | p>>(16*block+16)<<(16*block)
					more = append(more, key(rest>>(12*part)&0xfff, int(place(k))))
				}
				groups(more, f.compare)
			}
		})
	}
	for i, same := range f.same {
		if same != None {
			f.near[i] = min(same, f.near[same])
		}
	}
	return f.near
}

// manyEqual fingerprints with a block in common are not compared each with each.
var manyEqual = 1 << 12 // tests lower it

type finder struct {
	prints []uint64
	same   []uint32 // see firstEqual
	near   []uint32 // the first one that is near, of those that were compared
}

// key is what a fingerprint at a place is sorted by: some of its bits.
func key(bits uint64, place int) uint64 { return bits<<32 | uint64(place) }

func place(key uint64) uint32 { return uint32(key) }

// groups sorts keys and calls yield for all that have the bits in common.
func groups(keys []uint64, yield func(group []uint64)) {
	slices.Sort(keys)
	for len(keys) > 0 {
		n := 1
		for n < len(keys) && keys[n]>>32 == keys[0]>>32 {
			n++
		}
		yield(keys[:n])
		keys = keys[n:]
	}
}

// compare compares fingerprints each with each, until one is known that is near and comes first.
func (f *finder) compare(group []uint64) {
	for k := 1; k < len(group); k++ {
		i := place(group[k])
		p := f.prints[i]
		for _, other := range group[:k] {
			j := place(other)
			if j >= f.near[i] {
				break
			}
			if Near(p, f.prints[j]) {
				f.near[i] = j
				break
			}
		}
	}
}

// firstEqual returns, for each fingerprint, the place of the first one of all before it that is equal; None: none is. O(n).
func firstEqual(prints []uint64) []uint32 {
	first := make([]uint32, len(prints))
	log := bits.Len(uint(len(prints))) + 1
	seen := make([]uint32, 1<<log) // place + 1, by hash; at most half of it is in use
	for i, p := range prints {
		if first[i] = None; p == 0 {
			continue
		}
		slot := mix(p) >> (64 - log)
		for seen[slot] != 0 && prints[seen[slot]-1] != p {
			slot = (slot + 1) & (1<<log - 1)
		}
		if seen[slot] != 0 {
			first[i] = seen[slot] - 1
		} else {
			seen[slot] = uint32(i) + 1
		}
	}
	return first
}
