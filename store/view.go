package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"forage/graph"
	"forage/store/record"
)

// A View reads a store: what is committed, or, from Snapshot, what was committed then. It
// may be used by several goroutines, also while the DB is written to.
type View struct {
	r       pebble.Reader
	close   func() error
	decoded *atomic.Int64                             // documents, by the DB and all its views
	gate    *gate                                     // of snapshots; nil: always open
	files   func(g *gate, report func(Problem)) error // verifies the files

	known, outgoing *told // events and outgoing URLs that may be told; nil: all that there are
}

// Close frees a snapshot.
func (v *View) Close() error {
	if v.close == nil {
		return nil
	}
	return v.close()
}

// get returns a copy of the value of k, or ErrNotFound.
func (v *View) get(k []byte) ([]byte, error) {
	if err := v.gate.enter(); err != nil {
		return nil, err
	}
	defer v.gate.leave()
	b, closer, err := v.r.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, readError(err)
	}
	b = append([]byte(nil), b...)
	return b, closer.Close()
}

// scan calls yield for each key with the prefix, from the key `from` on (nil: the first), in
// order, until it returns an error. errStop ends the scan without one. Key and value are
// valid during the call only.
func (v *View) scan(prefix, from []byte, yield func(k, val []byte) error) error {
	if from == nil {
		from = prefix
	}
	return v.iterate(from, after(prefix), func(it *pebble.Iterator) error {
		return v.walk(it, it.First(), it.Next, yield)
	})
}

// scanBack is scan from the last key with the prefix to the first, of those below the key `below`; nil: from the last.
func (v *View) scanBack(prefix, below []byte, yield func(k, val []byte) error) error {
	if below == nil {
		below = after(prefix)
	}
	return v.iterate(prefix, below, func(it *pebble.Iterator) error {
		return v.walk(it, it.Last(), it.Prev, yield)
	})
}

