package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"forage/graph"
	"forage/store/record"
)

// A Cursor reads many documents, and what belongs to them, in ascending order of their numbers. It
// stays where it is in each table, so that the next document costs a step, and not a search as for
// the methods of View of the same names. It is for one goroutine.
type Cursor struct {
	v      *View
	tables map[byte]*pebble.Iterator
	read   map[byte]graph.Node // by table: rows stands behind all of this document
	urls   []cachedURL         // by number modulo their count
	links  []Link
	k      []byte
	err    error // why it reads nothing
}

// A cachedURL is a URL that was asked for. Documents that were found one after another were found on
// few pages.
type cachedURL struct {
	id  graph.Node
	url string
}

// cachedURLs bounds them. Of the pages of a site of 1,000,000, with ten links each, fetched 64 at a
// time, 71% were found on one of the 64 pages before, and no more on one of 65,536.
const cachedURLs = 1 << 8

// Cursor returns a cursor, which the caller closes.
func (v *View) Cursor() *Cursor {
	return &Cursor{v: v, tables: map[byte]*pebble.Iterator{}, read: map[byte]graph.Node{}, err: v.gate.enter()}
}

// Close ends the reading.
func (c *Cursor) Close() error {
	if c.err != nil {
		return nil // it has read nothing, and said why
	}
	for _, it := range c.tables {
		c.err = cmp.Or(c.err, readError(it.Close()))
	}
	c.v.gate.leave()
	err := c.err
	c.err = cmp.Or(err, ErrClosed)
	return err
}

// ofRows is set in the use of a table that rows reads.
const ofRows = 0x80

// table returns the iterator of a table for a use: mostly that of the table, but URL and rows have
// places of their own.
func (c *Cursor) table(use, table byte) (*pebble.Iterator, error) {
	if err := cmp.Or(c.err, c.v.gate.step()); err != nil {
		return nil, err
	}
	if it := c.tables[use]; it != nil {
		return it, nil
	}
	it, err := c.v.r.NewIter(&pebble.IterOptions{LowerBound: []byte{table}, UpperBound: after([]byte{table})})
	if err != nil {
		return nil, readError(err)
	}
	c.tables[use] = it
	return it, nil
}

// seek moves it to the first key that is not less than k, which is often the next one or the
// one after that.
func seek(it *pebble.Iterator, k []byte) bool {
	for range 2 {
		if !it.Valid() {
			break
		}
		if d := bytes.Compare(it.Key(), k); d == 0 {
			return true
		} else if d > 0 {
			break
		}
		if it.Next() && bytes.Compare(it.Key(), k) >= 0 {
			return true
		}
	}
	return it.SeekGE(k)
}

// key is key in memory of c, valid until it is called again.
func (c *Cursor) key(table byte, n ...uint32) []byte {
	c.k = append(c.k[:0], table)
	for _, v := range n {
		c.k = binary.BigEndian.AppendUint32(c.k, v)
	}
	return c.k
}

// Docs calls yield for every document in the order of their numbers until it returns false. The
// Doc is the same one in each call.
func (c *Cursor) Docs(yield func(*Doc) bool) error {
	return c.docs(0, 0, docFields, yield)
}

// SiteDocs is Docs for the documents of one site (0: of all).
func (c *Cursor) SiteDocs(site SiteID, yield func(*Doc) bool) error {
	return c.docs(site, 0, docFields, yield)
}

// SiteDocsFrom is SiteDocs for the documents from a number on.
func (c *Cursor) SiteDocsFrom(site SiteID, from graph.Node, yield func(*Doc) bool) error {
	return c.docs(site, from, docFields, yield)
}

