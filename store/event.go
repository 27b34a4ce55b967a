package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"forage/graph"
	"forage/store/record"
)

// Events tell what came to be true, numbered from 1 without gaps. Those of pages follow from their
// documents, as queue and counters do: Commit compares each document that was written in the window with
// what it was before, and writes what that tells in the same batch. So there is no event of something that
// is not in the store, none is lost, and what is taken back within a window is never told. Those of
// sites are given by hand, see PutEvent.
//
// A page is told as new once: table tableTold remembers by which event.

// An EventType tells what an event is of.
type EventType string

// The types of events.
const (
	PageNew      EventType = "page.new"      // certainly new since the first visit of its site, and the copy of no other
	PageChanged  EventType = "page.changed"  // another body than at the fetch before
	PageGone     EventType = "page.gone"     // see novelty.Gone
	PageMoved    EventType = "page.moved"    // found to be MovedFrom at a new URL
	SiteAdopted  EventType = "site.adopted"  // it is a site from now on, as FoundOn links to URL, from where its first visit starts
	SiteReady    EventType = "site.ready"    // its first visit has ended: what comes from now on is new
	SiteTrouble  EventType = "site.trouble"  // it cannot be fetched, or blocks us: Reason tells
	SiteFine     EventType = "site.fine"     // that is over
	WatchPaused  EventType = "watch.paused"  // nothing is fetched: Reason tells
	WatchResumed EventType = "watch.resumed" // that is over
	EventLost    EventType = "event.lost"    // what stood here was damaged, and is not known
)

// EventTypes are all types, in the order in which they are told of.
var EventTypes = []EventType{PageNew, PageChanged, PageGone, PageMoved, SiteAdopted, SiteReady, SiteTrouble, SiteFine, WatchPaused, WatchResumed, EventLost}

// An Event is something that came to be true, as it was known then: it stays as it is, whatever becomes
// of the page. The zero value of a field means not known, or that there is none.
type Event struct {
	Seq   uint64 // its number, from 1
	Type  EventType
	At    Time // by the crawl's clock
	Site  string
	Cycle Cycle

	// Of a page, nothing for events of sites, but for URL and FoundOn of SiteAdopted:
	Doc          graph.Node // graph.None: of none
	URL          string     // as lists of pages have it: that of the canonical which Doc stands for
	Title        string
	Kind         string // see Doc.KindText
	FoundOn      string // the URL of the document that led there first
	Via          string // how, a LinkKind
	PreviousLook Time   // when that document, or the nearest before it that is older, was last seen without the link
	MovedFrom    string
	Published    Time
	LastMod      Time
	ContentType  string
	Digest       uint64
	Depth        int
	Use          string // see Doc.Use

	Reason string // for people
}

// ID is a name of the event that no other has, also among stores: it depends on what the event says,
// not on when it is asked for.
func (e *Event) ID() string {
	h := xxhash.New()
	for _, s := range []string{string(e.Type), e.Site, e.URL} {
		h.WriteString(s)
		h.Write([]byte{0})
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(e.At)))
	return fmt.Sprintf("%d-%016x", e.Seq, h.Sum64())
}

var eventFields = record.New(
	record.Text(1, func(e *Event) *EventType { return &e.Type }),
	record.Int(2, func(e *Event) *Time { return &e.At }),
	record.Text(3, func(e *Event) *string { return &e.Site }),
	record.Uint(4, func(e *Event) *Cycle { return &e.Cycle }),
	record.Node(5, func(e *Event) *graph.Node { return &e.Doc }),
	record.Text(6, func(e *Event) *string { return &e.URL }),
	record.Text(7, func(e *Event) *string { return &e.Title }),
	record.Text(8, func(e *Event) *string { return &e.Kind }),
	record.Text(9, func(e *Event) *string { return &e.FoundOn }),
	record.Text(10, func(e *Event) *string { return &e.Via }),
	record.Int(11, func(e *Event) *Time { return &e.PreviousLook }),
	record.Text(12, func(e *Event) *string { return &e.MovedFrom }),
	record.Int(13, func(e *Event) *Time { return &e.Published }),
	record.Int(14, func(e *Event) *Time { return &e.LastMod }),
	record.Text(15, func(e *Event) *string { return &e.ContentType }),
	record.Uint(16, func(e *Event) *uint64 { return &e.Digest }),
	record.Uint(17, func(e *Event) *int { return &e.Depth }),
	record.Text(18, func(e *Event) *string { return &e.Reason }),
	record.Text(19, func(e *Event) *string { return &e.Use }),
)

