package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"forage/store/record"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// A site that is looked at each minute has half a million cycles a year. What a crawl reads of
// them are the latest ones, their sum, and what each told the revisit policy, which is small.
// So old cycles are condensed: of each, only its figures remain, in the sum that PastCycles
// is, and its record for the policy, which moves into a row of tableRecords with those of
// other cycles.
//
// Such a row is keyed by the first cycle that it holds a record of. It is, for each record in
// ascending order of the cycles, uvarint(cycle - cycle before), uvarint(length) and the bytes;
// the cycle before the first one is 0. Rows of a site do not overlap. A cycle that was passed
// over because it was open may be condensed when later ones have been; its record is then
// inserted where it belongs.

// PastCycles is the sum of the cycles of a site that were condensed. The zero value is that of
// a site of which none was.
type PastCycles struct {
	Cycles  int64
	Through Cycle // the latest of them
	Since   Time  // when the first of them began
	Until   Time  // when the latest of them ended
	Took    int64 // milliseconds of real time

	Fetched, Refetched, Pages, New, Unknown, Bytes, Errors int64 // as in CycleRecord

	// resume is where Condense starts to read: all cycles before it that can be condensed
	// are. It is the first open cycle that was passed over, else the one after Through.
	resume Cycle
}

var pastFields = record.New(
	record.Uint(1, func(p *PastCycles) *int64 { return &p.Cycles }),
	record.Uint(2, func(p *PastCycles) *Cycle { return &p.Through }),
	record.Int(3, func(p *PastCycles) *Time { return &p.Since }),
	record.Int(4, func(p *PastCycles) *Time { return &p.Until }),
	record.Uint(5, func(p *PastCycles) *int64 { return &p.Took }),
	record.Uint(6, func(p *PastCycles) *int64 { return &p.Fetched }),
	record.Uint(7, func(p *PastCycles) *int64 { return &p.Refetched }),
	record.Uint(8, func(p *PastCycles) *int64 { return &p.Pages }),
	record.Uint(9, func(p *PastCycles) *int64 { return &p.New }),
	record.Uint(10, func(p *PastCycles) *int64 { return &p.Unknown }),
	record.Uint(11, func(p *PastCycles) *int64 { return &p.Bytes }),
	record.Uint(12, func(p *PastCycles) *int64 { return &p.Errors }),
	record.Uint(13, func(p *PastCycles) *Cycle { return &p.resume }),
)

func decodePast(site SiteID, b []byte) (*PastCycles, error) {
	p := new(PastCycles)
	if err := pastFields.Decode(b, p); err != nil {
		return nil, fmt.Errorf("past cycles of site %d: %w", site, err)
	}
	return p, nil
}

func (p *PastCycles) add(r *CycleRecord) {
	if p.Cycles == 0 || r.At < p.Since {
		p.Since = r.At
	}
	p.Cycles++
	p.Through = max(p.Through, r.Cycle)
	p.Until = max(p.Until, r.Ended)
	p.Took += r.Took
	p.Fetched += r.Fetched
	p.Refetched += r.Refetched
	p.Pages += r.Pages
	p.New += r.New
	p.Unknown += r.Unknown
	p.Bytes += r.Bytes
	p.Errors += r.Errors
}

// PastCycles returns the sum of a site's cycles that were condensed.
func (v *View) PastCycles(site SiteID) (*PastCycles, error) {
	b, err := v.get(key(tablePast, uint32(site)))
	if errors.Is(err, ErrNotFound) {
		return new(PastCycles), nil
	}
	if err != nil {
		return nil, err
	}
	return decodePast(site, b)
}

// condenseAtOnce bounds the cycles that one call condenses, and so its time and its share of
// the window: some 10 ms and 1 MB at 20 refetches a cycle.
const condenseAtOnce = 1024

