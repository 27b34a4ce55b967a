package store

import (
	"encoding/binary"
	"errors"
	"hash/maphash"

	"github.com/cockroachdb/pebble/v2"

	"forage/graph"
	"forage/store/record"
)

// errUnsound ends sound. What is amiss the passes of checkRecords find again, and say.
var errUnsound = errors.New("unsound")

// sound reports whether the passes of checkRecords would find nothing: in one scan of each table, where they
// look up five records for each document: 2.2 CPU seconds for 22.3 at a million of pages, the files
// included. It may doubt what they find
// sound, never the other way round but for a collision of 128 bits. Memory: two bits a document.
//
// Tables in the order of the documents are read beside them. Of a table in another order, the
// documents tell the keys that it must have; that it has these and no others is seen from the sums of
// their hashes.
func (v *View) sound() bool {
	c := &checker{v: v, counts: map[SiteID]*Counters{}, sites: map[SiteID]*Site{}}
	amiss := false
	c.report = func(Problem) { amiss = true }
	for _, pass := range append([]func() error{c.format, c.siteTable, c.documents, c.names, c.cycles}, c.further()...) {
		if pass() != nil || amiss {
			return false
		}
	}
	return true
}

// A multiset is the sum of two hashes of each of its members.
type multiset struct{ a, b uint64 }

type seeds [2]maphash.Seed

func (m *multiset) add(s *seeds, member []byte) {
	m.a += maphash.Bytes(s[0], member)
	m.b += maphash.Bytes(s[1], member)
}

// rows are those of a table whose keys are the number of a document and another one.
type rows struct {
	it *pebble.Iterator
	ok bool // it stands at one that has not been read
}

// of calls yield for the rows of a document. Those of documents before it have been read; a row that
// belongs to none is unsound.
func (r *rows) of(id graph.Node, yield func(n uint32, val []byte) error) error {
	for ; r.ok; r.ok = r.it.Next() {
		k := r.it.Key()
		if len(k) != 9 {
			return errUnsound
		}
		if at := graph.Node(binary.BigEndian.Uint32(k[1:])); at > id {
			return nil
		} else if at < id {
			return errUnsound
		}
		val, err := r.it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := yield(binary.BigEndian.Uint32(k[5:]), val); err != nil {
			return err
		}
	}
	return r.it.Error()
}

// documents checks the documents, what they refer to, their links and visits, and that URLs, the lists
// of the sites and the queue have them and nothing else.
func (c *checker) documents() error {
	cur := c.v.Cursor()
	defer cur.Close()
	tables := map[byte]*rows{tableLinks: nil, tableVisit: nil}
	for t := range tables {
		it, err := cur.table(t, t)
		if err != nil {
			return err
		}
		tables[t] = &rows{it, it.First()}
	}
	s := &seeds{maphash.MakeSeed(), maphash.MakeSeed()}
	var urls, listed, queued multiset // as the documents want them
	var member []byte
	var d Doc
	var links []Link
	ahead := new(checker) // its documents are those that must follow
	astray := false
	refer := func(id graph.Node) {
		if int(id) >= c.next { // nor is there memory for it: damage may name any number
			astray = true
		} else if !c.hasDoc(id) {
			ahead.haveDoc(id)
		}
	}
	err := c.v.scan([]byte{tableDoc}, nil, func(k, val []byte) error {
		n, err := number(k)
		if err != nil {
			return err
		}
		id := graph.Node(n)
		if err := d.decode(id, val); err != nil {
			return err
		}
		counts := c.counts[d.Site]
		if counts == nil || int(id) >= c.next {
			return errUnsound
		}
		counts.count(d.was, 1)
		c.haveDoc(id)
		for _, to := range [...]graph.Node{d.FoundOn, d.DuplicateOf, d.StandIn, d.MovedFrom} {
			if to != graph.None {
				refer(to)
			}
		}
		member = binary.BigEndian.AppendUint32(append(member[:0], d.URL...), n)
		urls.add(s, member)
		member = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(member[:0], uint32(d.Site)), n)
		listed.add(s, member)
		if d.State == Queued {
			member = append(binary.BigEndian.AppendUint32(member[:0], uint32(d.Site)), HostOf(d.URL)...)
			queued.add(s, binary.BigEndian.AppendUint32(append(member, 0), n))
		}
		current := d.LinksOf == 0
		if err := tables[tableLinks].of(id, func(cycle uint32, val []byte) (err error) {
			current = current || Cycle(^cycle) == d.LinksOf
			links, err = decodeLinksTo(links, val)
			for _, l := range links {
				refer(l.To)
			}
			return err
		}); err != nil {
			return err
		}
		if !current || astray {
			return errUnsound
		}
		return tables[tableVisit].of(id, func(cycle uint32, val []byte) error {
			_, err := decodeVisit(Cycle(cycle), val)
			return err
		})
	})
	if err != nil {
		return err
	}
	for _, r := range tables {
		if r.ok || r.it.Error() != nil {
			return errUnsound
		}
	}
	for i, b := range ahead.have {
		if i >= len(c.have) || b&^c.have[i] != 0 {
			return errUnsound
		}
	}
	for _, t := range []struct {
		table byte
		want  multiset
		value int // bytes
	}{{tableURL, urls, 4}, {tableSiteDoc, listed, 0}, {tableQueue, queued, 0}} {
		var have multiset
		if err := c.v.scan([]byte{t.table}, nil, func(k, val []byte) error {
			if len(val) < t.value {
				return record.ErrCorrupt
			}
			member = append(append(member[:0], k[1:]...), val[:t.value]...)
			have.add(s, member)
			return nil
		}); err != nil {
			return err
		}
		if have != t.want {
			return errUnsound
		}
	}
	return nil
}