func decodeEvent(seq uint64, b []byte) (*Event, error) {
	e := &Event{Doc: graph.None}
	if err := eventFields.Decode(b, e); err != nil {
		return nil, fmt.Errorf("event %d: %w", seq, err)
	}
	if e.Seq = seq; !slices.Contains(EventTypes, e.Type) {
		return nil, fmt.Errorf("event %d: %w: type %q", seq, record.ErrCorrupt, e.Type)
	}
	return e, nil
}

func eventKey(seq uint64) []byte { return binary.BigEndian.AppendUint64([]byte{tableEvent}, seq) }

// eventSeq reads the number off a key of the table.
func eventSeq(k []byte) (uint64, error) {
	if len(k) != 9 {
		return 0, fmt.Errorf("key %x: %w", k, record.ErrCorrupt)
	}
	return binary.BigEndian.Uint64(k[1:]), nil
}

// events are what a DB has of its events, under its mu.
type events struct {
	lastEvent uint64                  // the highest number given
	moved     map[graph.Node]movement // documents that have changed in this window
	given     []*Event                // by hand, in this window
}

// A movement is what a document was when the window began, and what it is.
type movement struct {
	before, now tally
	place       int // in the order in which they began
}

// A told is up to which number views may tell what is numbered: as far as it is on the disk, so that none is told that a
// kill takes back.
type told struct {
	last atomic.Uint64
	mu   sync.Mutex
	more chan struct{} // closed when there are more; nil: nobody waits
}

func (k *told) advance(last uint64) {
	for {
		have := k.last.Load()
		if last <= have {
			return
		}
		if k.last.CompareAndSwap(have, last) {
			break
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.more != nil {
		close(k.more)
		k.more = nil
	}
}

// wait returns a channel that is closed when there are more.
func (k *told) wait() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.more == nil {
		k.more = make(chan struct{})
	}
	return k.more
}

// MoreEvents returns a channel that is closed when there are events after those that there are now.
func (db *DB) MoreEvents() <-chan struct{} { return db.known.wait() }

// LastEvent returns the number of the last event that views tell, 0 where there is none. It reads nothing.
func (db *DB) LastEvent() uint64 { return db.known.last.Load() }

// telling reports whether a document that was before, and is now, is to be told of.
func (now *tally) telling(before *tally) bool {
	return now.distinct && (now.isNew && !before.isNew || now.moved != before.moved && now.moved != 0 ||
		before.distinct && (now.gone && !before.gone || now.changed != before.changed))
}

// note remembers what a document was when the window began, and what it is now.
func (db *DB) note(id graph.Node, before, now *tally) {
	m, noted := db.moved[id]
	if !noted {
		if now.distinct == before.distinct && now.isNew == before.isNew && now.moved == before.moved && now.gone == before.gone && now.changed == before.changed {
			return
		}
		m = movement{before: *before, place: len(db.moved)}
	}
	m.now = *now
	db.moved[id] = m
}

// PutEvent gives e the next number when the window is committed. Only sites are told of in this way.
func (db *DB) PutEvent(e *Event) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.window()
	db.given = append(db.given, e)
}

