package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"forage/graph"
	"forage/store/record"
)

// A summary is what a caller made of all documents of a site, in its own format, kept so that it goes
// through those alone next time that have changed since (Changed) or have come to the site
// (SiteDocsFrom). It is there to save time, and nothing else: where there is none, or none that can be
// read, it is made anew.
//
// As long as a site has one, the first write of a document since keeps how it was. What is written in
// another way than by Put and those that put ends the summary: a document that comes from another site,
// a repair, a program that knows no summaries, which is told by a cycle of the site that the summary
// does not.

// mostChanged is how many documents of a site may change until its summary is given up: to read them
// one by one then takes as long as to make it anew.
const mostChanged = 8192

// A summarised is what is known of the summary of a site.
type summarised struct {
	from  graph.Node              // documents below were gone through; 0: there is none
	noted map[graph.Node]struct{} // of these, some that are known to be among the changed
	whole bool                    // noted are all of them: the summary is one of this process
}

// PutSummary keeps the summary of a site, of everything that has been written so far, in place of the
// one before. O(documents changed since that).
func (db *DB) PutSummary(site SiteID, summary []byte) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.dropSummary(site); err != nil {
		return err
	}
	db.summaries[site] = &summarised{from: db.next, whole: true}
	b := binary.AppendUvarint(make([]byte, 0, 16+len(summary)), uint64(db.next))
	return errors.Join(
		db.window().Set(key(tableSummary, uint32(site)), append(binary.AppendUvarint(b, uint64(db.lastCycle)), summary...), nil),
		db.window().Set(key(tableChanged, uint32(site)), uint32Bytes(uint32(db.lastCycle)), nil),
	)
}

// DropSummary gives the summary of a site up, if it has one.
func (db *DB) DropSummary(site SiteID) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if s, err := db.summary(site); err != nil || s.from == 0 {
		return err
	}
	return db.dropSummary(site)
}

func (db *DB) dropSummary(site SiteID) error {
	s, err := db.summary(site)
	if err != nil {
		return err
	}
	w := db.window()
	prefix := key(tableChanged, uint32(site))
	if err := errors.Join(w.Delete(key(tableSummary, uint32(site)), nil), w.Delete(prefix, nil)); err != nil {
		return err
	}
	for id := range s.noted { // in this window, perhaps, which the scan does not see
		if err := w.Delete(key(tableChanged, uint32(site), uint32(id)), nil); err != nil {
			return err
		}
	}
	db.summaries[site] = &summarised{}
	return db.scan(prefix, nil, func(k, _ []byte) error { return w.Delete(k, nil) }) // not by range: see dropRows
}

// summary returns what is known of a site's summary. db.mu is held.
func (db *DB) summary(site SiteID) (*summarised, error) {
	if s, ok := db.summaries[site]; ok {
		return s, nil
	}
	from, _, err := db.View.Summary(site)
	if err != nil {
		return nil, err
	}
	s := &summarised{from: from}
	db.summaries[site] = s
	return s, nil
}

// keepWas keeps how d was when the summary of its site was made, where this is the first write since.
// db.mu is held.
func (db *DB) keepWas(d *Doc) error {
	s, err := db.summary(d.Site)
	if err != nil || d.ID >= s.from {
		return err
	}
	if _, ok := s.noted[d.ID]; ok {
		return nil
	}
	if !d.stored || len(s.noted) >= mostChanged {
		return db.dropSummary(d.Site)
	}
	if s.noted == nil {
		s.noted = map[graph.Node]struct{}{}
	}
	s.noted[d.ID] = struct{}{}
	k := key(tableChanged, uint32(d.Site), uint32(d.ID))
	if !s.whole {
		if _, err := db.get(k); !errors.Is(err, ErrNotFound) {
			return err // by an earlier process
		}
	}
	was, ok := db.docs[d.ID]
	if !ok {
		if was, err = db.get(key(tableDoc, uint32(d.ID))); err != nil {
			return fmt.Errorf("document %d: %w", d.ID, err)
		}
	}
	return db.window().Set(k, was, nil)
}

