package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"forage/graph"
	"forage/store/record"
)

// A Problem is something in a store that should not be.
type Problem struct {
	Text string
	fix  func(*pebble.Batch) error // nil: it goes away with another problem
}

func (p Problem) String() string { return p.Text }

// Check verifies the whole store: that every block of every file is what was written and nothing
// that was synced is missing, that every record can be read, that every URL, document,
// queue entry, link, fetch, site and cycle has its counterparts, and that the counters count.
// It calls report for each problem; where files are damaged, for these alone. Use it on a
// Snapshot while the store is being written to. Time O(store), memory a bit a URL, and the sites.
func (v *View) Check(report func(Problem)) error {
	sound := true
	if err := v.files(v.gate, func(p Problem) { sound = false; report(p) }); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if !sound {
		return nil
	}
	return v.checkRecords(report)
}

func (v *View) checkRecords(report func(Problem)) error {
	if v.sound() {
		return nil
	}
	return v.checkEach(report)
}

// checkEach is checkRecords record by record: what sound doubts, it names.
func (v *View) checkEach(report func(Problem)) error {
	c := &checker{v: v, report: report, counts: map[SiteID]*Counters{}, sites: map[SiteID]*Site{}}
	passes := []func() error{
		c.format, c.siteTable, c.docs, c.names, c.cycles, c.urls, c.references, c.siteDocs, c.queue, c.links, c.visits,
	}
	for _, pass := range append(passes, c.further()...) {
		if err := pass(); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return nil
}

// further are the passes that sound makes too, after the documents.
func (c *checker) further() []func() error {
	return []func() error{c.history, c.records, c.summaries, c.hosts, c.digests, c.captures, c.requisites, c.outbox, c.events, c.counters}
}

// Repair checks the store and mends what it finds: a document that cannot be read is fetched
// again, an index follows from its table, what belongs to nothing is dropped. Files that are
// damaged are left to Options.Repair. It returns the number of problems found; those that remain are reported by the next Check.
func (db *DB) Repair(report func(Problem)) (int, error) {
	if err := db.Sync(); err != nil {
		return 0, err
	}
	// What is mended, or gone with a damaged file, no summary is told of.
	b := db.db.NewBatch()
	if err := errors.Join(b.DeleteRange([]byte{tableSummary}, []byte{tableSummary + 1}, nil), b.DeleteRange([]byte{tableChanged}, []byte{tableChanged + 1}, nil)); err != nil {
		return 0, errors.Join(err, b.Close())
	}
	if err := db.write(b); err != nil {
		return 0, fmt.Errorf("repair: %w", err)
	}
	clear(db.summaries)
	found := 0
	for range 4 { // a mended document may have to be counted or queued, which the next round sees
		var fixes []func(*pebble.Batch) error
		first := found == 0
		n := 0
		if err := db.View.checkRecords(func(p Problem) {
			n++
			if first {
				report(p)
			}
			if p.fix != nil {
				fixes = append(fixes, p.fix)
			}
		}); err != nil {
			return found, err
		}
		if first {
			found = n
		}
		if len(fixes) == 0 {
			break
		}
		b := db.db.NewBatch()
		for _, fix := range fixes {
			if err := fix(b); err != nil {
				return found, errors.Join(err, b.Close())
			}
		}
		if err := db.write(b); err != nil {
			return found, fmt.Errorf("repair: %w", err)
		}
		clear(db.counters)
		clear(db.recent)
		clear(db.ended)
		if err := db.readNumbers(); err != nil && !errors.Is(err, record.ErrCorrupt) {
			return found, err
		}
	}
	return found, nil
}

type checker struct {
	v      *View
	report func(Problem)
	next   int    // numbers given out
	have   []byte // a bit for each document that can be read, or is restored
	counts map[SiteID]*Counters
	sites  map[SiteID]*Site
	last   Cycle // the highest number that is said to be given
}

func (c *checker) problem(fix func(*pebble.Batch) error, format string, args ...any) {
	c.report(Problem{fmt.Sprintf(format, args...), fix})
}

func drop(k []byte) func(*pebble.Batch) error {
	k = append([]byte(nil), k...)
	return func(b *pebble.Batch) error { return b.Delete(k, nil) }
}

func set(k, val []byte) func(*pebble.Batch) error {
	k, val = append([]byte(nil), k...), append([]byte(nil), val...)
	return func(b *pebble.Batch) error { return b.Set(k, val, nil) }
}

func (c *checker) haveDoc(id graph.Node) {
	if n := int(id/8) + 1; n > len(c.have) {
		c.have = append(c.have, make([]byte, n-len(c.have))...)
	}
	c.have[id/8] |= 1 << (id % 8)
}

func (c *checker) hasDoc(id graph.Node) bool {
	return int(id/8) < len(c.have) && c.have[id/8]>>(id%8)&1 != 0
}

func (c *checker) format() error {
	b, err := c.v.get(metaKey("format"))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if from, err := strconv.Atoi(string(b)); err != nil || from < firstReadable || from > Format {
		c.problem(set(metaKey("format"), fmt.Append(nil, Format)), "format version is %q, want %d", b, Format)
	}
	if _, err := c.v.get(metaKey("migrating")); !errors.Is(err, ErrNotFound) {
		c.problem(nil, "it is being brought to format %d", Format)
	}
	if c.next, err = c.v.NumURLs(); errors.Is(err, record.ErrCorrupt) {
		c.problem(nil, "the count of URLs cannot be read")
	} else if err != nil {
		return err
	}
	c.last, err = c.v.LastCycle()
	if errors.Is(err, record.ErrCorrupt) {
		err = nil // mended with the cycles
	}
	return err
}

func (c *checker) siteTable() error {
	names := map[string]SiteID{}
	highest := SiteID(0)
	err := c.v.scan([]byte{tableSite}, nil, func(k, val []byte) error {
		n, err := numbers(k, 1)
		if err != nil {
			c.problem(drop(k), "%v", err)
			return nil
		}
		s, err := decodeSite(val)
		if err != nil || s.ID != SiteID(n[0]) || s.Name == "" {
			c.problem(drop(k), "site %d cannot be read: %v", n[0], err)
			return nil
		}
		highest = max(highest, s.ID)
		c.sites[s.ID] = s
		c.counts[s.ID] = new(Counters)
		if other, ok := names[s.Name]; ok {
			c.problem(nil, "sites %d and %d are both %s", other, s.ID, s.Name)
			return nil
		}
		names[s.Name] = s.ID
		b, err := c.v.get(nameKey(s.Name))
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if want := uint32Bytes(n[0]); !bytes.Equal(b, want) {
			c.problem(set(nameKey(s.Name), want), "site %d is not found by its name %s", s.ID, s.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if last, err := c.v.metaNumber("sites"); err != nil && !errors.Is(err, record.ErrCorrupt) {
		return err
	} else if err != nil || last < uint32(highest) {
		c.problem(set(metaKey("sites"), uint32Bytes(uint32(highest))), "%d sites are counted, but there is a site %d", last, highest)
	}
	return nil
}

// names checks that no name leads to a site of another name, or to none.
func (c *checker) names() error {
	return c.v.scan([]byte{tableSiteName}, nil, func(k, val []byte) error {
		name := string(k[1:])
		if len(val) == 4 {
			if s := c.sites[SiteID(binary.BigEndian.Uint32(val))]; s == nil || s.Name != name {
				c.problem(drop(k), "the name %s leads to site %d, which is not there or has another", name, binary.BigEndian.Uint32(val))
			}
			return nil
		}
		for _, s := range c.sites {
			if s.Name == name {
				return nil // reported, and mended, with the site
			}
		}
		c.problem(drop(k), "the name %s: %v", name, record.ErrCorrupt)
		return nil
	})
}

// cycles checks the cycles, their index, and the sums of those that were condensed.
func (c *checker) cycles() error {
	highest := Cycle(0)
	err := c.v.scan([]byte{tableCycle}, nil, func(k, val []byte) error {
		n, err := numbers(k, 2)
		if err != nil {
			c.problem(drop(k), "%v", err)
			return nil
		}
		r, err := decodeCycle(SiteID(n[0]), Cycle(n[1]), val)
		switch {
		case err != nil:
			c.problem(drop(k), "%v", err)
			return nil
		case c.sites[r.Site] == nil || r.Cycle == 0:
			c.problem(drop(k), "cycle %d of site %d: one of them is not there", r.Cycle, r.Site)
			return nil
		}
		highest = max(highest, r.Cycle)
		return c.present(cycleIndexKey(r.Cycle, r.Site), true, "cycle %d of site %d is missing from the index", r.Cycle, r.Site)
	})
	if err != nil {
		return err
	}
	if err := c.v.scan([]byte{tableCycleIndex}, nil, func(k, val []byte) error {
		n, err := numbers(k, 2)
		if err != nil || len(val) != 0 {
			c.problem(drop(k), "index of cycles %x: %v", k[1:], record.ErrCorrupt)
			return nil
		}
		_, err = c.v.Cycle(SiteID(n[1]), Cycle(n[0]))
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, record.ErrCorrupt) {
			return err
		}
		if err != nil {
			c.problem(drop(k), "cycle %d of site %d is in the index only", n[0], n[1])
		}
		return nil
	}); err != nil {
		return err
	}
	if err := c.v.scan([]byte{tablePast}, nil, func(k, val []byte) error {
		n, err := numbers(k, 1)
		if err != nil {
			c.problem(drop(k), "%v", err)
			return nil
		}
		p, err := decodePast(SiteID(n[0]), val)
		switch {
		case err != nil:
			c.problem(drop(k), "%v", err)
		case c.sites[SiteID(n[0])] == nil:
			c.problem(drop(k), "past cycles of site %d, which is not there", n[0])
		default:
			highest = max(highest, p.Through)
		}
		return nil
	}); err != nil {
		return err
	}
	last, err := c.v.LastCycle()
	if err != nil && !errors.Is(err, record.ErrCorrupt) {
		return err
	}
	if err != nil || last < highest {
		c.problem(set(metaKey("cycle"), uint32Bytes(uint32(highest))), "%d cycles are counted, but there is a cycle %d", last, highest)
	}
	c.last = max(c.last, highest)
	return nil
}

// restore makes a document that cannot be read, or that its URL or site lacks, one to fetch.
func (c *checker) restore(site SiteID, id graph.Node, url string) func(*pebble.Batch) error {
	d := NewDoc(url, site)
	d.ID, d.Reason = id, "repaired"
	return func(b *pebble.Batch) error { return b.Set(key(tableDoc, uint32(id)), d.encode(), nil) }
}

func (c *checker) docs() error {
	highest := -1
	err := c.v.scan([]byte{tableDoc}, nil, func(k, val []byte) error {
		n, err := numbers(k, 1)
		if err != nil {
			c.problem(drop(k), "%v", err)
			return nil
		}
		id := graph.Node(n[0])
		highest = max(highest, int(id))
		d, err := decodeDoc(id, val)
		if err != nil {
			c.problem(drop(k), "%v", err)
			return nil
		}
		c.haveDoc(id)
		if to, err := c.v.Find(d.URL); err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, record.ErrCorrupt) {
			return err
		} else if err != nil {
			c.problem(set(urlKey(d.URL), binary.BigEndian.AppendUint32(nil, n[0])), "document %d: its URL %s has no number", id, d.URL)
		} else if to != id {
			c.problem(drop(k), "document %d: its URL %s has the number %d", id, d.URL, to)
		}
		counts, ok := c.counts[d.Site]
		if !ok {
			s := &Site{ID: d.Site, Name: HostOf(d.URL), Rules: Rules{Scope: "host", Within: HostOf(d.URL)}, Seeds: []string{d.URL}, State: SiteCrawling, Partial: true, PartialWhy: "repaired", FirstCycle: max(d.Cycle, 1), LastCycle: max(c.last, 1)}
			c.problem(func(b *pebble.Batch) error { return putJSON(b, key(tableSite, uint32(s.ID)), s) }, "document %d belongs to site %d, which is not there", id, d.Site)
			counts = new(Counters)
			c.counts[d.Site], c.sites[d.Site] = counts, s
		}
		counts.count(d.was, 1)
		if err := c.present(key(tableSiteDoc, uint32(d.Site), n[0]), true, "document %d is missing from its site", id); err != nil {
			return err
		}
		if err := c.present(queueKey(d.Site, HostOf(d.URL), id), d.State == Queued, "document %d is %s, the queue differs", id, d.State); err != nil {
			return err
		}
		if d.LinksOf != 0 {
			_, err := c.v.linksAt(id, d.LinksOf)
			if err != nil && !errors.Is(err, record.ErrCorrupt) && !errors.Is(err, ErrNotFound) {
				return err
			}
			if err != nil {
				fixed := *d
				fixed.LinksOf, fixed.NumLinks, fixed.State, fixed.ETag, fixed.LastModified = 0, 0, Queued, "", ""
				c.problem(set(k, fixed.encode()), "%v", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if highest >= c.next {
		c.problem(set(metaKey("next"), binary.BigEndian.AppendUint32(nil, uint32(highest+1))), "%d URLs are counted, but there is a document %d", c.next, highest)
	}
	return nil
}

// present reports a key of an index that is there or not there against the rule.
func (c *checker) present(k []byte, want bool, format string, args ...any) error {
	_, err := c.v.get(k)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	switch have := err == nil; {
	case want && !have:
		c.problem(set(k, nil), format, args...)
	case have && !want:
		c.problem(drop(k), format, args...)
	}
	return nil
}

func putJSON(b *pebble.Batch, k []byte, s *Site) error {
	val, err := encodeSite(s)
	if err != nil {
		return err
	}
	return b.Set(k, val, nil)
}

func (c *checker) urls() error {
	return c.v.scan([]byte{tableURL}, nil, func(k, val []byte) error {
		if len(val) != 4 {
			c.problem(drop(k), "url %s: %v", k[1:], record.ErrCorrupt)
			return nil
		}
		id := graph.Node(binary.BigEndian.Uint32(val))
		if c.hasDoc(id) {
			return nil
		}
		site := c.siteOf(id, string(k[1:]))
		if site == 0 || HostOf(string(k[1:])) == "" {
			c.problem(drop(k), "url %s has the number %d, which no document has", k[1:], id)
			return nil
		}
		if id >= graph.MaxNodes {
			c.problem(drop(k), "url %s: %v", k[1:], record.ErrCorrupt)
			return nil
		}
		c.problem(c.restore(site, id, string(k[1:])), "url %s: its document %d cannot be read", k[1:], id)
		c.haveDoc(id)
		return nil
	})
}

// siteOf looks a document's site up in the index of the sites; where it is in none it is the
// first within whose host or domain the URL is. 0: there is none.
func (c *checker) siteOf(id graph.Node, url string) SiteID {
	within := SiteID(0)
	for site, s := range c.sites {
		if _, err := c.v.get(key(tableSiteDoc, uint32(site), uint32(id))); err == nil {
			return site
		}
		if host := HostOf(url); host != "" && (host == s.Rules.Within || strings.HasSuffix(host, "."+s.Rules.Within)) && (within == 0 || site < within) {
			within = site
		}
	}
	return within
}

// references checks that the documents that a document names are there.
func (c *checker) references() error {
	return c.v.scan([]byte{tableDoc}, nil, func(k, val []byte) error {
		n, err := numbers(k, 1)
		if err != nil {
			return nil // reported with the documents
		}
		d, err := decodeDoc(graph.Node(n[0]), val)
		if err != nil {
			return nil
		}
		var gone []string
		for _, r := range []struct {
			what string
			id   *graph.Node
		}{{"it was found on", &d.FoundOn}, {"it is a duplicate of", &d.DuplicateOf}, {"stands for it", &d.StandIn}, {"it has moved from", &d.MovedFrom}} {
			if *r.id != graph.None && !c.hasDoc(*r.id) {
				gone = append(gone, fmt.Sprintf("%d, which %s,", *r.id, r.what))
				*r.id = graph.None
			}
		}
		if len(gone) == 0 {
			return nil
		}
		if d.MovedFrom == graph.None {
			d.Moved, d.MovedIn = 0, 0
		}
		c.problem(set(k, d.encode()), "document %d: %s is not there", d.ID, strings.Join(gone, " and "))
		return nil
	})
}

func (c *checker) siteDocs() error {
	return c.v.scan([]byte{tableSiteDoc}, nil, func(k, _ []byte) error {
		n, err := numbers(k, 2)
		if err != nil {
			c.problem(drop(k), "%v", err)
			return nil
		}
		if d, err := c.v.Doc(graph.Node(n[1])); err != nil || d.Site != SiteID(n[0]) {
			fix := drop(k)
			if err != nil && !errors.Is(err, ErrNotFound) {
				fix = nil // restored by way of its URL, which needs this entry
			}
			c.problem(fix, "site %d lists document %d, which is not its own", n[0], n[1])
		}
		return nil
	})
}

func (c *checker) queue() error {
	return c.v.scan([]byte{tableQueue}, nil, func(k, _ []byte) error {
		site, host, id, err := parseQueueKey(k)
		if err != nil {
			c.problem(drop(k), "%v", err)
			return nil
		}
		d, err := c.v.Doc(id)
		if err != nil || d.State != Queued || d.Site != site || HostOf(d.URL) != host {
			c.problem(drop(k), "the queue of %s holds document %d, which does not wait there", host, id)
		}
		return nil
	})
}

func (c *checker) links() error {
	return c.v.scan([]byte{tableLinks}, nil, func(k, val []byte) error {
		n, err := numbers(k, 2)
		if err != nil {
			c.problem(drop(k), "%v", err)
			return nil
		}
		if !c.hasDoc(graph.Node(n[0])) {
			c.problem(drop(k), "links of document %d, which is not there", n[0])
			return nil
		}
		links, err := decodeLinks(val)
		if err != nil {
			c.problem(drop(k), "document %d: %v", n[0], err)
			return nil
		}
		kept := slices.DeleteFunc(slices.Clone(links), func(l Link) bool { return !c.hasDoc(l.To) })
		if lost := len(links) - len(kept); lost > 0 {
			c.problem(set(k, appendLinks(nil, kept)), "document %d links to %d documents that are not there", n[0], lost)
		}
		return nil
	})
}

func (c *checker) visits() error {
	return c.v.scan([]byte{tableVisit}, nil, func(k, val []byte) error {
		n, err := numbers(k, 2)
		if err == nil {
			_, err = decodeVisit(Cycle(n[1]), val)
		}
		if err != nil {
			c.problem(drop(k), "visit %x: %v", k[1:], err)
		} else if !c.hasDoc(graph.Node(n[0])) {
			c.problem(drop(k), "visit of document %d, which is not there", n[0])
		}
		return nil
	})
}

// cycleOf tells whether the cycle is there that a row of a site belongs to. The rows of a
// cycle follow each other, so that one look at the store serves them all.
func (c *checker) cycleOf() func(site, cycle uint32) (bool, error) {
	var at [2]uint32
	there := false
	return func(site, cycle uint32) (bool, error) {
		if at != [2]uint32{site, cycle} {
			_, err := c.v.get(cycleKey(SiteID(site), Cycle(cycle)))
			if err != nil && !errors.Is(err, ErrNotFound) {
				return false, err
			}
			at, there = [2]uint32{site, cycle}, err == nil
		}
		return there, nil
	}
}

// history checks what is kept of each cycle.
func (c *checker) history() error {
	there := c.cycleOf()
	err := c.v.scan([]byte{tableNew}, nil, func(k, val []byte) error {
		n, err := numbers(k, 3)
		if err != nil || len(val) != 1 || !c.hasDoc(graph.Node(n[2])) {
			c.problem(drop(k), "newcomer %x: %v", k[1:], err)
			return nil
		}
		ok, err := there(n[0], n[1])
		if !ok && err == nil {
			c.problem(drop(k), "newcomer %d of site %d in cycle %d, which is not there", n[2], n[0], n[1])
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.v.scan([]byte{tableRefetch}, nil, func(k, val []byte) error {
		n, err := numbers(k, 3)
		var r *Refetch
		if err == nil {
			r, err = decodeRefetch(graph.Node(n[2]), val)
		}
		if err != nil || !c.hasDoc(r.Page) {
			c.problem(drop(k), "refetch %x: %v", k[1:], err)
			return nil
		}
		if ok, err := there(n[0], n[1]); err != nil {
			return err
		} else if !ok {
			c.problem(drop(k), "refetch of document %d at site %d in cycle %d, which is not there", n[2], n[0], n[1])
			return nil
		}
		lost := 0
		for _, list := range []*[]graph.Node{&r.Gained, &r.Found, &r.Led, &r.Same} {
			all := len(*list)
			*list = slices.DeleteFunc(*list, func(id graph.Node) bool { return !c.hasDoc(id) })
			lost += all - len(*list)
		}
		if lost > 0 {
			c.problem(set(k, refetchFields.Encode(r)), "the fetch of document %d in cycle %d of site %d names %d documents that are not there", r.Page, n[1], n[0], lost)
		}
		return nil
	})
}

// records checks what is kept for revisit policies, whose format is not the store's.
func (c *checker) records() error {
	err := c.v.scan([]byte{tableRecord}, nil, func(k, _ []byte) error {
		if n, err := numbers(k, 2); err != nil || c.sites[SiteID(n[0])] == nil {
			c.problem(drop(k), "record of a cycle %x belongs to no site", k[1:])
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.v.scan([]byte{tableState}, nil, func(k, val []byte) error {
		if n, err := numbers(k, 2); err == nil { // a further piece
			if c.sites[SiteID(n[0])] == nil {
				c.problem(drop(k), "state of a policy %x belongs to no site", k[1:])
			}
		} else if n, err := numbers(k, 1); err != nil || c.sites[SiteID(n[0])] == nil {
			c.problem(drop(k), "state of a policy %x belongs to no site", k[1:])
		} else if _, n := binary.Uvarint(val); n <= 0 {
			c.problem(drop(k), "state of the policy of site %x: %v", k[1:], record.ErrCorrupt)
		}
		return nil
	}); err != nil {
		return err
	}
	var site, last uint32
	return c.v.scan([]byte{tableRecords}, nil, func(k, val []byte) error {
		n, err := numbers(k, 2)
		if err != nil || c.sites[SiteID(n[0])] == nil {
			c.problem(drop(k), "records of cycles %x belong to no site", k[1:])
			return nil
		}
		row, err := decodePack(val)
		if err != nil || len(row) == 0 || row[0].cycle != Cycle(n[1]) {
			c.problem(drop(k), "records of site %d from cycle %d on: %v", n[0], n[1], cmp.Or(err, record.ErrCorrupt))
			return nil
		}
		if n[0] == site && n[1] <= last {
			c.problem(drop(k), "records of site %d from cycle %d on begin before those of the row before end", n[0], n[1])
			return nil
		}
		site, last = n[0], uint32(row[len(row)-1].cycle)
		return nil
	})
}

func (c *checker) hosts() error {
	err := c.v.scan([]byte{tableHost}, nil, func(k, val []byte) error {
		if _, err := decodeHost(string(k[1:]), val); err != nil {
			c.problem(drop(k), "host %s: %v", k[1:], err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.v.scan([]byte{tableRobots}, nil, func(k, val []byte) error {
		if _, err := decodeRobots(string(k[1:]), val); err != nil {
			c.problem(drop(k), "%v", err)
		}
		return nil
	}); err != nil {
		return err
	}
	return c.v.scan([]byte{tableRefusal}, nil, func(k, val []byte) error {
		if _, err := decodeRefusal(string(k[1:]), val); err != nil {
			c.problem(drop(k), "%v", err)
		}
		return nil
	})
}

func (c *checker) digests() error {
	return c.v.scan([]byte{tableDigest}, nil, func(k, val []byte) error {
		if len(k) != 13 || len(val) != 4 || !c.hasDoc(graph.Node(binary.BigEndian.Uint32(val))) {
			c.problem(drop(k), "body %x belongs to no document", k[1:])
		}
		return nil
	})
}

// mostLost is how many events in a row a repair puts a word in the place of. Where more are missing, those
// before them are dropped instead, as by DropEvents: damage may name any number.
const mostLost = 1 << 16

// events checks that events are numbered without gaps from the first that is kept on, that what was told has
// been, and that no number will be given again.
func (c *checker) events() error {
	last, err := c.v.lastEventNumber()
	if err != nil && !errors.Is(err, record.ErrCorrupt) {
		return err
	}
	first, next := uint64(0), uint64(0) // 0: none was kept so far
	lost := func(from, to uint64) {
		if to-from > mostLost {
			begin := first
			c.problem(func(b *pebble.Batch) error {
				return c.v.scan([]byte{tableEvent}, eventKey(begin), func(k, _ []byte) error {
					if seq, err := eventSeq(k); err != nil || seq >= from {
						return cmp.Or(err, errStop)
					}
					return b.Delete(k, nil)
				})
			}, "events %d to %d are missing: those before them are given up", from, to-1)
			first = to
			return
		}
		c.problem(func(b *pebble.Batch) error {
			for n := from; n < to; n++ {
				if err := b.Set(eventKey(n), eventFields.Encode(&Event{Type: EventLost, Doc: graph.None}), nil); err != nil {
					return err
				}
			}
			return nil
		}, "events %d to %d are missing", from, to-1)
	}
	if err := c.v.scan([]byte{tableEvent}, nil, func(k, val []byte) error {
		seq, err := eventSeq(k)
		if err != nil || seq == 0 || seq == math.MaxUint64 {
			c.problem(drop(k), "event %x: %v", k[1:], record.ErrCorrupt)
			return nil
		}
		if next == 0 {
			first = seq
		} else if seq > next {
			lost(next, seq)
		}
		next = seq + 1
		if _, err := decodeEvent(seq, val); err != nil {
			c.problem(set(k, eventFields.Encode(&Event{Type: EventLost, Doc: graph.None})), "%v", err)
		}
		return nil
	}); err != nil {
		return err
	}
	// The latest events may be gone together with their count: a page that was told as new knows its number.
	highest := max(next, 1) - 1
	if err := c.v.scan([]byte{tableTold}, nil, func(k, val []byte) error {
		n, err := numbers(k, 1)
		if err != nil || len(val) != 8 || !c.hasDoc(graph.Node(n[0])) || binary.BigEndian.Uint64(val) == math.MaxUint64 {
			c.problem(drop(k), "told %x belongs to no document or no event", k[1:])
			return nil
		}
		highest = max(highest, binary.BigEndian.Uint64(val))
		return nil
	}); err != nil {
		return err
	}
	if err != nil || highest > last {
		c.problem(set(metaKey("events"), binary.BigEndian.AppendUint64(nil, highest)), "%d events are counted, but there is an event %d", last, highest)
		last = highest
	}
	if next != 0 && next <= last {
		lost(next, last+1)
	}
	return nil
}

func (c *checker) counters() error {
	for site, want := range c.counts {
		have, err := c.v.Counters(site)
		if err != nil && !errors.Is(err, record.ErrCorrupt) {
			return err
		}
		if err != nil {
			have = new(Counters)
		}
		want.Fetches, want.Bytes, want.Errors = have.Fetches, have.Bytes, have.Errors
		want.Requisites, want.RequisiteBytes = have.Requisites, have.RequisiteBytes
		if err != nil || *have != *want {
			c.problem(set(key(tableCounters, uint32(site)), counterFields.Encode(want)), "counters of site %d are %s, want %s", site, have.text(), want.text())
		}
	}
	return nil
}

func (c *Counters) text() string {
	return strings.Join(strings.Fields(fmt.Sprintf("states %v kinds %v new %d gone %d distinct %d hollow %d left out %d actions %d", c.State, c.Kind, c.New, c.Gone, c.Distinct, c.Hollow, c.LeftOut, c.Actions)), " ")
}
