package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"forage/graph"
)

// Find returns the number of a normalised URL, given in this window or before.
func (db *DB) Find(url string) (graph.Node, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.find(url, maphash.String(indexSeed, url)|1)
}

// find is Find for a URL whose hash is known. db.mu is held.
func (db *DB) find(url string, hash uint64) (graph.Node, error) {
	if id, ok := db.numbers.get(hash); ok {
		return id, nil
	}
	if db.numbers.whole {
		return graph.None, ErrNotFound
	}
	if id, ok := db.urls[url]; ok {
		return id, nil
	}
	id, err := db.View.Find(url)
	if err == nil {
		db.numbers.put(hash, id)
	}
	db.missed(db.numbers)
	return id, err
}

// Doc returns what is known of a document, writes of this window included.
func (db *DB) Doc(id graph.Node) (*Doc, error) {
	db.mu.RLock()
	b, ok := db.docs[id]
	if r := db.recently(id); !ok && r.b != nil && r.id == id {
		b, ok = r.b, true
	}
	puts := db.puts
	db.mu.RUnlock()
	if ok {
		return db.decode(id, b)
	}
	b, err := db.get(key(tableDoc, uint32(id)))
	if err != nil {
		return nil, err
	}
	db.mu.Lock()
	if db.puts == puts { // what was read is not older than what was written
		*db.recently(id) = recentDoc{id, b}
	}
	db.mu.Unlock()
	return db.decode(id, b)
}

// Prefetch has Doc at hand what is known of documents, at most a few thousand, that are about to be asked for.
// Numbers ascend, so that one reading after another costs 1 µs, where Doc takes 7 in a large store.
func (db *DB) Prefetch(ids []graph.Node) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	var lack []graph.Node
	for _, id := range ids {
		if r := db.recently(id); db.docs[id] == nil && (r.b == nil || r.id != id) {
			lack = append(lack, id)
		}
	}
	if len(lack) < 2 {
		return nil
	}
	return db.iterate(key(tableDoc, uint32(lack[0])), after(key(tableDoc, uint32(lack[len(lack)-1]))), func(docs *pebble.Iterator) error {
		for _, id := range lack {
			k := key(tableDoc, uint32(id))
			if !docs.SeekGE(k) || !bytes.Equal(docs.Key(), k) {
				return readError(docs.Error()) // Doc tells of one that is missing
			}
			b, err := docs.ValueAndErr()
			if err != nil {
				return readError(err)
			}
			*db.recently(id) = recentDoc{id, bytes.Clone(b)}
		}
		return nil
	})
}

// recentDocs documents read or written last stay at hand, a quarter of them with Options.Small, some 200 bytes each: one that is
// handed out is read when its turn comes, when its request is made, and when the answer is in.
const recentDocs = 1 << 12

type recentDoc struct {
	id graph.Node
	b  []byte // as stored; nil: none
}

// recently is where a document stays at hand.
func (db *DB) recently(id graph.Node) *recentDoc { return &db.recent[int(id)%len(db.recent)] }

// Add gives d.URL a number, sets d.ID to it and puts d. For a URL that has one already it
// sets d.ID, writes nothing and returns false.
func (db *DB) Add(d *Doc) (added bool, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	hash := maphash.String(indexSeed, d.URL) | 1
	id, err := db.find(d.URL, hash)
	if err == nil {
		d.ID = id
		return false, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return false, err
	}
	switch {
	case d.Site == 0 || HostOf(d.URL) == "" || strings.IndexByte(d.URL, 0) >= 0:
		return false, fmt.Errorf("add %q to site %d: want an absolute URL and a site", d.URL, d.Site)
	case db.next == graph.None:
		return false, errors.New("the store is full: all document numbers are given out")
	}
	d.ID = db.next
	db.next++
	db.fresh = true
	w := db.window()
	if err := errors.Join(
		w.Set(urlKey(d.URL), binary.BigEndian.AppendUint32(nil, uint32(d.ID)), nil),
		w.Set(key(tableSiteDoc, uint32(d.Site), uint32(d.ID)), nil, nil),
	); err != nil {
		return false, err
	}
	if !db.numbers.put(hash, d.ID) {
		db.urls[d.URL] = d.ID
	}
	return true, db.put(d)
}

