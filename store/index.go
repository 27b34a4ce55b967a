package store

import (
	"encoding/binary"
	"hash/maphash"

	"forage/graph"
	"forage/internal/machine"
	"forage/store/record"
)

// An index holds the number of every key of a table in memory, so that neither a link to a page that
// is known nor one to a page that is not costs a look at the database: of 385 µs of CPU that a page
// took in a crawl of a million, such looks were more than a third. Where a store is opened that holds
// something, an index begins without that, and what it lacks is looked up and remembered, until so many
// looks have been made that reading the table is cheaper than going on like this. It is then read
// beside what else goes on. A table that memory has no room for is never whole: the index is the cache
// of those that came first.
//
// A key is recognised by 64 bits of a hash that is seeded anew in every process: two of a billion keys
// are taken for one with probability 10^-9 a look. Nobody can choose such keys.
type index struct {
	parts [256]indexPart // by the first 8 bits of the hash, so that they grow one by one
	n     int            // entries
	most  int            // of them
	whole bool           // it has all there are
	looks int            // at the database
	read  bool           // the table is being read, or need not be
	table byte
}

// An indexPart is a hash table with linear probing, at most 4/5 full.
type indexPart struct {
	slots []indexSlot
	n     int
}

type indexSlot struct {
	high, low uint32 // the hash; both 0: empty
	id        graph.Node
}

// indexBytes is what an entry takes, with the room that is left empty.
const indexBytes = 17

// newIndex returns an index of a table, which is whole where the table is empty. Two of them take at most
// a fourth of the memory that is free.
func (db *DB) newIndex(table byte) (*index, error) {
	x := &index{table: table, whole: true, most: int(machine.FreeMemory() / 8 / indexBytes)}
	err := db.scan([]byte{table}, nil, func(_, _ []byte) error { x.whole = false; return errStop })
	return x, err
}

var indexSeed = maphash.MakeSeed()

// indexHash is the hash of a key, as the index has it.
func indexHash(k []byte) uint64 { return maphash.Bytes(indexSeed, k) | 1 }

// place returns the slot of h, or the one where it belongs. There is an empty one.
func (p *indexPart) place(h uint64) *indexSlot {
	n := uint64(len(p.slots))
	for i := h << 8 >> 32 * n >> 32; ; {
		s := &p.slots[i]
		if s.low == uint32(h) && s.high == uint32(h>>32) || s.low|s.high == 0 {
			return s
		}
		if i++; i == n {
			i = 0
		}
	}
}

func (x *index) get(h uint64) (graph.Node, bool) {
	p := &x.parts[h>>56]
	if p.n == 0 {
		return 0, false
	}
	s := p.place(h)
	return s.id, s.low != 0
}

// put sets the number of a key. It reports false where there is no room for it.
func (x *index) put(h uint64, id graph.Node) bool {
	p := &x.parts[h>>56]
	if _, ok := x.get(h); !ok {
		if x.n >= x.most {
			x.whole, x.read = false, true
			return false
		}
		if p.n*5 >= len(p.slots)*4 {
			p.grow()
		}
		p.n++
		x.n++
	}
	*p.place(h) = indexSlot{uint32(h >> 32), uint32(h), id}
	return true
}

// grow makes room by a fourth: doubling would leave up to half of a large table empty.
func (p *indexPart) grow() {
	old := p.slots
	p.slots = make([]indexSlot, max(16, len(old)+len(old)/4))
	for _, s := range old {
		if s.low != 0 {
			*p.place(uint64(s.high)<<32 | uint64(s.low)) = s
		}
	}
}

// missed notes that an index lacked a key, and has its table read when enough of them have been looked
// up: a look takes 5 µs and more, a row of a table that is read 0.5. db.mu is held.
func (db *DB) missed(x *index) {
	const enough = 1 << 10
	x.looks++
	if x.read || x.looks < max(enough, int(db.next)/16) || db.indexing.enter() != nil {
		return
	}
	x.read = true
	s := db.db.NewSnapshot()
	go func() {
		defer db.indexing.leave()
		whole := db.readIndex(x, &View{r: s, gate: &db.indexing})
		if s.Close() == nil && whole {
			db.mu.Lock()
			x.whole = x.n < x.most
			db.mu.Unlock()
		}
	}()
}

// readIndex adds to an index what it lacks of its table. It reports false where that cannot be read to
// its end: whoever looks a key up is told why.
func (db *DB) readIndex(x *index, v *View) (whole bool) {
	var some [1 << 10]struct {
		hash uint64
		id   graph.Node
	}
	n := 0
	add := func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		for _, e := range some[:n] {
			if _, ok := x.get(e.hash); !ok { // what was put meanwhile is newer
				x.put(e.hash, e.id)
			}
		}
		n = 0
	}
	err := v.scan([]byte{x.table}, nil, func(k, val []byte) error {
		if len(val) != 4 {
			return record.ErrCorrupt
		}
		some[n].hash, some[n].id = indexHash(k[1:]), graph.Node(binary.BigEndian.Uint32(val))
		if n++; n == len(some) {
			add()
		}
		return nil
	})
	add()
	return err == nil
}