// Condense reduces the budgeted cycles of a site that have ended, and are committed, to keep,
// the latest ones: the others become part of PastCycles, and their refetches and newcomers are
// dropped. First visits, full recrawls and open cycles stay. It waits until a quarter more than
// keep are there, so that a cycle costs it five rows read on average, however many the site
// has had; most calls do nothing. After a call that does not get through with all of them the
// next one, in a later window, goes on.
func (db *DB) Condense(site SiteID, keep int) error {
	keep = max(keep, 0)
	db.mu.Lock()
	defer db.mu.Unlock()
	if _, ok := db.past[site]; ok {
		return nil // what is committed still has the cycles that this window drops
	}
	if n, known := db.ended[site]; known && n <= keep+keep/4 {
		return nil
	}
	past, err := db.View.PastCycles(site)
	if err != nil {
		return err
	}
	var cycles []*CycleRecord
	n := 0
	if err := db.scan(key(tableCycle, uint32(site)), cycleKey(site, past.resume), yieldCycles(func(c *CycleRecord) bool {
		cycles = append(cycles, c)
		if c.condensable() {
			n++
		}
		return n < keep+condenseAtOnce
	})); err != nil {
		return err
	}
	db.ended[site] = n
	if n <= keep+keep/4 {
		return nil
	}
	if n == keep+condenseAtOnce { // there may be more
		delete(db.ended, site)
	} else {
		db.ended[site] = keep
	}
	return db.condense(site, past, cycles, n-keep)
}

// condense folds the first n of the cycles that can be into past.
func (db *DB) condense(site SiteID, past *PastCycles, cycles []*CycleRecord, n int) error {
	w := db.window()
	from := max(past.resume, 1) // the record of cycle 0 is large, and stays
	var open Cycle
	var gone []Cycle
	for _, c := range cycles {
		if len(gone) == n {
			break
		}
		if !c.condensable() {
			if open == 0 && c.Kind == Revisit {
				open = c.Cycle
			}
			continue
		}
		gone = append(gone, c.Cycle)
		past.add(c)
		past.resume = c.Cycle + 1
		if err := errors.Join(
			w.Delete(cycleKey(site, c.Cycle), nil),
			w.Delete(cycleIndexKey(c.Cycle, site), nil),
		); err != nil {
			return err
		}
	}
	if err := errors.Join(db.dropRows(tableRefetch, site, gone), db.dropRows(tableNew, site, gone)); err != nil {
		return err
	}
	if err := db.pack(site, from, past.resume); err != nil {
		return err
	}
	if open != 0 && open < past.resume {
		past.resume = open
	}
	db.past[site] = past
	return w.Set(key(tablePast, uint32(site)), pastFields.Encode(past), nil)
}

// dropRows deletes the rows of some cycles of a site, one by one. A deletion of a range would
// be one write, but the database sorts those that it has in memory anew for each look at it
// after a commit: condensing 10,000 sites by six cycles each, with a commit a site, took 171 s
// of processor time by ranges and takes 1.3 s by rows.
func (db *DB) dropRows(table byte, site SiteID, cycles []Cycle) error {
	prefix := key(table, uint32(site))
	return db.iterate(prefix, after(prefix), func(it *pebble.Iterator) error {
		for _, c := range cycles {
			prefix := key(table, uint32(site), uint32(c))
			for ok := it.SeekGE(prefix); ok && bytes.HasPrefix(it.Key(), prefix); ok = it.Next() {
				if err := db.window().Delete(it.Key(), nil); err != nil {
					return err
				}
			}
			if err := it.Error(); err != nil {
				return readError(err)
			}
		}
		return nil
	})
}

// Records are added to a row until it has packRecords of them, or packBytes; those inserted
// later come on top. A record that is larger than that by itself stays where it is.
const (
	packRecords = 256
	packBytes   = 64 << 10
)

// A packed is one record in a row of several.
type packed struct {
	cycle  Cycle
	record []byte
}

func encodePack(list []packed) []byte {
	var b []byte
	last := Cycle(0)
	for _, r := range list {
		b = binary.AppendUvarint(b, uint64(r.cycle-last))
		b = binary.AppendUvarint(b, uint64(len(r.record)))
		b = append(b, r.record...)
		last = r.cycle
	}
	return b
}

// decodePack reads a row of records. They share the memory of b.
func decodePack(b []byte) ([]packed, error) {
	var list []packed
	last := uint64(0)
	for len(b) > 0 {
		d, n := binary.Uvarint(b)
		if n <= 0 || d == 0 && len(list) > 0 || d > 1<<32-1-last {
			return nil, fmt.Errorf("row of records: %w: broken cycle", record.ErrCorrupt)
		}
		last += d
		b = b[n:]
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, fmt.Errorf("row of records: %w: broken length", record.ErrCorrupt)
		}
		list = append(list, packed{Cycle(last), b[n : n+int(size) : n+int(size)]})
		b = b[n+int(size):]
	}
	return list, nil
}

