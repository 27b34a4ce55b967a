package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"forage/graph"
	"forage/store/record"
)

// Requisites are what pages need to look right: images, style sheets, scripts, fonts, of whatever host. They are no documents, and have no
// numbers. Of each that was ever wanted the store keeps 13 bytes, so that none is fetched twice whatever became of it, and of each
// that waits what is needed to fetch it, by site and host, in the order of the pages that want them.

// A Requisite is one that waits to be fetched. Its site, host, page and URL are its key.
type Requisite struct {
	URL   string     // normalised
	Page  graph.Node // that wanted it first
	Sheet bool       // it is wanted as a style sheet, which may need more
	Steps string     // that lead from the page to it: E for each that names the next, R for each redirect; never empty
	Tries int        // cycles in which its host could not be asked
}

var requisiteFields = record.New(
	record.Text(1, func(r *Requisite) *string { return &r.URL }),
	record.Bool(2, func(r *Requisite) *bool { return &r.Sheet }),
	record.Text(3, func(r *Requisite) *string { return &r.Steps }),
	record.Uint(4, func(r *Requisite) *int { return &r.Tries }),
)

// A RequisiteHash stands for the URL of a requisite. Two of a billion have the same with a probability of 10^-11.
type RequisiteHash [12]byte

// Hash is that of the URL.
func (r *Requisite) Hash() (h RequisiteHash) {
	sum := sha256.Sum256([]byte(r.URL))
	copy(h[:], sum[:])
	return h
}

func knownKey(h RequisiteHash) []byte { return append([]byte{tableKnown}, h[:]...) }

// requisitesOf begins the keys of those that wait at a host; "": at all.
func requisitesOf(site SiteID, host string) []byte {
	k := key(tableRequisite, uint32(site))
	if host != "" {
		k = append(append(k, host...), 0)
	}
	return k
}

func requisiteKey(site SiteID, r *Requisite) []byte {
	h := r.Hash()
	return append(binary.BigEndian.AppendUint32(requisitesOf(site, HostOf(r.URL)), uint32(r.Page)), h[:]...)
}

// requisiteTail is how many bytes of a key follow its host.
const requisiteTail = 1 + 4 + len(RequisiteHash{})

func parseRequisite(k, val []byte) (site SiteID, host string, r *Requisite, err error) {
	corrupt := func(err error) (SiteID, string, *Requisite, error) {
		return 0, "", nil, fmt.Errorf("requisite %x: %w", k, err)
	}
	at := len(k) - requisiteTail
	if at < 6 || k[at] != 0 {
		return corrupt(record.ErrCorrupt)
	}
	r = &Requisite{Page: graph.Node(binary.BigEndian.Uint32(k[at+1:]))}
	if err := requisiteFields.Decode(val, r); err != nil {
		return corrupt(err)
	}
	site, host = SiteID(binary.BigEndian.Uint32(k[1:])), string(k[5:at])
	if r.Steps == "" || !bytes.Equal(k, requisiteKey(site, r)) {
		return corrupt(record.ErrCorrupt)
	}
	return site, host, r, nil
}

// mostWanted is how many requisites stay at hand from one window to the next that are known to have been wanted, some 40 bytes each:
// all pages of a site have the same style sheets.
const mostWanted = 1 << 15

// AddRequisite puts r in line at a site, unless it was ever wanted before, at whatever site: then added is false. O(log n), O(1) where
// it was wanted lately.
func (db *DB) AddRequisite(site SiteID, r *Requisite) (added bool, err error) {
	if HostOf(r.URL) == "" || r.Steps == "" {
		return false, fmt.Errorf("add requisite %q: want an absolute URL, and steps to it", r.URL)
	}
	h := r.Hash()
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.wanted[h] {
		return false, nil
	}
	_, err = db.get(knownKey(h))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	if db.wanted == nil {
		db.wanted = map[RequisiteHash]bool{}
	}
	db.wanted[h] = true
	if err == nil {
		return false, nil
	}
	return true, errors.Join(db.window().Set(knownKey(h), nil, nil), db.putRequisite(site, r))
}

func (db *DB) putRequisite(site SiteID, r *Requisite) error {
	return db.window().Set(requisiteKey(site, r), requisiteFields.Encode(r), nil)
}

// PutRequisite writes one that waits.
func (db *DB) PutRequisite(site SiteID, r *Requisite) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.putRequisite(site, r)
}

// DropRequisite takes one out of the line: it has been fetched, or never will be.
func (db *DB) DropRequisite(site SiteID, r *Requisite) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.window().Delete(requisiteKey(site, r), nil)
}

// Requisites calls yield for those that wait at a host, in their order, until it returns false: for those after one, nil for all.
func (v *View) Requisites(site SiteID, host string, after *Requisite, yield func(*Requisite) bool) error {
	var from []byte
	if after != nil {
		from = append(requisiteKey(site, after), 0)
	}
	return v.scan(requisitesOf(site, host), from, func(k, val []byte) error {
		_, _, r, err := parseRequisite(k, val)
		if err != nil {
			return err
		}
		return stopped(yield(r))
	})
}

// RequisiteHosts calls yield for each host at which requisites of a site wait, with their number, until it returns false. O(requisites).
func (v *View) RequisiteHosts(site SiteID, yield func(host string, n int) bool) error {
	host, n := "", 0
	err := v.scan(requisitesOf(site, ""), nil, func(k, _ []byte) error {
		at := len(k) - requisiteTail
		if at < 6 {
			return fmt.Errorf("requisite %x: %w", k, record.ErrCorrupt)
		}
		if string(k[5:at]) != host {
			if n > 0 && !yield(host, n) {
				n = 0
				return errStop
			}
			host, n = string(k[5:at]), 0
		}
		n++
		return nil
	})
	if err == nil && n > 0 {
		yield(host, n)
	}
	return err
}

// requisites checks the tables of what pages need.
func (c *checker) requisites() error {
	return errors.Join(
		c.v.scan([]byte{tableRequisite}, nil, func(k, val []byte) error {
			if site, _, _, err := parseRequisite(k, val); err != nil {
				c.problem(drop(k), "%v", err)
			} else if c.sites[site] == nil {
				c.problem(drop(k), "requisite %x: site %d is not there", k, site)
			}
			return nil
		}),
		c.v.scan([]byte{tableKnown}, nil, func(k, val []byte) error {
			if len(k) != 1+len(RequisiteHash{}) || len(val) != 0 {
				c.problem(drop(k), "known requisite %x: %x", k, val)
			}
			return nil
		}),
	)
}
