package store

import (
	"errors"
	"fmt"
	"forage/store/record"
)

// A Cycle numbers the cycles of a store from 1, over all its sites, in the order in which
// they were opened. Cycles of several sites run at the same time.
type Cycle uint32

// A CycleKind tells what a cycle was for.
type CycleKind string

// The kinds of cycles.
const (
	FirstVisit  CycleKind = "crawl"   // the site is visited for the first time, or further
	Revisit     CycleKind = "revisit" // some old documents are fetched again
	FullRecrawl CycleKind = "full"    // all of them are
	Import      CycleKind = "import"  // URLs became known from a list, or from the index of an archive; nothing was fetched
)

// A CycleRecord is one cycle of one site. Only in a store that was migrated from format 1,
// where a cycle was one round over all sites, do several sites have a cycle of one number.
type CycleRecord struct {
	Cycle  Cycle // of the store; OpenCycle gives it
	Site   SiteID
	Kind   CycleKind
	Policy string // that chose what was fetched; empty: none was needed
	Budget string // as asked for: "10", "5%"
	Run    Cycle  // what the cycles have in common that one run opened: the number of the first
	Limit  int    // old documents that may be fetched again; -1: all of them

	At    Time  // the crawl's clock when it began
	Ended Time  // the same when it ended; 0: it is open, which is running or interrupted
	Took  int64 // milliseconds of real time in which it was worked on, over all runs
	Done  bool  // what it was to fetch has been fetched; a cycle that ended without gave up

	Fetched   int64 // answers to requests for documents
	Refetched int64 // of these, of old documents
	Pages     int64 // that answered for the first time, duplicates included
	New       int64 // of these, new for certain, duplicates left out
	Unknown   int64 // of these, nobody knows whether they are new
	Bytes     int64 // received
	Errors    int64 // fetches that failed
	Waited    int64 // of Fetched, documents that waited from an earlier cycle; they are of the budget
	Copies    int64 // of Pages, duplicates
	Content   int64 // of New, pages of class ContentPage
	Moved     int64 // pages found to be others at a new URL

	Requisites     int64 // answers to requests for what pages need, which are not of Fetched
	RequisiteBytes int64 // of Bytes, received with them

	// Of a cycle that was to find a share of what is new, in thousandths of a page: what was expected of the
	// documents that the policy named, and of all others.
	Foreseen, Unseen int64
}

// cycleFields is the record of a cycle. Tags 1 to 8 are what format 1 kept of a site's cycle.
var cycleFields = record.New(
	record.Text(1, func(c *CycleRecord) *CycleKind { return &c.Kind }),
	record.Int(2, func(c *CycleRecord) *Time { return &c.At }),
	record.Int(3, func(c *CycleRecord) *int { return &c.Limit }),
	record.Uint(4, func(c *CycleRecord) *int64 { return &c.Fetched }),
	record.Uint(5, func(c *CycleRecord) *int64 { return &c.Refetched }),
	record.Uint(6, func(c *CycleRecord) *int64 { return &c.Bytes }),
	record.Uint(7, func(c *CycleRecord) *int64 { return &c.Pages }),
	record.Bool(8, func(c *CycleRecord) *bool { return &c.Done }),
	record.Int(9, func(c *CycleRecord) *Time { return &c.Ended }),
	record.Uint(10, func(c *CycleRecord) *int64 { return &c.Took }),
	record.Uint(11, func(c *CycleRecord) *int64 { return &c.New }),
	record.Uint(12, func(c *CycleRecord) *int64 { return &c.Unknown }),
	record.Uint(13, func(c *CycleRecord) *int64 { return &c.Errors }),
	record.Text(14, func(c *CycleRecord) *string { return &c.Policy }),
	record.Text(15, func(c *CycleRecord) *string { return &c.Budget }),
	record.Uint(16, func(c *CycleRecord) *Cycle { return &c.Run }),
	record.Uint(17, func(c *CycleRecord) *int64 { return &c.Waited }),
	record.Uint(18, func(c *CycleRecord) *int64 { return &c.Copies }),
	record.Uint(19, func(c *CycleRecord) *int64 { return &c.Content }),
	record.Uint(20, func(c *CycleRecord) *int64 { return &c.Moved }),
	record.Uint(21, func(c *CycleRecord) *int64 { return &c.Foreseen }),
	record.Uint(22, func(c *CycleRecord) *int64 { return &c.Unseen }),
	record.Uint(23, func(c *CycleRecord) *int64 { return &c.Requisites }),
	record.Uint(24, func(c *CycleRecord) *int64 { return &c.RequisiteBytes }),
)

func decodeCycle(site SiteID, c Cycle, b []byte) (*CycleRecord, error) {
	r := &CycleRecord{Site: site, Cycle: c}
	if err := cycleFields.Decode(b, r); err != nil {
		return nil, fmt.Errorf("cycle %d of site %d: %w", c, site, err)
	}
	return r, nil
}

// condensable reports whether r may be condensed.
func (r *CycleRecord) condensable() bool { return r.Kind == Revisit && r.Ended != 0 }

