package store

import (
	"fmt"

	"forage/store/record"
)

// An Adoption tells why a site is one although nobody named it: see package adopt.
type Adoption struct {
	At      Time   `json:"at"`
	From    string `json:"from"`    // a page that links to it
	Domains int    `json:"domains"` // registered domains of sites that linked to it then, not its own
	Links   int    `json:"links"`   // from pages of these
}

// A Refusal tells why a site was not adopted that would have been.
type Refusal struct {
	Host string // with its port, unless it is the scheme's own
	At   Time
	From string // a page that links to it
	Why  string // for people

	Until Time // when it may be asked again
}

var refusalFields = record.New(
	record.Int(1, func(r *Refusal) *Time { return &r.At }),
	record.Text(2, func(r *Refusal) *string { return &r.From }),
	record.Text(3, func(r *Refusal) *string { return &r.Why }),
	record.Int(4, func(r *Refusal) *Time { return &r.Until }),
)

func refusalKey(host string) []byte { return append([]byte{tableRefusal}, host...) }

func decodeRefusal(host string, b []byte) (*Refusal, error) {
	r := &Refusal{Host: host}
	if err := refusalFields.Decode(b, r); err != nil {
		return nil, fmt.Errorf("refusal of %s: %w", host, err)
	}
	return r, nil
}

// PutRefusal notes that a site was not adopted, in place of what was noted of it before.
func (db *DB) PutRefusal(r *Refusal) error {
	return db.set(refusalKey(r.Host), refusalFields.Encode(r))
}

// DropRefusal forgets that a site was not adopted, if it was not: it is one now.
func (db *DB) DropRefusal(host string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.window().Delete(refusalKey(host), nil)
}

// Refusal returns why a site was not adopted, or ErrNotFound.
func (v *View) Refusal(host string) (*Refusal, error) {
	b, err := v.get(refusalKey(host))
	if err != nil {
		return nil, err
	}
	return decodeRefusal(host, b)
}

// Refusals calls yield for each site that was not adopted, by host, until it returns false.
func (v *View) Refusals(yield func(*Refusal) bool) error {
	return v.scan([]byte{tableRefusal}, nil, func(k, val []byte) error {
		r, err := decodeRefusal(string(k[1:]), val)
		if err != nil {
			return err
		}
		return stopped(yield(r))
	})
}

// Adopted returns the sites that were adopted, in the order of their numbers.
func (v *View) Adopted() ([]*Site, error) {
	var all []*Site
	err := v.SitesFrom(0, func(s *Site) bool {
		if s.Adopted != nil {
			all = append(all, s)
		}
		return true
	})
	return all, err
}

// FirstVisits returns what the first visit of a site came to, over all of its cycles: answers to requests for documents, and pages, duplicates left out.
func (v *View) FirstVisits(site SiteID) (fetched, pages int64, err error) {
	err = v.SiteCycles(site, func(c *CycleRecord) bool {
		if c.Kind == FirstVisit {
			fetched, pages = fetched+c.Fetched, pages+c.Pages-c.Copies
		}
		return true
	})
	return fetched, pages, err
}