// tell writes the events of the window. Where one of them cannot be made, it writes none, and the window is not
// committed: what is in the store without having been told of would never be. db.mu is held.
func (db *DB) tell() error {
	if len(db.moved) == 0 && len(db.given) == 0 {
		return nil
	}
	var ids []graph.Node
	for id, m := range db.moved {
		if m.now.kind == Page && m.now.telling(&m.before) { // else it has been taken back within the window
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b graph.Node) int { return cmp.Compare(db.moved[a].place, db.moved[b].place) })
	var told []*Event
	sites := map[SiteID]*Site{}
	for _, id := range ids {
		d, err := decodeDoc(id, db.docs[id])
		if err != nil {
			return err
		}
		s := sites[d.Site]
		if s == nil {
			if s, err = db.siteNow(d.Site); err != nil {
				return fmt.Errorf("site %d of document %d: %w", d.Site, d.ID, err)
			}
			sites[d.Site] = s
		}
		e, err := db.eventOf(s, d, db.moved[id])
		if err != nil {
			return err
		}
		if e != nil {
			told = append(told, e)
		}
	}
	for _, e := range db.given {
		e.Doc = graph.None
		told = append(told, e)
	}
	clear(db.moved)
	db.given = nil
	if len(told) == 0 {
		return nil
	}
	w := db.window()
	for _, e := range told {
		db.lastEvent++
		e.Seq = db.lastEvent
		if err := w.Set(eventKey(e.Seq), eventFields.Encode(e), nil); err != nil {
			return err
		}
		if e.Type != PageNew {
			continue
		}
		if err := w.Set(key(tableTold, uint32(e.Doc)), binary.BigEndian.AppendUint64(nil, e.Seq), nil); err != nil {
			return err
		}
	}
	return w.Set(metaKey("events"), binary.BigEndian.AppendUint64(nil, db.lastEvent), nil)
}