// Put writes a document that Add or Doc returned. Queue and counters follow from its state.
func (db *DB) Put(d *Doc) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.put(d)
}

// Move puts d, which has never been fetched, as a document of another site.
func (db *DB) Move(d *Doc, to SiteID) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	c, err := db.counts(d.Site)
	if err != nil {
		return err
	}
	c.count(d.was, -1)
	db.dirty[d.Site] = true
	w := db.window()
	if err := errors.Join(
		w.Delete(key(tableSiteDoc, uint32(d.Site), uint32(d.ID)), nil),
		w.Set(key(tableSiteDoc, uint32(to), uint32(d.ID)), nil, nil),
		w.Delete(queueKey(d.Site, HostOf(d.URL), d.ID), nil),
	); err != nil {
		return err
	}
	if s, err := db.summary(d.Site); err != nil {
		return err
	} else if s.from > 0 {
		if err := db.dropSummary(d.Site); err != nil {
			return err
		}
	}
	d.Site, d.stored = to, false
	return db.put(d)
}

func (db *DB) put(d *Doc) error {
	now := d.tally()
	w := db.window()
	c, err := db.counts(d.Site)
	if err != nil {
		return err
	}
	if d.stored {
		c.count(d.was, -1)
	}
	c.count(now, 1)
	db.dirty[d.Site] = true
	wasQueued := d.stored && d.was.state == Queued
	switch k := queueKey(d.Site, HostOf(d.URL), d.ID); {
	case d.State == Queued && !wasQueued:
		err = w.Set(k, nil, nil)
	case d.State != Queued && wasQueued:
		err = w.Delete(k, nil)
	}
	if err != nil {
		return err
	}
	if now.says != d.was.says {
		d.TextIn = max(d.TextIn, db.cycleOf(d))
	}
	db.note(d.ID, &d.was, &now)
	if err := db.keepWas(d); err != nil {
		return err
	}
	if err := db.keepVisit(d); err != nil {
		return err
	}
	b := d.encode()
	d.stored, d.was = true, now
	db.docs[d.ID] = b
	db.puts++
	*db.recently(d.ID) = recentDoc{d.ID, b}
	return nil
}

// keptCounters is of how many sites the counters stay at hand from one window to the next, some
// 300 bytes each: documents of a site come many in a row. What a window changes is held until it ends.
const keptCounters = 1 << 12

// counts returns the counters of a site for change. db.mu is held.
func (db *DB) counts(site SiteID) (*Counters, error) {
	if c, ok := db.counters[site]; ok {
		return c, nil
	}
	c, err := db.View.Counters(site)
	if err != nil {
		return nil, err
	}
	db.counters[site] = c
	return c, nil
}

// Count adds to what a site has cost: answers, bytes received, fetches that failed.
func (db *DB) Count(site SiteID, fetches, bytes, errors int64) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	c, err := db.counts(site)
	if err != nil {
		return err
	}
	c.Fetches += fetches
	c.Bytes += bytes
	c.Errors += errors
	db.dirty[site] = true
	db.window()
	return nil
}

// CountRequisites adds to what a site has cost for what its pages need: answers and bytes received.
func (db *DB) CountRequisites(site SiteID, answers, bytes int64) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	c, err := db.counts(site)
	if err != nil {
		return err
	}
	c.Requisites += answers
	c.RequisiteBytes += bytes
	c.Bytes += bytes
	db.dirty[site] = true
	db.window()
	return nil
}

// Counters returns the counts of a site, writes of this window included.
func (db *DB) Counters(site SiteID) (*Counters, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	c, err := db.counts(site)
	if err != nil {
		return nil, err
	}
	clone := *c
	return &clone, nil
}

