package revisit

import (
	"math"

	"forage/graph"
)

// Profiles are what is known of each document of a site, in 32 bytes each: a site of a million
// documents has no room for as many structs of 64, and no time to have them collected.
type Profiles struct {
	docs []packed
	far  map[graph.Node]Profile // those with a number that packed has no room for
}

// packed is a Profile.
type packed struct {
	template, list, number, links, born int32
	seen, published                     uint32
	depth                               uint16
	flags                               uint8 // stateFlags, and packedFar
}

const packedFar = 1 << 7 // it is among Profiles.far

// stateFlags are those of a profile in a state.
func (p *Profile) stateFlags() uint8 {
	flags := uint8(p.Kind)
	for i, on := range []bool{p.Home, p.Main, p.Index} {
		if on {
			flags |= stateHome << i
		}
	}
	return flags
}

// setStateFlags reads stateFlags.
func (p *Profile) setStateFlags(flags uint8) {
	p.Kind, p.Home, p.Main, p.Index = Kind(flags&flagKind), flags&stateHome != 0, flags&stateMain != 0, flags&stateIndex != 0
}

// Len returns the number of documents.
func (p *Profiles) Len() int { return len(p.docs) }

// At returns the profile of a document.
func (p *Profiles) At(v graph.Node) Profile {
	d := &p.docs[v]
	if d.flags&packedFar != 0 {
		return p.far[v]
	}
	x := Profile{Template: d.template, List: d.list, Number: int(d.number), Depth: int(d.depth), Links: int(d.links), Born: int(d.born),
		Seen: Time(d.seen), Published: Time(d.published)}
	x.setStateFlags(d.flags)
	return x
}

// All returns the profiles of all documents.
func (p *Profiles) All() []Profile {
	all := make([]Profile, len(p.docs))
	for v := range all {
		all[v] = p.At(graph.Node(v))
	}
	return all
}

// add adds the next document.
func (p *Profiles) add(x *Profile) {
	p.docs = append(p.docs, packed{})
	p.set(graph.Node(len(p.docs)-1), x)
}

// set sets the profile of a document.
func (p *Profiles) set(v graph.Node, x *Profile) {
	d := &p.docs[v]
	if d.flags&packedFar != 0 {
		delete(p.far, v)
	}
	*d = packed{template: x.Template, list: x.List, number: int32(x.Number), links: int32(x.Links), born: int32(x.Born),
		seen: uint32(x.Seen), published: uint32(x.Published), depth: uint16(x.Depth), flags: x.stateFlags()}
	if int(d.number) != x.Number || int(d.links) != x.Links || int(d.born) != x.Born || Time(d.seen) != x.Seen || Time(d.published) != x.Published || int(d.depth) != x.Depth {
		if p.far == nil {
			p.far = map[graph.Node]Profile{}
		}
		p.far[v] = *x
		d.flags |= packedFar
	}
}

// kind is the kind of a document.
func (p *Profiles) kind(v graph.Node) Kind { return Kind(p.docs[v].flags & flagKind) }

// born is the cycle in which a document was found.
func (p *Profiles) born(v graph.Node) int32 { return p.docs[v].born }

// A keyTable finds nodes by their keys, which the caller has by node: a hash table with linear probing, at
// most 3/4 full, of 4 bytes a slot.
type keyTable struct {
	slots []graph.Node // node+1; 0: empty
	n     int
}

// find returns the node of a key.
func (t *keyTable) find(keys []Key, k Key) (v graph.Node, ok bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	for i := t.home(k); ; {
		switch v := t.slots[i]; {
		case v == 0:
			return 0, false
		case keys[v-1] == k:
			return v - 1, true
		}
		if i++; i == len(t.slots) {
			i = 0
		}
	}
}

func (t *keyTable) home(k Key) int {
	return int(mixed(uint64(k)) >> 32 * uint64(len(t.slots)) >> 32)
}

// add adds the node of a key that has none. keys are those of all nodes, this one included.
func (t *keyTable) add(keys []Key, v graph.Node) {
	if 4*(t.n+1) > 3*len(t.slots) {
		t.grow(keys, max(16, t.n+t.n/2))
	}
	t.put(keys[v], v)
	t.n++
}

func (t *keyTable) put(k Key, v graph.Node) {
	i := t.home(k)
	for t.slots[i] != 0 {
		if i++; i == len(t.slots) {
			i = 0
		}
	}
	t.slots[i] = v + 1
}

// grow makes room for n nodes.
func (t *keyTable) grow(keys []Key, n int) {
	old := t.slots
	t.slots = make([]graph.Node, min(n+n/3+4, math.MaxInt32))
	for _, v := range old {
		if v != 0 {
			t.put(keys[v-1], v-1)
		}
	}
}
