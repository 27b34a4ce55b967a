package store

import (
	"errors"
	"fmt"
	"forage/store/record"
)

// A Host is what is remembered of a host between runs: how its robots.txt answered, and until
// when it must be left alone.
type Host struct {
	Origin        string // as the crawl names it
	LastRequest   int64  // when a request was last sent, milliseconds since the epoch
	NotBefore     int64  // milliseconds since the epoch: Retry-After, backoff
	Failures      int    // in a row
	RobotsAt      Time   // when robots.txt was fetched; 0: never
	RobotsStatus  int    // HTTP status; 0: unreachable
	RobotsProblem string // why everything is disallowed although nothing says so
}

// Tag 6 was a body of robots.txt, which no release wrote.
var hostFields = record.New(
	record.Int(1, func(h *Host) *int64 { return &h.LastRequest }),
	record.Int(2, func(h *Host) *int64 { return &h.NotBefore }),
	record.Uint(3, func(h *Host) *int { return &h.Failures }),
	record.Int(4, func(h *Host) *Time { return &h.RobotsAt }),
	record.Uint(5, func(h *Host) *int { return &h.RobotsStatus }),
	record.Text(7, func(h *Host) *string { return &h.RobotsProblem }),
)

func decodeHost(origin string, b []byte) (*Host, error) {
	h := &Host{Origin: origin}
	err := hostFields.Decode(b, h)
	return h, err
}

// PutHost writes what is to be remembered of a host.
func (db *DB) PutHost(h *Host) error { return db.set(hostKey(h.Origin), hostFields.Encode(h)) }

// Host returns what is remembered of a host, the zero Host where nothing is.
func (v *View) Host(origin string) (*Host, error) {
	b, err := v.get(hostKey(origin))
	if errors.Is(err, ErrNotFound) {
		return &Host{Origin: origin}, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeHost(origin, b)
}

// Hosts calls yield for what is remembered of each host after a name, by name, until it returns false.
func (v *View) Hosts(after string, yield func(*Host) bool) error {
	return v.scan([]byte{tableHost}, append(hostKey(after), 0), func(k, val []byte) error {
		h, err := decodeHost(string(k[1:]), val)
		if err != nil {
			return err
		}
		return stopped(yield(h))
	})
}

// A Robots is the robots.txt of an origin, kept so that it need not be fetched in each cycle.
type Robots struct {
	Origin    string // scheme://host:port, without the port where it is that of the scheme
	FetchedAt Time
	Expires   Time   // when it should be fetched again
	Status    int    // HTTP status; 0: unreachable
	Body      []byte // as received
}

var robotsFields = record.New(
	record.Int(1, func(r *Robots) *Time { return &r.FetchedAt }),
	record.Int(2, func(r *Robots) *Time { return &r.Expires }),
	record.Uint(3, func(r *Robots) *int { return &r.Status }),
	record.Bytes(4, func(r *Robots) *[]byte { return &r.Body }),
)

func decodeRobots(origin string, b []byte) (*Robots, error) {
	r := &Robots{Origin: origin}
	if err := robotsFields.Decode(b, r); err != nil {
		return nil, fmt.Errorf("robots.txt of %s: %w", origin, err)
	}
	return r, nil
}

// PutRobots keeps the robots.txt of an origin in place of the one that is there.
func (db *DB) PutRobots(r *Robots) error { return db.set(robotsKey(r.Origin), robotsFields.Encode(r)) }

// Robots returns the robots.txt that is kept of an origin, or ErrNotFound.
func (v *View) Robots(origin string) (*Robots, error) {
	b, err := v.get(robotsKey(origin))
	if err != nil {
		return nil, err
	}
	return decodeRobots(origin, b)
}