// docs is SiteDocs, and Docs where site is 0, from a number on, of the fields of a codec.
func (c *Cursor) docs(site SiteID, from graph.Node, fields *record.Codec[Doc], yield func(*Doc) bool) error {
	d := new(Doc)
	read := func(id graph.Node, val []byte) error {
		c.v.decoded.Add(1)
		if fields == docFields {
			if err := d.decode(id, val); err != nil {
				return err
			}
		} else {
			*d = blank
			d.ID = id
			if err := fields.Decode(val, d); err != nil {
				return fmt.Errorf("document %d: %w", id, err)
			}
		}
		return stopped(yield(d))
	}
	if site == 0 {
		return c.v.scan([]byte{tableDoc}, key(tableDoc, uint32(from)), func(k, val []byte) error {
			n, err := number(k)
			if err != nil {
				return err
			}
			return read(graph.Node(n), val)
		})
	}
	return c.v.scan(key(tableSiteDoc, uint32(site)), key(tableSiteDoc, uint32(site), uint32(from)), func(k, _ []byte) error {
		if len(k) != 9 {
			return fmt.Errorf("key %x: %w", k, record.ErrCorrupt)
		}
		id := graph.Node(binary.BigEndian.Uint32(k[5:]))
		val, err := c.doc(tableDoc, id)
		if err != nil {
			return fmt.Errorf("document %d of site %d: %w", id, site, err)
		}
		return read(id, val)
	})
}

// doc returns the record of a document, valid until the next call with the same use.
func (c *Cursor) doc(use byte, id graph.Node) ([]byte, error) {
	docs, err := c.table(use, tableDoc)
	if err != nil {
		return nil, err
	}
	k := c.key(tableDoc, uint32(id))
	if !seek(docs, k) || !bytes.Equal(docs.Key(), k) {
		return nil, cmp.Or(readError(docs.Error()), ErrNotFound)
	}
	val, err := docs.ValueAndErr()
	return val, readError(err)
}

// simhashFields decode what Simhashes wants of a document: site, state, kind, of what it is a copy, whether it stands for that.
var simhashFields = docFields.Only(2, 3, 4, 28, 52, simhashTag)

// Simhashes calls yield for each page of a site (0: of all) that lists have and that has a simhash, in the order of their
// numbers, until it returns false.
func (c *Cursor) Simhashes(site SiteID, yield func(page graph.Node, of SiteID, simhash uint64) bool) error {
	return c.docs(site, 0, simhashFields, func(d *Doc) bool {
		return d.Simhash == 0 || !d.IsListed() || yield(d.ID, d.Site, d.Simhash)
	})
}

// urlField decodes the URL of a document.
var urlField = docFields.Only(1)

// SiteDocsAhead reads at most so many batches of so many documents ahead: a megabyte or two. With
// fewer, reader and caller wait for each other most of the time.
const (
	batches = 8
	batch   = 256
)

// SiteDocsAhead is SiteDocs for a site of many documents: a goroutine of its own reads them ahead
// of yield. A Doc is valid during the call only.
func (v *View) SiteDocsAhead(site SiteID, yield func(*Doc) bool) error {
	counts, err := v.Counters(site)
	if err != nil {
		return err
	}
	all, err := v.NumURLs()
	if err != nil {
		return err
	}
	c := v.Cursor()
	if counts.Known() < 4*batch { // for so few a goroutine takes longer
		return errors.Join(c.SiteDocs(site, yield), c.Close())
	}
	// Where most documents are of the site it is quicker to go through all of them than through its list.
	read := func(yield func(*Doc) bool) error { return c.SiteDocs(site, yield) }
	if counts.Known() > int64(all)/2 {
		read = func(yield func(*Doc) bool) error {
			return c.Docs(func(d *Doc) bool { return d.Site != site || yield(d) })
		}
	}
	full, empty, stop := make(chan []Doc, batches), make(chan []Doc, batches), make(chan struct{})
	for range batches {
		empty <- make([]Doc, 0, batch)
	}
	hand := func(docs []Doc) bool {
		select {
		case full <- docs:
			return true
		case <-stop:
			return false
		}
	}
	var failed error // set before full is closed
	go func() {
		defer close(full)
		docs := <-empty
		err := read(func(d *Doc) bool {
			if docs = append(docs, *d); len(docs) < batch {
				return true
			}
			if !hand(docs) {
				return false
			}
			docs = (<-empty)[:0]
			return true
		})
		if failed = errors.Join(err, c.Close()); failed == nil && len(docs) > 0 {
			hand(docs)
		}
	}()
	more := true
	for docs := range full {
		for i := 0; more && i < len(docs); i++ {
			if more = yield(&docs[i]); !more {
				close(stop)
			}
		}
		empty <- docs
	}
	return failed
}