// PutLinks stores links as the links of d from cycle c on and puts d. Where they are equal to
// those that d has, the stored version stays. changed tells whether they differ.
func (db *DB) PutLinks(d *Doc, c Cycle, links []Link) (changed bool, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	changed = true
	b := appendLinks(nil, links)
	if d.LinksOf != 0 && d.LinksOf != c {
		old, err := db.get(key(tableLinks, uint32(d.ID), ^uint32(d.LinksOf)))
		if err != nil {
			return false, fmt.Errorf("links of document %d: %w", d.ID, err)
		}
		changed = !slices.Equal(old, b)
	}
	if changed {
		if err := db.window().Set(key(tableLinks, uint32(d.ID), ^uint32(c)), b, nil); err != nil {
			return false, err
		}
		d.LinksOf = c
	}
	d.Evicted = false
	d.NumLinks = 0
	for _, l := range links {
		if !l.Off {
			d.NumLinks++
		}
	}
	return changed, db.put(d)
}

// Evict gives up all versions of d's links, its validators and what is known of its text, and
// puts d. What remains is its URL and number, so that it never counts as new again, the 64-bit
// digest and simhash of its body, and when it was found, fetched and seen to change.
func (db *DB) Evict(d *Doc) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if d.LinksOf != 0 { // they may be of this window, which the scan does not see
		if err := db.window().Delete(key(tableLinks, uint32(d.ID), ^uint32(d.LinksOf)), nil); err != nil {
			return err
		}
	}
	// Row by row, not by range: see dropRows.
	if err := db.scan(key(tableLinks, uint32(d.ID)), nil, func(k, _ []byte) error { return db.window().Delete(k, nil) }); err != nil {
		return err
	}
	d.LinksOf, d.NumLinks, d.Evicted = 0, 0, true
	d.ETag, d.LastModified, d.Title, d.Canonical = "", "", "", ""
	return db.put(d)
}

// PutKept stores the state of the decision which pages are kept; View.Kept returns it.
func (db *DB) PutKept(state []byte) error { return db.set(metaKey("kept"), state) }

// PutVisit stores a fetch of a document, in place of another one in the same cycle, and puts d. Where
// d says all of it, as after most fetches, it has a row of its own only when the next one changes that: each
// page of a first visit takes 37 bytes less of the log, and 25 of the tables.
func (db *DB) PutVisit(d *Doc, v Visit) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	k := visitKey(d.ID, v.Cycle)
	tells := v == d.visit() && v.Cycle != 0
	if d.visited && d.lastVisit.Cycle == v.Cycle { // which v replaces
		d.visited = false
	} else if tells && !d.visitedOnce() { // there may be a row
		if err := db.window().Delete(k, nil); err != nil {
			return err
		}
	}
	if err := db.keepVisit(d); err != nil {
		return err
	}
	if tells {
		d.visited, d.lastVisit = true, v
	} else if err := db.window().Set(k, visitFields.Encode(&v), nil); err != nil {
		return err
	}
	return db.put(d)
}

// keepVisit gives the visit that the record of d tells of a row, where d says something else by now.
// db.mu is held.
func (db *DB) keepVisit(d *Doc) error {
	if !d.visited || d.lastVisit == d.visit() {
		return nil
	}
	d.visited = false
	db.visits[d.ID] = append(db.visits[d.ID], d.lastVisit)
	return db.window().Set(visitKey(d.ID, d.lastVisit.Cycle), visitFields.Encode(&d.lastVisit), nil)
}

// visitsBack calls yield for the visits of d, the latest cycle first, those that were kept in this window included.
// db.mu is held.
func (db *DB) visitsBack(d *Doc, yield func(Visit) bool) error {
	if d.visited && !yield(d.lastVisit) {
		return nil
	}
	for _, v := range slices.Backward(db.visits[d.ID]) {
		if !yield(v) {
			return nil
		}
	}
	return db.scanBack(key(tableVisit, uint32(d.ID)), nil, func(k, val []byte) error {
		v, err := parseVisit(k, val)
		if err != nil {
			return err
		}
		if d.visited && d.lastVisit.Cycle == v.Cycle {
			return nil // see Doc.visits
		}
		return stopped(yield(v))
	})
}