// noteCycle has the summary of a site know of a cycle. db.mu is held.
func (db *DB) noteCycle(site SiteID, c Cycle) error {
	s, err := db.summary(site)
	if err != nil || s.from == 0 {
		return err
	}
	return db.window().Set(key(tableChanged, uint32(site)), uint32Bytes(uint32(c)), nil)
}

// Summary returns the summary of a site, and from which number on documents are not part of it; 0: there
// is none that can be read, or none that knows of all that was done at the site since.
func (v *View) Summary(site SiteID) (from graph.Node, summary []byte, err error) {
	b, err := v.get(key(tableSummary, uint32(site)))
	if errors.Is(err, ErrNotFound) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	from, made, summary, err := decodeSummary(b)
	if err != nil {
		return 0, nil, nil
	}
	told, err := v.get(key(tableChanged, uint32(site)))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, nil, err
	}
	last := Cycle(0)
	if err := v.SiteCyclesBack(site, func(c *CycleRecord) bool { last = c.Cycle; return false }); err != nil && !errors.Is(err, record.ErrCorrupt) {
		return 0, nil, err
	}
	if len(told) != 4 || Cycle(binary.BigEndian.Uint32(told)) < max(last, made) {
		return 0, nil, nil
	}
	return from, summary, nil
}

func decodeSummary(b []byte) (from graph.Node, made Cycle, summary []byte, err error) {
	x, n := binary.Uvarint(b)
	if n <= 0 || x == 0 || x > uint64(graph.None) {
		return 0, 0, nil, record.ErrCorrupt
	}
	y, m := binary.Uvarint(b[n:])
	if m <= 0 || y > uint64(^Cycle(0)) {
		return 0, 0, nil, record.ErrCorrupt
	}
	return graph.Node(x), Cycle(y), b[n+m:], nil
}

// Changed calls yield for each document that the summary of a site is made of and that has been written
// since, as it was then, by number, until it returns false.
func (v *View) Changed(site SiteID, yield func(was *Doc) bool) error {
	prefix := key(tableChanged, uint32(site))
	return v.scan(prefix, append(prefix, 0), func(k, val []byte) error {
		n, err := numbers(k, 2)
		if err != nil {
			return err
		}
		d, err := v.decode(graph.Node(n[1]), val)
		if err != nil {
			return err
		}
		return stopped(yield(d))
	})
}

// summaries checks what is kept of sites for the next cycle, whose format is not the store's.
func (c *checker) summaries() error {
	err := c.v.scan([]byte{tableSummary}, nil, func(k, val []byte) error {
		if n, err := numbers(k, 1); err != nil || c.sites[SiteID(n[0])] == nil {
			c.problem(drop(k), "summary %x belongs to no site", k[1:])
		} else if from, _, _, err := decodeSummary(val); err != nil || int(from) > c.next {
			c.problem(drop(k), "the summary of site %d cannot be read", n[0])
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.v.scan([]byte{tableChanged}, nil, func(k, val []byte) error {
		if n, err := numbers(k, 1); err == nil {
			if c.sites[SiteID(n[0])] == nil || len(val) != 4 {
				c.problem(drop(k), "the cycle of the summary of site %d cannot be read", n[0])
			}
			return nil
		}
		n, err := numbers(k, 2)
		if err != nil || c.sites[SiteID(n[0])] == nil || !c.hasDoc(graph.Node(n[1])) {
			c.problem(drop(k), "document %x as it was belongs to none", k[1:])
			return nil
		}
		if _, err := decodeDoc(graph.Node(n[1]), val); err != nil {
			// What the summary was made of is not known any more.
			c.problem(drop(key(tableSummary, n[0])), "as it was: %v", err)
			c.problem(drop(k), "document %d as it was: %v", n[1], err)
		}
		return nil
	})
}