// eventOf returns what is to be told of a document that was before and is now; nil: nothing.
func (db *DB) eventOf(s *Site, d *Doc, m movement) (*Event, error) {
	before, now := &m.before, &m.now
	if now.isNew && !before.isNew {
		_, err := db.get(key(tableTold, uint32(d.ID)))
		if err == nil { // it was new, was taken for something else, and is new again
			return nil, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		return db.docEvent(s, d, PageNew, d.FirstSeen, d.Cycle)
	}
	if now.moved != before.moved && now.moved != 0 {
		return db.docEvent(s, d, PageMoved, d.Moved, d.MovedIn)
	}
	if d.FetchedIn <= s.FirstCycle { // nothing is news in a first visit
		return nil, nil
	}
	if now.gone {
		if before.gone {
			return nil, nil
		}
		return db.docEvent(s, d, PageGone, d.Gone, d.GoneIn)
	}
	return db.docEvent(s, d, PageChanged, d.Changed, d.FetchedIn)
}

// docEvent returns an event of a document.
func (db *DB) docEvent(s *Site, d *Doc, t EventType, at Time, c Cycle) (*Event, error) {
	e := &Event{
		Type: t, At: at, Site: s.Name, Cycle: c, Doc: d.ID, URL: d.URL, Title: d.Title, Kind: d.KindText(), Via: d.Via.String(),
		Published: d.Published, LastMod: d.LastMod, ContentType: d.ContentType, Digest: d.Digest, Depth: d.Depth, Use: d.Use,
	}
	var err error
	if d.Stands {
		if e.URL, err = db.urlNow(d.DuplicateOf); err != nil {
			return nil, err
		}
	}
	if d.FoundOn != graph.None {
		if e.FoundOn, err = db.urlNow(d.FoundOn); err != nil {
			return nil, err
		}
	}
	if t == PageMoved && d.MovedFrom != graph.None {
		if e.MovedFrom, err = db.urlNow(d.MovedFrom); err != nil {
			return nil, err
		}
	}
	if e.PreviousLook, err = db.previousLook(d); err != nil {
		return nil, err
	}
	return e, nil
}

// docNow returns a document, writes of this window included. db.mu is held.
func (db *DB) docNow(id graph.Node) (*Doc, error) {
	if b, ok := db.docs[id]; ok {
		return decodeDoc(id, b)
	}
	return db.View.Doc(id)
}

func (db *DB) urlNow(id graph.Node) (string, error) {
	d, err := db.docNow(id)
	if err != nil {
		return "", fmt.Errorf("document %d: %w", id, err)
	}
	return d.URL, nil
}

// siteNow is docNow for a site.
func (db *DB) siteNow(id SiteID) (*Site, error) {
	if b, ok := db.sites[id]; ok {
		return decodeSite(b)
	}
	return db.View.Site(id)
}

// maxHops is how far back the way to a page is followed, and maxLooks how many visits of a document on it are
// looked at: a page that waited while a list was fetched more often than that has no previous look.
const (
	maxHops  = 32
	maxLooks = 1 << 10
)

// previousLook is when the document that led to d was last read before it did. Where it was itself read for
// the first time then, the one that led there decides: d cannot be reached without it. 0: there is none.
func (db *DB) previousLook(d *Doc) (at Time, err error) {
	known := d.Discovered
	for range maxHops {
		if d.FoundOn == graph.None {
			return 0, nil
		}
		if d, err = db.docNow(d.FoundOn); err != nil {
			return 0, err
		}
		looks := 0
		if err = db.visitsBack(d, func(v Visit) bool {
			if v.At < known && (v.Status == 304 || v.Status/100 == 2) {
				at = v.At
			}
			looks++
			return at == 0 && looks < maxLooks
		}); err != nil || at != 0 || looks == maxLooks {
			return at, err
		}
		known = min(known, d.Discovered)
	}
	return 0, nil
}

// Events calls yield for each event after the number `after`, in order, until it returns false. Those that are not
// on the disk yet are left out.
func (v *View) Events(after uint64, yield func(*Event) bool) error {
	if after == ^uint64(0) {
		return nil
	}
	return v.scan([]byte{tableEvent}, eventKey(after+1), func(k, val []byte) error {
		seq, err := eventSeq(k)
		if err != nil {
			return err
		}
		if v.known != nil && seq > v.known.last.Load() {
			return errStop
		}
		e, err := decodeEvent(seq, val)
		if err != nil {
			return err
		}
		return stopped(yield(e))
	})
}

// EventsBack is Events for all that are kept, the latest one first. It reads no further than it yields.
func (v *View) EventsBack(yield func(*Event) bool) error {
	return v.scanBack([]byte{tableEvent}, nil, func(k, val []byte) error {
		seq, err := eventSeq(k)
		if err != nil {
			return err
		}
		if v.known != nil && seq > v.known.last.Load() {
			return nil
		}
		e, err := decodeEvent(seq, val)
		if err != nil {
			return err
		}
		return stopped(yield(e))
	})
}

// EventsKept returns the numbers of the first event that is kept and of the last one: 1 and 0 before the
// first. Those before were dropped, see DropEvents.
func (v *View) EventsKept() (first, last uint64, err error) {
	if last, err = v.lastEventNumber(); err != nil {
		return 0, 0, err
	}
	if v.known != nil {
		last = min(last, v.known.last.Load())
	}
	first = last + 1
	err = v.scan([]byte{tableEvent}, nil, func(k, _ []byte) (err error) {
		if first, err = eventSeq(k); err != nil {
			return err
		}
		return errStop
	})
	return min(first, last+1), last, err
}

// lastEventNumber returns the highest number that an event was given.
func (v *View) lastEventNumber() (uint64, error) { return v.metaNumber64("events") }

// metaNumber64 is metaNumber for numbers of 8 bytes.
func (v *View) metaNumber64(name string) (uint64, error) {
	b, err := v.get(metaKey(name))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err == nil && len(b) != 8 {
		err = fmt.Errorf("%w: number %q", record.ErrCorrupt, name)
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}

// DropEvents drops events from the first one on, up to one that is not from before a time, at most n of them.
// It returns how many. It goes by what is committed: call Commit before it is called again.
func (db *DB) DropEvents(before Time, n int) (dropped int, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	var failed error
	err = db.View.Events(0, func(e *Event) bool {
		if dropped == n || e.At >= before {
			return false
		}
		if failed = db.window().Delete(eventKey(e.Seq), nil); failed == nil {
			dropped++
		}
		return failed == nil
	})
	return dropped, errors.Join(err, failed)
}