func (db *DB) set(k, val []byte) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.window().Set(k, val, nil)
}

// AddSite gives s the next number and puts it. Its name must be new and stays as it is.
func (db *DB) AddSite(s *Site) error {
	if s.Name == "" {
		return errors.New("add site: it has no name")
	}
	if _, err := db.SiteNamed(s.Name); err == nil {
		return fmt.Errorf("site %s is in the store already", s.Name)
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.lastSite == ^SiteID(0) {
		return errors.New("the store is full: all numbers of sites are given out")
	}
	s.ID = db.lastSite + 1
	if err := db.putSite(s); err != nil {
		return err
	}
	db.lastSite, db.names[s.Name] = s.ID, s.ID
	return errors.Join(
		db.window().Set(nameKey(s.Name), uint32Bytes(uint32(s.ID)), nil),
		db.window().Set(metaKey("sites"), uint32Bytes(uint32(s.ID)), nil),
	)
}

// PutSite writes a site that was added.
func (db *DB) PutSite(s *Site) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.putSite(s)
}

func (db *DB) putSite(s *Site) error {
	b, err := encodeSite(s)
	if err != nil {
		return err
	}
	db.sites[s.ID] = b
	return db.window().Set(key(tableSite, uint32(s.ID)), b, nil)
}

// Site returns a site, writes of this window included, or ErrNotFound.
func (db *DB) Site(id SiteID) (*Site, error) {
	db.mu.RLock()
	b, ok := db.sites[id]
	db.mu.RUnlock()
	if ok {
		return decodeSite(b)
	}
	return db.View.Site(id)
}

// SiteNamed returns the site of a name, writes of this window included, or ErrNotFound.
func (db *DB) SiteNamed(name string) (*Site, error) {
	db.mu.RLock()
	id, ok := db.names[name]
	db.mu.RUnlock()
	if ok {
		return db.Site(id)
	}
	return db.View.SiteNamed(name)
}

// PutRefetch writes a fetch of an old document.
func (db *DB) PutRefetch(site SiteID, c Cycle, r *Refetch) error {
	return db.set(key(tableRefetch, uint32(site), uint32(c), uint32(r.Page)), refetchFields.Encode(r))
}

// PutNewcomer records that a document answered for the first time in cycle c.
func (db *DB) PutNewcomer(d *Doc, c Cycle) error {
	return db.set(key(tableNew, uint32(d.Site), uint32(c), uint32(d.ID)), []byte{byte(d.Kind)})
}

// FirstBody makes id the first page of the site with a body of this digest, unless there is
// one already; it returns the one that is.
func (db *DB) FirstBody(site SiteID, digest uint64, id graph.Node) (graph.Node, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	k := digestKey(site, digest)
	hash := indexHash(k[1:])
	if first, ok := db.bodies.get(hash); ok {
		return first, nil
	}
	if db.bodies.whole {
		return id, db.putBody(k, hash, id)
	}
	if first, ok := db.digests[string(k)]; ok {
		return first, nil
	}
	first, err := db.sameBody(site, digest)
	db.missed(db.bodies)
	switch {
	case err == nil:
		db.bodies.put(hash, first)
		return first, nil
	case errors.Is(err, ErrNotFound):
		return id, db.putBody(k, hash, id)
	}
	return graph.None, err
}

// PutBody makes id what FirstBody returns for a digest, whatever it was.
func (db *DB) PutBody(site SiteID, digest uint64, id graph.Node) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	k := digestKey(site, digest)
	return db.putBody(k, indexHash(k[1:]), id)
}

func (db *DB) putBody(k []byte, hash uint64, id graph.Node) error {
	if !db.bodies.put(hash, id) {
		db.digests[string(k)] = id
	}
	return db.window().Set(k, binary.BigEndian.AppendUint32(nil, uint32(id)), nil)
}