// pack moves the records of a site's cycles from ≤ c < to into rows of several. db.mu is held.
func (db *DB) pack(site SiteID, from, to Cycle) error {
	p := packer{db: db, site: site}
	err := db.scan(key(tableRecord, uint32(site)), key(tableRecord, uint32(site), uint32(from)), func(k, val []byte) error {
		n, err := numbers(k, 2)
		if err != nil {
			return err
		}
		c := Cycle(n[1])
		if c >= to {
			return errStop
		}
		if len(val) > packBytes {
			return nil
		}
		return errors.Join(p.add(c, slices.Clone(val)), db.window().Delete(slices.Clone(k), nil))
	})
	return errors.Join(err, p.flush())
}

// A packer adds records to the rows of a site, one row at a time.
type packer struct {
	db   *DB
	site SiteID
	row  []packed // in work; empty: none is
	size int
	next Cycle // the first cycle of the row after it; 0: there is none
}

func (p *packer) add(c Cycle, record []byte) error {
	if len(p.row) == 0 || c < p.row[0].cycle || p.next != 0 && c >= p.next {
		if err := errors.Join(p.flush(), p.load(c)); err != nil {
			return err
		}
	}
	if last := len(p.row) - 1; last >= 0 && c > p.row[last].cycle && (len(p.row) >= packRecords || p.size+len(record) > packBytes) {
		if err := p.flush(); err != nil {
			return err
		}
	}
	i, found := slices.BinarySearchFunc(p.row, c, func(r packed, c Cycle) int { return int(int64(r.cycle) - int64(c)) })
	if found {
		p.row = slices.Delete(p.row, i, i+1)
	}
	p.row = slices.Insert(p.row, i, packed{c, record})
	p.size += len(record)
	return nil
}

// load takes the row into work in which a record of cycle c belongs, none if it is before all.
func (p *packer) load(c Cycle) error {
	prefix := key(tableRecords, uint32(p.site))
	return p.db.iterate(prefix, after(prefix), func(it *pebble.Iterator) error {
		p.next = 0
		if it.SeekGE(key(tableRecords, uint32(p.site), uint32(c)+1)) {
			n, err := numbers(it.Key(), 2)
			if err != nil {
				return err
			}
			p.next = Cycle(n[1])
		} else if err := it.Error(); err != nil { // the next move forgets it
			return readError(err)
		}
		if !it.SeekLT(key(tableRecords, uint32(p.site), uint32(c)+1)) {
			return readError(it.Error())
		}
		val, err := it.ValueAndErr()
		if err != nil {
			return readError(err)
		}
		p.row, err = decodePack(slices.Clone(val))
		for _, r := range p.row {
			p.size += len(r.record)
		}
		return err
	})
}

// flush writes the row in work. Its key stays: only what follows its first cycle is added.
func (p *packer) flush() error {
	if len(p.row) == 0 {
		return nil
	}
	k := key(tableRecords, uint32(p.site), uint32(p.row[0].cycle))
	val := encodePack(p.row)
	p.row, p.size = nil, 0
	return p.db.window().Set(k, val, nil)
}

// PutRecord stores what a site's revisit policy was told in cycle c; cycle 0 stands for the
// state that its first revisit started from. The bytes are those of package revisit.
func (db *DB) PutRecord(site SiteID, c Cycle, record []byte) error {
	return db.set(key(tableRecord, uint32(site), uint32(c)), record)
}

// statePiece is how many bytes of a state stand in one row: that of a site of a million documents has
// some thirty million, which nobody has to hold at once.
const statePiece = 64 << 10