// OpenCycle gives r the next number of the store and puts it. The number is taken when the
// window is committed, together with the record.
func (db *DB) OpenCycle(r *CycleRecord) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.lastCycle == ^Cycle(0) {
		return errors.New("the store is full: all numbers of cycles are given out")
	}
	r.Cycle = db.lastCycle + 1
	return errors.Join(db.noteCycle(r.Site, r.Cycle), db.putCycle(r))
}

// PutCycle writes a cycle. One that has ended should not be put again: it may have been
// condensed since.
func (db *DB) PutCycle(r *CycleRecord) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.putCycle(r)
}

func (db *DB) putCycle(r *CycleRecord) error {
	if r.Cycle == 0 || r.Site == 0 {
		return fmt.Errorf("put cycle %d of site %d: want numbers above 0", r.Cycle, r.Site)
	}
	w := db.window()
	if r.Cycle > db.lastCycle {
		db.lastCycle = r.Cycle
		if err := w.Set(metaKey("cycle"), uint32Bytes(uint32(r.Cycle)), nil); err != nil {
			return err
		}
	}
	if r.Ended == 0 {
		db.running[r.Cycle] = true
	} else {
		delete(db.running, r.Cycle)
	}
	if n, known := db.ended[r.Site]; known && r.condensable() {
		db.ended[r.Site] = n + 1
	}
	return errors.Join(
		w.Set(cycleKey(r.Site, r.Cycle), cycleFields.Encode(r), nil),
		w.Set(cycleIndexKey(r.Cycle, r.Site), nil, nil),
	)
}

// LastCycle returns the highest number of a cycle so far, 0 before the first one, the one of
// this window included.
func (db *DB) LastCycle() (Cycle, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.lastCycle, nil
}

// LastCycle returns the highest number that a cycle was given so far, 0 before the first one.
func (v *View) LastCycle() (Cycle, error) {
	n, err := v.metaNumber("cycle")
	return Cycle(n), err
}

// Cycle returns a cycle of a site, ErrNotFound where there is none or it was condensed.
func (v *View) Cycle(site SiteID, c Cycle) (*CycleRecord, error) {
	b, err := v.get(cycleKey(site, c))
	if err != nil {
		return nil, err
	}
	return decodeCycle(site, c, b)
}

// SiteCycles calls yield for each cycle of a site that was not condensed, the first one
// first, until it returns false.
func (v *View) SiteCycles(site SiteID, yield func(*CycleRecord) bool) error {
	return v.scan(key(tableCycle, uint32(site)), nil, yieldCycles(yield))
}

// SiteCyclesBack is SiteCycles with the latest one first. It reads no further than it yields.
func (v *View) SiteCyclesBack(site SiteID, yield func(*CycleRecord) bool) error {
	return v.SiteCyclesBefore(site, 0, yield)
}

// SiteCyclesBefore is SiteCyclesBack for the cycles with a number below before; 0: for all.
func (v *View) SiteCyclesBefore(site SiteID, before Cycle, yield func(*CycleRecord) bool) error {
	var below []byte
	if before > 0 {
		below = cycleKey(site, before)
	}
	return v.scanBack(key(tableCycle, uint32(site)), below, yieldCycles(yield))
}

func yieldCycles(yield func(*CycleRecord) bool) func(k, val []byte) error {
	return func(k, val []byte) error {
		n, err := numbers(k, 2)
		if err != nil {
			return err
		}
		c, err := decodeCycle(SiteID(n[0]), Cycle(n[1]), val)
		if err != nil {
			return err
		}
		return stopped(yield(c))
	}
}

// Cycles calls yield for each cycle of all sites that was not condensed, from number `from`
// on, in the order of their numbers, until it returns false.
func (v *View) Cycles(from Cycle, yield func(*CycleRecord) bool) error {
	return v.scan([]byte{tableCycleIndex}, key(tableCycleIndex, uint32(from)), v.lookUpCycles(yield))
}

// CyclesBack calls yield for each cycle of all sites that was not condensed, the latest one
// first. It reads no further than it yields.
func (v *View) CyclesBack(yield func(*CycleRecord) bool) error {
	return v.scanBack([]byte{tableCycleIndex}, nil, v.lookUpCycles(yield))
}

func (v *View) lookUpCycles(yield func(*CycleRecord) bool) func(k, val []byte) error {
	return func(k, _ []byte) error {
		n, err := numbers(k, 2)
		if err != nil {
			return err
		}
		c, err := v.Cycle(SiteID(n[1]), Cycle(n[0]))
		if errors.Is(err, ErrNotFound) {
			// The view of a DB is not one moment: the cycle may have been condensed since.
			if _, err := v.get(k); errors.Is(err, ErrNotFound) {
				return nil
			}
			err = fmt.Errorf("cycle %d of site %d: %w: it has no record", n[0], n[1], record.ErrCorrupt)
		}
		if err != nil {
			return err
		}
		return stopped(yield(c))
	}
}