// walk calls yield for the key that it stands at, if ok, and for those that step leads to.
func (v *View) walk(it *pebble.Iterator, ok bool, step func() bool, yield func(k, val []byte) error) error {
	for ; ok; ok = step() {
		if err := v.gate.step(); err != nil {
			return err
		}
		val, err := it.ValueAndErr()
		if err != nil {
			return readError(err)
		}
		if err := yield(it.Key(), val); err == errStop {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

var errStop = errors.New("stop")

// stopped lets a caller of the package end a scan: an iteration function returns false.
func stopped(more bool) error {
	if more {
		return nil
	}
	return errStop
}

// Find returns the number of a normalised URL, ErrNotFound where the store has not met it.
func (v *View) Find(url string) (graph.Node, error) {
	b, err := v.get(urlKey(url))
	if err != nil {
		return graph.None, err
	}
	if len(b) != 4 {
		return graph.None, fmt.Errorf("url %s: %w", url, record.ErrCorrupt)
	}
	return graph.Node(binary.BigEndian.Uint32(b)), nil
}

// URLs calls yield for every URL with the prefix, in order, until it returns false.
func (v *View) URLs(prefix string, yield func(url string, id graph.Node) bool) error {
	return v.scan(urlKey(prefix), nil, func(k, val []byte) error {
		if len(val) != 4 {
			return fmt.Errorf("url %s: %w", k[1:], record.ErrCorrupt)
		}
		return stopped(yield(string(k[1:]), graph.Node(binary.BigEndian.Uint32(val))))
	})
}

func (v *View) decode(id graph.Node, b []byte) (*Doc, error) {
	v.decoded.Add(1)
	return decodeDoc(id, b)
}

// Doc returns what is known of a document, or ErrNotFound.
func (v *View) Doc(id graph.Node) (*Doc, error) {
	b, err := v.get(key(tableDoc, uint32(id)))
	if err != nil {
		return nil, err
	}
	return v.decode(id, b)
}

// Docs calls yield for every document in the order of their numbers until it returns false.
func (v *View) Docs(yield func(*Doc) bool) error { return v.SiteDocs(0, yield) }

// SiteDocs is Docs for the documents of one site (0: of all), as they are when it is called. yield may
// keep the documents, unlike that of Cursor.SiteDocs.
func (v *View) SiteDocs(site SiteID, yield func(*Doc) bool) error {
	return v.SiteDocsFrom(site, 0, yield)
}

// SiteDocsFrom is SiteDocs for the documents from a number on.
func (v *View) SiteDocsFrom(site SiteID, from graph.Node, yield func(*Doc) bool) error {
	c := v.Cursor()
	defer c.Close()
	return c.docs(site, from, docFields, func(d *Doc) bool {
		own := *d
		return yield(&own)
	})
}

// Links returns the current links of d in the order of the document, none where it was never
// answered with any.
func (v *View) Links(d *Doc) ([]Link, error) {
	if d.LinksOf == 0 {
		return nil, nil
	}
	return v.linksAt(d.ID, d.LinksOf)
}

// Kept returns what PutKept stored, ErrNotFound where that never happened.
func (v *View) Kept() ([]byte, error) { return v.get(metaKey("kept")) }

func (v *View) linksAt(id graph.Node, c Cycle) ([]Link, error) {
	b, err := v.get(key(tableLinks, uint32(id), ^uint32(c)))
	if err != nil {
		return nil, fmt.Errorf("links of document %d in cycle %d: %w", id, c, err)
	}
	return decodeLinks(b)
}

// LinkHistory calls yield for each version of a document's links, the latest first, with the
// cycle since which it holds.
func (v *View) LinkHistory(id graph.Node, yield func(Cycle, []Link) bool) error {
	return v.scan(key(tableLinks, uint32(id)), nil, func(k, val []byte) error {
		n, err := numbers(k, 2)
		if err != nil {
			return err
		}
		links, err := decodeLinks(val)
		if err != nil {
			return fmt.Errorf("document %d: %w", id, err)
		}
		return stopped(yield(Cycle(^n[1]), links))
	})
}

// Visits calls yield for each cycle that fetched the document, the first one first.
func (v *View) Visits(d *Doc, yield func(Visit) bool) error {
	return d.visits(func(yield func(Visit) bool) error {
		return v.scan(key(tableVisit, uint32(d.ID)), nil, func(k, val []byte) error {
			visit, err := parseVisit(k, val)
			if err != nil {
				return err
			}
			return stopped(yield(visit))
		})
	}, yield)
}

// VisitsBack is Visits with the latest one first. It reads no further than it yields.
func (v *View) VisitsBack(d *Doc, yield func(Visit) bool) error {
	if d.visited && d.visitedOnce() {
		yield(d.lastVisit)
		return nil
	}
	last, more := d.visited, true
	err := v.scanBack(key(tableVisit, uint32(d.ID)), nil, func(k, val []byte) error {
		visit, err := parseVisit(k, val)
		if err != nil {
			return err
		}
		if last && d.lastVisit.Cycle >= visit.Cycle {
			if last, more = false, yield(d.lastVisit); !more {
				return errStop
			}
		}
		if d.visited && d.lastVisit.Cycle == visit.Cycle {
			return nil // see Doc.visits
		}
		more = yield(visit)
		return stopped(more)
	})
	if err == nil && more && last {
		yield(d.lastVisit)
	}
	return err
}

func parseVisit(k, val []byte) (Visit, error) {
	n, err := numbers(k, 2)
	if err != nil {
		return Visit{}, err
	}
	return decodeVisit(Cycle(n[1]), val)
}

// Site returns a site, or ErrNotFound.
func (v *View) Site(id SiteID) (*Site, error) {
	b, err := v.get(key(tableSite, uint32(id)))
	if err != nil {
		return nil, err
	}
	return decodeSite(b)
}

// SiteNamed returns the site of a name, or ErrNotFound.
func (v *View) SiteNamed(name string) (*Site, error) {
	b, err := v.get(nameKey(name))
	if err != nil {
		return nil, err
	}
	if len(b) != 4 {
		return nil, fmt.Errorf("site %s: %w", name, record.ErrCorrupt)
	}
	return v.Site(SiteID(binary.BigEndian.Uint32(b)))
}

// Sites returns all sites in the order of their numbers.
func (v *View) Sites() ([]*Site, error) {
	var all []*Site
	err := v.SitesFrom(0, func(s *Site) bool { all = append(all, s); return true })
	return all, err
}

// SitesFrom calls yield for each site from number `from` on, in the order of their numbers,
// until it returns false.
func (v *View) SitesFrom(from SiteID, yield func(*Site) bool) error {
	return v.scan([]byte{tableSite}, key(tableSite, uint32(from)), func(k, val []byte) error {
		s, err := decodeSite(val)
		if err != nil {
			return err
		}
		return stopped(yield(s))
	})
}

// Counters returns the counts of a site.
func (v *View) Counters(site SiteID) (*Counters, error) {
	b, err := v.get(key(tableCounters, uint32(site)))
	if errors.Is(err, ErrNotFound) {
		return new(Counters), nil
	}
	if err != nil {
		return nil, err
	}
	return decodeCounters(b)
}

// Newcomers calls yield for each document of a site that first answered in cycle c, by
// number, until it returns false; cycles of kind FirstVisit have none.
func (v *View) Newcomers(site SiteID, c Cycle, yield func(graph.Node, Kind) bool) error {
	return v.scan(key(tableNew, uint32(site), uint32(c)), nil, yieldNewcomers(func(_ Cycle, id graph.Node, k Kind) bool { return yield(id, k) }))
}

// NewcomersFrom is Newcomers for cycle c and all after it, by cycle.
func (v *View) NewcomersFrom(site SiteID, c Cycle, yield func(Cycle, graph.Node, Kind) bool) error {
	return v.scan(key(tableNew, uint32(site)), key(tableNew, uint32(site), uint32(c)), yieldNewcomers(yield))
}

func yieldNewcomers(yield func(Cycle, graph.Node, Kind) bool) func(k, val []byte) error {
	return func(k, val []byte) error {
		n, err := numbers(k, 3)
		if err != nil {
			return err
		}
		if len(val) != 1 {
			return fmt.Errorf("key %x: %w", k, record.ErrCorrupt)
		}
		return stopped(yield(Cycle(n[1]), graph.Node(n[2]), Kind(val[0])))
	}
}

// Refetches calls yield for each old document of a site that was fetched in cycle c, by
// number, until it returns false.
func (v *View) Refetches(site SiteID, c Cycle, yield func(*Refetch) bool) error {
	return v.scan(key(tableRefetch, uint32(site), uint32(c)), nil, yieldRefetches(func(_ Cycle, r *Refetch) bool { return yield(r) }))
}

// RefetchesFrom is Refetches for cycle c and all after it, by cycle.
func (v *View) RefetchesFrom(site SiteID, c Cycle, yield func(Cycle, *Refetch) bool) error {
	return v.scan(key(tableRefetch, uint32(site)), key(tableRefetch, uint32(site), uint32(c)), yieldRefetches(yield))
}

func yieldRefetches(yield func(Cycle, *Refetch) bool) func(k, val []byte) error {
	return func(k, val []byte) error {
		n, err := numbers(k, 3)
		if err != nil {
			return err
		}
		r, err := decodeRefetch(graph.Node(n[2]), val)
		if err != nil {
			return err
		}
		return stopped(yield(Cycle(n[1]), r))
	}
}

// Refetch returns what fetching an old document in cycle c showed, or ErrNotFound.
func (v *View) Refetch(d *Doc, c Cycle) (*Refetch, error) {
	b, err := v.get(key(tableRefetch, uint32(d.Site), uint32(c), uint32(d.ID)))
	if err != nil {
		return nil, err
	}
	return decodeRefetch(d.ID, b)
}

// Queue calls yield for the queued documents of a site and host after the number `after`
// (graph.None: from the first), by number.
func (v *View) Queue(site SiteID, host string, after graph.Node, yield func(graph.Node) bool) error {
	prefix := append(queueHost(site, host), 0)
	var from []byte
	if after != graph.None {
		from = queueKey(site, host, after+1)
	}
	return v.scan(prefix, from, func(k, _ []byte) error {
		_, _, id, err := parseQueueKey(k)
		if err != nil {
			return err
		}
		return stopped(yield(id))
	})
}

// QueueHosts calls yield for each host of a site that has queued documents, in order, until
// it returns false. Time O(hosts · log of the queue).
func (v *View) QueueHosts(site SiteID, yield func(host string) bool) error {
	prefix := key(tableQueue, uint32(site))
	return v.iterate(prefix, after(prefix), func(it *pebble.Iterator) error {
		for ok := it.First(); ok; {
			if err := v.gate.step(); err != nil {
				return err
			}
			_, host, _, err := parseQueueKey(it.Key())
			if err != nil {
				return err
			}
			if !yield(host) {
				return nil
			}
			ok = it.SeekGE(append(queueHost(site, host), 1))
		}
		return it.Error()
	})
}

// sameBody returns the first page of a site with a body of this digest, or ErrNotFound.
func (v *View) sameBody(site SiteID, digest uint64) (graph.Node, error) {
	b, err := v.get(digestKey(site, digest))
	if err != nil {
		return graph.None, err
	}
	if len(b) != 4 {
		return graph.None, fmt.Errorf("digest %x: %w", digest, record.ErrCorrupt)
	}
	return graph.Node(binary.BigEndian.Uint32(b)), nil
}

// NumURLs returns how many URLs have a number: they are 0 … NumURLs-1.
func (v *View) NumURLs() (int, error) {
	n, err := v.metaNumber("next")
	return int(n), err
}

// metaNumber returns a number of the table of names, 0 where it is not there.
func (v *View) metaNumber(name string) (uint32, error) {
	b, err := v.get(metaKey(name))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err == nil && len(b) != 4 {
		err = fmt.Errorf("%w: number %q", record.ErrCorrupt, name)
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(b), nil
}