// PutState stores what a site's revisit policy knew after cycle c, in place of what was stored
// before: for that policy it stands for the records of all cycles up to c, which stay for others.
// The bytes are those of package revisit.
func (db *DB) PutState(site SiteID, c Cycle, state []byte) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	w := db.window()
	prefix := key(tableState, uint32(site))
	if err := db.scan(prefix, append(prefix, 0), func(k, _ []byte) error { return w.Delete(k, nil) }); err != nil {
		return err
	}
	n := min(len(state), statePiece)
	err := w.Set(prefix, append(binary.AppendUvarint(make([]byte, 0, 8+n), uint64(c)), state[:n]...), nil)
	i := uint32(1)
	for ; err == nil && n < len(state); i++ {
		state = state[n:]
		n = min(len(state), statePiece)
		err = w.Set(key(tableState, uint32(site), i), state[:n], nil)
	}
	return errors.Join(err, w.Delete(key(tableState, uint32(site), i), nil)) // a longer one of this window ends here
}

// State returns after which cycle PutState stored what a site's policy knew, and that in pieces, each of
// which is valid until the next one; nil: there is nothing that can be read. What cannot be read ends
// the pieces. Whether c and they are right is for the reader of the state to find out.
func (v *View) State(site SiteID) (c Cycle, pieces iter.Seq[[]byte], err error) {
	prefix := key(tableState, uint32(site))
	err = v.scan(prefix, nil, func(k, val []byte) error {
		if through, n := binary.Uvarint(val); n > 0 && len(k) == len(prefix) {
			c, pieces = Cycle(through), func(yield func([]byte) bool) { v.statePieces(prefix, yield) }
		}
		return errStop
	})
	return c, pieces, err
}

func (v *View) statePieces(prefix []byte, yield func([]byte) bool) {
	next := uint32(0) // the number of the row
	_ = v.scan(prefix, nil, func(k, val []byte) error {
		if next == 0 {
			_, n := binary.Uvarint(val)
			val = val[max(0, n):]
		} else if !bytes.Equal(k[len(prefix):], uint32Bytes(next)) {
			return errStop
		}
		next++
		return stopped(yield(val))
	})
}

// Records calls yield for what PutRecord stored of a site, from a cycle on, the first cycle first,
// until it returns false. Condensing changes nothing of it. O(what it yields, and packBytes).
func (v *View) Records(site SiteID, from Cycle, yield func(Cycle, []byte) bool) error {
	// The rows of one cycle are opened first: where a record is moved meanwhile, it is seen
	// twice, and told once, but never missed.
	return v.iterate(key(tableRecord, uint32(site), uint32(from)), after(key(tableRecord, uint32(site))), func(it *pebble.Iterator) error {
		return v.records(site, from, it, yield)
	})
}

// records is Records with an iterator of the rows of one cycle.
func (v *View) records(site SiteID, from Cycle, it *pebble.Iterator, yield func(Cycle, []byte) bool) error {
	it.First()
	// single yields the rows of one cycle before c, and the one of c, which told reports.
	single := func(c Cycle, all bool) (told bool, err error) {
		for ; it.Valid(); it.Next() {
			n, err := numbers(it.Key(), 2)
			if err != nil {
				return false, err
			}
			if at := Cycle(n[1]); !all && at > c {
				return false, nil
			} else if val, err := it.ValueAndErr(); err != nil {
				return false, readError(err)
			} else if !yield(at, slices.Clone(val)) {
				return false, errStop
			} else if !all && at == c {
				it.Next()
				return true, nil
			}
		}
		return false, readError(it.Error())
	}
	row := key(tableRecords, uint32(site)) // that may hold cycle from: the last that begins up to it
	if err := v.iterate(row, after(row), func(it *pebble.Iterator) error {
		if it.SeekLT(key(tableRecords, uint32(site), uint32(from)+1)) {
			row = slices.Clone(it.Key())
		}
		return readError(it.Error())
	}); err != nil {
		return err
	}
	stop := false
	err := v.scan(key(tableRecords, uint32(site)), row, func(k, val []byte) error {
		row, err := decodePack(slices.Clone(val))
		if err != nil {
			return fmt.Errorf("site %d: %w", site, err)
		}
		for _, r := range row {
			told, err := single(r.cycle, false)
			if err == nil && !told && r.cycle >= from && !yield(r.cycle, r.record) {
				err = errStop
			}
			if err != nil {
				stop = true
				return err
			}
		}
		return nil
	})
	if err != nil || stop {
		return err
	}
	if _, err = single(0, true); err == errStop {
		err = nil
	}
	return err
}