// URL returns the URL of a document, or ErrNotFound. Of numbers in no order it is not quicker than
// View.Doc.
func (c *Cursor) URL(id graph.Node) (string, error) {
	if c.urls == nil {
		c.urls = make([]cachedURL, cachedURLs)
	}
	u := &c.urls[id%cachedURLs]
	if u.url != "" && u.id == id {
		return u.url, nil
	}
	val, err := c.doc(tableURL, id)
	if err != nil {
		return "", err
	}
	c.v.decoded.Add(1)
	var d Doc
	if err := urlField.Decode(val, &d); err != nil {
		return "", fmt.Errorf("document %d: %w", id, err)
	}
	*u = cachedURL{id, d.URL}
	return d.URL, nil
}

// Links is View.Links. What it returns is valid until the next call.
func (c *Cursor) Links(d *Doc) ([]Link, error) {
	if d.LinksOf == 0 {
		return nil, nil
	}
	it, err := c.table(tableLinks, tableLinks)
	if err != nil {
		return nil, err
	}
	k := c.key(tableLinks, uint32(d.ID), ^uint32(d.LinksOf))
	if !seek(it, k) || !bytes.Equal(it.Key(), k) {
		return nil, fmt.Errorf("links of document %d in cycle %d: %w", d.ID, d.LinksOf, cmp.Or(readError(it.Error()), ErrNotFound))
	}
	val, err := it.ValueAndErr()
	if err != nil {
		return nil, readError(err)
	}
	c.links, err = decodeLinksTo(c.links, val)
	return c.links, err
}

// LinkHistory is View.LinkHistory. The links are valid during the call only.
func (c *Cursor) LinkHistory(id graph.Node, yield func(Cycle, []Link) bool) error {
	return c.rows(tableLinks, id, func(n uint32, val []byte) (err error) {
		if c.links, err = decodeLinksTo(c.links, val); err != nil {
			return fmt.Errorf("document %d: %w", id, err)
		}
		return stopped(yield(Cycle(^n), c.links))
	})
}

// Visits is View.Visits.
func (c *Cursor) Visits(d *Doc, yield func(Visit) bool) error {
	return d.visits(func(yield func(Visit) bool) error {
		return c.rows(tableVisit, d.ID, func(n uint32, val []byte) error {
			visit, err := decodeVisit(Cycle(n), val)
			if err != nil {
				return err
			}
			return stopped(yield(visit))
		})
	}, yield)
}

// rows calls yield for the rows of a document in a table whose keys are its number and another
// one, in order.
func (c *Cursor) rows(table byte, id graph.Node, yield func(n uint32, val []byte) error) error {
	it, err := c.table(table|ofRows, table)
	if err != nil {
		return err
	}
	of := func() graph.Node { return graph.Node(binary.BigEndian.Uint32(it.Key()[1:])) }
	// Behind the rows of an earlier document those of id begin, if there are any.
	if before, ok := c.read[table]; !ok || before >= id || it.Valid() && of() < id {
		seek(it, c.key(table, uint32(id)))
	}
	delete(c.read, table)
	for ; it.Valid(); it.Next() {
		if len(it.Key()) != 9 {
			return fmt.Errorf("key %x: %w", it.Key(), record.ErrCorrupt)
		}
		if of() != id {
			break
		}
		val, err := it.ValueAndErr()
		if err != nil {
			return readError(err)
		}
		if err := yield(binary.BigEndian.Uint32(it.Key()[5:]), val); err == errStop {
			return nil
		} else if err != nil {
			return err
		}
	}
	c.read[table] = id
	return readError(it.Error())
}

// number reads the number behind the table's byte of a key that holds nothing else.
func number(k []byte) (uint32, error) {
	if len(k) != 5 {
		return 0, fmt.Errorf("key %x: %w: 1 number wanted", k, record.ErrCorrupt)
	}
	return binary.BigEndian.Uint32(k[1:]), nil
}

// reasonFields decode why a document waits or failed.
var reasonFields = docFields.Only(3, 5)

// Waiting counts the queued and failed documents of a site by the reason that holds them back; those
// without one are not counted.
func (v *View) Waiting(site SiteID) (map[string]int, error) {
	c := v.Cursor()
	defer c.Close()
	n := map[string]int{}
	err := c.docs(site, 0, reasonFields, func(d *Doc) bool {
		if (d.State == Queued || d.State == Failed) && d.Reason != "" {
			n[d.Reason]++
		}
		return true
	})
	return n, err
}
