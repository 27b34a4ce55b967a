package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"forage/graph"
	"forage/store/record"
)

// Where several stores share a web, each with hosts of its own, a URL of another store's host that becomes known is
// written down for that store, in the commit that has its document: the outbox. Whoever carries it there reads it by a
// cursor, and has it dropped when it has arrived. So a kill loses none, and one may be carried twice.

// ReasonElsewhere is why a document is skipped whose host belongs to another store.
const ReasonElsewhere = "elsewhere"

// An Outgoing is a URL that another store may want to fetch.
type Outgoing struct {
	Seq      uint64 // its number, from 1
	URL      string // normalised
	From     string // URL of the document that led there
	Via      LinkKind
	At       Time // when it became known
	NoFollow bool // the link, or the document with it, says rel=nofollow
	Depth    int  // links from a seed, as far as the store knows

	// MaybeOld: nothing shows that the link is new, as where the document that has it was fetched for the first time. Nor does it show
	// then that what it leads to is new.
	MaybeOld bool
}

var outgoingFields = record.New(
	record.Text(1, func(o *Outgoing) *string { return &o.URL }),
	record.Text(2, func(o *Outgoing) *string { return &o.From }),
	record.Uint(3, func(o *Outgoing) *LinkKind { return &o.Via }),
	record.Int(4, func(o *Outgoing) *Time { return &o.At }),
	record.Bool(5, func(o *Outgoing) *bool { return &o.NoFollow }),
	record.Uint(6, func(o *Outgoing) *int { return &o.Depth }),
	record.Bool(7, func(o *Outgoing) *bool { return &o.MaybeOld }),
)

func outgoingKey(seq uint64) []byte { return binary.BigEndian.AppendUint64([]byte{tableOutgoing}, seq) }

func decodeOutgoing(k, val []byte) (*Outgoing, error) {
	seq, err := eventSeq(k)
	if err != nil {
		return nil, err
	}
	o := &Outgoing{Seq: seq}
	if err := outgoingFields.Decode(val, o); err != nil {
		return nil, fmt.Errorf("outgoing %d: %w", seq, err)
	}
	if seq == 0 || seq == math.MaxUint64 || HostOf(o.URL) == "" || o.Via >= numLinkKinds {
		return nil, fmt.Errorf("outgoing %d: %w: %q, link kind %d", seq, record.ErrCorrupt, o.URL, o.Via)
	}
	return o, nil
}

// PutOutgoing writes o down under the next number, which it sets.
func (db *DB) PutOutgoing(o *Outgoing) error {
	if HostOf(o.URL) == "" {
		return fmt.Errorf("outgoing %q: want an absolute URL", o.URL)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.lastOutgoing++
	o.Seq = db.lastOutgoing
	w := db.window()
	return errors.Join(
		w.Set(outgoingKey(o.Seq), outgoingFields.Encode(o), nil),
		w.Set(metaKey("outgoing"), binary.BigEndian.AppendUint64(nil, o.Seq), nil),
	)
}

// Outgoing calls yield for each URL after the number `after` that waits to be carried to another store, in order, until it
// returns false. Those that are not on the disk yet are left out: their numbers may be given again after a power cut.
func (v *View) Outgoing(after uint64, yield func(*Outgoing) bool) error {
	if after == math.MaxUint64 {
		return nil
	}
	return v.scan([]byte{tableOutgoing}, outgoingKey(after+1), func(k, val []byte) error {
		o, err := decodeOutgoing(k, val)
		if err != nil {
			return err
		}
		if v.outgoing != nil && o.Seq > v.outgoing.last.Load() {
			return errStop
		}
		return stopped(yield(o))
	})
}

// DropOutgoing drops those up to a number: they have arrived. O(1).
func (db *DB) DropOutgoing(upTo uint64) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if upTo = min(upTo, db.outgoing.last.Load()); upTo == 0 {
		return nil
	}
	return db.window().DeleteRange([]byte{tableOutgoing}, outgoingKey(upTo+1), nil)
}

// MoreOutgoing returns a channel that is closed when there are outgoing URLs after those that there are now.
func (db *DB) MoreOutgoing() <-chan struct{} { return db.outgoing.wait() }

// LastOutgoing returns the number of the last outgoing URL that views tell, dropped or not; 0 where there was none. It reads nothing.
func (db *DB) LastOutgoing() uint64 { return db.outgoing.last.Load() }

// Travels reports whether d, whose host belongs to another store, is something that this one could want to fetch: a document
// that was linked to or listed, and nothing that is done when it is fetched.
func (d *Doc) Travels() bool {
	return d.State == Skipped && d.Reason == ReasonElsewhere && d.Via != ViaNone && !d.Action && d.FoundOn != graph.None
}

// outbox checks the outgoing URLs: numbered without gaps, up to the last number that was given. Where some are missing, nobody knows which:
// a repair writes down anew all documents that may have been among them, which arrive twice then.
func (c *checker) outbox() error {
	given, err := c.v.metaNumber64("outgoing")
	if err != nil && !errors.Is(err, record.ErrCorrupt) {
		return err
	}
	last, lost := uint64(0), false
	if err := c.v.scan([]byte{tableOutgoing}, nil, func(k, val []byte) error {
		o, err := decodeOutgoing(k, val)
		if err != nil {
			c.problem(drop(k), "%v", err)
			lost = true
			return nil
		}
		lost = lost || last != 0 && o.Seq != last+1
		last = o.Seq
		return nil
	}); err != nil {
		return err
	}
	switch highest := max(given, last); {
	case lost, last != 0 && last < given:
		c.problem(func(b *pebble.Batch) error { return c.sendAgain(b, highest) }, "outgoing URLs are missing")
	case err != nil || last > given:
		c.problem(set(metaKey("outgoing"), binary.BigEndian.AppendUint64(nil, highest)), "%d outgoing URLs are counted, but there is a number %d", given, last)
	}
	return nil
}

// sendAgain writes down all documents that another store may want, behind the last number that was given, in the place of what is there.
func (c *checker) sendAgain(b *pebble.Batch, last uint64) error {
	var failed error
	err := errors.Join(b.DeleteRange([]byte{tableOutgoing}, []byte{tableOutgoing + 1}, nil), c.v.Docs(func(d *Doc) bool {
		if !d.Travels() {
			return true
		}
		by, err := c.v.Doc(d.FoundOn)
		if err != nil {
			by = new(Doc) // it is being repaired, too
		}
		last++
		o := Outgoing{URL: d.URL, From: strings.Clone(by.URL), Via: d.Via, At: d.Discovered, NoFollow: d.NoFollow, Depth: d.Depth, MaybeOld: true}
		failed = b.Set(outgoingKey(last), outgoingFields.Encode(&o), nil)
		return failed == nil
	}))
	return cmp.Or(err, failed, b.Set(metaKey("outgoing"), binary.BigEndian.AppendUint64(nil, last), nil))
}
